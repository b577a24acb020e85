"""Do the runs of a study that are not done yet, and commit each as it ends.

Study, runs, store -> a full store.  joblib hands the runs to processes of this machine or to a Dask
cluster; this process alone writes.  `watching` shows the progress.
"""

import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from qubonn.checks import require_count
from qubonn.errors import MissingExtra, QubonnError, RangeError
from qubonn.experiments.store import Row, Store, versions
from qubonn.experiments.study import PREPARATION, Record, Run, Study, canonical

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task

MOST_LOSSES = 5  # of workers, with no run finished in between
CONNECT_SECONDS = 30
REPORT_SECONDS = 0.2  # between two reports of progress
LINE_SECONDS = 30.0  # between two lines where there is no terminal
PACE_SECONDS = 60.0  # over which runs a second are measured
PARENT_SECONDS = 1.0  # between two looks whether the parent process lives
DEAD = "; is there too little memory? What is finished is kept: the same command goes on from there"

_one_at_a_time = threading.Lock()  # a run uses one core, also where a cluster gives it more threads


@dataclass(frozen=True)
class Status:
    """Progress of a study: runs done and wanted, settings to prepare, the watched value so far."""

    label: str
    done: int
    total: int
    unprepared: int = 0
    watched: str = ""
    best: float | None = None
    mean: float | None = None


@contextmanager
def workers(jobs: int = 1, cluster: str | None = None) -> Iterator[Any]:
    """Yield a `joblib.Parallel` for `complete`: processes, or a Dask cluster.

    One job runs in this process. `cluster` is an address such as ``tcp://host:8786``, or
    ``local:N`` for N processes here; its workers need the same qubonn.
    """
    import joblib
    from joblib.externals.loky import get_reusable_executor

    require_count("jobs", jobs)
    options = {"return_as": "generator_unordered", "batch_size": 1}
    if cluster is not None:
        with _client(cluster) as client, joblib.parallel_config(backend=_dask_backend(client)):
            yield joblib.Parallel(n_jobs=-1, **options)
    elif jobs == 1:
        yield joblib.Parallel(n_jobs=1, **options)
    else:
        try:
            with joblib.parallel_config(backend="loky", inner_max_num_threads=1):
                yield joblib.Parallel(n_jobs=jobs, **options)
        finally:
            get_reusable_executor(reuse=True).shutdown(wait=True, kill_workers=True)


def complete(
    study: Study,
    store: Store,
    runs: Sequence[Run],
    parallel: Any,
    *,
    report: Callable[[Status], None] = lambda status: None,
) -> int:
    """Do those of the runs that the store has not; return their count.

    `parallel` comes from `workers`. Whatever ends this early, rows that are committed stay, and the
    next call goes on from there.
    """
    work = _Work(study, store, runs, parallel, report)
    work.tell(is_due=True)
    if study.needs_preparation:
        settings = {canonical(run.setting): run.setting for run in runs}
        work.do([Run(setting, PREPARATION) for setting in settings.values()])
    count = work.do(runs)
    work.tell(is_due=True)
    return count


