"""How many threads Numba may use for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import numba


@contextmanager
def threads(thread_count: int | None) -> Iterator[int]:
    """Let Numba use so many threads, at most as many as there are cores; None means all."""
    before = numba.get_num_threads()
    most = numba.config.NUMBA_NUM_THREADS
    numba.set_num_threads(min(thread_count or most, most))
    try:
        yield numba.get_num_threads()
    finally:
        numba.set_num_threads(before)
