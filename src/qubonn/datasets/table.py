"""Table: labelled examples before binarisation, and how a CSV file becomes one.

Columns are of numbers or of text, and cells may be missing.  A cell with a wrong value is reported
by line and column before any training starts.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_memory
from qubonn.datasets.csv_columns import (
    BYTES_PER_TEXT,
    ChosenColumns,
    ColumnBlocks,
    Line,
    number_in,
)
from qubonn.errors import AlphabetError, FileFormatError, ShapeError
from qubonn.storage import Source, open_bytes, reader, shown_source

SEPARATORS = (",", ";", "\t", "|")
WHOLE = re.compile("0|-?[1-9][0-9]*")
ID_NAME = re.compile(r"(?i:(.*[\W_])?(id|uuid|guid|key|index|row))|.*[a-z](Id|ID)")
FEWEST_IDS = 10  # rows; fewer numbers may be distinct by chance
CELLS_AT_ONCE = 1 << 18
CHARACTERS_AT_ONCE = 1 << 24
MOST_CHARACTERS = 1 << 25  # of one row
MOST_COLUMNS = 1 << 20
SHOWN_NAMES = 8


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Examples read from a file: numbers or text, and labels if there are any.

    ``inputs`` is examples x columns, or examples x rows x columns (and channels first, if any)
    where the file holds images. A missing number is NaN. If there are columns of text, ``inputs``
    are objects, and missing text is None. ``labels`` are int64 if all are whole numbers, otherwise
    text.
    """

    source: str
    inputs: NDArray[Any]
    labels: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None  # of the columns, if the file has any
    target: str | None = None  # name of the labels
    skipped: tuple[int, ...] = ()  # indices of the rows left out because of missing values
    text: tuple[str, ...] = ()  # columns of text, by name, or without a header by number from 1
    notes: tuple[str, ...] = ()  # what may not be as intended

    def __post_init__(self) -> None:
        if not len(self) or not self.column_count:
            raise ShapeError(
                f"{self.source} must hold at least one example with a number; it holds none"
            )
        if self.labels is not None and len(self.labels) != len(self):
            raise ShapeError(
                f"{self.source} must have a label for each of its {len(self)} examples; "
                f"got {len(self.labels)} labels"
            )

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def column_count(self) -> int:
        """Numbers in each example."""
        return int(np.prod(self.inputs.shape[1:], dtype=np.int64))

    @property
    def id_columns(self) -> list[str]:
        """Columns that seem to number the rows: distinct whole numbers or text, by name or order.

        Text must be distinct; whole numbers must also rise or fall, or be named like an id.
        """
        if self.names is None or len(self) < FEWEST_IDS or self.inputs.ndim != 2:
            return []
        columns = zip(self.names, self.inputs.T, strict=True)
        return [name for name, column in columns if _numbers_rows(name, column, self.text)]

    @property
    def known_labels(self) -> NDArray[Any]:
        """The labels; an error if the file has none."""
        if self.labels is None:
            raise ShapeError(f"{self.source} must have labels to learn from; it has none")
        return self.labels

    def labels_among(self, classes: NDArray[Any], owner: object) -> NDArray[Any]:
        """Return the labels in the type of `classes`; an error if none of them is a class.

        Classes may be text while the labels of one file happen to be all whole numbers.
        """
        labels = self.known_labels
        if classes.dtype.kind not in "biuf":
            labels = labels.astype(str)
        if not np.isin(labels, classes).any():
            raise AlphabetError(
                f"{self.source} must have labels such as {classes.tolist()[0]!r:.60}, as {owner} "
                f"has; got {labels.tolist()[0]!r:.60}, and no known label"
            )
        return labels

    def split(self, test_share: float, seed: int) -> tuple["Table", "Table | None"]:
        """Return training and test examples, both with the same shares of classes.

        Classes with one example are only in the training examples. Without enough examples for one
        of each class on both sides, there is no test.
        """
        from sklearn.model_selection import train_test_split

        _, class_of, counts = np.unique(self.known_labels, return_inverse=True, return_counts=True)
        is_alone = counts[class_of] < 2
        rows = np.flatnonzero(~is_alone)
        test_count, class_count = round(test_share * len(rows)), int((counts > 1).sum())
        if not 0 < class_count <= min(test_count, len(rows) - test_count):
            return self, None
        train, test = train_test_split(
            rows, test_size=test_count, stratify=class_of[rows], random_state=seed % 2**32
        )
        kept = np.concatenate([train, np.flatnonzero(is_alone)])
        return self.rows(np.sort(kept)), self.rows(np.sort(test))

    def some_per_class(self, count: int | None, seed: int) -> "Table":
        """Return at most `count` examples of each class, drawn at random; None for all."""
        if count is None:
            return self
        generator = np.random.default_rng(seed + 1)  # not the stream of other draws with this seed
        labels = self.known_labels
        drawn = [
            generator.permutation(np.flatnonzero(labels == label))[:count]
            for label in np.unique(labels)
        ]
        return self.rows(np.sort(np.concatenate(drawn)))

    def rows(self, numbers: NDArray[np.int64]) -> "Table":
        """Return the examples with these indices."""
        labels = None if self.labels is None else self.labels[numbers]
        return replace(self, inputs=self.inputs[numbers], labels=labels, skipped=(), notes=())

    def __repr__(self) -> str:
        shape = " x ".join(str(size) for size in self.inputs.shape[1:])
        labels = "no labels" if self.labels is None else f"{len(np.unique(self.labels))} classes"
        return f"Table({self.source}: {len(self)} examples of {shape} numbers, {labels})"


