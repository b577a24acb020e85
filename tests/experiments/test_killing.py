"""Real processes, really killed."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from experiments.tiny import native, results
from qubonn.experiments.runner import complete
from qubonn.experiments.store import Store
from qubonn.experiments.workers import InThisProcess

# Runs that do no work but take a moment, so that there is time to be killed in.
PRETEND = """
    import dataclasses, sys, time
    sys.path.insert(0, {tests!r})
    from experiments.tiny import native, outcome
    from qubonn.experiments import runner
    from qubonn.experiments.store import Store
    from qubonn.experiments.workers import InThisProcess

    def task(study, run, temperatures):
        time.sleep(0.002)
        return outcome(seed=study.seed_of(run)), "{{}}"

    runner.task = task
    with Store.open({path!r}, native()) as store:
        print(runner.complete(store, {count}, InThisProcess()))
"""
REAL = """
    import sys
    sys.path.insert(0, {tests!r})
    from experiments.tiny import native
    from qubonn.experiments.runner import complete
    from qubonn.experiments.store import Store
    from qubonn.experiments.workers import InThisProcess, LocalProcesses

    if __name__ == "__main__":
        workers = {workers}
        with Store.open({path!r}, native()) as store:
            print(complete(store, {count}, workers))
        workers.close()
"""
TESTS = str(Path(__file__).parents[1])


def start(program: str, folder: Path, **given: object) -> "subprocess.Popen[str]":
    script = folder / "program.py"  # a file, as new processes import it
    script.write_text(textwrap.dedent(program).format(tests=TESTS, **given))
    return subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)


def row_count(path: Path) -> int:
    try:
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=10)
        try:
            return int(connection.execute("SELECT count(*) FROM runs").fetchone()[0])
        finally:
            connection.close()
    except sqlite3.OperationalError:
        return 0  # not made yet


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def is_whole(path: Path) -> bool:
    connection = sqlite3.connect(path)
    try:
        return bool(connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    finally:
        connection.close()


@pytest.mark.parametrize("deaths", [6, pytest.param(60, marks=pytest.mark.slow)])
def test_killing_a_process_again_and_again_loses_nothing_that_was_finished(
    tmp_path: Path, deaths: int
) -> None:
    path, count, chance = tmp_path / "tiny.sqlite", 25 * deaths, random.Random(0)
    before = 0
    for _ in range(deaths):
        process = start(PRETEND, tmp_path, path=str(path), count=count)
        goal = before + chance.randint(1, 40)
        wait_for(lambda goal=goal: row_count(path) >= goal)  # type: ignore[misc]
        time.sleep(chance.random() * 0.01)
        process.kill()
        process.communicate()
        assert is_whole(path)
        assert row_count(path) >= goal
        before = row_count(path)
    process = start(PRETEND, tmp_path, path=str(path), count=count)
    output, _ = process.communicate(timeout=60)
    assert int(output) == 2 * count - before  # exactly what was missing
    study = native()
    found = results(path)
    assert len(found) == 2 * count
    assert all(record["seed"] == study.seed_of(run) for run, record in found.items())


def test_processes_that_work_together_do_each_run_once(tmp_path: Path) -> None:
    path, count = tmp_path / "tiny.sqlite", 150
    processes = [start(PRETEND, tmp_path, path=str(path), count=count) for _ in range(3)]
    done = [int(process.communicate(timeout=60)[0]) for process in processes]
    assert sum(done) == 2 * count == row_count(path)
    assert min(done) > 0
    assert is_whole(path)


def test_killed_in_the_middle_of_real_runs_the_rows_come_out_the_same(tmp_path: Path) -> None:
    path, count = tmp_path / "tiny.sqlite", 30
    for goal in (3, 20):
        process = start(REAL, tmp_path, path=str(path), count=count, workers="InThisProcess()")
        wait_for(lambda goal=goal: row_count(path) >= goal)  # type: ignore[misc]
        process.kill()
        process.communicate()
    undisturbed = tmp_path / "undisturbed.sqlite"
    for one in (path, undisturbed):
        with Store.open(one, native()) as store:
            complete(store, count, InThisProcess())
    assert results(path) == results(undisturbed)


def children_of(process: int) -> list[int]:
    found = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(process)], capture_output=True, text=True
    )
    return [int(word) for word in found.stdout.split()]


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rsplit(")", 1)[1].split()[0] != "Z"


def test_workers_end_when_the_process_that_started_them_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "tiny.sqlite"
    process = start(REAL, tmp_path, path=str(path), count=100_000, workers="LocalProcesses(2)")
    wait_for(lambda: row_count(path) >= 5)
    workers = children_of(process.pid)
    process.kill()
    process.communicate()
    assert len(workers) >= 2
    wait_for(lambda: not any(is_running(worker) for worker in workers), 20)
    assert is_whole(path)


def test_an_interrupt_ends_cleanly_and_gives_claims_back(tmp_path: Path) -> None:
    path = tmp_path / "tiny.sqlite"
    process = start(PRETEND, tmp_path, path=str(path), count=10_000)
    wait_for(lambda: row_count(path) >= 5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)
    assert connection.execute("SELECT count(*) FROM owners").fetchone() == (0,)
    connection.close()
