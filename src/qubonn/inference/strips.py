"""Strips: neurons that slide one filter along.

Topology, neurons -> Strips. A strip is some rows of consecutive neurons with the same weights: in a
row each reads one node further than the one before, and from row to row all read `step_of` nodes
further. A filter of a convolution is a strip; so is any neuron.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.topology import Topology
from qubonn.topology.blocks import IntMatrix, distinct_rows, own_arcs

STRIP = np.dtype(
    [
        ("first_offset", "i4"),  # in the flat patterns
        ("fan_in", "i4"),
        ("base", "i4"),  # first source of the first neuron
        ("target", "i4"),  # first neuron
        ("length", "i4"),  # neurons in a row
        ("rows", "i4"),
        ("step", "i4"),  # from the sources of a row to those of the next
        ("column", "i4"),  # of the first neuron; -1 for hidden neurons
        ("weight_bit", "i8"),  # in the flat filters
        ("threshold_bit", "i8"),
        ("term_count", "i4"),  # of each threshold: the bias and the arcs from the constant
    ]
)


class Strips(NamedTuple):
    """Strips of one fan-in; several may have a pattern or a filter in common."""

    table: NDArray[Any]  # of STRIP, without the columns and thresholds of the neurons
    patterns: IntMatrix  # patterns x arcs: sources, counted from a neuron's first one
    filters: IntMatrix  # filters x arcs: weight numbers
    sources: IntVector  # all of them, each once
    constants: IntMatrix  # neurons x arcs from the constant: weight numbers


def strips_of(topology: Topology, nodes: IntVector) -> Iterator[Strips]:
    """Cut neurons, any of one level, into strips."""
    are_outputs = nodes >= topology.outputs.start
    for some, arcs, constants in own_arcs(topology, nodes, are_outputs):
        sources, weights = topology.source_of[arcs], topology.weight_of[arcs]
        base = sources[:, 0] if arcs.shape[1] else np.zeros(len(some), dtype=np.int64)
        pattern_of, patterns = distinct_rows(sources - base[:, None])
        filter_of, filters = distinct_rows(weights)
        is_same = (np.diff(pattern_of) == 0) & (np.diff(filter_of) == 0)
        first, length = _runs(is_same & (np.diff(some) == 1) & (np.diff(base) == 1))
        is_next = (is_same & (np.diff(some) == 1))[first[1:] - 1] & (np.diff(length) == 0)
        step = np.diff(base[first])
        is_next[1:] &= (step[1:] == step[:-1]) | ~is_next[:-1]
        row, row_count = _runs(is_next)  # rows that go on with the strip of the row before
        chosen, step = first[row], np.append(step, 0)[row]
        table = np.zeros(len(row), STRIP)
        table["first_offset"] = pattern_of[chosen] * arcs.shape[1]
        table["weight_bit"] = filter_of[chosen] * arcs.shape[1]
        table["fan_in"], table["base"], table["target"] = arcs.shape[1], base[chosen], some[chosen]
        table["length"], table["rows"] = length[row], row_count
        table["term_count"] = 1 + constants.shape[1]
        table["step"] = np.where(row_count > 1, step, 0)
        added = topology.weight_of[constants]
        yield Strips(table, patterns, filters, np.unique(sources), added)


def _runs(follows: NDArray[np.bool_]) -> tuple[IntVector, IntVector]:
    """Return start and length of each run; `follows` has an entry for each item but the first."""
    first = np.flatnonzero(np.concatenate([[True], ~follows]))
    return first, np.diff(first, append=len(follows) + 1)
