"""A fitted classifier as one file that describes itself and cannot run code.

QuboClassifier <-> .qubonn: the file of its committee, which other tools can read as such, and with
it binariser, classes, label code, constructor arguments and what training said about each member.
"""

import json
import os
import warnings
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix, require_count
from qubonn.encoding import BitPlanes, CodeBook, InputEncoder, Thermometer, Threshold
from qubonn.errors import AlphabetError, FileFormatError, QubonnError
from qubonn.estimator.members import Member
from qubonn.estimator.plan import Encoding, PosedProblem
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.network.files import layer_shapes_of, reading, require_format
from qubonn.stopping import Stop
from qubonn.storage import (
    parse_json,
    read_arrays,
    read_limited,
    read_names,
    shown,
    write_arrays,
    write_whole,
)
from qubonn.topology import Topology
from qubonn.training import Committee
from qubonn.training import load as load_trained
from qubonn.training.committee import committee_arrays, committee_of

if TYPE_CHECKING:
    from qubonn.estimator.classifier import QuboClassifier

FORMAT, VERSION = "qubonn-classifier", 1
_RECORD: dict[str, Any] = {
    "number": int,
    "energy": (int, float),
    "violation_count": int,
    "accuracy": (int, float),
    "solver": str,
    "sweep_count": (int, type(None)),
    "seconds": (int, float),
}


def save_classifier(classifier: "QuboClassifier", path: str | os.PathLike[str]) -> None:
    """Write a fitted classifier to `path`, whole or not at all."""
    from sklearn.utils.validation import check_is_fitted  # takes a moment

    check_is_fitted(classifier)
    parameters, lost = plain_parameters(classifier)
    if lost:
        warnings.warn(
            f"a file without pickle cannot hold {', '.join(sorted(lost))}: the loaded classifier "
            "will have the default there; its predictions are the same",
            UserWarning,
            stacklevel=3,
        )
    classes, is_object = text_array("classes", classifier.classes_)
    description = {
        "format": FORMAT,
        "version": VERSION,
        "parameters": parameters,
        "n_features_in": int(classifier.n_features_in_),
        "classes_are_objects": is_object,
        "shift": classifier.shift_,
        "is_interrupted": classifier.is_interrupted_,
        "members": [_record(member) for member in classifier.members_],
    }
    arrays = committee_arrays(classifier.committee_)
    arrays["classifier"] = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    arrays["classes"] = classes
    arrays["codewords"] = np.asarray(classifier.code_book_.codewords)
    if hasattr(classifier, "feature_names_in_"):
        arrays["feature_names"] = text_array("feature names", classifier.feature_names_in_)[0]
    write_arrays(path, arrays | encoder_arrays(classifier.binariser_))


def load_classifier(path: str | os.PathLike[str]) -> "QuboClassifier":
    """Read a classifier written by its ``save``; anything else gives one clear error."""
    arrays = read_arrays(path)
    with reading(path, "classifier"):
        return classifier_of(arrays)


def classifier_of(arrays: dict[str, NDArray[Any]]) -> "QuboClassifier":
    """Return the classifier whose parts are given, after checking them."""
    from qubonn.estimator.classifier import QuboClassifier

    description = _description(arrays)
    committee = committee_of(arrays)
    width = description.get("n_features_in")
    if type(width) is not int or width < 1:
        raise FileFormatError(f"n_features_in must be a positive number; got {width!r:.30}")
    classifier = QuboClassifier()
    classifier.n_features_in_ = width
    classifier.binariser_ = encoder_of(arrays, width, committee.members[0].topology.input_count)
    classifier.code_book_ = _book(arrays, description, committee)
    classifier.classes_ = classifier.code_book_.classes
    classifier.committee_ = committee
    classifier.members_ = _members(description, committee)
    classifier.violation_count_ = min(member.violation_count for member in classifier.members_)
    classifier.shift_ = require_count("shift", description.get("shift", 0), least=0)
    classifier.is_interrupted_ = description.get("is_interrupted") is True
    if "feature_names" in arrays:
        classifier.feature_names_in_ = _feature_names(arrays["feature_names"], width)
    classifier.set_params(**parameters_of(description, classifier))
    return classifier


def _record(member: Member) -> dict[str, Any]:
    return {name: getattr(member, name) for name in _RECORD} | {"stop": member.stop.name}


