"""Whether a difference from a printed number could be chance.

Our runs, a printed number and the number of runs behind it -> p-value.  Printed tables often give
no spread; where a test needs one it uses ours for both sides.
"""

from collections.abc import Sequence
from enum import Enum
from functools import cache
from math import ceil, sqrt

import numpy as np
from numpy.typing import NDArray

LEVEL = 0.05
ROUNDING = 1.000001  # of half a unit of the last printed digit; floats are not decimals


class Verdict(Enum):
    """What a difference is: its name, the mark beside a number, and its meaning in words."""

    CHANCE = ("chance", "", "no more than chance")
    DRAW = ("draw", "~", "more than the chance of runs, no more than other test images bring")
    MORE = ("more", "*", "more than chance")
    UNKNOWN = ("unknown", "?", "cannot be decided from these runs")

    def __init__(self, label: str, mark: str, meaning: str) -> None:
        self.label, self.mark, self.meaning = label, mark, meaning

    @classmethod
    def of(cls, p: float | None, p_with_draw: float | None) -> "Verdict":
        """Return the verdict on adjusted p-values, without and with chance in the test images."""
        if p is None:
            return cls.UNKNOWN
        if p >= LEVEL:
            return cls.CHANCE
        return cls.DRAW if p_with_draw is not None and p_with_draw >= LEVEL else cls.MORE


def mean_test(
    values: NDArray[np.float64],
    printed: float,
    printed_runs: int,
    half_unit: float,
    extra_variance: float = 0.0,
    extra_freedom: int = 1,
) -> float | None:
    """Welch's t-test of two means, with our variance for both; None with fewer than two runs.

    If all our runs agree, our variance is zero. Values are never negative, so a printed
    mean below ours needs a least number of runs unlike ours, and Fisher's exact test compares that
    number with zero of ours. For a printed mean above ours there is no such bound: None.

    The printed mean may be off by half a unit of its last digit, in our favour. `extra_variance` is
    added to that of the difference, with its own degrees of freedom (Satterthwaite).
    """
    count = len(values)
    if count < 2:
        return None
    gap = max(abs(float(values.mean()) - printed) - half_unit * ROUNDING, 0.0)
    if gap == 0:
        return 1.0
    within = float(values.var(ddof=1)) * (1 / count + 1 / printed_runs)
    total = within + extra_variance
    if total == 0:
        return _unlike_ours(count, float(values.mean()), printed, printed_runs, gap)
    freedom = total**2 / (within**2 / (count - 1) + extra_variance**2 / extra_freedom)
    from scipy.stats import t

    return float(2 * t.sf(gap / sqrt(total), freedom))


def fraction_test(
    values: NDArray[np.float64], printed: float, printed_runs: int, half_unit: float, parts: int
) -> float | None:
    """Compare mean fractions of `parts` items a run: the larger p of Welch's and Fisher's test.

    Fisher's exact test counts items, as if those of one run were independent; it also gives an
    answer if all our runs agree, or nearly so, and Welch's test has no variance to use.
    """
    count = len(values)
    gap = abs(float(values.mean()) - printed)
    if gap <= half_unit * ROUNDING:
        return 1.0
    from scipy.stats import fisher_exact

    ours, theirs = count * parts, printed_runs * parts
    table = np.array([_split(float(values.mean()), ours), _split(printed, theirs)])
    exact = float(fisher_exact(table).pvalue)
    welch = mean_test(values, printed, printed_runs, half_unit) if values.std() > 0 else None
    return exact if welch is None else max(exact, welch)


def order_test(
    values: NDArray[np.float64],
    printed: float,
    printed_runs: int,
    half_unit: float,
    ranks: Sequence[int],
) -> float:
    """Exact two-sided precedence test: the number of our runs below a printed order statistic.

    If both sides draw from one distribution, the number of our m values below the r-th smallest of
    their n is negative hypergeometric, whatever the distribution. `ranks` are the possible r, from
    1; ties and ranks are resolved so that p is largest.
    """
    ours = len(values)
    below = int((values < printed - half_unit * ROUNDING).sum())
    not_above = int((values <= printed + half_unit * ROUNDING).sum())
    return max(
        p for rank in ranks for p in _order_law(ours, printed_runs, rank)[below : not_above + 1]
    )


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjust p-values for many comparisons at once, by Holm's method; None stays None.

    >>> holm([0.01, 0.04, None, 0.03])
    [0.03, 0.06, None, 0.06]
    """
    known = sorted((p, number) for number, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for place, (p, number) in enumerate(known):
        highest = max(highest, min((len(known) - place) * p, 1.0))
        adjusted[number] = highest
    return adjusted


def _unlike_ours(
    count: int, ours: float, printed: float, printed_runs: int, gap: float
) -> float | None:
    if printed > ours:
        return None
    from scipy.stats import fisher_exact

    least = ceil(printed_runs * gap / ours)
    return float(fisher_exact(np.array([[0, count], [least, printed_runs - least]])).pvalue)


def _split(fraction: float, total: int) -> list[int]:
    hits = round(fraction * total)
    return [hits, total - hits]


@cache
def _order_law(ours: int, theirs: int, rank: int) -> tuple[float, ...]:
    """Two-sided p for each number, 0 to `ours`, of our values below their rank-th smallest."""
    from scipy.stats import nhypergeom

    chances = nhypergeom.pmf(np.arange(ours + 1), ours + theirs, ours, rank)
    at_most, at_least = np.cumsum(chances), np.cumsum(chances[::-1])[::-1]
    return tuple(np.minimum(2 * np.minimum(at_most, at_least), 1.0).tolist())
