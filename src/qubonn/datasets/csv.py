"""A CSV file of labelled examples -> Table.

Every cell that is not what it must be is named by line and column before any work starts.
"""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, islice
from operator import itemgetter
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_memory
from qubonn.datasets.table import Table, label_array, listed
from qubonn.errors import FileFormatError, ShapeError
from qubonn.storage import Source, open_bytes, shown_source

CELLS_AT_ONCE = 1 << 18
TRUTH = {"true": 1.0, "false": 0.0}

Line = tuple[int, list[str]]


def read_csv(
    path: Source,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] | None = None,
    has_header: bool | None = None,
    separator: str | None = None,
    skip_missing: bool = False,
) -> Table:
    r"""Read examples from a CSV file: a header, then a row for each example.

    `target` names the column of labels, `drop` columns to leave out, or `keep` the only ones to
    take, in this order; a column can also be given by its number, counted from 1. Cells must be
    numbers (or true and false); rows with missing ones are an error, or left out with
    `skip_missing`. Gzipped files are read as they are; "-" is standard input.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "d.csv")
    >>> _ = path.write_text("width,kind\n1.5,small\n9,large\n")
    >>> table = read_csv(path, target="kind")
    >>> table.inputs.tolist(), table.labels.tolist(), table.names
    ([[1.5], [9.0]], ['small', 'large'], ('width',))
    >>> folder.cleanup()
    """
    with open_rows(path, has_header=has_header, separator=separator) as rows:
        columns = _Columns.chosen(rows, target, drop, keep)
        blocks: list[NDArray[np.float64]] = []
        labels: list[str] = []
        row_count, lines = 0, iter(rows)
        at_once = max(1, CELLS_AT_ONCE // rows.width)
        while block := list(islice(lines, at_once)):
            row_count += len(block)
            kept = columns.without_missing(block) if skip_missing else block
            blocks.append(columns.numbers(kept))
            labels += columns.labels(kept)
            held = 8 * len(columns.kept) * row_count
            require_memory(f"reading {rows.source}", held, hint="use fewer rows or columns")
    return _table(columns, blocks, labels, row_count)


def _table(
    columns: "_Columns", blocks: list[NDArray[np.float64]], labels: list[str], row_count: int
) -> Table:
    inputs = np.concatenate(blocks) if blocks else np.zeros((0, 0))
    if not len(inputs):
        why = "every row has missing values" if row_count else "it has none"
        raise FileFormatError(f"{columns.source} must have a row for each example; {why}")
    return Table(
        columns.source,
        inputs,
        label_array(columns.source, labels) if columns.target is not None else None,
        None if columns.names is None else tuple(columns.names[place] for place in columns.kept),
        None if columns.target is None else columns.title(columns.target),
        row_count - len(inputs),
    )


@dataclass(frozen=True)
class _Columns:
    """Which columns are numbers, and which are the labels."""

    source: str
    names: tuple[str, ...] | None
    kept: tuple[int, ...]
    target: int | None

    @classmethod
    def chosen(
        cls, rows: "CsvRows", target: str | None, drop: Sequence[str], keep: Sequence[str] | None
    ) -> "_Columns":
        label_place = None if target is None else _place(rows, target)
        dropped = {_place(rows, name) for name in drop}
        if label_place in dropped:
            raise ShapeError(
                f"{rows.source}: the target column {target!r} must not be among those left out"
            )
        asked = range(rows.width) if keep is None else [_place(rows, name) for name in keep]
        kept = tuple(n for n in asked if n not in dropped and n != label_place)
        if not kept:
            raise ShapeError(
                f"{rows.source} must have at least one column of numbers besides the target; "
                "it has none"
            )
        for place in (*kept, *([] if label_place is None else [label_place])):
            if rows.names is not None and not rows.names[place]:
                raise FileFormatError(
                    f"{rows.source}: column {place + 1} must have a name; leave it out by its "
                    f"number, {place + 1}, if it only counts the rows"
                )
        return cls(rows.source, rows.names, kept, label_place)

    def title(self, place: int) -> str:
        """Return the name of a column, or its number where there is no header."""
        return str(place + 1) if self.names is None else self.names[place]

    def numbers(self, block: list[Line]) -> NDArray[np.float64]:
        """Return the cells of a block as numbers, all finite."""
        pick = itemgetter(*self.kept) if len(self.kept) > 1 else _only(self.kept[0])
        cells = list(chain.from_iterable(pick(cells) for _, cells in block))
        numbers = _numbers(cells)
        if not np.isfinite(numbers).all():
            self._refuse(block)
        return numbers.reshape(len(block), len(self.kept))

    def labels(self, block: list[Line]) -> list[str]:
        """Return the cells of the target column."""
        if self.target is None:
            return []
        labels = [cells[self.target].strip() for _, cells in block]
        if "" in labels:
            line = block[labels.index("")][0]
            raise FileFormatError(
                f"{self._where(line, self.target)} must hold a label; it is empty: "
                "fill it in, or leave such rows out (--skip-missing)"
            )
        return labels

    def without_missing(self, block: list[Line]) -> list[Line]:
        """Return the rows that have all their cells."""
        return [
            (line, cells)
            for line, cells in block
            if not any(is_missing(cells[place]) for place in self.kept)
            and (self.target is None or cells[self.target].strip())
        ]

    def _refuse(self, block: list[Line]) -> NoReturn:
        """Say which cell is the first that is not a finite number."""
        for line, cells in block:
            for place in self.kept:
                cell = cells[place].strip()
                if is_missing(cell):
                    raise FileFormatError(
                        f"{self._where(line, place)} must hold a number; it is missing "
                        f"({cell!r}): fill it in, or leave such rows out (--skip-missing)"
                    )
                if cell.lower() not in TRUTH and not (is_number(cell) and np.isfinite(float(cell))):
                    raise FileFormatError(
                        f"{self._where(line, place)} must hold a finite number; got {cell!r:.60}: "
                        f"{self._advice(cell, place)}"
                    )
        raise AssertionError("a cell that is no number was seen before")

    def _advice(self, cell: str, place: int) -> str:
        if is_number(cell.replace(",", ".", 1)):
            return "write decimals with a point, and thousands without a mark"
        return (
            f"replace text by numbers, or leave the column out (--drop {self.title(place)!r:.40})"
        )

    def _where(self, line: int, place: int) -> str:
        return f"{self.source}, line {line}, column {self.title(place)!r:.60}"


def _numbers(cells: list[str]) -> NDArray[np.float64]:
    """Return cells as numbers; NaN for those that are none."""
    try:
        if "_" not in "".join(cells):  # Python reads 1_000 as a number; here it is none
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        pass
    return np.array([_number(cell) for cell in cells])


def _number(cell: str) -> float:
    if is_number(cell):
        return float(cell)
    return TRUTH.get(cell.strip().lower(), float("nan"))


def _only(place: int) -> Callable[[list[str]], list[str]]:
    return lambda cells: [cells[place]]


def _place(rows: "CsvRows", name: str) -> int:
    """Return where a column stands: by its name, or else by its number from 1."""
    if rows.names is not None and name in rows.names and name:
        return rows.names.index(name)
    if name.isascii() and name.isdigit() and len(name) < 10 and 1 <= int(name) <= rows.width:
        return int(name) - 1
    known = f"it has {listed(rows.names)}" if rows.names else f"it has {rows.width} columns"
    raise ShapeError(f"{rows.source} must have a column {name!r:.60}; {known}")


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