def _description(arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
    missing = [name for name in ("classifier", "classes", "codewords") if name not in arrays]
    if missing:
        raise FileFormatError(f"it must have a part named {missing[0]!r}")
    description = parse_json("its description", arrays["classifier"].tobytes())
    return require_format(description, FORMAT, VERSION)


def _book(
    arrays: dict[str, NDArray[Any]], description: dict[str, Any], committee: Committee
) -> CodeBook:
    classes = arrays["classes"]
    if description.get("classes_are_objects") is True:
        classes = classes.astype(object)
    book = CodeBook(classes, arrays["codewords"])
    if book.spin_count != committee.members[0].topology.output_count or len(book.classes) < 2:
        raise FileFormatError("codewords must have a spin for each output, and two rows or more")
    if book.reading != committee.reading:
        raise FileFormatError("its committee must vote by sums exactly if its code is one-hot")
    return book


def _members(description: dict[str, Any], committee: Committee) -> tuple[Member, ...]:
    records = description.get("members")
    if not isinstance(records, list) or len(records) != len(committee):
        raise FileFormatError(f"members must be a list of {len(committee)} records")
    members = tuple(
        _member(record, network) for record, network in zip(records, committee.members, strict=True)
    )
    numbers = [member.number for member in members]
    if numbers != sorted(set(numbers)) or numbers[0] < 0:
        raise FileFormatError(f"members must be numbered in rising order; got {numbers!r:.60}")
    return members


def _member(record: Any, network: Any) -> Member:
    if not isinstance(record, dict) or not all(
        isinstance(record.get(name), kind) for name, kind in _RECORD.items()
    ):
        raise FileFormatError(f"a member must be described by {', '.join(_RECORD)}")
    if record.get("stop") not in Stop.__members__:
        raise FileFormatError(f"stop must be one of {list(Stop.__members__)}")
    values = {name: record[name] for name in _RECORD}
    return Member(network=network, stop=Stop[record["stop"]], **values)


def _feature_names(names: NDArray[Any], width: int) -> NDArray[Any]:
    if names.dtype.kind != "U" or names.shape != (width,):
        raise FileFormatError(f"feature_names must be {width} texts")
    return names.astype(object)


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


PROBLEM_FORMAT = "qubonn-problem"
SIDECAR = ".problem.json"
STRENGTHS = ("product_strength", "margin_strength", "output_strength")
ARCS = ("source_of", "target_of", "weight_of")


def sidecar_of(path: str | os.PathLike[str]) -> str:
    """Return where the description of a QUBO file stands: behind its name.

    >>> sidecar_of("problem.qubo")
    'problem.qubo.problem.json'
    """
    name = os.fspath(path)
    return name if name.endswith(SIDECAR) else name + SIDECAR


def save_problem(posed: PosedProblem, path: str | os.PathLike[str]) -> None:
    """Write the description of a posed problem, whole or not at all."""
    topology, book = posed.encoding.topology, posed.encoding.book
    classes, is_object = text_array("classes", book.classes)
    document = {
        "format": PROBLEM_FORMAT,
        "version": VERSION,
        "target": posed.target,
        "names": None if posed.names is None else list(posed.names),
        "columns": posed.column_count,
        "classes": classes.tolist(),
        "classes_are_objects": is_object,
        "codewords": _texts(book.codewords),
        "binariser": {
            name: array.tolist() for name, array in encoder_arrays(posed.encoding.binariser).items()
        },
        "strengths": {name: getattr(posed.problem, name) for name in STRENGTHS},
        "layer_shapes": topology.layer_shapes,
        "arcs": {name: getattr(topology, name).tolist() for name in ARCS},
        "inputs": _texts(posed.problem.input_spins),
        "outputs": _texts(posed.problem.output_spins),
    }
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(value)}" for key, value in document.items())
    write_whole(path, f"{{\n{lines}\n}}\n".encode("ascii"))


