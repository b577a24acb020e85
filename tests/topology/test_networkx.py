"""A topology becomes a networkx graph and comes back the same."""

import sys
from typing import Any

import networkx as nx
import pytest
from hypothesis import given

from qubonn.errors import MissingExtra, TopologyError
from qubonn.topology import Topology
from topology.random_graphs import arcs_of, topologies


def named_graph() -> Any:
    """Two sensors, a cell and a light; graph.edges follow the order of the nodes here."""
    graph = nx.DiGraph()
    graph.add_node("light", role="output")
    graph.add_node("cell")
    graph.add_node("left", role="input")
    graph.add_node("right", role="input")
    graph.add_edges_from([("cell", "light"), ("right", "cell"), ("left", "cell")])
    return graph


@given(topologies())
def test_a_topology_comes_back_the_same(topology: Topology) -> None:
    assert Topology.from_networkx(topology.to_networkx()) == topology


@pytest.mark.parametrize(
    "topology",
    [
        Topology.dense(4, 3, 2),
        Topology.dense(4, 3, 2, weight_levels=3, threshold_levels=4),
        Topology.parse("conv(2x2x2)+fc(2)", inputs=(2, 3, 3), outputs=2),
    ],
)
def test_a_layered_topology_comes_back_the_same(topology: Topology) -> None:
    assert Topology.from_networkx(topology.to_networkx()) == topology


def test_the_graph_tells_roles_arc_numbers_and_weight_numbers() -> None:
    topology = Topology.from_arcs([(1, 2, 1), (0, 1, 0), (0, 1, 1)], inputs=1, outputs=1)
    graph = topology.to_networkx()
    assert isinstance(graph, nx.MultiDiGraph)
    assert dict(graph.nodes(data="role")) == {0: "input", 1: "hidden", 2: "output"}
    edges = [(data["arc_number"], u, v, data["weight_number"]) for u, v, data in graph.edges.data()]
    assert sorted(edges) == [(0, 1, 2, 1), (1, 0, 1, 0), (2, 0, 1, 1)]


def test_the_constant_is_a_role() -> None:
    graph = Topology.dense(1, 1, threshold_levels=3).to_networkx()
    assert dict(graph.nodes(data="role")) == {0: "input", 1: "constant", 2: "output"}
    graph.add_node(3, role="constant")
    with pytest.raises(
        TopologyError, match=r"at most one node may have role='constant'; got \[1, 3"
    ):
        Topology.from_networkx(graph)


def test_nodes_are_numbered_inputs_then_others_in_graph_order_then_outputs() -> None:
    topology = Topology.from_networkx(named_graph())
    assert (topology.input_count, topology.output_count, topology.node_count) == (2, 1, 4)
    assert arcs_of(topology) == [(2, 3, 0), (0, 2, 1), (1, 2, 2)]


def test_inputs_and_outputs_may_be_listed_in_another_order() -> None:
    topology = Topology.from_networkx(named_graph(), inputs=["right", "left"], outputs=["light"])
    assert arcs_of(topology) == [(2, 3, 0), (1, 2, 1), (0, 2, 2)]


def test_arc_numbers_set_the_order_of_the_arcs() -> None:
    graph = named_graph()
    graph.edges["left", "cell"]["arc_number"] = 0
    graph.edges["right", "cell"]["arc_number"] = 1
    graph.edges["cell", "light"]["arc_number"] = 2
    assert arcs_of(Topology.from_networkx(graph)) == [(0, 2, 0), (1, 2, 1), (2, 3, 2)]


def test_listed_inputs_replace_the_roles() -> None:
    topology = Topology.from_networkx(named_graph(), inputs=["left"])
    assert topology.input_count == 1
    assert topology.hidden_count == 2


def test_edges_with_the_same_weight_name_share_a_weight() -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from("abcd")
    graph.add_edge("a", "c", weight_number="shared")
    graph.add_edge("b", "c", weight_number="shared")
    graph.add_edge("c", "d")
    topology = Topology.from_networkx(graph, inputs=["a", "b"], outputs=["d"])
    assert arcs_of(topology) == [(0, 2, 0), (1, 2, 0), (2, 3, 1)]


def test_weight_numbers_with_gaps_are_closed_in_order_of_appearance() -> None:
    graph = nx.DiGraph()
    graph.add_nodes_from(range(4))
    graph.add_edge(0, 2, weight_number=7)
    graph.add_edge(1, 2, weight_number=3)
    graph.add_edge(2, 3, weight_number=7)
    topology = Topology.from_networkx(graph, inputs=[0, 1], outputs=[3])
    assert topology.weight_of.tolist() == [0, 1, 0]


def test_parallel_edges_loops_and_cycles_are_read() -> None:
    graph = nx.MultiDiGraph([(0, 1), (0, 1), (1, 1), (1, 2), (2, 1)])
    topology = Topology.from_networkx(graph, inputs=[0], outputs=[2])
    assert sorted(arc[:2] for arc in arcs_of(topology)) == [(0, 1), (0, 1), (1, 1), (1, 2), (2, 1)]
    assert topology.weight_count == 5


def test_nodes_without_edges_stay() -> None:
    graph = named_graph()
    graph.add_node("alone")
    assert Topology.from_networkx(graph).node_count == 5


@pytest.mark.parametrize("graph", [nx.Graph([(0, 1)]), nx.MultiGraph([(0, 1)]), "graph", None])
def test_what_is_not_a_directed_graph_is_refused(graph: Any) -> None:
    kind = type(graph).__name__
    with pytest.raises(
        TopologyError, match=f"needs a directed networkx graph; got {kind}: use gra"
    ):
        Topology.from_networkx(graph, inputs=[0], outputs=[1])


def test_a_graph_without_outputs_is_refused_with_a_hint() -> None:
    with pytest.raises(TopologyError, match=r"needs outputs: .*outputs=\[\.\.\.\], or .*role='out"):
        Topology.from_networkx(nx.DiGraph([(0, 1)]), inputs=[0])


@pytest.mark.parametrize(
    ("inputs", "outputs", "ending"),
    [
        (["left", "left"], ["light"], "got 'left' again"),
        (["left"], ["left"], "got 'left' again"),
        (["left"], ["lamp"], "got 'lamp', which is none"),
        ([["left"]], ["light"], r"got \['left'\], which is none"),
    ],
)
def test_inputs_and_outputs_are_different_nodes_of_the_graph(
    inputs: list[Any], outputs: list[Any], ending: str
) -> None:
    with pytest.raises(TopologyError, match=f"must be different nodes of the graph, .*; {ending}"):
        Topology.from_networkx(named_graph(), inputs=inputs, outputs=outputs)


def test_an_edge_into_an_input_is_refused() -> None:
    graph = named_graph()
    graph.add_edge("cell", "left")
    with pytest.raises(TopologyError, match="arc 2 -> 0 ends in an input"):
        Topology.from_networkx(graph)


def test_weight_numbers_that_are_lists_are_refused() -> None:
    graph = nx.DiGraph()
    graph.add_edge(0, 1, weight_number=[1])
    with pytest.raises(TopologyError, match="weight_number must be a number or a name"):
        Topology.from_networkx(graph, inputs=[0], outputs=[1])


def test_without_networkx_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "networkx", None)
    message = r"to_networkx needs networkx; install it with  pip install 'qubonn\[graph\]'"
    with pytest.raises(MissingExtra, match=message):
        Topology.dense(2, 1).to_networkx()


def test_reading_a_graph_needs_no_networkx(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = named_graph()
    monkeypatch.setitem(sys.modules, "networkx", None)
    assert Topology.from_networkx(graph).node_count == 4
