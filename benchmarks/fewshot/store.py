"""One SQLite file in which every finished training is a row: key -> result.

A row is on the disk before the next training begins; whoever kills the process loses the one in
flight. Settings are part of the key, so that other settings are other rows.
"""

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import astuple, dataclass
from pathlib import Path

Setting = str | int | float | None

_SCHEMA = """
CREATE TABLE IF NOT EXISTS fewshot_results (
    part TEXT, per_class INTEGER, seed INTEGER, method TEXT, settings TEXT,
    single REAL, committee REAL, seconds REAL, byte_count INTEGER, all_byte_count INTEGER,
    duration REAL NOT NULL, finished REAL NOT NULL,
    PRIMARY KEY (part, per_class, seed, method, settings))
"""


@dataclass(frozen=True)
class Key:
    """Which training."""

    part: str
    per_class: int  # images; 0 where all of a set are used
    seed: int
    method: str
    settings: str  # JSON

    @classmethod
    def of(
        cls, part: str, per_class: int, seed: int, method: str, settings: Mapping[str, Setting]
    ) -> "Key":
        """Make a key of settings by name."""
        return cls(part, per_class, seed, method, json.dumps(settings, sort_keys=True))


@dataclass(frozen=True)
class Result:
    """What came of a training; shares of right answers on the test examples."""

    single: float  # mean over the members
    committee: float | None  # None where there is one model only
    seconds: float  # of wall clock, to train one model; compilation not counted
    byte_count: int  # of one model
    all_byte_count: int  # of the committee


class Store:
    """An open store."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def get(self, key: Key) -> Result | None:
        """Return the result of a training, if it is finished."""
        found = self._connection.execute(
            "SELECT single, committee, seconds, byte_count, all_byte_count FROM fewshot_results "
            "WHERE part = ? AND per_class = ? AND seed = ? AND method = ? AND settings = ?",
            astuple(key),
        ).fetchone()
        return Result(*found) if found else None

    def add(self, key: Key, result: Result, duration: float) -> None:
        """Write a finished training to the disk; `duration` are the seconds that all of it took."""
        values = (*astuple(key), *astuple(result), duration, time.time())
        marks = ", ".join("?" for _ in values)
        with self._connection:
            self._connection.execute(
                f"INSERT OR REPLACE INTO fewshot_results VALUES ({marks})", values
            )

    def forget(self, method: str) -> None:
        """Remove all rows of a method, to have it trained again."""
        with self._connection:
            self._connection.execute("DELETE FROM fewshot_results WHERE method = ?", (method,))

    def duration(self, key: Key) -> float | None:
        """Return how long trainings like this one took, or else all of its method; None if none."""
        found = self._connection.execute(
            "SELECT coalesce(avg(CASE WHEN part = ? AND per_class = ? THEN duration END),"
            " avg(duration)) FROM fewshot_results WHERE method = ?",
            (key.part, key.per_class, key.method),
        ).fetchone()
        return None if found[0] is None else float(found[0])


@contextmanager
def opened(path: Path) -> Iterator[Store]:
    """Open a store, or make one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path, timeout=60)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # committed means on the disk
        connection.execute(_SCHEMA)
        yield Store(connection)
