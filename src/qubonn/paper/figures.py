"""Figures of the studies: the paper's, and three of our own.

StudySummary -> matplotlib figures.  Paper, fig:boxplot-accuracy-all, fig:hist-architectures,
fig:som, fig:som-results, fig:som-results-grouped, fig:acc-vs-som1, fig:acc-vs-som2 and
fig:dropout-results.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.drawing.palette import BAND, FIRST, INK, MUTED, SECOND, THIRD
from qubonn.experiments.report import Picture
from qubonn.paper.comparison import SettingSummary, StudySummary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE = 0.45  # alpha of a box
HEIGHT = 3.4  # inches of one row of panels
COLOURS = (FIRST, SECOND, THIRD)
LIMITS = (-0.03, 1.03)  # of accuracy
NORMAL_95 = 1.96  # half the width of a 95 % band, in standard errors
BOX, LINE, DOTS = "box", "--", ":"  # how a legend shows an entry; anything else is a marker
Runs = Sequence[SettingSummary]


def pictures(summary: StudySummary) -> list[Picture]:
    """Return the figures of a study, not drawn yet."""
    networks = ", ".join(map(str, summary.networks))
    shown = " and ".join(map(str, _shown(summary)))
    return [
        Picture(
            f"{summary.study.label}-{kind}",
            f"{title.format(networks=networks, shown=shown)} ({summary.engine_name})",
            partial(draw, summary),
        )
        for kind, title, draw in _PICTURES[summary.study.name]
        if 10 in summary.networks or "network 10" not in title
    ]


def draw_boxes(summary: StudySummary, varied: str) -> "Figure":
    """Test accuracy as boxes, training accuracy as grey squares; a panel, or one per network."""

    def panel(axes: "Axes", runs: Runs) -> None:
        places = np.arange(len(runs), dtype=float)
        _boxes(axes, [one.values("test_accuracy") for one in runs], places, FIRST, 0.5)
        _training_marks(axes, runs, places)
        paper = [one.printed_mean for one in runs]
        axes.plot(places, paper, "D", color=SECOND, markersize=4, zorder=4)
        axes.set_xticks(places, [f"{one.setting[varied]:g}" for one in runs])
        axes.set(xlabel=summary.study.columns[varied], ylabel="accuracy", ylim=LIMITS)

    legend = [
        ("test, our runs", FIRST, BOX),
        ("training, mean and range", MUTED, "s"),
        ("test, paper's mean", SECOND, "D"),
    ]
    is_single = varied == "network"
    panels = [("", summary.settings)] if is_single else _panels(summary, summary.networks)
    return _figure(panels, panel, legend, 9 if len(panels) == 1 else None)


def draw_histograms(summary: StudySummary) -> "Figure":
    """The distribution of test accuracy over the runs of networks 5 and 10."""

    def panel(axes: "Axes", runs: Runs) -> None:
        (one,) = runs
        values = one.values("test_accuracy")
        edges = np.arange(0, 1.05, 0.05) - 0.0125  # two values of a fortieth in each bar
        axes.hist(values, bins=edges.tolist(), color=FIRST, alpha=0.75)
        axes.axvline(float(values.mean()), color=INK, linestyle=LINE, linewidth=1)
        axes.axvline(one.printed_mean, color=SECOND, linestyle=DOTS, linewidth=1.5)
        axes.set(xlabel="test accuracy", xlim=(0, 1))

    legend = [("our mean", INK, LINE), ("paper's mean", SECOND, DOTS)]
    return _figure(_panels(summary, _shown(summary)), panel, legend, ylabel="runs")


def draw_draws(summary: StudySummary) -> "Figure":
    """Mean test accuracy of the same networks on each draw of test images, and the paper's."""

    def panel(axes: "Axes", runs: Runs) -> None:
        for place, one in enumerate(runs):
            means = one.draws(summary.study.data_seeds).mean(axis=1)
            axes.plot([place] * len(means), means, "o", color=FIRST, alpha=0.6)
            axes.plot([place - 0.3, place + 0.3], [one.mean("all_accuracy")] * 2, color=INK)
            axes.plot(place, one.printed_mean, "D", color=SECOND, markersize=5)
        axes.set_xticks(range(len(runs)), [str(one.setting["network"]) for one in runs])
        axes.set(xlabel="network", ylabel="mean test accuracy")

    shown = ("a draw of 40 images", FIRST, "o"), ("all 1,200 images", INK, "_")
    return _figure([("", summary.settings)], panel, [*shown, ("paper", SECOND, "D")], 9)


def draw_feasibility(summary: StudySummary) -> "Figure":
    """Test accuracy for each margin strength, feasible and infeasible runs apart."""

    def panel(axes: "Axes", runs: Runs) -> None:
        for is_feasible, colour, shift in ((True, FIRST, -0.18), (False, SECOND, 0.18)):
            chosen = [
                one.values("test_accuracy")[(one.values("violation_count") == 0) == is_feasible]
                for one in runs
            ]
            _boxes(axes, chosen, np.arange(len(runs)) + shift, colour, 0.3)
        axes.set_xticks(range(len(runs)), [f"{one.setting['margin_strength']:g}" for one in runs])
        axes.set(xlabel="gamma", ylim=LIMITS)

    legend = [("feasible", FIRST, BOX), ("infeasible", SECOND, BOX)]
    return _figure(_panels(summary, summary.networks), panel, legend, ylabel="test accuracy")


