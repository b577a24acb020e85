"""Refuse bad input before work starts, in one sentence that names the argument.

Every function returns the checked value in its canonical form, or raises a QubonnError.
"""

from collections.abc import Iterable
from math import isfinite, prod
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.memory import free_memory

HARMLESS_BYTES = 64 << 20  # not worth checking
MOST_STRENGTH = 2**40  # with larger ones float64 would lose the smaller terms
LARGEST_WHOLE = 2**31  # of strengths; with larger ones sums of int64 might wrap around

BitVector = NDArray[np.int8]  # of 0 and 1
BitMatrix = NDArray[np.int8]
SpinVector = NDArray[np.int8]  # of -1 and +1
SpinMatrix = NDArray[np.int8]
IntVector = NDArray[np.int64]


def require_count(name: str, value: object, *, least: int = 1) -> int:
    """Return `value` as an int that is at least `least`."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise RangeError(f"{name} must be a whole number, at least {least}; got {value!r:.60}")
    if value < least:
        raise RangeError(f"{name} must be at least {least}; got {value}")
    return int(value)


def require_strength(name: str, value: object) -> int | float:
    """Return a finite number >= 0; whole ones up to 2**31 as int, so that energies stay exact."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(
        value, (int, float, np.integer, np.floating)
    ):
        raise RangeError(f"{name} must be a finite number, at least 0; got {value!r:.60}")
    try:
        number = float(value)
    except OverflowError:  # a Python int of more than 308 digits
        raise RangeError(f"{name} must be a number that float64 can hold; got more") from None
    if not isfinite(number) or number < 0:
        raise RangeError(f"{name} must be a finite number, at least 0; got {value}")
    if number > MOST_STRENGTH:
        raise RangeError(
            f"{name} must be at most 2**40, so that float64 holds sums of energies exactly; "
            f"got {number:g}"
        )
    return int(number) if number.is_integer() and number <= LARGEST_WHOLE else number


def require_seconds(name: str, value: float | None) -> float | None:
    """Return a positive number of seconds, or None for no limit."""
    if value is not None and not (is_finite_number(value) and value > 0):
        raise RangeError(f"{name} must be a positive number of seconds; got {value!r}")
    return value


def is_finite_number(value: Any) -> bool:
    """Whether a value is a real number, neither infinite nor a truth value."""
    return isinstance(value, Real) and not isinstance(value, bool) and isfinite(value)


def require_indices(name: str, values: Iterable[int], *, below: int) -> IntVector:
    """Return whole numbers in [0, below) as an int64 vector."""
    try:
        array = np.asarray(values if isinstance(values, np.ndarray) else list(values))
    except (TypeError, ValueError):
        raise ShapeError(
            f"{name} must be a sequence of whole numbers; got {values!r:.60}"
        ) from None
    if array.size == 0:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ShapeError(
            f"{name} must be a sequence of whole numbers; got {array.dtype} of shape {array.shape}"
        )
    if array.min() < 0 or array.max() >= below:
        bad = array[(array < 0) | (array >= below)][0]
        raise RangeError(f"{name} must lie in 0..{below - 1}; got {bad}")
    return array.astype(np.int64)


def require_spins(name: str, values: ArrayLike, *, count: int, of: str) -> SpinVector:
    """Return `count` values of -1 or +1 as int8; `of` names what each value belongs to."""
    array = _numeric(name, values)
    if array.shape != (count,):
        raise ShapeError(f"{name} must have {count} values, one per {of}; got shape {array.shape}")
    return _spins(name, array)


def require_spin_matrix(
    name: str, values: ArrayLike, *, columns: int | None, of: str, rows: int | None = None
) -> SpinMatrix:
    """Return a matrix of -1 and +1 as int8; `columns` and `rows` as in `require_matrix`."""
    return _spins(name, require_matrix(name, values, columns=columns, of=of, rows=rows))


def require_matrix(
    name: str, values: ArrayLike, *, columns: int | None, of: str, rows: int | None = None
) -> NDArray[Any]:
    """Return a matrix of numbers, one row per example and one column per `of`.

    With `columns` None it may have any number of them. NaN and infinity are left to the caller.
    """
    array = _numeric(name, values)
    if columns is None:
        if array.ndim != 2 or array.shape[1] == 0:
            raise ShapeError(
                f"{name} must be a matrix with at least one column, one per {of}; "
                f"got shape {array.shape}"
            )
    elif array.ndim != 2 or array.shape[1] != columns:
        raise ShapeError(
            f"{name} must have {columns} columns, one per {of}; "
            f"got shape {array.shape}{_matrix_hint(array, columns)}"
        )
    if len(array) == 0:
        raise ShapeError(f"{name} must have at least one row, one per example; got none")
    if rows is not None and len(array) != rows:
        raise ShapeError(f"{name} must have {rows} rows, one per example; got {len(array)}")
    return array


def require_real_matrix(
    name: str, values: ArrayLike, *, columns: int | None, of: str, allow_nan: bool = False
) -> NDArray[Any]:
    """Return a matrix of finite numbers, one row per example and one column per `of`."""
    array = require_matrix(name, values, columns=columns, of=of)
    if allow_nan and array.dtype.kind == "f" and not np.isinf(array).any():
        return array
    return _finite(name, array, "fill in or remove such rows first")


