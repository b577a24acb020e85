"""Qubo <-> .json, for people: one variable and one coupling a line, so that diffs can be read.

| key | holds |
|---|---|
| format, version | "qubonn-qubo", 1 |
| offset | a number |
| variables | in order: {"label": ..., "linear": number}; a list in a label stands for a tuple |
| couplings | [row, column, number] with row < column, each pair once, in any order |

If no number has a point or an exponent, all are int64; otherwise all are float64.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import label_text, plain_labels, read_labels
from qubonn.quadratic.qubo import Qubo
from qubonn.quadratic.strict_json import parse_json, shown
from qubonn.storage import read_limited, write_whole

FORMAT, VERSION = "qubonn-qubo", 1
KEYS = ("format", "version", "offset", "variables", "couplings")
VARIABLE_KEYS = {"label", "linear"}


def write_json(qubo: Qubo, path: str) -> None:
    """Write the QUBO as ASCII text."""
    write_whole(path, "".join(_pieces(path, qubo)).encode("ascii"))


def read_json(path: str) -> Qubo:
    """Read a QUBO that a program or a person wrote."""
    document = parse_json(path, read_limited(path))
    _require_kind(path, document)
    variables, couplings = document["variables"], document["couplings"]
    _require_variables(path, variables)
    count = len(variables)
    _require_couplings(path, couplings, count)
    rows, columns, values = zip(*couplings, strict=True) if couplings else ((), (), ())
    linear = [variable["linear"] for variable in variables]
    numbers = _numbers(path, [*linear, *values, document["offset"]])
    return Qubo.of(
        np.array([*range(count), *rows], dtype=np.int64),
        np.array([*range(count), *columns], dtype=np.int64),
        numbers[:-1],
        variable_count=count,
        offset=numbers[-1].item(),
        labels=read_labels(path, [variable["label"] for variable in variables], count),
    )


def _pieces(path: str, qubo: Qubo) -> Iterator[str]:
    labels = plain_labels(path, qubo.labels)
    yield f'{{\n"format": {json.dumps(FORMAT)},\n"version": {VERSION},\n'
    yield f'"offset": {np.array(qubo.offset).item()!r},\n"variables": [\n'
    yield ",\n".join(
        f'{{"label": {label_text(label)}, "linear": {value!r}}}'
        for label, value in zip(labels, qubo.linear.tolist(), strict=True)
    )
    yield '\n],\n"couplings": [\n'
    terms = zip(qubo.rows.tolist(), qubo.columns.tolist(), qubo.couplings.tolist(), strict=True)
    yield ",\n".join(map("[%d, %d, %r]".__mod__, terms))
    yield "\n]\n}\n"


def _require_kind(path: str, document: object) -> None:
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise FileFormatError(f'{path} must be an object with "format": {json.dumps(FORMAT)}')
    if document.get("version") != VERSION:
        raise FileFormatError(
            f"{path} must have version {VERSION}; got {shown(document.get('version'))}: "
            "a newer qubonn may have written it"
        )
    if document.keys() != set(KEYS):
        raise FileFormatError(
            f"{path} must have exactly the keys {', '.join(KEYS)}; got {shown(list(document))}"
        )
    if not _is_number(document["offset"]):
        raise FileFormatError(f"{path}: offset must be a number; got {shown(document['offset'])}")


def _require_variables(path: str, variables: object) -> None:
    if not isinstance(variables, list):
        raise FileFormatError(f"{path}: variables must be a list; got {shown(variables)}")
    for number, variable in enumerate(variables):
        if (
            type(variable) is not dict
            or variable.keys() != VARIABLE_KEYS
            or not _is_number(variable["linear"])
        ):
            raise FileFormatError(
                f'{path}: variables[{number}] must be {{"label": ..., "linear": number}}; '
                f"got {shown(variable)}"
            )


def _require_couplings(path: str, couplings: object, count: int) -> None:
    if not isinstance(couplings, list):
        raise FileFormatError(f"{path}: couplings must be a list; got {shown(couplings)}")
    seen = set()
    for number, coupling in enumerate(couplings):
        if (
            type(coupling) is not list
            or len(coupling) != 3
            or type(coupling[0]) is not int
            or type(coupling[1]) is not int
            or not 0 <= coupling[0] < coupling[1] < count
            or not _is_number(coupling[2])
        ):
            raise FileFormatError(
                f"{path}: couplings[{number}] must be [row, column, number] with "
                f"0 <= row < column < {count}; got {shown(coupling)}"
            )
        seen.add((coupling[0], coupling[1]))
        if len(seen) <= number:
            raise FileFormatError(
                f"{path}: couplings[{number}] repeats the pair {coupling[0]}, {coupling[1]}; "
                "each must stand once"
            )


def _is_number(value: object) -> bool:
    return type(value) is int or type(value) is float  # true and false are no numbers here


def _numbers(path: str, numbers: Sequence[int | float]) -> NDArray[Any]:
    is_whole = float not in set(map(type, numbers))
    try:
        return np.array(numbers, dtype=np.int64 if is_whole else np.float64)
    except OverflowError:
        raise FileFormatError(f"{path}: whole numbers must lie within 64 bits") from None
