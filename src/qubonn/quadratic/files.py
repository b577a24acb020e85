"""A QUBO as a file, in the format that the suffix names.

Qubo <-> file.  All formats keep every coefficient, the offset and the labels exactly, or refuse to
be written; those marked * have numbers as variables, with labels and offset in FILE.labels.json.
A file is written whole or not at all, and reading one runs no code from it.

| suffix | format | reads | writes |
|---|---|---|---|
| .npz | ours: compact, fast, readable by numpy alone | yes | yes |
| .qubo | the text of qbsolv, which many programs read | yes | yes |
| .coo * | dimod's COO text, over bits or spins | yes | yes |
| .json | bqpjson, over bits or spins | yes | yes |
| .mtx * | MatrixMarket, as scipy.io.mmread reads it | yes | yes |
| .rudy, .mc * | graphs of Max-Cut, as Gset has them | yes | yes |
| .lp * | LP, by dimod | no | yes |
| .bqm | dimod's own | by dimod | yes |

Text files are also read gzipped, as .qubo.gz and the like.

| array of .npz | holds |
|---|---|
| format, version | "qubonn-qubo", 1 |
| linear, couplings, offset | int64 or float64, all three alike |
| rows, columns | int32, the ends of each coupling: row < column, sorted by row, then column |
| labels | uint8: JSON text, a list with one label per variable, or null for 0, 1, 2 ... |
"""

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import PurePath
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError, QubonnError
from qubonn.quadratic.exchange_files import (
    read_bqpjson,
    read_coo,
    read_market,
    read_rudy,
    write_bqpjson,
    write_coo,
    write_market,
    write_rudy,
)
from qubonn.quadratic.file_labels import plain_labels, read_labels, write_map
from qubonn.quadratic.ising import Ising
from qubonn.quadratic.qbsolv_file import read_qbsolv, write_qbsolv
from qubonn.quadratic.qubo import Qubo, magnitude
from qubonn.storage import parse_json, read_arrays, reader, shown, write_arrays, write_whole

Entry = TypeVar("Entry")
FORMAT, VERSION = "qubonn-qubo", 1
AXES = {"linear": 1, "rows": 1, "columns": 1, "couplings": 1, "offset": 0, "labels": 1}


def save_qubo(qubo: Qubo, path: str | os.PathLike[str]) -> None:
    """Write `qubo` to `path`; labels must be text, whole numbers, or tuples of those.

    >>> save_qubo(Qubo.of([0], [1], [2], variable_count=2), "problem.txt")
    Traceback (most recent call last):
    qubonn.errors.FileFormatError: problem.txt must end in .npz, .qubo, .coo, .json, .mtx, .rudy,
    .mc, .lp or .bqm, which names the format
    """
    name = os.fspath(path)
    _chosen(name, WRITERS)(require_canonical(name, qubo), name)


