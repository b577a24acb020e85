"""Figures of the studies: the paper's, and three of our own.

Summary -> matplotlib figures.  Paper, fig:boxplot-accuracy-all, fig:hist-architectures, fig:som,
fig:som-results, fig:som-results-grouped, fig:acc-vs-som1, fig:acc-vs-som2, fig:dropout-results.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.drawing.palette import BAND, FIRST, INK, MUTED, SECOND, THIRD
from qubonn.experiments.report import Picture
from qubonn.paper.comparison import SettingSummary, Summary, published_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

PALE = 0.45  # alpha of a box
HEIGHT = 3.4  # inches of one row of panels
COLOURS = (FIRST, SECOND, THIRD)
LIMITS = (-0.03, 1.03)  # of accuracy
NORMAL_95 = 1.96  # half the width of a 95 % band, in standard errors
BOX, LINE, DOTS = "box", "--", ":"  # how a legend shows an entry; anything else is a marker
KEY = (
    ("test, our runs", FIRST, BOX),
    ("training, mean and range", MUTED, "s"),
    ("test, paper's mean", SECOND, "D"),
)


def pictures(summary: Summary) -> list[Picture]:
    """Return the figures of a study, not drawn yet."""
    networks = list(dict.fromkeys(one.setting["network"] for one in summary.settings))
    draw: dict[str, tuple[str, Callable[[], Figure]]] = _PICTURES[summary.study.name](
        summary, networks
    )
    return [
        Picture(f"{summary.study.label}-{kind}", f"{title} ({summary.engine_name})", function)
        for kind, (title, function) in draw.items()
    ]


def _of_architectures(summary: Summary, networks: list[int]) -> dict[str, Any]:
    shown = [network for network in (5, 10) if network in networks] or networks[:1]
    histograms = "Histograms of test accuracy, networks " + " and ".join(map(str, shown))
    return {
        "boxes": (
            "Test and training accuracy of all networks",
            partial(draw_boxes, summary, [summary.settings], "network", ["network"]),
        ),
        "histograms": (histograms, partial(draw_histograms, summary, shown)),
        "draws": (
            "The same networks on five draws of test images",
            partial(draw_draws, summary),
        ),
    }


def _of_margins(summary: Summary, networks: list[int]) -> dict[str, Any]:
    groups = [_of_network(summary, network) for network in networks]
    titles = [f"network {network}" for network in networks]
    text = ", ".join(map(str, networks))
    found = {
        "boxes": (
            f"Test and training accuracy against gamma, networks {text}",
            partial(draw_boxes, summary, groups, "margin_strength", titles),
        ),
        "feasibility": (
            "Test accuracy of feasible and infeasible runs",
            partial(draw_feasibility, groups, titles),
        ),
        "committees": (
            "Mean test accuracy of single networks and committees",
            partial(draw_committees, summary, groups, titles),
        ),
    }
    if 10 in networks:
        runs = groups[networks.index(10)]
        found["s-plain"] = (
            "Test accuracy against S1 and S2, network 10 without margins",
            partial(draw_margins_against_accuracy, runs, (0.0,)),
        )
        found["s"] = (
            "Test accuracy against S1 and S2, network 10 with gamma 0, 0.01 and 0.02",
            partial(draw_margins_against_accuracy, runs, (0.0, 0.01, 0.02)),
        )
    return found


def _of_dropout(summary: Summary, networks: list[int]) -> dict[str, Any]:
    title = (
        "Test accuracy (boxes) and training accuracy (squares) with dropout, networks "
        f"{', '.join(map(str, networks))}; dashed: median test accuracy without dropout"
    )
    return {"boxes": (title, partial(draw_dropout, summary, networks))}


_PICTURES = {
    "architectures": _of_architectures,
    "margins": _of_margins,
    "dropout": _of_dropout,
}


# ---- the figures ----


def draw_boxes(
    summary: Summary, groups: Sequence[Sequence[SettingSummary]], varied: str, titles: Sequence[str]
) -> "Figure":
    """Test accuracy as boxes, training accuracy as grey squares, a panel a group."""
    figure, panels = _panels(len(groups), 9 if len(groups) == 1 else None)
    for axes, group, title in zip(panels, groups, titles, strict=True):
        places = np.arange(len(group), dtype=float)
        _boxes(axes, [one.values("test_accuracy") for one in group], places, FIRST, 0.5)
        _training_marks(axes, group, places)
        paper = [_printed_mean(summary, one) for one in group]
        axes.plot(places, paper, "D", color=SECOND, markersize=4, zorder=4)
        axes.set_xticks(places, [f"{one.setting[varied]:g}" for one in group])
        label = "gamma" if varied == "margin_strength" else varied
        axes.set(xlabel=label, ylabel="accuracy", ylim=LIMITS)
        axes.set_title(title if title != varied else "")
    _legend(figure, KEY)
    return figure


def draw_histograms(summary: Summary, networks: Sequence[int]) -> "Figure":
    """How test accuracy is distributed over the runs of some networks."""
    figure, panels = _panels(len(networks))
    for axes, network in zip(panels, networks, strict=True):
        (one,) = _of_network(summary, network)
        values = one.values("test_accuracy")
        edges = np.arange(0, 1.05, 0.05) - 0.0125  # two values of a fortieth in each bar
        axes.hist(values, bins=edges.tolist(), color=FIRST, alpha=0.75)
        axes.axvline(float(values.mean()), color=INK, linestyle=LINE, linewidth=1)
        axes.axvline(_printed_mean(summary, one), color=SECOND, linestyle=DOTS, linewidth=1.5)
        axes.set(title=f"network {network}", xlabel="test accuracy", xlim=(0, 1))
    panels[0].set_ylabel("runs")
    _legend(figure, [("our mean", INK, LINE), ("paper's mean", SECOND, DOTS)])
    return figure


def draw_draws(summary: Summary) -> "Figure":
    """Mean test accuracy of the same networks on each draw of test images, and the paper's."""
    figure, (axes,) = _panels(1, 9)
    for place, one in enumerate(summary.settings):
        means = one.draws(summary.study.data_seeds).mean(axis=1)
        axes.plot([place] * len(means), means, "o", color=FIRST, alpha=0.6)
        axes.plot([place - 0.3, place + 0.3], [one.mean("all_accuracy")] * 2, color=INK)
        axes.plot(place, _printed_mean(summary, one), "D", color=SECOND, markersize=5)
    labels = [str(one.setting["network"]) for one in summary.settings]
    axes.set_xticks(range(len(labels)), labels)
    axes.set(xlabel="network", ylabel="mean test accuracy")
    shown = ("a draw of 40 images", FIRST, "o"), ("all 1,200 images", INK, "_")
    _legend(figure, [*shown, ("paper", SECOND, "D")])
    return figure


