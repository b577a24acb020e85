"""Groups of neurons of one shape, for the QUBO, for prediction in bits and for export.

Topology, neurons -> groups with one fan-in; acyclic topology -> levels of blocks: the same filters
at one position or at many. A dense layer is a block with one position; a convolution is a block
with a position for each place of its filters; a neuron with sources and weights of its own is a
block by itself. Engines flip one parameter at a time, so they use lists of arcs instead.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import IntVector
from qubonn.topology.graph import Topology

IntMatrix = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Block:
    """Neurons in a table: at each position, all filters read the same sources.

    ``nodes[p, f]`` has the sources ``sources[p]`` and the weights numbered ``weights[f]``.
    """

    nodes: IntMatrix  # positions x filters; all or none of them outputs
    sources: IntMatrix  # positions x arcs, rising; equal ones are parallel arcs
    weights: IntMatrix  # filters x arcs


def alike(
    topology: Topology, nodes: IntVector, *kinds: ArrayLike
) -> Iterator[tuple[IntVector, IntMatrix]]:
    """Yield neurons of equal fan-in and equal `kinds`, and the arcs into them, a row for each.

    Each of `kinds` has a value for each of `nodes`. Groups come in the order of fan-in and kinds,
    nodes and the arcs into one node in the order of their numbers.

    >>> topology = Topology.from_arcs([(0, 2), (1, 3), (0, 4), (1, 4)], inputs=2, outputs=1)
    >>> [(nodes.tolist(), arcs.tolist()) for nodes, arcs in alike(topology, np.arange(2, 5))]
    [([2, 3], [[0], [1]]), ([4], [[2, 3]])]
    """
    starts, arcs = topology.arcs_by_target
    shapes = np.stack([topology.fan_in[nodes], *map(np.asarray, kinds)], axis=1)
    distinct, group_of = np.unique(shapes, axis=0, return_inverse=True)
    for group, (fan_in, *_) in enumerate(distinct):
        some = np.sort(nodes[group_of == group])
        yield some, arcs[starts[some][:, None] + np.arange(fan_in)]


def thresholds_of(topology: Topology, weight_spins: ArrayLike, bias_spins: ArrayLike) -> IntVector:
    """Return biases plus the weights of arcs from the constant, one row for each network.

    >>> topology = Topology.dense(1, 2, threshold_levels=3)
    >>> thresholds_of(topology, [[1, 1, 1, -1]], [[1, 1]])
    array([[2, 0]])
    """
    thresholds, weights = np.array(bias_spins, dtype=np.int64), np.asarray(weight_spins)
    arcs = topology.constant_arcs
    neurons, added = topology.target_of[arcs] - topology.input_count, topology.weight_of[arcs]
    for own, spins in zip(thresholds, weights[:, added], strict=True):
        np.add.at(own, neurons, spins)
    return thresholds


def blocks_by_level(topology: Topology) -> list[list[Block]]:
    """Return the blocks level by level; the blocks of a level read earlier levels only.

    >>> levels = blocks_by_level(Topology.parse("conv(3x3x2)", inputs=(5, 5), outputs=2))
    >>> [block.nodes.shape for level in levels for block in level]  # positions x filters
    [(9, 2), (1, 2)]
    """
    return [list(_blocks(topology, nodes)) for nodes in topology.levels()]


def distinct_rows(matrix: IntMatrix) -> tuple[IntVector, IntMatrix]:
    """Return the number of each row's group, and the row of each group, as they first appear."""
    known: dict[bytes, int] = {}
    numbers = np.array([known.setdefault(row.tobytes(), len(known)) for row in matrix])
    _, first = np.unique(numbers, return_index=True)
    return numbers, matrix[first]


def _blocks(topology: Topology, level: IntVector) -> Iterator[Block]:
    """Yield the blocks of a level: by fan-in, hidden neurons before outputs."""
    for nodes, arcs in alike(topology, level, level >= topology.outputs.start):
        sources, weights = topology.source_of[arcs], topology.weight_of[arcs]
        order = np.lexsort((weights, sources), axis=1)  # by source, parallel arcs by weight
        sources, weights = (np.take_along_axis(part, order, 1) for part in (sources, weights))
        if arcs.shape[1]:
            yield from _with_common_positions(nodes, sources, weights)
        else:
            yield Block(nodes[None], sources[:1], weights)


def _with_common_positions(
    nodes: IntVector, sources: IntMatrix, weights: IntMatrix
) -> Iterator[Block]:
    """Yield blocks of neurons with one fan-in: filters that are used at the same positions."""
    patch_of, patches = distinct_rows(sources)
    filter_of, filters = distinct_rows(weights)
    order = np.lexsort((patch_of, filter_of))
    runs = np.split(order, np.flatnonzero(np.diff(filter_of[order])) + 1)
    by_positions: dict[bytes, list[IntVector]] = {}
    for run in runs:  # of one filter, by patch; neurons with equal arcs are equal positions
        by_positions.setdefault(patch_of[run].tobytes(), []).append(run)
    for same in by_positions.values():
        table = np.stack(same, axis=1)
        yield Block(nodes[table], patches[patch_of[table[:, 0]]], filters[filter_of[table[0]]])