def save_ising(ising: Ising, path: str | os.PathLike[str]) -> None:
    """Write `ising` over spins; other formats hold it as a QUBO: ``ising.to_qubo().save``."""
    name = os.fspath(path)
    write = _chosen(name, SPIN_WRITERS)
    require_canonical(name, ising.to_qubo())
    write(ising, name)


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Return the suffix that names the format, without .gz."""
    return PurePath(os.fspath(path).lower().removesuffix(".gz")).suffix


@reader
def load_qubo(path: str | os.PathLike[str]) -> Qubo:
    """Read a QUBO; whatever the bytes, the result is a valid `Qubo` or an error."""
    name = os.fspath(path)
    if suffix_of(name) == ".bqm":
        raise FileFormatError(
            f"{name} must be read by dimod: Qubo.from_dimod(BinaryQuadraticModel.from_file(...))"
        )
    read = _chosen(name, READERS)
    try:
        return require_canonical(name, read(name))
    except FileFormatError:
        raise
    except QubonnError as error:
        raise FileFormatError(f"{name}: {error}") from error


def write_bqm(energy: Qubo | Ising, path: str) -> None:
    """Write the energy by dimod, labels included."""
    _require_floats(energy, path)
    plain = replace(energy, labels=plain_labels(path, energy.labels))
    with plain.to_dimod().to_file() as stream:
        write_whole(path, stream.read())


def write_lp(qubo: Qubo, path: str) -> None:
    """Write the energy as an LP file by dimod; variable i is called x_i."""
    import dimod

    _require_floats(qubo, path)
    labels = plain_labels(path, qubo.labels)
    model = qubo.to_dimod([f"x_{number}" for number in range(qubo.variable_count)])
    text = dimod.lp.dumps(dimod.ConstrainedQuadraticModel.from_bqm(model))
    write_map(path, labels, qubo.offset)
    write_whole(path, text.encode("ascii"))


def _require_floats(energy: Qubo | Ising, path: str) -> None:
    if isinstance(energy, Qubo) and energy.is_exact:
        numbers = np.concatenate([energy.linear, energy.couplings, [energy.offset]])
        if (np.abs(numbers) > 2**53).any():
            raise FileFormatError(
                f"{path}: whole numbers must be exact in float64, which is all that dimod has; "
                "use .npz or .qubo"
            )


def write_npz(qubo: Qubo, path: str) -> None:
    """Write the arrays as they are."""
    labels = plain_labels(path, qubo.labels)
    text = json.dumps(None if isinstance(labels, range) else labels).encode("ascii")
    arrays: dict[str, NDArray[Any]] = {
        "format": np.array(FORMAT),
        "version": np.array(VERSION),
        "linear": qubo.linear,
        "rows": qubo.rows,
        "columns": qubo.columns,
        "couplings": qubo.couplings,
        "offset": np.array(qubo.offset, dtype=qubo.linear.dtype),
        "labels": np.frombuffer(text, dtype=np.uint8),
    }
    write_arrays(path, arrays)


def read_npz(path: str) -> Qubo:
    """Read what `write_npz` wrote; the order and range of the numbers are left to the caller."""
    arrays = read_arrays(path, is_ours=True)
    for fault in _faults_of_archive(arrays):
        raise FileFormatError(f"{path} {fault}")
    linear, rows, columns, couplings, offset, text = (arrays[name] for name in AXES)
    labels = parse_json(f"{path}: labels", text.tobytes())
    names = range(len(linear)) if labels is None else read_labels(path, labels, len(linear))
    return Qubo(linear, rows, columns, couplings, offset.item(), names)


READERS: dict[str, Callable[[str], Qubo]] = {
    ".npz": read_npz,
    ".qubo": read_qbsolv,
    ".coo": read_coo,
    ".json": read_bqpjson,
    ".mtx": read_market,
    ".rudy": read_rudy,
    ".mc": read_rudy,
}
WRITERS: dict[str, Callable[[Qubo, str], None]] = {
    ".npz": write_npz,
    ".qubo": write_qbsolv,
    ".coo": write_coo,
    ".json": write_bqpjson,
    ".mtx": write_market,
    ".rudy": write_rudy,
    ".mc": write_rudy,
    ".lp": write_lp,
    ".bqm": write_bqm,
}
SPIN_WRITERS: dict[str, Callable[[Ising, str], None]] = {
    ".coo": write_coo,
    ".json": write_bqpjson,
    ".bqm": write_bqm,
}


def _chosen(name: str, table: dict[str, Entry]) -> Entry:
    """Return the reader or writer of a file's suffix."""
    entry = table.get(suffix_of(name))
    if entry is None:
        *most, last = table
        raise FileFormatError(
            f"{name} must end in {', '.join(most)} or {last}, which names the format"
        )
    return entry


