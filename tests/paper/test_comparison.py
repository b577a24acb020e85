import csv
import io
import statistics
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from experiments.tiny import record, row, rows_of, setting, some_records, with_draws
from qubonn.errors import FileFormatError
from qubonn.experiments import Record, Store
from qubonn.experiments.significance import Verdict
from qubonn.paper import MEASURES, published
from qubonn.paper.comparison import (
    SettingSummary,
    StudySummary,
    comparisons_csv,
)
from qubonn.paper.studies import PaperStudy, study_of


def test_summaries_are_what_the_slow_obvious_way_gives() -> None:
    runs = some_records(31)
    one = SettingSummary(setting(10), rows_of(setting(10), runs))
    tests = [run["test_accuracy"] for run in runs]
    expected = {
        "test_min": min(tests),
        "test_max": max(tests),
        "test_mean": statistics.fmean(tests),
        "test_median": statistics.median(tests),
        "training_mean": statistics.fmean(run["training_accuracy"] for run in runs),
        "unsatisfied_percent": statistics.fmean(100 * run["violation_count"] / 44 for run in runs),
        "s1_mean": statistics.fmean(run["s1"] for run in runs),
        "s2_mean": statistics.fmean(run["s2"] for run in runs),
    }
    assert set(expected) == set(MEASURES)
    for measure, value in expected.items():
        assert one.number(measure) == pytest.approx(value)
    draws = [statistics.fmean(run[f"draw_accuracy_seed_{n}"] for run in runs) for n in range(5)]
    assert one.draws(range(5)).mean(axis=1) == pytest.approx(draws)


def test_numbers_that_are_not_there_are_left_out_of_a_mean() -> None:
    runs = [record(feasible_accuracy=None), record(feasible_accuracy=0.25)]
    one = SettingSummary(setting(10), rows_of(setting(10), runs))
    assert one.mean("feasible_accuracy") == 0.25
    assert np.isnan(one.mean("hottest"))


@pytest.mark.parametrize("name", ["bagels", "text"])
def test_a_record_without_a_number_is_refused(name: str) -> None:
    one = SettingSummary(setting(10), rows_of(setting(10), [record(text="high")]))
    with pytest.raises(FileFormatError, match=f"must have a number '{name}' in its record"):
        one.values(name)


def test_a_store_summarises_settings_that_have_runs(tmp_path: Path) -> None:
    study = study_of("margins", "native")
    given, runs = study.settings[9], some_records(5)
    with Store.open(tmp_path / "x.sqlite", study) as store:
        for one in rows_of(given, runs):
            store.add(one)
        summary = StudySummary.of(store)
    (found,) = summary.settings
    assert found.setting == given == setting(10, 0.01)
    assert [one.record for one in found.rows] == runs
    assert setting(5) in study.settings  # without runs
    assert summary.study == study
    assert summary.seconds == pytest.approx(1.25)
    variance = statistics.variance(found.draws(range(5)).mean(axis=1).tolist())
    assert summary.draw_variance == pytest.approx(variance)


@pytest.mark.parametrize("changes", [{"engine": "magic"}, {"more": 1}])
def test_a_store_that_claims_to_be_the_papers_study_is_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changes: dict[str, object]
) -> None:
    study = study_of("margins", "native")
    with Store.open(tmp_path / "x.sqlite", study) as store:
        monkeypatch.setattr(store, "spec", store.spec | changes)
        with pytest.raises(FileFormatError, match="must hold a study of the paper"):
            StudySummary.of(store)


def summary_of(study: PaperStudy, given: dict[str, object], runs: list[Record]) -> StudySummary:
    return StudySummary(study, rows_of(given, runs), {})


def as_printed(count: int, shift: float = 0.0) -> list[Record]:
    """Runs of network 10 whose mean test accuracy is the paper's 0.569, shifted."""
    generator = np.random.default_rng(5)
    values = generator.normal(0, 0.09, count)
    values += 0.569 + shift - values.mean()
    return [record(test_accuracy=float(one), **with_draws([one] * 5)) for one in values]


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.0, Verdict.CHANCE), (0.01, Verdict.CHANCE), (0.1, Verdict.MORE)]
)
def test_a_difference_in_means_is_chance_or_more(shift: float, verdict: Verdict) -> None:
    study = study_of("architectures", "paper")
    compared = summary_of(study, setting(10), as_printed(200, shift)).comparisons
    found = {one.measure: one for one in compared}
    mean = found["test_mean"]
    assert mean.verdict is verdict
    assert mean.paper == Decimal("0.569")
    assert mean.difference == pytest.approx(shift)
    assert mean.places == 3
    assert (mean.test, found["test_min"].test) == ("Welch", "precedence")
    assert found["training_mean"].verdict is Verdict.CHANCE
    assert found["unsatisfied_percent"].verdict is Verdict.CHANCE


def test_what_other_test_images_can_bring_is_told_apart() -> None:
    study = study_of("architectures", "paper")
    shifts = np.array((0.0, 0.05, -0.05, 0.08, -0.08))
    runs = [
        record(**run | with_draws(run["test_accuracy"] + shifts)) for run in as_printed(200, 0.05)
    ]
    compared = summary_of(study, setting(10), runs).comparisons
    (found,) = (one for one in compared if one.measure == "test_mean")
    assert found.adjusted is not None
    assert found.adjusted < 0.05
    assert found.verdict is Verdict.DRAW


def test_one_run_is_too_few() -> None:
    study = study_of("margins", "native")
    found = {c.measure: c for c in summary_of(study, setting(10), [record()]).comparisons}
    assert found["test_mean"].verdict is Verdict.UNKNOWN
    assert found["s2_mean"].p is None


def test_every_number_of_the_paper_is_compared_once(tmp_path: Path) -> None:
    for name, count in (("architectures", 108), ("margins", 128), ("dropout", 192)):
        study = study_of(name, "native")
        rows = [
            row(given, number, found)
            for given in study.settings
            for number, found in enumerate(some_records(4))
        ]
        numbers = StudySummary(study, rows, {}).comparisons
        assert len(numbers) == count
        for one in numbers:
            (printed,) = (row for row in published(name) if row.setting == one.setting)
            assert printed.numbers[one.measure] == one.paper
        with Store.open(tmp_path / f"{name}.sqlite", study) as store:
            for one_row in rows:
                store.add(one_row)
            lines = list(csv.DictReader(io.StringIO(comparisons_csv([store]))))
        assert len(lines) == count
        assert {line["verdict"] for line in lines} <= {verdict.label for verdict in Verdict}
