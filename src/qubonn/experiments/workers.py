"""Workers: who does the runs. Processes of this machine here; a Dask cluster in cluster.py.

Function and arguments -> future.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Protocol

from qubonn.checks import require_count

ONE_THREAD = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


class WorkersLost(Exception):
    """Workers died under a run; the run can be given to new ones."""


class Workers(Protocol):
    """Anything that does runs; leaves nothing behind when closed."""

    def capacity(self) -> int:
        """How many runs to keep going at a time."""
        ...

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Start a run; the future raises WorkersLost if its worker died."""
        ...

    def restart(self) -> None:
        """Replace workers that were lost."""
        ...

    def close(self) -> None:
        """Stop at once, whatever is still going."""
        ...


class InThisProcess:
    """No workers: each run is done when it is submitted. For one core, and for debuggers."""

    def capacity(self) -> int:
        """One at a time."""
        return 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Do it now."""
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future

    def restart(self) -> None:
        """Nothing can be lost."""

    def close(self) -> None:
        """Nothing is going."""


class LocalProcesses:
    """Processes of this machine, one core each; they end when this process ends, however it does.

    Ctrl-C is this process's affair: workers do not hear it.
    """

    def __init__(self, count: int) -> None:
        self._count = require_count("jobs", count)
        self._pool = _pool(count)

    def capacity(self) -> int:
        """One run for each worker and one that waits, so that none is idle."""
        return self._count + 1

    def submit(self, function: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        """Start a run in some process."""
        try:
            inner = self._pool.submit(function, *arguments)
        except BrokenProcessPool as error:
            raise WorkersLost("a worker process died") from error
        future: Future[Any] = Future()
        inner.add_done_callback(lambda done: _pass_on(done, future))
        return future

    def restart(self) -> None:
        """Start new processes."""
        self.close()
        self._pool = _pool(self._count)

    def close(self) -> None:
        """End the processes at once."""
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.kill()
        for process in processes:
            process.join()


def core_count() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _pool(count: int) -> ProcessPoolExecutor:
    return ProcessPoolExecutor(
        count,
        mp_context=multiprocessing.get_context("spawn"),  # a fork would copy Numba's threads
        initializer=_begin,
    )


def _begin() -> None:
    """Make a fresh worker process one core wide, deaf to Ctrl-C, and mortal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in ONE_THREAD:
        os.environ[name] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()  # comes back when it is gone, however it went
        os._exit(1)


def _pass_on(done: "Future[Any]", future: "Future[Any]") -> None:
    if done.cancelled():
        future.cancel()
        return
    error = done.exception()
    if isinstance(error, BrokenProcessPool):
        future.set_exception(WorkersLost("a worker process died"))
    elif error is not None:
        future.set_exception(error)
    else:
        future.set_result(done.result())
