"""Samples in JSON: lists, objects by variable, or dimod's serialised SampleSet -> a matrix.

Path -> values, and which variables the columns are.
"""

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import read_labels
from qubonn.quadratic.strict_json import parse_json, shown
from qubonn.storage import read_limited

LIST_KEYS = ("samples", "bits", "states", "spins", "solutions")
WORD = 32  # bits in which dimod packs samples

Found = tuple[NDArray[Any], Sequence[Hashable] | None]


def json_states(path: str) -> Found:
    """Return values and variables; None where the variables come in order."""
    document = parse_json(path, read_limited(path))
    if isinstance(document, dict):
        if document.get("type") == "SampleSet":
            return _sample_set(path, document)
        document = next((document[key] for key in LIST_KEYS if key in document), document)
    if not isinstance(document, list) or not document:
        raise FileFormatError(
            f"{path} must be a list of samples, an object with a list named samples, or a "
            f"serialised SampleSet of dimod; got {shown(document)}"
        )
    if isinstance(document[0], dict):
        return _objects(path, document)
    if not isinstance(document[0], list):
        document = [document]  # a single sample
    return _matrix(path, document), None


def _objects(path: str, samples: list[Any]) -> Found:
    variables = list(samples[0])
    for number, sample in enumerate(samples):
        if not isinstance(sample, dict) or sample.keys() != samples[0].keys():
            raise FileFormatError(
                f"{path}: sample {number + 1} must name the same variables as the first"
            )
    return _matrix(path, [[sample[key] for key in variables] for sample in samples]), variables


def _sample_set(path: str, document: dict[str, Any]) -> Found:
    labels = document.get("variable_labels")
    data = document.get("sample_data")
    if not isinstance(labels, list) or not isinstance(data, dict):
        raise FileFormatError(f"{path} must have variable_labels and sample_data, as dimod writes")
    variables = list(read_labels(path, labels, len(labels)))
    rows = data.get("data")
    if not isinstance(rows, list) or not rows:
        raise FileFormatError(f"{path} must have samples as lists in sample_data")
    if document.get("sample_packed") is not True:
        return _matrix(path, rows), variables
    words = -(-len(variables) // WORD)
    for number, row in enumerate(rows):
        if (
            not isinstance(row, list)
            or len(row) != words
            or not all(type(word) is int and 0 <= word < 1 << WORD for word in row)
        ):
            raise FileFormatError(
                f"{path}: sample {number + 1} must be {words} words of {WORD} bits, as dimod packs "
                f"{len(variables)} variables"
            )
    packed = np.array(rows, dtype="<u4").view(np.uint8).reshape(len(rows), -1)
    bits = np.unpackbits(packed, axis=1, bitorder="little", count=len(variables))
    return bits.astype(np.int8), variables


def _matrix(path: str, rows: list[Any]) -> NDArray[Any]:
    width = len(rows[0]) if isinstance(rows[0], list) else 0
    for number, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != width:
            raise FileFormatError(
                f"{path}: sample {number + 1} must be a list of {width} values, as the first is; "
                f"got {shown(row)}"
            )
        for value in row:
            if type(value) not in (int, bool, float) or value not in (-1, 0, 1):
                raise FileFormatError(
                    f"{path}: sample {number + 1} must hold 0 and 1, or -1 and +1; "
                    f"got {shown(value)}"
                )
    return np.array(rows, dtype=np.int8).reshape(len(rows), width)
