"""Positions, groups and captions of the nodes in a picture.

Topology -> NetworkLayout: groups side by side, long sides shortened to an ellipsis.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import IntVector

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology
    from qubonn.topology.layers import Shape

Points = NDArray[np.float64]  # x and y along the last axis

# Lengths are in picture units; network.py converts them to inches.
HEIGHT = 8.0  # of the tallest group, at most
SHEET_AXES = np.array([[0.0, -1.0], [0.66, 0.3]])  # one row down, one column along
GAP = 2.5  # places, of an ellipsis
DOT_STEP = 0.22


@dataclass(frozen=True)
class Group:
    """Nodes drawn together, as a column or as sheets: a layer, or a level of a graph."""

    nodes: IntVector
    shape: "Shape"
    arcs: IntVector  # arcs into these nodes that are drawn
    singled_out: IntVector  # the two nodes of a convolution whose arcs are drawn
    field_corners: IntVector  # corner nodes of the patches that those two read, four each
    caption: str

    @property
    def sheet_corners(self) -> IntVector:
        """Corner nodes of each sheet, four each."""
        return _corners(self.nodes.reshape(self.shape)) if len(self.shape) == 3 else _NO_CORNERS


@dataclass(frozen=True)
class Ellipsis:
    """Three dots, and the count of nodes or sheets that they stand for."""

    middle: Points
    step: Points
    text: str


class NetworkLayout:
    """All groups side by side; a side of more than `most_nodes` nodes is shortened."""

    def __init__(self, topology: "Topology", most_nodes: int) -> None:
        is_graph, node_count = topology.layer_shapes is None, topology.node_count
        self.line_of = _lines(topology)  # by arc; -1 for those from the constant
        self.groups = list(_groups(topology, np.unique(self.line_of[self.line_of >= 0])))
        blocks = [
            _placed(group.shape, most_nodes, 1.7 if is_graph else 1.05) for group in self.groups
        ]
        widths, heights = np.array([block.size for block in blocks]).T
        self.middles = np.cumsum(widths + max(3.0, 0.5 * heights.max())) - widths / 2  # of groups
        self.positions: Points = np.full((node_count, 2), np.nan)  # by node; NaN: left out
        self.pitch_of = np.empty(node_count)  # distance between rows, by node
        self.diameter_of = np.empty(node_count)
        self.column_of = np.full(node_count, -1)
        self.ellipses: list[Ellipsis] = []
        for column, (group, block) in enumerate(zip(self.groups, blocks, strict=True)):
            shift = np.array([self.middles[column], 0.0])
            self.positions[group.nodes] = block.positions + shift
            self.pitch_of[group.nodes] = block.pitch
            self.diameter_of[group.nodes] = block.diameter
            self.column_of[group.nodes] = column
            self.ellipses += [replace(dots, middle=dots.middle + shift) for dots in block.ellipses]
        self.visible = np.flatnonzero(~np.isnan(self.positions[:, 0]))  # nodes not left out
        arcs = np.sort(np.concatenate([group.arcs for group in self.groups]))
        ends = np.stack([topology.source_of[arcs], topology.target_of[arcs]])
        self.arcs: IntVector = arcs[np.isin(ends, self.visible).all(axis=0)]  # that are drawn
        is_small = len(self.arcs) <= 150 and len(self.visible) <= 60
        self.is_small_graph = is_graph and is_small  # and gets arrowheads and numbers

    def totals(self, values: ArrayLike) -> IntVector:
        """Add up values of all arcs along the lines that are drawn."""
        is_line, numbers = self.line_of >= 0, np.asarray(values, dtype=np.int64)
        sums = np.zeros(len(numbers), dtype=np.int64)
        np.add.at(sums, self.line_of[is_line], numbers[is_line])
        return sums[self.arcs]


# ---- groups of nodes ----


def _lines(topology: "Topology") -> IntVector:
    """Return the arc whose line stands for each arc: between layers the first parallel one."""
    line_of = np.arange(topology.arc_count)
    if topology.layer_shapes is not None:
        ends = topology.target_of * topology.node_count + topology.source_of
        _, first, place = np.unique(ends, return_index=True, return_inverse=True)
        line_of = first[place]
    line_of[topology.constant_arcs] = -1
    return line_of


def _groups(topology: "Topology", lines: IntVector) -> Iterator[Group]:
    """Yield the layers, or the levels of a graph without layers, from left to right."""
    columns = columns_of(topology)
    shapes = topology.layer_shapes or tuple((len(nodes),) for nodes in columns)
    for nodes, shape, before in zip(columns, shapes, ((0,), *shapes), strict=False):
        yield _group(topology, lines, nodes, shape, before)


def columns_of(topology: "Topology") -> list[IntVector]:
    """Return the nodes of each layer, or of each level of a graph without layers; no constant."""
    if topology.layer_shapes is None:
        return _levels(topology)
    ends = np.cumsum([int(np.prod(shape)) for shape in topology.layer_shapes])
    nodes = np.arange(topology.node_count)
    nodes = np.delete(nodes, topology.column_count) if topology.has_constant else nodes
    return np.split(nodes, ends[:-1])


def _levels(topology: "Topology") -> list[IntVector]:
    """Return inputs, then neurons by level, or by distance from the inputs if there are cycles.

    Outputs are in the last column unless other nodes than outputs read them.
    """
    levels = topology.levels_or_none(())
    depth = _distances(topology) if levels is None else np.zeros(topology.node_count, np.int64)
    for level, nodes in enumerate(levels or (), start=1):
        depth[nodes] = level
    first_output = topology.outputs.start
    into_hidden = topology.source_of[topology.target_of < first_output]
    at_the_end = np.setdiff1d(topology.outputs, [] if levels is None else into_hidden)
    last = 1 + depth[:first_output].max(initial=0)
    depth[at_the_end] = last if levels is None else np.maximum(depth[at_the_end], last)
    depth[topology.column_count : topology.input_count] = -1  # the constant is not drawn
    return [np.flatnonzero(depth == d) for d in np.unique(depth) if d >= 0]


def _distances(topology: "Topology") -> IntVector:
    """Return the fewest arcs from an input, or from node 0, to each node; 1 if there is no way."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import dijkstra

    # SciPy 1.13 needs 32-bit indices here
    ends = topology.source_of.astype(np.int32), topology.target_of.astype(np.int32)
    graph = coo_array((np.ones(topology.arc_count), ends), shape=(topology.node_count,) * 2)
    starts = range(max(topology.input_count, 1))
    steps = dijkstra(graph.tocsr(), indices=starts, unweighted=True, min_only=True)
    return np.where(np.isinf(steps), 1, steps).astype(np.int64)


