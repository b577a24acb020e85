"""Labels of variables, in a form that every file can hold.

Labels <-> JSON values.  A label is text, a whole number, or a tuple of labels; in JSON a tuple is
a list.  Default labels are the numbers of the variables, always as a range.  Formats without labels
have them in a second file, with the offset.
"""

import json
import os
from collections.abc import Hashable, Sequence
from math import isfinite
from typing import Any, TypeAlias

import numpy as np

from qubonn.errors import FileFormatError
from qubonn.storage import parse_json, read_limited, shown, write_whole

Label: TypeAlias = str | int | tuple["Label", ...]
Nested: TypeAlias = type[tuple[Any, ...]] | type[list[Any]]

MAP_FORMAT = "qubonn-labels-1"
DEEPEST = 20  # tuples within tuples


def plain_labels(name: str, labels: Sequence[Hashable]) -> Sequence[Label]:
    """Return labels that JSON can hold; refuse others and repeated ones.

    >>> plain_labels("p.qubo", [("weight", 0), "bias"])
    [('weight', 0), 'bias']
    >>> plain_labels("p.qubo", [0.5])
    Traceback (most recent call last):
    qubonn.errors.FileFormatError: p.qubo: label 0 must be made of text, whole numbers of 64 bits
    and tuples of those, at most 20 deep, to be kept in a file; got 0.5
    """
    if isinstance(labels, range) and labels == range(len(labels)):
        return labels
    return _distinct(name, [_label(name, n, label, tuple) for n, label in enumerate(labels)])


def read_labels(name: str, decoded: object, count: int) -> Sequence[Label]:
    """Check labels decoded from JSON: a list of `count` different ones."""
    if not isinstance(decoded, list) or len(decoded) != count:
        got = f"{len(decoded)} entries" if isinstance(decoded, list) else type(decoded).__name__
        raise FileFormatError(
            f"{name}: labels must be a list of {count}, one a variable; got {got}"
        )
    return _distinct(name, [_label(name, n, label, list) for n, label in enumerate(decoded)])


def _label(name: str, number: int, value: Any, nested: Nested, depth: int = 0) -> Label:
    """Return text, a whole number, or what is `nested` (a tuple, in JSON a list) as a tuple."""
    if isinstance(value, str):
        return str.__str__(value)
    is_number = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if is_number and -(2**63) <= value < 2**63:
        return int(value)
    if isinstance(value, nested) and depth <= DEEPEST:
        return tuple(_label(name, number, part, nested, depth + 1) for part in value)
    raise FileFormatError(
        f"{name}: label {number} must be made of text, whole numbers of 64 bits and "
        f"{nested.__name__}s of those, at most {DEEPEST} deep, to be kept in a file; "
        f"got {shown(value)}"
    )


def _distinct(name: str, labels: list[Label]) -> Sequence[Label]:
    first_with: dict[Label, int] = {}
    for number, label in enumerate(labels):
        first = first_with.setdefault(label, number)
        if first != number:
            raise FileFormatError(
                f"{name}: labels must differ; variables {first} and {number} are both "
                f"{shown(label)}"
            )
    numbers = range(len(labels))
    return numbers if labels == list(numbers) else labels


def is_number(value: object) -> bool:
    """Whether a value of JSON is a finite float, or a whole number of 64 bits."""
    if type(value) is float:
        return isfinite(value)
    return type(value) is int and -(2**63) < value < 2**63


# ---- the map beside a file whose variables are plain numbers ----


def map_name(path: str) -> str:
    """Return the name of the file that holds labels and offset of a file without room for them."""
    return f"{path}.labels.json"


def write_map(path: str, labels: Sequence[Hashable], offset: float, **more: bool) -> None:
    """Write the labels of variables 0, 1, 2 ... and the offset beside a file."""
    plain = plain_labels(path, labels)
    document = {
        "format": MAP_FORMAT,
        "offset": np.array(offset).item(),
        **more,
        "labels": None if isinstance(plain, range) else plain,
    }
    write_whole(map_name(path), (json.dumps(document) + "\n").encode("ascii"))


def read_map(path: str) -> dict[str, Any]:
    """Return what `write_map` wrote beside a file; nothing if there is no such file."""
    name = map_name(path)
    if not os.path.exists(name):
        return {}
    document = parse_json(name, read_limited(name))
    is_ours = isinstance(document, dict) and document.get("format") == MAP_FORMAT
    offset = document.get("offset") if is_ours else None
    if not is_number(offset):
        raise FileFormatError(
            f"{name} must hold the labels and the offset of {os.path.basename(path)}, as qubonn "
            f"writes them; got {shown(document)}"
        )
    return dict(document)
