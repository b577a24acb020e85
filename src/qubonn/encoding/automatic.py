"""The encoder of a table, chosen by what its columns hold.

Matrix of numbers, sparse or not, or Cells -> InputEncoder.  Paper, section "Experimental set-up"
(several input nodes for each pixel of a grey-scale image).
"""

from collections.abc import Iterator
from itertools import chain
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix, require_count
from qubonn.encoding import InputEncoder, TableEncoder, Thermometer, Threshold
from qubonn.encoding.cells import Cells, Column
from qubonn.encoding.inputs import Bins, even_bins, median_cuts, quantile_bins, thermometer_of
from qubonn.encoding.table_encoder import ColumnCode, number_code, table_of, word_code
from qubonn.errors import AlphabetError, RangeError, ShapeError

ALL_SPINS = 256  # of all columns together, about
COLUMN_SPINS = 31  # of one column, at most
EXAMPLES_PER_SPIN = 4  # a threshold with fewer examples is noise
CELLS_AT_ONCE = 1 << 20  # of a sparse matrix that are dense at a time


def fit_binariser(
    wanted: object,
    X: Any,
    *,
    is_image: bool = False,
    is_planar: bool = False,
    all_spins: int = ALL_SPINS,
    column_spins: int = COLUMN_SPINS,
    is_even: bool = False,
) -> InputEncoder:
    """Return the encoder that `wanted` names, fitted to `X`.

    `wanted` is "auto", "threshold", "thermometer", a number of spins for each column, or an
    encoder. The pixels of an image have one scale, so they get one level; `is_planar` requires one
    spin per column, as convolutions need. `all_spins` is about the number of thresholds of all
    columns together, `column_spins` the most of one column; with `is_even` these are at equal
    distances, as many in each column of numbers, where "auto" gives several. `X` is a matrix of
    numbers, CSR, or Cells; words and missing cells get a `TableEncoder`.
    """
    if hasattr(wanted, "encode") and hasattr(wanted, "column_count"):
        if wanted.column_count not in (None, X.shape[1]):
            raise ShapeError(
                f"binariser must encode {X.shape[1]} columns, as X has; "
                f"it encodes {wanted.column_count}"
            )
        return cast(InputEncoder, wanted)
    count, width = X.shape
    usual = spins_per_column(count, width, all_spins, column_spins)
    spins = _spins(wanted, usual, is_planar=is_planar)
    if isinstance(X, Cells) or _has_missing(X):
        if is_planar or (is_image and isinstance(X, Cells)):
            raise AlphabetError(
                "images must hold numbers, and none may be missing for convolutions"
            )
        return table_of(_code(column, spins) for column in columns_of(X))
    if wanted == "auto":
        if is_even and not _is_binary(X):
            return thermometer_of([even_bins(column, spins) for column in columns_of(X)])
        return _automatic(X, spins, is_image=is_image)
    if wanted == "threshold":
        return Threshold(median_cuts(columns_of(X)))
    return thermometer(X, spins)


def _spins(wanted: object, usual: int, *, is_planar: bool) -> int:
    """Return the largest number of thresholds of a column; `usual` is that of "auto"."""
    if isinstance(wanted, (int, np.integer)):
        return require_count("binariser", wanted)
    if wanted == "threshold" or (wanted == "auto" and is_planar):
        return 1
    if wanted in ("auto", "thermometer"):
        return usual
    raise RangeError(
        "binariser must be 'auto', 'threshold', 'thermometer', a number of spins for each column, "
        f"or an encoder such as Threshold(0); got {wanted!r:.60}"
    )


def _automatic(X: Any, spins: int, *, is_image: bool) -> InputEncoder:
    if _is_binary(X):
        return Threshold(0)  # bits or spins already
    values, zero_count = _values(X)
    if spins > 1:
        return thermometer(X, spins)
    ends = (0,) if zero_count else ()
    smallest, largest = (float(end([*ends, end(values)])) for end in (np.min, np.max))
    smallest_count = np.equal(values, smallest).sum() + zero_count * (smallest == 0)
    if 2 * smallest_count > values.size + zero_count:
        return Threshold(smallest)  # as in ink on paper or counts of words
    return (
        Threshold(smallest / 2 + largest / 2) if is_image else Threshold(median_cuts(columns_of(X)))
    )


def _is_binary(X: Any) -> bool:
    values, zero_count = _values(X)
    lows = (0,) if zero_count else (0, -1)
    return X.dtype.kind == "b" or any(((low == values) | (values == 1)).all() for low in lows)


