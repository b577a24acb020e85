"""The promises of a Qubo, checked: for those that come from a file, or go into one.

Qubo -> the same Qubo, or one FileFormatError that says which promise is broken.
"""

import numpy as np

from qubonn.errors import FileFormatError
from qubonn.quadratic.qubo import Qubo, magnitude
from qubonn.quadratic.strict_json import shown


def require_canonical(name: str, qubo: Qubo) -> Qubo:
    """Return `qubo` if its arrays are as `Qubo.of` makes them; `name` says where it is from."""
    _require_types(name, qubo)
    _require_order(name, qubo)
    _require_numbers(name, qubo)
    return qubo


def _require_types(name: str, qubo: Qubo) -> None:
    if qubo.linear.ndim != 1 or qubo.rows.ndim != 1:
        raise FileFormatError(
            f"{name}: linear, rows, columns and couplings must be vectors; "
            f"got shapes {qubo.linear.shape} and {qubo.rows.shape}"
        )
    if qubo.rows.dtype != np.int32 or qubo.columns.dtype != np.int32:
        raise FileFormatError(
            f"{name}: rows and columns must be int32; got {qubo.rows.dtype}, {qubo.columns.dtype}"
        )
    kind = qubo.linear.dtype
    if kind not in (np.int64, np.float64) or qubo.couplings.dtype != kind:
        raise FileFormatError(
            f"{name}: linear and couplings must be both int64 or both float64; "
            f"got {kind} and {qubo.couplings.dtype}"
        )
    if not isinstance(qubo.offset, int if kind == np.int64 else float):
        raise FileFormatError(
            f"{name}: offset must be a whole number if and only if linear is int64; "
            f"got {shown(qubo.offset)} and {kind}"
        )
    if isinstance(qubo.offset, int) and not -(2**63) < qubo.offset < 2**63:
        raise FileFormatError(f"{name}: a whole offset must lie within 64 bits")


def _require_order(name: str, qubo: Qubo) -> None:
    rows, columns, count = qubo.rows, qubo.columns, qubo.variable_count
    misplaced = (rows < 0) | (rows >= columns) | (columns >= count)
    if misplaced.any():
        first = int(misplaced.argmax())
        raise FileFormatError(
            f"{name}: couplings must have 0 <= row < column < {count}; "
            f"coupling {first} has row {rows[first]} and column {columns[first]}"
        )
    falls = np.diff(rows.astype(np.int64) * count + columns) <= 0
    if falls.any():
        first = int(falls.argmax()) + 1
        raise FileFormatError(
            f"{name}: couplings must stand once each, sorted by row, then column; "
            f"coupling {first} (row {rows[first]}, column {columns[first]}) is out of order"
        )


def _require_numbers(name: str, qubo: Qubo) -> None:
    for part, values in (("linear", qubo.linear), ("couplings", qubo.couplings)):
        is_bad = ~np.isfinite(values)
        if is_bad.any():
            first = int(is_bad.argmax())
            raise FileFormatError(
                f"{name}: {part} must be finite; number {first} is {values[first]}"
            )
    if (qubo.couplings == 0).any():
        first = int((qubo.couplings == 0).argmax())
        raise FileFormatError(f"{name}: couplings must not be zero; coupling {first} is")
    total = magnitude(np.concatenate([qubo.linear, qubo.couplings]), qubo.offset)
    if not total < (2**63 if qubo.is_exact else np.inf):
        raise FileFormatError(
            f"{name}: offset, linear and couplings must sum to energies that "
            f"{qubo.linear.dtype} can hold; got an offset of {qubo.offset} "
            f"and a magnitude of {total:.3g}"
        )
