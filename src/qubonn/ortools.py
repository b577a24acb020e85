"""CP-SAT of OR-tools: the one file that imports ortools.

Model -> Solved.  Ctrl-C stops a search and keeps what it found. CP-SAT's own way to do that leaves
Python without its handler of Ctrl-C, so that the next one would kill the process; it is not used.
"""

from dataclasses import dataclass
from threading import Event, Thread
from typing import Any

from qubonn.errors import MissingExtra

LEAST_SECONDS = 1e-3
STOPPING_SECONDS = 0.05  # between two requests to stop: the first may come before the search began


@dataclass(frozen=True, eq=False)
class Solved:
    """A solver that has run: `status` is one of cp_model's, values are asked of `solver`."""

    solver: Any
    status: Any
    is_interrupted: bool  # by Ctrl-C; the status is that of the best so far


def cp_model_for(who: str) -> Any:
    """Return the module ``ortools.sat.python.cp_model``, or say what `who` needs installed."""
    try:
        from ortools.sat.python import cp_model
    except ImportError:
        raise MissingExtra.of(who, "ortools", "exact") from None
    return cp_model


def is_installed() -> bool:
    """Whether ortools can be imported."""
    try:
        cp_model_for("")
    except MissingExtra:
        return False
    return True


def solve(model: Any, *, seed: int, worker_count: int = 1, seconds: float | None = None) -> Solved:
    """Run CP-SAT on a model; with one worker the same seed gives the same answer."""
    solver = cp_model_for("solve").CpSolver()
    solver.parameters.num_workers = worker_count
    solver.parameters.random_seed = seed % 2**31
    solver.parameters.catch_sigint_signal = False
    if seconds is not None:
        solver.parameters.max_time_in_seconds = max(seconds, LEAST_SECONDS)
    search = _Search(solver, model)
    search.start()
    is_interrupted = False
    try:
        search.wait()
    except KeyboardInterrupt:
        is_interrupted = True
        while not search.is_over.wait(STOPPING_SECONDS):
            solver.stop_search()
    return Solved(solver, search.status(), is_interrupted)


class _Search(Thread):
    """One search; Python's main thread stays free to hear Ctrl-C."""

    def __init__(self, solver: Any, model: Any) -> None:
        super().__init__(daemon=True)
        self.solver, self.model = solver, model
        self.is_over = Event()  # Thread.join, once interrupted, takes the thread for dead
        self.found: Any = None
        self.error: BaseException | None = None

    def run(self) -> None:
        """Solve, and keep what comes of it."""
        try:
            self.found = self.solver.solve(self.model)
        except BaseException as error:  # told to the thread that waits
            self.error = error
        finally:
            self.is_over.set()

    def wait(self) -> None:
        """Wait in pieces: on some systems Ctrl-C is heard only between them."""
        while not self.is_over.wait(1.0):
            pass

    def status(self) -> Any:
        """Return how the search ended, or raise what it raised."""
        if self.error is not None:
            raise self.error
        return self.found
