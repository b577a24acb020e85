"""Qubo <-> .qubo: the text of qbsolv, which most QUBO programs read.

    c qubonn qubo 1
    c offset : 12
    c label 0 ["weight", 0]
    p qubo 0 2 2 1
    0 0 -3
    1 1 0
    0 1 2

A line with c is a comment; the p line counts variables, lines ``i i value`` and lines
``i j value``.  We write a line for every variable, as the format requires, zeros included, and keep
offset and labels in comments; QUBOTools.jl reads the offset too.  In a file of another program
comments mean nothing, variables without a line have no linear term, and lines may come in any
order.  As in qbsolv, i > j and counts other than declared are refused; so are repeated pairs,
which the format forbids and programs read differently (the last one counts, or the sum).
Values are int64 if every one is written as a whole number, otherwise float64.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import Label, plain_labels, read_labels
from qubonn.quadratic.qubo import Qubo
from qubonn.storage import parse_json, read_limited, write_whole

SIGNATURE, VERSION = b"c qubonn qubo ", 1
OFFSET, LABEL = b"c offset : ", b"c label "
MOST_SILENT = 1 << 20  # variables without a line: a small file must not need much memory
LINES_AT_ONCE = 1 << 17

NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
COMMENT = re.compile(rb"\s*(?:[cC].*)?", re.DOTALL)  # or a blank line
TERM = re.compile(rb"\s*([+-]?\d{1,18})\s+([+-]?\d{1,18})\s+(" + NUMBER + rb")\s*")
COUNTS = re.compile(rb"[pP]\s+[qQ][uU][bB][oO]\s+(?:0|unconstrained)" + 3 * rb"\s+(\d{1,19})")

# what most programs write, for numpy to read at once; 18 digits fit int64, 15 digits float64
PLAIN = rb"(?:\d{1,15} \d{1,15} %b\r?\n)++"
PLAIN_WHOLE, PLAIN_FLOAT = re.compile(PLAIN % rb"-?\d{1,18}"), re.compile(PLAIN % NUMBER)


def write_qbsolv(qubo: Qubo, path: str) -> None:
    """Write whole numbers as whole numbers, and floats so that they come back exactly."""
    write_whole(path, b"".join(_pieces(path, qubo)))


def read_qbsolv(path: str) -> Qubo:
    """Read a file of ours or of any other program."""
    text = io.BytesIO(read_limited(path))
    preamble = _read_preamble(path, text)
    terms = _read_terms(path, text.read(), preamble.line_count + 1)
    _require_counts(path, preamble, terms)
    _require_pairs(path, preamble, terms)
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
    if not isinstance(labels, range):
        for number, label in enumerate(labels):
            yield b"%b%d %b\n" % (LABEL, number, json.dumps(label).encode("ascii"))
    yield b"p qubo 0 %d %d %d\n" % (count, count, qubo.coupling_count)
    yield from _lines(np.arange(count), np.arange(count), qubo.linear)
    yield from _lines(qubo.rows, qubo.columns, qubo.couplings)


def _lines(rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any]) -> Iterator[bytes]:
    for start in range(0, len(values), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        terms = zip(rows[part].tolist(), columns[part].tolist(), values[part].tolist(), strict=True)
        yield "".join(map("%d %d %r\n".__mod__, terms)).encode("ascii")


class _Preamble(NamedTuple):
    variable_count: int
    linear_count: int
    coupling_count: int
    offset: int | float
    labels: Sequence[Label]
    line_count: int


class _Entries(NamedTuple):
    """The terms in the order of the file, and the number of each one's line."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[Any]
    lines: Sequence[int]


def _read_preamble(path: str, lines: Iterable[bytes]) -> _Preamble:
    """Read up to the p line; offset and labels count only below our signature."""
    is_ours, offset, labels = False, None, list[object]()
    for number, padded in enumerate(lines, start=1):
        line, where = padded.strip(), f"{path}, line {number}"
        if line.startswith(SIGNATURE):
            _require_version(where, line)
            is_ours = True
        elif is_ours and line.startswith(OFFSET):
            offset = _offset(where, line.removeprefix(OFFSET))
        elif is_ours and line.startswith(LABEL):
            labels.append(_label(where, line.removeprefix(LABEL), len(labels)))
        elif not COMMENT.fullmatch(line):
            break
    else:
        raise FileFormatError(
            f"{path} must have a line 'p qubo 0 maxNodes nNodes nCouplers'; got none: "
            "it may be truncated or of another kind"
        )
    counts = _counts(where, line)
    if is_ours and offset is None:
        raise FileFormatError(f"{path} must have a line '{OFFSET.decode()}...' before its p line")
    names = read_labels(path, labels, counts[0]) if labels else range(counts[0])
    return _Preamble(*counts, offset or 0, names, number)


