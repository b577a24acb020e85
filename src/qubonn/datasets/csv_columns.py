"""The columns of a CSV file: which are read, and which are of numbers or of text.

Lines of cells -> float64, or objects with text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import isinf, nan
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError, ShapeError

if TYPE_CHECKING:
    from qubonn.datasets.table import CsvRows

MISSING = frozenset({"", "na", "n/a", "nan", "null", "none", "?", "<na>"})
BYTES_PER_TEXT = 64  # of a Python string, besides its characters
TRUTH = {"true": 1.0, "false": 0.0}

Line = tuple[int, list[str]]  # number of the line in the file, cells


@dataclass(frozen=True)
class ChosenColumns:
    """Which columns are read, and which one holds the labels."""

    rows: "CsvRows"
    kept: tuple[int, ...]
    target: int | None

    @classmethod
    def chosen(
        cls, rows: "CsvRows", target: str | None, drop: Sequence[str], keep: Sequence[str] | None
    ) -> "ChosenColumns":
        """Find the columns by name or number; see `read_csv`."""
        label_place = None if target is None else rows.place(target)
        dropped = {
            rows.place(name)
            for names in drop
            for name in ([names] if names in rows.titles else map(str.strip, names.split(",")))
        }
        if label_place in dropped:
            raise ShapeError(f"{rows.source}: the target column {target!r} must not be dropped")
        wanted = range(len(rows.titles)) if keep is None else [rows.place(name) for name in keep]
        kept = tuple(n for n in wanted if n not in dropped and n != label_place)
        if not kept:
            raise ShapeError(
                f"{rows.source} must have at least one column besides the target; it has none"
            )
        for place in (*kept, *([] if label_place is None else [label_place])):
            if not rows.titles[place]:
                raise FileFormatError(
                    f"{rows.source}: column {place + 1} must have a name; drop it by its number, "
                    f"{place + 1}, if it only counts the rows"
                )
        return cls(rows, kept, label_place)

    def labels(self, block: list[Line]) -> list[str]:
        """Return the cells of the target column."""
        if self.target is None:
            return []
        labels = [cells[self.target].strip() for _, cells in block]
        if "" in labels:
            where = self.where(block[labels.index("")][0], self.target)
            raise FileFormatError(
                f"{where} must hold a label; it is empty: "
                "fill it in, or skip such rows (--skip-missing)"
            )
        return labels

    def missing(self, block: list[Line]) -> set[int]:
        """Return the indices of the rows with a missing cell or without a label."""
        return {
            row
            for row, (_, cells) in enumerate(block)
            if any(cells[place].strip().lower() in MISSING for place in self.kept)
            or (self.target is not None and not cells[self.target].strip())
        }

    def where(self, line: int, place: int) -> str:
        """Return a cell's place as messages name it."""
        return f"{self.rows.source}, line {line}, column {self.rows.titles[place]!r:.60}"


Column = NDArray[Any]  # float64, or objects: text, None if missing


