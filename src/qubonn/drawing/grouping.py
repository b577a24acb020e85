"""Which nodes stand together in a picture, and what is written below them.

Topology -> groups, from left to right.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from qubonn.checks import IntVector

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology
    from qubonn.topology.layers import Shape


@dataclass(frozen=True)
class Group:
    """Nodes that stand together, as a column or as sheets."""

    nodes: IntVector
    shape: "Shape"
    arcs: IntVector  # into these nodes, as far as they are to be shown
    singled_out: IntVector  # the two nodes of a convolution that show their arcs
    field_corners: IntVector  # four per patch that those two listen to
    caption: str

    @property
    def is_grid(self) -> bool:
        """Whether the nodes stand in sheets of rows and columns."""
        return len(self.shape) == 3


def groups_of(topology: "Topology") -> Iterator[Group]:
    """Yield the layers, or in a graph without layers the levels, from left to right."""
    shapes = topology.layer_shapes
    if shapes is None:
        groups = _level_groups(topology)
        shapes = tuple((len(group),) for group in groups)
    else:
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        groups = np.split(np.arange(topology.node_count), ends[:-1])
    for nodes, shape, before in zip(groups, shapes, ((0,), *shapes), strict=False):
        yield _group(topology, nodes, shape, before)


def _group(topology: "Topology", nodes: IntVector, shape: "Shape", before: "Shape") -> Group:
    arcs = np.flatnonzero(np.isin(topology.target_of, nodes))
    shares_weights = len(np.unique(topology.weight_of[arcs])) < len(arcs)
    singled_out = nodes[:0]
    if len(shape) == 3 and shares_weights:
        singled_out = np.unique(nodes[[0, shape[1] * shape[2] - 1]])
        arcs = arcs[np.isin(topology.target_of[arcs], singled_out)]
    kernel = _kernel(shape, before, topology.fan_in[nodes])
    field_corners = _field_corners(topology, singled_out, before[0], kernel)
    caption = _caption(topology, nodes, shape, kernel)
    if 0 < len(singled_out) < len(nodes):
        caption += f"\n(only arcs into\n{len(singled_out)} nodes drawn)"
    return Group(nodes, shape, arcs, singled_out, field_corners, caption)


def _kernel(shape: "Shape", before: "Shape", fan_in: IntVector) -> tuple[int, int] | None:
    """Return rows and columns of the filter that makes `shape` out of `before`, if one does."""
    if len(shape) != 3 or len(before) != 3:
        return None
    rows, columns = before[1] - shape[1] + 1, before[2] - shape[2] + 1
    fits = min(rows, columns) > 0 and (fan_in == before[0] * rows * columns).all()
    return (rows, columns) if fits else None


def _field_corners(
    topology: "Topology", targets: IntVector, channels: int, kernel: tuple[int, int] | None
) -> IntVector:
    """Return the four corner nodes of every patch that a target listens to."""
    if kernel is None or not len(targets):
        return np.zeros((0, 4), dtype=np.int64)
    patches = [np.sort(topology.predecessors(int(node))) for node in targets]
    return np.concatenate([corners_of(patch.reshape(channels, *kernel)) for patch in patches])


def corners_of(sheets: IntVector) -> IntVector:
    """Return the four corner nodes of each sheet, in the order in which an outline joins them."""
    return sheets[:, [0, 0, -1, -1], [0, -1, -1, 0]]


def _caption(
    topology: "Topology", nodes: IntVector, shape: "Shape", kernel: tuple[int, int] | None
) -> str:
    what = _roles(topology, nodes)
    if len(shape) != 3:
        return what
    channels, rows, columns = shape
    sheets = f"{rows}x{columns}" if channels == 1 else f"{channels} x {rows}x{columns}"
    if nodes[-1] < topology.input_count:
        return f"input {sheets}"
    lines = [f"{sheets} {what.split()[-1]}"]
    if kernel is not None:
        filters = "" if channels == 1 else f", {channels} filters"
        lines.insert(0, f"conv {kernel[0]}x{kernel[1]}{filters}")
    return "\n".join(lines)


def _roles(topology: "Topology", nodes: IntVector) -> str:
    inputs = int((nodes < topology.input_count).sum())
    outputs = int((nodes >= topology.outputs.start).sum())
    counts = {"input": inputs, "hidden": len(nodes) - inputs - outputs, "output": outputs}
    return ", ".join(
        f"{count} {role}{'s' if count > 1 and role != 'hidden' else ''}"
        for role, count in counts.items()
        if count
    )


def _level_groups(topology: "Topology") -> list[IntVector]:
    """Return a column of inputs, then neurons by depth, then the outputs that feed no others."""
    levels = topology.levels_or_none(())
    if levels is None:
        depth = _steps_from_inputs(topology)
    else:
        depth = np.zeros(topology.node_count, dtype=np.int64)
        for level, nodes in enumerate(levels, start=1):
            depth[nodes] = level
    first_output = topology.outputs.start
    into_hidden = topology.source_of[topology.target_of < first_output]
    at_the_end = np.setdiff1d(topology.outputs, [] if levels is None else into_hidden)
    last = 1 + depth[:first_output].max(initial=0)
    depth[at_the_end] = last if levels is None else np.maximum(depth[at_the_end], last)
    return [np.flatnonzero(depth == d) for d in np.unique(depth)]


def _steps_from_inputs(topology: "Topology") -> IntVector:
    """Return the fewest arcs from an input, or from node 0, to each node; 1 if there is no way."""
    steps = np.full(topology.node_count, -1, dtype=np.int64)
    steps[: max(topology.input_count, 1)] = step = 0
    while (steps == step).any():
        reached = topology.target_of[steps[topology.source_of] == step]
        step += 1
        steps[reached[steps[reached] < 0]] = step
    return np.where(steps < 0, 1, steps)
