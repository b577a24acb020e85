"""Encoders of inputs: one spin per column, a thermometer of spins, or the bits of whole numbers.

Matrix of numbers <-> matrix of spins.  Paper, eq:dummy (f, with f(0) = -1), and section
"Experimental set-up" (several input nodes for each pixel of a grey-scale image).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import (
    IntVector,
    SpinMatrix,
    require_count,
    require_indices,
    require_real_matrix,
    require_spin_matrix,
)
from qubonn.errors import AlphabetError, RangeError, ShapeError

FloatVector = NDArray[np.float64]
FloatMatrix = NDArray[np.float64]

_MOST_BITS = 53  # float64 holds every whole number of 53 bits
_MOST_SHOWN = 4  # levels of a threshold in its repr
_SKEWED = 0.25  # standard deviations from the median of a column to its mean


class InputEncoder(Protocol):
    """Turns rows of numbers into rows of spins; counts are None if any width is accepted."""

    @property
    def column_count(self) -> int | None:
        """Number of columns that `encode` accepts."""

    @property
    def spin_count(self) -> int | None:
        """Number of columns that `encode` returns."""

    def encode(self, X: ArrayLike) -> SpinMatrix:
        """Return one row of spins for each row of `X`."""


@dataclass(frozen=True, eq=False, init=False)
class Threshold:
    """One spin per column: +1 where the number is above the column's level, -1 at or below it.

    A single level is for any number of columns. Spin i is column i; numbers are compared as
    float64, and a missing one, NaN, is -1. Spins cannot be decoded: they do not record how far
    above the level a number was.

    >>> Threshold(0).encode([[-0.5, 0, 0.5]])
    array([[-1, -1,  1]], dtype=int8)
    >>> Threshold([10, 20]).encode([[15, 15], [10, 21]])
    array([[ 1, -1],
           [-1,  1]], dtype=int8)
    """

    levels: FloatVector  # one per column, or of shape () for all columns

    def __init__(self, levels: ArrayLike) -> None:
        store(self, levels=finite_numbers("levels", levels))
        if self.levels.ndim > 1 or self.levels.size == 0:
            raise ShapeError(
                f"levels must be one number, or one per column; got shape {self.levels.shape}"
            )

    @classmethod
    def fit(cls, X: ArrayLike) -> "Threshold":
        """Put each level at its column's median.

        A median that is the largest number of its column is replaced by the second largest, so that
        a column that varies gives a spin that varies. A constant column has its constant as level,
        and its spin is -1 throughout `X`.

        >>> Threshold.fit([[1, 0, 7], [2, 1, 7], [5, 1, 7]]).levels
        array([2., 0., 7.])
        """
        return cls(median_cuts(_numbers(X, None).astype(np.float64).T))

    @property
    def column_count(self) -> int | None:
        """Number of columns that `encode` accepts; None if there is one level for all."""
        return self.levels.size if self.levels.ndim else None

    @property
    def spin_count(self) -> int | None:
        """Number of spins for each example: one per column."""
        return self.column_count

    def encode(self, X: ArrayLike) -> SpinMatrix:
        """Return +1 exactly where `X` is above the level of its column."""
        return _spins_where(_numbers(X, self.column_count, allow_nan=True) > self.levels)

    def __repr__(self) -> str:
        is_short = self.levels.size <= _MOST_SHOWN
        return f"Threshold({self.levels.tolist() if is_short else f'{self.levels.size} columns'})"


@dataclass(frozen=True, eq=False, init=False)
class Thermometer:
    """Several spins per column, +1 for each threshold of the column that the number is above.

    Spins go column by column, and within a column by rising threshold: spin s says whether column
    ``column_of[s]`` is above ``thresholds[s]``. So a larger number has more +1, all of them first.
    The k thresholds of a column cut the line into k + 1 bins; `bin_values` holds the number that
    `decode` returns for each bin, column by column and rising. Build one with `fit`.

    >>> thermometer = Thermometer.fit([[1, 0], [2, 0], [3, 0], [4, 1]], spins_per_column=3)
    >>> thermometer
    Thermometer(2 columns, 4 thresholds)
    >>> thermometer.column_of, thermometer.thresholds
    (array([0, 0, 0, 1]), array([1.75, 2.5 , 3.25, 0.  ]))
    >>> spins = thermometer.encode([[2.2, 0], [9, 1]])
    >>> spins
    array([[ 1, -1, -1, -1],
           [ 1,  1,  1,  1]], dtype=int8)
    >>> thermometer.decode(spins)
    array([[2., 0.],
           [4., 1.]])
    """

    thresholds: FloatVector
    column_of: IntVector
    bin_values: FloatVector

    def __init__(
        self, thresholds: ArrayLike, column_of: Sequence[int] | IntVector, bin_values: ArrayLike
    ) -> None:
        levels = finite_numbers("thresholds", thresholds)
        columns = require_indices("column_of", column_of, below=max(levels.size, 1))
        values = finite_numbers("bin_values", bin_values)
        _require_thermometer(levels, columns, values)
        store(self, thresholds=levels, column_of=columns, bin_values=values)

    @classmethod
    def fit(cls, X: ArrayLike, spins_per_column: int = 4) -> "Thermometer":
        """Put the thresholds of each column at its k/(spins_per_column + 1) quantiles.

        Quantiles are interpolated linearly. Of those that split `X` in the same way the lowest is
        kept, and none stays at the largest number of its column, where nothing lies above it. So no
        two spins of a column agree throughout `X`, and none is constant unless its column is; such
        a column gets one spin, with its constant as threshold: -1 throughout `X`.

        The value of a bin is the middle one of its numbers in `X`, the lower if there are two; both
        bins of a constant column have its constant.
        """
        columns = _numbers(X, None).astype(np.float64).T
        count = require_count("spins_per_column", spins_per_column)
        return thermometer_of([quantile_bins(column, count) for column in columns])

    @cached_property
    def column_count(self) -> int:
        """Number of columns that `encode` accepts."""
        return int(self.column_of[-1]) + 1

    @property
    def spin_count(self) -> int:
        """Number of spins for each example: one per threshold."""
        return self.thresholds.size

    def encode(self, X: ArrayLike) -> SpinMatrix:
        """Return +1 exactly where a number is above the threshold; NaN is above none."""
        numbers = _numbers(X, self.column_count, allow_nan=True)
        return _spins_where(numbers[:, self.column_of] > self.thresholds)

    def decode(self, spins: ArrayLike) -> FloatMatrix:
        """Return the value of the bin of each column; spins that no number gives are refused."""
        states = require_spin_matrix("spins", spins, columns=self.spin_count, of="threshold")
        same_column = self.column_of[1:] == self.column_of[:-1]
        broken = (states[:, 1:] > states[:, :-1]) & same_column
        if broken.any():
            row, spin = np.argwhere(broken)[0]
            raise AlphabetError(
                "spins must be a thermometer, in each column first +1 and then -1; row "
                f"{row} has column {self.column_of[spin]} above {self.thresholds[spin + 1]} "
                f"but not above {self.thresholds[spin]}"
            )
        first_spins = np.flatnonzero(np.diff(self.column_of, prepend=-1))
        counts = np.add.reduceat(states > 0, first_spins, axis=1, dtype=np.int64)
        first_bins = first_spins + np.arange(self.column_count)
        return np.asarray(self.bin_values[first_bins + counts])

    def __repr__(self) -> str:
        return f"Thermometer({self.column_count} columns, {self.spin_count} thresholds)"


@dataclass(frozen=True)
class BitPlanes:
    """The bits of whole numbers from 0 to 2**bits - 1: +1 for a set bit, -1 for a clear one.

    Spins go plane by plane, the most significant first, and each plane holds all columns in order:
    spin ``p * columns + c`` is bit ``bits - 1 - p`` of column c. So images given row by row become
    channels x rows x columns, ready for ``Topology.parse(..., inputs=(bits, rows, columns))``.
    With `gray`, neighbouring numbers differ in one spin. `column_count` may be left open.

    >>> planes = BitPlanes(bits=2)
    >>> planes.encode([[0, 1, 2, 3]]).reshape(2, 4)  # the plane of twos, the plane of ones
    array([[-1, -1,  1,  1],
           [-1,  1, -1,  1]], dtype=int8)
    >>> BitPlanes(bits=2, gray=True).encode([[0, 1, 2, 3]]).reshape(2, 4)
    array([[-1, -1,  1,  1],
           [-1,  1,  1, -1]], dtype=int8)
    >>> planes.decode(planes.encode([[0, 1, 2, 3]]))
    array([[0, 1, 2, 3]])
    """

    bits: int = 8
    gray: bool = False
    column_count: int | None = None

    def __post_init__(self) -> None:
        if require_count("bits", self.bits) > _MOST_BITS:
            raise RangeError(f"bits must be at most {_MOST_BITS}; got {self.bits}")
        if self.column_count is not None:
            require_count("column_count", self.column_count)

    @property
    def spin_count(self) -> int | None:
        """Number of spins for each example: `bits` per column; None if any width is accepted."""
        return None if self.column_count is None else self.bits * self.column_count

    def encode(self, X: ArrayLike) -> SpinMatrix:
        """Return the bits of each number as spins, plane by plane."""
        codes = self._whole_numbers(X)
        if self.gray:
            codes ^= codes >> 1
        example_count, column_count = codes.shape
        spins = np.empty((example_count, self.bits, column_count), dtype=np.int8)
        for plane in range(self.bits):
            spins[:, plane] = _spins_where((codes >> (self.bits - 1 - plane)) & 1 == 1)
        return spins.reshape(example_count, -1)

    def decode(self, spins: ArrayLike) -> NDArray[np.int64]:
        """Return exactly the numbers that `encode` was given."""
        states = require_spin_matrix("spins", spins, columns=self.spin_count, of="bit")
        if (width := states.shape[1]) % self.bits:
            raise ShapeError(
                f"spins must have {self.bits} columns for each number, one per bit; got {width}"
            )
        planes = states.reshape(len(states), self.bits, -1)
        numbers = np.zeros((len(states), planes.shape[2]), dtype=np.int64)
        for plane in range(self.bits):
            bit = planes[:, plane] > 0
            if self.gray:
                bit ^= numbers & 1 == 1
            numbers = 2 * numbers + bit
        return numbers

    def _whole_numbers(self, X: ArrayLike) -> NDArray[np.int64]:
        numbers = _numbers(X, self.column_count)
        if numbers.dtype.kind == "f":
            numbers = numbers.astype(np.float64)  # float16 cannot be compared with 2**53 - 1
        largest = 2**self.bits - 1
        bad = (numbers < 0) | (numbers > largest) | (numbers != np.floor(numbers))
        if bad.any():
            row, column = np.argwhere(bad)[0]
            raise RangeError(
                f"X must hold whole numbers in 0..{largest}, which fit in {self.bits} bits; "
                f"got {numbers[row, column]} in row {row}, column {column}"
            )
        return numbers.astype(np.int64)


# ---- numbers in, spins out ----


def _numbers(X: ArrayLike, column_count: int | None, *, allow_nan: bool = False) -> NDArray[Any]:
    of = "measured quantity"
    return require_real_matrix("X", X, columns=column_count, of=of, allow_nan=allow_nan)


def _spins_where(is_positive: NDArray[np.bool_]) -> SpinMatrix:
    return np.where(is_positive, np.int8(1), np.int8(-1))


# ---- thresholds ----


Bins = tuple[FloatVector, FloatVector]  # thresholds of one column, values of its bins


def quantile_bins(column: FloatVector, count: int) -> Bins:
    """Return thresholds at `count` quantiles, fewer where some coincide, and medians of bins."""
    numbers = np.sort(column)
    cuts = _cuts(numbers, count)
    ends, first = np.unique(np.searchsorted(numbers, cuts, side="right"), return_index=True)
    begin, end = np.append(0, ends), np.append(ends, len(numbers))
    middle = begin + (end - begin - 1) // 2  # of the empty top bin of a constant: the last number
    return cuts[first], numbers[middle]


def even_bins(column: FloatVector, count: int) -> Bins:
    """Return thresholds at equal distances over 2.5 standard deviations on both sides of the mean.

    Numbers beyond the outer hundredths count as these. The sum of the spins is then a number that
    is almost proportional to the distance from the mean. Quantiles, where float64 cannot hold that.
    If the mean is far from the median, quantiles of the different numbers, where these are many.
    """
    size = float(np.abs(column).max()) or 1.0
    inner = np.clip(column / size, *np.quantile(column / size, (0.01, 0.99)))
    deviation = float(inner.std()) or 1.0
    is_skewed = abs(inner.mean() - np.median(inner)) > _SKEWED * deviation
    if is_skewed and len(distinct := np.unique(column)) > 2 * count:
        return quantile_bins(distinct, count)
    spread = 2.5 * deviation
    with np.errstate(over="ignore"):
        ends = (inner.mean() + spread * (np.arange(2 * count + 1) / count - 1)) * size
    cuts = ends[1::2]
    if not (np.isfinite(ends).all() and (np.diff(cuts) > 0).all()):
        return quantile_bins(column, count)
    return cuts, ends[::2]


def median_cuts(columns: Iterable[FloatVector]) -> list[float]:
    """Return the median of each column, or the second largest number where it is the largest."""
    return [float(_cuts(np.sort(column), 1)[0]) for column in columns]


def thermometer_of(columns: Sequence[Bins]) -> Thermometer:
    """Return the thermometer of these columns."""
    thresholds, values = zip(*columns, strict=True)
    column_of = np.repeat(np.arange(len(columns)), [len(part) for part in thresholds])
    return Thermometer(np.concatenate(thresholds), column_of, np.concatenate(values))


def _cuts(numbers: FloatVector, count: int) -> FloatVector:
    """Return `count` rising quantiles of sorted numbers, below the largest one if they vary.

    As numpy.quantile, but exact at the data: equal neighbours give themselves, and the largest
    float64 does not overflow.
    """
    smaller = numbers[numbers < numbers[-1]]
    if not len(smaller):
        return np.full(count, numbers[-1])
    below, rest = np.divmod(np.arange(1, count + 1) * (len(numbers) - 1), count + 1)
    share = rest / (count + 1)
    low, high = numbers[below], numbers[below + (rest > 0)]
    quantiles = np.sort(np.clip(low * (1 - share) + high * share, low, high))
    highest = quantiles.max(where=quantiles < numbers[-1], initial=smaller[-1])
    return np.asarray(np.minimum(quantiles, highest))


# ---- construction ----


def _require_thermometer(
    thresholds: FloatVector, column_of: IntVector, bin_values: FloatVector
) -> None:
    if thresholds.ndim != 1 or thresholds.size == 0 or thresholds.shape != column_of.shape:
        raise ShapeError(
            "thresholds and column_of must have one entry per spin, at least one; "
            f"got shapes {thresholds.shape} and {column_of.shape}"
        )
    steps = np.diff(column_of, prepend=-1)
    if steps[0] != 1 or not np.isin(steps, (0, 1)).all():
        raise RangeError("column_of must count 0, 0, ..., 1, 1, ... and skip no column")
    falling = np.flatnonzero((thresholds[1:] <= thresholds[:-1]) & (steps[1:] == 0))
    if len(falling):
        spin = falling[0]
        raise RangeError(
            f"thresholds must rise within a column; column {column_of[spin]} has "
            f"{thresholds[spin]} before {thresholds[spin + 1]}"
        )
    bin_count = len(thresholds) + int(column_of[-1]) + 1
    if bin_values.shape != (bin_count,):
        raise ShapeError(
            f"bin_values must have {bin_count} values, one more per column than thresholds; "
            f"got shape {bin_values.shape}"
        )


def finite_numbers(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return finite numbers as float64, of any shape."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise AlphabetError(f"{name} must be numbers; got {values!r:.60}") from None
    if not np.isfinite(array).all():
        raise AlphabetError(f"{name} must be finite; got {array[~np.isfinite(array)][0]}")
    return array


def store(record: object, **arrays: NDArray[Any]) -> None:
    """Set fields of a frozen record to read-only arrays."""
    for name, array in arrays.items():
        array.setflags(write=False)
        object.__setattr__(record, name, array)
