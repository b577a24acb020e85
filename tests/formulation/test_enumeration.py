"""Tiny problems, enumerated: zero-energy states are exactly the feasible networks, both ways."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.checks import BitMatrix, IntVector
from qubonn.errors import AlphabetError, RangeError
from qubonn.formulation.variables import Variables
from qubonn.training import BlockDecomposition
from reference import all_networks, consistent_states, is_feasible

TINY: dict[str, tuple[qn.Topology, list[list[int]]]] = {
    "one neuron": (qn.Topology.dense(2, 1), [[1, 1], [1, -1], [-1, -1]]),
    "hidden neuron": (qn.Topology.dense(2, 1, 1), [[1, 1], [-1, 1]]),
    "no predecessors": (qn.Topology.from_arcs([(1, 2)], inputs=1, outputs=1), [[1], [-1]]),
    "shared weight": (
        qn.Topology.from_arcs([(0, 2, 0), (1, 2, 0), (2, 3, 1), (0, 3, 0)], inputs=2, outputs=1),
        [[1, -1], [1, 1]],
    ),
    "parallel arcs": (
        qn.Topology.from_arcs([(0, 2), (0, 2), (1, 2), (2, 3)], inputs=2, outputs=1),
        [[1, -1], [1, 1]],
    ),
    "parallel arcs of one weight": (
        qn.Topology.from_arcs([(0, 1, 0), (0, 1, 0), (1, 2, 1), (1, 2, 1)], inputs=1, outputs=1),
        [[1], [-1]],
    ),
    "three levels": (qn.Topology.dense(2, 1, weight_levels=3), [[1, 1], [1, -1], [-1, -1]]),
    "four levels after a neuron": (qn.Topology.dense(1, 1, 1, weight_levels=[2, 4]), [[1]]),
    "thresholds": (
        qn.Topology.dense(2, 1, threshold_levels=5),
        [[1, 1], [1, -1], [-1, -1]],
    ),
    "levels and thresholds": (
        qn.Topology.dense(1, 1, 1, weight_levels=[3, 2], threshold_levels=[3, 4]),
        [[1]],
    ),
    "shared levels": (
        qn.Topology.from_arcs(
            [(0, 3, 0), (0, 3, 1), (2, 3, 2), (1, 4, 0), (1, 4, 1), (2, 4, 3)],
            inputs=3,
            outputs=2,
            has_constant=True,
        ),
        [[1, -1]],
    ),
    "skip": (
        qn.Topology.from_arcs([(0, 1), (1, 2), (0, 2)], inputs=1, outputs=1),
        [[1], [-1]],
    ),
    "cycle of hidden neurons": (
        qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1), (2, 3)], inputs=1, outputs=1),
        [[1]],
    ),
    "cycle through the output": (
        qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1),
        [[1], [-1]],
    ),
    "self loop": (
        qn.Topology.from_arcs([(0, 1), (1, 1), (1, 2), (2, 2)], inputs=1, outputs=1),
        [[1]],
    ),
    "known weights": (
        qn.Topology.from_arcs(
            [(0, 2), (1, 2), (2, 3), (0, 3)], inputs=2, outputs=1, known_weights=[1, 0, -1, 0]
        ),
        [[1, -1], [1, 1]],
    ),
    "known bias": (
        qn.Topology.from_arcs(
            [(0, 1, 0), (0, 1, 0), (1, 2, 1), (1, 2, 2), (0, 2, 2)],
            inputs=1,
            outputs=1,
            known_weights=[0, 1, 0],
            known_biases=[-1, 0],
        ),
        [[1], [-1]],
    ),
    "all known": (
        qn.Topology.from_arcs(
            [(0, 1), (1, 2), (2, 2)],
            inputs=1,
            outputs=1,
            known_weights=[1, -1, -1],
            known_biases=[-1, 1],
        ),
        [[1], [-1]],
    ),
    "pool": (qn.Topology.parse("pool(1x2) + out()", inputs=(1, 4), outputs=1), [[1, -1, 1, 1]]),
    "fixed filters and outputs": (
        qn.Topology.parse("conv(1x2, known=#.) + out(known=0)", inputs=(1, 3), outputs=1),
        [[1, -1, 1], [1, 1, 1]],
    ),
    "no inputs": (qn.Topology.from_arcs([(0, 1), (1, 0)], inputs=0, outputs=2), [[]]),
}


def all_bits(count: int) -> BitMatrix:
    return (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.int8)


def problems(encoding: str | int = "binary") -> list[Any]:
    cases = []
    for name, (topology, inputs) in TINY.items():
        generator = np.random.default_rng(0)
        for seed in range(2):
            outputs = generator.choice([-1, 1], size=(len(inputs), topology.output_count))
            for strength in (None, 2):
                problem = qn.TrainingProblem(
                    topology, inputs, outputs, output_strength=strength, encoding=encoding
                )
                if problem.variables.count <= 17:
                    cases.append(pytest.param(problem, id=f"{name}-{seed}-{strength}"))
    return cases


@pytest.mark.parametrize("problem", [*problems(), *problems("unary"), *problems(2)])
def test_zero_energy_states_are_exactly_the_feasible_networks(problem: qn.TrainingProblem) -> None:
    qubo = problem.qubo()
    states = all_bits(qubo.variable_count)
    energies = qubo.energy(states)
    assert energies.min() >= 0
    found = {problem.decode(bits) for bits in states[energies == 0]}
    feasible = {net for net in all_networks(problem.topology) if is_feasible(problem, net)}
    assert found == feasible


@pytest.mark.parametrize("problem", problems())
def test_each_zero_energy_state_is_one_choice_of_consistent_activations(
    problem: qn.TrainingProblem,
) -> None:
    qubo = problem.qubo()
    states = all_bits(qubo.variable_count)
    zero_count = int((qubo.energy(states) == 0).sum())
    first = problem.topology.outputs.start
    expected = 0
    for network in all_networks(problem.topology):
        choices = [
            sum(
                state[first:] == problem.output_spins[k].tolist()
                for state in consistent_states(network, problem.input_spins[k].tolist())
            )
            for k in range(problem.example_count)
        ]
        expected += int(np.prod(choices))
    assert zero_count == expected


def test_decay_prefers_the_smallest_of_all_weights_that_are_right() -> None:
    topology = qn.Topology.dense(2, 1, weight_levels=3)
    problem = qn.TrainingProblem(topology, [[1, 1], [1, -1]], [[1], [-1]], decay_strength=0.125)
    states = all_bits(problem.variables.count)
    energies = problem.qubo().energy(states)
    feasible = [net for net in all_networks(topology) if is_feasible(problem, net)]
    squares = [(net.weight_spins.reshape(2, 2).sum(axis=1) ** 2).sum() for net in feasible]
    best = problem.decode(states[np.argmin(energies)])
    assert energies.min() == min(squares) / 8 == 0.5
    assert best.weight_spins.reshape(2, 2).sum(axis=1).tolist() == [0, 2]


def test_the_tiny_problems_cover_every_kind() -> None:
    covered = {case.id.rsplit("-", 2)[0] for case in problems()}
    assert covered == set(TINY)


@pytest.mark.parametrize("encoding", ["unary", 2, 3])
@pytest.mark.parametrize("strengths", [{}, {"margin_strength": 0.25, "example_weights": [1, 2]}])
def test_every_encoding_has_the_lowest_energy_of_each_network(
    encoding: str | int, strengths: dict[str, Any]
) -> None:
    topology = qn.Topology.dense(3, 2)
    inputs, outputs = [[1, 1, -1], [1, -1, 1]], [[1, -1], [-1, -1]]
    lowest = []
    for one in ("binary", encoding):
        problem = qn.TrainingProblem(topology, inputs, outputs, **strengths, encoding=one)
        parameters, energies = problem.variables.starts[2], np.full(2**8, np.inf)
        states = all_bits(problem.variables.count)
        numbers = states[:, :parameters] @ (1 << np.arange(parameters))
        np.minimum.at(energies, numbers, problem.qubo().energy(states))
        lowest.append(energies)
    assert np.array_equal(lowest[0], lowest[1])


@pytest.mark.parametrize("encoding", ["binary", "unary", 2, 3, 5])
def test_an_encoded_network_has_the_energy_of_its_certificate(encoding: str | int) -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(
        qn.paper.topology(10),
        letters.train_inputs,
        letters.train_outputs,
        margin_strength=0.125,
        encoding=encoding,
    )
    qubo = problem.qubo()
    for seed in range(5):
        network = qn.BinaryNetwork.random(problem.topology, seed=seed)
        bits = problem.encode(network)
        total = problem.certify(network).terms.total
        assert qubo.energy(bits) == problem.terms(bits).total == total
        assert problem.decode(bits) == network


@pytest.mark.parametrize("encoding", ["ternary", 0, 1.5, None])
def test_other_encodings_are_refused(encoding: Any) -> None:
    with pytest.raises(RangeError, match="encoding must be"):
        qn.TrainingProblem(qn.Topology.dense(1, 1), [[1]], [[1]], encoding=encoding)


ALIKE: dict[str, tuple[qn.Topology, list[list[int]], list[list[int]]]] = {
    "equal examples": (qn.Topology.dense(2, 1, 1), [[1, -1], [1, -1]], [[1], [1]]),
    "contradicting examples": (qn.Topology.dense(1, 1, 1), [[1], [1]], [[1], [-1]]),
    "equal for one neuron": (
        qn.Topology.from_arcs([(0, 2), (1, 3), (2, 3)], inputs=2, outputs=1),
        [[1, 1], [1, -1]],
        [[1], [-1]],
    ),
    "equal in the second layer": (
        qn.Topology.from_arcs([(0, 2), (2, 3), (3, 4), (1, 4)], inputs=2, outputs=1),
        [[1, 1], [1, -1]],
        [[1], [1]],
    ),
    "after an output": (
        qn.Topology.from_arcs([(0, 2), (2, 1)], inputs=1, outputs=1),
        [[1], [-1]],
        [[1], [1]],
    ),
    "known weights": (
        qn.Topology.from_arcs(
            [(0, 1), (1, 2), (1, 2)], inputs=1, outputs=1, known_weights=[1, 0, -1]
        ),
        [[1], [1], [-1]],
        [[1], [1], [-1]],
    ),
    "no inputs": (qn.Topology.from_arcs([(0, 1)], inputs=0, outputs=2), [[], []], [[1, 1]] * 2),
}


@pytest.mark.parametrize("case", ALIKE.values(), ids=ALIKE)
@pytest.mark.parametrize(
    "strengths",
    [
        {},
        {"product_strength": 2, "output_strength": 3, "margin_strength": 0.25},
        {"encoding": "unary", "decay_strength": 1},
    ],
)
def test_shared_variables_keep_the_energy_of_each_state(
    case: tuple[qn.Topology, Any, Any], strengths: dict[str, Any]
) -> None:
    weights = range(1, 1 + len(case[1]))
    paper = qn.TrainingProblem(*case, **strengths, example_weights=weights)
    shared = replace(paper, share=True)
    states = all_bits(shared.variables.count)
    written_out = states[:, numbers_in_order(shared.variables)]
    assert np.array_equal(shared.qubo().energy(states), paper.qubo().energy(written_out))


def numbers_in_order(variables: Variables) -> IntVector:
    parts = [
        np.arange(variables.starts[2]),
        variables.activation_variables[:, variables.structure.free_nodes].ravel(),
        variables.count_variables.ravel(),
        variables.product_variables.ravel(),
    ]
    return np.concatenate(parts)


@pytest.mark.parametrize("case", ALIKE.values(), ids=ALIKE)
def test_shared_variables_keep_the_networks_of_zero_energy(
    case: tuple[qn.Topology, Any, Any],
) -> None:
    problem = qn.TrainingProblem(*case, share=True)
    states = all_bits(problem.variables.count)
    energies = problem.qubo().energy(states)
    found = {problem.decode(bits) for bits in states[energies == 0]}
    feasible = {net for net in all_networks(problem.topology) if is_feasible(problem, net)}
    assert energies.min() >= 0
    assert found == feasible
    assert problem.variables.count < replace(problem, share=False).variables.count


def test_examples_of_a_network_with_cycles_share_nothing() -> None:
    topology, inputs = TINY["cycle of hidden neurons"]
    problem = qn.TrainingProblem(topology, inputs * 2, [[1], [1]], share=True)
    assert problem.qubo() == replace(problem, share=False).qubo()


def test_two_patches_of_an_image_are_shared_by_the_images_that_have_them() -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(
        qn.paper.topology(0), letters.train_inputs, letters.train_outputs, share=True
    )
    assert problem.variables.count < replace(problem, share=False).variables.count == 406
    labels = problem.qubo().labels
    assert len(set(labels)) == len(labels) == problem.size.qubo_variables
    network = qn.BinaryNetwork.random(problem.topology, seed=0)
    bits = problem.encode(network)
    assert problem.decode(bits) == network
    assert problem.qubo().energy(bits) == problem.certify(network).terms.total
    others = np.random.default_rng(0).integers(2, size=(20, len(labels)), dtype=np.int8)
    totals = [problem.terms(one).total for one in others]
    assert problem.qubo().energy(others).tolist() == totals


def test_activations_that_differ_where_they_are_shared_are_refused() -> None:
    topology, inputs, outputs = ALIKE["equal examples"]
    problem = qn.TrainingProblem(topology, inputs, outputs, share=True)
    network = qn.BinaryNetwork.random(topology, seed=0)
    with pytest.raises(AlphabetError, match="share=False"):
        problem.encode(network, [[1, -1, 1, 1], [1, -1, -1, 1]])


def test_samplers_and_blocks_train_with_shared_variables() -> None:
    topology = qn.Topology.dense(2, 2, 1)
    xor = [[-1, -1], [-1, 1], [1, -1], [1, 1]] * 2
    problem = qn.TrainingProblem(topology, xor, [[-1], [1], [1], [-1]] * 2, share=True)
    sampler = qn.SimulatedAnnealing(replica_count=100, sweep_count=200)
    result = qn.train(problem, sampler, seed=0)
    assert result.is_feasible
    assert result.violation_count == 0
    engine = BlockDecomposition(sampler=sampler, variable_limit=60, block_count=20)
    assert qn.train(problem, engine, seed=0, target_energy=0).is_feasible
