"""A picture of a topology: columns and sheets of nodes, and the arcs between them.

Topology -> matplotlib axes.  Paper, fig:conv-network-example.
"""

from collections import Counter
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.collections import Collection, EllipseCollection, LineCollection, PolyCollection
from matplotlib.colors import to_rgba
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import IntVector, require_count, require_spins
from qubonn.drawing.layout import SHEET_AXES, NetworkLayout, Points
from qubonn.drawing.palette import ARC, HIDDEN, INK, INPUT, NEGATIVE, OUTPUT, POSITIVE

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology

INCHES_PER_UNIT = 0.5
FONT_SIZE = 9.0  # of captions, unless the axes are small
MOST_INCHES = 15  # width of a new figure
LINE_HEIGHT, LETTER_WIDTH, CAPTION_GAP = 0.36, 0.165, 0.35  # of captions, in picture units
BENDS = (0.0, 0.12, 0.2, 0.28, 0.36, 0.45, 0.55)  # of arcs, in parts of their length
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
    shared weight. `weight_spins`, one per weight, colours the arcs by sign instead. Between layers,
    parallel arcs are one line, as wide as their sum, grey if that is 0; the constant is not drawn.
    Graphs without layers get arrowheads and `node_numbers` while they are small; `node_numbers`
    overrides that.

    >>> from matplotlib.figure import Figure
    >>> from qubonn.topology import Topology
    >>> topology = Topology.parse("conv(3x3)", inputs=(5, 5), outputs=2)
    >>> axes = draw_topology(topology, Figure().subplots())
    >>> [text.get_text() for text in axes.texts]
    ['input 5x5', 'conv 3x3\n3x3 hidden\n(only arcs into\n2 nodes drawn)', '2 outputs']
    """
    layout = NetworkLayout(topology, require_count("most_nodes", most_nodes, least=2))
    values = None
    if weight_spins is not None:
        count = topology.weight_count
        spins = require_spins("weight_spins", weight_spins, count=count, of="weight")
        values = layout.totals(spins[topology.weight_of])
    curves = _curves(topology, layout)
    sheets = _outlines(layout, [group.sheet_corners for group in layout.groups], 0.75)
    frame = _frame(layout, (curves, sheets), has_key=values is not None)
    axes = _new_axes(frame) if axes is None else axes
    axes.set(xlim=frame[:, 0], ylim=frame[:, 1], aspect="equal")
    axes.set_axis_off()
    _add(axes, PolyCollection(list(sheets), fc="#f4f4f4", ec="#bbbbbb", lw=0.8), "sheets", 1)
    _add_arcs(axes, topology, layout, curves, values)
    _add_nodes(axes, topology, layout)
    _write(axes, layout, frame, layout.is_small_graph if node_numbers is None else node_numbers)
    if values is not None:
        _add_key(axes, layout.totals(np.ones(topology.arc_count)), _font_size(axes, frame))
    return axes


# ---- lines ----


def _curves(topology: "Topology", layout: NetworkLayout) -> Points:
    """Return points along each arc: straight where it can be, around nodes where it must.

    Arcs between the same two nodes, in either direction, are bent apart.
    """
    ends = np.stack([topology.source_of[layout.arcs], topology.target_of[layout.arcs]], axis=1)
    if topology.layer_shapes is not None:
        return layout.positions[ends]
    pairs = [(min(pair), max(pair)) for pair in ends.tolist()]
    columns = np.diff(layout.column_of[ends]).reshape(-1)  # that each arc goes forward
    straight = {pair for pair, count in zip(pairs, columns, strict=True) if count > 0}
    counts, ranks = Counter(pairs), Counter[tuple[int, int]]()
    starts, along = layout.positions[ends[:, 0]], np.diff(layout.positions[ends], axis=1)
    curves = starts[:, None] + CURVE_STEPS[:, None] * along
    for arc, pair in enumerate(pairs):
        low, high = pair
        if columns[arc] == 1 and counts[pair] == 1:
            continue
        if low == high:
            size = layout.diameter_of[low] * (1 + 0.4 * ranks[pair])
            curves[arc] = _loop(layout.positions[low], size)
        else:
            least = 0.0 if pair in straight or counts[pair] > 1 else 0.2
            apart = 0.16 * (ranks[pair] - (counts[pair] - 1) / 2)
            bend = _clear_bend(layout, low, high, least) + apart
            curve = _arch(layout.positions[low], layout.positions[high], bend)
            curves[arc] = curve if ends[arc, 0] == low else curve[::-1]
        ranks[pair] += 1
    return curves


def _clear_bend(layout: NetworkLayout, low: int, high: int, least: float) -> float:
    """Return the smallest bend, at least `least`, that passes no third node too closely.

    Arcs to the next column need none. Outward is tried before inward. Large graphs get `least`.
    """
    start, end = layout.positions[low], layout.positions[high]
    is_upper = start[1] + end[1] >= -1e-9
    outward = 1.0 if (end[0] >= start[0]) == is_upper else -1.0
    is_next = abs(layout.column_of[low] - layout.column_of[high]) == 1
    if (is_next and not least) or not layout.is_small_graph:
        return outward * least
    others = np.setdiff1d(layout.visible, [low, high])
    for size, side in product((size for size in BENDS if size >= least), (outward, -outward)):
        curve = _arch(start, end, side * size)
        distance = np.linalg.norm(curve[:, None] - layout.positions[others], axis=2)
        if (distance > 0.85 * layout.diameter_of[others]).all():
            return side * size
    return -outward * BENDS[-1]


def _arch(start: Points, end: Points, bend: float) -> Points:
    """Return a parabola that swerves to the left by `bend` times its length."""
    t, along = CURVE_STEPS[:, None], end - start
    return start + t * along + 4 * t * (1 - t) * bend * _left_of(along)


def _loop(centre: Points, size: float) -> Points:
    """Return a drop that leaves a node upwards to the left and comes back from the right."""
    t = CURVE_STEPS
    drop = 3 * t * (1 - t) * np.stack([1.6 * (2 * t - 1), 1.7 * np.ones_like(t)])
    return np.asarray(centre + size * drop.T)


def _left_of(along: Points) -> Points:
    return np.stack([-along[..., 1], along[..., 0]], axis=-1)


def _arrowheads(curves: Points, diameter: NDArray[np.float64]) -> Points:
    """Return a triangle where each curve enters the circle of its target."""
    centre = curves[:, -1]
    distance = np.linalg.norm(curves - centre[:, None], axis=2)
    last_outside = (distance > 0.9 * diameter[:, None]).cumsum(axis=1).argmax(axis=1)
    along = centre - curves[np.arange(len(curves)), last_outside]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    across = 0.4 * _left_of(along)
    tip = centre - along * diameter[:, None] / 2
    return np.stack([tip, tip - 0.26 * (along - across), tip - 0.26 * (along + across)], axis=1)


def _outlines(layout: NetworkLayout, corners: list[IntVector], margin: float) -> Points:
    """Return parallelograms around sheets whose corner nodes are visible; `margin` is in places."""
    nodes = np.concatenate(corners)
    nodes = nodes[np.isin(nodes, layout.visible).all(axis=1)]
    outward = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) @ SHEET_AXES
    by = margin * layout.pitch_of[nodes][..., None]
    return np.asarray(layout.positions[nodes] + by * outward)


def _add_arcs(
    axes: Axes,
    topology: "Topology",
    layout: NetworkLayout,
    curves: Points,
    values: IntVector | None,
) -> None:
    """Add the arcs, their heads in small graphs, and the patches that a convolution reads."""
    target = topology.target_of[layout.arcs]
    colours = _arc_colours(topology, layout.arcs, layout.column_of[target], values)
    sums = layout.totals(np.ones(topology.arc_count)) if values is None else np.abs(values)
    widths = (0.7 + 0.7 * colours[:, 3]) * np.maximum(sums, 1)
    _add(axes, LineCollection(list(curves), colors=colours, linewidths=widths), "arcs", 2)
    if layout.is_small_graph:
        heads = _arrowheads(curves, layout.diameter_of[target])
        _add(axes, PolyCollection(list(heads), facecolors=colours, linewidths=0), "arrowheads", 3)
    fields = _outlines(layout, [group.field_corners for group in layout.groups], 0.5)
    _add(axes, PolyCollection(list(fields), fc="none", ec=INK, lw=1.1), "fields", 4)


def _arc_colours(
    topology: "Topology", arcs: IntVector, column: IntVector, values: IntVector | None
) -> NDArray[np.float64]:
    """Return RGBA per arc: by sign, else by shared weight, else grey; fainter in a crowd."""
    weight = topology.weight_of[arcs]
    colours = np.tile(to_rgba(ARC), (len(arcs), 1))
    if values is not None:
        colours[values > 0], colours[values < 0] = to_rgba(POSITIVE), to_rgba(NEGATIVE)
    else:
        is_shared = np.bincount(topology.weight_of, minlength=1)[weight] > 1
        for shared in (np.flatnonzero(is_shared & (column == c)) for c in np.unique(column)):
            _, rank = np.unique(weight[shared], return_inverse=True)
            colours[shared] = colormaps["viridis"](0.82 * rank / max(rank.max(initial=0), 1))
    crowd = np.bincount(column)[column]
    colours[:, 3] = np.clip(np.minimum(5 / np.sqrt(crowd), 100 / crowd), 0.007, 0.85)
    return colours


# ---- frame, nodes and text ----


def _add_key(axes: Axes, arc_counts: IntVector, font_size: float) -> None:
    """Add a legend of the signs; of 0 too where an even number of parallel arcs can sum to it."""
    if arc_counts.max(initial=1) > 1:
        key = {"weight > 0": POSITIVE, "weight 0": ARC, "weight < 0": NEGATIVE}
        if (arc_counts % 2).all():
            del key["weight 0"]
    else:
        key = {"weight +1": POSITIVE, "weight -1": NEGATIVE}
    lines = [Line2D([], [], color=colour) for colour in key.values()]
    style = {"frameon": False, "fontsize": font_size}
    axes.legend(lines, list(key), loc="upper center", ncols=len(key), **style)


def _frame(layout: NetworkLayout, parts: tuple[Points, ...], *, has_key: bool) -> Points:
    """Return lower left and upper right corner of the picture.

    Nodes and `parts`, with room for captions below and at the sides, and for a key above.
    """
    nodes, radius = layout.positions[layout.visible], layout.diameter_of[layout.visible, None] / 2
    parts = (nodes - radius, nodes + radius, *parts)
    points = np.concatenate([part.reshape(-1, 2) for part in parts])
    below = CAPTION_GAP + _caption_height(layout)
    above = 0.4 + 2 * LINE_HEIGHT * has_key
    left = 0.3 + max([1.1, *(LETTER_WIDTH * len(dots.text) for dots in layout.ellipses)])
    lower = points.min(axis=0) - np.array([left, below])
    return np.stack([lower, points.max(axis=0) + np.array([1.4, above])])


def _caption_height(layout: NetworkLayout) -> float:
    return LINE_HEIGHT * (max(group.caption.count("\n") for group in layout.groups) + 1.5)


def _new_axes(frame: Points) -> Axes:
    from matplotlib import pyplot

    size = frame[1] - frame[0]
    width, height = size * min(INCHES_PER_UNIT, MOST_INCHES / size[0])
    whole_figure = {"left": 0, "right": 1, "bottom": 0, "top": 1}
    return pyplot.subplots(figsize=(width, max(height, 1.0)), gridspec_kw=whole_figure)[1]


def _add(axes: Axes, collection: Collection, name: str, zorder: int) -> None:
    collection.set(gid=name, zorder=zorder)
    axes.add_collection(collection, autolim=False)


def _add_nodes(axes: Axes, topology: "Topology", layout: NetworkLayout) -> None:
    node = layout.visible
    role = np.digitize(node, [topology.input_count, topology.outputs.start])
    is_singled_out = np.isin(node, np.concatenate([group.singled_out for group in layout.groups]))
    diameter = layout.diameter_of[node]
    colours = np.array([INPUT, HIDDEN, OUTPUT])[role]
    widths = np.where(is_singled_out, 3, 1) * np.clip(1.5 * diameter, 0.25, 0.7)
    style = {"facecolors": colours, "edgecolors": INK, "linewidths": widths}
    _add(axes, _circles(axes, layout.positions[node], diameter, **style), "nodes", 5)
    dots = [e.middle + k * e.step for e in layout.ellipses for k in (-1, 0, 1)]
    _add(axes, _circles(axes, np.reshape(dots, (-1, 2)), 0.1, facecolors=INK), "ellipses", 5)


def _circles(axes: Axes, centres: Points, diameter: ArrayLike, **style: Any) -> EllipseCollection:
    """Return circles whose size is in picture units, so that they never grow into each other."""
    size = np.broadcast_to(diameter, len(centres))
    place = {"offsets": centres, "offset_transform": axes.transData}
    return EllipseCollection(size, size, np.zeros(len(size)), units="xy", **place, **style)


def _font_size(axes: Axes, frame: Points) -> float:
    """Shrink letters in small axes, so that captions keep clear of each other."""
    room = np.array(axes.get_window_extent().size) / axes.figure.dpi
    inches_per_unit = float((room / (frame[1] - frame[0])).min())
    return FONT_SIZE * min(1.0, 1.3 * inches_per_unit / INCHES_PER_UNIT)


def _write(axes: Axes, layout: NetworkLayout, frame: Points, is_numbered: bool) -> None:
    """Write captions below the groups, counts beside the ellipses, and numbers on the nodes."""
    style: dict[str, Any] = {"color": INK, "fontsize": _font_size(axes, frame), "zorder": 6}
    top = frame[0, 1] + _caption_height(layout)
    for x, group in zip(layout.middles, layout.groups, strict=True):
        axes.text(x, top, group.caption, ha="center", va="top", **style)
    for dots in (dots for dots in layout.ellipses if dots.text):
        x, y = dots.middle
        if x <= layout.middles[0]:
            axes.text(x - 0.3, y, dots.text, ha="right", va="center", **style)
        else:  # among arcs
            box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
            axes.text(x + 0.3, y, dots.text, ha="left", va="center", bbox=box, **style)
    for node in layout.visible if is_numbered else ():
        x, y = layout.positions[node]
        axes.text(x, y, str(node), ha="center", va="center", **style)
