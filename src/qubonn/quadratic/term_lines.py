"""Lines ``i j value``: what the text files of qbsolv, COO, MatrixMarket and rudy have in common.

Rows, columns, values <-> lines.  Values are int64 if every one is written as a whole number,
otherwise float64; both come back exactly.
"""

import io
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.storage import open_bytes, read_limited

LINES_AT_ONCE = 1 << 17
MOST_SILENT = 1 << 20  # variables without a line: a small file must not need much memory

NUMBER = rb"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
TERM = re.compile(rb"\s*([+-]?\d{1,18})\s+([+-]?\d{1,18})\s+(" + NUMBER + rb")\s*")

# what most programs write, for numpy to read at once; 18 digits fit int64, 15 digits float64
PLAIN = rb"(?:\d{1,15} \d{1,15} %b\r?\n)++"
PLAIN_WHOLE, PLAIN_FLOAT = re.compile(PLAIN % rb"-?\d{1,18}"), re.compile(PLAIN % NUMBER)


class Entries(NamedTuple):
    """The terms in the order of the file, and the number of each one's line."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[Any]
    lines: Sequence[int]

    def refuse(self, path: str, is_bad: NDArray[np.bool_], what: str) -> None:
        """Raise for the first bad line, if there is one."""
        if is_bad.any():
            term = int(is_bad.argmax())
            got = f"{self.rows[term]} {self.columns[term]} {self.values[term]}"
            raise FileFormatError(f"{path}, line {self.lines[term]} {what}; got {got!r}")

    def require_range(self, path: str, first: int, count: int) -> None:
        """Raise unless variables are numbered from `first` and values are finite."""
        low, high = np.minimum(self.rows, self.columns), np.maximum(self.rows, self.columns)
        is_outside = (low < first) | (high >= first + count)
        self.refuse(path, is_outside, f"must have variable numbers in {first}..{first + count - 1}")
        self.refuse(path, ~np.isfinite(self.values), "must have a finite value")


def read_text(path: str) -> bytes:
    """Return the bytes of a file, unpacked if its name ends in .gz."""
    if not path.lower().endswith(".gz"):
        return read_limited(path)
    with open_bytes(path) as stream:
        return stream.read()


def term_lines(
    rows: NDArray[Any], columns: NDArray[Any], values: NDArray[Any], form: str = "%d %d %r\n"
) -> Iterator[bytes]:
    """Write whole numbers as whole numbers, and floats so that they come back exactly."""
    for start in range(0, len(values), LINES_AT_ONCE):
        part = slice(start, start + LINES_AT_ONCE)
        terms = zip(rows[part].tolist(), columns[part].tolist(), values[part].tolist(), strict=True)
        yield "".join(map(form.__mod__, terms)).encode("ascii")


def read_terms(path: str, text: bytes, first_line: int, comment: bytes) -> Entries:
    """Read all lines; those that begin with a letter of `comment`, and blank ones, are skipped."""
    is_float = re.search(rb"[.eE]", text)
    if (PLAIN_FLOAT if is_float else PLAIN_WHOLE).fullmatch(text):
        table = np.fromstring(text, np.float64 if is_float else np.int64, sep=" ").reshape(-1, 3)
        rows, columns = table[:, :2].T.astype(np.int64)
        return Entries(rows, columns, table[:, 2], range(first_line, first_line + len(table)))
    terms, skipped = [], comment_line(comment)
    for line_number, line in enumerate(io.BytesIO(text), first_line):
        if match := TERM.fullmatch(line):
            row, column, value = match.groups()
            terms.append((int(row), int(column), parsed_number(value), line_number))
        elif not skipped.fullmatch(line):
            raise FileFormatError(
                f"{path}, line {line_number} must be two variable numbers and a finite value; "
                f"got {shown_line(line)}"
            )
    first, second, values, numbers = zip(*terms, strict=True) if terms else ((), (), (), ())
    kind = np.int64 if all(type(value) is int for value in values) else np.float64
    rows, columns = np.array([first, second], dtype=np.int64)
    return Entries(rows, columns, np.array(values, dtype=kind), numbers)


def comment_line(letters: bytes) -> re.Pattern[bytes]:
    """Return a pattern of comments that begin with one of these letters, and of blank lines."""
    return re.compile(rb"\s*(?:[%b].*)?" % letters, re.DOTALL)


def parsed_number(text: bytes) -> int | float:
    """Return a whole number if it is written as one and fits 64 bits, otherwise a float."""
    if len(text) <= 20 and text.lstrip(b"+-").isdigit():
        whole = int(text)
        return whole if -(2**63) < whole < 2**63 else float(whole)
    return float(text)


def require_few_silent(path: str, count: int, mentioned: int) -> None:
    """Refuse a small file that declares many variables."""
    if count > mentioned + MOST_SILENT:
        raise FileFormatError(
            f"{path} must mention its variables; it declares {count:,}, more than "
            f"{MOST_SILENT:,} of them without a line"
        )


def shown_line(line: bytes) -> str:
    """Return the start of a line for an error."""
    return repr(line.strip()[:60].decode("ascii", "replace"))
