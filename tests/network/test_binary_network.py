"""A network checks what it is given and cannot be changed."""

import numpy as np
import pytest
from matplotlib.figure import Figure

import qubonn as qn
from qubonn.errors import AlphabetError, RangeError, ShapeError, TopologyError

DENSE = qn.Topology.dense(7, 5, 3)
CYCLIC = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)


def test_real_inputs_are_binarised_and_zero_becomes_minus_one() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(4, 1), [1, 1, 1, 1], [1])
    inputs = [[0.0, 1e-9, -7.5, 300.0]]
    assert network.input_spins(inputs).tolist() == [[-1, 1, -1, 1]]
    assert network.forward(inputs).activation_spins.tolist() == [[-1, 1, -1, 1, 1]]
    assert network.input_spins([[True, False, True, True]]).tolist() == [[1, -1, 1, 1]]


def test_a_network_draws_its_weights_in_two_colours() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(2, 1), [1, -1], [1])
    axes = network.draw(Figure().subplots(), node_numbers=True)
    assert [text.get_text() for text in axes.get_legend().texts] == ["weight +1", "weight -1"]
    assert {"0", "1", "2"} <= {text.get_text() for text in axes.texts}


def test_accuracy_counts_examples_with_all_outputs_right() -> None:
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
    network = qn.BinaryNetwork.random(DENSE, seed=0)
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
        topology = DENSE
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
            qn.BinaryNetwork.random(DENSE, seed=seed)


def test_rows_of_parameters_become_networks_that_share_no_memory_with_them() -> None:
    topology = qn.Topology.dense(4, 2, 1)
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(5)]
    weights = np.stack([member.weight_spins for member in members])
    biases = np.stack([member.bias_spins for member in members])
    networks = list(qn.BinaryNetwork.of_rows(topology, weights, biases))
    weights[:], biases[:] = 1, 1
    assert networks == members
    assert not networks[0].weight_spins.flags.writeable


def test_rows_that_contradict_what_the_topology_knows_are_refused() -> None:
    topology = qn.Topology.parse("conv(2x2, known=##..)", inputs=(3, 3), outputs=1)
    weights, biases = topology.with_known(
        -np.ones(topology.weight_count, np.int8), -np.ones(topology.neuron_count, np.int8)
    )
    list(qn.BinaryNetwork.of_rows(topology, weights[np.newaxis], biases[np.newaxis]))
    with pytest.raises(AlphabetError, match="must agree with what the topology knows"):
        list(qn.BinaryNetwork.of_rows(topology, -weights[np.newaxis], biases[np.newaxis]))