def draw_committees(summary: StudySummary) -> "Figure":
    """Mean test accuracy against margin strength: the paper's, ours, and committees."""
    names = {
        "lowest energy": "test_accuracy",
        "best feasible": "feasible_accuracy",
        "committee": "committee_accuracy",
    }

    def panel(axes: "Axes", runs: Runs) -> None:
        x = [one.setting["margin_strength"] for one in runs]
        paper = [one.printed_mean for one in runs]
        axes.plot(x, paper, color=INK, linestyle=DOTS, marker="D", markersize=4, label="paper")
        for (label, name), colour in zip(names.items(), COLOURS, strict=True):
            means = [one.mean(name) for one in runs]
            axes.plot(x, means, color=colour, marker="o", markersize=4, label=label)
        axes.set(xlabel="gamma", ylim=(0.4, 1.03))

    figure = _figure(_panels(summary, summary.networks), panel, ylabel="mean test accuracy")
    figure.axes[-1].legend(frameon=False, fontsize=8, loc="best")
    return figure


def draw_margins_against_accuracy(summary: StudySummary, strengths: Sequence[float]) -> "Figure":
    """Test accuracy against S1 and S2: a dot for each pair, darker where there are more runs."""
    chosen = [one for one in summary.networks[10] if one.setting["margin_strength"] in strengths]

    def panel(axes: "Axes", name: str) -> None:
        step = {"s1": 0.25, "s2": 0.5}[name]
        pairs = [np.stack([one.values(name), one.values("test_accuracy")]) for one in chosen]
        for number, (points, colour) in enumerate(zip(pairs, COLOURS, strict=False)):
            places, counts = np.unique(points, axis=1, return_counts=True)
            alphas = 0.25 + 0.75 * counts / counts.max()
            axes.scatter(places[0] + step * number, places[1], s=14, color=colour, alpha=alphas)
        if pairs:
            x, mean, half = mean_by_value(*np.concatenate(pairs, axis=1))
            axes.plot(x, mean, color=MUTED, linewidth=1.5, zorder=1)
            band: dict[str, Any] = {"color": BAND, "alpha": 0.6, "zorder": 0, "linewidth": 0}
            axes.fill_between(x, mean - half, mean + half, **band)
        axes.set(xlabel=name.upper(), ylim=LIMITS)
        axes.locator_params(axis="x", integer=True)

    names = [f"gamma {one.setting['margin_strength']:g}" for one in chosen]
    legend = [(name, colour, BOX) for name, colour in zip(names, COLOURS, strict=False)]
    shown = legend if len(chosen) > 1 else ()
    return _figure([("", "s1"), ("", "s2")], panel, shown, ylabel="test accuracy")


def draw_dropout(summary: StudySummary) -> "Figure":
    """Test accuracy by learning rate and dropped neurons; dashed, the median without dropout."""

    def panel(axes: "Axes", runs: Runs) -> None:
        with_dropout = [one for one in runs if one.setting["dropped"] is not None]
        rates = sorted({one.setting["learning_rate"] for one in with_dropout})
        for dropped, colour in enumerate(COLOURS):
            some = [one for one in with_dropout if one.setting["dropped"] == dropped]
            places = np.array([rates.index(one.setting["learning_rate"]) for one in some], float)
            places += 0.26 * (dropped - 1)
            _boxes(axes, [one.values("test_accuracy") for one in some], places, colour, 0.2)
            _training_marks(axes, some, places)
        for one in runs:
            if one.setting["dropped"] is None:
                median = float(np.median(one.values("test_accuracy")))
                axes.axhline(median, color=INK, linestyle=LINE, linewidth=1)
        axes.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
        axes.set(xlabel="learning rate eta", ylim=LIMITS)

    legend = [(f"{n} dropped", colour, BOX) for n, colour in enumerate(COLOURS)]
    return _figure(_panels(summary, summary.networks), panel, legend, ylabel="accuracy")


