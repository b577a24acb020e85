"""StoppingContract: when samplers and engines stop early, and what they then return.

Time limit, target energy, report or Ctrl-C -> the results so far, and why the run stopped.
"""

import signal
import time
from typing import Any, ClassVar

import numpy as np

from qubonn.stopping import Progress, Stop


class StoppingContract:
    """The tests that samplers and engines share; a subclass runs its solver in `run_long`."""

    has_seed = True  # the same seed gives the same results
    slack_seconds = 1.5  # that a time limit may be overrun
    result: ClassVar[str]  # the attribute that the same seed must repeat
    target_energy: ClassVar[float]  # that a long run soon reaches

    def run_long(self, **options: Any) -> Any:
        """Return checked samples or solutions; raise SkipTest without a setting for a long run."""
        raise NotImplementedError

    def test_it_stops_when_the_time_is_up(self) -> None:
        self.run_long(time_limit=1e-3)  # compile first
        start = time.perf_counter()
        found = self.run_long(time_limit=0.2)
        assert time.perf_counter() - start < 0.2 + self.slack_seconds
        assert found.stop is Stop.TIME_LIMIT

    def test_it_stops_at_the_target_and_repeats_itself(self) -> None:
        options = {"seed": 1, "target_energy": self.target_energy, "time_limit": 60}
        first = self.run_long(**options)
        assert first.stop is Stop.TARGET
        assert first.energies[0] <= self.target_energy
        if self.has_seed:
            second = self.run_long(**options)
            assert np.array_equal(getattr(first, self.result), getattr(second, self.result))

    def test_it_reports_progress_and_stops_when_the_report_says_so(self) -> None:
        """Parts rise, and no returned energy is worse than the best that was reported."""
        seen: list[Progress] = []

        def report(progress: Progress) -> bool:
            seen.append(progress)
            return len(seen) == 3

        found = self.run_long(report=report, time_limit=60)
        assert found.stop is Stop.INTERRUPTED
        assert len(seen) == 3
        assert [step.part for step in seen] == sorted(step.part for step in seen)
        assert found.energies[0] <= min(step.best_energy for step in seen) + 1e-6

    def test_it_returns_what_it_has_on_ctrl_c(self) -> None:
        """The signal comes while the run reports its progress."""

        def press_ctrl_c(progress: Progress) -> None:
            signal.raise_signal(signal.SIGINT)

        assert self.run_long(report=press_ctrl_c, time_limit=60).stop is Stop.INTERRUPTED
