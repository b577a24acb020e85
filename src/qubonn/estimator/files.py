"""A classifier as a file that describes itself and cannot run code.

QuboClassifier <-> .qubonn: the file of its committee, which can be read as such, with binariser,
classes, label code, constructor arguments and what training reported about each member.
"""

import json
import os
import warnings
from dataclasses import asdict, fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import is_finite_number, require_count
from qubonn.encoding import (
    BitPlanes,
    CodeBook,
    InputEncoder,
    TableEncoder,
    Thermometer,
    Threshold,
)
from qubonn.errors import AlphabetError, FileFormatError
from qubonn.estimator.designs import Design
from qubonn.estimator.members import Member
from qubonn.estimator.plan import Encoding
from qubonn.network import BinaryNetwork
from qubonn.network.files import description_of, network_of, reading
from qubonn.stopping import Stop
from qubonn.storage import read_arrays, reader, shown, write_arrays
from qubonn.topology import Topology
from qubonn.training import Committee
from qubonn.training.calibration import MOST_SHARPNESS, Calibration
from qubonn.training.committee import NO_CALIBRATION, committee_arrays, committee_of

if TYPE_CHECKING:
    from qubonn.estimator.classifier import QuboClassifier

Arrays = dict[str, NDArray[Any]]

VERSION = 1
_REPORTED: dict[str, Any] = {
    field.name: field.type for field in fields(Member) if field.name not in ("network", "stop")
}
_ENCODERS: dict[Any, list[str]] = {
    kind: [field.name for field in fields(kind)]
    for kind in (TableEncoder, Thermometer, Threshold)  # those of more parts first
}
_FITTED = ("binariser", "label_code", "topology")  # stored as fitted; true marks a given one
_SETTINGS = ("qubonn.engines", "qubonn.samplers", "qubonn.training")  # may be arguments
_READINGS = {"threshold": "signs", "pairwise": "largest"}  # `outputs` of engines in older files


@reader
def load(path: str | os.PathLike[str]) -> "BinaryNetwork | Committee | QuboClassifier":
    """Read a network, a committee or a classifier; anything else gives one clear error."""
    try:
        arrays = read_arrays(path, is_ours=True)
    except FileFormatError as error:
        raise FileFormatError(
            f"{os.fspath(path)} must be a model that qubonn wrote (.qubonn): {error}"
        ) from error
    if "classifier" in arrays:
        with reading(path, "classifier"):
            return _classifier(arrays)
    if {"committee_reading", "committee_vote"} & set(arrays):
        with reading(path, "committee"):
            return committee_of(arrays)
    with reading(path, "network"):
        return network_of(arrays)


# ---- classifiers ----