def draw_feasibility(groups: Sequence[Sequence[SettingSummary]], titles: Sequence[str]) -> "Figure":
    """Test accuracy for each margin strength, feasible and infeasible runs apart."""
    figure, panels = _panels(len(groups))
    for axes, group, title in zip(panels, groups, titles, strict=True):
        for is_feasible, colour, shift in ((True, FIRST, -0.18), (False, SECOND, 0.18)):
            chosen = [
                one.values("test_accuracy")[(one.values("violation_count") == 0) == is_feasible]
                for one in group
            ]
            _boxes(axes, chosen, np.arange(len(group)) + shift, colour, 0.3)
        axes.set_xticks(range(len(group)), [f"{one.setting['margin_strength']:g}" for one in group])
        axes.set(title=title, xlabel="gamma", ylim=LIMITS)
    panels[0].set_ylabel("test accuracy")
    _legend(figure, [("feasible", FIRST, BOX), ("infeasible", SECOND, BOX)])
    return figure


def draw_committees(
    summary: Summary, groups: Sequence[Sequence[SettingSummary]], titles: Sequence[str]
) -> "Figure":
    """Mean test accuracy against margin strength: the paper's, ours, and committees."""
    figure, panels = _panels(len(groups))
    for axes, group, title in zip(panels, groups, titles, strict=True):
        x = [one.setting["margin_strength"] for one in group]
        paper = [_printed_mean(summary, one) for one in group]
        axes.plot(x, paper, color=INK, linestyle=DOTS, marker="D", markersize=4, label="paper")
        for name, label, colour in (
            ("test_accuracy", "lowest energy", FIRST),
            ("feasible_accuracy", "best feasible", SECOND),
            ("committee_accuracy", "committee", THIRD),
        ):
            means = [one.mean(name) for one in group]
            axes.plot(x, means, color=colour, marker="o", markersize=4, label=label)
        axes.set(title=title, xlabel="gamma", ylim=(0.4, 1.03))
    panels[0].set_ylabel("mean test accuracy")
    panels[-1].legend(frameon=False, fontsize=8, loc="best")
    return figure


