"""Which neurons of a level listen to the same sources, and which slide one filter along.

Topology, level -> groups of alike neurons, and strips. A strip is some rows of consecutive neurons
with the same weights: in a row each listens one node further than the one before, and from row to
row all listen `step_of` nodes further. A filter of a convolution is a strip; so is any neuron.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.topology import Topology

IntMatrix = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Alike:
    """Neurons with the same sources in the same order, all or none of them outputs."""

    nodes: IntVector
    sources: IntVector
    weights: IntMatrix  # nodes x sources: weight numbers that no other arc carries


@dataclass(frozen=True, eq=False)
class Strips:
    """Strips of one fan-in; several may have a pattern or a filter in common."""

    patterns: IntMatrix  # patterns x arcs: sources, counted from a neuron's first one
    filters: IntMatrix  # filters x arcs: weight numbers
    pattern_of: IntVector  # by strip
    filter_of: IntVector
    base_of: IntVector  # first source of the first neuron
    first_of: IntVector  # first neuron
    length_of: IntVector  # neurons in a row
    rows_of: IntVector
    step_of: IntVector  # how much further a row listens than the row before
    sources: IntVector  # all of them, each once


def alike_neurons(
    topology: Topology, nodes: IntVector, use_count: IntVector
) -> tuple[list[Alike], IntVector]:
    """Group neurons whose weights are all their own; return the groups, and the other neurons.

    `use_count` says how many arcs carry each weight.
    """
    groups, others = [], []
    for some, arcs in _by_fan_in_and_role(topology, nodes):
        sources, weights = topology.source_of[arcs], topology.weight_of[arcs]
        is_own = (
            (use_count[weights] == 1).all(axis=1) if arcs.shape[1] else np.zeros(len(some), bool)
        )
        others.append(some[~is_own])
        own = np.flatnonzero(is_own)
        for rows in _same_rows(sources[own]):
            chosen = own[rows]
            groups.append(Alike(some[chosen], sources[chosen[0]], weights[chosen]))
    return groups, np.concatenate(others)


def strips_of(topology: Topology, nodes: IntVector) -> Iterator[Strips]:
    """Cut neurons, any of one level, into strips."""
    for some, arcs in _by_fan_in_and_role(topology, nodes):
        sources, weights = topology.source_of[arcs], topology.weight_of[arcs]
        base = sources[:, 0] if arcs.shape[1] else np.zeros(len(some), dtype=np.int64)
        pattern_of, patterns = _labels(sources - base[:, None])
        filter_of, filters = _labels(weights)
        is_same = (np.diff(pattern_of) == 0) & (np.diff(filter_of) == 0)
        first, length = _runs(is_same & (np.diff(some) == 1) & (np.diff(base) == 1))
        row, row_count = _runs(_continues(is_same, some, base, first, length))
        chosen, step = first[row], np.diff(base[first], append=0)[row]
        yield Strips(
            patterns,
            filters,
            pattern_of[chosen],
            filter_of[chosen],
            base[chosen],
            some[chosen],
            length[row],
            row_count,
            np.where(row_count > 1, step, 0),
            np.unique(sources),
        )


def _continues(
    is_same: NDArray[np.bool_],
    nodes: IntVector,
    base: IntVector,
    first: IntVector,
    length: IntVector,
) -> NDArray[np.bool_]:
    """Return whether each row of neurons but the first goes on with the strip of the row before."""
    is_next: NDArray[np.bool_] = (
        is_same[first[1:] - 1]
        & (np.diff(length) == 0)
        & (nodes[first[1:]] == nodes[first[1:] - 1] + 1)
    )
    step = np.diff(base[first])
    is_next[1:] &= (step[1:] == step[:-1]) | ~is_next[:-1]
    return is_next


def _runs(follows: NDArray[np.bool_]) -> tuple[IntVector, IntVector]:
    """Return start and length of each run; `follows` has an entry for each item but the first."""
    first = np.flatnonzero(np.concatenate([[True], ~follows]))
    return first, np.diff(first, append=len(follows) + 1)


def _by_fan_in_and_role(
    topology: Topology, nodes: IntVector
) -> Iterator[tuple[IntVector, IntMatrix]]:
    """Yield neurons of one fan-in, hidden and outputs apart, and their arcs, a row for each."""
    starts, arcs = topology.arcs_by_target
    key = 2 * topology.fan_in[nodes] + (nodes >= topology.outputs.start)
    for value in np.unique(key):
        some = np.sort(nodes[key == value])
        yield some, arcs[starts[some][:, None] + np.arange(value // 2)]


def _same_rows(matrix: IntMatrix) -> list[IntVector]:
    """Return the numbers of equal rows, group by group."""
    label, unique = _labels(matrix)
    order = np.argsort(label, kind="stable")
    ends = np.cumsum(np.bincount(label, minlength=len(unique)))
    return np.split(order, ends[:-1]) if len(matrix) else []


def _labels(matrix: IntMatrix) -> tuple[IntVector, IntMatrix]:
    """Return the group of each row, and the row of each group.

    Rows are told apart by a random sum; where that fails, which the check would see, by sorting.
    """
    draws = np.random.default_rng(0).integers(1 << 63, size=matrix.shape[1], dtype=np.uint64)
    _, first, label = np.unique(
        matrix.astype(np.uint64) @ draws, return_index=True, return_inverse=True
    )
    if (matrix == matrix[first[label]]).all():
        return label, matrix[first]
    unique, label = np.unique(matrix, axis=0, return_inverse=True)
    return label.reshape(-1), unique
