"""Figures of the studies: the paper's, and three of our own.

Summaries -> matplotlib figures.  Paper, fig:boxplot-accuracy-all, fig:hist-architectures, fig:som,
fig:som-results, fig:som-results-grouped, fig:acc-vs-som1, fig:acc-vs-som2, fig:dropout-results.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from qubonn.drawing.palette import FIRST, INK, SECOND, THIRD
from qubonn.experiments.panels import (
    COLOURS,
    accuracy_against,
    boxes_legend,
    judged_boxes,
    lines_legend,
    marks_legend,
    panels_of,
    patches_legend,
    plain_boxes,
    training_marks,
)
from qubonn.experiments.studies import published_row
from qubonn.experiments.summary import SettingSummary, StudySummary

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_boxes(summary: StudySummary) -> "Figure":
    """Test accuracy of all networks as boxes, training accuracy as grey squares."""
    figure, (axes,) = panels_of(1, width=9)
    labels = [str(one.setting.network) for one in summary.settings]
    judged_boxes(axes, summary, summary.settings, labels)
    axes.set_xlabel("network")
    boxes_legend(axes)
    return figure


def draw_histograms(summary: StudySummary, networks: Sequence[int]) -> "Figure":
    """How test accuracy is distributed over the runs of some networks."""
    chosen = _of_networks(summary, networks)
    figure, panels = panels_of(len(chosen))
    for axes, one in zip(panels, chosen, strict=True):
        values = one.values("test_accuracy")
        edges = np.arange(0, 1.05, 0.05) - 0.0125  # two values of a fortieth in each bar
        axes.hist(values, bins=edges.tolist(), color=FIRST, alpha=0.75)
        axes.axvline(float(values.mean()), color=INK, linestyle="--", linewidth=1)
        printed = published_row(summary.study, one.setting)
        if printed is not None:
            mean = float(printed.numbers["test_mean"])
            axes.axvline(mean, color=SECOND, linestyle=":", linewidth=1.5)
        axes.set(title=f"network {one.setting.network}", xlabel="test accuracy", xlim=(0, 1))
    panels[0].set_ylabel("runs")
    lines_legend(panels[-1], [("our mean", INK, "--"), ("paper's mean", SECOND, ":")])
    return figure


def draw_margin_boxes(summary: StudySummary, networks: Sequence[int]) -> "Figure":
    """Test accuracy for each margin strength."""
    return _by_network(summary, networks, "margin_strength", "gamma")


def draw_feasibility(summary: StudySummary, networks: Sequence[int]) -> "Figure":
    """Test accuracy for each margin strength, feasible and infeasible runs apart."""
    figure, panels = panels_of(len(networks))
    for axes, network in zip(panels, networks, strict=True):
        chosen = _of_networks(summary, [network])
        for is_feasible, colour, shift in ((True, FIRST, -0.18), (False, SECOND, 0.18)):
            groups = [one.values("test_accuracy")[one.feasible == is_feasible] for one in chosen]
            plain_boxes(axes, groups, np.arange(len(chosen), dtype=float) + shift, colour, 0.3)
        labels = [f"{one.setting.margin_strength:g}" for one in chosen]
        axes.set_xticks(range(len(chosen)), labels)
        axes.set(title=f"network {network}", xlabel="gamma", ylim=(-0.03, 1.03))
    panels[0].set_ylabel("test accuracy")
    patches_legend(panels[-1], [("feasible", FIRST), ("infeasible", SECOND)])
    return figure


def draw_margins_against_accuracy(
    summary: StudySummary, network: int, strengths: Sequence[float]
) -> "Figure":
    """Test accuracy against S1 and S2: a dot for each pair, darker where there are more runs."""
    chosen = [
        one for one in _of_networks(summary, [network]) if one.setting.margin_strength in strengths
    ]
    figure, panels = panels_of(2)
    for axes, column in zip(panels, ("s1", "s2"), strict=True):
        accuracy_against(axes, chosen, column)
        axes.set_xlabel(column.upper())
    panels[0].set_ylabel("test accuracy")
    if len(chosen) > 1:
        names = [f"gamma {one.setting.margin_strength:g}" for one in chosen]
        patches_legend(panels[0], list(zip(names, COLOURS, strict=False)))
    return figure


def draw_dropout(summary: StudySummary, networks: Sequence[int]) -> "Figure":
    """Test accuracy by learning rate and dropped neurons; dashed, the median without dropout."""
    figure, panels = panels_of(len(networks))
    for axes, network in zip(panels, networks, strict=True):
        chosen = _of_networks(summary, [network])
        baseline = [one for one in chosen if one.setting.dropped is None]
        rates = sorted(
            {one.setting.learning_rate for one in chosen if one.setting.dropped is not None}
        )
        for dropped, colour in enumerate(COLOURS):
            some = [one for one in chosen if one.setting.dropped == dropped]
            places = [rates.index(one.setting.learning_rate) for one in some]
            shifted = np.array(places, dtype=float) + 0.26 * (dropped - 1)
            plain_boxes(axes, [one.values("test_accuracy") for one in some], shifted, colour, 0.2)
            training_marks(axes, some, shifted)
        if baseline:
            median = float(np.median(baseline[0].values("test_accuracy")))
            axes.axhline(median, color=INK, linestyle="--", linewidth=1)
        axes.set_xticks(range(len(rates)), [f"{rate:g}" for rate in rates])
        axes.set(title=f"network {network}", xlabel="learning rate eta", ylim=(-0.03, 1.03))
    panels[0].set_ylabel("accuracy")
    patches_legend(panels[-1], [(f"{n} dropped", colour) for n, colour in enumerate(COLOURS)])
    return figure


def draw_committees(summary: StudySummary, networks: Sequence[int]) -> "Figure":
    """Mean test accuracy against margin strength: the paper's, ours, and committees."""
    figure, panels = panels_of(len(networks))
    for axes, network in zip(panels, networks, strict=True):
        chosen = _of_networks(summary, [network])
        x = [one.setting.margin_strength for one in chosen]
        printed = [published_row(summary.study, one.setting) for one in chosen]
        paper = [float(row.numbers["test_mean"]) if row else np.nan for row in printed]
        axes.plot(x, paper, color=INK, linestyle=":", marker="D", markersize=4, label="paper")
        for column, label, colour in (
            ("test_accuracy", "lowest energy", FIRST),
            ("feasible_accuracy", "best feasible", SECOND),
            ("committee_accuracy", "committee", THIRD),
        ):
            means = [_mean_of_known(one.values(column)) for one in chosen]
            axes.plot(x, means, color=colour, marker="o", markersize=4, label=label)
        axes.set(title=f"network {network}", xlabel="gamma", ylim=(0.4, 1.03))
    panels[0].set_ylabel("mean test accuracy")
    panels[-1].legend(frameon=False, fontsize=8, loc="best")
    return figure