class ColumnBlocks:
    """The columns read so far, in blocks; a column with one cell of text is of text."""

    def __init__(self, columns: ChosenColumns, decimal: str, text: Sequence[str] | None) -> None:
        self.columns, self.decimal = columns, decimal
        self.known = None if text is None else {columns.rows.place(name) for name in text}
        self.blocks: list[list[Column]] = [[] for _ in columns.kept]
        self.first_text: dict[int, tuple[int, str]] = {}  # line and cell, by place
        self.with_numbers: set[int] = set()
        self.byte_count = 0  # of all blocks, about

    @property
    def text_places(self) -> list[int]:
        """The columns of text."""
        found = self.first_text if self.known is None else self.known
        return [place for place in self.columns.kept if place in found]

    def add(self, block: list[Line]) -> None:
        """Read the cells of some lines."""
        places = self.columns.kept
        self.byte_count += 8 * len(places) * len(block)
        numbers = _plain_numbers([cells[place] for _, cells in block for place in places])
        if numbers is not None and self.decimal == ".":
            for own, column in zip(self.blocks, numbers.reshape(-1, len(places)).T, strict=True):
                own.append(column)
            self.with_numbers.update(places)
            return
        for own, place in zip(self.blocks, places, strict=True):
            own.append(self._column(block, place))

    def _column(self, block: list[Line], place: int) -> Column:
        cells = [cells[place].strip() for _, cells in block]
        found = [_cell(cell, self.decimal) for cell in cells]
        if any(isinstance(value, float) for value in found):
            self.with_numbers.add(place)
        for (line, _), cell, value in zip(block, cells, found, strict=True):
            if isinstance(value, str):
                self._add_text(line, cell, place)
                self.byte_count += sum(BYTES_PER_TEXT + len(one) for one in cells)
                return np.array([_text(one) for one in found], dtype=object)
            if value is not None and isinf(value):
                raise self._error(line, cell, place, "replace it by a number")
        return np.array([nan if value is None else value for value in found], dtype=np.float64)

    def _add_text(self, line: int, cell: str, place: int) -> None:
        """Remember the first text of a column; raise if it must be of numbers."""
        if self.known is not None and place not in self.known:
            raise self._error(line, cell, place, "the model was trained on numbers there")
        if self.known is None and place not in self.first_text:
            other = "," if self.decimal == "." else "."
            if not isinstance(_cell(cell, other), str):
                advice = f"name the decimal separator (--decimal {other}), or remove thousands'"
                raise self._error(line, cell, place, advice)
        self.first_text.setdefault(place, (line, cell))

    def _error(self, line: int, cell: str, place: int, advice: str) -> FileFormatError:
        where = self.columns.where(line, place)
        return FileFormatError(f"{where} must hold a finite number; got {cell!r:.60}: {advice}")

    def joined(self) -> NDArray[Any]:
        """Return all cells: float64, or objects if some columns are of text."""
        text_places, places = set(self.text_places), self.columns.kept
        row_count = sum(map(len, self.blocks[0]))
        matrix = np.empty((row_count, len(places)), dtype=object if text_places else np.float64)
        for index, (place, blocks) in enumerate(zip(places, self.blocks, strict=True)):
            column = np.concatenate(blocks)
            if place in text_places:
                column = np.array([_text(cell) for cell in column.tolist()], dtype=object)
            matrix[:, index] = column
        return matrix

    def notes(self) -> Iterator[str]:
        """Yield a sentence for each column that is of text because of some cells only."""
        for place in self.text_places:
            if self.known is None and place in self.with_numbers:
                line, cell = self.first_text[place]
                where = self.columns.where(line, place)
                yield f"{where} holds {cell!r:.40}: the column is read as text"


def _plain_numbers(cells: list[str]) -> NDArray[np.float64] | None:
    """Return cells that are all finite numbers; otherwise None."""
    try:
        numbers = np.fromiter(map(float, cells), dtype=np.float64, count=len(cells))
    except ValueError:
        return None
    # Python reads 1_000 as a number; here it is text
    return numbers if np.isfinite(numbers).all() and "_" not in "".join(cells) else None


def _cell(cell: str, decimal: str) -> float | str | None:
    """Return the number in a cell, its text, or None if it is missing.

    >>> _cell("1,5", ","), _cell("1.5", ","), _cell("true", "."), _cell("?", ".")
    (1.5, '1.5', 1.0, None)
    """
    if cell.lower() in MISSING:
        return None
    if decimal != ".":
        if "." in cell:
            return cell
        return number if (number := number_in(cell.replace(decimal, ".", 1))) is not None else cell
    return number if (number := number_in(cell)) is not None else cell


def _text(cell: float | str | None) -> str | None:
    """Return a cell of a column of text; 1 and 1.0 are the same text, and NaN is missing."""
    if cell is None or isinstance(cell, str):
        return cell
    if cell != cell:
        return None
    return str(int(cell)) if cell.is_integer() else repr(cell)


def number_in(cell: str) -> float | None:
    """Return the number in a cell, finite or not; None for text."""
    try:
        return None if "_" in cell else float(cell)
    except ValueError:
        return TRUTH.get(cell.strip().lower())
