"""The forward pass equals a slow twin on every kind of acyclic graph, exactly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import issparse

import qubonn as qn
from network.random_networks import networks, random_inputs, slow_sum
from qubonn.errors import AlphabetError, RangeError, ShapeError, TopologyError
from qubonn.network.forward import plan_all, plan_levels, pre_activations_of, run_forward, sign
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
    "lonely": qn.Topology.from_arcs([(0, 4), (4, 7)], inputs=3, outputs=2, nodes=8),
    "no arcs": qn.Topology.from_arcs([], inputs=2, outputs=2),
    "no inputs": qn.Topology.from_arcs([(0, 1), (0, 2), (1, 2)], inputs=0, outputs=1),
    "backwards": qn.Topology.from_arcs([(0, 4), (4, 3), (3, 1), (1, 2)], inputs=1, outputs=2),
}
CYCLIC = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)


def slow_pass(network: qn.BinaryNetwork, row: list[float]) -> tuple[list[int], list[int]]:
    """Spins of all nodes and sums of all neurons of one example, each as soon as it is known."""
    topology = network.topology
    spins = {node: f(row[node]) for node in topology.inputs}
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
    plan = plan_all(network.topology, network.weight_spins, network.bias_spins)
    given_all = pre_activations_of(plan, network.topology, found.activation_spins)
    assert given_all.tolist() == sums


@settings(max_examples=60, deadline=None)
@given(networks(), st.integers(0, 2**32))
def test_given_all_activations_every_sum_is_known_with_cycles_or_without(
    network: qn.BinaryNetwork, seed: int
) -> None:
    topology = network.topology
    states = np.random.default_rng(seed).choice(
        np.array([-1, 1], np.int8), (2, topology.node_count)
    )
    plan = plan_all(topology, network.weight_spins, network.bias_spins)
    neurons = range(topology.input_count, topology.node_count)
    expected = [
        [slow_sum(network, dict(enumerate(state)), node) for node in neurons]
        for state in states.tolist()
    ]
    assert pre_activations_of(plan, topology, states).tolist() == expected


def test_a_clamped_node_keeps_its_spin_and_the_others_hear_it() -> None:
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


def test_real_inputs_are_binarised_and_zero_becomes_minus_one() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(4, 1), [1, 1, 1, 1], [1])
    inputs = [[0.0, 1e-9, -7.5, 300.0]]
    assert network.input_spins(inputs).tolist() == [[-1, 1, -1, 1]]
    assert network.forward(inputs).activation_spins.tolist() == [[-1, 1, -1, 1, 1]]
    assert network.input_spins([[True, False, True, True]]).tolist() == [[1, -1, 1, 1]]


def test_accuracy_asks_that_all_outputs_of_an_example_are_right() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(1, 2), [1, -1], [-1, -1])
    inputs = [[1], [1], [-1], [-1]]
    assert network.predict_outputs(inputs).tolist() == [[-1, -1], [-1, -1], [-1, -1], [-1, -1]]
    assert network.accuracy(inputs, [[-1, -1], [-1, 1], [1, 1], [-1, -1]]) == 0.5
    assert network.accuracy(inputs, network.predict_outputs(inputs)) == 1.0


def test_a_cyclic_network_has_no_forward_pass_and_says_what_to_use() -> None:
    network = qn.BinaryNetwork.random(CYCLIC, seed=0)
    for compute in (network.forward, network.predict_outputs, network.margins):
        with pytest.raises(TopologyError, match=r"2 -> 1 closes a cycle.* use network\.settle"):
            compute([[1]])


def test_one_example_as_a_vector_is_refused_with_a_hint() -> None:
    network = qn.BinaryNetwork.random(GRAPHS["dense"], seed=0)
    with pytest.raises(
        ShapeError,
        match=r"inputs must have 7 columns, one per input neuron; got shape \(7,\); "
        "give one example as a matrix of one row",
    ):
        network.predict_outputs([1, 1, 1, 1, 1, 1, 1])


def test_inputs_that_are_not_finite_are_named_by_row_and_column() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(AlphabetError, match="inputs must be finite; got nan in row 1, column 0"):
        network.forward([[1.0, 2.0], [float("nan"), 1.0]])


def test_wanted_outputs_of_another_shape_or_alphabet_are_refused() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(ShapeError, match="outputs must have 2 rows, one per example; got 1"):
        network.accuracy([[1, 1], [1, 1]], [[1]])
    with pytest.raises(AlphabetError, match=r"outputs must be -1 or \+1; got 0.* 2 \* bits - 1"):
        network.accuracy([[1, 1], [1, 1]], [[0], [1]])


class TestParameters:
    def test_are_checked_against_the_topology(self) -> None:
        topology = qn.Topology.dense(2, 1)
        with pytest.raises(ShapeError, match=r"weight_spins must have 2 values, one per weight"):
            qn.BinaryNetwork(topology, [1], [1])
        with pytest.raises(ShapeError, match=r"bias_spins must have 1 values, one per non-input"):
            qn.BinaryNetwork(topology, [1, 1], [1, 1])
        with pytest.raises(
            AlphabetError, match=r"weight_spins must be -1 or \+1; got 2 at place 1"
        ):
            qn.BinaryNetwork(topology, [1, 2], [1])

    def test_need_a_topology(self) -> None:
        with pytest.raises(TopologyError, match=r"topology must be a Topology, .* got list"):
            qn.BinaryNetwork([2, 1], [1, 1], [1])  # type: ignore[arg-type]
        with pytest.raises(TopologyError, match=r"topology must be a Topology, .* got tuple"):
            qn.BinaryNetwork.random((2, 1), seed=0)  # type: ignore[arg-type]

    def test_cannot_be_changed_nor_follow_the_array_they_came_from(self) -> None:
        weights = np.array([1, 1], dtype=np.int8)
        network = qn.BinaryNetwork(qn.Topology.dense(2, 1), weights, [1])
        weights[0] = -1
        assert network.weight_spins.tolist() == [1, 1]
        with pytest.raises(ValueError, match="read-only"):
            network.weight_spins[0] = -1

    def test_are_the_same_for_the_same_seed(self) -> None:
        topology = GRAPHS["dense"]
        network = qn.BinaryNetwork.random(topology, seed=5)
        assert network == qn.BinaryNetwork.random(topology, seed=5)
        assert hash(network) == hash(qn.BinaryNetwork.random(topology, seed=5))
        assert network != qn.BinaryNetwork.random(topology, seed=6)
        assert set(network.weight_spins.tolist()) == {-1, 1}

    def test_of_other_topologies_are_other_networks(self) -> None:
        straight = qn.Topology.from_arcs([(0, 2), (1, 2)], inputs=2, outputs=1)
        swapped = qn.Topology.from_arcs([(1, 2), (0, 2)], inputs=2, outputs=1)
        assert qn.BinaryNetwork(straight, [1, -1], [1]) != qn.BinaryNetwork(swapped, [1, -1], [1])
        assert qn.BinaryNetwork(straight, [1, -1], [1]) != "a network"

    @pytest.mark.parametrize("seed", [-1, 1.5, True, "0"])
    def test_are_not_drawn_from_what_is_no_seed(self, seed: int) -> None:
        with pytest.raises(RangeError, match="seed must be"):
            qn.BinaryNetwork.random(GRAPHS["dense"], seed=seed)