def load_problem(path: str | os.PathLike[str]) -> PosedProblem:
    """Read a description; anything else gives one clear error."""
    name = os.fspath(path)
    document = parse_json(name, read_limited(path))
    try:
        return _posed(document)
    except (QubonnError, KeyError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise FileFormatError(f"{name} does not describe a problem: {why}") from error


def _posed(described: object) -> PosedProblem:
    document = require_format(described, PROBLEM_FORMAT, VERSION)
    inputs, outputs = _spins(document, "inputs"), _spins(document, "outputs")
    topology = _topology(document, inputs.shape[1], outputs.shape[1])
    columns = document["columns"]
    if type(columns) is not int or not 1 <= columns <= inputs.shape[1]:
        raise FileFormatError(f"columns must lie in 1..{inputs.shape[1]}; got {shown(columns)}")
    book = CodeBook(_class_names(document), _spins(document, "codewords"))
    if book.spin_count != topology.output_count or len(book.classes) < 2:
        raise FileFormatError("codewords must have a spin for each output, and two rows or more")
    binariser = encoder_of(_arrays(document["binariser"]), columns, topology.input_count)
    strengths = document["strengths"]
    if not isinstance(strengths, dict) or set(strengths) != set(STRENGTHS):
        raise FileFormatError(f"strengths must be {', '.join(STRENGTHS)}")
    problem = TrainingProblem(topology, inputs, outputs, **strengths)
    names, target = _names(document, columns), document.get("target")
    if target is not None and not isinstance(target, str):
        raise FileFormatError(f"target must be the name of a column; got {shown(target)}")
    return PosedProblem(Encoding(binariser, book, topology), problem, columns, names, target)


def _topology(document: dict[str, Any], inputs: int, outputs: int) -> Topology:
    arcs = document["arcs"]
    if not isinstance(arcs, dict) or set(arcs) != set(ARCS):
        raise FileFormatError(f"arcs must have {', '.join(ARCS)}")
    numbers = {name: _whole_numbers(name, arcs[name]) for name in ARCS}
    targets = numbers["target_of"]
    nodes = int(targets.max()) + 1 if len(targets) else 0
    if nodes > inputs + len(targets):
        raise FileFormatError("every neuron must have an arc, and nodes be numbered without a gap")
    topology = Topology(
        input_count=inputs,
        output_count=outputs,
        node_count=nodes,
        layer_shapes=layer_shapes_of(document.get("layer_shapes")),
        **numbers,
    )
    if not topology.is_acyclic:
        raise FileFormatError("its network must have no cycles")
    return topology


def _whole_numbers(name: str, values: object) -> NDArray[np.int64]:
    if not isinstance(values, list) or not all(
        type(value) is int and 0 <= value < 1 << 31 for value in values
    ):
        raise FileFormatError(f"{name} must be a list of whole numbers")
    return np.array(values, dtype=np.int64)


def _texts(spins: SpinMatrix) -> list[str]:
    return ["".join(row) for row in np.where(spins > 0, "+", "-").tolist()]


def _spins(document: dict[str, Any], key: str) -> SpinMatrix:
    rows = document[key]
    if not isinstance(rows, list) or not rows or not isinstance(rows[0], str) or not rows[0]:
        raise FileFormatError(f"{key} must be a list of texts of + and -; got {shown(rows)}")
    for number, row in enumerate(rows):
        if not isinstance(row, str) or len(row) != len(rows[0]) or row.strip("+-"):
            raise FileFormatError(
                f"{key}[{number}] must be {len(rows[0])} signs of + and -; got {shown(row)}"
            )
    marks = np.frombuffer("".join(rows).encode("ascii", "replace"), dtype=np.uint8)
    spins = np.where(marks == ord("+"), np.int8(1), np.int8(-1))
    return spins.reshape(len(rows), len(rows[0]))


def _class_names(document: dict[str, Any]) -> NDArray[Any]:
    classes = document["classes"]
    for kind in (str, int, bool, float):
        if isinstance(classes, list) and classes and all(type(name) is kind for name in classes):
            try:
                array = np.array(classes, dtype=np.str_ if kind is str else None)
            except (ValueError, OverflowError):
                break
            if array.dtype.kind in "Ubif":
                is_object = document.get("classes_are_objects") is True
                return array.astype(object) if is_object else array
    raise FileFormatError(f"classes must be texts or numbers of one kind; got {shown(classes)}")


def _arrays(value: object) -> dict[str, NDArray[Any]]:
    if not isinstance(value, dict):
        raise FileFormatError(f"binariser must be an object; got {shown(value)}")
    return {str(name): _number_array(str(name), numbers) for name, numbers in value.items()}


def _number_array(name: str, value: object) -> NDArray[Any]:
    numbers: list[Any] = value if isinstance(value, list) else [value]
    if not all(type(number) in (int, float) and abs(number) < 1e300 for number in numbers):
        raise FileFormatError(f"binariser: {name} must be numbers; got {shown(value)}")
    is_whole = all(type(number) is int and abs(number) < 1 << 62 for number in numbers)
    return np.array(value, dtype=np.int64 if is_whole and numbers else np.float64)


def _names(document: dict[str, Any], columns: int) -> tuple[str, ...] | None:
    names = document.get("names")
    if names is None:
        return None
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise FileFormatError(f"names must be texts; got {shown(names)}")
    if len(names) != columns or len(set(names)) != columns:
        raise FileFormatError(f"names must be {columns} different texts, one for each column")
    return tuple(names)


def load(path: str | os.PathLike[str]) -> "BinaryNetwork | Committee | QuboClassifier":
    """Read a network, a committee or a classifier; anything else gives one clear error."""
    names = read_names(path)
    if not names:
        raise FileFormatError(
            f"{os.fspath(path)} must be a model that qubonn wrote (.qubonn); it is something else, "
            "or truncated or corrupted"
        )
    if "classifier" not in names:
        return load_trained(path)
    from qubonn.estimator.files import load_classifier  # scikit-learn takes a moment

    return load_classifier(path)
