"""When a running solver should stop, and how it reports its progress.

Time limit, target energy, report -> Stop or None, between slices of work.
"""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import Enum
from importlib import import_module
from typing import Any, TypeVar

from qubonn.checks import is_finite_number, require_count, require_seconds
from qubonn.errors import RangeError


class Stop(Enum):
    """Why a solver stopped."""

    FINISHED = "all the requested work is done"
    TARGET = "a state at or below the target energy was found"
    TIME_LIMIT = "the time limit was reached; the best so far is returned"
    INTERRUPTED = "interrupted by Ctrl-C or by the caller; the best so far is returned"


@dataclass(frozen=True)
class Progress:
    """The progress of a run: part of the work done (0 to 1), lowest energy now, seconds."""

    part: float
    best_energy: float
    seconds: float


TRACKERS = ("joblib.externals.loky.backend.resource_tracker", "multiprocessing.resource_tracker")
SLICE_SECONDS = 0.05  # between two looks at the clock
TARGET_SLICE = 10  # steps between two looks for the target

Report = Callable[[Progress], bool | None]  # returns True to stop the run
Result = TypeVar("Result", bound=Any)  # of a solver; it has a `stop`


class Watch:
    """The clock, the target and the reports of one run. Call `verdict` between slices of work."""

    def __init__(
        self,
        *,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> None:
        if target_energy is not None and not is_finite_number(target_energy):
            raise RangeError(f"target_energy must be a finite number; got {target_energy!r}")
        self.start = time.perf_counter()
        self.time_limit = require_seconds("time_limit", time_limit)
        self.target_energy = target_energy
        self._report = report
        self._slice_size = 1

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.perf_counter() - self.start

    @property
    def seconds_left(self) -> float:
        """Seconds until the time limit; infinite where there is none."""
        return float("inf") if self.time_limit is None else self.time_limit - self.seconds

    def restart(self) -> None:
        """Start the clock again: the time until now does not count."""
        self.start = time.perf_counter()

    @property
    def needs_energies(self) -> bool:
        """Whether a target or a report needs the energy between slices."""
        return self.target_energy is not None or self._report is not None

    def verdict(self, part: float, best_energy: float, *, is_estimate: bool = False) -> Stop | None:
        """Report progress and return why to stop now, or None to go on.

        Work that is complete (`part` 1) is finished, whatever the clock says. An energy that is
        only an estimate is reported, but reaches no target.
        """
        wants_stop = self._report is not None and self._report(
            Progress(part, float(best_energy), self.seconds)
        )
        if not is_estimate and self.is_reached_by(best_energy):
            return Stop.TARGET
        if part >= 1:
            return None
        if wants_stop:
            return Stop.INTERRUPTED
        return Stop.TIME_LIMIT if self.seconds_left <= 0 else None

    def is_reached_by(self, energy: float) -> bool:
        """Whether an energy is at or below the target; a billionth of it counts as rounding."""
        if self.target_energy is None:
            return False
        return bool(energy <= self.target_energy + 1e-9 * max(1.0, abs(self.target_energy)))

    def slices(
        self, span: range, target_slice: int = TARGET_SLICE, *, is_estimate: bool = False
    ) -> Iterator[tuple[int, int]]:
        """Yield (start, end) of the slices of a span of steps; do one, then call `verdict`.

        A slice is what fits SLICE_SECONDS. With a target it is `target_slice` steps, so that where
        a run stops does not depend on the clock; estimates reach no target.
        """
        done, has_target = span.start, self.target_energy is not None and not is_estimate
        while done < span.stop:
            size = target_slice if has_target else self._slice_size
            end = min(done + size, span.stop)
            start = time.perf_counter()
            yield done, end
            seconds = max(time.perf_counter() - start, 1e-6)
            fitting = (end - done) * min(SLICE_SECONDS, max(self.seconds_left, 0)) / seconds
            self._slice_size = int(min(max(fitting, 1), 8 * size))
            done = end


def uninterrupted(result: Result) -> Result:
    """Return what a solver found, unless Ctrl-C cut it short and only all of it is of use."""
    if result.stop is Stop.INTERRUPTED:
        raise KeyboardInterrupt
    return result


def finished(work: Callable[[], Result]) -> Result:
    """Return the result of the last part of a run, which Ctrl-C does not stop: it starts again.

    So what was found is kept. A second Ctrl-C raises KeyboardInterrupt.
    """
    try:
        return work()
    except KeyboardInterrupt:
        return replace(work(), stop=Stop.INTERRUPTED)


def require_seed(seed: int) -> int:
    """Return a seed that numpy's SeedSequence accepts."""
    return require_count("seed", seed, least=0)


@contextmanager
def deaf_children() -> Iterator[None]:
    """Start processes that never see Ctrl-C; pressed meanwhile, it arrives here afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # the trackers of resources let Ctrl-C through again when they start: so they start before
    for name in TRACKERS:
        import_module(name).ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
