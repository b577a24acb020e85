"""The lifted view: its closed form, its kernels, and what it finds."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import qubonn as qn
from formulation.test_energy import problems
from formulation.test_enumeration import TINY
from qubonn.engines import LiftedAnnealing
from qubonn.engines.lifted import _Run
from qubonn.errors import RangeError, TopologyError
from reference import all_networks, is_feasible


def letters_problem(number: int, **strengths: float) -> qn.TrainingProblem:
    letters = qn.datasets.letters(seed=0)
    return qn.TrainingProblem(
        qn.paper.topology(number),
        letters.train_inputs,
        letters.train_outputs,
        **strengths,  # type: ignore[arg-type]
    )


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


def run_of(problem: qn.TrainingProblem, seed: int, violation: Any) -> _Run:
    return _Run(problem, LiftedAnnealing(replica_count=16, violation=violation), seed, lanes=16)


def slow_energies(run: _Run, problem: qn.TrainingProblem) -> NDArray[np.float64]:
    """The energy of every replica from its own full assignment, or the linear form of it."""
    found = run.found(qn.Stop.FINISHED, _NoWatch())  # type: ignore[arg-type]
    energies = []
    for replica in range(len(found)):
        certificate = problem.certify(found.network(replica), found.activation_spins[replica])
        energy = float(certificate.terms.total)
        if run.settings.violation == "linear":
            rows = certificate.violations.activation
            energy += float(np.abs(rows[:, 2]).sum() - (rows[:, 2] ** 2).sum())
        energies.append(energy)
    assert np.all(np.diff(found.energies) >= 0)
    return np.array(energies)


class _NoWatch:
    seconds = 0.0


@settings(max_examples=60, deadline=None)
@given(problems(), st.sampled_from(["squared", "linear"]), st.integers(0, 2**31))
def test_incremental_energies_equal_those_of_full_assignments_after_many_flips(
    problem: qn.TrainingProblem, violation: str, seed: int
) -> None:
    if problem.margin_strength >= 0.5:  # beyond that the closed form does not hold
        problem = qn.TrainingProblem(
            problem.topology,
            problem.input_spins,
            problem.output_spins,
            margin_strength=0.25,
            field=problem.field,
            output_strength=problem.output_strength,
        )
    run = run_of(problem, seed, violation)
    run.sweep(np.full((30, 3), 2.0))
    found = run.found(qn.Stop.FINISHED, _NoWatch())  # type: ignore[arg-type]
    # strengths are multiples of 1/8 and the unit is a power of two: exact
    assert np.array_equal(found.energies, slow_energies(run, problem))


@settings(max_examples=40, deadline=None)
@given(problems(), st.integers(0, 2**31))
def test_the_change_of_every_flip_is_the_difference_of_two_energies(
    problem: qn.TrainingProblem, seed: int
) -> None:
    run = run_of(problem, seed, "squared")
    run.sweep(np.full((3, 3), 2.0))
    changes = run.flip_costs()[:, 0]
    before = energy_of_lane_0(run)
    places = [
        *((run.weights, w) for w in range(run.weights.shape[1])),
        *((run.biases, j) for j in range(run.biases.shape[1])),
        *(
            (run.activations, k * problem.topology.node_count + int(node))
            for k in range(problem.example_count)
            for node in run.circuit.free_nodes
        ),
    ]
    for change, (packed, place) in zip(changes, places, strict=True):
        packed[0, place] ^= 1
        assert energy_of_lane_0(run) - before == pytest.approx(change)
        packed[0, place] ^= 1


def energy_of_lane_0(run: _Run) -> float:
    counts = np.zeros((run.problem.example_count * run.circuit.neuron_count, 16), dtype=np.int32)
    energies = np.zeros((1, 16), dtype=np.int32)
    state = (run.weights[0], run.biases[0], run.activations[0])
    run.kernels.set_counts(run.circuit, *state, counts)
    run.kernels.set_energies(run.circuit, *state, counts, energies)
    return float(energies[0, 0]) * run.unit


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("seed", range(3))
def test_tiny_problems_are_solved_exactly_when_they_are_feasible(name: str, seed: int) -> None:
    topology, inputs = TINY[name]
    outputs = np.random.default_rng(seed).choice([-1, 1], (len(inputs), topology.output_count))
    problem = qn.TrainingProblem(topology, inputs, outputs)
    found = LiftedAnnealing(replica_count=32, sweep_count=60).solve(problem)
    exists = any(is_feasible(problem, network) for network in all_networks(topology))
    assert (found.energies[0] == 0) == exists
    if exists:
        assert is_feasible(problem, found.network())


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17])
def test_all_feasible_networks_of_the_paper_are_trained(number: int) -> None:
    problem = letters_problem(number)
    found = LiftedAnnealing().solve(problem, seed=1)
    assert found.energies[0] == 0
    assert (found.energies == 0).mean() > 0.5
    assert problem.certify(found.network()).is_feasible


@pytest.mark.parametrize(("number", "optimum"), [(8, 2), (9, 1)])
def test_infeasible_networks_reach_their_proved_optimum(number: int, optimum: int) -> None:
    assert LiftedAnnealing().solve(letters_problem(number)).energies[0] == optimum


@pytest.mark.parametrize(("number", "largest"), [(5, 118), (10, 150), (12, 262)])
def test_the_largest_known_margins_are_found(number: int, largest: int) -> None:
    problem = letters_problem(number, margin_strength=0.02)
    best = 0
    for seed in range(10):
        found = LiftedAnnealing().solve(problem, seed=seed)
        for replica in range(len(found)):
            certificate = problem.certify(found.network(replica))
            if certificate.is_feasible:
                best = max(best, certificate.margins.s2)
    assert best >= largest


@pytest.mark.parametrize("replica_count", [1, 40, 150])
def test_the_result_does_not_depend_on_the_number_of_threads(replica_count: int) -> None:
    problem = letters_problem(5)
    one, two = (
        LiftedAnnealing(replica_count=replica_count, sweep_count=20, thread_count=threads).solve(
            problem, seed=7
        )
        for threads in (1, 2)
    )
    assert np.array_equal(one.weight_spins, two.weight_spins)
    assert np.array_equal(one.bias_spins, two.bias_spins)


def test_a_target_a_time_limit_and_a_report_stop_the_run() -> None:
    problem = letters_problem(10)
    long = LiftedAnnealing(sweep_count=10**6)
    assert long.solve(problem, target_energy=0).stop is qn.Stop.TARGET
    limited = LiftedAnnealing(sweep_count=10**6).solve(letters_problem(8), time_limit=0.2)
    assert limited.stop is qn.Stop.TIME_LIMIT
    assert limited.info["seconds"] < 2
    assert long.solve(problem, report=lambda _: True).stop is qn.Stop.INTERRUPTED


def test_an_interrupt_before_the_first_sweep_returns_true_energies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(self: _Run) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Run, "temperatures", interrupted)
    problem = letters_problem(10)
    found = LiftedAnnealing(replica_count=20).solve(problem)
    assert found.stop is qn.Stop.INTERRUPTED
    for replica, energy in enumerate(found.energies):
        judged = problem.certify(found.network(replica), found.activation_spins[replica])
        assert judged.terms.total == energy


def test_a_warm_start_keeps_a_solution_when_nothing_is_hot() -> None:
    problem = letters_problem(12)
    solved = LiftedAnnealing().solve(problem).network()
    cold = LiftedAnnealing(replica_count=20, sweep_count=5, hottest=1e-6, coldest=1e-6)
    again = cold.solve(problem, initial_networks=[solved])
    assert again.energies[0] == 0
    with pytest.raises(TopologyError, match="the problem's topology"):
        cold.solve(
            problem, initial_networks=[qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)]
        )


def test_a_field_pulls_free_parameters_to_its_side() -> None:
    topology = qn.Topology.dense(3, 1)
    field = qn.Field(np.array([1, -2, 3]), np.array([-1]))
    problem = qn.TrainingProblem(topology, [[1, 1, 1]], [[1]], field=field, output_strength=0)
    found = LiftedAnnealing(replica_count=32).solve(problem)
    assert found.weight_spins[0].tolist() == [1, -1, 1]
    assert found.bias_spins[0].tolist() == [-1]
    assert found.energies[0] == problem.certify(found.network()).terms.total == -7


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"replica_count": 0}, "replica_count must be at least 1"),
        ({"hottest": 0.0}, "hottest must be a positive factor"),
        ({"coldest": float("nan")}, "coldest must be a positive factor"),
        ({"violation": "cubic"}, "violation must be 'squared' or 'linear'"),
    ],
)
def test_bad_settings_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(RangeError, match=message):
        LiftedAnnealing(**bad)


def test_energies_that_do_not_fit_are_refused_with_a_way_out() -> None:
    topology = qn.Topology.dense(20_000, 2, 1)
    problem = qn.TrainingProblem(topology, np.ones((50, 20_000)), np.ones((50, 1)))
    with pytest.raises(RangeError, match="use linear violations"):
        LiftedAnnealing(replica_count=1).solve(problem)
