"""A picture of a topology: columns and sheets of nodes, and the arcs between them.

Topology -> matplotlib axes.  Paper, fig:conv-network-example.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import Collection, EllipseCollection, LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import cKDTree

from qubonn.checks import IntVector, SpinVector, require_count, require_spins
from qubonn.topology.layers import Shape

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology

__all__ = ["draw_topology"]

Points = NDArray[np.float64]  # x and y along the last axis

# Colours of Okabe and Ito, told apart by everyone; lightened where numbers stand on them.
INPUT, HIDDEN, OUTPUT = "#7cc4ee", "#f5d66b", "#4dbb98"
POSITIVE, NEGATIVE, ARC, INK = "#0072b2", "#d55e00", "#555555", "#222222"

# Lengths are in picture units, of which INCHES_PER_UNIT is the size on paper.
HEIGHT = 8.0  # of the tallest layer, at most
INCHES_PER_UNIT = 0.5
SHEET_AXES = np.array([[0.0, -1.0], [0.66, 0.3]])  # one row down, one column along
GAP = 2.5  # places that an ellipsis takes
DOT_STEP = 0.22
CAPTION_GAP = 0.35
LINE_HEIGHT = 0.36  # of captions
LETTER_WIDTH = 0.165
FONT_SIZE = 9.0  # of captions, where a unit has its full size
MOST_INCHES = 15  # width of a new figure
SHEET_MARGIN = 0.75  # in places
CURVE_STEPS = np.linspace(0, 1, 41)


def draw_topology(
    topology: "Topology",
    axes: Axes | None = None,
    *,
    weight_spins: ArrayLike | None = None,
    most_nodes: int = 25,
    node_numbers: bool | None = None,
) -> Axes:
    r"""Draw a topology from left to right and return the axes; a new figure unless `axes` is given.

    Layers with rows and columns become sheets, one per channel. Sides longer than `most_nodes` are
    shortened to an ellipsis. A convolution shows the arcs into two of its nodes, one colour per
    shared weight. `weight_spins`, one per weight, colours the arcs by sign instead. Graphs without
    layers get arrowheads while they are small, and `node_numbers` too, unless told otherwise.

    >>> from matplotlib.figure import Figure
    >>> from qubonn.topology import Topology
    >>> topology = Topology.parse("conv(3x3)", inputs=(5, 5), outputs=2)
    >>> axes = draw_topology(topology, Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['input 5x5', 'conv 3x3\n3x3 hidden\n(only arcs into 2 nodes drawn)', '2 outputs']
    """
    spins = None
    if weight_spins is not None:
        spins = require_spins(
            "weight_spins", weight_spins, count=topology.weight_count, of="weight"
        )
    picture = _picture(topology, spins, require_count("most_nodes", most_nodes, least=2))
    axes = _new_axes(picture) if axes is None else axes
    _paint(axes, picture, topology)
    _write(axes, picture, picture.is_small_graph if node_numbers is None else node_numbers)
    return axes


@dataclass(frozen=True)
class _Picture:
    """Everything that is drawn, as places and colours."""

    layers: list["_Layer"]
    layout: "_Layout"
    arcs: IntVector
    curves: Points  # by arc of `arcs`
    colours: NDArray[np.float64]
    sheets: Points
    fields: Points
    is_small_graph: bool  # small enough for arrowheads and numbers, and not in layers
    is_signed: bool  # colours tell signs, which needs a key at the top

    @cached_property
    def bounds(self) -> Points:
        """Lower left and upper right corner of nodes, arcs and sheets."""
        visible = self.layout.visible
        nodes, radius = self.layout.positions[visible], self.layout.diameter_of[visible, None] / 2
        parts = (nodes - radius, nodes + radius, self.curves, self.sheets)
        points = np.concatenate([part.reshape(-1, 2) for part in parts])
        return np.stack([points.min(axis=0), points.max(axis=0)])

    @cached_property
    def frame(self) -> Points:
        """Bounds with room for captions below and at the sides, and for a key above."""
        lines = max(layer.caption.count("\n") + 1 for layer in self.layers)
        below = CAPTION_GAP + LINE_HEIGHT * (lines + 0.5)
        above = 0.4 + 2 * LINE_HEIGHT * self.is_signed
        left = 0.3 + max([1.1, *(LETTER_WIDTH * len(e.text) for e in self.layout.ellipses)])
        (x0, y0), (x1, y1) = self.bounds
        return np.array([[x0 - left, y0 - below], [x1 + 1.4, y1 + above]])


def _picture(topology: "Topology", spins: SpinVector | None, most_nodes: int) -> _Picture:
    layers = list(_layers(topology))
    is_graph = topology.layer_shapes is None
    layout = _place(layers, most_nodes, largest_pitch=1.7 if is_graph else 1.05)
    arcs = _visible_arcs(topology, layers, layout)
    sheets = [_corners(layer.nodes.reshape(layer.shape)) for layer in layers if layer.is_grid]
    return _Picture(
        layers,
        layout,
        arcs,
        curves=_curves(layout, topology.source_of[arcs], topology.target_of[arcs]),
        colours=_arc_colours(topology, arcs, layout, spins),
        sheets=_outlines(layout, sheets, SHEET_MARGIN),
        fields=_outlines(layout, [layer.field_corners for layer in layers], 0.5),
        is_small_graph=is_graph and len(arcs) <= 150 and len(layout.visible) <= 60,
        is_signed=spins is not None,
    )


# ---- which nodes stand together, and what is said of them ----


@dataclass(frozen=True)
class _Layer:
    """Nodes that stand together, as a column or as sheets."""

    nodes: IntVector
    shape: Shape
    arcs: IntVector  # into these nodes, as far as they are to be shown
    singled_out: IntVector  # the two nodes of a convolution that show their arcs
    field_corners: IntVector  # four per patch that those two listen to
    caption: str

    @property
    def is_grid(self) -> bool:
        return len(self.shape) == 3


def _layers(topology: "Topology") -> Iterator[_Layer]:
    shapes = topology.layer_shapes
    if shapes is None:
        groups = _level_groups(topology)
        shapes = tuple((len(group),) for group in groups)
    else:
        ends = np.cumsum([int(np.prod(shape)) for shape in shapes])
        groups = np.split(np.arange(topology.node_count), ends[:-1])
    for nodes, shape, before in zip(groups, shapes, ((0,), *shapes), strict=False):
        yield _layer(topology, nodes, shape, before)


def _layer(topology: "Topology", nodes: IntVector, shape: Shape, before: Shape) -> _Layer:
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
        caption += f"\n(only arcs into {len(singled_out)} nodes drawn)"
    return _Layer(nodes, shape, arcs, singled_out, field_corners, caption)


def _kernel(shape: Shape, before: Shape, fan_in: IntVector) -> tuple[int, int] | None:
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
    return np.concatenate([_corners(patch.reshape(channels, *kernel)) for patch in patches])


def _corners(sheets: IntVector) -> IntVector:
    return sheets[:, [0, 0, -1, -1], [0, -1, -1, 0]]


def _caption(
    topology: "Topology", nodes: IntVector, shape: Shape, kernel: tuple[int, int] | None
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


# ---- where everything goes ----


@dataclass(frozen=True)
class _Side:
    """Places along one side of a layer, one apart; both ends and a gap if there are too many."""

    places: NDArray[np.float64]  # NaN for those left out
    gap: float  # middle of the gap; NaN if none is left out

    @classmethod
    def of(cls, count: int, most: int, gap: float) -> "_Side":
        places = np.arange(count, dtype=np.float64)
        if count <= most:
            return cls(places, np.nan)
        end_count = max(most // 3, 1)
        places[end_count:] = np.nan
        places[-end_count:] = end_count + gap + np.arange(end_count)
        return cls(places, end_count + gap / 2 - 0.5)

    @property
    def left_out_count(self) -> int:
        return int(np.isnan(self.places).sum())

    @property
    def length(self) -> float:
        return float(self.places[-1])


@dataclass(frozen=True)
class _Ellipsis:
    """Three dots in a row, and how many nodes or sheets they stand for."""

    middle: Points
    step: Points
    text: str


@dataclass(frozen=True)
class _Block:
    """A layer, placed around the origin."""

    positions: Points  # NaN for nodes left out
    pitch: float  # distance between rows
    diameter: float
    ellipses: tuple[_Ellipsis, ...]

    @property
    def size(self) -> Points:
        """Width and height."""
        x, y = 2 * np.nanmax(self.positions, axis=0)
        return np.array([x + self.diameter, y + self.pitch])


def _block(shape: Shape, most: int, largest_pitch: float) -> _Block:
    is_sheet = len(shape) == 3
    channels, rows, columns = shape if is_sheet else (1, int(np.prod(shape)), 1)
    row, column = _Side.of(rows, most, GAP), _Side.of(columns, most, GAP)
    shown_rows = rows - row.left_out_count
    channel = _Side.of(channels, max(most // shown_rows, 3), gap=0.4)
    below = row.length + 1.6  # from one sheet to the next

    places = [channel.places[:, None, None] * below + row.places[:, None], column.places]
    positions = np.stack(np.broadcast_arrays(*places), axis=-1).reshape(-1, 2) @ SHEET_AXES
    corner, opposite = np.nanmin(positions, axis=0), np.nanmax(positions, axis=0)
    centre = (corner + opposite) / 2
    pitch = float(min(largest_pitch, HEIGHT / (opposite[1] - corner[1] + 1)))
    ellipses = tuple(
        _Ellipsis((middle @ SHEET_AXES - centre) * pitch, DOT_STEP * SHEET_AXES[axis], text)
        for middle, axis, text in _gaps(channel, row, column, below, is_sheet)
    )
    diameter = 0.52 * pitch if is_sheet else min(0.66 * pitch, 0.45 * largest_pitch)
    return _Block((positions - centre) * pitch, pitch, diameter, ellipses)


def _gaps(
    channel: _Side, row: _Side, column: _Side, below: float, is_sheet: bool
) -> Iterator[tuple[Points, int, str]]:
    """Yield (rows down, columns along), the axis and the text of every ellipsis."""
    half_down, half_along = row.length / 2, column.length / 2
    if channel.left_out_count:
        middle = np.array([channel.gap * below + half_down, half_along])
        yield middle, 0, f"{channel.left_out_count} more"
    for top in below * channel.places[~np.isnan(channel.places)]:
        if row.left_out_count:
            text = "" if is_sheet else f"{row.left_out_count} more"
            yield np.array([top + row.gap, half_along]), 0, text
        if column.left_out_count:
            yield np.array([top + half_down, column.gap]), 1, ""


@dataclass(frozen=True)
class _Layout:
    """All blocks side by side."""

    positions: Points  # by node; NaN for those left out
    pitch_of: NDArray[np.float64]
    diameter_of: NDArray[np.float64]
    column_of: IntVector
    ellipses: tuple[_Ellipsis, ...]
    block_middles: tuple[float, ...]

    @cached_property
    def visible(self) -> IntVector:
        return np.flatnonzero(~np.isnan(self.positions[:, 0]))


def _place(layers: list[_Layer], most: int, largest_pitch: float) -> _Layout:
    blocks = [_block(layer.shape, most, largest_pitch) for layer in layers]
    sizes = np.array([block.size for block in blocks])
    height = sizes[:, 1].max()
    apart = max(3.0, 0.5 * height)
    middles = np.cumsum(sizes[:, 0] + apart) - sizes[:, 0] / 2
    shifts = np.stack([middles, np.zeros_like(middles)], axis=1)
    order = np.argsort(np.concatenate([layer.nodes for layer in layers]))
    counts = [len(layer.nodes) for layer in layers]

    moved = [block.positions + shift for block, shift in zip(blocks, shifts, strict=True)]
    ellipses = (
        replace(ellipsis, middle=ellipsis.middle + shift)
        for block, shift in zip(blocks, shifts, strict=True)
        for ellipsis in block.ellipses
    )
    return _Layout(
        positions=np.concatenate(moved)[order],
        pitch_of=np.repeat([block.pitch for block in blocks], counts)[order],
        diameter_of=np.repeat([block.diameter for block in blocks], counts)[order],
        column_of=np.repeat(np.arange(len(blocks)), counts)[order],
        ellipses=tuple(ellipses),
        block_middles=tuple(middles),
    )


def _visible_arcs(topology: "Topology", layers: list[_Layer], layout: _Layout) -> IntVector:
    arcs = np.concatenate([layer.arcs for layer in layers])
    ends = np.stack([topology.source_of[arcs], topology.target_of[arcs]])
    return arcs[np.isin(ends, layout.visible).all(axis=0)]


# ---- the way of an arc ----


def _curves(layout: _Layout, source: IntVector, target: IntVector) -> Points:
    """Return the points along each arc, from source to target."""
    bend, rank = _bends(layout, source, target)
    is_loop = source == target
    if not bend.any() and not is_loop.any():
        return layout.positions[np.stack([source, target], axis=1)]
    curves = _arches(layout.positions[source], layout.positions[target], bend)
    looped = source[is_loop]
    size = layout.diameter_of[looped] * (1 + 0.4 * rank[is_loop])
    curves[is_loop] = _loops(layout.positions[looped], size)
    return curves


def _arches(starts: Points, ends: Points, bend: NDArray[np.float64]) -> Points:
    """Return parabolas that swerve to the left by `bend` times their length."""
    along = ends - starts
    swerve = bend[:, None] * _left_of(along)
    t = CURVE_STEPS[:, None]
    return starts[:, None] + t * along[:, None] + 4 * t * (1 - t) * swerve[:, None]


def _left_of(along: Points) -> Points:
    return np.stack([-along[:, 1], along[:, 0]], axis=1)


def _loops(centres: Points, size: NDArray[np.float64]) -> Points:
    """Return drops that leave a node upwards to the left and come back from the right."""
    t = CURVE_STEPS
    drop = 3 * t * (1 - t) * np.stack([1.6 * (2 * t - 1), 1.7 * np.ones_like(t)])
    return centres[:, None] + size[:, None, None] * drop.T


def _bends(
    layout: _Layout, source: IntVector, target: IntVector
) -> tuple[NDArray[np.float64], IntVector]:
    """Return the bend of every arc, and its rank among the arcs between the same two nodes.

    Arcs between the same two nodes, in whichever direction, are bent apart.
    """
    low, high = np.minimum(source, target), np.maximum(source, target)
    node_count = len(layout.positions)
    pairs, pair_of, count = np.unique(
        low * node_count + high, return_inverse=True, return_counts=True
    )
    goes_forward = layout.column_of[source] < layout.column_of[target]
    has_forward = np.bincount(pair_of, goes_forward, minlength=len(pairs)) > 0
    least = np.where(has_forward | (count > 1), 0.0, 0.2)
    bend = _clear_bends(layout, pairs // node_count, pairs % node_count, least)[pair_of]
    rank = _ranks(pair_of)
    bend += 0.16 * (rank - (count[pair_of] - 1) / 2)
    return np.where(source == low, bend, -bend), rank


def _ranks(group_of: IntVector) -> IntVector:
    """Count the members of each group from 0, in order."""
    order = np.argsort(group_of, kind="stable")
    in_order = group_of[order]
    rank = np.empty(len(group_of), dtype=np.int64)
    rank[order] = np.arange(len(group_of)) - np.searchsorted(in_order, in_order)
    return rank


def _clear_bends(
    layout: _Layout, low: IntVector, high: IntVector, least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the smallest bends, at least `least`, with which arcs pass no third node too closely.

    Neighbouring columns need none. Outward is tried before inward.
    """
    starts, ends = layout.positions[low], layout.positions[high]
    is_upper = starts[:, 1] + ends[:, 1] >= -1e-9
    outward = np.where((ends[:, 0] >= starts[:, 0]) == is_upper, 1.0, -1.0)
    bend = least * outward
    apart = np.abs(layout.column_of[low] - layout.column_of[high])
    waiting = np.flatnonzero(((apart != 1) | (least > 0)) & (low != high))
    tree = cKDTree(layout.positions[layout.visible])
    for size, side in product((0.0, 0.12, 0.2, 0.28, 0.36, 0.45, 0.55), (1, -1)):
        tried = waiting[least[waiting] <= size]
        bend[tried] = size * side * outward[tried]
        curves = _arches(starts[tried], ends[tried], bend[tried])
        distance, place = tree.query(curves)
        nearest = layout.visible[place]
        is_third = (nearest != low[tried, None]) & (nearest != high[tried, None])
        hits = (is_third & (distance < 0.85 * layout.diameter_of[nearest])).any(axis=1)
        waiting = np.setdiff1d(waiting, tried[~hits])
    return bend


# ---- colours ----


def _arc_colours(
    topology: "Topology", arcs: IntVector, layout: _Layout, weight_spins: SpinVector | None
) -> NDArray[np.float64]:
    """Return RGBA per arc: by sign, else by shared weight, else grey; fainter in a crowd."""
    if not len(arcs):
        return np.zeros((0, 4))
    weight = topology.weight_of[arcs]
    column = layout.column_of[topology.target_of[arcs]]
    colours = np.tile(to_rgba(ARC), (len(arcs), 1))
    if weight_spins is not None:
        is_positive = weight_spins[weight] > 0
        colours = np.where(is_positive[:, None], to_rgba(POSITIVE), to_rgba(NEGATIVE))
    else:
        is_shared = np.bincount(topology.weight_of)[weight] > 1
        for shared in (np.flatnonzero(is_shared & (column == c)) for c in np.unique(column)):
            _, rank = np.unique(weight[shared], return_inverse=True)
            colours[shared] = colormaps["viridis"](0.82 * rank / max(rank.max(initial=0), 1))
    crowd = np.bincount(column)[column]
    colours[:, 3] = np.clip(np.minimum(5 / np.sqrt(crowd), 100 / crowd), 0.007, 0.85)
    return colours


# ---- paint and ink ----


def _new_axes(picture: _Picture) -> Axes:
    from matplotlib import pyplot

    size = picture.frame[1] - picture.frame[0]
    width, height = size * min(INCHES_PER_UNIT, MOST_INCHES / size[0])
    whole_figure = {"left": 0, "right": 1, "bottom": 0, "top": 1}
    return pyplot.subplots(figsize=(width, height), gridspec_kw=whole_figure)[1]


def _paint(axes: Axes, picture: _Picture, topology: "Topology") -> None:
    layout, colours = picture.layout, picture.colours
    (left, bottom), (right, top) = picture.frame
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.set_axis_off()
    _add(
        axes, PolyCollection(list(picture.sheets), fc="#f4f4f4", ec="#bbbbbb", lw=0.8), "sheets", 1
    )
    lines = LineCollection(list(picture.curves), colors=colours, lw=0.7 + 0.7 * colours[:, 3])
    _add(axes, lines, "arcs", 2)
    if picture.is_small_graph:
        heads = _arrowheads(picture.curves, layout.diameter_of[topology.target_of[picture.arcs]])
        _add(axes, PolyCollection(list(heads), facecolors=colours, linewidths=0), "arrowheads", 3)
    _add(axes, PolyCollection(list(picture.fields), fc="none", ec=INK, lw=1.1), "fields", 4)
    _add(axes, _node_circles(axes, picture, topology), "nodes", 5)
    dots = [e.middle + k * e.step for e in layout.ellipses for k in (-1, 0, 1)]
    _add(axes, _circles(axes, np.reshape(dots, (-1, 2)), 0.1, facecolors=INK), "ellipses", 5)


def _add(axes: Axes, collection: Collection, name: str, zorder: int) -> None:
    collection.set(gid=name, zorder=zorder)
    axes.add_collection(collection, autolim=False)


def _outlines(layout: _Layout, corners: list[IntVector], margin: float) -> Points:
    """Return parallelograms around the sheets whose four corner nodes are visible."""
    nodes = np.concatenate([*corners, np.zeros((0, 4), dtype=np.int64)])
    nodes = nodes[np.isin(nodes, layout.visible).all(axis=1)]
    outward = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) @ SHEET_AXES
    return layout.positions[nodes] + margin * layout.pitch_of[nodes][..., None] * outward


