"""Ours beside the paper's: difference, and whether it is more than chance.

StudySummary -> Comparisons, one for each printed number.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import Enum

import numpy as np
from numpy.typing import NDArray

from qubonn.experiments.significance import fraction_test, holm, mean_test, order_test
from qubonn.experiments.spec import Setting
from qubonn.experiments.studies import published_row
from qubonn.experiments.summary import SettingSummary, StudySummary
from qubonn.paper import Published

LEVEL = 0.05
TRAINING_IMAGES = 4

TESTS = {
    "test_min": "precedence",
    "test_max": "precedence",
    "test_median": "precedence",
    "test_mean": "Welch",
    "s1_mean": "Welch",
    "s2_mean": "Welch",
    "training_mean": "Welch and Fisher",
    "unsatisfied_percent": "Welch and Fisher",
}


class Verdict(Enum):
    """What a difference is."""

    CHANCE = "chance"  # as large or larger differences are common between equal experiments
    DRAW = "draw"  # more than the chance of runs, but no more than other test images bring
    MORE = "more"  # more than chance
    UNKNOWN = "unknown"  # too few runs, or too much alike, to tell


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


def compare(summary: StudySummary) -> Mapping[Setting, Mapping[str, Comparison]]:
    """Compare every number that the paper prints for the settings of a study."""
    found: list[Comparison] = []
    for one in summary.settings:
        row = published_row(summary.study, one.setting)
        if row is not None:
            found += [_comparison(summary, one, row, measure) for measure in row.numbers]
    result: dict[Setting, dict[str, Comparison]] = {}
    for judged in _judged(found):
        result.setdefault(judged.setting, {})[judged.measure] = judged
    return result


def _comparison(
    summary: StudySummary, one: SettingSummary, row: Published, measure: str
) -> Comparison:
    return Comparison(
        setting=one.setting,
        measure=measure,
        paper=row.numbers[measure],
        ours=one.number(measure),
        run_count=one.run_count,
        p=_p(one.measured(measure), one, row, measure),
        p_with_draw=_p_with_draw(summary, one, row, measure),
    )


def _p(
    values: NDArray[np.float64], one: SettingSummary, row: Published, measure: str
) -> float | None:
    runs, printed = row.run_count, row.numbers[measure]
    given = (float(printed), runs, _half_unit(printed))
    if measure in ("test_min", "test_max", "test_median"):
        middle = (runs // 2, runs // 2 + 1)
        ranks = {"test_min": (1,), "test_max": (runs,), "test_median": middle}[measure]
        return order_test(values, *given, ranks)
    if measure == "training_mean":
        return fraction_test(values, *given, TRAINING_IMAGES)
    if measure == "unsatisfied_percent":
        parts = one.outcomes[0].constraint_count
        return fraction_test(values / 100, given[0] / 100, runs, given[2] / 100, parts)
    return mean_test(values, *given)


def _p_with_draw(
    summary: StudySummary, one: SettingSummary, row: Published, measure: str
) -> float | None:
    draw_count = len(summary.study.data_seeds)
    if not measure.startswith("test_") or draw_count < 2:
        return None
    if measure == "test_mean":
        printed = row.numbers[measure]
        return mean_test(
            one.measured(measure),
            float(printed),
            row.run_count,
            _half_unit(printed),
            2 * summary.draw_variance,  # the paper's draw and ours
            draw_count - 1,
        )
    draws = one.values("draw_accuracies").T
    return max(_p(values, one, row, measure) or 0.0 for values in draws)


def _judged(found: list[Comparison]) -> list[Comparison]:
    """Adjust all p-values together and say what each difference is."""
    known = [one for one in found if one.p is not None]
    adjusted = dict(zip(map(id, known), holm([one.p or 0.0 for one in known]), strict=True))
    drawn = [one for one in found if one.p_with_draw is not None]
    with_draw = dict(
        zip(map(id, drawn), holm([one.p_with_draw or 0.0 for one in drawn]), strict=True)
    )
    judged = []
    for one in found:
        verdict = Verdict.UNKNOWN
        if one.p is not None:
            verdict = Verdict.MORE if adjusted[id(one)] < LEVEL else Verdict.CHANCE
        if verdict is Verdict.MORE and with_draw.get(id(one), 0.0) >= LEVEL:
            verdict = Verdict.DRAW
        judged.append(replace(one, adjusted=adjusted.get(id(one)), verdict=verdict))
    return judged


def _half_unit(printed: Decimal) -> float:
    return 0.5 * 10.0 ** int(printed.as_tuple().exponent)