def _group(
    topology: "Topology", lines: IntVector, nodes: IntVector, shape: "Shape", before: "Shape"
) -> Group:
    """Describe a group; a convolution shows the arcs into its first and last neuron only."""
    arcs = lines[np.isin(topology.target_of[lines], nodes)]
    fan_in = np.bincount(topology.target_of[arcs], minlength=topology.node_count)[nodes]
    shares_weights = len(np.unique(topology.weight_of[arcs])) < len(arcs)
    singled_out, corners, notes = nodes[:0], _NO_CORNERS, []
    if len(shape) == 3 and shares_weights:
        singled_out = np.unique(nodes[[0, shape[1] * shape[2] - 1]])
        arcs = arcs[np.isin(topology.target_of[arcs], singled_out)]
    kernel = _kernel(shape, before, fan_in)
    if kernel is not None:
        filters = "" if shape[0] == 1 else f", {shape[0]} filters"
        notes.append(f"conv {kernel[0]}x{kernel[1]}{filters}")
        into = [arcs[topology.target_of[arcs] == node] for node in singled_out]
        patches = [np.sort(topology.source_of[some]) for some in into]
        sheets = [_corners(patch.reshape(before[0], *kernel)) for patch in patches]
        corners = np.concatenate([_NO_CORNERS, *sheets])
    notes.append(_caption(topology, nodes, shape))
    if 0 < len(singled_out) < len(nodes):
        notes.append(f"(only arcs into\n{len(singled_out)} nodes drawn)")
    return Group(nodes, shape, arcs, singled_out, corners, "\n".join(notes))


def _kernel(shape: "Shape", before: "Shape", fan_in: IntVector) -> tuple[int, int] | None:
    """Return rows and columns of the filter that makes `shape` out of `before`, if one does."""
    if len(shape) != 3 or len(before) != 3:
        return None
    rows, columns = before[1] - shape[1] + 1, before[2] - shape[2] + 1
    fits = min(rows, columns) > 0 and (fan_in == before[0] * rows * columns).all()
    return (rows, columns) if fits else None