def _require_version(where: str, line: bytes) -> None:
    if line != b"%b%d" % (SIGNATURE, VERSION):
        raise FileFormatError(
            f"{where} must end in version {VERSION}; got {_shown(line)}: "
            "a newer qubonn may have written it"
        )


def _offset(where: str, text: bytes) -> int | float:
    number = _number(text) if re.fullmatch(NUMBER, text) else float("nan")
    if not isfinite(number):
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


def _counts(where: str, line: bytes) -> tuple[int, int, int]:
    match = COUNTS.fullmatch(line)
    if match is None:
        raise FileFormatError(
            f"{where} must be 'p qubo 0 maxNodes nNodes nCouplers' with three counts; "
            f"got {_shown(line)}"
        )
    variable_count, linear_count, coupling_count = map(int, match.groups())
    if variable_count >= 2**31:
        raise FileFormatError(f"{where} must have fewer than 2**31 nodes; got {variable_count}")
    return variable_count, linear_count, coupling_count


def _read_terms(path: str, text: bytes, first_line: int) -> _Entries:
    """Read the lines below the p line: int64 values if all are whole, otherwise float64."""
    is_float = re.search(rb"[.eE]", text)
    if (PLAIN_FLOAT if is_float else PLAIN_WHOLE).fullmatch(text):
        table = np.fromstring(text, np.float64 if is_float else np.int64, sep=" ").reshape(-1, 3)
        rows, columns = table[:, :2].T.astype(np.int64)
        return _Entries(rows, columns, table[:, 2], range(first_line, first_line + len(table)))
    terms = []
    for number, line in enumerate(io.BytesIO(text), first_line):
        if match := TERM.fullmatch(line):
            row, column, value = match.groups()
            terms.append((int(row), int(column), _number(value), number))
        elif not COMMENT.fullmatch(line):
            raise FileFormatError(
                f"{path}, line {number} must be two variable numbers and a finite value; "
                f"got {_shown(line)}"
            )
    first, second, values, numbers = zip(*terms, strict=True) if terms else ((), (), (), ())
    kind = np.int64 if all(type(value) is int for value in values) else np.float64
    rows, columns = np.array([first, second], dtype=np.int64)
    return _Entries(rows, columns, np.array(values, dtype=kind), numbers)


def _number(text: bytes) -> int | float:
    """Return a whole number if it is written as one and fits 64 bits, otherwise a float."""
    if len(text) <= 20 and text.lstrip(b"+-").isdigit():
        whole = int(text)
        return whole if -(2**63) < whole < 2**63 else float(whole)
    return float(text)


def _require_counts(path: str, preamble: _Preamble, terms: _Entries) -> None:
    linear_count = int((terms.rows == terms.columns).sum())
    for form, promised, found in (
        ("'i i value'", preamble.linear_count, linear_count),
        ("'i j value'", preamble.coupling_count, len(terms.rows) - linear_count),
    ):
        if promised != found:
            raise FileFormatError(
                f"{path} must have {promised} lines {form}, as its p line says; got {found}: "
                "it may be truncated"
            )
    most = preamble.linear_count + 2 * preamble.coupling_count + MOST_SILENT
    if preamble.variable_count > most:
        raise FileFormatError(
            f"{path} must mention its variables; its p line promises {preamble.variable_count:,}, "
            f"more than {MOST_SILENT:,} of them without a line"
        )


def _require_pairs(path: str, preamble: _Preamble, terms: _Entries) -> None:
    rows, columns, count = terms.rows, terms.columns, preamble.variable_count

    def refuse(is_bad: NDArray[np.bool_], what: str) -> None:
        if is_bad.any():
            term = int(is_bad.argmax())
            got = f"{rows[term]} {columns[term]} {terms.values[term]}"
            raise FileFormatError(f"{path}, line {terms.lines[term]} {what}; got {got!r}")

    is_outside = (np.minimum(rows, columns) < 0) | (np.maximum(rows, columns) >= count)
    refuse(is_outside, f"must have variable numbers in 0..{count - 1}")
    refuse(rows > columns, "must have its smaller variable number first")
    pairs = rows * count + columns
    order, is_repeat = np.argsort(pairs, kind="stable"), np.zeros(len(pairs), dtype=bool)
    is_repeat[order[1:]] = np.diff(pairs[order]) == 0
    refuse(is_repeat, "must not repeat a pair of an earlier line")
    refuse(~np.isfinite(terms.values), "must have a finite value")


def _shown(line: bytes) -> str:
    """Return the start of a line for an error."""
    return repr(line.strip()[:60].decode("ascii", "replace"))