def _faults_of_archive(arrays: dict[str, NDArray[Any]]) -> Iterator[str]:
    """Say which arrays of an .npz file are missing or of another kind, the worst first."""
    if "format" not in arrays or str(arrays["format"]) != FORMAT:
        got = shown(sorted(arrays))
        yield f"must be a QUBO archive, with an array format = {FORMAT!r}; got arrays {got}"
    version = arrays.get("version")
    if version is None or version.dtype.kind != "i" or version.tolist() != VERSION:
        got = shown(version)
        yield f"must have version {VERSION}; got {got}: a newer qubonn may have written it"
    for name, axes in AXES.items():
        if name not in arrays or arrays[name].ndim != axes:
            got = str(arrays[name].shape) if name in arrays else "none"
            yield f"must have an array {name} of {axes} axes; got {got}"
    offset, linear, labels = (arrays[name].dtype for name in ("offset", "linear", "labels"))
    if offset != linear:
        yield f"must have an offset of the type of linear; got {offset} and {linear}"
    if labels != np.uint8:
        yield f"must have labels of uint8, the bytes of JSON; got {labels}"


def require_canonical(name: str, qubo: Qubo) -> Qubo:
    """Return `qubo` if its arrays are as `Qubo.of` makes them; `name` says where it is from."""
    for fault in chain(_faults_of_types(qubo), _faults_of_order(qubo), _faults_of_numbers(qubo)):
        raise FileFormatError(f"{name}: {fault}")
    return qubo


def _faults_of_types(qubo: Qubo) -> Iterator[str]:
    linear, rows, columns, couplings = qubo.linear, qubo.rows, qubo.columns, qubo.couplings
    if linear.ndim != 1 or rows.ndim != 1:
        shapes = f"{linear.shape} and {rows.shape}"
        yield f"linear, rows, columns and couplings must be vectors; got shapes {shapes}"
    if rows.dtype != np.int32 or columns.dtype != np.int32:
        yield f"rows and columns must be int32; got {rows.dtype}, {columns.dtype}"
    kind = linear.dtype
    if kind not in (np.int64, np.float64) or couplings.dtype != kind:
        got = f"{kind} and {couplings.dtype}"
        yield f"linear and couplings must be both int64 or both float64; got {got}"
    if not isinstance(qubo.offset, int if kind == np.int64 else float):
        got = f"{shown(qubo.offset)} and {kind}"
        yield f"offset must be a whole number if and only if linear is int64; got {got}"
    if isinstance(qubo.offset, int) and not -(2**63) < qubo.offset < 2**63:
        yield "a whole offset must lie within 64 bits"


def _faults_of_order(qubo: Qubo) -> Iterator[str]:
    rows, columns, count = qubo.rows, qubo.columns, qubo.variable_count
    misplaced = (rows < 0) | (rows >= columns) | (columns >= count)
    if misplaced.any():
        first = int(misplaced.argmax())
        got = f"coupling {first} has row {rows[first]} and column {columns[first]}"
        yield f"couplings must have 0 <= row < column < {count}; {got}"
    falls = np.diff(rows.astype(np.int64) * count + columns) <= 0
    if falls.any():
        first = int(falls.argmax()) + 1
        got = f"coupling {first} (row {rows[first]}, column {columns[first]}) is out of order"
        yield f"each coupling must occur once, sorted by row, then column; {got}"


def _faults_of_numbers(qubo: Qubo) -> Iterator[str]:
    for part, values in (("linear", qubo.linear), ("couplings", qubo.couplings)):
        is_bad = ~np.isfinite(values)
        if is_bad.any():
            first = int(is_bad.argmax())
            yield f"{part} must be finite; number {first} is {values[first]}"
    if (qubo.couplings == 0).any():
        yield f"couplings must not be zero; coupling {(qubo.couplings == 0).argmax()} is"
    total = magnitude(np.concatenate([qubo.linear, qubo.couplings]), qubo.offset)
    if not total < (2**63 if qubo.is_exact else np.inf):
        kind, got = qubo.linear.dtype, f"an offset of {qubo.offset} and a magnitude of {total:.3g}"
        yield f"offset, linear and couplings must sum to energies that {kind} can hold; got {got}"
