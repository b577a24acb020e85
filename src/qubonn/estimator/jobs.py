"""Jobs of joblib that Ctrl-C stops with what they have.

Tasks -> results, in the order in which they end.  Ctrl-C on a terminal goes to all processes: the
workers ignore it from their first moment on.  This process then asks them to stop, by a file that
they look for, and still gets the best so far of each.  A second Ctrl-C, or workers on another
machine that do not see the file, end everything at once.
"""

import os
import signal
import tempfile
import threading
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import Any

from joblib import Parallel, effective_n_jobs, parallel_config

from qubonn.stopping import Progress, deaf_children

PATIENCE_SECONDS = 10.0  # for results after Ctrl-C


class Interruption:
    """Whether Ctrl-C was pressed, also as seen by worker processes on this machine."""

    def __init__(self, path: str | None = None) -> None:
        self.path = path

    @property
    def is_set(self) -> bool:
        """Whether jobs should stop."""
        return self.path is not None and os.path.exists(self.path)

    def report(self, _: Progress) -> bool:
        """Tell a solver whether to stop; see `qubonn.stopping.Report`."""
        return self.is_set


def in_threads(n_jobs: int | None) -> AbstractContextManager[Any]:
    """Let jobs be threads of this process, one for each core, unless a number of jobs is given."""
    from numba import config  # slow to import; fewer threads in workers of joblib

    if n_jobs is not None or effective_n_jobs(None) > 1 or config.NUMBA_NUM_THREADS == 1:
        return nullcontext()
    threads: AbstractContextManager[Any] = parallel_config(
        "threading", n_jobs=config.NUMBA_NUM_THREADS
    )
    return threads


@contextmanager
def interruption(n_jobs: int | None) -> Iterator[Interruption]:
    """Yield what several jobs stop by; with one job, Ctrl-C is an ordinary KeyboardInterrupt."""
    handler = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if effective_n_jobs(n_jobs) == 1 or not is_main or not callable(handler):
        yield Interruption()
        return
    with tempfile.TemporaryDirectory(prefix="qubonn-") as folder:
        flag, timers = Path(folder, "stop"), list[threading.Timer]()

        def ask_to_stop(number: int, frame: Any) -> None:
            if flag.exists():
                handler(number, frame)  # which raises KeyboardInterrupt
            flag.touch()
            timer = threading.Timer(PATIENCE_SECONDS, os.kill, (os.getpid(), signal.SIGINT))
            timer.daemon = True
            timer.start()
            timers.append(timer)

        signal.signal(signal.SIGINT, ask_to_stop)
        try:
            yield Interruption(str(flag))
        finally:
            signal.signal(signal.SIGINT, handler)
            for timer in timers:
                timer.cancel()


def results_of(tasks: Iterable[Any], n_jobs: int | None, stop: Interruption) -> Iterator[Any]:
    """Yield the results of tasks as they end; no further tasks are begun once jobs should stop."""
    tasks = iter(tasks)
    first = list(islice(tasks, 1))  # which may compile and measure
    rest = (task for task in tasks if not stop.is_set)
    with deaf_children():
        results = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(chain(first, rest))
    yield from results
    if stop.is_set:
        raise KeyboardInterrupt
