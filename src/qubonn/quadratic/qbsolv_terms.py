"""The lines of a .qubo file behind its p line, many at a time.

Text -> arrays of terms, and from a term back to the line it stands in.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError

BYTES_AT_ONCE = 1 << 21
TERM = re.compile(rb"\s*[+-]?\d{1,18}\s+[+-]?\d{1,18}\s+[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*")


@dataclass(frozen=True)
class Place:
    """Where lines begin: byte and line number, counted from 0 and from 1."""

    byte: int
    line: int


@dataclass(frozen=True)
class Terms:
    """Terms as they stand in the file."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[Any]


def read_terms(path: str, data: bytes, body: Place) -> Terms:
    """Read the terms from `body` on: int64 values if all are whole, otherwise float64."""
    parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
    for block, first_line in _blocks(data, body):
        terms = _without_comments(block)
        if b"_" in terms or not _has_three_fields_a_line(terms):  # Python reads 1_0 as ten
            _refuse_bad_line(path, block, first_line)
        fields = terms.split()
        try:
            first, second, third = fields[::3], fields[1::3], fields[2::3]
            parts.append((_whole_numbers(first), _whole_numbers(second), _values(third)))
        except (ValueError, OverflowError):
            _refuse_bad_line(path, block, first_line)
            raise
    rows, columns, values = zip(*parts, strict=True) if parts else ([[]], [[]], [[]])
    return Terms(
        np.concatenate(rows).astype(np.int64, copy=False),
        np.concatenate(columns).astype(np.int64, copy=False),
        np.concatenate(values),
    )


def line_of_term(data: bytes, body: Place, term: int) -> tuple[int, bytes]:
    """Return the number and the text of the line with this term."""
    lines = (
        (number, line)
        for block, first_line in _blocks(data, body)
        for number, line in enumerate(block.split(b"\n"), first_line)
        if _fields(line)
    )
    return next(islice(lines, term, None))


def is_comment(line: bytes) -> bool:
    """Say whether other programs skip this line."""
    return line[:1] in (b"c", b"C")


def shown_line(text: bytes) -> str:
    """Return the start of a line for an error."""
    return repr(text[:60].decode("ascii", "replace"))


def _blocks(data: bytes, body: Place) -> Iterator[tuple[bytes, int]]:
    """Cut the terms at line ends into blocks, each with the number of its first line."""
    place = body
    while place.byte < len(data):
        end = data.find(b"\n", place.byte + BYTES_AT_ONCE)
        block = data[place.byte : len(data) if end < 0 else end]
        yield block, place.line
        place = Place(place.byte + len(block) + 1, place.line + block.count(b"\n") + 1)


def _without_comments(block: bytes) -> bytes:
    if b"c" not in block and b"C" not in block:
        return block
    return b"\n".join(line for line in block.split(b"\n") if _fields(line))


def _has_three_fields_a_line(terms: bytes) -> bool:
    characters = np.frombuffer(terms, dtype=np.uint8)
    is_space = np.isin(np.arange(256), list(b" \t\r\v\f\n"))[characters]
    begins_field = ~is_space
    begins_field[1:] &= is_space[:-1]
    field_counts = np.bincount(np.cumsum(characters == ord("\n"))[begins_field])
    return bool(((field_counts == 3) | (field_counts == 0)).all())


def _fields(line: bytes) -> list[bytes] | None:
    """Return the fields of a term, and nothing for a comment or a blank line."""
    fields = line.split()
    return fields if fields and not is_comment(fields[0]) else None


def _whole_numbers(texts: Sequence[bytes]) -> NDArray[np.int64]:
    return np.fromiter(map(int, texts), np.int64, len(texts))


def _values(texts: Sequence[bytes]) -> NDArray[Any]:
    try:
        return _whole_numbers(texts)
    except (ValueError, OverflowError):
        return np.fromiter(map(float, texts), np.float64, len(texts))


def _refuse_bad_line(path: str, block: bytes, first_line: int) -> None:
    for number, line in enumerate(block.split(b"\n"), first_line):
        if _fields(line) and not TERM.fullmatch(line):
            raise FileFormatError(
                f"{path}, line {number} must be two variable numbers and a value; "
                f"got {shown_line(line)}"
            )
