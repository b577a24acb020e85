"""Pieces of figures: panels, boxes, marks and legends.

Axes, summaries -> marks on the axes.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.drawing.palette import BAND, FIRST, INK, MUTED, SECOND, THIRD
from qubonn.experiments.studies import published_row
from qubonn.experiments.summary import SettingSummary, StudySummary, series_by_value

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE = 0.45  # alpha of a box
HEIGHT = 3.4  # inches of one row of panels
COLOURS = (FIRST, SECOND, THIRD)


def panels_of(count: int, width: float | None = None) -> "tuple[Figure, list[Axes]]":
    """Return a figure with panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width or 4.5 * count, HEIGHT), layout="constrained")
    panels = figure.subplots(1, count, squeeze=False)[0]
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", linewidth=0.6)
        axes.set_axisbelow(True)
    return figure, list(panels)


def judged_boxes(
    axes: "Axes", summary: StudySummary, chosen: Sequence[SettingSummary], labels: Sequence[str]
) -> None:
    """Boxes of test accuracy, whiskers from least to most; squares and bars of training."""
    places = np.arange(len(chosen), dtype=float)
    plain_boxes(axes, [one.values("test_accuracy") for one in chosen], places, FIRST, 0.5)
    training_marks(axes, chosen, places)
    for place, one in zip(places, chosen, strict=True):
        printed = published_row(summary.study, one.setting)
        if printed is not None:
            mean = float(printed.numbers["test_mean"])
            axes.plot(place, mean, "D", color=SECOND, markersize=4, zorder=4)
    axes.set_xticks(places, labels)
    axes.set(ylabel="accuracy", ylim=(-0.03, 1.03))


def plain_boxes(
    axes: "Axes",
    groups: Sequence[NDArray[np.float64]],
    places: NDArray[np.float64],
    colour: str,
    width: float,
) -> None:
    """Draw a box for each group that has values; whiskers from least to most."""
    filled = [(group, place) for group, place in zip(groups, places, strict=True) if len(group)]
    if not filled:
        return
    drawn = axes.boxplot(
        [group for group, _ in filled],
        positions=[float(place) for _, place in filled],
        widths=width,
        whis=(0, 100),
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": INK, "linewidth": 1.5},
        whiskerprops={"color": colour},
        capprops={"color": colour},
    )
    for box in drawn["boxes"]:
        box.set(facecolor=colour, edgecolor=colour, alpha=PALE)


def training_marks(
    axes: "Axes", chosen: Sequence[SettingSummary], places: NDArray[np.float64]
) -> None:
    """Draw the mean training accuracy as a square and its range as a line."""
    for place, one in zip(places, chosen, strict=True):
        values = one.values("training_accuracy")
        axes.vlines(place, values.min(), values.max(), color=MUTED, linewidth=1, zorder=1)
        axes.plot(place, values.mean(), "s", color=MUTED, markersize=4, zorder=3)


def accuracy_against(axes: "Axes", chosen: Sequence[SettingSummary], column: str) -> None:
    """Draw a dot for each pair of values, and the mean of all with its 95 % band."""
    everything_x = np.concatenate([one.values(column) for one in chosen])
    everything_y = np.concatenate([one.values("test_accuracy") for one in chosen])
    for number, (one, colour) in enumerate(zip(chosen, COLOURS, strict=False)):
        pairs = np.stack([one.values(column), one.values("test_accuracy")], axis=1)
        places, counts = np.unique(pairs, axis=0, return_counts=True)
        shift = 0.25 * number * (1 if column == "s1" else 2)
        alphas = 0.25 + 0.75 * counts / counts.max()
        axes.scatter(places[:, 0] + shift, places[:, 1], s=14, color=colour, alpha=alphas)
    line = series_by_value(everything_x, everything_y)
    axes.plot(line.x, line.mean, color=MUTED, linewidth=1.5, zorder=1)
    axes.fill_between(line.x, line.low, line.high, color=BAND, alpha=0.6, zorder=0, linewidth=0)
    axes.set_ylim(-0.03, 1.03)
    axes.locator_params(axis="x", integer=True)


def boxes_legend(axes: "Axes") -> None:
    """Explain `judged_boxes`."""
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles = [
        Patch(color=FIRST, alpha=PALE, label="test, our runs"),
        Line2D([], [], color=MUTED, marker="s", markersize=4, label="training, mean and range"),
        Line2D(
            [], [], color=SECOND, marker="D", markersize=4, linestyle="", label="test, paper's mean"
        ),
    ]
    _outside(axes, handles)


def lines_legend(axes: "Axes", entries: Sequence[tuple[str, str, Any]]) -> None:
    """Explain lines: text, colour, style."""
    from matplotlib.lines import Line2D

    _outside(
        axes, [Line2D([], [], color=c, linestyle=style, label=text) for text, c, style in entries]
    )


def marks_legend(axes: "Axes", entries: Sequence[tuple[str, str, str]]) -> None:
    """Explain marks: text, colour, shape."""
    from matplotlib.lines import Line2D

    _outside(
        axes,
        [
            Line2D([], [], color=c, marker=mark, linestyle="", label=text)
            for text, c, mark in entries
        ],
    )


def patches_legend(axes: "Axes", entries: Sequence[tuple[str, str]]) -> None:
    """Explain colours."""
    from matplotlib.patches import Patch

    _outside(axes, [Patch(color=colour, alpha=PALE, label=text) for text, colour in entries])


def _outside(axes: "Axes", handles: Sequence[Any]) -> None:
    """A legend above all panels, where it covers no data."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    figure.legend(
        handles=handles,
        loc="outside upper center",
        ncols=len(handles),
        frameon=False,
        fontsize=8,
    )
