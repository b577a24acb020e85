"""Samples as other programs write them.

File -> a matrix of values, the variables of its columns, and the energies that it claims.
"""

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.datasets.table import open_rows
from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import is_number, read_labels
from qubonn.quadratic.files import suffix_of
from qubonn.quadratic.samples import STRANGE, require_width
from qubonn.storage import Archive, open_arrays, parse_json, read_array, read_limited, shown

ARRAY_NAMES = ("bits", "samples", "states", "spins", "solutions")
WRAPPINGS = ("qubo_solution", "result")  # of an answer of a service
NESTED = ("configuration", "sample", "values", "spins", "bits")  # of a solution with its energy
ENERGY = "energy"
CELLS = {"True": 1, "False": 0, "true": 1, "false": 0}
WORD = 32  # bits in which dimod packs samples


class States(NamedTuple):
    """A row per sample; without `variables` the columns are all variables, in order."""

    values: NDArray[Any]
    variables: Sequence[Hashable] | None = None
    energies: NDArray[Any] | None = None


def read_states(name: str, count: int) -> States:
    """Read samples of `count` variables in the format that the suffix names."""
    match suffix_of(name):
        case ".csv" | ".tsv" | ".txt" | ".dat":
            return _text_states(name)
        case ".json":
            return _json_states(name, parse_json(name, read_limited(name)))
        case ".npy":
            return States(read_array(name))
        case ".npz":
            with open_arrays(name) as archive:
                return _archived(name, archive, count)
    raise FileFormatError(
        f"{name} must end in .csv, .txt, .json, .npz or .npy, which names the format"
    )


# ---- text ----


def _text_states(name: str) -> States:
    """Read CSV, columns between blanks, or one string of 0 and 1 per line."""
    with open_rows(name, has_header=False) as rows:
        lines = [_split(cells) for _, cells in rows.lines]
    is_headed = any(_value(cell) == STRANGE for cell in lines[0])
    head, lines = (lines[0], lines[1:]) if is_headed else (None, lines)
    width = len(head or lines[0])
    for number, cells in enumerate(lines, start=1):
        if len(cells) != width:
            raise FileFormatError(f"{name}: sample {number} must have {width} values, as the first")
    values = [[_value(cell) for cell in cells] for cells in lines]
    matrix = np.array(values, dtype=np.int8).reshape(len(values), width)
    if head is None or ENERGY not in head:
        return States(matrix, head)
    column = head.index(ENERGY)
    return States(matrix, head, _energies([_float(cells[column]) for cells in lines]))


def _split(cells: list[str]) -> list[str]:
    if len(cells) == 1 and not set(cells[0]) - {"0", "1"}:
        return list(cells[0])
    return [cell.strip() for cell in (cells[0].split() if len(cells) == 1 else cells)]


def _value(cell: str) -> int:
    number = CELLS.get(cell, _float(cell))
    return int(number) if number in (-1, 0, 1) else STRANGE


def _float(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")


# ---- JSON ----


def _json_states(path: str, document: Any) -> States:
    """Find the samples in lists, in objects, or in the answer of a service."""
    energies = None
    if isinstance(document, dict):
        for key in WRAPPINGS:
            document = document.get(key, document) if isinstance(document, dict) else document
    if isinstance(document, dict):
        if document.get("type") in ("SampleSet", "Response"):
            return _sample_set(path, document)
        energies = _energies(document.get("energies"))
        document = next((document[key] for key in ARRAY_NAMES if key in document), document)
    if not isinstance(document, list) or not document:
        raise FileFormatError(
            f"{path} must be a list of samples, an object with a list named samples, spins or "
            f"solutions, or serialised samples of dimod or OpenJij; got {shown(document)}"
        )
    if isinstance(document[0], dict):
        return _objects(path, document)
    is_list = isinstance(document[0], (list, str))
    rows = [_listed(row) for row in (document if is_list else [document])]  # or a single sample
    return States(_matrix(path, rows, len(rows[0])), None, energies)


def _objects(path: str, samples: list[Any]) -> States:
    """Read objects by variable, or objects that hold a sample beside its energy."""
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, dict) or sample.keys() != samples[0].keys():
            raise FileFormatError(
                f"{path}: sample {number} must name the same variables as the first"
            )
    energies = _energies([sample.get(ENERGY) for sample in samples])
    for key in NESTED:
        if isinstance(samples[0].get(key), (dict, list, str)):
            inner = _json_states(path, [sample[key] for sample in samples])
            return inner._replace(energies=energies)
    variables = list(samples[0])
    rows = [[sample[key] for key in variables] for sample in samples]
    return States(_matrix(path, rows, len(variables)), variables, energies)


def _listed(row: Any) -> Any:
    """Return a string of 0 and 1 as a list."""
    return [int(bit) for bit in row] if isinstance(row, str) and not set(row) - {"0", "1"} else row


def _energies(values: Any) -> NDArray[Any] | None:
    is_list = isinstance(values, list) and all(is_number(value) for value in values)
    return np.array(values, dtype=np.float64) if is_list else None


def _sample_set(path: str, document: dict[str, Any]) -> States:
    """Read what ``to_serializable`` of dimod and OpenJij writes, packed into words or not."""
    labels, data = document.get("variable_labels"), document.get("sample_data")
    rows = data.get("data") if isinstance(data, dict) else None
    if not isinstance(labels, list) or not isinstance(rows, list) or not rows:
        raise FileFormatError(
            f"{path} must have variable_labels and sample_data with lists, as dimod writes"
        )
    variables, count = read_labels(path, labels, len(labels)), len(labels)
    vectors = document.get("vectors")
    vector = vectors.get(ENERGY) if isinstance(vectors, dict) else None
    energies = _energies(vector.get("data")) if isinstance(vector, dict) else None
    if document.get("sample_packed") is not True:
        return States(_matrix(path, rows, count), variables, energies)
    packed = _matrix(path, rows, -(-count // WORD))
    if packed.dtype.kind not in "iu" or not ((packed >= 0) & (packed < 1 << WORD)).all():
        raise FileFormatError(f"{path}: samples must be words of {WORD} bits, as dimod packs them")
    octets = packed.astype("<u4").view(np.uint8).reshape(len(rows), -1)
    bits = np.unpackbits(octets, axis=1, bitorder="little", count=count)
    return States(bits, variables, energies)


def _matrix(path: str, rows: list[Any], width: int) -> NDArray[Any]:
    for number, row in enumerate(rows, start=1):
        is_list = isinstance(row, list) and len(row) == width
        if not is_list or not all(type(value) in (int, bool, float) for value in row):
            raise FileFormatError(
                f"{path}: sample {number} must be a list of {width} numbers; got {shown(row)}"
            )
    return np.array(rows).reshape(len(rows), width)


def _archived(name: str, archive: Archive, count: int) -> States:
    names = archive.names
    known = [key for key in ARRAY_NAMES if key in names]
    if not known and len(names) != 1:
        raise FileFormatError(
            f"{name} must hold the samples as an array named bits; got {sorted(names)!r:.100}"
        )
    chosen = (known or names)[0]
    shape, _ = archive.header(chosen)
    require_width(shape[-1] if shape else 1, count)  # before it takes memory
    energies = None
    if "energies" in names and archive.header("energies")[0] == shape[:1]:
        energies = _energies(archive.read("energies").tolist())
    return States(archive.read(chosen), None, energies)
