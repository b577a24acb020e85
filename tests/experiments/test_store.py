import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from experiments.tiny import dice, row
from qubonn.errors import FileFormatError, QubonnError, StudyMismatch
from qubonn.experiments import PREPARATION, Store
from qubonn.experiments.study import canonical

SIX, TWENTY = dice().settings


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "tiny.sqlite"


def test_a_run_reads_back_as_it_was_committed(path: Path) -> None:
    written = {"eyes": 3, "mean": 0.1, "name": "x", "none": None}
    with Store.open(path, dice()) as store:
        assert store.add(row(TWENTY, 3, written, seed=2**62))
        (found,) = store.rows()
    assert (found.run.setting, found.run.number, found.seed) == (TWENTY, 3, 2**62)
    assert (found.record, found.versions, found.seconds) == (written, "{}", 0.25)


def test_opening_again_finds_the_same_study_and_its_rows(path: Path) -> None:
    with Store.open(path, dice()) as store:
        store.add(row(SIX, 0, {"eyes": 1}))
    with Store.open(path, dice()) as store:
        assert len(store.rows()) == 1
    with Store.read(path) as store:
        assert store.spec == dice().spec
        assert store.settings() == list(dice().settings)


def test_settings_can_be_added_later(path: Path) -> None:
    with Store.open(path, dice()) as store:
        store.add(row(SIX, 0, {"eyes": 1}))
    with Store.open(path, dice(settings=({"faces": 12}, SIX))) as store:
        assert len(store.rows()) == 1
        assert store.settings() == [SIX, TWENTY, {"faces": 12}]


def test_another_study_is_refused_with_the_difference(path: Path) -> None:
    Store.open(path, dice()).close()
    with pytest.raises(StudyMismatch, match=r"seconds: 0\.5 here, 0\.0 there"):
        Store.open(path, dice(seconds=0.5))
    Store.open(path, dice()).close()  # the refused one left no lock


def test_a_finished_run_is_never_overwritten_edited_or_deleted(path: Path) -> None:
    with Store.open(path, dice()) as store:
        assert store.add(row(SIX, 0, {"eyes": 1}))
        assert not store.add(row(SIX, 0, {"eyes": 2}))
        assert [one.record["eyes"] for one in store.rows()] == [1]
    connection = sqlite3.connect(path)
    for statement in ("UPDATE runs SET seed = 5", "DELETE FROM runs"):
        with pytest.raises(sqlite3.IntegrityError, match="a finished run is never"):
            connection.execute(statement)
    connection.close()


def test_a_preparation_is_kept_apart_from_the_runs(path: Path) -> None:
    with Store.open(path, dice()) as store:
        store.add(row(TWENTY, PREPARATION, {"hottest": 5.0}))
        assert store.preparations()[canonical(TWENTY)].record == {"hottest": 5.0}
        assert store.rows() == []
        assert store.done() == {(canonical(TWENTY), PREPARATION)}


def test_a_second_writer_gets_one_clear_sentence_and_readers_may_read(path: Path) -> None:
    with Store.open(path, dice()) as store:
        store.add(row(SIX, 0, {"eyes": 1}))
        with pytest.raises(QubonnError, match="is being written by another process; wait for it"):
            Store.open(path, dice())
        with Store.read(path) as reader:
            assert len(reader.rows()) == 1
            store.add(row(SIX, 1, {"eyes": 1}))
            assert len(reader.rows()) == 2
    Store.open(path, dice()).close()


def test_the_lock_of_a_process_that_was_killed_is_free(path: Path) -> None:
    program = (
        "import sys, os, signal; sys.path.insert(0, sys.argv[1])\n"
        "from experiments.tiny import dice; from qubonn.experiments import Store\n"
        "store = Store.open(sys.argv[2], dice()); os.kill(os.getpid(), signal.SIGKILL)"
    )
    tests = str(Path(__file__).parents[1])
    subprocess.run([sys.executable, "-c", program, tests, str(path)], check=False)
    assert path.exists()
    Store.open(path, dice()).close()


def test_a_file_of_another_program_is_refused_and_left_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "notes.sqlite"
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE notes (text)")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(FileFormatError, match="it is another SQLite file"):
        Store.open(path, dice())
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


@pytest.mark.parametrize("found", [{"list": [1]}, {"record": {"eyes": 1}}])
def test_a_record_must_be_plain_values(path: Path, found: dict[str, object]) -> None:
    with Store.open(path, dice()) as store:
        with pytest.raises(ValueError, match="a record must be plain values by name"):
            store.add(row(SIX, 0, found))
        assert store.rows() == []


@pytest.mark.parametrize(
    ("column", "value"),
    [("number", "high"), ("seed", 1.5), ("record", "{"), ("record", "[1]"),
     ("record", '{"a": [1]}'), ("record", "[" * 100_000), ("seconds", "long")],
)  # fmt: skip
def test_a_row_that_cannot_be_a_run_is_refused(path: Path, column: str, value: object) -> None:
    with Store.open(path, dice()) as store:
        store.add(row(SIX, 0, {"eyes": 1}))
    change(path, f"UPDATE runs SET {column} = ?", value)
    with Store.read(path) as store, pytest.raises(FileFormatError, match="it cannot be read"):
        store.rows()


@pytest.mark.parametrize("text", ["", "[]", "null", "7", '{"settings": {}}', "[" * 100_000])
def test_a_spec_that_is_none_gets_one_clear_error(path: Path, text: str) -> None:
    Store.open(path, dice()).close()
    change(path, "UPDATE study SET spec = ?", text)
    with pytest.raises(FileFormatError, match="it cannot be read"):
        Store.read(path)


def change(path: Path, statement: str, value: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DROP TRIGGER runs_stay")
        connection.execute(statement, (value,))
    connection.close()


@pytest.mark.parametrize("found", [1, 3])
def test_another_format_is_refused(path: Path, found: int) -> None:
    Store.open(path, dice()).close()
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {found}")
    connection.close()
    with pytest.raises(FileFormatError, match=f"got format {found}: use the qubonn that wrote it"):
        Store.open(path, dice())


def test_what_is_committed_is_in_the_log_of_a_file_that_is_synced(path: Path) -> None:
    with Store.open(path, dice()) as store:
        settings = [
            store._connection.execute(f"PRAGMA {name}").fetchone()[0]
            for name in ("journal_mode", "synchronous")
        ]
    assert settings == ["wal", 2]


def test_a_full_disk_is_an_error_of_the_system_that_names_the_store(path: Path) -> None:
    with Store.open(path, dice()) as store:
        store.add(row(SIX, 0, {"eyes": 1}))
        store._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(OSError, match=r"No space left on device: .*tiny\.sqlite") as caught:
            store.add(row(SIX, 1, {"eyes": 1, "text": "x" * 100_000}))
    assert caught.value.filename == str(path)
    with Store.read(path) as store:
        assert len(store.rows()) == 1


def test_tables_that_are_views_are_refused_before_they_run(path: Path) -> None:
    Store.open(path, dice()).close()
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n"
    connection = sqlite3.connect(path)
    connection.execute("DROP TABLE runs")
    connection.execute(f"CREATE VIEW runs AS {endless}")
    connection.close()
    with pytest.raises(FileFormatError, match="its tables are others"):
        Store.read(path)


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")
def test_a_pipe_is_no_store(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.sqlite")
    with pytest.raises(FileFormatError, match="must be a store"):
        Store.read(tmp_path / "pipe.sqlite")
    with pytest.raises(FileFormatError, match="it is no file"):
        Store.open(tmp_path / "pipe.sqlite", dice())
