"""Qubo <-> .npz: compact, fast, exact, and readable by numpy alone.

| array | holds |
|---|---|
| format, version | "qubonn-qubo", 1 |
| linear, couplings, offset | int64 or float64, all three alike |
| rows, columns | int32, the ends of each coupling: row < column, sorted by row, then column |
| labels | uint8: JSON text, a list with one label a variable, or null for 0, 1, 2 ... |
"""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import Label, are_default, plain_labels, read_labels
from qubonn.quadratic.qubo import Qubo
from qubonn.storage import parse_json, read_arrays, shown, write_arrays

FORMAT, VERSION = "qubonn-qubo", 1
SHAPES = {"linear": 1, "rows": 1, "columns": 1, "couplings": 1, "offset": 0, "labels": 1}


def write_npz(qubo: Qubo, path: str) -> None:
    """Write the arrays as they are."""
    labels = plain_labels(path, qubo.labels)
    text = json.dumps(None if are_default(labels) else labels).encode("ascii")
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
    arrays = read_arrays(path)
    _require_kind(path, arrays)
    _require_shapes(path, arrays)
    return Qubo(
        arrays["linear"],
        arrays["rows"],
        arrays["columns"],
        arrays["couplings"],
        arrays["offset"].item(),
        _labels(path, arrays["labels"], len(arrays["linear"])),
    )


def _require_kind(path: str, arrays: dict[str, NDArray[Any]]) -> None:
    if "format" not in arrays or str(arrays["format"]) != FORMAT:
        raise FileFormatError(
            f"{path} must be a QUBO archive, with an array format = {FORMAT!r}; "
            f"got arrays {shown(sorted(arrays))}"
        )
    version = arrays.get("version")
    if version is None or version.dtype.kind != "i" or version.tolist() != VERSION:
        raise FileFormatError(
            f"{path} must have version {VERSION}; got {shown(version)}: "
            "a newer qubonn may have written it"
        )


def _require_shapes(path: str, arrays: dict[str, NDArray[Any]]) -> None:
    for name, axes in SHAPES.items():
        if name not in arrays or arrays[name].ndim != axes:
            got = arrays[name].shape if name in arrays else "none"
            raise FileFormatError(f"{path} must have an array {name} of {axes} axes; got {got}")
    if arrays["offset"].dtype != arrays["linear"].dtype:
        raise FileFormatError(
            f"{path}: offset must be of the type of linear; "
            f"got {arrays['offset'].dtype} and {arrays['linear'].dtype}"
        )


def _labels(path: str, text: NDArray[Any], count: int) -> Sequence[Label]:
    if text.dtype != np.uint8:
        raise FileFormatError(f"{path}: labels must be uint8, the bytes of JSON; got {text.dtype}")
    decoded = parse_json(f"{path}: labels", text.tobytes())
    return range(count) if decoded is None else read_labels(path, decoded, count)
