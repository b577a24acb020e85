import os
import socket
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.tiny import native, outcome, paper
from qubonn.errors import FileFormatError, StudyMismatch
from qubonn.experiments.outcome import Temperatures
from qubonn.experiments.performing import Tuned
from qubonn.experiments.spec import TUNING, Run
from qubonn.experiments.store import Store

RUNS = [Run(setting, number) for number in range(4) for setting in (0, 1)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "tiny.sqlite"


def test_a_run_reads_back_as_it_was_committed(path: Path) -> None:
    written = outcome(feasible_accuracy=None, hottest=5.0, coldest=0.1)
    with Store.open(path, native()) as store:
        assert store.commit(Run(1, 3), written, "{}")
        (row,) = store.rows()
    assert (row.run, row.outcome, row.versions) == (Run(1, 3), written, "{}")


def test_opening_again_finds_the_same_study_and_its_rows(path: Path) -> None:
    with Store.open(path, native()) as store:
        store.commit(Run(0, 0), outcome(), "{}")
    with Store.open(path, native()) as store:
        assert len(store.rows()) == 1
    with Store.read(path) as store:
        assert store.study == native()


def test_another_study_is_refused_with_the_difference(path: Path) -> None:
    Store.open(path, native()).close()
    with pytest.raises(StudyMismatch, match="sweep_count: 6 here, 5 there"):
        Store.open(path, native(sweep_count=6))


def test_a_finished_run_is_never_overwritten_edited_or_deleted(path: Path) -> None:
    with Store.open(path, native()) as store:
        assert store.commit(Run(0, 0), outcome(seed=1), "{}")
        assert not store.commit(Run(0, 0), outcome(seed=2), "{}")
        assert [row.outcome.seed for row in store.rows()] == [1]
    connection = sqlite3.connect(path)
    for statement in ("UPDATE runs SET seed = 5", "DELETE FROM runs"):
        with pytest.raises(sqlite3.IntegrityError, match="a finished run is never"):
            connection.execute(statement)
    connection.close()


def test_a_tuning_is_kept_with_all_its_anneals(path: Path) -> None:
    tuned = Tuned(9, Temperatures(5.0, 0.1), ((5.0, 0.1, 2.5, 1.0), (4.0, 0.1, 3.5, 2.0)), 0.5)
    with Store.open(path, paper()) as store:
        assert store.temperatures(1) is None
        store.commit(Run(1, TUNING), tuned, "{}")
        assert store.temperatures(1) == Temperatures(5.0, 0.1)
        assert store.tunings() == {1: tuned}
        assert store.rows() == []


def test_two_who_claim_get_different_runs(path: Path) -> None:
    with Store.open(path, native()) as one, Store.open(path, native()) as other:
        first, second = one.claim(RUNS, 3), other.claim(RUNS, 100)
        assert first == RUNS[:3]
        assert second == RUNS[3:]
        assert one.claim(RUNS, 5) == []
        one.release(first[:1])
        assert other.claim(RUNS, 5) == RUNS[:1]


def test_finished_runs_are_not_claimed_and_closing_gives_claims_back(path: Path) -> None:
    with Store.open(path, native()) as one:
        assert one.claim(RUNS, 2) == RUNS[:2]
        one.commit(RUNS[0], outcome(), "{}")
    with Store.open(path, native()) as other:
        assert other.claim(RUNS, 100) == RUNS[1:]
        assert other.done() == {RUNS[0]}


def claims_of(path: Path, host: str, process: int, seconds_ago: float) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(
            "INSERT INTO owners VALUES ('other', ?, ?, unixepoch() - ?)",
            (host, process, seconds_ago),
        )
        connection.execute("INSERT INTO claims VALUES (0, 0, 'other')")
    connection.close()


def dead_process() -> int:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    ("host", "is_dead", "seconds_ago", "is_taken"),
    [
        (socket.gethostname(), False, 1, False),
        (socket.gethostname(), True, 1, True),
        (socket.gethostname(), False, 1000, True),
        ("elsewhere", True, 1, False),
        ("elsewhere", True, 1000, True),
    ],
)
def test_claims_of_the_dead_are_taken_and_those_of_the_living_are_not(
    path: Path, host: str, is_dead: bool, seconds_ago: float, is_taken: bool
) -> None:
    with Store.open(path, native()) as store:
        claims_of(path, host, dead_process() if is_dead else os.getpid(), seconds_ago)
        assert (Run(0, 0) in store.claim(RUNS, 100)) == is_taken


def test_a_file_of_somebody_else_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match="it is another SQLite file"):
        Store.open(path, native())
    with pytest.raises(FileFormatError, match="it is another SQLite file"):
        Store.read(path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["notes.sqlite"]


@pytest.mark.parametrize("data", [b"", b"not a database, only some text " * 50])
def test_what_is_no_store_gets_one_clear_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=r"x.sqlite must be a store of qubonn; it"):
        Store.read(path)


def test_a_store_that_is_not_there_is_not_made_by_reading(tmp_path: Path) -> None:
    with pytest.raises(FileFormatError, match="there is none"):
        Store.read(tmp_path / "x.sqlite")
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("column", "value"),
    [("setting", 7), ("test_accuracy", "high"), ("s1", 1.5), ("draw_accuracies", "{"),
     ("energy", None)],
)  # fmt: skip
def test_a_row_that_cannot_be_a_run_is_refused(path: Path, column: str, value: object) -> None:
    with Store.open(path, native()) as store:
        store.commit(Run(0, 0), outcome(), "{}")
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DROP TRIGGER runs_stay")
        connection.execute(f"UPDATE runs SET {column} = ?", (value,))
    connection.close()
    with Store.read(path) as store, pytest.raises(FileFormatError, match="it cannot be read"):
        store.rows()


def test_a_later_format_is_refused(path: Path) -> None:
    Store.open(path, native()).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(FileFormatError, match="got format 2: use the qubonn that wrote it"):
        Store.open(path, native())


def test_what_is_committed_is_in_the_log_of_a_file_that_is_synced(path: Path) -> None:
    with Store.open(path, native()) as store:
        settings = [
            store._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        ]
    assert settings == ["wal", 2]