def draw_margins_against_accuracy(
    runs: Sequence[SettingSummary], strengths: Sequence[float]
) -> "Figure":
    """Test accuracy against S1 and S2: a dot for each pair, darker where there are more runs."""
    chosen = [one for one in runs if one.setting["margin_strength"] in strengths]
    figure, panels = _panels(2)
    for axes, name, step in zip(panels, ("s1", "s2"), (0.25, 0.5), strict=True):
        pairs = [np.stack([one.values(name), one.values("test_accuracy")]) for one in chosen]
        for number, (points, colour) in enumerate(zip(pairs, COLOURS, strict=False)):
            places, counts = np.unique(points, axis=1, return_counts=True)
            alphas = 0.25 + 0.75 * counts / counts.max()
            axes.scatter(places[0] + step * number, places[1], s=14, color=colour, alpha=alphas)
        if pairs:
            _mean_line(axes, *np.concatenate(pairs, axis=1))
        axes.set(xlabel=name.upper(), ylim=LIMITS)
        axes.locator_params(axis="x", integer=True)
    panels[0].set_ylabel("test accuracy")
    if len(chosen) > 1:
        names = [f"gamma {one.setting['margin_strength']:g}" for one in chosen]
        _legend(figure, [(name, c, BOX) for name, c in zip(names, COLOURS, strict=False)])
    return figure


def draw_dropout(summary: Summary, networks: Sequence[int]) -> "Figure":
    """Test accuracy by learning rate and dropped neurons; dashed, the median without dropout."""
    figure, panels = _panels(len(networks))
    for axes, network in zip(panels, networks, strict=True):
        runs = _of_network(summary, network)
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
        axes.set(title=f"network {network}", xlabel="learning rate eta", ylim=LIMITS)
    panels[0].set_ylabel("accuracy")
    _legend(figure, [(f"{n} dropped", colour, BOX) for n, colour in enumerate(COLOURS)])
    return figure


# ---- pieces ----


def _panels(count: int, width: float | None = None) -> "tuple[Figure, list[Axes]]":
    """Return a figure with panels side by side."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width or 4.5 * count, HEIGHT), layout="constrained")
    panels = list(figure.subplots(1, count, squeeze=False)[0])
    for axes in panels:
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", linewidth=0.6)
        axes.set_axisbelow(True)
    return figure, panels


def _boxes(
    axes: "Axes", groups: Sequence[NDArray[Any]], places: NDArray[Any], colour: str, width: float
) -> None:
    """Draw a box for each group that has values; whiskers from least to most."""
    filled = [
        (group, float(place)) for group, place in zip(groups, places, strict=True) if len(group)
    ]
    if not filled:
        return
    drawn = axes.boxplot(
        [group for group, _ in filled],
        positions=[place for _, place in filled],
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


def _training_marks(axes: "Axes", runs: Sequence[SettingSummary], places: NDArray[Any]) -> None:
    """Draw the mean training accuracy as a square and its range as a line."""
    for place, one in zip(places, runs, strict=True):
        values = one.values("training_accuracy")
        axes.vlines(place, values.min(), values.max(), color=MUTED, linewidth=1, zorder=1)
        axes.plot(place, values.mean(), "s", color=MUTED, markersize=4, zorder=3)


def _mean_line(axes: "Axes", x: NDArray[Any], y: NDArray[Any]) -> None:
    """Draw the mean of y at each x with its 95 % band; an x that occurs once has no band."""
    places, mean, half = mean_by_value(x, y)
    axes.plot(places, mean, color=MUTED, linewidth=1.5, zorder=1)
    axes.fill_between(places, mean - half, mean + half, color=BAND, alpha=0.6, zorder=0,
                      linewidth=0)  # fmt: skip


def mean_by_value(x: NDArray[Any], y: NDArray[Any]) -> tuple[NDArray[Any], ...]:
    """Return each distinct x, the mean of y there, and half its 95 % band.

    >>> mean_by_value(np.array([2.0, 2.0, 4.0]), np.array([0.5, 0.7, 0.9]))[1]
    array([0.6, 0.9])
    """
    places, group = np.unique(x, return_inverse=True)
    groups = [y[group == number] for number in range(len(places))]
    errors = [one.std(ddof=1) / np.sqrt(len(one)) if len(one) > 1 else np.nan for one in groups]
    return places, np.array([one.mean() for one in groups]), NORMAL_95 * np.array(errors)


def _legend(figure: "Figure", entries: Sequence[tuple[str, str, str]]) -> None:
    """Explain colours, lines and marks above all panels, where no data is covered."""
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], label=text, color=c, **_shape(kind)) for text, c, kind in entries]
    figure.legend(
        handles=handles, loc="outside upper center", ncols=len(handles), frameon=False, fontsize=8
    )


def _shape(kind: str) -> dict[str, Any]:
    if kind == BOX:
        return {"linewidth": 8, "alpha": PALE}
    if kind in (LINE, DOTS):
        return {"linestyle": kind}
    return {"marker": kind, "linestyle": "", "markersize": 4}


def _of_network(summary: Summary, network: int) -> list[SettingSummary]:
    return [one for one in summary.settings if one.setting["network"] == network]


def _printed_mean(summary: Summary, one: SettingSummary) -> float:
    """The paper's mean test accuracy, or NaN, which is not drawn."""
    row = published_row(summary.study, one.setting)
    return float(row.numbers["test_mean"]) if row else float("nan")
