"""Temperatures of an anneal: two that suit a QUBO, and one for each sweep between them.

Qubo -> (hottest, coldest) -> a temperature for each sweep.  Paper, section "Experimental set-up".
"""

from math import isfinite
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.quadratic import Qubo
from qubonn.samplers.replicas import Replicas, random_states

REPLICAS, SWEEPS = 64, 20  # quenched to look at; much less work than an anneal


def geometric(hottest: float, coldest: float, sweep_count: int) -> NDArray[np.float64]:
    """Cool by the same factor each sweep: T = T_max * (T_min / T_max) ** (t / (sweeps - 1)).

    >>> geometric(8.0, 1.0, 4)
    array([8., 4., 2., 1.])
    """
    require_temperatures(hottest, coldest)
    steps = np.arange(require_count("sweep_count", sweep_count)) / max(sweep_count - 1, 1)
    return hottest * (coldest / hottest) ** steps


def default_temperatures(qubo: Qubo) -> tuple[float, float]:
    """Return temperatures between which annealing this QUBO pays.

    Some random states are quenched (sweeps at temperature zero). The hottest temperature is the
    median size of the nonzero energy changes that single flips offer there: a typical barrier is
    then crossed in one try out of three. The coldest is a seventh of the smallest sizes (5 %
    quantile): such a step up is taken once in a thousand tries, so the end is frozen.

    >>> default_temperatures(Qubo.of([0, 1], [0, 1], [-7, 14], variable_count=2))
    (10.5, 1.0)
    """
    sizes = _changes_at_local_minima(qubo)
    sizes = sizes[sizes > 1e-6 * sizes.max(initial=0.0)]
    if not sizes.size:
        return 1.0, 0.1  # a flat energy: any temperature will do
    hottest, small = float(np.median(sizes)), float(np.quantile(sizes, 0.05))
    return hottest, min(small / 7, hottest)


def chosen_temperatures(
    qubo: Qubo, hottest: float | None, coldest: float | None
) -> tuple[float, float]:
    """Return the given temperatures; a missing one comes from the QUBO, adapted to the other."""
    if hottest is not None and coldest is not None:
        return hottest, coldest
    default_hottest, default_coldest = default_temperatures(qubo)
    if hottest is not None:
        return hottest, min(default_coldest, hottest)
    if coldest is not None:
        return max(default_hottest, coldest), coldest
    return default_hottest, default_coldest


def require_given_temperatures(hottest: float | None, coldest: float | None) -> None:
    """Refuse temperatures that are given and not positive, finite and in order."""
    one = next((value for value in (hottest, coldest) if value is not None), 1.0)
    hot, cold = (one if value is None else value for value in (hottest, coldest))
    for name, value in (("hottest", hot), ("coldest", cold)):
        if isinstance(value, bool) or not isinstance(value, Real):
            raise RangeError(f"{name} must be a temperature, a number; got {value!r}")
    require_temperatures(hot, cold)


def require_temperatures(hottest: float, coldest: float) -> None:
    """Raise unless 0 < coldest <= hottest, both finite."""
    if not (isfinite(hottest) and isfinite(coldest) and 0 < coldest <= hottest):
        raise RangeError(
            "temperatures must be finite with 0 < coldest <= hottest; "
            f"got hottest={hottest}, coldest={coldest}"
        )


def _changes_at_local_minima(qubo: Qubo) -> NDArray[np.float64]:
    # one full block, so that the number of threads does not matter
    replicas = Replicas(qubo, random_states(qubo, REPLICAS, seed=0), seed=0, lanes=REPLICAS)
    replicas.advance(np.zeros(SWEEPS))
    return replicas.changes()
