"""Table: labelled examples before binarisation, and how a CSV file becomes one.

A cell with a wrong value is reported by line and column before any training starts.
"""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_memory
from qubonn.errors import AlphabetError, FileFormatError, ShapeError
from qubonn.storage import Source, open_bytes, shown_source

SEPARATORS = (",", ";", "\t", "|")
MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "<na>"})
WHOLE = re.compile("0|-?[1-9][0-9]*")
TRUTH = {"true": 1.0, "false": 0.0}
CELLS_AT_ONCE = 1 << 18
MOST_COLUMNS = 1 << 20
SHOWN_NAMES = 8

Line = tuple[int, list[str]]  # number of the line in the file, cells


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Examples read from a file: numbers, and labels if there are any.

    ``inputs`` is examples x columns, or examples x rows x columns (and channels first, if any)
    where the file holds images. ``labels`` are int64 if all are whole numbers, otherwise text.
    """

    source: str
    inputs: NDArray[Any]
    labels: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None  # of the columns, if the file has any
    target: str | None = None  # name of the labels
    skipped_count: int = 0  # rows with missing values

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
        return replace(self, inputs=self.inputs[numbers], labels=labels, skipped_count=0)

    def __repr__(self) -> str:
        shape = " x ".join(str(size) for size in self.inputs.shape[1:])
        labels = "no labels" if self.labels is None else f"{len(np.unique(self.labels))} classes"
        return f"Table({self.source}: {len(self)} examples of {shape} numbers, {labels})"


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

    `target` names the column of labels, `drop` the columns to ignore, or `keep` the only ones to
    read, in this order; a column can also be given by its number, counted from 1. Cells must be
    numbers (or true and false); rows with missing values are an error unless `skip_missing` is
    set. Files may be gzipped; "-" is standard input.

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
        row_count = 0
        while block := list(islice(rows.lines, max(1, CELLS_AT_ONCE // len(rows.titles)))):
            row_count += len(block)
            kept = columns.without_missing(block) if skip_missing else block
            blocks.append(columns.numbers(kept))
            labels += columns.labels(kept)
            held = 8 * len(columns.kept) * row_count
            require_memory(f"reading {rows.source}", held, hint="use fewer rows or columns")
    inputs = np.concatenate(blocks) if blocks else np.zeros((0, 0))
    if not len(inputs):
        why = "every row has missing values" if row_count else "it has none"
        raise FileFormatError(f"{rows.source} must have a row for each example; {why}")
    return Table(
        rows.source,
        inputs,
        None if target is None else label_array(rows.source, labels),
        tuple(rows.titles[place] for place in columns.kept) if rows.has_names else None,
        None if columns.target is None else rows.titles[columns.target],
        row_count - len(inputs),
    )


@dataclass(frozen=True)
class CsvRows:
    """An open CSV file; each line has a cell for each title. The lines can be read once."""

    source: str
    titles: tuple[str, ...]  # names of the columns, or without a header their numbers from 1
    has_names: bool
    lines: Iterator[Line]

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
    path: Source, *, has_header: bool | None = None, separator: str | None = None
) -> Iterator[CsvRows]:
    """Open a CSV file in UTF-8, gzipped or not.

    Without `separator`, the most frequent of comma, semicolon, tab and bar in the first line is
    used. `has_header` None requires a header and refuses a first line of numbers only.
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
            raise FileFormatError(f"{source} is not a readable CSV file: {error}") from None


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
        numbers = tuple(str(number) for number, _ in enumerate(head, start=1))
        return CsvRows(source, numbers, False, chain([(1, head)], lines))
    if has_header is None and all(_number(cell) is not None for cell in head):
        raise FileFormatError(
            f"{source} must begin with the names of its columns; its first line has numbers only: "
            "pass --no-header if it has no header, or --header if these are names"
        )
    _require_distinct(source, head)
    return CsvRows(source, tuple(head), True, lines)


def _numbered(source: str, reader: Any, width: int) -> Iterator[Line]:
    """Yield each row with the number of its last line; blank rows are skipped."""
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


