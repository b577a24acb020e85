import json
import statistics
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from experiments.tiny import outcome, some_outcomes
from qubonn.experiments.comparison import TESTS, Verdict, compare
from qubonn.experiments.outcome import Outcome
from qubonn.experiments.spec import Run, Setting, Study
from qubonn.experiments.store import Store
from qubonn.experiments.studies import published_row, study_of
from qubonn.experiments.summary import SettingSummary, StudySummary, series_by_value, summarise
from qubonn.paper import MEASURES


def test_summaries_are_what_the_slow_obvious_way_gives() -> None:
    runs = some_outcomes(31)
    one = SettingSummary(Setting(10), tuple(runs))
    tests = [run.test_accuracy for run in runs]
    expected = {
        "test_min": min(tests),
        "test_max": max(tests),
        "test_mean": statistics.fmean(tests),
        "test_median": statistics.median(tests),
        "training_mean": statistics.fmean(run.training_accuracy for run in runs),
        "unsatisfied_percent": statistics.fmean(100 * run.violation_count / 44 for run in runs),
        "s1_mean": statistics.fmean(run.s1 for run in runs),
        "s2_mean": statistics.fmean(run.s2 for run in runs),
    }
    assert set(expected) == set(MEASURES) == set(TESTS)
    for measure, value in expected.items():
        assert one.number(measure) == pytest.approx(value)
    draws = [statistics.fmean(run.draw_accuracies[n] for run in runs) for n in range(5)]
    assert one.draw_means == pytest.approx(draws)
    assert one.feasible.tolist() == [run.violation_count == 0 for run in runs]


def test_a_store_summarises_settings_that_have_runs(tmp_path: Path) -> None:
    study = study_of("margins", "native")
    runs = some_outcomes(5)
    with Store.open(tmp_path / "x.sqlite", study) as store:
        for number, run in enumerate(runs):
            store.commit(Run(9, number), run, json.dumps({"numpy": "2"}))
        summary = summarise(store)
    (one,) = summary.settings
    assert one.setting == Setting(10, 0.01)
    assert list(one.outcomes) == runs
    assert summary.of(Setting(5)) is None
    assert summary.run_count == 5
    assert summary.seconds == pytest.approx(1.25)
    assert summary.versions == ('{"numpy": "2"}',)
    variance = statistics.variance(one.draw_means.tolist())
    assert summary.draw_variance == pytest.approx(variance)


def test_the_band_is_the_standard_error_of_each_value() -> None:
    x, y = np.array([2.0, 4, 2, 2, 6]), np.array([0.5, 0.8, 0.6, 0.7, 0.9])
    found = series_by_value(x, y)
    half = 1.96 * statistics.stdev([0.5, 0.6, 0.7]) / 3**0.5
    assert found.x.tolist() == [2, 4, 6]
    assert found.mean == pytest.approx([0.6, 0.8, 0.9])
    assert (found.low[0], found.high[0]) == pytest.approx((0.6 - half, 0.6 + half))
    assert np.isnan(found.low[1:]).all()


def summary_of(study: Study, setting: Setting, runs: list[Outcome]) -> StudySummary:
    return StudySummary(study, (SettingSummary(setting, tuple(runs)),), {}, ())


def as_printed(count: int, shift: float = 0.0) -> list[Outcome]:
    """Runs of network 10 whose mean test accuracy is the paper's 0.569, shifted."""
    generator = np.random.default_rng(5)
    values = generator.normal(0, 0.09, count)
    values += 0.569 + shift - values.mean()
    return [
        outcome(test_accuracy=float(value), draw_accuracies=(float(value),) * 5) for value in values
    ]


@pytest.mark.parametrize(
    ("shift", "verdict"), [(0.0, Verdict.CHANCE), (0.01, Verdict.CHANCE), (0.1, Verdict.MORE)]
)
def test_a_difference_in_means_is_chance_or_more(shift: float, verdict: Verdict) -> None:
    study = study_of("architectures", "paper")
    found = compare(summary_of(study, Setting(10), as_printed(200, shift)))[Setting(10)]
    mean = found["test_mean"]
    assert mean.verdict is verdict
    assert mean.paper == Decimal("0.569")
    assert mean.difference == pytest.approx(shift)
    assert mean.places == 3
    assert found["training_mean"].verdict is Verdict.CHANCE
    assert found["unsatisfied_percent"].verdict is Verdict.CHANCE


def test_what_other_test_images_can_bring_is_told_apart() -> None:
    study = study_of("architectures", "paper")
    shifts = (0.0, 0.05, -0.05, 0.08, -0.08)
    runs = [
        outcome(
            test_accuracy=run.test_accuracy,
            draw_accuracies=tuple(run.test_accuracy + shift for shift in shifts),
        )
        for run in as_printed(200, 0.05)
    ]
    found = compare(summary_of(study, Setting(10), runs))[Setting(10)]["test_mean"]
    assert found.adjusted is not None
    assert found.adjusted < 0.05
    assert found.verdict is Verdict.DRAW


def test_one_run_is_too_few() -> None:
    study = study_of("margins", "native")
    found = compare(summary_of(study, Setting(10), [outcome()]))[Setting(10)]
    assert found["test_mean"].verdict is Verdict.UNKNOWN
    assert found["s2_mean"].p is None


def test_every_number_of_the_paper_is_compared_once() -> None:
    for name, count in (("architectures", 108), ("margins", 128), ("dropout", 192)):
        study = study_of(name, "native")
        settings = tuple(SettingSummary(one, tuple(some_outcomes(4))) for one in study.settings)
        found = compare(StudySummary(study, settings, {}, ()))
        numbers = [one for row in found.values() for one in row.values()]
        assert len(numbers) == count
        for one in numbers:
            row = published_row(study, one.setting)
            assert row is not None
            assert row.numbers[one.measure] == one.paper