def _code(column: Column, spins: int) -> ColumnCode:
    if column.dtype.kind != "f":
        return word_code(column)
    present = column[~np.isnan(column)]
    thresholds = _bins(present, spins)[0] if len(present) else present
    return number_code(thresholds, has_missing=len(present) < len(column))


def spins_per_column(
    example_count: int,
    column_count: int,
    all_spins: int = ALL_SPINS,
    column_spins: int = COLUMN_SPINS,
) -> int:
    """Return the number of spins for a column of many distinct numbers.

    >>> spins_per_column(112, 4), spins_per_column(1347, 64), spins_per_column(60_000, 784)
    (28, 4, 1)
    """
    most = min(column_spins, all_spins // column_count, example_count // EXAMPLES_PER_SPIN)
    return max(1, most)


def thermometer(X: Any, spins: int) -> Thermometer:
    """Put a threshold between any two numbers of a column where these are few, else at quantiles.

    >>> thermometer(np.array([[0, 1], [1, 2], [1, 7], [0, 9]]), 2).thresholds
    array([0.5, 2. , 7. ])
    """
    return thermometer_of([_bins(column, spins) for column in columns_of(X)])


def _bins(column: NDArray[np.float64], spins: int) -> Bins:
    distinct = np.unique(column)
    if not 2 <= len(distinct) <= spins + 1:
        return quantile_bins(column, spins)
    low, high = distinct[:-1], distinct[1:]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low), distinct


# ---- sparse or not ----


def as_table(X: Any) -> Any:
    """Return numbers as one matrix, CSR without duplicates, or Cells where some are words."""
    if is_sparse(X):
        rows = X.tocsr()
        if not rows.has_canonical_format:
            rows = rows.copy()
            rows.sum_duplicates()
        return rows
    if isinstance(X, np.ndarray) and X.dtype.kind in "biuf":
        return X
    cells = Cells.of(X)
    return np.stack(cells.columns, axis=1) if cells.is_numeric else cells


def is_sparse(X: Any) -> bool:
    """Whether `X` is a sparse matrix or array of scipy."""
    return hasattr(X, "tocsr")


def encoded(encoder: InputEncoder, X: Any) -> SpinMatrix:
    """Return the spins of `X`; of a sparse matrix, few rows at a time are dense."""
    blocks = spin_blocks(encoder, X)
    first = next(blocks)
    if len(first) == X.shape[0]:
        return first
    spins = np.empty((X.shape[0], first.shape[1]), dtype=np.int8)
    row = 0
    for block in chain([first], blocks):
        spins[row : row + len(block)] = block
        row += len(block)
    return spins


def spin_blocks(encoder: InputEncoder, X: Any) -> Iterator[SpinMatrix]:
    """Yield the spins of `X` in one block, or of few rows at a time if it is sparse."""
    if isinstance(X, Cells) and not isinstance(encoder, TableEncoder):
        title = next(t for t, c in zip(X.titles, X.columns, strict=True) if c.dtype.kind != "f")
        raise AlphabetError(
            f"column {title} of X must hold numbers, as {type(encoder).__name__} needs; it has "
            "text: a classifier with binariser='auto' that is fitted to text accepts it"
        )
    if not is_sparse(X):
        yield encoder.encode(X)
        return
    spin_count = encoder.encode(X[:1].toarray()).shape[1]
    step = max(1, CELLS_AT_ONCE // max(X.shape[1], spin_count))
    for row in range(0, X.shape[0], step):
        yield encoder.encode(X[row : row + step].toarray())


def columns_of(X: Any) -> Iterator[Column]:
    """Yield the columns of Cells, or of a matrix as float64; a sparse one column by column."""
    if not is_sparse(X):
        yield from X.columns if isinstance(X, Cells) else X.astype(np.float64).T
        return
    stored = X.tocsc()
    for begin, end in zip(stored.indptr[:-1], stored.indptr[1:], strict=True):
        column = np.zeros(X.shape[0])
        column[stored.indices[begin:end]] = stored.data[begin:end]
        yield column


def _values(X: Any) -> tuple[NDArray[Any], int]:
    """Return the values that are stored, and the number of zeros that are not."""
    return (X.data, X.shape[0] * X.shape[1] - X.data.size) if is_sparse(X) else (X, 0)


def _has_missing(X: Any) -> bool:
    values, _ = _values(X)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())
