"""Every item is worked on once, whatever the number of threads; errors come back."""

import signal
import time
from itertools import count
from threading import Event, Thread, get_ident

import pytest

from qubonn.simd import threads
from qubonn.simd.threads import Crew, share


@pytest.mark.parametrize("thread_count", [None, 1, 2, 3])
@pytest.mark.parametrize("item_count", [0, 1, 2, 7, 8, 9, 100])
def test_every_item_is_worked_on_once(item_count: int, thread_count: int | None) -> None:
    done: list[int] = []
    share(lambda first, end, _: done.extend(range(first, end)), item_count, thread_count)
    assert sorted(done) == list(range(item_count))


@pytest.mark.parametrize("item_count", [0, 1, 7, 100])
def test_pieces_are_no_larger_than_allowed(item_count: int) -> None:
    sizes: list[int] = []
    share(lambda first, end, _: sizes.append(end - first), item_count, 2, most_at_once=3)
    assert sum(sizes) == item_count
    assert max(sizes, default=0) <= 3


def test_one_thread_is_the_caller_and_goes_in_order() -> None:
    seen: list[tuple[int, int, int]] = []
    share(lambda first, end, thread: seen.append((first, thread, get_ident())), 8, 1)
    assert [first for first, _, _ in seen] == [0, 2, 4, 6]
    assert {(thread, ident) for _, thread, ident in seen} == {(0, get_ident())}


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("thread_count", [1, 2])
def test_an_error_ends_the_work_and_comes_back(
    error: type[BaseException], thread_count: int
) -> None:
    done: list[int] = []

    def work(first: int, end: int, thread: int) -> None:
        done.append(first)
        raise error("stop")

    with pytest.raises(error, match="stop"):
        share(work, 100, thread_count)
    assert len(done) <= thread_count


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signals here")
def test_an_interrupt_while_waiting_for_other_threads_lets_them_end() -> None:
    caller, is_caller_waiting, ended = get_ident(), Event(), []

    def work(first: int, end: int, thread: int) -> None:
        if get_ident() == caller:
            is_caller_waiting.wait(10)
            return
        is_caller_waiting.set()
        time.sleep(0.1)  # now the caller has no more to do
        signal.pthread_kill(caller, signal.SIGINT)
        time.sleep(0.2)
        ended.append(first)

    with pytest.raises(KeyboardInterrupt):
        share(work, 2, 2)
    assert len(ended) == 1


@pytest.fixture
def no_more_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the system allow one more thread only."""
    start, places = Thread.start, count()

    def refused(thread: Thread) -> None:
        if next(places):
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threads, "most_threads", lambda wanted: wanted or 4)
    monkeypatch.setattr(Thread, "start", refused)


@pytest.mark.usefixtures("no_more_threads")
def test_fewer_threads_do_all_the_work_if_the_system_allows_no_more() -> None:
    done: list[int] = []
    share(lambda first, end, _: done.extend(range(first, end)), 100)
    assert sorted(done) == list(range(100))


@pytest.mark.usefixtures("no_more_threads")
def test_a_crew_has_the_threads_that_the_system_allows() -> None:
    ranks: list[int] = []
    with Crew(None) as crew:
        crew.run(ranks.append)
    assert (crew.size, sorted(ranks)) == (2, [0, 1])


@pytest.fixture
def three_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "most_threads", lambda wanted: wanted or 3)


@pytest.mark.usefixtures("three_cores")
def test_every_thread_of_a_crew_works_once_before_the_next_piece_begins() -> None:
    pieces: list[set[int]] = []
    with Crew(None) as crew:
        for _ in range(50):
            ranks: list[int] = []
            crew.run(ranks.append)
            pieces.append(set(ranks))
            assert len(ranks) == 3
    assert pieces == [{0, 1, 2}] * 50


@pytest.mark.usefixtures("three_cores")
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
@pytest.mark.parametrize("failing", [0, 2])
def test_an_error_in_a_crew_comes_back_when_all_threads_have_ended(
    error: type[BaseException], failing: int
) -> None:
    ended: list[int] = []

    def work(rank: int) -> None:
        if rank == failing:
            raise error("stop")
        time.sleep(0.05)
        ended.append(rank)

    with Crew(None) as crew, pytest.raises(error, match="stop"):
        crew.run(work)
    assert sorted([*ended, failing]) == [0, 1, 2]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no such signals here")
@pytest.mark.usefixtures("three_cores")
def test_an_interrupt_while_waiting_for_a_crew_lets_it_end() -> None:
    caller, ended = get_ident(), []

    def work(rank: int) -> None:
        if rank == 0:
            return
        time.sleep(0.1 * rank)  # now the caller waits
        if rank == 1:
            signal.pthread_kill(caller, signal.SIGINT)
        ended.append(rank)

    with Crew(None) as crew, pytest.raises(KeyboardInterrupt):
        crew.run(work)
    assert sorted(ended) == [1, 2]
