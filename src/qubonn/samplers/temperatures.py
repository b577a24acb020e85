"""Temperatures of an anneal: two that suit a QUBO, and one for each sweep between them.

Qubo -> (hottest, coldest) -> a temperature for each sweep.  Paper, section "Experimental set-up".
"""

from math import inf
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.quadratic import Qubo
from qubonn.samplers.replicas import PackedQubo, Replicas, random_states

REPLICAS, SWEEPS = 64, 20  # of the quench; much less work than an anneal
LARGE, FEWER, SHORTER = 20_000, 16, 5  # with so many variables so few replicas and sweeps do


def geometric(hottest: float, coldest: float, sweep_count: int) -> NDArray[np.float64]:
    """Cool by the same factor each sweep: T = T_max * (T_min / T_max) ** (t / (sweeps - 1)).

    >>> geometric(8.0, 1.0, 4)
    array([8., 4., 2., 1.])
    """
    require_temperatures(hottest, coldest)
    steps = np.arange(require_count("sweep_count", sweep_count)) / max(sweep_count - 1, 1)
    return hottest * (coldest / hottest) ** steps


def default_temperatures(qubo: Qubo | PackedQubo) -> tuple[float, float]:
    """Return temperatures between which annealing this QUBO pays.

    Some random states are quenched (sweeps at temperature zero). The hottest temperature is the
    median size of the nonzero energy changes that single flips offer there: a typical barrier is
    then crossed in one try out of three. The coldest is a seventh of the smallest sizes (5 %
    quantile): such a step up is taken once in a thousand tries, so the end is frozen. Where every
    flip breaks a penalty, all sizes are large, and small costs decide only which flip is taken: it
    is then a seventh of the difference between small sizes (5 % and 25 % quantiles).

    >>> default_temperatures(Qubo.of([0, 1], [0, 1], [-7, 14], variable_count=2))
    (10.5, 1.0)
    """
    # one full block, so that the number of threads does not matter
    problem = qubo if isinstance(qubo, PackedQubo) else PackedQubo(qubo)
    is_large = problem.qubo.variable_count >= LARGE
    count, sweep_count = (FEWER, SHORTER) if is_large else (REPLICAS, SWEEPS)
    replicas = Replicas(problem, random_states(problem.qubo, count, seed=0), seed=0, lanes=count)
    replicas.advance(np.zeros(sweep_count))
    sizes = replicas.changes()
    sizes = sizes[sizes > 1e-6 * sizes.max(initial=0.0)]
    if not sizes.size:
        return 1.0, 0.1  # a flat energy: any temperature will do
    small, larger, hottest = (float(size) for size in np.quantile(sizes, [0.05, 0.25, 0.5]))
    scale = min(small, larger - small) if larger - small > 1e-3 * small else small
    return hottest, min(scale / 7, hottest)


def chosen_temperatures(
    qubo: Qubo | PackedQubo, hottest: float | None, coldest: float | None
) -> tuple[float, float]:
    """Return the given temperatures; a missing one comes from the QUBO, adapted to the other."""
    if hottest is not None and coldest is not None:
        return hottest, coldest
    default_hottest, default_coldest = default_temperatures(qubo)
    if hottest is not None:
        return hottest, min(default_coldest, hottest)
    return max(default_hottest, coldest or 0.0), coldest or default_coldest


def require_temperatures(hottest: float | None, coldest: float | None) -> None:
    """Raise unless 0 < coldest <= hottest, both finite; None is a temperature not given."""
    for name, value in (("hottest", hottest), ("coldest", coldest)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, Real)):
            raise RangeError(f"{name} must be a temperature, a number; got {value!r}")
    one = next((value for value in (hottest, coldest) if value is not None), 1.0)
    hot, cold = (one if value is None else value for value in (hottest, coldest))
    if not 0 < cold <= hot < inf:
        raise RangeError(
            "temperatures must be finite with 0 < coldest <= hottest; "
            f"got hottest={hot}, coldest={cold}"
        )