@contextmanager
def watching(
    console: "Console", totals: Mapping[str, int], already: Mapping[str, int]
) -> Iterator[Callable[[Status], None]]:
    """Show progress while the block runs: bars on a terminal, a line now and then elsewhere.

    `totals` are the runs wanted of each study by label, `already` those that were done before.
    The block gives the report function to `complete`.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        TextColumn("{task.fields[rest]}"),
    )
    is_terminal = console.is_terminal
    with Progress(
        *columns, console=console, speed_estimate_period=PACE_SECONDS, disable=not is_terminal
    ) as bars:
        start = sum(already.values())
        whole = bars.add_task(
            "all", total=sum(totals.values()), completed=start, rest="", visible=len(totals) > 1
        )
        tasks = {
            label: bars.add_task(label, total=total, completed=already[label], rest="")
            for label, total in totals.items()
        }
        told: dict[str, float] = {}  # when a line was last printed for a study

        def report(status: Status) -> None:
            own, everything = bars.tasks[tasks[status.label]], bars.tasks[whole]
            is_new = status.done != own.completed
            bars.update(whole, advance=status.done - own.completed)
            bars.update(own.id, completed=status.done, total=status.total)
            bars.update(own.id, rest=f"{_pace(own)}  {_so_far(status)}")
            bars.update(whole, rest=_pace(everything))
            is_due = time.monotonic() - told.get(status.label, -LINE_SECONDS) >= LINE_SECONDS
            if not is_terminal and (is_due or (is_new and status.done == status.total)):
                told[status.label] = time.monotonic()
                console.print(
                    f"{status.label}: {status.done:,} of {status.total:,} runs; all: "
                    f"{everything.completed:,.0f} of {everything.total:,.0f}, "
                    f"{_pace(everything)}; {_so_far(status)}",
                    soft_wrap=True,
                    highlight=False,
                )

        yield report


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(5), duration(75), duration(7_500)
    ('5 s', '1 min 15 s', '2 h 5 min')
    """
    whole = int(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def _pace(task: "Task") -> str:
    if task.finished:
        return "done"
    if not task.speed or task.time_remaining is None:
        return "no pace yet"
    return f"{task.speed:.1f} runs/s, {duration(task.time_remaining)} left"


def _so_far(status: Status) -> str:
    waiting = f"{status.unprepared} settings to prepare" if status.unprepared else ""
    if status.mean is None:
        return waiting or ("starting" if status.done == 0 else "")
    name = status.watched.replace("_", " ")
    found = f"{name}: best {status.best:.3f}, mean {status.mean:.3f}"
    return f"{found}; {waiting}" if waiting else found


class _Work:
    """One call of `complete`."""

    def __init__(
        self,
        study: Study,
        store: Store,
        runs: Sequence[Run],
        parallel: Any,
        report: Callable[[Status], None],
    ) -> None:
        self.study, self.store, self.parallel, self.report = study, store, parallel, report
        self.prepared = {text: row.record for text, row in store.preparations().items()}
        self.done = {row.run.key: row.record for row in store.rows()}
        self.wanted = {run.key for run in runs}
        self.told = time.monotonic()

    def do(self, runs: Sequence[Run]) -> int:
        """Do what is missing, with new workers where some were lost."""
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        first = missing = self._missing(runs)
        losses = 0
        while missing:
            try:
                self._stream(missing)
            except TerminatedWorkerError as error:
                before, missing = len(missing), self._missing(runs)
                losses = losses + 1 if len(missing) == before else 1
                if losses > MOST_LOSSES:
                    raise QubonnError(f"workers died {losses} times in a row{DEAD}") from error
            else:
                missing = []
        return len(first)

    def tell(self, *, is_due: bool = False) -> None:
        """Report progress, if it is time."""
        if not is_due and time.monotonic() - self.told < REPORT_SECONDS:
            return
        self.told = time.monotonic()
        there = self.wanted & self.done.keys()
        values = [self.done[key].get(self.study.watched) for key in there]
        known = [value for value in values if value is not None]
        texts = {text for text, _ in self.wanted} if self.study.needs_preparation else set()
        self.report(
            Status(
                self.study.label,
                len(there),
                len(self.wanted),
                len(texts - self.prepared.keys()),
                self.study.watched,
                max(known, default=None),
                sum(known) / len(known) if known else None,
            )
        )

    def _missing(self, runs: Sequence[Run]) -> list[Run]:
        done = self.done.keys() | {(text, PREPARATION) for text in self.prepared}
        return [run for run in runs if run.key not in done]

    def _stream(self, runs: Sequence[Run]) -> None:
        from joblib import delayed

        prepared, parent = self.prepared, os.getpid()
        calls = (
            delayed(task)(self.study, run, prepared.get(canonical(run.setting), {}), parent)
            for run in runs
        )
        with _stopping(self.parallel(calls)) as rows:
            for row in rows:
                self.store.add(row)
                if row.run.number == PREPARATION:
                    self.prepared[canonical(row.run.setting)] = row.record
                else:
                    self.done[row.run.key] = row.record
                self.tell()


@contextmanager
def _stopping(rows: Any) -> Iterator[Any]:
    """Stop the workers whatever ends the block; that runs in flight are cancelled is no news."""
    try:
        yield rows
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            rows.close()


def task(study: Study, run: Run, prepared: Record, parent: int) -> Row:
    """Do one run, in whatever process this is."""
    if os.getppid() == parent and threading.current_thread() is threading.main_thread():
        _begin_worker(parent)
    with _one_at_a_time:
        start, seed = time.perf_counter(), study.seed_of(run)
        if run.number == PREPARATION:
            record = study.prepare(run.setting, seed)
        else:
            record = study.perform(run.setting, seed, prepared)
        return Row(run, seed, record, time.perf_counter() - start, versions())


def _begin_worker(parent: int, begun: list[int] = []) -> None:  # noqa: B006 - once a process
    """Leave Ctrl-C to the parent, and end when it ends, even by kill -9."""
    if begun:
        return
    begun.append(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def end_with_parent() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_SECONDS)
        os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


@contextmanager
def _client(address: str) -> Iterator[Any]:
    """Connect to a Dask cluster, or start one here."""
    try:
        import distributed
    except ImportError as error:
        raise MissingExtra.of("--cluster", "distributed", "distributed") from error
    with ExitStack() as opened:
        given: Any = address
        if address.startswith("local:"):
            count = address.removeprefix("local:")
            if not count.isdecimal() or int(count) < 1:
                raise RangeError(
                    f"--cluster must be an address or local:N with N workers; got {address!r:.60}"
                )
            options = {"n_workers": int(count), "threads_per_worker": 1, "dashboard_address": ":0"}
            given = opened.enter_context(distributed.LocalCluster(processes=True, **options))
        try:
            client = distributed.Client(given, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise QubonnError(f"no Dask scheduler answers at {address}: {error}") from error
        yield opened.enter_context(client)


def _dask_backend(client: Any) -> Any:
    """Return joblib's Dask backend without two of its traps.

    It waits forever for a run that Dask gave up, and does the runs of a single worker in this
    process.
    """
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(int(super().effective_n_jobs(n_jobs)), 2)

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: done.exception() and callback(done.exception()))
            return future

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):  # what a run raises comes back wrapped
                raise QubonnError(f"workers of the cluster died: {out}{DEAD}") from out
            return super().retrieve_result_callback(out)

    return Backend(client=client)