def _numbers_rows(name: str, column: NDArray[Any], text: Sequence[str]) -> bool:
    if name in text:
        return len(set(column.tolist())) == len(column)
    numbers = column.astype(np.float64)
    if not (numbers % 1 == 0).all() or len(np.unique(numbers)) < len(numbers):
        return False
    steps = np.diff(numbers) > 0
    return bool(steps.all() or not steps.any() or ID_NAME.fullmatch(name))


@reader
def read_csv(
    path: Source,
    *,
    target: str | None = None,
    drop: Sequence[str] = (),
    keep: Sequence[str] | None = None,
    has_header: bool | None = None,
    separator: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    text: Sequence[str] | None = None,
    skip_missing: bool = False,
) -> Table:
    r"""Read examples from a CSV file: a header, then a row for each example.

    `target` names the column of labels, `drop` the columns to ignore (also several in one text,
    separated by commas), or `keep` the only ones to read, in this order; a column can also be given
    by its number, counted from 1. A column is of numbers if all its cells are numbers, true or
    false, or missing, otherwise of text; with `text`, only the columns it names are of text, and
    the others must be numbers. Rows with missing cells are left out if `skip_missing` is set. Files
    may be gzipped; "-" is standard input.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "d.csv")
    >>> _ = path.write_text("width,colour,kind\n1.5,red,small\n,blue,large\n")
    >>> table = read_csv(path, target="kind")
    >>> table.inputs.tolist(), table.labels.tolist(), table.names
    ([[1.5, 'red'], [nan, 'blue']], ['small', 'large'], ('width', 'colour'))
    >>> folder.cleanup()
    """
    with open_rows(
        path, has_header=has_header, separator=separator, decimal=decimal, encoding=encoding
    ) as rows:
        columns = ChosenColumns.chosen(rows, target, drop, keep)
        cells = ColumnBlocks(columns, decimal, text)
        labels: list[str] = []
        skipped: list[int] = []
        row_count = label_bytes = 0
        for block in rows.blocks():
            gaps = columns.missing(block) if skip_missing else set()
            skipped += [row_count + row for row in sorted(gaps)]
            kept = [line for row, line in enumerate(block) if row not in gaps]
            cells.add(kept)
            found = columns.labels(kept)
            labels += found
            row_count += len(block)
            label_bytes += sum(map(len, found)) + BYTES_PER_TEXT * len(found)
            held = 2 * (cells.byte_count + label_bytes)  # in blocks, then in one piece
            require_memory(f"reading {rows.source}", held, hint="use fewer rows or columns")
    if row_count == len(skipped):
        why = "every row has missing values" if row_count else "it has none"
        raise FileFormatError(f"{rows.source} must have a row for each example; {why}")
    return Table(
        rows.source,
        cells.joined(),
        None if target is None else label_array(rows.source, labels),
        tuple(rows.titles[place] for place in columns.kept) if rows.has_names else None,
        None if columns.target is None else rows.titles[columns.target],
        tuple(skipped),
        tuple(rows.titles[place] for place in cells.text_places),
        tuple(cells.notes()),
    )


