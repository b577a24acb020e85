"""Summaries of stores, and each of the paper's numbers beside ours, with a test of the difference.

Store -> StudySummary -> Comparisons.  Paper, tab:results-oneshot, tab:som-summary and
tab:dropout-results-summary.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.experiments.significance import Verdict, fraction_test, holm, mean_test, order_test
from qubonn.experiments.store import Row, Store
from qubonn.experiments.study import Setting, canonical
from qubonn.experiments.tables import by_setting, csv_text
from qubonn.paper.published import Published, published
from qubonn.paper.studies import STUDIES, PaperStudy

Values = NDArray[np.float64]
TRAINING_IMAGES = 4
COLUMNS = {
    "training_mean": "training_accuracy",
    "unsatisfied_percent": "unsatisfied_percent",
    "s1_mean": "s1",
    "s2_mean": "s2",
}  # measure -> number of a run; the others are of the test accuracy
STATISTICS: Any = {"test_min": np.min, "test_max": np.max, "test_median": np.median}  # not means
ORDER_TESTS = ("test_min", "test_max", "test_median")
FRACTION_TESTS = ("training_mean", "unsatisfied_percent")


@dataclass(frozen=True, eq=False)
class SettingSummary:
    """All runs of one setting, and the row that the paper prints for it."""

    setting: Setting
    rows: Sequence[Row]
    printed: Published | None = None

    def values(self, name: str) -> Values:
        """One number per run, from its record, or "unsatisfied_percent"; NaN for None."""
        if name == "unsatisfied_percent":
            return 100 * self.values("violation_count") / self.values("constraint_count")
        try:
            return np.array([row.record[name] for row in self.rows], dtype=float)
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"every run of {canonical(self.setting)} must have a number {name!r:.40} in its "
                "record; at least one has none"
            ) from error

    def mean(self, name: str) -> float:
        """The mean without NaN, or NaN if there is no other number."""
        values = self.values(name)
        known = values[~np.isnan(values)]
        return float(known.mean()) if len(known) else float("nan")

    @property
    def printed_mean(self) -> float:
        """The paper's mean test accuracy, or NaN."""
        return float(self.printed.numbers["test_mean"]) if self.printed else float("nan")

    def measured(self, measure: str) -> Values:
        """The numbers of the runs behind one of the paper's measures."""
        return self.values(COLUMNS.get(measure, "test_accuracy"))

    def number(self, measure: str) -> float:
        """One of the paper's measures, a key of MEASURES."""
        return float(STATISTICS.get(measure, np.mean)(self.measured(measure)))

    def draws(self, seeds: Iterable[int]) -> Values:
        """Test accuracy on each draw of test images: draws x runs."""
        return np.stack([self.values(f"draw_accuracy_seed_{seed}") for seed in seeds])


@dataclass(frozen=True, eq=False)
class StudySummary:
    """All runs of a study, and the preparations by the canonical text of their setting."""

    study: PaperStudy
    rows: Sequence[Row]
    preparations: Mapping[str, Row]

    @classmethod
    def of(cls, store: Store) -> "StudySummary":
        """Summarise the store of one of the paper's studies."""
        try:
            spec = store.spec | {"data_seeds": tuple(store.spec["data_seeds"])}
            study = PaperStudy(**spec, settings=tuple(store.settings()))
            wanted = published(spec["name"])[0].setting.keys()
            if any(setting.keys() != wanted for setting in study.settings):
                raise ValueError("settings of another kind")
        except (KeyError, TypeError, ValueError) as error:
            raise FileFormatError(
                f"{store.path} must hold a study of the paper; it cannot be read: {error}"
            ) from error
        return cls(study, store.rows(), store.preparations())

    @cached_property
    def settings(self) -> list[SettingSummary]:
        """The settings that have runs, in the order of the study."""
        groups = by_setting(self.rows)
        printed = {canonical(row.setting): row for row in published(self.study.name)}
        return [
            SettingSummary(setting, groups[text], printed.get(text))
            for setting in self.study.settings
            if (text := canonical(setting)) in groups
        ]

    @property
    def networks(self) -> dict[int, list[SettingSummary]]:
        """The settings that have runs, by network."""
        found: dict[int, list[SettingSummary]] = {}
        for one in self.settings:
            found.setdefault(one.setting["network"], []).append(one)
        return found

    @property
    def seconds(self) -> float:
        """Time of all runs and preparations together, on one core each."""
        return sum(row.seconds for row in (*self.rows, *self.preparations.values()))

    @property
    def engine_name(self) -> str:
        """The name of the engine in a report."""
        name = "native" if self.study.engine == "native" else "QUBO"
        readings = ", each run" * (self.study.tune == "each")
        return name + readings + ", full votes" * (self.study.votes == "full")

    @cached_property
    def draw_variance(self) -> float:
        """Variance of a mean test accuracy over draws of test images, pooled over the settings.

        The networks are the same in all draws, so this is the effect of the images alone.
        """
        if len(self.study.data_seeds) < 2:
            return 0.0
        means = [one.draws(self.study.data_seeds).mean(axis=1) for one in self.settings]
        return float(np.mean([one.var(ddof=1) for one in means]))

    @cached_property
    def comparisons(self) -> "list[Comparison]":
        """Every number that the paper prints for the settings, beside ours."""
        found = [
            Comparison(
                setting=one.setting,
                measure=measure,
                paper=one.printed.numbers[measure],
                ours=one.number(measure),
                run_count=len(one.rows),
                p=_p(one.measured(measure), one, one.printed, measure),
                p_with_draw=_p_with_draw(self, one, one.printed, measure),
            )
            for one in self.settings
            if one.printed is not None
            for measure in one.printed.numbers
        ]
        adjusted = holm([one.p for one in found])
        with_draw = holm([one.p_with_draw for one in found])
        return [
            replace(one, adjusted=p, verdict=Verdict.of(p, drawn))
            for one, p, drawn in zip(found, adjusted, with_draw, strict=True)
        ]