def _require_distinct(source: str, head: Sequence[str]) -> None:
    """Raise an error if two columns have the same name; several may have none."""
    seen: dict[str, int] = {}
    for number, name in enumerate(head, start=1):
        if name and seen.setdefault(name, number) != number:
            raise FileFormatError(
                f"{source}: names of columns must differ; columns {seen[name]} and {number} are "
                f"both {name!r:.60}"
            )


@dataclass(frozen=True)
class _Columns:
    """Which columns hold numbers, and which one the labels."""

    rows: CsvRows
    kept: tuple[int, ...]
    target: int | None

    @classmethod
    def chosen(
        cls, rows: CsvRows, target: str | None, drop: Sequence[str], keep: Sequence[str] | None
    ) -> "_Columns":
        label_place = None if target is None else rows.place(target)
        dropped = {rows.place(name) for name in drop}
        if label_place in dropped:
            raise ShapeError(f"{rows.source}: the target column {target!r} must not be dropped")
        wanted = range(len(rows.titles)) if keep is None else [rows.place(name) for name in keep]
        kept = tuple(n for n in wanted if n not in dropped and n != label_place)
        if not kept:
            raise ShapeError(
                f"{rows.source} must have at least one column of numbers besides the target; "
                "it has none"
            )
        for place in (*kept, *([] if label_place is None else [label_place])):
            if not rows.titles[place]:
                raise FileFormatError(
                    f"{rows.source}: column {place + 1} must have a name; drop it by its number, "
                    f"{place + 1}, if it only counts the rows"
                )
        return cls(rows, kept, label_place)

    def numbers(self, block: list[Line]) -> NDArray[np.float64]:
        """Return the cells of a block as numbers, all finite."""
        numbers = _numbers([cells[place] for _, cells in block for place in self.kept])
        if not np.isfinite(numbers).all():
            row, column = divmod(int(np.argmin(np.isfinite(numbers))), len(self.kept))
            raise self._error(block[row], self.kept[column])
        return numbers.reshape(len(block), len(self.kept))

    def labels(self, block: list[Line]) -> list[str]:
        """Return the cells of the target column."""
        if self.target is None:
            return []
        labels = [cells[self.target].strip() for _, cells in block]
        if "" in labels:
            where = self._where(block[labels.index("")][0], self.target)
            raise FileFormatError(
                f"{where} must hold a label; it is empty: "
                "fill it in, or skip such rows (--skip-missing)"
            )
        return labels

    def without_missing(self, block: list[Line]) -> list[Line]:
        """Return the rows without missing cells."""
        return [
            (line, cells)
            for line, cells in block
            if not any(cells[place].strip().lower() in MISSING for place in self.kept)
            and (self.target is None or cells[self.target].strip())
        ]

    def _error(self, line: Line, place: int) -> FileFormatError:
        """Return the error for a cell that is not a finite number."""
        cell, where = line[1][place].strip(), self._where(line[0], place)
        if cell.lower() in MISSING:
            return FileFormatError(
                f"{where} must hold a number; it is missing ({cell!r}): fill it in, or skip such "
                "rows (--skip-missing)"
            )
        title = self.rows.titles[place]
        advice = f"replace text by numbers, or drop the column (--drop {title!r:.40})"
        if _number(cell.replace(",", ".", 1)) is not None:
            advice = "write decimals with a point, and thousands without a separator"
        return FileFormatError(f"{where} must hold a finite number; got {cell!r:.60}: {advice}")

    def _where(self, line: int, place: int) -> str:
        return f"{self.rows.source}, line {line}, column {self.rows.titles[place]!r:.60}"


def _numbers(cells: list[str]) -> NDArray[np.float64]:
    """Return cells as numbers; NaN for text."""
    try:
        if "_" not in "".join(cells):  # Python reads 1_000 as a number; here it is text
            return np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        pass
    return np.array([_number(cell) for cell in cells], dtype=np.float64)


def _number(cell: str) -> float | None:
    """Return the number in a cell, finite or not; None for text."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return TRUTH.get(cell.strip().lower())


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
    return np.array(cells, dtype=np.str_)


def listed(names: Sequence[str]) -> str:
    """Return names for an error message; of many names the first eight and a count.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(f"{name!r:.40}" for name in names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown
