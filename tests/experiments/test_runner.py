import os
import signal
import time
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from experiments.tiny import native, outcome, paper, results
from qubonn.errors import QubonnError, RangeError
from qubonn.experiments import runner
from qubonn.experiments.runner import Status, complete
from qubonn.experiments.spec import TUNING, Run
from qubonn.experiments.store import Store
from qubonn.experiments.workers import InThisProcess, LocalProcesses, WorkersLost


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tiny.sqlite"


class Counting(InThisProcess):
    """Remembers what it was asked to do."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def submit(self, function: Any, *arguments: Any) -> "Future[Any]":
        self.runs.append(arguments[1])
        return super().submit(function, *arguments)


def test_all_runs_are_done_and_reported(path: Path) -> None:
    seen: list[Status] = []
    with Store.open(path, native()) as store:
        assert complete(store, 3, InThisProcess(), report=seen.append) == 6
        rows = store.rows()
    assert [(row.run.setting, row.run.number) for row in rows] == [
        (setting, number) for setting in (0, 1) for number in range(3)
    ]
    accuracies = [row.outcome.test_accuracy for row in rows]
    assert (seen[0].done, seen[0].total, seen[0].mean) == (0, 6, None)
    assert (seen[-1].done, seen[-1].best) == (6, max(accuracies))
    assert seen[-1].mean == pytest.approx(sum(accuracies) / 6)


def test_a_second_call_does_only_what_is_missing(path: Path) -> None:
    with Store.open(path, native()) as store:
        assert complete(store, 1, InThisProcess(), settings=[1]) == 1
        workers = Counting()
        assert complete(store, 2, workers) == 3
        assert workers.runs == [Run(0, 0), Run(0, 1), Run(1, 1)]
        assert complete(store, 2, workers) == 0


def test_temperatures_are_tuned_once_and_kept(path: Path) -> None:
    workers, seen = Counting(), list[Status]()
    with Store.open(path, paper()) as store:
        complete(store, 1, workers, report=seen.append)
        assert (seen[0].untuned, seen[-1].untuned) == (2, 0)
        assert sum(run.number == TUNING for run in workers.runs) == 2
        tuned = store.tunings()
    again = Counting()
    with Store.open(path, paper()) as store:
        complete(store, 2, again)
        assert again.runs == [Run(0, 1), Run(1, 1)]
        assert store.tunings() == tuned
        for row in store.rows():
            found = tuned[row.run.setting].temperatures
            assert (row.outcome.hottest, row.outcome.coldest) == (found.hottest, found.coldest)


def test_what_breaks_a_run_keeps_the_others_and_gives_its_claim_back(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(study: object, run: Run, temperatures: object) -> Any:
        if run == Run(0, 1):
            raise KeyboardInterrupt
        return outcome(seed=run.number), "{}"

    monkeypatch.setattr(runner, "task", broken)
    with Store.open(path, native()) as store:
        with pytest.raises(KeyboardInterrupt):
            complete(store, 2, InThisProcess())
        assert [row.run for row in store.rows()] == [Run(0, 0), Run(1, 0)]
        with Store.open(path, native()) as other:
            assert Run(0, 1) in other.claim([Run(0, 1)], 1)


@pytest.mark.parametrize("settings", [[], [2], [-1]])
def test_settings_that_are_not_there_are_refused(path: Path, settings: list[int]) -> None:
    with Store.open(path, native()) as store, pytest.raises(RangeError, match="settings must be"):
        complete(store, 1, InThisProcess(), settings=settings)


class Dying(InThisProcess):
    """Loses every worker, or the first few."""

    def __init__(self, count: int) -> None:
        self.left, self.restarts = count, 0

    def submit(self, function: Any, *arguments: Any) -> "Future[Any]":
        if self.left == 0:
            return super().submit(function, *arguments)
        self.left -= 1
        future: Future[Any] = Future()
        future.set_exception(WorkersLost("a worker process died"))
        return future

    def restart(self) -> None:
        self.restarts += 1


def test_lost_workers_are_replaced_and_their_runs_done_again(path: Path) -> None:
    workers = Dying(3)
    with Store.open(path, native()) as store:
        assert complete(store, 2, workers) == 4
    assert workers.restarts == 3


def test_workers_that_always_die_end_with_one_clear_sentence(path: Path) -> None:
    with Store.open(path, native()) as store:
        with pytest.raises(QubonnError, match="workers died 6 times in a row"):
            complete(store, 2, Dying(1000))
        assert store.rows() == []


def test_processes_give_the_rows_that_one_process_gives_even_if_workers_are_killed(
    tmp_path: Path,
) -> None:
    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    with Store.open(here, paper()) as store:
        complete(store, 4, InThisProcess())
    workers = LocalProcesses(2)
    killed: list[int] = []

    def kill_one(status: Status) -> None:
        if status.done >= 1 and not killed:
            killed.append(next(iter(workers._pool._processes)))
            os.kill(killed[0], signal.SIGKILL)

    with Store.open(there, paper()) as store:
        try:
            complete(store, 4, workers, report=kill_one)
        finally:
            workers.close()
    assert killed
    assert results(here) == results(there)


def test_closing_ends_all_processes() -> None:
    workers = LocalProcesses(1)
    future = workers.submit(time.sleep, 60)
    while not workers._pool._processes:
        time.sleep(0.01)
    (process,) = workers._pool._processes.values()
    workers.close()
    assert not process.is_alive()
    assert not future.done() or future.cancelled() or future.exception() is not None
