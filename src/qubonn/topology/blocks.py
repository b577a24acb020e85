"""A network as steps: the same filters at one position or at many.

Acyclic topology -> levels of steps. A dense layer is one step with one position; a convolution is
one step with a position for each place of its filters, which are kept once; a neuron with sources
and weights of its own is a step by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.topology.graph import Topology

IntMatrix = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Step:
    """Neurons in a table: at each position, all filters listen to the same sources.

    ``nodes[p, f]`` has the sources ``sources[p]`` and the weights numbered ``weights[f]``.
    """

    nodes: IntMatrix  # positions x filters; all or none of them outputs
    sources: IntMatrix  # positions x arcs, rising; equal ones are parallel arcs
    weights: IntMatrix  # filters x arcs

    @property
    def position_count(self) -> int:
        """Number of different patches of sources."""
        return len(self.sources)

    @property
    def fan_in(self) -> int:
        """Arcs into each neuron."""
        return int(self.sources.shape[1])


def levels_of_steps(topology: Topology) -> list[list[Step]]:
    """Return the steps level by level; the steps of a level read earlier levels only.

    >>> levels = levels_of_steps(Topology.parse("conv(3x3x2)", inputs=(5, 5), outputs=2))
    >>> [step.nodes.shape for level in levels for step in level]  # positions x filters
    [(9, 2), (1, 2)]
    """
    return [list(_steps(topology, nodes)) for nodes in topology.levels()]


def _steps(topology: Topology, nodes: IntVector) -> Iterator[Step]:
    """Yield the steps of a level: by fan-in, hidden neurons before outputs."""
    starts, arcs_by_target = topology.arcs_by_target
    kind = 2 * topology.fan_in[nodes] + (nodes >= topology.outputs.start)
    for value in np.unique(kind):
        some = np.sort(nodes[kind == value])
        arcs = arcs_by_target[starts[some][:, None] + np.arange(value // 2)]
        yield from _grouped(some, *_rising(topology.source_of[arcs], topology.weight_of[arcs]))


def _rising(sources: IntMatrix, weights: IntMatrix) -> tuple[IntMatrix, IntMatrix]:
    """Sort the arcs of each neuron by source, parallel ones by weight."""
    order = np.lexsort((weights, sources), axis=1)
    return np.take_along_axis(sources, order, 1), np.take_along_axis(weights, order, 1)


def _grouped(nodes: IntVector, sources: IntMatrix, weights: IntMatrix) -> Iterator[Step]:
    """Yield steps of neurons with one fan-in: filters that are used at the same positions."""
    if not sources.shape[1]:
        yield Step(nodes[None], sources[:1], weights)
        return
    patch_of, patches = _distinct_rows(sources)
    filter_of, filters = _distinct_rows(weights)
    order = np.lexsort((patch_of, filter_of))
    runs = np.split(order, np.flatnonzero(np.diff(filter_of[order])) + 1)
    by_positions: dict[bytes, list[IntVector]] = {}
    for run in runs:  # of one filter, by patch; neurons with equal arcs are equal positions
        by_positions.setdefault(patch_of[run].tobytes(), []).append(run)
    for alike in by_positions.values():
        table = np.stack(alike, axis=1)
        yield Step(nodes[table], patches[patch_of[table[:, 0]]], filters[filter_of[table[0]]])


def _distinct_rows(matrix: IntMatrix) -> tuple[IntVector, IntMatrix]:
    """Return the number of each row's group, and the row of each group, as they first appear."""
    known: dict[bytes, int] = {}
    numbers = np.array([known.setdefault(row.tobytes(), len(known)) for row in matrix])
    _, first = np.unique(numbers, return_index=True)
    return numbers, matrix[first]
