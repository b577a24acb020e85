"""Thinning removes nodes and remembers where everything that is left came from."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qubonn.errors import RangeError, ShapeError, TopologyError
from qubonn.topology import Topology
from topology.random_graphs import arcs_of, topologies

DENSE = Topology.dense(3, 2, 1)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Topology, list[int]]:
    """A topology and nodes to drop, some perhaps twice."""
    topology = draw(topologies())
    nodes = range(topology.outputs.start)
    droppable = [n for n in nodes if not (topology.has_constant and n == topology.column_count)]
    dropped = draw(st.lists(st.sampled_from(droppable), max_size=6)) if droppable else []
    return topology, dropped


class Twin:
    """The slow, obvious thinning."""

    def __init__(self, topology: Topology, dropped: list[int]) -> None:
        arcs = arcs_of(topology)
        self.nodes = [node for node in range(topology.node_count) if node not in dropped]
        self.neurons = [
            node - topology.input_count for node in self.nodes if node >= topology.input_count
        ]
        self.arcs = [
            arc
            for arc, (source, target, _) in enumerate(arcs)
            if source not in dropped and target not in dropped
        ]
        self.weights = sorted({arcs[arc][2] for arc in self.arcs})
        inputs = [node for node in self.nodes if node < topology.input_count]
        self.columns = [node for node in inputs if node < topology.column_count]
        rows = [arcs[arc] for arc in self.arcs]
        self.topology = Topology.from_arcs(
            [(self.nodes.index(s), self.nodes.index(t), self.weights.index(w)) for s, t, w in rows],
            inputs=len(inputs),
            outputs=topology.output_count,
            nodes=len(self.nodes),
            has_constant=topology.has_constant,
            known_weights=[topology.known_weights[w] for w in self.weights],
            known_biases=[topology.known_biases[n] for n in self.neurons],
        )


@given(cases())
def test_a_thinned_topology_equals_its_twin(case: tuple[Topology, list[int]]) -> None:
    assert Topology.thin(*case).topology == Twin(*case).topology


@given(cases())
def test_the_maps_back_equal_those_of_the_twin(case: tuple[Topology, list[int]]) -> None:
    thinning, twin = Topology.thin(*case), Twin(*case)
    assert thinning.node_of.tolist() == twin.nodes
    assert thinning.neuron_of.tolist() == twin.neurons
    assert thinning.arc_of.tolist() == twin.arcs
    assert thinning.weight_of.tolist() == twin.weights
    assert thinning.input_columns.tolist() == twin.columns


@given(cases())
def test_the_maps_back_lead_from_every_arc_to_the_arc_it_was(
    case: tuple[Topology, list[int]],
) -> None:
    topology, dropped = case
    thinning = topology.thin(dropped)
    thinned = thinning.topology
    np.testing.assert_array_equal(
        thinning.node_of[thinned.source_of], topology.source_of[thinning.arc_of]
    )
    np.testing.assert_array_equal(
        thinning.node_of[thinned.target_of], topology.target_of[thinning.arc_of]
    )
    np.testing.assert_array_equal(
        thinning.weight_of[thinned.weight_of], topology.weight_of[thinning.arc_of]
    )


@given(topologies())
def test_dropping_nothing_gives_an_equal_topology(topology: Topology) -> None:
    thinning = topology.thin([])
    assert thinning.topology == topology
    assert thinning.node_of.tolist() == list(range(topology.node_count))
    assert thinning.weight_of.tolist() == list(range(topology.weight_count))


def test_nodes_may_be_given_in_any_order_container_and_repetition() -> None:
    expected = DENSE.thin([0, 4]).topology
    assert DENSE.thin((4, 0, 4)).topology == expected
    assert DENSE.thin({0, 4}).topology == expected
    assert DENSE.thin(np.array([4, 0])).topology == expected
    assert DENSE.thin(node for node in (4, 0)).topology == expected


@pytest.mark.parametrize("dropped", [[5], [0, 5]])
def test_outputs_stay(dropped: list[int]) -> None:
    with pytest.raises(TopologyError, match="outputs must stay; got output 5 among the dropped"):
        DENSE.thin(dropped)


def test_the_constant_stays() -> None:
    topology = Topology.dense(3, 2, 1, threshold_levels=3)
    with pytest.raises(TopologyError, match="the constant must stay; got node 3 among the dropped"):
        topology.thin([0, 3])
    assert topology.thin([0, 2]).topology == Topology.dense(1, 2, 1, threshold_levels=3)


@pytest.mark.parametrize("node", [-1, 6])
def test_nodes_that_are_not_there_cannot_be_dropped(node: int) -> None:
    with pytest.raises(RangeError, match=rf"dropped nodes must lie in 0\.\.5; got {node}"):
        DENSE.thin([node])


@pytest.mark.parametrize("dropped", [[0.5], ["0"], np.array([True, False]), [[0]]])
def test_what_are_no_node_numbers_is_refused(dropped: Any) -> None:
    with pytest.raises(ShapeError, match="dropped nodes must be a sequence of whole numbers; got"):
        DENSE.thin(dropped)


def test_a_neuron_that_loses_all_its_predecessors_stays() -> None:
    chain = Topology.from_arcs([(0, 1), (1, 2), (2, 3)], inputs=1, outputs=1)
    thinning = chain.thin([1])
    assert arcs_of(thinning.topology) == [(1, 2, 0)]
    assert thinning.node_of.tolist() == [0, 2, 3]
    assert thinning.topology.fan_in.tolist() == [0, 0, 1]
    assert thinning.neuron_of.tolist() == [1, 2]


def test_all_but_the_outputs_may_go() -> None:
    thinning = DENSE.thin(range(5))
    assert repr(thinning.topology) == (
        "Topology(0 inputs, 0 hidden, 1 output: 1 node, 0 arcs, 0 weights)"
    )
    assert thinning.node_of.tolist() == [5]
    assert thinning.neuron_of.tolist() == [2]
    assert thinning.weight_of.tolist() == []


def test_a_shared_weight_stays_until_its_last_arc_goes() -> None:
    topology = Topology.parse("conv(2x2)", inputs=(3, 3), outputs=1)
    assert topology.thin([9, 10, 11]).weight_of.tolist() == [0, 1, 2, 3, 7]
    assert topology.thin([9, 10, 11, 12]).weight_of.tolist() == []


def test_thinning_twice_is_thinning_once() -> None:
    topology = Topology.parse("conv(2x2x2)+fc(3)", inputs=(4, 4), outputs=2)
    first = topology.thin([3, 20, 35])
    second = first.topology.thin([0, 17])
    once = topology.thin([3, 20, 35, *first.node_of[[0, 17]]])
    assert second.topology == once.topology
    np.testing.assert_array_equal(first.node_of[second.node_of], once.node_of)
    np.testing.assert_array_equal(first.weight_of[second.weight_of], once.weight_of)


@pytest.mark.parametrize("name", ["node_of", "neuron_of", "arc_of", "weight_of", "input_columns"])
def test_the_maps_back_are_read_only(name: str) -> None:
    with pytest.raises(ValueError, match="read-only"):
        getattr(DENSE.thin([0]), name)[0] = 1
