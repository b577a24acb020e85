import signal
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise

import pytest

from qubonn.errors import RangeError
from qubonn.stopping import Progress, Stop, Watch, deaf_children, finished, require_seed


@dataclass(frozen=True)
class Found:
    """What a run found."""

    network: object
    stop: Stop = Stop.FINISHED


def test_work_is_done_in_slices_that_cover_every_step_once() -> None:
    slices = Watch().slices(range(3, 50))
    assert [step for start, end in slices for step in range(start, end)] == list(range(3, 50))


def test_a_target_is_looked_for_at_the_same_steps_whatever_the_clock_says() -> None:
    watch = Watch(target_energy=-40)
    ends = [end for _, end in watch.slices(range(40), 7)]
    assert ends == [7, 14, 21, 28, 35, 40]


def test_without_a_target_slices_start_small_and_grow_by_at_most_eight() -> None:
    for watch in (Watch(), Watch(target_energy=0)):
        slices = watch.slices(range(100_000), 7, is_estimate=True)
        sizes = [end - start for start, end in slices]
        assert sizes[0] == 1
        assert all(after <= 8 * before for before, after in pairwise(sizes))


def test_an_estimate_reaches_no_target() -> None:
    watch = Watch(target_energy=0)
    assert watch.verdict(0.5, -1, is_estimate=True) is None
    assert watch.verdict(0.5, -1) is Stop.TARGET


def test_rounding_does_not_keep_a_target_from_being_reached() -> None:
    assert Watch(target_energy=0.3).is_reached_by(0.1 + 0.2)
    assert not Watch(target_energy=0.3).is_reached_by(0.31)
    assert not Watch().is_reached_by(-1e300)


def test_a_report_sees_the_progress_and_may_stop_the_run() -> None:
    seen: list[Progress] = []

    def report(progress: Progress) -> bool:
        seen.append(progress)
        return True

    watch = Watch(report=report)
    assert watch.needs_energies
    assert watch.verdict(0.25, 3) is Stop.INTERRUPTED
    assert (seen[0].part, seen[0].best_energy) == (0.25, 3.0)
    assert seen[0].seconds >= 0
    assert watch.verdict(1, 3) is None  # finished is finished


def test_the_time_limit_ends_work_that_is_not_done() -> None:
    watch = Watch(time_limit=1e-9)
    assert watch.verdict(0.5, 0) is Stop.TIME_LIMIT
    assert watch.verdict(1, 0) is None
    assert Watch().seconds_left == float("inf")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"time_limit": 0}, "time_limit must be a positive number of seconds; got 0"),
        ({"target_energy": float("nan")}, "target_energy must be a finite number; got nan"),
        ({"target_energy": "low"}, "target_energy must be a finite number; got 'low'"),
    ],
)
def test_bad_options_are_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(RangeError, match=message):
        Watch(**options)  # type: ignore[arg-type]


def test_ctrl_c_in_the_last_part_of_a_run_loses_nothing() -> None:
    outcomes = iter([KeyboardInterrupt, "network"])

    def work() -> Found:
        outcome = next(outcomes)
        if outcome is KeyboardInterrupt:
            raise KeyboardInterrupt
        return Found(outcome)

    assert finished(work) == Found("network", Stop.INTERRUPTED)
    assert finished(lambda: Found("network")) == Found("network", Stop.FINISHED)


def test_a_seed_is_a_whole_number_from_0() -> None:
    assert require_seed(2**70) == 2**70
    with pytest.raises(RangeError, match="seed must be at least 0; got -1"):
        require_seed(-1)


def test_processes_started_meanwhile_never_see_ctrl_c() -> None:
    program = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    command = [sys.executable, "-c", program]
    with deaf_children():
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout == "True\n"
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, [])
