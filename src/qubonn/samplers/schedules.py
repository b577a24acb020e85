"""Temperatures over the sweeps of an anneal.

Two temperatures, number of sweeps -> a temperature for each sweep.  Paper, section "Experimental
set-up".
"""

from math import isfinite

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.errors import RangeError


def geometric(hottest: float, coldest: float, sweep_count: int) -> NDArray[np.float64]:
    """Cool by the same factor each sweep: T = T_max * (T_min / T_max) ** (t / (sweeps - 1)).

    >>> geometric(8.0, 1.0, 4)
    array([8., 4., 2., 1.])
    """
    require_temperatures(hottest, coldest)
    steps = np.arange(require_count("sweep_count", sweep_count)) / max(sweep_count - 1, 1)
    return hottest * (coldest / hottest) ** steps


def require_temperatures(hottest: float, coldest: float) -> None:
    """Raise unless 0 < coldest <= hottest, both finite."""
    if not (isfinite(hottest) and isfinite(coldest) and 0 < coldest <= hottest):
        raise RangeError(
            "temperatures must be finite with 0 < coldest <= hottest; "
            f"got hottest={hottest}, coldest={coldest}"
        )
