"""SQLite as a store needs it: many processes, no half-written row, no foreign file.

Path -> connection; blocks of statements that happen as a whole or not at all.
"""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from qubonn.errors import FileFormatError, QubonnError

APPLICATION = 0x71_62_6E_6E  # "qbnn", so that another SQLite file is not taken for a store
FORMAT = 1
WAIT_SECONDS = 60.0  # for another process that is writing
_BROKEN = (sqlite3.DatabaseError, TypeError, ValueError, KeyError)  # what bad files raise


def connect(path: Path) -> sqlite3.Connection:
    """Open a file that many may write to; what is committed is on the disk."""
    # transactions are opened and closed by `transaction` alone
    with reading(path):
        connection = sqlite3.connect(path, timeout=WAIT_SECONDS, isolation_level=None)
    with reading(path, connection):
        connection.execute("PRAGMA trusted_schema = OFF")  # somebody may have sent us the file
        is_new(path, connection)  # leave a file of somebody else as it is
        deadline = time.monotonic() + WAIT_SECONDS
        while True:  # changing to WAL does not wait for others by itself
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
        connection.execute("PRAGMA synchronous = FULL")  # committed means on the disk
        return connection


def is_new(path: Path, connection: sqlite3.Connection) -> bool:
    """Whether there is nothing in the file yet; another kind of file is refused."""
    # tables first: another process may be making them, and marks the file in the same moment
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
    return False


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """All of the block or nothing; waits for other writers at the start, never in between."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield connection
    except BaseException:
        connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


@contextmanager
def reading(path: Path, connection: sqlite3.Connection | None = None) -> Iterator[None]:
    """Turn whatever a broken or foreign file raises into one clear error.

    A connection that is given is closed if anything is raised.
    """
    try:
        yield
    except BaseException as error:
        if connection is not None:
            connection.close()
        if isinstance(error, QubonnError) or not isinstance(error, _BROKEN):
            raise
        raise FileFormatError(
            f"{path} must be a store of qubonn; it cannot be read: {error}"
        ) from error


def fill(connection: sqlite3.Connection, schema: str) -> None:
    """Make the tables of an empty file, in the transaction that is open, and mark it as ours."""
    statement = ""
    for line in schema.strip().splitlines():
        statement += line + "\n"
        if sqlite3.complete_statement(statement):  # a trigger is one, though it has semicolons
            connection.execute(statement)
            statement = ""
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {FORMAT}")
