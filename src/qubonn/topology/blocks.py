"""Groups of neurons of one shape, for the QUBO, for prediction in bits and for export.

Topology, neurons -> groups with one fan-in; acyclic topology -> levels of blocks: the same filters
at one position or at many. A dense layer is a block with one position; a convolution is a block
with a position for each place of its filters; a neuron with sources and weights of its own is a
block by itself. Engines flip one parameter at a time, so they use lists of arcs instead. Parameters
-> thresholds: biases and the arcs from the constant, which are part of no block; parallel arcs ->
planes of bits.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import IntVector
from qubonn.topology.graph import Topology

IntMatrix = NDArray[np.int64]
MOST_PARALLEL = 127  # arcs of a block, so that their sums fit into int8


@dataclass(frozen=True, eq=False)
class Block:
    """Neurons in a table: at each position, all filters read the same sources.

    ``nodes[p, f]`` reads ``sources[p, s]`` through the weights numbered ``weights[f, :, s]``, which
    are parallel arcs: as many for each source of a block.
    """

    nodes: IntMatrix  # positions x filters; all or none of them outputs
    sources: IntMatrix  # positions x sources, rising; equal ones are parallel arcs too
    weights: NDArray[np.int64]  # filters x parallel arcs x sources
    constant_count: int  # arcs from the constant into each neuron

    @property
    def fan_in(self) -> int:
        """Number of arcs into each neuron, without those from the constant."""
        return int(self.weights[0].size)


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


def own_arcs(
    topology: Topology, nodes: IntVector, *kinds: ArrayLike
) -> Iterator[tuple[IntVector, IntMatrix, IntMatrix]]:
    """Yield as `alike`, with the arcs from the constant apart from all others."""
    is_constant = np.isin(np.arange(topology.arc_count), topology.constant_arcs)
    counts = constant_counts(topology)[nodes - topology.input_count]
    for some, arcs in alike(topology, nodes, *kinds, counts):
        own, constants = arcs[~is_constant[arcs]], arcs[is_constant[arcs]]
        yield some, own.reshape(len(some), -1), constants.reshape(len(some), -1)


def constant_counts(topology: Topology) -> IntVector:
    """Return the number of arcs from the constant into each neuron."""
    neurons = topology.target_of[topology.constant_arcs] - topology.input_count
    return np.bincount(neurons, minlength=topology.neuron_count)


def threshold_sums(topology: Topology, weights: ArrayLike, biases: ArrayLike) -> IntMatrix:
    """Return biases plus the weights of arcs from the constant, spins or bits: networks x neurons.

    >>> topology = Topology.dense(1, 2, threshold_levels=3)
    >>> threshold_sums(topology, [[1, 1, 1, -1]], [[1, 1]])
    array([[2, 0]])
    """
    sums, arcs = np.array(biases, dtype=np.int64), topology.constant_arcs
    neurons = topology.target_of[arcs] - topology.input_count
    for own, added in zip(sums, np.asarray(weights)[:, topology.weight_of[arcs]], strict=True):
        np.add.at(own, neurons, added)
    return sums


def threshold_digit_count(topology: Topology) -> int:
    """Return the number of binary digits that hold the number of +1 in any threshold."""
    return int(constant_counts(topology).max(initial=0) + 1).bit_length()


def threshold_digits(
    topology: Topology, weight_spins: ArrayLike, bias_spins: ArrayLike
) -> NDArray[np.bool_]:
    """Return how many of bias and arcs from the constant are +1, as bits.

    Networks x (digits x neurons), the lowest digits of all neurons first; without a constant these
    are the bits of the biases.
    """
    sums = threshold_sums(topology, np.asarray(weight_spins) > 0, np.asarray(bias_spins) > 0)
    digits = [sums >> digit & 1 for digit in range(threshold_digit_count(topology))]
    return np.concatenate(digits, axis=1).astype(bool)


def plane_values(parallel_count: int) -> list[int]:
    """Return how many of the arcs a bit of each plane stands for: half of those that are left.

    The sum of m arcs is a weight of m + 1 levels, which bit_length(m) planes hold: the values add
    up to m, and some of them to any number of +1. So a weight is the sum of value times spin.

    >>> plane_values(16), plane_values(6), plane_values(1)
    ([8, 4, 2, 1, 1], [3, 2, 1], [1])
    """
    values = []
    while parallel_count:
        values.append(parallel_count - parallel_count // 2)
        parallel_count //= 2
    return values


def plane_bits(weights: NDArray[np.int64], weight_bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return the planes of the weights of a block, ``filters x parallel arcs x sources``.

    Networks x (filters x planes x sources); `weight_bits` has a row for each network.

    >>> plane_bits(np.array([[[0], [1], [2]]]), np.array([[0, 0, 1], [1, 0, 1]], dtype=bool))
    array([[False,  True],
           [ True, False]])
    """
    left = weight_bits[:, weights].sum(axis=2, dtype=np.uint8)  # +1 that no plane stands for yet
    planes = []
    for value in plane_values(weights.shape[1]):
        planes.append(left >= value)
        left -= np.uint8(value) * planes[-1]
    return np.stack(planes, axis=2).reshape(len(weight_bits), -1)


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
    are_outputs = level >= topology.outputs.start
    for nodes, arcs, constants in own_arcs(topology, level, are_outputs):
        sources, weights = topology.source_of[arcs], topology.weight_of[arcs]
        order = np.lexsort((weights, sources), axis=1)  # by source, parallel arcs by weight
        sources, weights = (np.take_along_axis(part, order, 1) for part in (sources, weights))
        if arcs.shape[1]:
            for table in _with_common_positions(nodes, sources, weights):
                yield _block(*table, constants.shape[1])
        else:
            yield Block(nodes[None], sources[:1], weights[:, None], constants.shape[1])


def _block(nodes: IntMatrix, sources: IntMatrix, weights: IntMatrix, constant_count: int) -> Block:
    """Return a block in which as many arcs as possible are parallel; `sources` has one for each."""
    starts = np.diff(sources, axis=1, prepend=sources[:, :1] - 1).reshape(-1) != 0
    lengths = np.diff(np.flatnonzero(starts), append=sources.size)
    count = int(np.gcd.reduce(lengths))
    count = count if count <= MOST_PARALLEL else 1
    planes = weights.reshape(len(weights), -1, count).swapaxes(1, 2)
    return Block(nodes, sources[:, ::count], planes, constant_count)


def _with_common_positions(
    nodes: IntVector, sources: IntMatrix, weights: IntMatrix
) -> Iterator[tuple[IntMatrix, IntMatrix, IntMatrix]]:
    """Yield nodes, sources and weights of blocks: filters that are used at the same positions."""
    patch_of, patches = distinct_rows(sources)
    filter_of, filters = distinct_rows(weights)
    order = np.lexsort((patch_of, filter_of))
    runs = np.split(order, np.flatnonzero(np.diff(filter_of[order])) + 1)
    by_positions: dict[bytes, list[IntVector]] = {}
    for run in runs:  # of one filter, by patch; neurons with equal arcs are equal positions
        by_positions.setdefault(patch_of[run].tobytes(), []).append(run)
    for same in by_positions.values():
        table = np.stack(same, axis=1)
        yield nodes[table], patches[patch_of[table[:, 0]]], filters[filter_of[table[0]]]
