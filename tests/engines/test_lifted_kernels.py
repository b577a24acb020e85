"""The lifted view: its closed form, and its kernels against full assignments."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import qubonn as qn
from formulation.test_evaluation import problems
from qubonn.engines import LiftedAnnealing
from qubonn.engines._lifted_kernels import set_counts, set_energies
from qubonn.engines.lifted import LiftedRun
from qubonn.simd.compiling import kernel


@pytest.mark.parametrize("predecessors", range(1, 8))
@pytest.mark.parametrize("margin_strength", [0, 0.25, 0.4])
def test_minimising_over_all_counts_gives_the_closed_form(
    predecessors: int, margin_strength: float
) -> None:
    topology = qn.Topology.dense(predecessors, 1)
    for output in (-1, 1):
        problem = qn.TrainingProblem(
            topology, [[1] * predecessors], [[output]], margin_strength=margin_strength
        )
        qubo = problem.qubo()
        counts = [i for i, label in enumerate(problem.variables.labels) if label[0] == "count"]
        for positive in range(predecessors + 2):
            spins = [1] * positive + [-1] * (predecessors + 1 - positive)
            network = qn.BinaryNetwork(topology, spins[:-1], spins[-1:])
            bits = problem.encode(network)
            every = np.tile(bits, (2 ** len(counts), 1))
            every[:, counts] = np.arange(2 ** len(counts))[:, None] >> np.arange(len(counts)) & 1
            lowest = qubo.energy(every).min()
            least = (predecessors + 1) // 2 + 1
            slack = positive - least if output == 1 else least - 1 - positive
            margin = 2 * max(slack, 0) + (2 * least - predecessors - 1 if output == 1 else 0)
            if output == -1:
                margin += 2 - (2 * least - predecessors - 1)
            assert lowest == pytest.approx(max(-slack, 0) ** 2 - margin_strength * margin)
            assert problem.certify(network).terms.total == pytest.approx(lowest)


@pytest.mark.parametrize(("weight", "activation"), list(product((0, 1), repeat=2)))
def test_minimising_over_products_gives_weight_times_activation(
    weight: int, activation: int
) -> None:
    energies = {p: weight * activation - 2 * (weight + activation) * p + 3 * p for p in (0, 1)}
    assert min(energies, key=lambda p: energies[p]) == weight * activation


def run_of(problem: qn.TrainingProblem, seed: int, violation: Any) -> LiftedRun:
    return LiftedRun(
        problem, LiftedAnnealing(replica_count=16, violation=violation), seed, lanes=16
    )


def slow_energies(run: LiftedRun, problem: qn.TrainingProblem) -> NDArray[np.float64]:
    """The energy of every replica from its own full assignment, or the linear form of it."""
    found = run.found(qn.Stop.FINISHED, _NoWatch())  # type: ignore[arg-type]
    energies = []
    for replica in range(len(found)):
        certificate = problem.certify(found.network(replica), found.activation_spins[replica])
        energy = float(certificate.terms.total)
        if run.settings.violation == "linear":
            rows = certificate.violations.activation
            weights = problem.weight_of_example[rows[:, 0]]
            energy += float(weights @ (np.abs(rows[:, 2]) - rows[:, 2] ** 2))
        energies.append(energy)
    assert np.all(np.diff(found.energies) >= 0)
    return np.array(energies)


class _NoWatch:
    seconds = 0.0


LEVELLED = [
    qn.Topology.dense(3, 2, 1, weight_levels=3, threshold_levels=4),
    qn.Topology.dense(2, 1, 2, weight_levels=[5, 2], threshold_levels=[2, 3]),
    qn.Topology.parse("conv(2x2, levels=3, thresholds=3)", inputs=(3, 3), outputs=1),
    qn.Topology.from_arcs([(0, 1), (0, 1), (1, 2), (2, 1), (2, 1), (2, 1)], inputs=1, outputs=1),
]


@st.composite
def levelled_problems(draw: st.DrawFn) -> qn.TrainingProblem:
    topology = draw(st.sampled_from(LEVELLED))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    field = qn.Field(
        generator.integers(-3, 4, topology.weight_count) / 8,
        generator.integers(-3, 4, topology.neuron_count) / 8,
    )
    return qn.TrainingProblem(
        topology,
        generator.choice([-1, 1], (3, topology.column_count)),
        generator.choice([-1, 1], (3, topology.output_count)),
        field=draw(st.sampled_from([qn.Field.zero(topology), field])),
        output_strength=draw(st.sampled_from([None, 0.75])),
        decay_strength=draw(st.sampled_from([0, 0.125, 2])),
        example_weights=draw(st.sampled_from([None, [1, 3, 2], [0.5, 2, 0.25]])),
    )


@settings(max_examples=60, deadline=None)
@given(
    st.one_of(problems(), levelled_problems()),
    st.sampled_from(["squared", "linear"]),
    st.integers(0, 2**31),
)
def test_incremental_energies_equal_those_of_full_assignments_after_many_flips(
    problem: qn.TrainingProblem, violation: str, seed: int
) -> None:
    if problem.margin_strength >= 0.5:  # beyond that the closed form does not hold
        problem = replace(problem, margin_strength=0.25)
    run = run_of(problem, seed, violation)
    run.sweep(np.full((30, 3), 2.0))
    found = run.found(qn.Stop.FINISHED, _NoWatch())  # type: ignore[arg-type]
    # strengths are multiples of 1/8 and the unit is a power of two: exact
    assert np.array_equal(found.energies, slow_energies(run, problem))


@settings(max_examples=40, deadline=None)
@given(st.one_of(problems(), levelled_problems()), st.integers(0, 2**31))
def test_the_change_of_every_flip_is_the_difference_of_two_energies(
    problem: qn.TrainingProblem, seed: int
) -> None:
    run = run_of(problem, seed, "squared")
    run.sweep(np.full((3, 3), 2.0))
    changes = run.flip_costs()[:, 0]
    before = energy_of_lane_0(run)
    places = [
        *((run.parameters, p) for p in range(run.parameters.shape[1])),
        *(
            (run.activations, k * run.circuit.row_length + int(node))
            for k in range(problem.example_count)
            for node in run.circuit.free_nodes
        ),
    ]
    for change, (packed, place) in zip(changes, places, strict=True):
        packed[0, place] ^= 1
        assert energy_of_lane_0(run) - before == pytest.approx(change)
        packed[0, place] ^= 1


@pytest.mark.parametrize("pull", [0, 0.5])
def test_a_number_has_the_distribution_of_its_levels_at_a_temperature(pull: float) -> None:
    topology, temperature = qn.Topology.dense(1, 1, weight_levels=4), 1.5
    field = qn.Field(np.array([0, pull, -pull]), np.zeros(1))
    problem = qn.TrainingProblem(
        topology, [[1]], [[1]], field=field, output_strength=0.5, decay_strength=0.25
    )
    run = LiftedRun(problem, LiftedAnnealing(replica_count=4096), 0, lanes=64)
    run.sweep(np.full((40, 3), temperature))
    found = run.found(qn.Stop.FINISHED, _NoWatch())  # type: ignore[arg-type]
    weights, chance = [], []
    for up, bias, output in product(range(4), (-1, 1), (-1, 1)):
        # the member with the largest pull is the first that is up
        spins = np.where(np.argsort([1, 0, 2]) < up, 1, -1)
        network = qn.BinaryNetwork(topology, spins, [bias])
        energy = problem.certify(network, [[1, output]]).terms.total
        chance.append((1 if up in (0, 3) else 2) * np.exp(-energy / temperature))
        weights.append((2 * up - 3, bias, output))
    levels, outputs = found.weight_spins.sum(axis=1), found.activation_spins[:, 0, 1]
    states = np.stack([levels, found.bias_spins[:, 0], outputs], axis=1)
    seen = np.array([(states == row).all(axis=1).mean() for row in weights])
    expected = np.array(chance) / np.sum(chance)
    # within 4.5 standard errors: one false alarm in 10,000 seeds
    assert np.all(np.abs(seen - expected) < 4.5 * np.sqrt(expected / len(found)))


def energy_of_lane_0(run: LiftedRun) -> float:
    counts = np.zeros((run.problem.example_count * run.circuit.neuron_count, 16), dtype=np.int32)
    energies = np.zeros((1, 16), dtype=np.int32)
    state = (run.parameters[0], run.activations[0])
    fill(run.circuit, run.numbers, *state, counts, energies)
    return float(energies[0, 0]) * run.unit


@kernel  # parts are only called by compiled functions
def fill(
    circuit: Any, numbers: Any, parameters: Any, activations: Any, counts: Any, energies: Any
) -> None:
    set_counts(circuit, parameters, activations, counts)
    set_energies(circuit, numbers, parameters, activations, counts, energies)
