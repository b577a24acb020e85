"""A picture of weights: a cell for each weight, a panel for each layer.

Topology, a value for each weight -> matplotlib axes.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.drawing.layout import columns_of
from qubonn.drawing.palette import NEGATIVE, NOTHING, POSITIVE

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology

Panel = tuple[NDArray[np.float64], str]  # neurons or filters x sources, NaN without an arc; title
CELL, WIDEST, TALLEST = 0.22, 7.0, 4.5  # of a cell and a panel at most, in inches
GAP, TOP, LETTER = 0.5, 0.75, 0.08  # around panels, above them, and of a title, in inches
MOST_LEVELS = 9  # with a legend entry each
COLOURS = LinearSegmentedColormap.from_list("weights", [NEGATIVE, NOTHING, POSITIVE])


def draw_cells(topology: "Topology", values: NDArray[Any], axes: Axes | None = None) -> Axes:
    """Draw `values`, one for each weight, as cells: neurons in rows, sources in columns.

    Parallel arcs add up; the constant is not drawn. Where neurons share weights, as in a
    convolution, a row is a filter and is drawn once. Returns the axes, of a new figure by default.

    >>> from matplotlib.figure import Figure
    >>> from qubonn.topology import Topology
    >>> topology, axes = Topology.dense(3, 2, 1), Figure().subplots()
    >>> _ = draw_cells(topology, np.ones(8), axes)
    >>> [text.get_text() for text in axes.texts]
    ['2 neurons x 3 sources', '1 neuron x 2 sources']
    """
    panels = list(_panels(topology, np.asarray(values, dtype=np.float64)))
    sizes = np.array([cells.shape[::-1] for cells, _ in panels]).reshape(-1, 2) * CELL
    sizes = np.minimum(sizes, (WIDEST, TALLEST))
    widths = np.maximum(sizes[:, 0], [LETTER * len(title) for _, title in panels])
    room = np.array(
        [widths.sum() + GAP * (len(panels) + 1), sizes[:, 1].max(initial=0) + TOP + GAP]
    )
    axes = _new_axes(room) if axes is None else axes
    known = np.concatenate([cells[~np.isnan(cells)] for cells, _ in panels] or [np.zeros(0)])
    most = max(float(np.abs(known).max(initial=0)), 1.0)
    style: dict[str, Any] = {"cmap": COLOURS, "vmin": -most, "vmax": most, "aspect": "auto"}
    left = GAP
    for (cells, title), (wide, high), width in zip(panels, sizes, widths, strict=True):
        axes.imshow(cells, extent=(left, left + wide, TOP + high, TOP), **style)
        axes.text(left, TOP - 0.1, title, fontsize=8, va="bottom")
        left += width + GAP
    axes.set(xlim=(0, room[0]), ylim=(room[1], 0), aspect="equal")
    axes.set_axis_off()
    _add_key(axes, np.unique(known), most)
    return axes


def _panels(topology: "Topology", values: NDArray[np.float64]) -> Iterator[Panel]:
    """Yield the weights into each layer, or level of a graph, as a matrix with a title."""
    is_own = np.ones(topology.arc_count, dtype=bool)
    is_own[topology.constant_arcs] = False
    for nodes in columns_of(topology):
        arcs = np.flatnonzero(np.isin(topology.target_of, nodes) & is_own)
        if not len(arcs):
            continue
        if len(np.unique(topology.weight_of[arcs])) < len(arcs):
            cells, noun = _filters(topology, arcs, values), "filter"
        else:
            cells, noun = _matrix(topology, arcs, values), "neuron"
        rows, columns = cells.shape
        sources = f"{columns:,} source{'s' * (columns > 1)}"
        yield cells, f"{rows:,} {noun}{'s' * (rows > 1)} x {sources}"


def _matrix(
    topology: "Topology", arcs: IntVector, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return neurons x sources; NaN where there is no arc."""
    targets, row_of = np.unique(topology.target_of[arcs], return_inverse=True)
    sources, column_of = np.unique(topology.source_of[arcs], return_inverse=True)
    cells = np.zeros((len(targets), len(sources)))
    np.add.at(cells, (row_of, column_of), values[topology.weight_of[arcs]])
    is_arc = np.zeros(cells.shape, dtype=bool)
    is_arc[row_of, column_of] = True
    return np.where(is_arc, cells, np.nan)


def _filters(
    topology: "Topology", arcs: IntVector, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return filters x positions: the weights of neurons that share theirs, once each."""
    rows: dict[tuple[int, ...], NDArray[Any]] = {}
    by_target = arcs[np.argsort(topology.target_of[arcs], kind="stable")]
    starts = np.flatnonzero(np.diff(topology.target_of[by_target])) + 1
    for some in np.split(by_target, starts):
        weights = topology.weight_of[some]
        _, place = np.unique(topology.source_of[some], return_inverse=True)
        rows.setdefault(tuple(weights.tolist()), np.bincount(place, weights=values[weights]))
    cells = np.full((len(rows), max(map(len, rows.values()))), np.nan)
    for row, sums in zip(cells, rows.values(), strict=True):
        row[: len(sums)] = sums
    return cells


def _new_axes(room: NDArray[np.float64]) -> Axes:
    from matplotlib import pyplot

    whole_figure = {"left": 0, "right": 1, "bottom": 0, "top": 1}
    width, height = np.maximum(room, (3.5, 1.5))
    return pyplot.subplots(figsize=(width, height), gridspec_kw=whole_figure)[1]


def _add_key(axes: Axes, levels: NDArray[np.float64], most: float) -> None:
    """Add a legend of all levels, or of 0 and both ends where there are many."""
    shown = levels if len(levels) <= MOST_LEVELS else np.array([-most, 0, most])
    names = ["weight 0" if level == 0 else f"weight {level:+.3g}" for level in shown]
    keys = [Patch(fc=COLOURS(0.5 + level / (2 * most)), ec="#bbbbbb") for level in shown]
    axes.legend(keys, names, loc="upper center", ncols=len(keys), frameon=False, fontsize=8)
