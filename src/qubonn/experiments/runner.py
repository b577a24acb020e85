"""Do the missing runs of a study, and commit each as it ends.

Study, runs, store -> a full store.  joblib hands the runs to processes of this machine or to a Dask
cluster; this process alone writes.  `watching` shows the progress.
"""

import asyncio
import os
import signal
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from qubonn.checks import require_count
from qubonn.errors import MissingExtra, QubonnError, RangeError
from qubonn.experiments.store import Row, Store, versions
from qubonn.experiments.study import PREPARATION, Record, Run, Study, canonical
from qubonn.stopping import deaf_children

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task

MOST_LOSSES = 5  # of workers, with no run finished in between
CONNECT_SECONDS = 30
LOST_SECONDS = 120.0  # that a lost worker has to restart; a cluster without any is then given up
REPORT_SECONDS = 0.2  # between two reports of progress
LINE_SECONDS = 30.0  # between two lines where there is no terminal
PACE_SECONDS = 60.0  # over which runs a second are measured
PARENT_SECONDS = 1.0  # between two checks that the parent process is alive
DEAD = "; is there too little memory? Finished runs are kept: the same command continues"

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
    """Do the runs that are not in the store yet; return their count.

    `parallel` comes from `workers`. Whatever ends this early, committed rows stay, and the next
    call continues from there.
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
    """Yield a report function for `complete`: bars on a terminal, an occasional line elsewhere.

    `totals` are the numbers of runs by label of the study, `already` those that were done before.
    """
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TextColumn("{task.completed:,.0f}/{task.total:,.0f}"),
        TextColumn("{task.fields[rest]}"),
    )
    is_terminal = console.is_terminal
    bars = Progress(
        *columns, console=console, speed_estimate_period=PACE_SECONDS, disable=not is_terminal
    )
    with ExitStack() as shown:
        if is_terminal:  # elsewhere Rich before 15 ends with an empty line
            shown.enter_context(bars)
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


@dataclass
class _Work:
    """One call of `complete`."""

    study: Study
    store: Store
    runs: Sequence[Run]
    parallel: Any
    report: Callable[[Status], None]
    reported: float = 0.0  # when progress was last reported

    def __post_init__(self) -> None:
        rows = (*self.store.preparations().values(), *self.store.rows())
        self.records = {row.run.key: row.record for row in rows}
        self.wanted = {run.key for run in self.runs}

    def do(self, runs: Sequence[Run]) -> int:
        """Do the missing runs, with new workers where some were lost; return their count."""
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        missing = self._missing(runs)
        count, losses = len(missing), 0
        while missing:
            before = len(missing)
            try:
                self._stream(missing)
                break
            except TerminatedWorkerError as error:
                missing = self._missing(runs)
                losses = losses + 1 if len(missing) == before else 1
                if losses > MOST_LOSSES:
                    raise QubonnError(f"workers died {losses} times in a row{DEAD}") from error
        return count

    def tell(self, *, is_due: bool = False) -> None:
        """Report progress, unless the last report was a moment ago."""
        if not is_due and time.monotonic() - self.reported < REPORT_SECONDS:
            return
        self.reported = time.monotonic()
        study, done = self.study, self.wanted & self.records.keys()
        values = [self.records[key].get(study.watched) for key in done]
        known = [value for value in values if value is not None]
        prepared = {text for text, number in self.records if number == PREPARATION}
        settings = {text for text, _ in self.wanted} if study.needs_preparation else set()
        counts = len(done), len(self.wanted), len(settings - prepared)
        mean = sum(known) / len(known) if known else None
        self.report(Status(study.label, *counts, study.watched, max(known, default=None), mean))

    def _missing(self, runs: Sequence[Run]) -> list[Run]:
        return [run for run in runs if run.key not in self.records]

    def _stream(self, runs: Sequence[Run]) -> None:
        """Commit each run as it ends; stop the workers whatever ends this early."""
        from joblib import delayed

        parent = os.getpid()
        prepared = (self.records.get((canonical(run.setting), PREPARATION), {}) for run in runs)
        calls = zip(runs, prepared, strict=True)
        with deaf_children():
            rows = self.parallel(delayed(task)(self.study, *call, parent) for call in calls)
        try:
            for row in rows:
                self.store.add(row)
                self.records[row.run.key] = row.record
                self.tell()
        finally:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UserWarning)  # that runs in flight are cancelled
                rows.close()


def task(study: Study, run: Run, prepared: Record, parent: int) -> Row:
    """Do one run, in this process or in a worker."""
    if os.getppid() == parent and threading.current_thread() is threading.main_thread():
        _begin_worker(parent)
    with _one_at_a_time:
        start, seed = time.perf_counter(), study.seed_of(run)
        if run.number == PREPARATION:
            record = study.prepare(run.setting, seed)
        else:
            record = study.perform(run.setting, seed, prepared)
        return Row(run, seed, record, time.perf_counter() - start, versions())


@cache  # once a process
def _begin_worker(parent: int) -> None:
    """Leave Ctrl-C to the parent, and end when it ends, even by kill -9."""
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
        import dask
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
            patience = {"distributed.deploy.lost-worker-timeout": f"{LOST_SECONDS} s"}
            opened.enter_context(dask.config.set(patience))
            given = opened.enter_context(distributed.LocalCluster(processes=True, **options))
        try:
            client = distributed.Client(given, timeout=CONNECT_SECONDS)
        except (OSError, ValueError) as error:
            raise QubonnError(f"no Dask scheduler answers at {address}: {error}") from error
        yield opened.enter_context(client)


def _dask_backend(client: Any) -> Any:
    """Return joblib's Dask backend without three of its traps.

    It waits forever for a run that Dask gave up, or for workers if all are lost, and does the runs
    of a single worker in this process.
    """
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(int(super().effective_n_jobs(n_jobs)), 2)

        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: done.exception() and callback(done.exception()))
            return future

        async def _collect(self) -> None:
            """Collect results; fail the pending runs if that fails or no worker is left."""
            collecting = asyncio.ensure_future(super()._collect())
            last_seen = time.monotonic()
            with suppress(OSError):  # the scheduler is gone
                while not collecting.done() and time.monotonic() - last_seen < LOST_SECONDS:
                    await asyncio.wait({collecting}, timeout=1)
                    if await self.client.scheduler.ncores():
                        last_seen = time.monotonic()
            lost = RuntimeError("no worker is left, or its scheduler does not answer")
            if error := collecting.exception() if collecting.done() else lost:
                collecting.cancel()
                for future in list(self._results.values()):
                    future.set_exception(error)

        def retrieve_result_callback(self, out: Any) -> Any:
            if isinstance(out, BaseException):  # what a run raises comes back wrapped
                raise QubonnError(f"workers of the cluster died: {out}{DEAD}") from out
            return super().retrieve_result_callback(out)

    return Backend(client=client)