@dataclass(frozen=True)
class CsvRows:
    """An open CSV file; each line has a cell for each title. The lines can be read once."""

    source: str
    titles: tuple[str, ...]  # names of the columns, or without a header their numbers from 1
    has_names: bool
    lines: Iterator[Line]
    text: "_Lines"

    def blocks(self) -> Iterator[list[Line]]:
        """Yield the lines in blocks of a moderate number of cells and characters."""
        most_lines = max(1, CELLS_AT_ONCE // len(self.titles))
        block: list[Line] = []
        start = self.text.character_count
        for line in self.lines:
            block.append(line)
            read = self.text.character_count - start
            if len(block) == most_lines or read > CHARACTERS_AT_ONCE:
                yield block
                block, start = [], self.text.character_count
        if block:
            yield block

    def place(self, name: str) -> int:
        """Return the index of a column, given by name or by number from 1."""
        width = len(self.titles)
        if name and name in self.titles:
            return self.titles.index(name)
        if name.isascii() and name.isdigit() and len(name) < 10 and 1 <= int(name) <= width:
            return int(name) - 1
        known = listed(self.titles) if self.has_names else f"{width} columns"
        raise ShapeError(f"{self.source} must have a column {name!r:.60}; it has {known}")


@contextmanager
def open_rows(
    path: Source,
    *,
    has_header: bool | None = None,
    separator: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
) -> Iterator[CsvRows]:
    """Open a CSV file, gzipped or not.

    Without `separator`, the most frequent of comma, semicolon, tab and bar in the first line is
    used, but not the `decimal`. `has_header` None requires a header and refuses a first line of
    numbers only.
    """
    source = shown_source(path)
    delimiters = [separator] if separator else [one for one in SEPARATORS if one != decimal]
    with open_bytes(path) as stream:
        try:
            yield _rows(source, stream, has_header, delimiters, encoding)
        except UnicodeError as error:
            found = ""
            if isinstance(error, UnicodeDecodeError):
                found = f"; got the byte {error.object[error.start]:#04x}"
            raise FileFormatError(
                f"{source} must be text in {encoding.upper()}{found}: save it as UTF-8, or name "
                "its encoding (--encoding latin-1)"
            ) from None
        except LookupError as error:
            raise FileFormatError(f"{source} cannot be read: {error}") from None
        except csv.Error as error:
            raise FileFormatError(f"{source} is not a readable CSV file: {error}") from None


def _rows(
    source: str,
    stream: BinaryIO,
    has_header: bool | None,
    delimiters: Sequence[str],
    encoding: str,
) -> CsvRows:
    is_utf8 = encoding.lower() in ("utf-8", "utf8")
    text = io.TextIOWrapper(stream, encoding="utf-8-sig" if is_utf8 else encoding, newline="")
    own = _Lines(source, text)
    first = next(own, "")
    if not first.strip():
        raise FileFormatError(f"{source} must begin with the names of its columns; it is empty")
    delimiter = max(delimiters, key=first.count)
    parsed = csv.reader(
        chain([first], own), delimiter=delimiter, skipinitialspace=True, strict=True
    )
    head = [cell.strip() for cell in next(parsed)]
    if len(head) > MOST_COLUMNS:
        raise FileFormatError(f"{source} must have at most {MOST_COLUMNS:,} columns")
    lines = _numbered(source, parsed, len(head), own)
    if has_header is False:
        numbers = tuple(str(number) for number, _ in enumerate(head, start=1))
        return CsvRows(source, numbers, False, chain([(1, head)], lines), own)
    if has_header is None and all(number_in(cell) is not None for cell in head):
        raise FileFormatError(
            f"{source} must begin with the names of its columns; its first line has numbers only: "
            "pass --no-header if it has no header, or --header if these are names"
        )
    _require_distinct(source, head)
    return CsvRows(source, tuple(head), True, lines, own)


class _Lines:
    """The lines of a text; a row, which quotes may spread over many, has a limit of characters."""

    def __init__(self, source: str, text: io.TextIOWrapper) -> None:
        self.source, self.text = source, text
        self.character_count = self.row_start = 0

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = self.text.readline(MOST_CHARACTERS)
        if not line:
            raise StopIteration
        self.character_count += len(line)
        if self.character_count - self.row_start >= MOST_CHARACTERS:
            raise FileFormatError(
                f"{self.source} must have rows of fewer than {MOST_CHARACTERS:,} characters; it "
                "may be of another kind, or a quote may be missing"
            )
        return line


def _numbered(source: str, parsed: Any, width: int, lines: _Lines) -> Iterator[Line]:
    """Yield each row with the number of its last line; blank rows are skipped."""
    try:
        for cells in parsed:
            lines.row_start = lines.character_count
            if not cells or (width > 1 and not cells[0] and not any(map(str.strip, cells))):
                continue
            if len(cells) != width:
                raise FileFormatError(
                    f"{source}, line {parsed.line_num} must have {width} cells, as the first line "
                    f"has; got {len(cells)}"
                )
            yield parsed.line_num, cells
    except csv.Error as error:
        raise FileFormatError(f"{source}, line {parsed.line_num} cannot be read: {error}") from None


def _require_distinct(source: str, head: Sequence[str]) -> None:
    """Raise an error if two columns have the same name; several may have none."""
    seen: dict[str, int] = {}
    for number, name in enumerate(head, start=1):
        if name and seen.setdefault(name, number) != number:
            raise FileFormatError(
                f"{source}: names of columns must differ; columns {seen[name]} and {number} are "
                f"both {name!r:.60}"
            )


def label_array(source: str, cells: Sequence[str]) -> NDArray[Any]:
    """Return labels as int64 if all are whole numbers in their usual form, else as text.

    >>> label_array("d.csv", ["3", "-1"]), label_array("d.csv", ["007", "3"])
    (array([ 3, -1]), array(['007', '3'], dtype='<U3'))
    """
    distinct = set(cells)
    if all(len(cell) < 19 and WHOLE.fullmatch(cell) for cell in distinct):
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    longest = max(map(len, distinct), default=1)
    if longest > 200:
        raise AlphabetError(
            f"{source}: labels must be at most 200 characters long; got one of {longest}"
        )
    byte_count = 4 * longest * len(cells)
    require_memory(f"reading the labels of {source}", byte_count, hint="use shorter labels")
    return np.array(cells, dtype=np.str_)


def listed(names: Sequence[str]) -> str:
    """Return names for an error message; of many names the first eight and a count.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(f"{name!r:.40}" for name in names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
