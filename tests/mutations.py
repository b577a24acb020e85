"""Damage a sound file: its bytes, the members of an archive, the numbers in a text, the cells of a
store.
"""

import io
import random
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path

TOKENS = (
    b"", b"\x00", b"\xff" * 8, b"-1", b"0", b"1e999", b"nan", b"inf", b"9" * 40, b"[" * 50, b"{",
    b'"', b",", b"\n", b"\r", b"\x1b[2J", b"\xef\xbb\xbf", b"null", b"true", b"(", b"'O'", b"<U9",
    b"4294967295", b"2147483648", b"c label", b"p qubo 0 99999999 0 0\n", b"SampleSet", b"\x1f\x8b",
)  # fmt: skip
CELLS = (None, "", "x", "[]", "{}", "null", "[" * 2000, -1, 0, 2**62, 1e308, float("inf"), b"\xff",
         '{"a": 1}', '{"network": 99}', '{"test_accuracy": "x"}', '{"network": null}')  # fmt: skip


def mutated(draw: random.Random, data: bytes) -> bytes:
    """Return the bytes with some of them changed, removed, repeated or replaced by odd ones."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 8))):
        data = draw.choice(MUTATIONS)(draw, data)
    return data


def _flip(draw: random.Random, data: bytes) -> bytes:
    changed = bytearray(data or b"\0")
    changed[draw.randrange(len(changed))] = draw.randrange(256)
    return bytes(changed)


def _cut(draw: random.Random, data: bytes) -> bytes:
    start = draw.randrange(len(data) + 1)
    return data[:start] + data[start + draw.choice((1, 2, 8, 100, len(data))) :]


def _repeat(draw: random.Random, data: bytes) -> bytes:
    start, to = draw.randrange(len(data) + 1), draw.randrange(len(data) + 1)
    piece = data[start : start + draw.choice((1, 4, 30, 1000))]
    return data[:to] + piece * draw.choice((1, 1, 2, 50)) + data[to:]


def _insert(draw: random.Random, data: bytes) -> bytes:
    start = draw.randrange(len(data) + 1)
    return data[:start] + draw.choice(TOKENS) + data[start + draw.choice((0, 0, 1, 4)) :]


def _digit(draw: random.Random, data: bytes) -> bytes:
    places = [place for place, byte in enumerate(data[:20_000]) if 48 <= byte <= 57]
    if not places:
        return _flip(draw, data)
    place = draw.choice(places)
    return data[:place] + draw.choice((b"-", b"99999999999", b"0", b"1", b".5")) + data[place + 1 :]


MUTATIONS: tuple[Callable[[random.Random, bytes], bytes], ...] = (
    _flip, _cut, _repeat, _insert, _digit,
)  # fmt: skip


def mutated_archive(draw: random.Random, data: bytes) -> bytes:
    """Return a zip archive with one sound directory and one damaged member."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name = draw.choice(sorted(members))
    match draw.randrange(8):
        case 0:
            del members[name]
        case 1:
            members[draw.choice(sorted(members))] = members[name]
        case 2:
            members[name[:-4] + draw.choice("xyz") + ".npy"] = members.pop(name)
        case _:
            members[name] = mutated(draw, members[name])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for one, content in members.items():
            archive.writestr(zipfile.ZipInfo(one), content)
    return buffer.getvalue()


def mutate_store(draw: random.Random, path: Path) -> None:
    """Change one cell of a SQLite file, in place, to something odd."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")  # waits for no disk
    connection.execute("PRAGMA journal_mode = MEMORY")
    connection.execute("DROP TRIGGER IF EXISTS runs_stay")
    connection.execute("DROP TRIGGER IF EXISTS runs_remain")
    table, columns = draw.choice(
        [("study", ("spec", "digest", "created")), ("settings", ("key", "setting", "place")),
         ("runs", ("place", "number", "seed", "record", "seconds", "versions"))]
    )  # fmt: skip
    column = draw.choice(columns)
    (text,) = connection.execute(f"SELECT {column} FROM {table} LIMIT 1").fetchone()
    value = draw.choice(CELLS)
    if isinstance(text, str) and draw.random() < 0.6:
        value = mutated(draw, text.encode()).decode("utf-8", "replace")
    try:
        connection.execute(f"UPDATE OR REPLACE {table} SET {column} = ?", (value,))
    except sqlite3.Error:  # NULL where there must be none
        connection.execute(f"DELETE FROM {table}")
    connection.commit()
    connection.close()
