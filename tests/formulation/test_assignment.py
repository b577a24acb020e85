"""Networks to full assignments and back, and what a certificate says."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from reference import consistent_states

NOTATIONS = [
    "fc(3)",
    "conv(2x2)",
    "conv(2x2x2)+fc(3)",
    "conv(3x3, stride=2, padding=1)+fc(2)",
    "conv(3x3)+conv(2x2x2)",
    "fc(2)+fc(2)+fc(2)",
]


def random_problem(
    notation: str, seed: int, output_strength: float | None = None
) -> tuple[qn.TrainingProblem, qn.BinaryNetwork]:
    """A problem labelled by a random network's own forward pass."""
    generator = np.random.default_rng(seed)
    topology = qn.Topology.parse(notation, inputs=(4, 4), outputs=2)
    network = qn.BinaryNetwork.random(topology, seed=seed)
    inputs = generator.normal(size=(5, 16))
    outputs = network.predict_outputs(inputs)
    problem = qn.TrainingProblem(topology, inputs, outputs, output_strength=output_strength)
    return problem, network


@pytest.mark.parametrize("notation", NOTATIONS)
@pytest.mark.parametrize("output_strength", [None, 3])
@pytest.mark.parametrize("seed", range(5))
def test_a_network_labelled_by_itself_has_zero_energy_and_h_som_equals_s2(
    notation: str, output_strength: float | None, seed: int
) -> None:
    problem, network = random_problem(notation, seed, output_strength=output_strength)
    bits = problem.encode(network)
    terms = problem.terms(bits)
    assert (terms.activation, terms.product, terms.output, terms.total) == (0, 0, 0, 0)
    assert problem.qubo().energy(bits) == 0
    assert terms.margin == network.margins(problem.input_spins).s2
    assert problem.qubo("margin").energy(bits) == terms.margin
    assert problem.violations(bits).count == 0
    assert problem.decode(bits) == network


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(NOTATIONS), st.integers(0, 2**31), st.integers(0, 2**31))
def test_decode_undoes_encode_also_for_networks_that_are_wrong(
    notation: str, seed: int, other: int
) -> None:
    problem, _ = random_problem(notation, seed)
    network = qn.BinaryNetwork.random(problem.topology, seed=other)
    bits = problem.encode(network)
    assert problem.decode(bits) == network
    certificate = problem.certify(network)
    assert certificate.terms == problem.terms(bits)
    assert list(certificate.violations) == list(problem.violations(bits))
    is_right = network.accuracy(problem.input_spins, problem.output_spins) == 1
    assert certificate.is_feasible == is_right == (problem.qubo().energy(bits) == 0)


@pytest.mark.parametrize("seed", range(20))
def test_the_encoded_counts_are_the_best_of_all_counts(seed: int) -> None:
    generator = np.random.default_rng(seed)
    topology = qn.Topology.dense(6, 2, 1)
    inputs, outputs = generator.choice([-1, 1], (2, 6)), generator.choice([-1, 1], (2, 1))
    problem = qn.TrainingProblem(topology, inputs, outputs)
    bits = problem.encode(qn.BinaryNetwork.random(topology, seed=seed))
    counts = [i for i, label in enumerate(problem.variables.labels) if label[0] == "count"]
    every = np.tile(bits, (2 ** len(counts), 1))
    every[:, counts] = np.arange(2 ** len(counts))[:, None] >> np.arange(len(counts)) & 1
    energies = problem.qubo().energy(every)
    assert energies.min() == problem.qubo().energy(bits)


def test_wrong_outputs_are_seen_as_violations_when_fixed_and_counted_when_free() -> None:
    topology = qn.Topology.dense(1, 1)
    network = qn.BinaryNetwork(topology, [1], [1])  # +1 -> +1, -1 -> f(0) = -1
    fixed = qn.TrainingProblem(topology, [[1], [-1]], [[1], [1]])
    violation = next(iter(fixed.violations(fixed.encode(network))))
    assert str(violation) == "activation constraint of example 1 at node 1: off by -1"
    free = qn.TrainingProblem(topology, [[1], [-1]], [[1], [1]], output_strength=7)
    assert free.violations(free.encode(network)).count == 0
    assert free.terms(free.encode(network)).total == 7
    assert not free.certify(network).is_feasible


def test_neurons_that_depend_on_fixed_outputs_see_the_wanted_value() -> None:
    # the output is wrong (constant -1); the hidden neuron copies its value
    arcs = [(0, 2), (2, 1), (2, 1)]
    topology = qn.Topology.from_arcs(arcs, inputs=1, outputs=1)
    network = qn.BinaryNetwork(topology, [-1, 1, 1], [-1, -1])
    problem = qn.TrainingProblem(topology, [[1]], [[1]])
    assert problem.assignment(network).activation_spins.tolist() == [[1, 1, 1]]
    assert network.forward([[1]]).activation_spins.tolist() == [[1, -1, -1]]


@pytest.mark.parametrize("seed", range(30))
def test_encode_finds_consistent_activations_of_cyclic_networks_where_there_are_any(
    seed: int,
) -> None:
    arcs = [(0, 2), (1, 3), (2, 3), (3, 4), (4, 2), (4, 5), (3, 5), (5, 2)]
    topology = qn.Topology.from_arcs(arcs, inputs=2, outputs=1)
    network = qn.BinaryNetwork.random(topology, seed=seed)
    inputs = [1, -1]
    states = list(consistent_states(network, inputs))
    for output in (-1, 1):
        problem = qn.TrainingProblem(topology, [inputs], [[output]])
        is_possible = any(state[-1] == output for state in states)
        # clamping the output may make other states consistent, so this holds in one direction
        if is_possible:
            wanted = next(state for state in states if state[-1] == output)
            assert problem.certify(network, activations=[wanted]).is_feasible
            assert problem.certify(network).is_feasible


def test_activations_that_contradict_the_data_are_refused() -> None:
    problem = qn.TrainingProblem(qn.Topology.dense(1, 1, 1), [[1]], [[1]])
    network = qn.BinaryNetwork.random(problem.topology, seed=0)
    with pytest.raises(qn.QubonnError, match="agree with the inputs and the fixed outputs"):
        problem.encode(network, activations=[[1, 1, -1]])
