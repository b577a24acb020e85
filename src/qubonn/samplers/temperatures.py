"""Temperatures of an anneal: two that suit a QUBO, and one for each sweep, also by the clock.

Qubo -> (hottest, coldest) -> a temperature for each sweep.  Paper, section "Experimental set-up".
"""

import time
from collections.abc import Iterator
from math import inf
from numbers import Real

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.quadratic import Qubo
from qubonn.samplers.replicas import PackedQubo, Replicas, random_states
from qubonn.stopping import SLICE_SECONDS, TARGET_SLICE, Watch

REPLICAS, SWEEPS = 64, 20  # of the quench; much less work than an anneal
LARGE, FEWER, SHORTER = 20_000, 16, 5  # variables from which fewer replicas and sweeps are enough
MANY = 1_000_000  # couplings, for which the same holds
LEAST_STEPS = 20  # temperatures of a run that has little time


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
    sizes = problem.qubo.variable_count, problem.qubo.coupling_count
    is_large = sizes[0] >= LARGE or sizes[1] >= MANY
    count, sweep_count = (FEWER, SHORTER) if is_large else (REPLICAS, SWEEPS)
    replicas = Replicas(problem, random_states(problem.qubo, count, seed=0), seed=0, lanes=count)
    replicas.advance(np.zeros(sweep_count))
    changes = replicas.changes()
    changes = changes[changes > 1e-6 * changes.max(initial=0.0)]
    if not changes.size:
        return 1.0, 0.1  # a flat energy: any temperature will do
    small, larger, hottest = (float(size) for size in np.quantile(changes, [0.05, 0.25, 0.5]))
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


class Cooling:
    """Geometric cooling in `sweep_count` sweeps, each temperature for `repeat` of them.

    Where they do not fit the time until `end` (of `time.perf_counter`), the rest of the way is
    cooled faster: each slice by what the last one took. Without `sweep_count` all the time is used.
    """

    def __init__(
        self,
        ends: tuple[float, float],
        sweep_count: int | None,
        *,
        end: float = inf,
        repeat: int = 1,
    ) -> None:
        self.ends, self.end, self.repeat = ends, end, repeat
        self.sweep, self.part = 0, 0.0  # done; of the way from hottest to coldest
        self.plan: NDArray[np.float64] | None = None  # None: as the time allows
        if sweep_count is not None:
            self.plan = geometric(*ends, -(-sweep_count // repeat)).repeat(repeat)[:sweep_count]

    def slices(self, watch: Watch) -> Iterator[NDArray[np.float64]]:
        """Yield the temperatures of the next sweeps; sweep there, then go on."""
        seconds, size = 0.0, 1  # a sweep, sweeps of a slice
        while True:
            most = size if watch.target_energy is None else TARGET_SLICE
            temperatures = self._next(seconds, most)
            if not (count := len(temperatures)):
                return
            start = time.perf_counter()
            yield temperatures
            seconds = max(time.perf_counter() - start, 1e-9) / count
            size = int(min(max(SLICE_SECONDS / seconds, 1), 8 * count))

    def progress(self, watch: Watch) -> float:
        """Return the part of the run that is done: of its sweeps, or of its time."""
        if self.plan is not None or watch.time_limit is None:
            return self.part
        return min(watch.seconds / watch.time_limit, 0.999)

    def _next(self, seconds: float, size: int) -> NDArray[np.float64]:
        left = self.end - time.perf_counter()
        fitting = left / seconds if seconds else inf  # sweeps
        if self.plan is not None:
            rest = self.plan[self.sweep :]
            if len(rest) <= fitting:
                self.sweep += len(rest[:size])
                self.part = self.sweep / len(self.plan)
                return rest[:size]
            self.plan = None
        if self.part >= 1 or left <= 0:
            return np.zeros(0)
        return self._cooled(fitting, size)

    def _cooled(self, fitting: float, size: int) -> NDArray[np.float64]:
        """Return the next temperatures of a way that has room for `fitting` more sweeps."""
        hottest, coldest = self.ends
        if fitting == inf:  # the first sweep is measured
            self.sweep += 1
            return np.array([hottest])
        is_even = self.repeat > 1
        most = min(self.repeat, fitting / LEAST_STEPS) if is_even else fitting
        count = int(max(min(size, most), 1))
        steps = np.full(count, count) if is_even else np.arange(1, count + 1)
        parts = np.minimum(self.part + (1 - self.part) * steps / max(fitting, 1.0), 1.0)
        self.sweep += count
        self.part = float(parts[-1])
        return np.asarray(hottest * (coldest / hottest) ** parts)