def _arrowheads(curves: Points, diameter: NDArray[np.float64]) -> Points:
    """Return a triangle where each curve enters the circle of its target."""
    centre = curves[:, -1]
    distance = np.linalg.norm(curves - centre[:, None], axis=2)
    last_outside = (distance > 0.9 * diameter[:, None]).cumsum(axis=1).argmax(axis=1)
    along = centre - curves[np.arange(len(curves)), last_outside]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    across = 0.4 * _left_of(along)
    tip = centre - along * diameter[:, None] / 2
    heads = [tip, tip - 0.26 * (along - across), tip - 0.26 * (along + across)]
    return np.stack(heads, axis=1)


def _node_circles(axes: Axes, picture: _Picture, topology: "Topology") -> EllipseCollection:
    node = picture.layout.visible
    role = np.digitize(node, [topology.input_count, topology.outputs.start])
    singled_out = np.concatenate([layer.singled_out for layer in picture.layers])
    diameter = picture.layout.diameter_of[node]
    edge_width = np.clip(1.5 * diameter, 0.25, 0.7)
    return _circles(
        axes,
        picture.layout.positions[node],
        diameter,
        facecolors=np.array([INPUT, HIDDEN, OUTPUT])[role],
        edgecolors=INK,
        linewidths=np.where(np.isin(node, singled_out), 3, 1) * edge_width,
    )


