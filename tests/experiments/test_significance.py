from itertools import combinations

import numpy as np
import pytest
from scipy import stats

from qubonn.experiments.significance import _order_law, fraction_test, holm, mean_test, order_test


def brute_force_law(ours: int, theirs: int, rank: int) -> list[float]:
    """Go through all ways to mix our values with theirs and count."""
    counts = [0] * (ours + 1)
    for places in combinations(range(ours + theirs), theirs):
        below = places[rank - 1] - (rank - 1)  # of ours, before their rank-th smallest
        counts[below] += 1
    whole = sum(counts)
    return [
        min(1.0, 2 * min(sum(counts[: n + 1]), sum(counts[n:])) / whole) for n in range(ours + 1)
    ]


@pytest.mark.parametrize(("ours", "theirs"), [(1, 1), (3, 5), (6, 4), (5, 7)])
def test_the_precedence_test_is_exact(ours: int, theirs: int) -> None:
    for rank in range(1, theirs + 1):
        assert _order_law(ours, theirs, rank) == pytest.approx(
            brute_force_law(ours, theirs, rank), abs=1e-12
        )


def test_ties_count_in_favour_of_chance() -> None:
    values = np.array([0.5] * 20)
    assert order_test(values, 0.5, 20, 0.0005, (10, 11)) == 1
    assert order_test(values, 0.7, 20, 0.0005, (10, 11)) < 0.001
    assert order_test(values, 0.5004, 20, 0.0005, (10, 11)) == 1  # printed with rounding


@pytest.mark.parametrize("ranks", [(1,), (100,), (50, 51)])
def test_the_precedence_test_rarely_calls_chance_more(ranks: tuple[int, ...]) -> None:
    # the level holds exactly; 2,000 tries at 5 % give more than 130 with chance below 0.001
    generator = np.random.default_rng(0)
    false_alarms = 0
    for _ in range(2000):
        theirs = np.sort(generator.integers(0, 41, 100) / 40)
        printed = float(np.median(theirs)) if len(ranks) == 2 else theirs[ranks[0] - 1]
        ours = generator.integers(0, 41, 80) / 40
        false_alarms += order_test(ours, printed, 100, 0.0005, ranks) < 0.05
    assert false_alarms <= 130


def test_the_mean_test_is_welchs_with_our_spread_for_both() -> None:
    values = np.random.default_rng(1).normal(0.55, 0.1, 50)
    spread = values.std(ddof=1)
    found = mean_test(values, 0.6, 200, 0.0)
    expected = stats.ttest_ind_from_stats(
        values.mean(), spread, 50, 0.6, spread * np.sqrt(49 / 50 * 50 / 49), 200, equal_var=False
    )
    # the spread is known from our runs only, so the degrees of freedom are ours
    t = abs(values.mean() - 0.6) / (spread * np.sqrt(1 / 50 + 1 / 200))
    assert abs(expected.statistic) == pytest.approx(t)
    assert found == pytest.approx(2 * stats.t.sf(t, 49))


def test_the_mean_test_rarely_calls_chance_more() -> None:
    generator = np.random.default_rng(2)
    false_alarms = 0
    for _ in range(2000):
        theirs, ours = generator.normal(0.5, 0.1, 200), generator.normal(0.5, 0.1, 20)
        p = mean_test(ours, round(float(theirs.mean()), 3), 200, 0.0005)
        assert p is not None
        false_alarms += p < 0.05
    assert 60 <= false_alarms <= 130


def test_rounding_is_granted_and_few_runs_give_no_verdict() -> None:
    values = np.array([0.5, 0.6])
    assert mean_test(values, 0.5504, 200, 0.0005) == 1
    assert mean_test(values[:1], 0.9, 200, 0.0005) is None


def test_where_all_our_runs_agree_the_fewest_runs_unlike_ours_are_counted() -> None:
    # a mean of 89.57 where we always have 118 takes 49 of 200 runs at 0, or more at other values
    exact = stats.fisher_exact(np.array([[0, 200], [49, 151]])).pvalue
    assert mean_test(np.full(200, 118.0), 89.57, 200, 0.0) == pytest.approx(exact)
    few = mean_test(np.full(2, 118.0), 89.57, 200, 0.0)
    assert few is not None
    assert few > 0.5
    assert mean_test(np.full(200, 118.0), 120.0, 200, 0.0) is None


def test_variance_between_draws_makes_a_difference_less_surprising() -> None:
    values = np.random.default_rng(3).normal(0.5, 0.1, 200)
    alone = mean_test(values, 0.55, 200, 0.0)
    with_draws = mean_test(values, 0.55, 200, 0.0, 2 * 0.03**2, 4)
    assert alone is not None
    assert with_draws is not None
    assert alone < 0.001 < 0.05 < with_draws


def test_fractions_are_compared_by_the_more_cautious_of_two_tests() -> None:
    nothing = np.zeros(200)
    exact = stats.fisher_exact(np.array([[0, 8800], [15, 8785]])).pvalue
    assert fraction_test(nothing, 15 / 8800, 200, 0.0, 44) == pytest.approx(exact)
    assert fraction_test(nothing, 0.0, 200, 0.00005, 44) == 1
    one_bad_run = nothing.copy()
    one_bad_run[0] = 10 / 44  # ten constraints, but of a single run: Welch sees that
    counted = stats.fisher_exact(np.array([[10, 8790], [0, 8800]])).pvalue
    found = fraction_test(one_bad_run, 0.0, 200, 0.0, 44)
    assert found is not None
    assert counted < 0.01 < 0.05 < found


def test_holms_method_is_the_one_of_the_books() -> None:
    assert holm([]) == []
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.5, 0.9, 0.001]) == pytest.approx([1.0, 1.0, 0.003])