def save_classifier(classifier: "QuboClassifier", path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to `path`, whole or not at all."""
    parameters: dict[str, Any] = {}
    lost = []
    for name, value in classifier.get_params(deep=False).items():
        if isinstance(value, dict):
            value = list(value.items())  # as names of a JSON object all classes would be text
        try:
            parameters[name] = json.loads(json.dumps(value, default=_plain, allow_nan=False))
        except (TypeError, ValueError):
            if name in _FITTED:
                parameters[name] = True
            else:
                lost.append(name)
    if lost:
        warnings.warn(
            f"a file without pickle cannot hold {', '.join(sorted(lost))}: the loaded classifier "
            "will have the default there; its predictions are the same",
            UserWarning,
            stacklevel=3,
        )
    topology = classifier.committee_.members[0].topology
    encoding = Encoding(classifier.binariser_, classifier.code_book_, topology)
    description = {
        "parameters": parameters,
        "n_features_in": int(classifier.n_features_in_),
        "shift": classifier.shift_,
        "design": None if classifier.design_ is None else asdict(classifier.design_),
        "calibration": asdict(classifier.calibration_),
        "is_interrupted": classifier.is_interrupted_,
        "examples": classifier.example_count_,
        "trained_by": classifier.version_,
        "members": [
            {name: getattr(member, name) for name in _REPORTED} | {"stop": member.stop.name}
            for member in classifier.members_
        ],
    }
    names = getattr(classifier, "feature_names_in_", None)
    arrays = described_arrays("classifier", description, encoding, names)
    write_arrays(path, committee_arrays(classifier.committee_) | arrays)


def _classifier(arrays: Arrays) -> "QuboClassifier":
    from qubonn.estimator.classifier import QuboClassifier, set_fitted  # imports scikit-learn

    committee = committee_of(arrays)
    topology = committee.members[0].topology
    description, encoding, names = described(arrays, "classifier", topology)
    if encoding.book.reading != committee.reading:
        raise FileFormatError("its committee must read the largest output if its code is one-hot")
    classifier = set_fitted(
        QuboClassifier(),
        encoding,
        _members(description, committee),
        column_count=description["n_features_in"],
        design=_design(description.get("design")),
        calibration=_calibration(description.get("calibration"), len(encoding.book.classes)),
        shift=require_count("shift", description.get("shift", 0), least=0),
        is_interrupted=description.get("is_interrupted") is True,
        example_count=_optional(description, "examples", int),
        version=_optional(description, "trained_by", str),
    )
    if names is not None:
        classifier.feature_names_in_ = names
    plain = description.get("parameters")
    unknown = set(plain) - set(classifier.get_params()) if isinstance(plain, dict) else {"none"}
    if not isinstance(plain, dict) or unknown:
        raise FileFormatError(
            f"parameters must be arguments of QuboClassifier; got {unknown!r:.60}"
        )
    values = {name: _value(name, value) for name, value in plain.items()}
    fitted = zip(_FITTED, (encoding.binariser, encoding.book, topology), strict=True)
    values |= {name: value for name, value in fitted if values.get(name) is True}
    if isinstance(values.get("class_weight"), tuple):
        values["class_weight"] = _weights(values["class_weight"])
    classifier.set_params(**values)
    return classifier


def _optional(description: dict[str, Any], name: str, kind: type) -> Any:
    """Return a value that older files do not have; None for these."""
    value = description.get(name)
    if value is not None and type(value) is not kind:
        raise FileFormatError(f"{name} must be of type {kind.__name__}; got {shown(value)}")
    return value


def _design(plain: Any) -> Design | None:
    """Return the design that a classifier was trained with; None if there is none."""
    if plain is None:
        return None
    names = {field.name for field in fields(Design)}
    if isinstance(plain, dict) and "is_grouped" in plain:  # older files
        plain = plain | {"segments": 1 if plain["is_grouped"] else None}
        del plain["is_grouped"]
    if not isinstance(plain, dict) or not set(plain) <= names:  # older files lack some
        raise FileFormatError(f"design must have {', '.join(sorted(names))}; got {shown(plain)}")
    values: dict[str, Any] = {
        name: tuple(one) if isinstance(one, list) else one for name, one in plain.items()
    }
    numbers = [n for one in values.values() for n in (one if isinstance(one, tuple) else (one,))]
    if not all(n is None or type(n) in (bool, int, float) for n in numbers):
        raise FileFormatError(f"design must hold numbers, true or false; got {shown(plain)}")
    return Design(**values)


def _calibration(plain: Any, class_count: int) -> Calibration:
    """Return the calibration of a classifier; older files have none."""
    if plain is None:
        return NO_CALIBRATION
    found: dict[str, Any] = plain if isinstance(plain, dict) else {}
    sharpness, pulls = (found.get(name, ()) for name in ("sharpness", "pulls"))
    numbers = [sharpness, *pulls] if isinstance(pulls, list) else [None]
    if not all(is_finite_number(n) for n in numbers) or len(numbers) not in (1, 1 + class_count):
        raise FileFormatError(f"calibration must hold numbers; got {shown(plain)}")
    if not 0 < sharpness <= MOST_SHARPNESS:
        raise FileFormatError(f"sharpness must be positive and small; got {shown(sharpness)}")
    return Calibration(float(sharpness), tuple(float(pull) for pull in pulls))


def _members(description: dict[str, Any], committee: Committee) -> list[Member]:
    records = description.get("members")
    if not isinstance(records, list) or len(records) != len(committee):
        raise FileFormatError(f"members must be a list of {len(committee)} records")
    members = []
    for record, network in zip(records, committee.members, strict=True):
        if not isinstance(record, dict) or not all(
            isinstance(record.get(name), kind) for name, kind in _REPORTED.items()
        ):
            raise FileFormatError(f"a member must be described by {', '.join(_REPORTED)}")
        if record.get("stop") not in Stop.__members__:
            raise FileFormatError(f"stop must be one of {list(Stop.__members__)}")
        values = {name: record[name] for name in _REPORTED}
        members.append(Member(network=network, stop=Stop[record["stop"]], **values))
    numbers = [member.number for member in members]
    if numbers != sorted(set(numbers)) or numbers[0] < 0:
        raise FileFormatError(f"members must be numbered in rising order; got {numbers!r:.60}")
    return members


# ---- descriptions and encodings, also of posed problems ----


def described_arrays(
    part: str, description: dict[str, Any], encoding: Encoding, names: Any
) -> Arrays:
    """Return a description as JSON in one part, an encoding without topology, names of columns."""
    classes = encoding.book.classes
    document = {
        "format": f"qubonn-{part}",
        "version": VERSION,
        "classes_are_objects": classes.dtype.kind == "O",
        **description,
    }
    named = {} if names is None else {"feature_names": _text_array("feature names", names)}
    return named | {
        part: np.frombuffer(json.dumps(document).encode(), dtype=np.uint8),
        "classes": _text_array("classes", classes),
        "codewords": np.asarray(encoding.book.codewords),
        **_encoder_arrays(encoding.binariser),
    }


def described(
    arrays: Arrays, part: str, topology: Topology
) -> tuple[dict[str, Any], Encoding, NDArray[Any] | None]:
    """Return what `described_arrays` wrote: description, encoding and names of columns, if any.

    The encoding must fit the topology and the number of columns, `n_features_in`.
    """
    description = description_of(
        arrays, part, "classes", "codewords", kind=f"qubonn-{part}", version=VERSION
    )
    width, inputs = description.get("n_features_in"), topology.column_count
    if type(width) is not int or width < 1:
        raise FileFormatError(f"n_features_in must be a positive number; got {shown(width)}")
    classes, names = arrays["classes"], arrays.get("feature_names")
    if description.get("classes_are_objects") is True:
        classes = classes.astype(object)
    book, encoder = CodeBook(classes, arrays["codewords"]), _encoder(arrays)
    if book.spin_count != topology.output_count or len(book.classes) < 2:
        raise FileFormatError("codewords must have a spin for each output, and two rows or more")
    can_fit = encoder.column_count in (None, width) and width <= inputs
    if not can_fit or encoder.encode(np.zeros((1, width))).shape[1] != inputs:
        raise FileFormatError(
            f"its binariser must turn {width} columns into {inputs} spins, one per input"
        )
    if names is not None and (names.dtype.kind != "U" or names.shape != (width,)):
        raise FileFormatError(f"feature_names must be {width} texts")
    encoding = Encoding(encoder, book, topology)
    return description, encoding, None if names is None else names.astype(object)


def _encoder_arrays(encoder: InputEncoder) -> Arrays:
    if isinstance(encoder, BitPlanes):
        numbers = [encoder.bits, encoder.gray, encoder.column_count or 0]  # 0: any
        return {"binariser_planes": np.array(numbers, dtype=np.int64)}
    for kind, names in _ENCODERS.items():
        if isinstance(encoder, kind):
            return {f"binariser_{name}": getattr(encoder, name) for name in names}
    raise AlphabetError(
        f"a file without pickle cannot hold a binariser of type {type(encoder).__name__}: use "
        "Threshold, Thermometer, BitPlanes or a TableEncoder, or save with joblib.dump"
    )


def _encoder(arrays: Arrays) -> InputEncoder:
    if "binariser_planes" in arrays:
        planes = arrays["binariser_planes"]
        if planes.shape != (3,) or planes.dtype.kind != "i":
            raise FileFormatError("binariser_planes must be three whole numbers")
        bits, gray, column_count = planes.tolist()
        return BitPlanes(bits, gray=bool(gray), column_count=column_count or None)
    for kind, names in _ENCODERS.items():
        parts = [arrays[f"binariser_{name}"] for name in names if f"binariser_{name}" in arrays]
        if len(parts) == len(names):
            return cast(InputEncoder, kind(*parts))
    raise FileFormatError("it must have the parts of a binariser")


def _text_array(name: str, values: Any) -> NDArray[Any]:
    """Return an array without objects; objects must be strings."""
    array = np.asarray(values)
    if array.dtype.kind in "biufSU":
        return array
    if not all(type(value) is str for value in array.tolist()):
        raise AlphabetError(
            f"a file without pickle can hold {name} that are text, numbers or booleans; "
            f"got {array.tolist()!r:.60}: save with joblib.dump"
        )
    return array.astype(str)


# ---- constructor arguments ----


def _plain(value: Any) -> Any:
    """Return settings as an object without functions, and numpy's numbers as Python's."""
    if isinstance(value, np.generic):
        return value.item()
    name = type(value).__name__
    if _settings_type(name) is not type(value):
        raise TypeError(f"{name} is neither plain nor settings")
    record = {
        field.name: setting
        for field in fields(value)
        if not (callable(setting := getattr(value, field.name)) and setting is field.default)
    }
    return {name: record}


def _value(name: str, plain: Any) -> Any:
    """Return what `_plain` wrote; lists are tuples."""
    if isinstance(plain, list):
        return tuple(_value(name, item) for item in plain)
    if not isinstance(plain, dict):
        return plain
    kind = _settings_type(next(iter(plain), ""))
    settings = next(iter(plain.values()), None)
    if kind is None or not isinstance(settings, dict):
        raise FileFormatError(f"{name} must be plain, or settings of {', '.join(_SETTINGS)}")
    if (outputs := str(settings.get("outputs"))) in _READINGS:
        settings = {**settings, "reading": _READINGS[outputs]}
        del settings["outputs"]
    try:
        return kind(**{key: _value(key, setting) for key, setting in settings.items()})
    except (TypeError, AttributeError) as error:
        raise FileFormatError(f"{name} cannot be read: {error}") from None


def _weights(pairs: tuple[Any, ...]) -> dict[Any, Any]:
    try:
        return dict(pairs)
    except (TypeError, ValueError):
        raise FileFormatError(
            f"class_weight must be pairs of a class and a weight; got {pairs!r:.60}"
        ) from None


def _settings_type(name: str) -> Any:
    """Return the public engine, sampler or record of keyword settings of this name, or None.

    Only dataclasses that the three packages list count: a file can name no other code, and a new
    engine or sampler needs no entry here.
    """
    for home in map(import_module, _SETTINGS):
        kind: Any = getattr(home, name) if name in home.__all__ else None
        if is_dataclass(kind):
            is_solver = hasattr(kind, "solve") or hasattr(kind, "sample")
            if is_solver or all(field.kw_only for field in fields(kind)):
                return kind
    return None
