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
from typing import NamedTuple

import numpy as np

from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import Label, plain_labels, read_labels
from qubonn.quadratic.qubo import Qubo
from qubonn.quadratic.term_lines import (
    NUMBER,
    Entries,
    comment_line,
    parsed_number,
    read_terms,
    read_text,
    require_few_silent,
    shown_line,
    term_lines,
)
from qubonn.storage import parse_json, write_whole

SIGNATURE, VERSION = b"c qubonn qubo ", 1
OFFSET, LABEL = b"c offset : ", b"c label "
COMMENT = comment_line(b"cC")
COUNTS = re.compile(rb"[pP]\s+[qQ][uU][bB][oO]\s+(?:0|unconstrained)" + 3 * rb"\s+(\d{1,19})")


def write_qbsolv(qubo: Qubo, path: str) -> None:
    """Write whole numbers as whole numbers, and floats so that they come back exactly."""
    write_whole(path, b"".join(_pieces(path, qubo)))


def read_qbsolv(path: str) -> Qubo:
    """Read a file of ours or of any other program."""
    text = io.BytesIO(read_text(path))
    preamble = _read_preamble(path, text)
    terms = read_terms(path, text.read(), preamble.line_count + 1, b"cC")
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
    yield from term_lines(np.arange(count), np.arange(count), qubo.linear)
    yield from term_lines(qubo.rows, qubo.columns, qubo.couplings)


class _Preamble(NamedTuple):
    variable_count: int
    linear_count: int
    coupling_count: int
    offset: int | float
    labels: Sequence[Label]
    line_count: int


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
            f"{where} must end in version {VERSION}; got {shown_line(line)}: "
            "a newer qubonn may have written it"
        )


def _offset(where: str, text: bytes) -> int | float:
    value = parsed_number(text) if re.fullmatch(NUMBER, text) else float("nan")
    if not isfinite(value):
        raise FileFormatError(f"{where} must have a finite number; got {shown_line(text)}")
    return value


def _label(where: str, text: bytes, number: int) -> object:
    first, _, label = text.partition(b" ")
    if first != b"%d" % number:
        raise FileFormatError(
            f"{where} must be the label of variable {number}, as labels come in order; "
            f"got {shown_line(text)}"
        )
    return parse_json(where, label)


def _counts(where: str, line: bytes) -> tuple[int, int, int]:
    match = COUNTS.fullmatch(line)
    if match is None:
        raise FileFormatError(
            f"{where} must be 'p qubo 0 maxNodes nNodes nCouplers' with three counts; "
            f"got {shown_line(line)}"
        )
    variable_count, linear_count, coupling_count = map(int, match.groups())
    if variable_count >= 2**31:
        raise FileFormatError(f"{where} must have fewer than 2**31 nodes; got {variable_count}")
    return variable_count, linear_count, coupling_count


def _require_counts(path: str, preamble: _Preamble, terms: Entries) -> None:
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
    mentioned = preamble.linear_count + 2 * preamble.coupling_count
    require_few_silent(path, preamble.variable_count, mentioned)


def _require_pairs(path: str, preamble: _Preamble, terms: Entries) -> None:
    rows, columns, count = terms.rows, terms.columns, preamble.variable_count
    terms.require_range(path, 0, count)
    terms.refuse(path, rows > columns, "must have its smaller variable number first")
    pairs = rows * count + columns
    order, is_repeat = np.argsort(pairs, kind="stable"), np.zeros(len(pairs), dtype=bool)
    is_repeat[order[1:]] = np.diff(pairs[order]) == 0
    terms.refuse(path, is_repeat, "must not repeat a pair of an earlier line")