def _circles(axes: Axes, centres: Points, diameter: ArrayLike, **style: Any) -> EllipseCollection:
    """Return circles whose size is in picture units, so that they never grow into each other."""
    size = np.broadcast_to(diameter, len(centres))
    place = {"offsets": centres, "offset_transform": axes.transData}
    return EllipseCollection(size, size, np.zeros(len(size)), units="xy", **place, **style)


def _write(axes: Axes, picture: _Picture, is_numbered: bool) -> None:
    layout = picture.layout
    style: dict[str, Any] = {"color": INK, "fontsize": _font_size(axes, picture), "zorder": 6}
    caption_top = picture.bounds[0, 1] - CAPTION_GAP
    for x, layer in zip(layout.block_middles, picture.layers, strict=True):
        axes.text(x, caption_top, layer.caption, ha="center", va="top", **style)
    for ellipsis in layout.ellipses:
        _write_count(axes, ellipsis, ellipsis.middle[0] <= layout.block_middles[0], style)
    for node in layout.visible if is_numbered else ():
        x, y = layout.positions[node]
        axes.text(x, y, str(node), ha="center", va="center", **style)
    if picture.is_signed:
        lines = [Line2D([], [], color=colour) for colour in (POSITIVE, NEGATIVE)]
        labels, size = ("weight +1", "weight -1"), style["fontsize"]
        axes.legend(lines, labels, loc="upper center", ncols=2, frameon=False, fontsize=size)


def _font_size(axes: Axes, picture: _Picture) -> float:
    """Shrink letters with the picture, so that captions keep clear of each other."""
    room = np.array(axes.get_window_extent().size) / axes.figure.dpi
    inches_per_unit = float((room / (picture.frame[1] - picture.frame[0])).min())
    return FONT_SIZE * min(1.0, inches_per_unit / INCHES_PER_UNIT)


def _write_count(
    axes: Axes, ellipsis: _Ellipsis, is_left_of_dots: bool, style: dict[str, Any]
) -> None:
    x, y = ellipsis.middle
    if ellipsis.text and is_left_of_dots:
        axes.text(x - 0.3, y, ellipsis.text, ha="right", va="center", **style)
    elif ellipsis.text:  # among arcs
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
        axes.text(x + 0.3, y, ellipsis.text, ha="left", va="center", bbox=box, **style)
