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

from experiments.tiny import dice, native, results
from qubonn.experiments import Run, Store, complete, runs_of, workers

PROGRAM = """
    import sys
    sys.path.insert(0, {tests!r})
    from experiments.tiny import dice, native
    from qubonn.experiments import Store, complete, runs_of, workers

    if __name__ == "__main__":
        study = {study}
        with Store.open({path!r}, study) as store, workers({jobs}) as parallel:
            print(complete(study, store, runs_of(study.settings, {count}), parallel))
"""
PRETEND = "dice(seconds=0.002)"
TESTS = str(Path(__file__).parents[1])


def start(
    folder: Path, study: str, path: Path, count: int, jobs: int = 1
) -> "subprocess.Popen[str]":
    script = folder / "program.py"  # a file, as new processes import it
    text = textwrap.dedent(PROGRAM)
    script.write_text(text.format(tests=TESTS, study=study, path=str(path), count=count, jobs=jobs))
    pipe, command = subprocess.PIPE, [sys.executable, str(script)]
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True)


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
        process = start(tmp_path, PRETEND, path, count)
        goal = before + chance.randint(1, 40)
        wait_for(lambda goal=goal: row_count(path) >= goal)  # type: ignore[misc]
        time.sleep(chance.random() * 0.01)
        process.kill()
        process.communicate()
        assert is_whole(path)
        assert row_count(path) >= goal
        before = row_count(path)
    output, _ = start(tmp_path, PRETEND, path, count).communicate(timeout=60)
    assert int(output) == 2 * count - before  # exactly what was missing
    study = dice(seconds=0.002)
    found = results(path)
    assert len(found) == 2 * count
    for run in runs_of(study.settings, count):
        assert found[run.key]["seed"] == study.seed_of(run)


def test_a_second_process_on_a_store_gets_one_clear_sentence(tmp_path: Path) -> None:
    path = tmp_path / "tiny.sqlite"
    first = start(tmp_path, PRETEND, path, 100_000)
    wait_for(lambda: row_count(path) >= 5)
    _, error = start(tmp_path, PRETEND, path, 10).communicate(timeout=60)
    assert (
        error.strip()
        .splitlines()[-1]
        .endswith(f"{path} is being written by another process; wait for it, or name another store")
    )
    assert row_count(path) >= 5
    first.kill()
    first.communicate()
    assert is_whole(path)


def test_killed_in_the_middle_of_real_runs_the_rows_come_out_the_same(tmp_path: Path) -> None:
    path, count = tmp_path / "tiny.sqlite", 30
    for goal in (3, 20):
        process = start(tmp_path, "native()", path, count)
        wait_for(lambda goal=goal: row_count(path) >= goal)  # type: ignore[misc]
        process.kill()
        process.communicate()
    undisturbed, study = tmp_path / "undisturbed.sqlite", native()
    for one in (path, undisturbed):
        with Store.open(one, study) as store, workers() as parallel:
            complete(study, store, runs_of(study.settings, count), parallel)
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
    process = start(tmp_path, "native()", path, 100_000, jobs=2)
    wait_for(lambda: row_count(path) >= 5)
    children = children_of(process.pid)
    process.kill()
    process.communicate()
    assert len(children) >= 2
    wait_for(lambda: not any(is_running(child) for child in children), 20)
    assert is_whole(path)


def test_an_interrupt_keeps_what_is_finished_and_frees_the_store(tmp_path: Path) -> None:
    path = tmp_path / "tiny.sqlite"
    process = start(tmp_path, PRETEND, path, 10_000)
    wait_for(lambda: row_count(path) >= 5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    study = dice(seconds=0.002)
    with Store.open(path, study) as store, workers() as parallel:
        assert len(store.rows()) >= 5
        assert complete(study, store, [Run({"faces": 6}, 0)], parallel) == 0
