"""The rows of a CSV file as text: separator, header and quotes understood, nothing else.

Path -> names of columns, then rows of cells, each with its line in the file.
"""

import csv
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

from qubonn.datasets.opening import Source, open_bytes, shown_source
from qubonn.errors import FileFormatError

SEPARATORS = (",", ";", "\t", "|")
MOST_COLUMNS = 1 << 20
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "<na>"})


@dataclass(frozen=True)
class CsvRows:
    """An open CSV file: iterate once to get (line number, cells); each row has all its cells."""

    source: str
    names: tuple[str, ...] | None  # None where there is no header
    width: int
    lines: Iterator[tuple[int, list[str]]]

    def __iter__(self) -> Iterator[tuple[int, list[str]]]:
        return self.lines


@contextmanager
def open_rows(
    path: Source, *, has_header: bool | None = None, separator: str | None = None
) -> Iterator[CsvRows]:
    """Open a CSV file in UTF-8, gzipped or not.

    Without a `separator` the one that occurs most in the first line is taken, of comma, semicolon,
    tab and bar. `has_header` None wants a header and refuses a first line of numbers only.
    """
    source = shown_source(path)
    with open_bytes(path) as stream:
        try:
            yield _rows(source, stream, has_header, separator)
        except UnicodeDecodeError as error:
            raise FileFormatError(
                f"{source} must be text in UTF-8; got the byte {error.object[error.start]:#04x}: "
                "save it as UTF-8"
            ) from None
        except csv.Error as error:
            raise FileFormatError(f"{source} is not a CSV file that can be read: {error}") from None


def is_number(cell: str) -> bool:
    """Whether a cell is a number as Python writes it, finite or not, without underscores."""
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def is_missing(cell: str) -> bool:
    """Whether a cell of numbers says that there is none.

    >>> is_missing(" NaN"), is_missing("0")
    (True, False)
    """
    return cell.strip().lower() in MISSING


def _rows(source: str, stream: BinaryIO, has_header: bool | None, separator: str | None) -> CsvRows:
    text = io.TextIOWrapper(stream, encoding="utf-8-sig", newline="")
    first = text.readline(csv.field_size_limit() * 64)
    if not first.strip():
        raise FileFormatError(f"{source} must begin with the names of its columns; it is empty")
    delimiter = separator or max(SEPARATORS, key=first.count)
    reader = csv.reader(
        chain([first], text), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    head = [cell.strip() for cell in next(reader)]
    if len(head) > MOST_COLUMNS:
        raise FileFormatError(f"{source} must have at most {MOST_COLUMNS:,} columns")
    lines = _numbered(source, reader, len(head))
    if has_header is False:
        return CsvRows(source, None, len(head), chain([(1, head)], lines))
    if has_header is None and all(is_number(cell) for cell in head):
        raise FileFormatError(
            f"{source} must begin with the names of its columns; its first line has numbers only: "
            "say that it has no header (--no-header), or that these are names (--header)"
        )
    return CsvRows(source, _distinct_names(source, head), len(head), lines)


def _numbered(source: str, reader: Any, width: int) -> Iterator[tuple[int, list[str]]]:
    """Give each row with the line where it ends; blank ones are left out."""
    try:
        for cells in reader:
            if not cells or (width > 1 and not cells[0] and not any(map(str.strip, cells))):
                continue
            if len(cells) != width:
                raise FileFormatError(
                    f"{source}, line {reader.line_num} must have {width} cells, as the first line "
                    f"has; got {len(cells)}"
                )
            yield reader.line_num, cells
    except csv.Error as error:
        raise FileFormatError(f"{source}, line {reader.line_num} cannot be read: {error}") from None


def _distinct_names(source: str, head: Sequence[str]) -> tuple[str, ...]:
    """Return the names; those without one stay empty."""
    seen: dict[str, int] = {}
    for number, name in enumerate(head, start=1):
        if name and seen.setdefault(name, number) != number:
            raise FileFormatError(
                f"{source}: names of columns must differ; columns {seen[name]} and {number} are "
                f"both {name!r:.60}"
            )
    return tuple(head)