_NO_CORNERS = np.zeros((0, 4), dtype=np.int64)


def _corners(sheets: IntVector) -> IntVector:
    """Return the four corner nodes of each sheet, in the order in which an outline joins them."""
    return sheets[:, [0, 0, -1, -1], [0, -1, -1, 0]]


def _caption(topology: "Topology", nodes: IntVector, shape: "Shape") -> str:
    inputs = int((nodes < topology.input_count).sum())
    outputs = int((nodes >= topology.outputs.start).sum())
    counts = {"input": inputs, "hidden": len(nodes) - inputs - outputs, "output": outputs}
    roles = [
        f"{count} {role}{'s' if count > 1 and role != 'hidden' else ''}"
        for role, count in counts.items()
        if count
    ]
    if len(shape) != 3:
        return ", ".join(roles)
    sheets = f"{shape[1]}x{shape[2]}" if shape[0] == 1 else "{} x {}x{}".format(*shape)
    return f"input {sheets}" if inputs else f"{sheets} {roles[-1].split()[-1]}"


# ---- positions ----


@dataclass(frozen=True)
class _PlacedNodes:
    """The nodes of a group around the origin."""

    positions: Points  # NaN for nodes left out
    pitch: float  # distance between rows
    diameter: float
    ellipses: list[Ellipsis]

    @property
    def size(self) -> Points:
        """Width and height."""
        x, y = 2 * np.nanmax(self.positions, axis=0)
        return np.array([x + self.diameter, y + self.pitch])


def _placed(shape: "Shape", most: int, largest_pitch: float) -> _PlacedNodes:
    is_grid = len(shape) == 3
    channel_count, row_count, column_count = shape if is_grid else (1, int(np.prod(shape)), 1)
    rows, row_gap = _side(row_count, most, GAP)
    columns, column_gap = _side(column_count, most, GAP)
    shown = int((~np.isnan(rows)).sum())
    channels, channel_gap = _side(channel_count, max(most // shown, 3), 0.4)
    below = rows[-1] + 1.6  # from one sheet to the next

    places = [channels[:, None, None] * below + rows[:, None], columns]
    positions = np.stack(np.broadcast_arrays(*places), axis=-1).reshape(-1, 2) @ SHEET_AXES
    corner, opposite = np.nanmin(positions, axis=0), np.nanmax(positions, axis=0)
    centre = (corner + opposite) / 2
    pitch = float(min(largest_pitch, HEIGHT / (opposite[1] - corner[1] + 1)))

    def dots(down: float, along: float, axis: int, left_out: int = 0) -> Ellipsis:
        middle = (np.array([down, along]) @ SHEET_AXES - centre) * pitch
        return Ellipsis(middle, DOT_STEP * SHEET_AXES[axis], f"{left_out} more" * bool(left_out))

    half_down, half_along = rows[-1] / 2, columns[-1] / 2
    ellipses = []
    if channel_gap:
        left_out = int(np.isnan(channels).sum())
        ellipses.append(dots(channel_gap * below + half_down, half_along, 0, left_out))
    for top in below * channels[~np.isnan(channels)]:
        if row_gap:
            ellipses.append(dots(top + row_gap, half_along, 0, 0 if is_grid else row_count - shown))
        if column_gap:
            ellipses.append(dots(top + half_down, column_gap, 1))
    diameter = 0.52 * pitch if is_grid else min(0.66 * pitch, 0.45 * largest_pitch)
    return _PlacedNodes((positions - centre) * pitch, pitch, diameter, ellipses)


def _side(count: int, most: int, gap: float) -> tuple[NDArray[np.float64], float]:
    """Return places along one side, one apart, and the middle of the gap, 0 if there is none.

    If there are too many, both ends are kept; places left out are NaN.
    """
    places = np.arange(count, dtype=np.float64)
    if count <= most:
        return places, 0.0
    end_count = max(most // 3, 1)
    places[end_count:] = np.nan
    places[-end_count:] = end_count + gap + np.arange(end_count)
    return places, end_count + gap / 2 - 0.5
