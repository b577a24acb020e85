"""Store: one SQLite file a study, in which every finished run is a row.

Study, outcomes <-> file.  A run is claimed before it starts and committed when it ends; a process
that dies loses its runs in flight and nothing else, and another one takes them up.
"""

import json
import os
import secrets
import socket
import sqlite3
import time
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

from qubonn.errors import FileFormatError, StudyMismatch
from qubonn.experiments.database import connect, fill, is_new, reading, transaction
from qubonn.experiments.outcome import Outcome, Temperatures
from qubonn.experiments.performing import Tuned
from qubonn.experiments.rows import COLUMNS, Row, row_of, trials_of, values_of
from qubonn.experiments.spec import TUNING, Run, Study

STALE_SECONDS = 60.0  # without a sign of life from another machine's process

_SCHEMA = f"""
CREATE TABLE study (
    only INTEGER PRIMARY KEY CHECK (only = 1), spec TEXT NOT NULL, digest TEXT NOT NULL,
    created REAL NOT NULL);
CREATE TABLE tunings (
    setting INTEGER PRIMARY KEY, seed INTEGER NOT NULL, hottest REAL NOT NULL,
    coldest REAL NOT NULL, trials TEXT NOT NULL, seconds REAL NOT NULL, versions TEXT NOT NULL);
CREATE TABLE runs (
    setting INTEGER NOT NULL, number INTEGER NOT NULL, {", ".join(COLUMNS)},
    versions TEXT NOT NULL, finished REAL NOT NULL, PRIMARY KEY (setting, number));
CREATE TABLE owners (
    owner TEXT PRIMARY KEY, host TEXT NOT NULL, process INTEGER NOT NULL, seen REAL NOT NULL);
CREATE TABLE claims (
    setting INTEGER NOT NULL, number INTEGER NOT NULL, owner TEXT NOT NULL,
    PRIMARY KEY (setting, number));
CREATE TRIGGER runs_stay BEFORE UPDATE ON runs
    BEGIN SELECT RAISE(ABORT, 'a finished run is never edited'); END;
CREATE TRIGGER runs_remain BEFORE DELETE ON runs
    BEGIN SELECT RAISE(ABORT, 'a finished run is never deleted'); END;
"""


