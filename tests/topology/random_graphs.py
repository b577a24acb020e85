"""Small random graphs for hypothesis: with skips, parallel, shared and constant arcs and cycles."""

from typing import Any

import networkx as nx
from hypothesis import strategies as st

from qubonn.topology import Topology


@st.composite
def topologies(draw: st.DrawFn, *, acyclic: bool = False) -> Topology:
    inputs, hidden, outputs = (
        draw(st.integers(0, 3)),
        draw(st.integers(0, 4)),
        draw(st.integers(1, 3)),
    )
    nodes = inputs + hidden + outputs
    arc = st.tuples(st.integers(0, nodes - 1), st.integers(inputs, nodes - 1), st.integers(0, 9))
    rows = draw(st.lists(arc, max_size=16))
    kept = [row for row in rows if row[0] < row[1]] if acyclic else rows
    names = sorted({name for _, _, name in kept})
    arcs = [(source, target, names.index(name)) for source, target, name in kept]
    has_constant = inputs > 0 and draw(st.booleans())
    counts = {"inputs": inputs, "outputs": outputs, "nodes": nodes}
    return Topology.from_arcs(arcs, **counts, has_constant=has_constant)


def arcs_of(topology: Topology) -> list[tuple[int, int, int]]:
    """(source, target, weight) of every arc, in order."""
    columns = (topology.source_of, topology.target_of, topology.weight_of)
    return list(zip(*(column.tolist() for column in columns), strict=True))


def plain_graph(topology: Topology, cut: set[int] | None = None) -> Any:
    """A networkx graph of the arcs that do not leave `cut`."""
    graph = nx.DiGraph()
    graph.add_nodes_from(range(topology.node_count))
    graph.add_edges_from((s, t) for s, t, _ in arcs_of(topology) if s not in (cut or set()))
    return graph
