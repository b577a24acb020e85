"""Threads: share work among Python's, or set the number that Numba's kernels may use.

Predictions run inside other programs' servers and worker processes, where Numba's own threads may
serve only one caller at a time, or not survive a fork. So `share` starts Python threads that end
with the call, for kernels that release the GIL.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import compress, count
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

import numba

PIECES_PER_THREAD = 4  # so that threads end together, and Ctrl-C is handled soon


def share(
    work: Callable[[int, int, int], None],
    item_count: int,
    thread_count: int | None = None,
    *,
    most_at_once: int | None = None,
) -> None:
    """Call ``work(first, end, thread)`` on pieces of `item_count` items, each once.

    Idle threads start the next piece, of at most `most_at_once` items. There are at most as many
    threads as cores, and None means as many; the calling thread is one of them. There are fewer
    if the system allows no more. After an error or Ctrl-C the pieces that are running are finished,
    and no others are started.
    """
    thread_count = min(most_threads(thread_count), max(item_count, 1))
    piece_count = min(thread_count * PIECES_PER_THREAD, item_count)
    piece_count = max(piece_count, -(-item_count // (most_at_once or max(item_count, 1))))
    pieces, ends = count(), [Event() for _ in range(thread_count)]
    errors: list[BaseException] = []

    def take(thread: int) -> None:
        try:
            while not errors and (piece := next(pieces)) < piece_count:
                first, end = (item_count * part // piece_count for part in (piece, piece + 1))
                work(first, end, thread)
        except BaseException as error:  # raised again by the caller
            errors.append(error)
        finally:
            ends[thread].set()

    helpers = [Thread(target=take, args=(number,)) for number in range(1, thread_count)]
    try:
        with suppress(RuntimeError):  # no more threads
            for helper in helpers:
                helper.start()
        take(0)
    except BaseException as error:  # Ctrl-C between the pieces
        errors.append(error)
    begun = [helper.ident is not None for helper in helpers]
    _wait_for(list(compress(ends[1:], begun)), errors)
    if errors:
        raise errors[0]


def most_threads(thread_count: int | None) -> int:
    """Return a number of threads, at most one for each core; None means all."""
    most: int = numba.config.NUMBA_NUM_THREADS
    return min(thread_count or most, most)


class Crew:
    """Threads that do one piece of work after another; the calling thread is one of them.

    There are fewer if the system allows no more.

    >>> with Crew(2) as crew:
    ...     found = [0] * crew.size
    ...     crew.run(lambda rank: found.__setitem__(rank, 7))
    >>> set(found)
    {7}
    """

    def __init__(self, thread_count: int | None) -> None:
        self._most = most_threads(thread_count)
        self._helpers: list[tuple[SimpleQueue[Any], Event]] = []
        self._errors: list[BaseException] = []

    @property
    def size(self) -> int:
        """Return the number of threads."""
        return 1 + len(self._helpers)

    def __enter__(self) -> "Crew":
        try:
            with suppress(RuntimeError):  # no more threads
                for rank in range(1, self._most):
                    works, end = SimpleQueue[Any](), Event()
                    Thread(target=self._serve, args=(rank, works, end), daemon=True).start()
                    self._helpers.append((works, end))
        except BaseException:  # Ctrl-C
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for works, _end in self._helpers:
            works.put(None)

    def run(self, work: Callable[[int], object]) -> None:
        """Call ``work(rank)`` in every thread, and return when all have ended.

        Ctrl-C and errors are raised then.
        """
        ends = [end for _, end in self._helpers]
        try:
            for end in ends:
                end.clear()
            for works, _ in self._helpers:
                works.put(work)
            work(0)
        except BaseException as error:
            self._errors.append(error)
            for works, _ in self._helpers:  # some have no work if Ctrl-C came early
                works.put(lambda rank: None)
        _wait_for(ends, self._errors)
        if self._errors:
            raise self._errors[0]

    def _serve(self, rank: int, works: SimpleQueue[Any], end: Event) -> None:
        while (work := works.get()) is not None:
            try:
                work(rank)
            except BaseException as error:
                self._errors.append(error)
            finally:
                end.set()


def _wait_for(ends: Sequence[Event], errors: list[BaseException]) -> None:
    """Wait for threads even after Ctrl-C, because they still write to the caller's arrays.

    Not by `join`: once interrupted, it assumes that the thread has ended (CPython 3.11), and it
    refuses a thread whose start was interrupted.
    """
    while True:
        try:
            for end in ends:
                end.wait()
            return
        except BaseException as error:
            errors.append(error)


@contextmanager
def threads(thread_count: int | None) -> Iterator[int]:
    """Let Numba use `thread_count` threads, at most one for each core; None means all."""
    before = numba.get_num_threads()
    numba.set_num_threads(most_threads(thread_count))
    try:
        yield numba.get_num_threads()
    finally:
        numba.set_num_threads(before)
