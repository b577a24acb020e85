import copy
import io
import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from experiments.tiny import Dice, dice, native, paper, results
from qubonn.errors import QubonnError, RangeError
from qubonn.experiments import (
    PREPARATION,
    Record,
    Run,
    Setting,
    Status,
    Store,
    Study,
    complete,
    runner,
    runs_of,
    watching,
    workers,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tiny.sqlite"


@dataclass(frozen=True, kw_only=True)
class Counting(Dice):
    """Writes down what it did."""

    folder: str

    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        (Path(self.folder) / f"{setting['faces']}-{time.time_ns()}").touch()
        return super().perform(setting, seed, prepared)


def filled(path: Path, study: Study, count: int, jobs: int = 1, **options: Any) -> int:
    with Store.open(path, study) as store, workers(jobs) as parallel:
        return complete(study, store, runs_of(study.settings, count), parallel, **options)


def test_all_runs_are_done_and_reported(path: Path) -> None:
    seen: list[Status] = []
    assert filled(path, dice(), 3, report=seen.append) == 6
    with Store.read(path) as store:
        rows = store.rows()
    assert [(row.run.setting["faces"], row.run.number) for row in rows] == [
        (faces, number) for faces in (6, 20) for number in range(3)
    ]
    eyes = [row.record["eyes"] for row in rows]
    assert (seen[0].label, seen[0].done, seen[0].total, seen[0].mean) == ("dice", 0, 6, None)
    assert (seen[-1].done, seen[-1].watched, seen[-1].best) == (6, "eyes", max(eyes))
    assert seen[-1].mean == pytest.approx(sum(eyes) / 6)
    assert all(row.seconds >= 0 and "numpy" in row.versions for row in rows)


def test_a_second_call_does_only_what_is_missing(path: Path, tmp_path: Path) -> None:
    (tmp_path / "done").mkdir()
    study = Counting(name="dice", settings=dice().settings, folder=str(tmp_path / "done"))
    with Store.open(path, study) as store, workers() as parallel:
        assert complete(study, store, [Run({"faces": 20}, 0)], parallel) == 1
        assert complete(study, store, runs_of(study.settings, 2), parallel) == 3
        assert complete(study, store, runs_of(study.settings, 2), parallel) == 0
    done = sorted(one.name.split("-")[0] for one in (tmp_path / "done").iterdir())
    assert done == ["20", "20", "6", "6"]


def test_preparations_come_first_once_and_are_given_to_the_runs(path: Path) -> None:
    study, seen = paper(), list[Status]()
    filled(path, study, 1, report=seen.append)
    assert (seen[0].unprepared, seen[-1].unprepared) == (2, 0)
    with Store.read(path) as store:
        tuned = store.preparations()
    assert len(tuned) == 2
    filled(path, study, 2)
    with Store.read(path) as store:
        assert store.preparations() == tuned
        for row in store.rows():
            found = tuned[row.run.key[0]].record
            assert all(row.record[name] == found[name] for name in ("hottest", "coldest"))


@dataclass(frozen=True, kw_only=True)
class Broken(Dice):
    """Is interrupted at the second run of the first setting, or its worker dies there."""

    signal: int = 0

    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        if setting["faces"] == 6 and seed == self.seed_of(Run(setting, 1)):
            if not self.signal:
                raise KeyboardInterrupt
            os.kill(os.getpid(), self.signal)
        return super().perform(setting, seed, prepared)


def test_what_breaks_a_run_keeps_the_others(path: Path) -> None:
    study = Broken(name="dice", settings=dice().settings)
    with pytest.raises(KeyboardInterrupt):
        filled(path, study, 2)
    assert [number for _, number in results(path)] == [0, 0]


def test_workers_that_always_die_end_with_one_clear_sentence(path: Path) -> None:
    study = Broken(name="dice", settings=dice().settings, signal=signal.SIGKILL)
    with pytest.raises(QubonnError, match="workers died 6 times in a row; is there too little"):
        filled(path, study, 3, jobs=2)
    assert set(results(path)) <= {run.key for run in runs_of(study.settings, 3)}


def test_processes_give_the_rows_that_one_process_gives_even_if_workers_are_killed(
    tmp_path: Path,
) -> None:
    from joblib.externals.loky import get_reusable_executor

    here, there = tmp_path / "here.sqlite", tmp_path / "there.sqlite"
    filled(here, paper(), 4)
    killed: list[int] = []

    def kill_one(status: Status) -> None:
        if status.done >= 1 and not killed:
            killed.append(next(iter(get_reusable_executor(reuse=True)._processes)))
            os.kill(killed[0], signal.SIGKILL)

    filled(there, paper(), 4, jobs=2, report=kill_one)
    assert killed
    assert results(here) == results(there)


def test_an_interrupt_ends_all_worker_processes(path: Path) -> None:
    from joblib.externals.loky import get_reusable_executor

    processes: list[Any] = []

    def interrupt(status: Status) -> None:
        if status.done:
            processes.extend(get_reusable_executor(reuse=True)._processes.values())
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        filled(path, dice(seconds=0.3), 50, jobs=2, report=interrupt)
    assert len(processes) == 2
    assert not any(process.is_alive() for process in processes)
    assert results(path)


class TestACluster:
    @pytest.fixture(autouse=True)
    def _dask(self) -> None:
        pytest.importorskip("distributed")

    def test_gives_the_same_rows_also_when_a_worker_is_killed(self, tmp_path: Path) -> None:
        here, there, count = tmp_path / "here.sqlite", tmp_path / "there.sqlite", 40
        filled(here, native(), count)
        killed: list[int] = []

        def kill_one(status: Status) -> None:
            from distributed import get_client

            if status.done >= 5 and not killed:
                killed.append(next(iter(get_client().run(os.getpid).values())))
                os.kill(killed[0], signal.SIGKILL)

        study = native()
        runs = runs_of(study.settings, count)
        with Store.open(there, study) as store, workers(cluster="local:2") as parallel:
            complete(study, store, runs, parallel, report=kill_one)
        assert killed
        assert results(here) == results(there)

    def test_gives_up_a_run_that_kills_all_its_workers(self, path: Path) -> None:
        study = Broken(name="dice", settings=dice().settings, signal=signal.SIGKILL)
        with (
            Store.open(path, study) as store,
            pytest.raises(QubonnError, match="workers of the cluster died"),
            workers(cluster="local:1") as parallel,
        ):
            complete(study, store, runs_of(study.settings, 3), parallel)

    def test_is_given_up_when_it_has_no_workers_left(
        self, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(runner, "LOST_SECONDS", 1.0)
        study = dice(seconds=0.1)

        def lose_all(status: Status) -> None:
            from distributed import get_client

            if status.done:
                get_client().cluster.scale(0)

        with (
            Store.open(path, study) as store,
            pytest.raises(QubonnError, match="workers of the cluster died: no worker is left"),
            workers(cluster="local:1") as parallel,
        ):
            complete(study, store, runs_of(study.settings, 1000), parallel, report=lose_all)

    @pytest.mark.parametrize("address", ["local:", "local:0", "local:two", "local:-1"])
    def test_needs_a_number_of_workers(self, address: str) -> None:
        with (
            pytest.raises(RangeError, match="--cluster must be an address or local:N"),
            workers(cluster=address),
        ):
            pass

    def test_that_does_not_answer_gets_one_clear_sentence(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(runner, "CONNECT_SECONDS", 0.5)
        sentence = r"no Dask scheduler answers at tcp://127\.0\.0\.1:9"
        with pytest.raises(QubonnError, match=sentence), workers(cluster="tcp://127.0.0.1:9"):
            pass


def said(*, is_terminal: bool) -> str:
    output = io.StringIO()
    console = Console(file=output, force_terminal=is_terminal, width=140, color_system=None)
    totals = {"tiny-native": 20, "tiny-paper": 10}
    with watching(console, totals, {"tiny-native": 5, "tiny-paper": 10}) as report:
        report(Status("tiny-native", 5, 20, 3))
        report(Status("tiny-native", 12, 20, 0, "test_accuracy", 0.75, 0.5))
        report(Status("tiny-native", 20, 20, 0, "test_accuracy", 0.9, 0.625))
        report(Status("tiny-paper", 10, 10, 0, "test_accuracy", 0.8, 0.7))
    return output.getvalue()


def test_bars_show_every_study_the_whole_and_what_came_out() -> None:
    text = said(is_terminal=True)
    last = text[text.rindex("all ") :]
    assert "30/30" in last
    assert "20/20" in last
    assert "best 0.900, mean 0.625" in last
    assert "runs/s" in text or "done" in last


def test_where_there_is_no_terminal_lines_are_few_and_whole() -> None:
    lines = said(is_terminal=False).splitlines()
    assert lines == [
        "tiny-native: 5 of 20 runs; all: 15 of 30, no pace yet; 3 settings to prepare",
        "tiny-native: 20 of 20 runs; all: 30 of 30, done; test accuracy: best 0.900, mean 0.625",
        "tiny-paper: 10 of 10 runs; all: 30 of 30, done; test accuracy: best 0.800, mean 0.700",
    ]


def test_one_run_at_a_time_in_a_process() -> None:
    row = runner.task(dice(), Run({"faces": 6}, PREPARATION + 1), {}, parent=0)
    assert 1 <= row.record["eyes"] <= 6
    assert row.seed == dice().seed_of(row.run)


def test_runs_that_come_back_under_other_settings_are_not_repeated(path: Path) -> None:
    class Changing(Dice):
        def perform(self, setting: Any, seed: int, prepared: Any) -> Any:
            setting["faces"] += 100
            return {"test_accuracy": 0.5}

    study = Changing(name="dice", settings=dice().settings)
    calls: list[Any] = []

    def parallel(tasks: Any) -> Any:
        calls.extend(copy.deepcopy(list(tasks)))  # as other processes have copies
        return (function(*arguments) for function, arguments, _ in calls)

    with Store.open(path, study) as store:
        assert complete(study, store, runs_of(study.settings, 2), parallel) == 4
    assert len(calls) == 4
