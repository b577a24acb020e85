"""Progress of studies for people who wait: bars on a terminal, a line now and then elsewhere.

Status -> what is seen.
"""

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from qubonn.experiments.runner import Status

LINE_SECONDS = 30.0  # between two lines where there is no terminal
PACE_SECONDS = 60.0  # over which runs a second are measured


class Pace:
    """Runs a second and seconds left, from the last minute."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._seen: deque[tuple[float, int]] = deque()

    def add(self, done: int) -> None:
        """Tell how many runs are done by now."""
        now = self._clock()
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[0][0] > PACE_SECONDS:
            self._seen.popleft()

    @property
    def runs_a_second(self) -> float:
        """Zero while nothing is known."""
        if len(self._seen) < 2:
            return 0.0
        (start, first), (end, last) = self._seen[0], self._seen[-1]
        return (last - first) / (end - start) if end > start else 0.0

    def seconds_left(self, missing: int) -> float | None:
        """Seconds until so many more runs are done, if there is a pace."""
        rate = self.runs_a_second
        return missing / rate if rate > 0 else None


@contextmanager
def watching(
    console: Console, totals: Mapping[str, int], already: Mapping[str, int]
) -> Iterator[Callable[[Status], None]]:
    """Show progress while the block runs; give its report function to `complete`.

    `totals` are the runs wanted of each study by label, `already` those that were there before.
    """
    if console.is_terminal:
        with _bars(console, totals, already) as report:
            yield report
    else:
        yield _lines(console, totals, already)


@contextmanager
def _bars(
    console: Console, totals: Mapping[str, int], already: Mapping[str, int]
) -> Iterator[Callable[[Status], None]]:
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        TextColumn("{task.fields[rest]}"),
    )
    paces = {label: Pace() for label in totals}
    overall = Pace()
    with Progress(*columns, console=console) as bar:
        whole = bar.add_task("all", total=sum(totals.values()), rest="", visible=len(totals) > 1)
        done = dict(already)
        tasks = {
            label: bar.add_task(label, total=total, completed=done[label], rest="")
            for label, total in totals.items()
        }

        def report(status: Status) -> None:
            label = status.study.label
            done[label] = status.done
            paces[label].add(status.done)
            overall.add(sum(done.values()))
            rest = f"{_pace(paces[label], status.total - status.done)}  {_so_far(status)}"
            bar.update(tasks[label], completed=status.done, total=status.total, rest=rest)
            missing = sum(totals.values()) - sum(done.values())
            bar.update(whole, completed=sum(done.values()), rest=_pace(overall, missing))

        yield report


def _lines(
    console: Console, totals: Mapping[str, int], already: Mapping[str, int]
) -> Callable[[Status], None]:
    pace, done = Pace(), dict(already)
    told: dict[str, float] = {}  # when a study was last told of

    def report(status: Status) -> None:
        label, now = status.study.label, time.monotonic()
        is_new = status.done != done[label]
        done[label] = status.done
        pace.add(sum(done.values()))
        is_due = now - told.get(label, -LINE_SECONDS) >= LINE_SECONDS
        if not is_due and not (is_new and status.done == status.total):
            return
        told[label] = now
        missing = sum(totals.values()) - sum(done.values())
        console.print(
            f"{label}: {status.done:,} of {status.total:,} runs; all: {sum(done.values()):,} of "
            f"{sum(totals.values()):,}, {_pace(pace, missing)}; {_so_far(status)}",
            soft_wrap=True,
            highlight=False,
        )

    return report


def _pace(pace: Pace, missing: int) -> str:
    left = pace.seconds_left(missing)
    if missing == 0:
        return "done"
    return (
        "no pace yet" if left is None else f"{pace.runs_a_second:.1f} runs/s, {duration(left)} left"
    )


def _so_far(status: Status) -> str:
    tuning = f"temperatures of {status.untuned} settings to tune" if status.untuned else ""
    if status.mean is None:
        return tuning or "starting"
    found = f"test accuracy: best {status.best:.3f}, mean {status.mean:.3f}"
    return f"{found}; {tuning}" if tuning else found


def duration(seconds: float) -> str:
    """Say a time as people do.

    >>> duration(5), duration(75), duration(7_500)
    ('5 s', '1 min 15 s', '2 h 5 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