def require_real_vector(
    name: str, values: ArrayLike, *, count: int | None = None, of: str = ""
) -> NDArray[Any]:
    """Return finite numbers, `count` of them if given; `of` names what each belongs to."""
    array = _numeric(name, values)
    if count is None:
        if array.ndim != 1:
            raise ShapeError(f"{name} must be a vector of numbers; got shape {array.shape}")
    elif array.shape != (count,):
        hint = "; give the rows one by one" if array.ndim == 2 and array.shape[1] == count else ""
        raise ShapeError(
            f"{name} must have {count} values, one per {of}; got shape {array.shape}{hint}"
        )
    return _finite(name, array, "fill it in first")


def require_weights(name: str, values: ArrayLike, *, count: int) -> NDArray[Any]:
    """Return the weights of `count` examples, none negative and some positive."""
    weights = require_real_vector(name, values, count=count, of="example")
    if (weights < 0).any() or not weights.any():
        raise RangeError(
            f"{name} must not be negative, and not all weights may be zero: some must be positive; "
            f"got weights from {weights.min():g} to {weights.max():g}"
        )
    return weights


def require_bits(name: str, values: ArrayLike, *, count: int) -> BitMatrix:
    """Return values of 0 or 1 as int8, `count` along the last axis."""
    array = _numeric(name, values)
    if array.ndim not in (1, 2) or array.shape[-1] != count:
        raise ShapeError(
            f"{name} must have {count} values, one per variable; got shape {array.shape}"
        )
    is_bit = (array == 0) | (array == 1)
    if not is_bit.all():
        is_spin = (array == -1) | (array == 1)
        hint = "; turn spins into bits with (spins + 1) // 2" if is_spin.all() else ""
        raise AlphabetError(f"{name} must be 0 or 1; got {_first(array, ~is_bit)}{hint}")
    return array.astype(np.int8, copy=False)


def require_memory(
    what: str, byte_count: int, *, hint: str = "use fewer examples or a smaller network"
) -> None:
    """Refuse work that needs more memory than this process may use; `hint` says what to do."""
    if byte_count > HARMLESS_BYTES and byte_count > (free := free_memory()):
        needed = f"{byte_count / 2**30:,.1f} GiB"
        raise RangeError(f"{what} needs about {needed} and {free / 2**30:.1f} GiB are free: {hint}")


def _matrix_hint(array: NDArray[Any], columns: int) -> str:
    """Say what to do about common wrong shapes."""
    if array.shape == (columns,):
        return "; give one example as a matrix of one row"
    if array.ndim == 1 and columns == 1:
        return "; give a vector as one column, with values[:, None]"
    if array.ndim == 2 and len(array) == columns:
        return "; examples are rows: transpose it"
    if array.ndim > 2 and prod(array.shape[1:]) == columns:
        return "; flatten each example, with values.reshape(len(values), -1)"
    return ""


def _numeric(name: str, values: ArrayLike) -> NDArray[Any]:
    try:
        array = np.asarray(values)
    except ValueError:
        raise ShapeError(
            f"{name} must be a rectangular array; got rows of unequal length"
        ) from None
    if array.dtype.kind == "b":
        return array.astype(np.int8)
    if array.dtype.kind not in "iuf":
        raise AlphabetError(f"{name} must hold numbers; got {_not_a_number(array)}")
    return array


def _not_a_number(array: NDArray[Any]) -> str:
    """Name the first value that is no real number, and what to do about its kind."""
    if array.dtype.kind in "SU":
        text = str(next(iter(array.flat), ""))
        return f"text such as {text!r:.30}: encode it first, classes with a CodeBook"
    for value in array.flat if array.dtype.kind == "O" else ():
        if hasattr(value, "toarray"):
            return f"a sparse {type(value).__name__}: call its toarray() first"
        if not isinstance(value, (int, float, np.number)):
            return f"{value!r:.30} among them: replace it by a number first"
    return f"{array.dtype}: turn it into real numbers with astype(float) first"


def _finite(name: str, array: NDArray[Any], hint: str) -> NDArray[Any]:
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        bad = _first(array, ~np.isfinite(array))
        raise AlphabetError(f"{name} must be finite; got {bad}: {hint}")
    return array


def _spins(name: str, array: NDArray[Any]) -> NDArray[np.int8]:
    is_spin = (array == 1) | (array == -1)
    if not is_spin.all():
        is_bit = (array == 0) | (array == 1)
        hint = "turn classes into spins with a CodeBook, numbers with where(values > 0, 1, -1)"
        if is_bit.all():
            hint = "turn bits into spins with 2 * bits - 1"
        raise AlphabetError(f"{name} must be -1 or +1; got {_first(array, ~is_spin)}; {hint}")
    return array.astype(np.int8, copy=False)


def _first(array: NDArray[Any], is_bad: NDArray[np.bool_]) -> str:
    """Return the first bad value and its place."""
    place = tuple(np.argwhere(is_bad)[0].tolist())
    where = f"at place {place[0]}" if len(place) == 1 else f"in row {place[0]}, column {place[1]}"
    return f"{array[place]} {where}"
