"""Summaries: the rows of a study as the numbers that the paper's tables print.

Store -> StudySummary.  Paper, tab:results-oneshot, tab:som-summary, tab:dropout-results-summary.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qubonn.experiments.outcome import Outcome
from qubonn.experiments.performing import Tuned
from qubonn.experiments.rows import Row
from qubonn.experiments.spec import Setting, Study
from qubonn.experiments.store import Store

NORMAL_95 = 1.96  # half the width of a 95 % band, in standard errors

Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class SettingSummary:
    """All runs of one setting."""

    setting: Setting
    outcomes: tuple[Outcome, ...]

    @property
    def run_count(self) -> int:
        """Number of finished runs."""
        return len(self.outcomes)

    def values(self, name: str) -> Values:
        """One value a run: any number of `Outcome`, or "unsatisfied_percent"."""
        if name == "unsatisfied_percent":
            return 100 * self.values("unsatisfied")
        return np.array([getattr(outcome, name) for outcome in self.outcomes], dtype=float)

    def measured(self, measure: str) -> Values:
        """The runs behind one of the paper's measures."""
        columns = {"training_mean": "training_accuracy", "s1_mean": "s1", "s2_mean": "s2"}
        columns["unsatisfied_percent"] = "unsatisfied_percent"
        return self.values(columns.get(measure, "test_accuracy"))

    def number(self, measure: str) -> float:
        """One of the paper's measures, a key of MEASURES."""
        values = self.measured(measure)
        if measure == "test_min":
            return float(values.min())
        if measure == "test_max":
            return float(values.max())
        return float(np.median(values) if measure == "test_median" else values.mean())

    @cached_property
    def draw_means(self) -> Values:
        """Mean test accuracy on each draw of test images, of the same networks."""
        return np.asarray(self.values("draw_accuracies").mean(axis=0))

    @property
    def feasible(self) -> NDArray[np.bool_]:
        """Which runs ended in a state that satisfies every constraint."""
        return np.array([outcome.is_feasible for outcome in self.outcomes], dtype=bool)


@dataclass(frozen=True, eq=False)
class StudySummary:
    """All settings of a study that have runs, with how it was made."""

    study: Study
    settings: tuple[SettingSummary, ...]
    tunings: Mapping[Setting, Tuned]
    versions: tuple[str, ...]  # every combination that made a row, as JSON

    def of(self, setting: Setting) -> SettingSummary | None:
        """The runs of a setting, if there are any."""
        return next((one for one in self.settings if one.setting == setting), None)

    @property
    def run_count(self) -> int:
        """Number of finished runs."""
        return sum(one.run_count for one in self.settings)

    @property
    def seconds(self) -> float:
        """Time that all runs and tunings took together, on one core each."""
        runs = sum(float(one.values("seconds").sum()) for one in self.settings)
        return runs + sum(tuned.seconds for tuned in self.tunings.values())

    @cached_property
    def draw_variance(self) -> float:
        """Variance of a mean test accuracy over draws of test images, pooled over the settings.

        The networks are the same in all draws, so this is the images' doing alone.
        """
        found = [one.draw_means.var(ddof=1) for one in self.settings if len(one.draw_means) > 1]
        return float(np.mean(found)) if found else 0.0


def summarise(store: Store) -> StudySummary:
    """Read all finished runs of a store."""
    study, rows = store.study, store.rows()
    by_setting: dict[int, list[Row]] = {}
    for row in rows:
        by_setting.setdefault(row.run.setting, []).append(row)
    settings = tuple(
        SettingSummary(study.settings[place], tuple(row.outcome for row in found))
        for place, found in sorted(by_setting.items())
    )
    tunings = {study.settings[place]: tuned for place, tuned in store.tunings().items()}
    return StudySummary(study, settings, tunings, tuple(sorted({row.versions for row in rows})))


@dataclass(frozen=True, eq=False)
class Series:
    """Mean of y at each value of x, with a 95 % band from the standard error."""

    x: Values
    mean: Values
    low: Values
    high: Values


def series_by_value(x: Values, y: Values) -> Series:
    """Return the mean of y at each distinct x; a value seen once has no band.

    >>> series_by_value(np.array([2.0, 2.0, 4.0]), np.array([0.5, 0.7, 0.9])).mean
    array([0.6, 0.9])
    """
    places, group = np.unique(x, return_inverse=True)
    groups = [y[group == number] for number in range(len(places))]
    mean = np.array([one.mean() for one in groups])
    errors = [one.std(ddof=1) / np.sqrt(len(one)) if len(one) > 1 else np.nan for one in groups]
    half = NORMAL_95 * np.array(errors)
    return Series(places, mean, mean - half, mean + half)
