"""Strips: neurons that slide one filter along.

Topology, neurons -> Strips. A strip is some rows of consecutive neurons with the same weights: in a
row each reads one node further than the one before, and from row to row all read `step_of` nodes
further. A filter of a convolution is a strip; so is any neuron.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.topology import Topology
from qubonn.topology.blocks import IntMatrix, alike, distinct_rows


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
    step_of: IntVector  # how much further a row reads than the row before
    sources: IntVector  # all of them, each once


def strips_of(topology: Topology, nodes: IntVector) -> Iterator[Strips]:
    """Cut neurons, any of one level, into strips."""
    for some, arcs in alike(topology, nodes, nodes >= topology.outputs.start):
        sources, weights = topology.source_of[arcs], topology.weight_of[arcs]
        base = sources[:, 0] if arcs.shape[1] else np.zeros(len(some), dtype=np.int64)
        pattern_of, patterns = distinct_rows(sources - base[:, None])
        filter_of, filters = distinct_rows(weights)
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