_BOXES = (
    "boxes show median and quartiles, whiskers least and most. Grey: training accuracy, mean and "
    "range. Orange: the paper's mean test accuracy"
)
_DOTS = (
    "a dot for each pair that occurs, darker where there are more runs. Line and band: mean "
    "accuracy and its 95 % interval"
)
_PICTURES: dict[str, list[tuple[str, str, "Callable[[StudySummary], Figure]"]]] = {
    "architectures": [
        ("boxes", f"Test accuracy of each network over all runs: {_BOXES}",
         partial(draw_boxes, varied="network")),
        ("histograms", "How many runs reach which test accuracy, networks {shown}. Dashed: our "
         "mean; dotted: the paper's", draw_histograms),
        ("draws", "Mean test accuracy of each network on five draws of 40 test images (dots) and "
         "on all 1,200 images (lines): only the images differ. Diamonds: the paper's mean",
         draw_draws),
    ],
    "margins": [
        ("boxes", f"Test accuracy against gamma, networks {{networks}}: {_BOXES}",
         partial(draw_boxes, varied="margin_strength")),
        ("feasibility", "Test accuracy against gamma, networks {networks}: blue, runs whose state "
         "satisfies every constraint; orange, all other runs", draw_feasibility),
        ("committees", "Mean test accuracy against gamma, networks {networks}: the paper's, and "
         "ours of the network of lowest energy, of the best feasible network and of the vote of "
         "all feasible networks of a run", draw_committees),
        ("s-plain", f"Test accuracy of network 10 with gamma 0 against S1 and S2: {_DOTS}",
         partial(draw_margins_against_accuracy, strengths=(0.0,))),
        ("s", f"Test accuracy of network 10 with gamma 0, 0.01 and 0.02 against S1 and S2: {_DOTS}",
         partial(draw_margins_against_accuracy, strengths=(0.0, 0.01, 0.02))),
    ],
    "dropout": [
        ("boxes", "Test accuracy (boxes) and training accuracy (squares and lines, mean and range) "
         "by learning rate and number of dropped hidden neurons, networks {networks}. Dashed: "
         "median test accuracy without dropout", draw_dropout),
    ],
}  # fmt: skip


def _shown(summary: StudySummary) -> list[int]:
    """The networks whose distributions the paper shows, or the first where there is neither."""
    return [number for number in (5, 10) if number in summary.networks] or [*summary.networks][:1]


def _panels(summary: StudySummary, networks: Iterable[int]) -> list[tuple[str, Runs]]:
    return [(f"network {number}", summary.networks[number]) for number in networks]


def _figure(
    panels: Sequence[tuple[str, Any]],
    draw: "Callable[[Axes, Any], None]",
    legend: Sequence[tuple[str, str, str]] = (),
    width: float | None = None,
    ylabel: str | None = None,
) -> "Figure":
    """Draw panels, titles and contents, side by side; the legend stands above all of them."""
    from matplotlib.figure import Figure
    from matplotlib.lines import Line2D

    figure = Figure(figsize=(width or 4.5 * len(panels), HEIGHT), layout="constrained")
    figure.subplots(1, len(panels))
    for axes, (title, content) in zip(figure.axes, panels, strict=True):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", linewidth=0.6)
        axes.set_axisbelow(True)
        axes.set_title(title)
        draw(axes, content)
    if ylabel is not None:
        figure.axes[0].set_ylabel(ylabel)
    handles = [Line2D([], [], label=text, color=c, **_shape(kind)) for text, c, kind in legend]
    if handles:
        shape: dict[str, Any] = {"ncols": len(handles), "frameon": False, "fontsize": 8}
        figure.legend(handles=handles, loc="outside upper center", **shape)
    return figure


def _boxes(
    axes: "Axes", groups: Sequence[NDArray[Any]], places: NDArray[Any], colour: str, width: float
) -> None:
    """Draw a box for each group that has values; whiskers from least to most."""
    filled = [number for number, group in enumerate(groups) if len(group)]
    if not filled:
        return
    axes.boxplot(
        [groups[number] for number in filled],
        positions=places[filled].tolist(),
        widths=width,
        whis=(0, 100),
        patch_artist=True,
        manage_ticks=False,
        medianprops={"color": INK, "linewidth": 1.5},
        whiskerprops={"color": colour},
        capprops={"color": colour},
        boxprops={"facecolor": colour, "edgecolor": colour, "alpha": PALE},
    )


def _training_marks(axes: "Axes", runs: Sequence[SettingSummary], places: NDArray[Any]) -> None:
    """Draw the mean training accuracy as a square and its range as a line."""
    for place, one in zip(places, runs, strict=True):
        values = one.values("training_accuracy")
        axes.vlines(place, values.min(), values.max(), color=MUTED, linewidth=1, zorder=1)
        axes.plot(place, values.mean(), "s", color=MUTED, markersize=4, zorder=3)


def mean_by_value(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return each distinct x, the mean of y there, and half its 95 % band, NaN for a single y.

    >>> mean_by_value(np.array([2.0, 2.0, 4.0]), np.array([0.5, 0.7, 0.9]))[1]
    array([0.6, 0.9])
    """
    places, group = np.unique(x, return_inverse=True)
    groups = [y[group == number] for number in range(len(places))]
    errors = [one.std(ddof=1) / np.sqrt(len(one)) if len(one) > 1 else np.nan for one in groups]
    return places, np.array([one.mean() for one in groups]), NORMAL_95 * np.array(errors)


def _shape(kind: str) -> dict[str, Any]:
    if kind == BOX:
        return {"linewidth": 8, "alpha": PALE}
    if kind in (LINE, DOTS):
        return {"linestyle": kind}
    return {"marker": kind, "linestyle": "", "markersize": 4}
