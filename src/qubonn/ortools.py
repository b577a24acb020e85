"""CP-SAT of OR-tools: the one file that imports ortools.

Model -> Solved.  Ctrl-C stops a search and keeps what it found. CP-SAT's own handling of Ctrl-C
removes Python's handler, so that the next one would kill the process; it is switched off.
"""

from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from typing import Any

from qubonn.errors import MissingExtra

LEAST_SECONDS = 1e-3
STOPPING_SECONDS = 0.05  # between two requests to stop: the first may come before the search began


@dataclass(frozen=True, eq=False)
class Solved:
    """A solver that has run: `status` is one of cp_model's, `solver` has the values."""

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
    pool = ThreadPoolExecutor(max_workers=1)  # Python's main thread stays free for Ctrl-C
    search = pool.submit(solver.solve, model)
    pool.shutdown(wait=False)
    is_interrupted = False
    while not search.done():
        try:
            # in pieces: on some systems Ctrl-C is handled only between them
            wait([search], timeout=STOPPING_SECONDS if is_interrupted else 1.0)
        except KeyboardInterrupt:
            if is_interrupted:
                raise
            is_interrupted = True
        if is_interrupted:
            solver.stop_search()
    return Solved(solver, search.result(), is_interrupted)
