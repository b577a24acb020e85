"""Store: one SQLite file per study, with a row for every finished run.

Study, records <-> file.  One process writes, others may read at the same time.  A run is on the
disk when `add` returns, so a killed process loses only its runs in flight.
"""

import errno
import json
import os
import platform
import sqlite3
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from qubonn import __version__
from qubonn.errors import FileFormatError, QubonnError, StudyMismatch
from qubonn.experiments.study import PREPARATION, Record, Run, Setting, Study, canonical
from qubonn.storage import guard

APPLICATION = 0x71_62_6E_6E  # "qbnn": tells a store from another program's SQLite file
FORMAT = 2
WAIT_SECONDS = 60.0  # for a reader that holds the file

_DISK = {
    sqlite3.SQLITE_FULL: errno.ENOSPC,
    sqlite3.SQLITE_IOERR: errno.EIO,
    sqlite3.SQLITE_READONLY: errno.EROFS,
    sqlite3.SQLITE_CANTOPEN: errno.EACCES,
    sqlite3.SQLITE_PERM: errno.EACCES,
    sqlite3.SQLITE_NOMEM: errno.ENOMEM,
}

_SCHEMA = (
    "CREATE TABLE study (only INTEGER PRIMARY KEY CHECK (only = 1), spec TEXT NOT NULL,"
    " digest TEXT NOT NULL, created REAL NOT NULL)",
    "CREATE TABLE settings (place INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE,"
    " setting TEXT NOT NULL)",
    "CREATE TABLE runs (place INTEGER NOT NULL REFERENCES settings, number INTEGER NOT NULL,"
    " seed INTEGER NOT NULL, record TEXT NOT NULL, seconds REAL NOT NULL, versions TEXT NOT NULL,"
    " finished REAL NOT NULL, PRIMARY KEY (place, number))",
    "CREATE TRIGGER runs_stay BEFORE UPDATE ON runs"
    " BEGIN SELECT RAISE(ABORT, 'a finished run is never edited'); END",
    "CREATE TRIGGER runs_remain BEFORE DELETE ON runs"
    " BEGIN SELECT RAISE(ABORT, 'a finished run is never deleted'); END",
    f"PRAGMA application_id = {APPLICATION}",
    f"PRAGMA user_version = {FORMAT}",
)


@dataclass(frozen=True)
class Row:
    """A finished run: its record, its duration and the versions of the packages."""

    run: Run
    seed: int
    record: Record
    seconds: float
    versions: str


class Store:
    """An open store: `Store.open` to write, `Store.read` to read."""

    def __init__(self, path: Path, study: Study | None = None) -> None:
        self.path = path
        with ExitStack() as opened, _readable(path):
            connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
            opened.callback(connection.close)
            connection.execute("PRAGMA trusted_schema = OFF")  # the file may come from elsewhere
            if _is_new(path, connection) and study is None:
                raise FileFormatError(f"{path} must be a store of qubonn; it is empty")
            if study is not None:
                opened.callback(_locked(path).close)
                opened.callback(connection.close)  # before the lock is released
                if _is_new(path, connection):
                    connection.execute("PRAGMA journal_mode = WAL")  # readers do not block writing
                    _fill(connection, study)
                connection.execute("PRAGMA synchronous = FULL")  # committed means on the disk
            (spec,) = connection.execute("SELECT spec FROM study").fetchone()
            self.spec, self._connection = _flat(spec, lists=True), connection
            if study is not None:
                _require_same(path, json.loads(canonical(study.spec)), self.spec)
                for setting in study.settings:
                    self._place(setting)
            self._opened = opened.pop_all()

    @classmethod
    def open(cls, path: str | os.PathLike[str], study: Study) -> "Store":
        """Open the store of a study for writing, or create it; another study's is refused."""
        path = Path(path)
        if path.exists() and not path.is_file():
            raise FileFormatError(f"{path} must be a store of qubonn; it is no file")
        path.parent.mkdir(parents=True, exist_ok=True)
        return cls(path, study)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Store":
        """Open an existing store, of any study."""
        path = Path(path)
        if not path.is_file():
            raise FileFormatError(f"{path} must be a store made by qubonn reproduce; there is none")
        return cls(path)

    def close(self) -> None:
        """Close the file and release its lock."""
        self._opened.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def settings(self) -> list[Setting]:
        """The settings in their order, with or without runs."""
        with _readable(self.path):
            found = self._connection.execute("SELECT setting FROM settings ORDER BY place")
            return [_flat(text) for (text,) in found]

    def rows(self) -> list[Row]:
        """Finished runs by setting and number."""
        return [row for row in self._rows() if row.run.number != PREPARATION]

    def preparations(self) -> dict[str, Row]:
        """Preparations by the canonical text of their setting."""
        rows = (row for row in self._rows() if row.run.number == PREPARATION)
        return {canonical(row.run.setting): row for row in rows}

    def done(self) -> set[tuple[str, int]]:
        """The keys of all finished runs, preparations too."""
        query = "SELECT key, number FROM runs JOIN settings USING (place)"
        with _readable(self.path):
            return set(self._connection.execute(query))

    def add(self, row: Row) -> bool:
        """Commit a finished run; return False if it is stored already."""
        record = json.dumps(row.record)
        _flat(record)
        values = (row.run.number, row.seed, record, row.seconds, row.versions, time.time())
        with _readable(self.path):
            cursor = self._connection.execute(
                "INSERT OR IGNORE INTO runs VALUES (?, ?, ?, ?, ?, ?, ?)",
                (self._place(row.run.setting), *values),
            )
        return cursor.rowcount == 1

    def _rows(self) -> Iterator[Row]:
        with _readable(self.path):
            found = self._connection.execute(
                "SELECT setting, number, seed, record, seconds, versions "
                "FROM runs JOIN settings USING (place) ORDER BY place, number"
            ).fetchall()
            for setting, number, seed, record, seconds, made_with in found:
                if not isinstance(number, int) or not isinstance(seed, int):
                    raise ValueError(f"there is no run {number!r:.20} of seed {seed!r:.20}")
                run = Run(_flat(setting), number)
                yield Row(run, seed, _flat(record), float(seconds), str(made_with))

    def _place(self, setting: Setting) -> int:
        key = canonical(setting)
        self._connection.execute(
            "INSERT OR IGNORE INTO settings (key, setting) VALUES (?, ?)",
            (key, json.dumps(dict(setting))),
        )
        found = self._connection.execute("SELECT place FROM settings WHERE key = ?", (key,))
        return int(found.fetchone()[0])


