"""Tables that the paper has not: committees, draws of test images, temperatures, what was run.

Summaries -> Table.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from qubonn.experiments.progress import duration
from qubonn.experiments.studies import STUDIES, published_row
from qubonn.experiments.summary import SettingSummary, StudySummary
from qubonn.experiments.tables import (
    Cell,
    Table,
    engine_name,
    plain_name,
    setting_cells,
    setting_heads,
    settings_in,
)


def replicas_table(name: str, summaries: Sequence[StudySummary]) -> Table:
    """What the replicas add that the paper throws away."""
    columns: dict[str, Callable[[SettingSummary], str]] = {
        "lowest energy": lambda one: _mean(one, "test_accuracy"),
        "best feasible": lambda one: _mean(one, "feasible_accuracy"),
        "25 vote": lambda one: _mean(one, "small_committee_accuracy"),
        "all feasible vote": lambda one: _mean(one, "committee_accuracy"),
        "members": lambda one: f"{one.values('committee_size').mean():.0f}",
        "runs with a feasible network": lambda one: _share(one.values("feasible_count") > 0),
    }
    rows, groups = [], []
    for setting in settings_in(summaries):
        printed = published_row(summaries[0].study, setting)
        mean = str(printed.numbers["test_mean"]) if printed else ""
        lines = [
            (
                *setting_cells(name, setting),
                Cell(engine_name(summary.study)),
                Cell(mean),
                *(Cell(column(one)) for column in columns.values()),
            )
            for summary in summaries
            if (one := summary.of(setting)) is not None
        ]
        rows += lines
        groups.append(len(lines))
    return Table(
        f"{plain_name(name)}-replicas",
        f"{STUDIES.get(name, name)}: what the other replicas are good for",
        (*setting_heads(name), "who", "paper", *columns),
        tuple(rows),
        "Mean test accuracy of the network of lowest energy (the paper's choice), of the feasible "
        "network of lowest energy, and of committees of feasible networks of one run.",
        tuple(groups),
    )


def draws_table(name: str, summary: StudySummary) -> Table:
    """The same networks on other draws of test images."""
    seeds = summary.study.data_seeds
    rows = []
    for one in summary.settings:
        spread = one.draw_means.std(ddof=1) if len(seeds) > 1 else float("nan")
        error = one.values("test_accuracy").std() / max(one.run_count - 1, 1) ** 0.5
        rows.append(
            (
                *setting_cells(name, one.setting),
                *(Cell(f"{mean:.3f}") for mean in one.draw_means),
                Cell(f"{spread:.3f}"),
                Cell(f"{error:.3f}" if one.run_count > 1 else ""),
                Cell(f"{one.values('all_accuracy').mean():.3f}"),
            )
        )
    return Table(
        f"{plain_name(summary.study.label)}-draws-table",
        f"{STUDIES.get(name, name)}: how much the draw of test images matters "
        f"({engine_name(summary.study)})",
        (*setting_heads(name), *(f"seed {seed}" for seed in seeds), "between draws",
         "error of the mean", "all 1,200 images"),
        tuple(rows),
        "Mean test accuracy of the same networks on five draws of 40 test images, the standard "
        "deviation between the draws, the standard error of the mean over runs, and the mean on "
        "all images with two pixels inverted.",
    )  # fmt: skip


def temperatures_table(name: str, summary: StudySummary) -> Table:
    """Temperatures that Nelder-Mead found, or the range that the runs found."""
    rows = []
    for one in summary.settings:
        hot, cold = one.values("hottest"), one.values("coldest")
        tuned = summary.tunings.get(one.setting)
        rows.append(
            (
                *setting_cells(name, one.setting),
                Cell(_range(hot)),
                Cell(_range(cold)),
                Cell(f"{min(trial[3] for trial in tuned.trials):g}" if tuned else ""),
                Cell(f"{len(tuned.trials)}" if tuned else ""),
            )
        )
    return Table(
        f"{plain_name(summary.study.label)}-temperatures",
        f"{STUDIES.get(name, name)}: temperatures ({engine_name(summary.study)})",
        (*setting_heads(name), "hottest", "coldest", "lowest energy while tuning", "anneals"),
        tuple(rows),
        "In units of energy, as Nelder-Mead left them.",
    )


def making_table(summaries: Sequence[StudySummary]) -> Table:
    """What was run."""
    rows = []
    for summary in summaries:
        study = summary.study
        counts = sorted({one.run_count for one in summary.settings})
        runs = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        rows.append(
            (
                Cell(study.label),
                Cell(f"{len(summary.settings)} of {len(study.settings)}"),
                Cell(runs),
                Cell(f"{study.replica_count:,} x {study.sweep_count:,}"),
                Cell({"once": "once a setting", "each": "each run"}[study.tune]
                     if study.engine == "paper" else "measured, not tuned"),
                Cell(str(study.seed)),
                Cell(duration(summary.seconds)),
                Cell(study.digest[:12]),
            )
        )  # fmt: skip
    return Table(
        "making",
        "What was run",
        ("study", "settings", "runs a setting", "replicas x sweeps", "temperatures", "seed",
         "time on one core", "digest of the study"),
        tuple(rows),
    )  # fmt: skip


def _mean(one: SettingSummary, name: str) -> str:
    known = [getattr(outcome, name) for outcome in one.outcomes]
    values = [value for value in known if value is not None]
    return f"{sum(values) / len(values):.3f}" if values else "-"


def _share(is_so: NDArray[np.bool_]) -> str:
    return f"{100 * is_so.mean():.0f} %"


def _range(values: NDArray[np.float64]) -> str:
    low, high = values.min(), values.max()
    return f"{low:.3g}" if f"{low:.3g}" == f"{high:.3g}" else f"{low:.3g} to {high:.3g}"