class Store:
    """An open store. `Store.open` makes the file if there is none; `Store.read` does not."""

    def __init__(self, path: Path, connection: sqlite3.Connection, study: Study) -> None:
        self.path, self.study = path, study
        self._connection = connection
        self.owner = secrets.token_hex(8)
        self._has_claimed = False

    @classmethod
    def open(cls, path: str | os.PathLike[str], study: Study) -> "Store":
        """Open the store of a study, or make it; a store of another study is refused."""
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = connect(path)
        with reading(path, connection), transaction(connection):
            if is_new(path, connection):
                fill(connection, _SCHEMA)
                values = (1, study.canonical, study.digest, time.time())
                connection.execute("INSERT INTO study VALUES (?, ?, ?, ?)", values)
        store = cls.read(path, connection)
        if store.study != study:
            connection.close()
            lines = "\n  ".join(study.differences(store.study))
            raise StudyMismatch(
                f"{path} holds another study; name another store, or ask for what is there:\n"
                f"  {lines}"
            )
        return store

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], connection: sqlite3.Connection | None = None
    ) -> "Store":
        """Open a store that is there, whatever its study."""
        path = Path(path)
        if not path.is_file():
            raise FileFormatError(f"{path} must be a store made by qubonn reproduce; there is none")
        connection = connection or connect(path)
        with reading(path, connection):
            if is_new(path, connection):
                raise FileFormatError(f"{path} must be a store of qubonn; it is empty")
            spec = connection.execute("SELECT spec FROM study").fetchone()
            return cls(path, connection, Study.parse(spec[0]))

    def close(self) -> None:
        """Give up the claims and close the file."""
        if self._has_claimed:  # who only reads writes nothing
            with transaction(self._connection) as connection:
                connection.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))
                connection.execute("DELETE FROM owners WHERE owner = ?", (self.owner,))
        self._connection.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # ---- what is done ----

    def rows(self, setting: int | None = None) -> list[Row]:
        """Finished runs by setting and number."""
        columns = ", ".join(("setting", "number", *COLUMNS, "versions", "finished"))
        where = "" if setting is None else "WHERE setting = ?"
        found = self._connection.execute(
            f"SELECT {columns} FROM runs {where} ORDER BY setting, number",
            () if setting is None else (setting,),
        )
        with reading(self.path):
            return [row_of(values, len(self.study.settings)) for values in found]

    def done(self) -> set[Run]:
        """Runs that are finished, tunings too."""
        runs = self._connection.execute("SELECT setting, number FROM runs")
        tunings = self._connection.execute(f"SELECT setting, {TUNING} FROM tunings")
        return {Run(setting, number) for setting, number in (*runs, *tunings)}

    def temperatures(self, setting: int) -> Temperatures | None:
        """The tuned temperatures of a setting, if they are there."""
        found = self._connection.execute(
            "SELECT hottest, coldest FROM tunings WHERE setting = ?", (setting,)
        ).fetchone()
        return Temperatures(*found) if found else None

    def tunings(self) -> dict[int, Tuned]:
        """All tunings by setting."""
        found = self._connection.execute(
            "SELECT setting, seed, hottest, coldest, trials, seconds FROM tunings ORDER BY setting"
        )
        with reading(self.path):
            return {
                setting: Tuned(seed, Temperatures(hot, cold), trials_of(trials), seconds)
                for setting, seed, hot, cold, trials, seconds in found
            }

    # ---- what is being done ----

    def claim(self, runs: Iterable[Run], count: int) -> list[Run]:
        """Claim the first `count` of the runs that are neither finished nor claimed by the living.

        The cost is that of the runs looked at, so leave out those that are known to be finished.
        """
        self._has_claimed = True
        with transaction(self._connection) as connection:
            self._sign_of_life()
            self._drop_claims_of_the_dead()
            free = list(islice((run for run in runs if self._is_free(run)), count))
            connection.executemany(
                "INSERT INTO claims VALUES (?, ?, ?)",
                [(run.setting, run.number, self.owner) for run in free],
            )
        return free

    def release(self, runs: Iterable[Run]) -> None:
        """Give claimed runs back."""
        with transaction(self._connection) as connection:
            for run in runs:
                connection.execute(
                    "DELETE FROM claims WHERE setting = ? AND number = ? AND owner = ?",
                    (run.setting, run.number, self.owner),
                )

    def sign_of_life(self) -> None:
        """Tell the others that this process lives; without it its claims go to them."""
        with transaction(self._connection):
            self._sign_of_life()

    def commit(self, run: Run, result: Outcome | Tuned, versions: str) -> bool:
        """Write a finished run for good; False if somebody else has finished it before."""
        with transaction(self._connection) as connection:
            before = connection.total_changes
            if isinstance(result, Tuned):
                values: tuple[Any, ...] = (
                    run.setting,
                    result.seed,
                    result.temperatures.hottest,
                    result.temperatures.coldest,
                    json.dumps(result.trials),
                    result.seconds,
                    versions,
                )
                table = "tunings"
            else:
                values = (run.setting, run.number, *values_of(result), versions, time.time())
                table = "runs"
            marks = ", ".join("?" * len(values))
            connection.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", values)
            is_new = connection.total_changes > before
            connection.execute(
                "DELETE FROM claims WHERE setting = ? AND number = ?", (run.setting, run.number)
            )
        return is_new

    def _is_free(self, run: Run) -> bool:
        table, where = ("runs", "setting = ?1 AND number = ?2")
        if run.number == TUNING:
            table, where = ("tunings", "setting = ?1")
        found = self._connection.execute(
            f"SELECT 1 FROM {table} WHERE {where} "
            "UNION ALL SELECT 1 FROM claims WHERE setting = ?1 AND number = ?2",
            (run.setting, run.number),
        )
        return found.fetchone() is None

    def _sign_of_life(self) -> None:
        values = (self.owner, socket.gethostname(), os.getpid(), time.time())
        self._connection.execute("INSERT OR REPLACE INTO owners VALUES (?, ?, ?, ?)", values)

    def _drop_claims_of_the_dead(self) -> None:
        found = self._connection.execute("SELECT owner, host, process, seen FROM owners").fetchall()
        for owner, host, process, seen in found:
            if owner != self.owner and not _is_alive(host, process, seen):
                self._connection.execute("DELETE FROM owners WHERE owner = ?", (owner,))
        self._connection.execute("DELETE FROM claims WHERE owner NOT IN (SELECT owner FROM owners)")


def _is_alive(host: str, process: int, seen: float) -> bool:
    if time.time() - seen > STALE_SECONDS:
        return False
    if host != socket.gethostname() or os.name != "posix":  # elsewhere asking would kill it
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's process: it lives
        return True
    return True
