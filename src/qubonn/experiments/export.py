"""Rows and comparisons as CSV.

Store -> text.
"""

import csv
import io

from qubonn.experiments.comparison import TESTS, compare
from qubonn.experiments.outcome import Outcome
from qubonn.experiments.rows import COLUMNS, LISTS
from qubonn.experiments.store import Store
from qubonn.experiments.summary import StudySummary
from qubonn.experiments.versions import read_versions

SETTING = ("network", "margin_strength", "learning_rate", "dropped")


def runs_csv(store: Store) -> str:
    """Every run of a store, one line each: setting, number, all measures, versions."""
    study = store.study
    seeds = study.data_seeds
    plain = [name for name in COLUMNS if name not in LISTS]
    draws = [f"{name.removesuffix('ies')}y_seed_{seed}" for name in LISTS for seed in seeds]
    packages = ("qubonn", "python", "numpy", "scipy", "numba")
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["study", *SETTING, "number", *plain, *draws, *packages])
    for row in store.rows():
        setting = study.settings[row.run.setting]
        made_with = read_versions(row.versions)
        writer.writerow(
            [
                study.label,
                *(_text(getattr(setting, name)) for name in SETTING),
                row.run.number,
                *(_text(getattr(row.outcome, name)) for name in plain),
                *(_text(value) for name in LISTS for value in _list(row.outcome, name)),
                *(made_with.get(name, "") for name in packages),
            ]
        )
    return buffer.getvalue()


def comparisons_csv(summaries: list[StudySummary]) -> str:
    """Every number of the paper beside ours: difference, test, p-values, verdict."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    head = ["study", *SETTING, "measure", "paper", "ours", "difference", "runs", "test", "p"]
    writer.writerow([*head, "p_with_draw", "p_holm", "verdict"])
    for summary in summaries:
        for setting, found in compare(summary).items():
            for one in found.values():
                writer.writerow(
                    [
                        summary.study.label,
                        *(_text(getattr(setting, name)) for name in SETTING),
                        one.measure,
                        one.paper,
                        f"{one.ours:.6g}",
                        f"{one.difference:.6g}",
                        one.run_count,
                        TESTS[one.measure],
                        *(_p(value) for value in (one.p, one.p_with_draw, one.adjusted)),
                        one.verdict.value,
                    ]
                )
    return buffer.getvalue()


def _list(outcome: Outcome, name: str) -> tuple[float, ...]:
    found = getattr(outcome, name)
    assert isinstance(found, tuple)
    return found


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _p(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"
