"""Cells: the columns of a table, each of numbers or of words, some cells missing.

DataFrame, array or lists -> Cells.  Frames are recognised by their attributes: pandas, polars and
the like are not imported.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import AlphabetError, CellTypeError, ShapeError

Column = NDArray[Any]  # float64, NaN where a cell is missing; or objects: words, None if missing


@dataclass(frozen=True, eq=False)
class Cells:
    """Columns of numbers or words with their titles; rows can be sliced and selected.

    >>> cells = Cells.of([["red", 1.5], [None, 2], ["blue", float("nan")]])
    >>> [column.tolist() for column in cells.columns]
    [['red', None, 'blue'], [1.5, 2.0, nan]]
    """

    columns: tuple[Column, ...]
    titles: tuple[str, ...]

    @classmethod
    def of(cls, X: Any) -> "Cells":
        """Return the columns of a table.

        A column is of numbers if all cells that are not missing are numbers or truth values, unless
        its type is a category. None, NaN and pandas.NA are missing.
        """
        if isinstance(X, Cells):
            return X
        if is_frame(X):
            titles = [f"{title!r:.60}" for title in X.columns]
            columns: Iterable[Any] = (
                X.iloc[:, n] if hasattr(X, "iloc") else X[X.columns[n]] for n in range(X.shape[1])
            )
        else:
            matrix = as_matrix(X)
            if matrix.ndim != 2:
                raise ShapeError(f"X must have rows and columns; got shape {matrix.shape}")
            titles, columns = [str(n) for n in range(matrix.shape[1])], matrix.T
        found = zip(titles, columns, strict=True)
        return cls(tuple(_column(title, column) for title, column in found), tuple(titles))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self), len(self.columns)

    @property
    def is_numeric(self) -> bool:
        """Whether all columns are of numbers."""
        return all(column.dtype.kind == "f" for column in self.columns)

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, rows: slice | NDArray[np.int64]) -> "Cells":
        return Cells(tuple(column[rows] for column in self.columns), self.titles)


def is_frame(X: Any) -> bool:
    """Whether `X` has columns with a type each, as the frames of pandas and polars."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def is_plain(X: Any) -> bool:
    """Whether numpy reads `X` as one matrix without loss: no frame, or one of plain numbers."""
    kinds = [dtype.kind if isinstance(dtype, np.dtype) else "O" for dtype in _dtypes(X)]
    return all(kind in "biuf" for kind in kinds)


def as_matrix(X: Any) -> NDArray[Any]:
    """Return an array; lists with text keep their numbers as numbers."""
    try:
        array = np.asarray(X)
    except ValueError:
        raise ShapeError("X must be a rectangular array; got rows of unequal length") from None
    is_list = array.dtype.kind in "SU" and not hasattr(X, "dtype")
    return np.array(X, dtype=object) if is_list else array


def words_of(title: str, cells: Iterable[Any]) -> Column:
    """Return the text of each cell, None where it is missing."""
    words = [None if _is_missing(cell) else _word(title, cell) for cell in cells]
    return np.array(words, dtype=object)


def _dtypes(X: Any) -> Sequence[Any]:
    return list(X.dtypes) if is_frame(X) else ()


def _column(title: str, values: Any) -> Column:
    array, is_category = np.asarray(values), hasattr(getattr(values, "dtype", None), "categories")
    if array.dtype.kind in "biuf" and not is_category:
        return _finite(title, array.astype(np.float64))
    if array.dtype.kind == "S":
        array = np.char.decode(array, "utf-8", "replace")
    if array.dtype.kind not in "biufUO":
        raise CellTypeError(
            f"column {title} of X must hold numbers, text or truth values; got {array.dtype}: "
            "turn dates and the like into numbers first"
        )
    cells = array.tolist()
    if is_category or not all(isinstance(cell, Real) or _is_missing(cell) for cell in cells):
        return words_of(title, cells)
    try:
        numbers = [np.nan if _is_missing(cell) else float(cell) for cell in cells]
        return _finite(title, np.array(numbers, dtype=np.float64))
    except OverflowError:
        raise AlphabetError(f"column {title} of X must hold numbers that fit float64") from None


def _finite(title: str, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    if np.isinf(numbers).any():
        row = int(np.argmax(np.isinf(numbers)))
        raise AlphabetError(
            f"column {title} of X must hold finite numbers; got {numbers[row]} in row {row}"
        )
    return numbers


def _is_missing(cell: Any) -> bool:
    # pandas.NA is equal to nothing, and has no truth value
    return cell is None or type(cell).__name__ == "NAType" or (cell != cell) is True


def _word(title: str, cell: Any) -> str:
    """Return the text of a cell; 1 and 1.0 have the same."""
    if isinstance(cell, str):
        return cell.rstrip("\0")  # numpy's text arrays end there
    if isinstance(cell, (bool, np.bool_)):
        return str(bool(cell))
    if isinstance(cell, Integral):
        return str(int(cell))
    if isinstance(cell, Real):
        number = float(cell)
        return str(int(number)) if number.is_integer() else repr(number)
    raise CellTypeError(
        "the X argument must be a table of strings, numbers, truth values or missing cells; "
        f"got {cell!r:.40} of type {type(cell).__name__} in column {title}"
    )
