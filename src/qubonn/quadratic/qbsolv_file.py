"""Qubo <-> .qubo: the text of qbsolv, which most QUBO programs read.

    c qubonn qubo 1
    c offset : 12
    c label 0 ["weight", 0]
    p qubo 0 2 2 1
    0 0 -3
    1 1 0
    0 1 2

A line with c is a comment; the p line counts variables, lines ``i i value`` and lines
``i j value``.  We write a line for every variable, as the format asks, zeros included, and keep
offset and labels in comments; QUBOTools.jl reads the offset too.  In a file of another program
comments say nothing, variables without a line have no linear term, and lines may come in any
order.  As in qbsolv, i > j and other counts than promised are refused; so are repeated pairs,
which the format forbids and programs read differently (the last one counts, or the sum).
Values are int64 if every one is written as a whole number, otherwise float64.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import (
    Label,
    are_default,
    label_text,
    plain_labels,
    read_labels,
)
from qubonn.quadratic.qubo import Qubo
from qubonn.quadratic.strict_json import parse_json
from qubonn.storage import read_limited, write_whole

__all__ = ["read_qbsolv", "write_qbsolv"]

SIGNATURE, VERSION = b"c qubonn qubo ", 1
OFFSET, LABEL = b"c offset : ", b"c label "
MOST_SILENT = 1 << 20  # variables that no line mentions: a file cannot ask for much more than it is
LINES_AT_ONCE = 1 << 17
BYTES_AT_ONCE = 1 << 21


def write_qbsolv(qubo: Qubo, path: str) -> None:
    """Write whole numbers as whole numbers, and floats so that they come back exactly."""
    write_whole(path, b"".join(_pieces(path, qubo)))


def read_qbsolv(path: str) -> Qubo:
    """Read a file of ours or of any other program."""
    data = read_limited(path)
    preamble, body = _read_preamble(path, data)
    terms = _read_terms(path, data, body)
    _require_counts(path, preamble, terms)
    _require_pairs(path, data, body, preamble, terms)
    return Qubo.of(
        terms.rows,
        terms.columns,
        terms.values,
        variable_count=preamble.variable_count,
        offset=preamble.offset,
        labels=preamble.labels,
    )


def _pieces(path: str, qubo: Qubo) -> Iterator[bytes]:
    count = qubo.variable_count
    labels = plain_labels(path, qubo.labels)
    yield b"%b%d\n" % (SIGNATURE, VERSION)
    yield b"%b%a\n" % (OFFSET, np.array(qubo.offset).item())
    if not are_default(labels):
        for number, label in enumerate(labels):
            yield b"%b%d %b\n" % (LABEL, number, label_text(label).encode("ascii"))
    yield b"p qubo 0 %d %d %d\n" % (count, count, qubo.coupling_count)
    everyone = np.arange(count)
    yield from _lines(everyone, everyone, qubo.linear)
    yield from _lines(qubo.rows, qubo.columns, qubo.couplings)


def _lines(rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any]) -> Iterator[bytes]:
    for start in range(0, len(values), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        terms = zip(rows[part].tolist(), columns[part].tolist(), values[part].tolist(), strict=True)
        yield "".join(map("%d %d %r\n".__mod__, terms)).encode("ascii")


@dataclass(frozen=True)
class _Place:
    """Where lines begin: byte and line number, counted from 0 and from 1."""

    byte: int
    line: int


@dataclass(frozen=True)
class _Preamble:
    variable_count: int
    linear_count: int
    coupling_count: int
    offset: int | float
    labels: Sequence[Label]


@dataclass(frozen=True)
class _Terms:
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[Any]


def _read_preamble(path: str, data: bytes) -> tuple[_Preamble, _Place]:
    """Read all up to the p line; the terms begin behind it."""
    is_ours = data.startswith(SIGNATURE)
    offset: int | float = 0
    names: list[object] = []
    place = _Place(0, 1)
    while place.byte < len(data):
        end = data.find(b"\n", place.byte)
        after = _Place(len(data) if end < 0 else end + 1, place.line + 1)
        line, where = data[place.byte : after.byte].strip(), f"{path}, line {place.line}"
        if line and not _is_comment(line):
            counts = _counts(where, line)
            labels = read_labels(path, names, counts[0]) if names else range(counts[0])
            return _Preamble(*counts, offset, labels), after
        if is_ours and line.startswith(SIGNATURE):
            _require_version(where, line)
        elif is_ours and line.startswith(OFFSET):
            offset = _number(where, line[len(OFFSET) :])
        elif is_ours and line.startswith(LABEL):
            names.append(_label(where, line[len(LABEL) :], len(names)))
        place = after
    raise FileFormatError(
        f"{path} must have a line 'p qubo 0 maxNodes nNodes nCouplers'; got none: "
        "it may be truncated or of another kind"
    )


def _is_comment(line: bytes) -> bool:
    return line[:1] in (b"c", b"C")


def _counts(where: str, line: bytes) -> tuple[int, int, int]:
    fields = line.split()
    is_header = len(fields) == 6 and fields[0] in (b"p", b"P") and fields[1].lower() == b"qubo"
    if not is_header or fields[2] not in (b"0", b"unconstrained"):
        raise FileFormatError(
            f"{where} must be 'p qubo 0 maxNodes nNodes nCouplers'; got {_shown(line)}"
        )
    if not all(field.isdigit() and len(field) < 20 for field in fields[3:]):
        raise FileFormatError(f"{where} must have three counts; got {_shown(line)}")
    variable_count, linear_count, coupling_count = map(int, fields[3:])
    if variable_count >= 2**31:
        raise FileFormatError(f"{where} must have fewer than 2**31 nodes; got {variable_count}")
    return variable_count, linear_count, coupling_count


def _require_version(where: str, line: bytes) -> None:
    if line != b"%b%d" % (SIGNATURE, VERSION):
        raise FileFormatError(
            f"{where} must end in version {VERSION}; got {_shown(line)}: "
            "a newer qubonn may have written it"
        )


def _number(where: str, text: bytes) -> int | float:
    whole = _parsed(int, text)
    number = whole if whole is not None and -(2**63) < whole < 2**63 else _parsed(float, text)
    if number is None or not np.isfinite(number):
        raise FileFormatError(f"{where} must have a finite number; got {_shown(text)}")
    return number


def _label(where: str, text: bytes, number: int) -> object:
    first, _, label = text.partition(b" ")
    if first != b"%d" % number:
        raise FileFormatError(
            f"{where} must be the label of variable {number}, as labels come in order; "
            f"got {_shown(text)}"
        )
    return parse_json(where, label)


def _read_terms(path: str, data: bytes, body: _Place) -> _Terms:
    parts: list[tuple[NDArray[Any], NDArray[Any], NDArray[Any]]] = []
    for lines, first_line in _line_blocks(data, body):
        fields = [line.split() for line in lines if line and not _is_comment(line)]
        fields = [line for line in fields if line]
        if not fields:
            continue
        try:
            first, second, third = zip(*fields, strict=True)
            parts.append((_integers(first), _integers(second), _values(third)))
        except (ValueError, OverflowError):
            raise _first_bad_line(path, lines, first_line) from None
    none: NDArray[Any] = np.zeros(0, dtype=np.int64)
    rows, columns, values = zip(*parts, strict=True) if parts else ((none,), (none,), (none,))
    return _Terms(np.concatenate(rows), np.concatenate(columns), np.concatenate(values))