def draw_draws(summary: StudySummary) -> "Figure":
    """Mean test accuracy of the same networks on each draw of test images, and the paper's."""
    figure, (axes,) = panels_of(1, width=9)
    for place, one in enumerate(summary.settings):
        axes.plot([place] * len(one.draw_means), one.draw_means, "o", color=FIRST, alpha=0.6)
        axes.plot([place - 0.3, place + 0.3], [one.values("all_accuracy").mean()] * 2, color=INK)
        printed = published_row(summary.study, one.setting)
        if printed is not None:
            axes.plot(place, float(printed.numbers["test_mean"]), "D", color=SECOND, markersize=5)
    labels = [str(one.setting.network) for one in summary.settings]
    axes.set_xticks(range(len(labels)), labels)
    axes.set(xlabel="network", ylabel="mean test accuracy")
    marks_legend(
        axes,
        [
            ("a draw of 40 images", FIRST, "o"),
            ("all 1,200 images", INK, "_"),
            ("paper", SECOND, "D"),
        ],
    )
    return figure


def _by_network(
    summary: StudySummary, networks: Sequence[int], varied: str, label: str
) -> "Figure":
    figure, panels = panels_of(len(networks))
    for axes, network in zip(panels, networks, strict=True):
        chosen = _of_networks(summary, [network])
        judged_boxes(axes, summary, chosen, [f"{getattr(one.setting, varied):g}" for one in chosen])
        axes.set(title=f"network {network}", xlabel=label)
    boxes_legend(panels[-1])
    return figure


def _of_networks(summary: StudySummary, networks: Sequence[int]) -> list[SettingSummary]:
    return [one for one in summary.settings if one.setting.network in networks]


def _mean_of_known(values: NDArray[np.float64]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else float("nan")
