"""Cooling: the temperatures of a run, slice by slice, as many as were asked for or as fit the time.

Hottest and coldest temperature, number of sweeps, clock -> temperatures of the next few sweeps.
"""

import time
from collections.abc import Iterator
from math import inf

import numpy as np
from numpy.typing import NDArray

from qubonn.samplers.temperatures import geometric
from qubonn.stopping import SLICE_SECONDS, TARGET_SLICE, Watch

LEAST_STEPS = 20  # temperatures of a run that has little time


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
