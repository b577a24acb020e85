"""Threads: share work among Python's, or set the number that Numba's kernels may use.

Predictions run inside other programs' servers and worker processes, where Numba's own threads may
serve only one caller at a time, or not survive a fork. So `share` starts Python threads that end
with the call, for kernels that release the GIL.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from threading import Event, Thread

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
    threads as cores, and None means as many; the calling thread is one of them. After an error or
    Ctrl-C the pieces that are running are finished, and no others are started.
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
        for helper in helpers:
            helper.start()
        take(0)
    except BaseException as error:  # Ctrl-C between the pieces
        errors.append(error)
    for helper, end in zip(helpers, ends[1:], strict=True):
        if helper.ident is not None:  # else Ctrl-C came before it began
            _wait_for(end, errors)
    if errors:
        raise errors[0]


def most_threads(thread_count: int | None) -> int:
    """Return a number of threads, at most one for each core; None means all."""
    most: int = numba.config.NUMBA_NUM_THREADS
    return min(thread_count or most, most)


def run_together(works: Sequence[Callable[[], None]]) -> None:
    """Run each in a thread of its own, none before all have started: they wait for each other.

    Ctrl-C is raised when all have ended; only this thread, which does not work, is interrupted.
    """
    gate, errors, ends = Event(), list[BaseException](), [Event() for _ in works]
    is_cancelled = False

    def run(work: Callable[[], None], end: Event) -> None:
        gate.wait()
        try:
            if not is_cancelled:
                work()
        except BaseException as error:
            errors.append(error)
        finally:
            end.set()

    helpers = [Thread(target=run, args=one) for one in zip(works, ends, strict=True)]
    try:
        for helper in helpers:
            helper.start()
    except BaseException as error:  # Ctrl-C, or no more threads
        errors.append(error)
        is_cancelled = True
    for helper, end in zip(helpers, ends, strict=True):
        if helper.ident is not None:
            _wait_for(end, errors, gate)
    if errors:
        raise errors[0]


def _wait_for(end: Event, errors: list[BaseException], gate: Event | None = None) -> None:
    """Wait for a thread even after Ctrl-C, because it still writes to the caller's arrays.

    Before that, open the gate at which it waits.

    Not by `join`: once interrupted, it assumes that the thread has ended (CPython 3.11), and it
    refuses a thread whose start was interrupted.
    """
    while not end.is_set():
        try:
            if gate is not None:
                gate.set()
            end.wait()
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
