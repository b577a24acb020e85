"""A QUBO as a file, in the format that the suffix names.

Qubo <-> .npz (ours: compact and fast) or .qubo (the text of qbsolv, which many programs read);
Qubo -> .bqm (dimod's own).  All keep every coefficient, the offset and the labels exactly.  A file
is written whole or not at all, and reading one runs no code from it.
"""

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from qubonn.errors import FileFormatError, QubonnError
from qubonn.quadratic.file_labels import plain_labels
from qubonn.quadratic.npz_file import read_npz, write_npz
from qubonn.quadratic.qbsolv_file import read_qbsolv, write_qbsolv
from qubonn.quadratic.qubo import Qubo, magnitude
from qubonn.storage import shown, write_whole

T = TypeVar("T")


def save_qubo(qubo: Qubo, path: str | os.PathLike[str]) -> None:
    """Write `qubo` to `path`; labels must be text, whole numbers, or tuples of those.

    >>> save_qubo(Qubo.of([0], [1], [2], variable_count=2), "problem.json")
    Traceback (most recent call last):
    qubonn.errors.FileFormatError: problem.json must end in .npz, .qubo or .bqm,
    which names the format
    """
    write = _by_suffix(path, WRITERS)
    write(require_canonical(os.fspath(path), qubo), os.fspath(path))


def load_qubo(path: str | os.PathLike[str]) -> Qubo:
    """Read a QUBO; whatever the bytes, the result keeps all promises of `Qubo`."""
    name = os.fspath(path)
    if name.lower().endswith(".bqm"):
        raise FileFormatError(
            f"{name} must be read by dimod: Qubo.from_dimod(BinaryQuadraticModel.from_file(...))"
        )
    read = _by_suffix(path, READERS)
    try:
        return require_canonical(name, read(name))
    except FileFormatError:
        raise
    except QubonnError as error:
        raise FileFormatError(f"{name}: {error}") from error
    except MemoryError as error:
        raise FileFormatError(f"{name} needs more memory than there is") from error


def write_bqm(qubo: Qubo, path: str) -> None:
    """Write the QUBO by dimod, labels included."""
    numbers = np.concatenate([qubo.linear, qubo.couplings, [qubo.offset]])
    if qubo.is_exact and (np.abs(numbers) > 2**53).any():
        raise FileFormatError(
            f"{path}: whole numbers must be exact in float64, which is all that dimod has; "
            "use .npz or .qubo"
        )
    with replace(qubo, labels=plain_labels(path, qubo.labels)).to_dimod().to_file() as stream:
        write_whole(path, stream.read())


READERS: dict[str, Callable[[str], Qubo]] = {".npz": read_npz, ".qubo": read_qbsolv}
WRITERS: dict[str, Callable[[Qubo, str], None]] = {
    ".npz": write_npz,
    ".qubo": write_qbsolv,
    ".bqm": write_bqm,
}


def _by_suffix(path: str | os.PathLike[str], functions: dict[str, T]) -> T:
    function = functions.get(Path(path).suffix.lower())
    if function is None:
        *most, last = functions
        raise FileFormatError(
            f"{os.fspath(path)} must end in {', '.join(most)} or {last}, which names the format"
        )
    return function


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
            f"{name}: each coupling must occur once, sorted by row, then column; "
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
