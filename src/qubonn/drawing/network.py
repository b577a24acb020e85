"""A picture of a topology: columns and sheets of nodes, and the arcs between them.

Topology -> matplotlib axes.  Paper, fig:conv-network-example.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import Collection, EllipseCollection, LineCollection, PolyCollection
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from qubonn.checks import require_count, require_spins
from qubonn.drawing.curves import arrowheads_of
from qubonn.drawing.picture import CAPTION_GAP, NEGATIVE, POSITIVE, Picture, picture_of
from qubonn.drawing.placing import Dots, Points

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology

# Colours of Okabe and Ito, told apart by everyone; lightened where numbers stand on them.
INPUT, HIDDEN, OUTPUT, INK = "#7cc4ee", "#f5d66b", "#4dbb98", "#222222"

INCHES_PER_UNIT = 0.5
FONT_SIZE = 9.0  # of captions, unless the axes are small
MOST_INCHES = 15  # width of a new figure


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
    ['input 5x5', 'conv 3x3\n3x3 hidden\n(only arcs into\n2 nodes drawn)', '2 outputs']
    """
    spins = None
    if weight_spins is not None:
        spins = require_spins(
            "weight_spins", weight_spins, count=topology.weight_count, of="weight"
        )
    picture = picture_of(topology, spins, require_count("most_nodes", most_nodes, least=2))
    axes = _new_axes(picture) if axes is None else axes
    _paint(axes, picture, topology)
    _write(axes, picture, picture.is_small_graph if node_numbers is None else node_numbers)
    return axes


def _new_axes(picture: Picture) -> Axes:
    from matplotlib import pyplot

    size = picture.frame[1] - picture.frame[0]
    width, height = size * min(INCHES_PER_UNIT, MOST_INCHES / size[0])
    whole_figure = {"left": 0, "right": 1, "bottom": 0, "top": 1}
    return pyplot.subplots(figsize=(width, max(height, 1.0)), gridspec_kw=whole_figure)[1]


def _paint(axes: Axes, picture: Picture, topology: "Topology") -> None:
    layout, colours = picture.layout, picture.colours
    (left, bottom), (right, top) = picture.frame
    axes.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
    axes.set_axis_off()
    sheets = PolyCollection(list(picture.sheets), fc="#f4f4f4", ec="#bbbbbb", lw=0.8)
    _add(axes, sheets, "sheets", 1)
    lines = LineCollection(list(picture.curves), colors=colours, lw=0.7 + 0.7 * colours[:, 3])
    _add(axes, lines, "arcs", 2)
    if picture.is_small_graph:
        heads = arrowheads_of(picture.curves, layout.diameter_of[topology.target_of[picture.arcs]])
        _add(axes, PolyCollection(list(heads), facecolors=colours, linewidths=0), "arrowheads", 3)
    _add(axes, PolyCollection(list(picture.fields), fc="none", ec=INK, lw=1.1), "fields", 4)
    _add(axes, _node_circles(axes, picture, topology), "nodes", 5)
    dots = [e.middle + k * e.step for e in layout.ellipses for k in (-1, 0, 1)]
    _add(axes, _circles(axes, np.reshape(dots, (-1, 2)), 0.1, facecolors=INK), "ellipses", 5)


def _add(axes: Axes, collection: Collection, name: str, zorder: int) -> None:
    collection.set(gid=name, zorder=zorder)
    axes.add_collection(collection, autolim=False)


def _node_circles(axes: Axes, picture: Picture, topology: "Topology") -> EllipseCollection:
    node = picture.layout.visible
    role = np.digitize(node, [topology.input_count, topology.outputs.start])
    singled_out = np.concatenate([group.singled_out for group in picture.groups])
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


def _write(axes: Axes, picture: Picture, is_numbered: bool) -> None:
    layout = picture.layout
    style: dict[str, Any] = {"color": INK, "fontsize": _font_size(axes, picture), "zorder": 6}
    caption_top = picture.bounds[0, 1] - CAPTION_GAP
    for x, group in zip(layout.block_middles, picture.groups, strict=True):
        axes.text(x, caption_top, group.caption, ha="center", va="top", **style)
    for ellipsis in layout.ellipses:
        _write_count(axes, ellipsis, ellipsis.middle[0] <= layout.block_middles[0], style)
    for node in layout.visible if is_numbered else ():
        x, y = layout.positions[node]
        axes.text(x, y, str(node), ha="center", va="center", **style)
    if picture.is_signed:
        lines = [Line2D([], [], color=colour) for colour in (POSITIVE, NEGATIVE)]
        labels, size = ("weight +1", "weight -1"), style["fontsize"]
        axes.legend(lines, labels, loc="upper center", ncols=2, frameon=False, fontsize=size)


def _font_size(axes: Axes, picture: Picture) -> float:
    """Shrink letters in small axes, so that captions keep clear of each other."""
    room = np.array(axes.get_window_extent().size) / axes.figure.dpi
    inches_per_unit = float((room / (picture.frame[1] - picture.frame[0])).min())
    return FONT_SIZE * min(1.0, 1.3 * inches_per_unit / INCHES_PER_UNIT)


def _write_count(axes: Axes, ellipsis: Dots, is_left_of_dots: bool, style: dict[str, Any]) -> None:
    x, y = ellipsis.middle
    if ellipsis.text and is_left_of_dots:
        axes.text(x - 0.3, y, ellipsis.text, ha="right", va="center", **style)
    elif ellipsis.text:  # among arcs
        box = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 1.0}
        axes.text(x + 0.3, y, ellipsis.text, ha="left", va="center", bbox=box, **style)
