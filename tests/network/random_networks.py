"""Small random networks for hypothesis: parallel, shared and known weights, a constant, loops."""

import numpy as np
from hypothesis import strategies as st

import qubonn as qn
from reference import f
from topology.random_graphs import with_known


@st.composite
def topologies(draw: st.DrawFn, *, is_acyclic: bool = False, most_hidden: int = 3) -> qn.Topology:
    """Any small graph; acyclic ones still have arcs from high to low numbers and out of outputs."""
    inputs = draw(st.integers(0, 3))
    outputs = draw(st.integers(1, 3))
    nodes = inputs + outputs + draw(st.integers(0, most_hidden))
    arc = st.tuples(st.integers(0, nodes - 1), st.integers(inputs, nodes - 1), st.integers(0, 9))
    rows = draw(st.lists(arc, max_size=16))
    if is_acyclic:
        rank = [*range(inputs), *draw(st.permutations(range(inputs, nodes)))]
        rows = [row for row in rows if rank[row[0]] < rank[row[1]]]
    names = sorted({name for _, _, name in rows})
    arcs = [(source, target, names.index(name)) for source, target, name in rows]
    has_constant = inputs > 0 and draw(st.booleans())
    counts = {"inputs": inputs, "outputs": outputs, "nodes": nodes}
    topology = qn.Topology.from_arcs(arcs, **counts, has_constant=has_constant)
    return draw(with_known(topology))


@st.composite
def networks(draw: st.DrawFn, *, is_acyclic: bool = False) -> qn.BinaryNetwork:
    topology = draw(topologies(is_acyclic=is_acyclic))
    return qn.BinaryNetwork.random(topology, seed=draw(st.integers(0, 2**32)))


def random_inputs(network: qn.BinaryNetwork, rows: int, seed: int) -> list[list[float]]:
    """Multiples of a half, zeros among them."""
    shape = (rows, network.topology.column_count)
    halves = np.random.default_rng(seed).integers(-2, 3, shape) / 2
    return [[float(value) for value in row] for row in halves]


def slow_sum(network: qn.BinaryNetwork, spins: dict[int, int], node: int) -> int:
    """Bias plus weighted sum of one neuron, arc by arc."""
    topology = network.topology
    total = int(network.bias_spins[node - topology.input_count])
    for arc in range(topology.arc_count):
        if topology.target_of[arc] == node:
            weight = int(network.weight_spins[topology.weight_of[arc]])
            total += weight * spins[int(topology.source_of[arc])]
    return total


def slow_magnitudes(network: qn.BinaryNetwork, row: list[float]) -> dict[int, int]:
    """|b_j + sum of w_ij x_i| by neuron, for one example."""
    topology = network.topology
    spins = dict.fromkeys(topology.inputs, 1) | {node: f(x) for node, x in enumerate(row)}
    sums: dict[int, int] = {}
    for level in topology.levels():
        sums |= {node: slow_sum(network, spins, node) for node in level.tolist()}
        spins |= {node: f(sums[node]) for node in level.tolist()}
    return {node: abs(value) for node, value in sums.items()}
