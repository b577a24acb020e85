"""Small random graphs for hypothesis: skips, parallel and shared arcs, cycles, known weights."""

from dataclasses import replace
from typing import Any

import networkx as nx
import numpy as np
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
    return draw(with_known(Topology.from_arcs(arcs, **counts, has_constant=has_constant)))


@st.composite
def with_known(draw: st.DrawFn, topology: Topology) -> Topology:
    """The same graph with any of its weights and biases known; often with none."""
    if not draw(st.booleans()):
        return topology
    counts = topology.weight_count, topology.neuron_count
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    spins = draw(st.sampled_from([(0, 0, 0, -1, 1), (0, -1, 1), (-1, 1)]))
    weights, biases = (generator.choice(np.array(spins, dtype=np.int8), count) for count in counts)
    return replace(topology, known_weights=weights, known_biases=biases)


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
