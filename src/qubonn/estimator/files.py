"""A fitted classifier as one file that describes itself and cannot run code.

QuboClassifier <-> .qubonn: the file of its committee, which other tools can read as such, and with
it binariser, classes, label code, constructor arguments and what training said about each member.
"""

import json
import os
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from qubonn.checks import require_count
from qubonn.encoding import CodeBook
from qubonn.errors import FileFormatError, QubonnError
from qubonn.estimator.file_parts import (
    encoder_arrays,
    encoder_of,
    parameters_of,
    plain_parameters,
    text_array,
)
from qubonn.estimator.members import Member
from qubonn.network.files import require_format
from qubonn.quadratic.strict_json import parse_json
from qubonn.stopping import Stop
from qubonn.storage import read_arrays, write_arrays
from qubonn.training import Committee
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
    try:
        return classifier_of(arrays)
    except QubonnError as error:
        raise FileFormatError(
            f"{os.fspath(path)} is not a classifier that can be read: {error}"
        ) from error


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