@dataclass(frozen=True)
class Comparison:
    """One printed number and ours.

    `p` is for chance in the runs. `p_with_draw` is for chance in the runs and in the choice of test
    images, where they matter: for means the variance between draws is added, for the others the
    largest p of our draws counts. `adjusted` is p by Holm's method over all numbers of the study.
    """

    setting: Setting
    measure: str
    paper: Decimal
    ours: float
    run_count: int
    p: float | None
    p_with_draw: float | None = None
    adjusted: float | None = None
    verdict: Verdict = Verdict.UNKNOWN

    @property
    def difference(self) -> float:
        """Ours minus the paper's."""
        return self.ours - float(self.paper)

    @property
    def places(self) -> int:
        """Decimals that the paper prints."""
        return -int(self.paper.as_tuple().exponent)

    @property
    def test(self) -> str:
        """The test behind p."""
        if self.measure in ORDER_TESTS:
            return "precedence"
        return "Welch and Fisher" if self.measure in FRACTION_TESTS else "Welch"


def _p(values: Values, one: SettingSummary, row: Published, measure: str) -> float | None:
    runs, printed = row.run_count, row.numbers[measure]
    given = (float(printed), runs, _half_unit(printed))
    if measure in ORDER_TESTS:
        middle = (runs // 2, runs // 2 + 1)
        ranks = {"test_min": (1,), "test_max": (runs,), "test_median": middle}[measure]
        return order_test(values, *given, ranks)
    if measure == "training_mean":
        return fraction_test(values, *given, TRAINING_IMAGES)
    if measure == "unsatisfied_percent":
        parts = int(one.values("constraint_count")[0])
        return fraction_test(values / 100, given[0] / 100, runs, given[2] / 100, parts)
    return mean_test(values, *given)


def _p_with_draw(
    summary: StudySummary, one: SettingSummary, row: Published, measure: str
) -> float | None:
    seeds, printed = summary.study.data_seeds, row.numbers[measure]
    if not measure.startswith("test_") or len(seeds) < 2:
        return None
    if measure != "test_mean":
        return max(_p(values, one, row, measure) or 0.0 for values in one.draws(seeds))
    return mean_test(
        one.measured(measure),
        float(printed),
        row.run_count,
        _half_unit(printed),
        2 * summary.draw_variance,  # the paper's draw and ours
        len(seeds) - 1,
    )


def _half_unit(printed: Decimal) -> float:
    return 0.5 * 10.0 ** int(printed.as_tuple().exponent)


def comparisons_csv(stores: Sequence[Store]) -> str:
    """Return every number of the paper beside ours: difference, test, p-values, verdict."""
    summaries = [StudySummary.of(store) for store in stores if store.spec["name"] in STUDIES]
    names = published("margins")[0].setting.keys()
    heads = ["study", *names, "measure", "paper", "ours", "difference", "runs", "test", "p"]
    lines = [
        [summary.study.label, *one.setting.values(), one.measure, one.paper, one.ours,
         one.difference, one.run_count, one.test,
         *(None if p is None else f"{p:.3g}" for p in (one.p, one.p_with_draw, one.adjusted)),
         one.verdict.label]
        for summary in summaries
        for one in summary.comparisons
    ]  # fmt: skip
    return csv_text([*heads, "p_with_draw", "p_holm", "verdict"], lines)
