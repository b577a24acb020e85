"""Binarisers, text and constructor arguments as arrays and JSON, and back.

InputEncoder <-> arrays; constructor arguments <-> plain values.
"""

from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.encoding import BitPlanes, InputEncoder, Thermometer, Threshold
from qubonn.errors import AlphabetError, FileFormatError

if TYPE_CHECKING:
    from qubonn.estimator.classifier import QuboClassifier

_THERMOMETER = ("thresholds", "column_of", "bin_values")
_RECORDS = {  # constructor arguments that are records of plain values
    "Dropout": "qubonn.training",
    "InputNoise": "qubonn.engines",
    "ForwardAnnealing": "qubonn.engines",
    "LiftedAnnealing": "qubonn.engines",
    "CpSat": "qubonn.engines",
    "SimulatedAnnealing": "qubonn.samplers",
    "PopulationAnnealing": "qubonn.samplers",
}
_FITTED = ("binariser", "label_code", "topology")  # arguments that a fitted classifier holds
_NOT_PLAIN = object()


def encoder_arrays(encoder: InputEncoder) -> dict[str, NDArray[Any]]:
    """Return the parts of a file that hold an encoder of ours."""
    if isinstance(encoder, Threshold):
        return {"binariser_levels": np.asarray(encoder.levels)}
    if isinstance(encoder, Thermometer):
        return {f"binariser_{name}": getattr(encoder, name) for name in _THERMOMETER}
    if isinstance(encoder, BitPlanes):
        numbers = [encoder.bits, encoder.gray, encoder.column_count or 0]  # 0: any
        return {"binariser_planes": np.array(numbers, dtype=np.int64)}
    raise AlphabetError(
        f"a file without pickle cannot hold a binariser of type {type(encoder).__name__}: use "
        "Threshold, Thermometer or BitPlanes, or save with joblib.dump"
    )


def encoder_of(arrays: dict[str, NDArray[Any]], columns: int, inputs: int) -> InputEncoder:
    """Return the encoder whose parts `encoder_arrays` returned; it fits columns and inputs."""
    encoder = _encoder(arrays)
    can_fit = encoder.column_count in (None, columns) and columns <= inputs
    if not can_fit or encoder.encode(np.zeros((1, columns))).shape[1] != inputs:
        raise FileFormatError(
            f"its binariser must turn {columns} columns into {inputs} spins, one per input"
        )
    return encoder


def text_array(name: str, values: NDArray[Any]) -> tuple[NDArray[Any], bool]:
    """Return an array without objects, and whether texts came as objects."""
    array = np.asarray(values)
    if array.dtype.kind in "biufSU":
        return array, False
    if not all(type(value) is str for value in array.tolist()):
        raise AlphabetError(
            f"a file without pickle can hold {name} that are text, numbers or booleans; "
            f"got {array.tolist()!r:.60}: save with joblib.dump"
        )
    return array.astype(str), True


def plain_parameters(classifier: "QuboClassifier") -> tuple[dict[str, Any], list[str]]:
    """Return the constructor arguments as JSON has them, and the names of those it cannot hold.

    A given binariser, label code or topology is in the file anyway: true stands for it.
    """
    given = classifier.get_params(deep=False)
    plain = {name: _plain(value) for name, value in given.items()}
    plain |= {name: True for name in _FITTED if plain[name] is _NOT_PLAIN}
    lost = [name for name, value in plain.items() if value is _NOT_PLAIN]
    return {name: value for name, value in plain.items() if name not in lost}, lost


def parameters_of(description: dict[str, Any], classifier: "QuboClassifier") -> dict[str, Any]:
    """Return the constructor arguments that a file describes."""
    plain = description.get("parameters")
    unknown = set(plain) - set(classifier.get_params()) if isinstance(plain, dict) else {"none"}
    if not isinstance(plain, dict) or unknown:
        raise FileFormatError(
            f"parameters must be arguments of QuboClassifier; got {unknown!r:.60}"
        )
    values = {name: _value(name, value) for name, value in plain.items()}
    topology = classifier.committee_.members[0].topology
    fitted = zip(_FITTED, (classifier.binariser_, classifier.code_book_, topology), strict=True)
    return values | {name: value for name, value in fitted if values.get(name) is True}


def _encoder(arrays: dict[str, NDArray[Any]]) -> InputEncoder:
    if "binariser_levels" in arrays:
        return Threshold(arrays["binariser_levels"])
    if "binariser_planes" in arrays:
        planes = arrays["binariser_planes"]
        if planes.shape != (3,) or planes.dtype.kind != "i":
            raise FileFormatError("binariser_planes must be three whole numbers")
        bits, gray, column_count = planes.tolist()
        return BitPlanes(bits, gray=bool(gray), column_count=column_count or None)
    parts = [arrays.get(f"binariser_{name}") for name in _THERMOMETER]
    if any(part is None for part in parts):
        raise FileFormatError("it must have the parts of a binariser")
    return Thermometer(*parts)  # type: ignore[arg-type]


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: tuples as lists, records of ours as objects."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else _NOT_PLAIN
    if isinstance(value, (tuple, list)):
        items = [_plain(item) for item in value]
        return items if _NOT_PLAIN not in items else _NOT_PLAIN
    name = type(value).__name__
    if is_dataclass(value) and _record_type(name) is type(value):
        record = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        return {name: record} if _NOT_PLAIN not in record.values() else _NOT_PLAIN
    return _NOT_PLAIN


def _value(name: str, plain: Any) -> Any:
    """Return what `_plain` wrote; lists are tuples."""
    if isinstance(plain, list):
        return tuple(_value(name, item) for item in plain)
    if not isinstance(plain, dict):
        return plain
    kind = _record_type(next(iter(plain), ""))
    settings = next(iter(plain.values()), None)
    if kind is None or not isinstance(settings, dict):
        raise FileFormatError(f"{name} must be plain or a record of {', '.join(_RECORDS)}")
    try:
        return kind(**{key: _value(key, setting) for key, setting in settings.items()})
    except TypeError as error:
        raise FileFormatError(f"{name} cannot be read: {error}") from None


def _record_type(name: str) -> Any:
    return getattr(import_module(_RECORDS[name]), name) if name in _RECORDS else None
