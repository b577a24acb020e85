"""The forward pass equals a slow twin on every kind of acyclic graph, exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import issparse

import qubonn as qn
from network.random_networks import networks, random_inputs, slow_magnitudes, slow_sum
from qubonn.network import Margins
from qubonn.network.forward import plan_levels, run_forward, sign
from reference import f

GRAPHS = {
    "dense": qn.Topology.dense(7, 5, 3),
    "deep": qn.Topology.dense(4, 3, 3, 3, 2),
    "convolution": qn.Topology.parse("conv(3x3x2) + fc(4)", inputs=(5, 5), outputs=2),
    "large convolution": qn.Topology.parse("conv(2x2) + conv(2x2)", inputs=(12, 12), outputs=2),
    "skip": qn.Topology.from_arcs(
        [(0, 2), (1, 2), (2, 3), (0, 4), (3, 4), (1, 4), (2, 4)], inputs=2, outputs=1
    ),
    "parallel": qn.Topology.from_arcs(
        [(0, 2), (0, 2), (0, 2), (1, 2), (2, 3), (2, 3), (1, 3)], inputs=2, outputs=1
    ),
    "shared": qn.Topology.from_arcs(
        [(0, 2, 0), (1, 2, 0), (2, 3, 1), (0, 3, 0), (1, 3, 1), (1, 3, 1)], inputs=2, outputs=1
    ),
    "levels": qn.Topology.dense(7, 5, 3, weight_levels=[3, 4], threshold_levels=[5, 2]),
    "thresholds": qn.Topology.parse(
        "conv(2x2x2, levels=3, thresholds=4) + out(thresholds=3)", inputs=(4, 4), outputs=2
    ),
    "constant alone": qn.Topology.from_arcs(
        [(0, 1), (0, 1), (0, 2)], inputs=1, outputs=1, has_constant=True
    ),
    "lonely": qn.Topology.from_arcs([(0, 4), (4, 7)], inputs=3, outputs=2, nodes=8),
    "no arcs": qn.Topology.from_arcs([], inputs=2, outputs=2),
    "no inputs": qn.Topology.from_arcs([(0, 1), (0, 2), (1, 2)], inputs=0, outputs=1),
    "backwards": qn.Topology.from_arcs([(0, 4), (4, 3), (3, 1), (1, 2)], inputs=1, outputs=2),
}
CYCLIC = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)


def slow_pass(network: qn.BinaryNetwork, row: list[float]) -> tuple[list[int], list[int]]:
    """Spins of all nodes and sums of all neurons of one example, each as soon as it is known."""
    topology = network.topology
    spins = dict.fromkeys(topology.inputs, 1) | {node: f(x) for node, x in enumerate(row)}
    sums: dict[int, int] = {}
    while len(spins) < topology.node_count:
        for node in range(topology.input_count, topology.node_count):
            if all(int(source) in spins for source in topology.predecessors(node)):
                sums[node] = slow_sum(network, spins, node)
                spins[node] = f(sums[node])
    return [spins[node] for node in sorted(spins)], [sums[node] for node in sorted(sums)]


def slow_passes(
    network: qn.BinaryNetwork, inputs: list[list[float]]
) -> tuple[list[list[int]], list[list[int]]]:
    passes = [slow_pass(network, row) for row in inputs]
    return [spins for spins, _ in passes], [sums for _, sums in passes]


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("seed", range(3))
def test_the_forward_pass_equals_the_twin_on_every_kind_of_graph(name: str, seed: int) -> None:
    network = qn.BinaryNetwork.random(GRAPHS[name], seed=seed)
    inputs = random_inputs(network, 5, seed)
    spins, sums = slow_passes(network, inputs)
    found = network.forward(inputs)
    assert found.activation_spins.tolist() == spins
    assert found.pre_activations.tolist() == sums
    assert found.activation_spins.dtype == np.int8
    assert found.pre_activations.dtype == np.int32


@settings(max_examples=150, deadline=None)
@given(networks(is_acyclic=True), st.integers(0, 2**32))
def test_the_forward_pass_equals_the_twin_on_random_graphs(
    network: qn.BinaryNetwork, seed: int
) -> None:
    inputs = random_inputs(network, 3, seed)
    spins, sums = slow_passes(network, inputs)
    outputs = network.topology.output_count
    assert network.forward(inputs).activation_spins.tolist() == spins
    assert network.pre_activations(inputs).tolist() == sums
    assert network.predict_outputs(inputs).tolist() == [row[-outputs:] for row in spins]


def test_levels_with_few_arcs_are_sparse_and_full_ones_are_dense() -> None:
    def is_sparse(name: str) -> list[bool]:
        network = qn.BinaryNetwork.random(GRAPHS[name], seed=0)
        plan = plan_levels(network.topology, network.weight_spins, network.bias_spins)
        return [issparse(level.matrix) for level in plan]

    assert is_sparse("dense") == [False, False]
    assert is_sparse("large convolution") == [True, True, False]


@pytest.mark.parametrize("rows_at_once", [0, 1, 3, 5, 6, 7])
@pytest.mark.parametrize("name", ["dense", "large convolution", "skip"])
def test_examples_may_come_in_any_number_of_pieces(
    name: str, rows_at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    network = qn.BinaryNetwork.random(GRAPHS[name], seed=1)
    inputs = random_inputs(network, 6, seed=1)
    spins, sums = slow_passes(network, inputs)
    bytes_at_once = 4 * network.topology.node_count * rows_at_once
    monkeypatch.setattr("qubonn.network.forward.CHUNK_BYTES", bytes_at_once)
    found = network.forward(inputs)
    assert found.activation_spins.tolist() == spins
    assert found.pre_activations.tolist() == sums
    assert network.pre_activations_at(found.activation_spins).tolist() == sums


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**32))
def test_given_all_activations_every_sum_is_known_with_cycles_or_without(
    network: qn.BinaryNetwork, seed: int
) -> None:
    topology = network.topology
    states = np.random.default_rng(seed).choice(
        np.array([-1, 1], np.int8), (2, topology.node_count)
    )
    states[:, topology.column_count : topology.input_count] = 1
    neurons = range(topology.input_count, topology.node_count)
    expected = [
        [slow_sum(network, dict(enumerate(state)), node) for node in neurons]
        for state in states.tolist()
    ]
    assert network.pre_activations_at(states).tolist() == expected


def test_a_clamped_node_keeps_its_spin_and_others_use_it() -> None:
    topology = qn.Topology.dense(1, 1, 1)
    network = qn.BinaryNetwork(topology, [1, 1], [1, 1])
    plan = plan_levels(topology, network.weight_spins, network.bias_spins, [1])
    inputs = np.array([[1]], dtype=np.int8)
    clamped = (np.array([1]), np.array([[-1]], dtype=np.int8))
    found = run_forward(plan, topology, inputs, clamped)
    assert found.activation_spins.tolist() == [[1, -1, -1]]
    assert found.pre_activations.tolist() == [[2, 0]]


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64, np.float32, np.float64])
def test_the_sign_of_zero_is_minus_one(dtype: type) -> None:
    values: NDArray[np.generic] = np.array([-2, -1, 0, 1, 2], dtype=dtype)
    assert sign(values).tolist() == [-1, -1, -1, 1, 1]
    assert sign(values).dtype == np.int8


def test_the_sign_of_a_tiny_number_is_its_own_and_minus_zero_is_zero() -> None:
    assert sign(np.array([5e-324, -5e-324, -0.0, 1e300])).tolist() == [1, -1, -1, 1]


def test_a_pre_activation_of_zero_gives_minus_one() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(1, 1), [1], [1])
    assert network.pre_activations([[-1]]).tolist() == [[0]]
    assert network.predict_outputs([[-1]]).tolist() == [[-1]]


# ---- S1 and S2 are the paper's sums of margins, loop by loop ----


@settings(max_examples=100, deadline=None)
@given(networks(is_acyclic=True), st.integers(0, 2**32), st.integers(1, 5))
def test_s1_and_s2_equal_the_formulas_of_the_paper(
    network: qn.BinaryNetwork, seed: int, example_count: int
) -> None:
    inputs = random_inputs(network, example_count, seed)
    examples = [slow_magnitudes(network, row) for row in inputs]
    neurons = range(network.topology.input_count, network.topology.node_count)
    margins = network.margins(inputs)
    assert margins.s1 == sum(min(found[j] for found in examples) for j in neurons)
    assert margins.s2 == sum(found[j] for found in examples for j in neurons)
    assert margins.per_neuron.tolist() == [min(found[j] for found in examples) for j in neurons]
    assert margins.magnitudes.tolist() == [[found[j] for j in neurons] for found in examples]


@pytest.mark.parametrize("number", [2, 7, 10])
def test_one_example_has_equal_s1_and_s2(number: int) -> None:
    network = qn.BinaryNetwork.random(qn.paper.topology(number), seed=0)
    inputs = qn.datasets.letters(seed=0).train_inputs[:1]
    assert network.margins(inputs).s1 == network.margins(inputs).s2


def test_margins_say_what_they_are() -> None:
    margins = Margins(np.array([[3, 1], [1, 5]], dtype=np.int32))
    assert repr(margins) == "Margins(s1=2, s2=10)"
    assert margins.per_neuron.tolist() == [1, 1]
    assert (type(margins.s1), type(margins.s2)) == (int, int)


def test_large_sums_do_not_wrap_around() -> None:
    margins = Margins(np.full((3, 2), 2**31 - 1, dtype=np.int32))
    assert margins.s1 == 2 * (2**31 - 1)
    assert margins.s2 == 6 * (2**31 - 1)