@cache
def versions() -> str:
    """Return versions of qubonn, Python and what the numbers depend on, as JSON.

    >>> sorted(json.loads(versions()))
    ['numba', 'numpy', 'python', 'qubonn', 'scipy']
    """
    found = {name: version(name) for name in ("numpy", "scipy", "numba")}
    return canonical(found | {"qubonn": __version__, "python": platform.python_version()})


def _locked(path: Path) -> sqlite3.Connection:
    """Lock the store against other writers; the system frees the lock when this process ends."""
    lock = sqlite3.connect(f"{path}-lock", timeout=0, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        raise QubonnError(
            f"{path} is being written by another process; wait for it, or name another store"
        ) from error
    return lock


def _is_new(path: Path, connection: sqlite3.Connection) -> bool:
    """Whether the file is empty; another kind of file is refused."""
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    if tables == 0 and application in (0, APPLICATION):
        return True
    if application != APPLICATION:
        raise FileFormatError(f"{path} must be a store of qubonn; it is another SQLite file")
    found = connection.execute("PRAGMA user_version").fetchone()[0]
    if found != FORMAT:
        raise FileFormatError(
            f"{path} must be a store of format {FORMAT}; got format {found}: "
            "use the qubonn that wrote it"
        )
    made = {text for (text,) in connection.execute("SELECT sql FROM sqlite_master")}
    if not made.issuperset(_SCHEMA[:3]):  # a view in place of a table could run for ever
        raise FileFormatError(f"{path} must be a store of qubonn; its tables are others")
    return False


def _fill(connection: sqlite3.Connection, study: Study) -> None:
    """Create the tables of an empty file, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    for statement in _SCHEMA:
        connection.execute(statement)
    values = (1, canonical(study.spec), study.digest, time.time())
    connection.execute("INSERT INTO study VALUES (?, ?, ?, ?)", values)
    connection.execute("COMMIT")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turn errors of a broken file into a FileFormatError, those of the disk into an OSError."""
    with guard(path):
        try:
            yield
        except sqlite3.Error as error:
            code = _DISK.get(getattr(error, "sqlite_errorcode", 0) & 0xFF)  # without its details
            if code is not None:
                raise OSError(code, os.strerror(code), os.fspath(path)) from error
            raise _broken(path, error) from error
        except (TypeError, ValueError, KeyError, RecursionError) as error:
            if isinstance(error, QubonnError):
                raise
            raise _broken(path, error) from error


def _broken(path: Path, error: Exception) -> FileFormatError:
    return FileFormatError(f"{path} must be a store of qubonn; it cannot be read: {error!s:.200}")


def _flat(text: str, *, lists: bool = False) -> dict[str, Any]:
    """Read a record of plain values; raise ValueError if it is anything else."""
    found = json.loads(text)
    plain = (str, int, float, type(None), list) if lists else (str, int, float, type(None))
    if not isinstance(found, dict) or not all(isinstance(one, plain) for one in found.values()):
        raise ValueError(f"a record must be plain values by name; got {text!r:.60}")
    return found


def _require_same(path: Path, here: dict[str, Any], there: dict[str, Any]) -> None:
    lines = [
        f"{name}: {here.get(name)!s:.60} here, {there.get(name)!s:.60} there"
        for name in here | there
        if here.get(name) != there.get(name)
    ]
    if lines:
        listed = "\n  ".join(lines)
        raise StudyMismatch(
            f"{path} holds another study; name another store, or ask for what is there:\n  {listed}"
        )
