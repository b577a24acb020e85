"""A posed problem as JSON beside its QUBO: all that is needed to read samples later.

PosedProblem <-> problem.qubo.problem.json.  Rows of spins are texts of + and -.
"""

import json
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix
from qubonn.encoding import CodeBook
from qubonn.errors import FileFormatError, QubonnError
from qubonn.estimator.file_parts import encoder_arrays, encoder_of, text_array
from qubonn.estimator.frame import Frame
from qubonn.estimator.plan import PosedProblem
from qubonn.formulation import TrainingProblem
from qubonn.network.files import require_format
from qubonn.quadratic.strict_json import parse_json, shown
from qubonn.storage import read_limited, write_whole
from qubonn.topology import Topology

FORMAT, VERSION = "qubonn-problem", 1
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
    topology, book = posed.frame.topology, posed.frame.book
    classes, is_object = text_array("classes", book.classes)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "target": posed.target,
        "names": None if posed.names is None else list(posed.names),
        "columns": posed.column_count,
        "classes": classes.tolist(),
        "classes_are_objects": is_object,
        "codewords": _texts(book.codewords),
        "binariser": {
            name: array.tolist() for name, array in encoder_arrays(posed.frame.binariser).items()
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
    document = require_format(described, FORMAT, VERSION)
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
    return PosedProblem(Frame(binariser, book, topology), problem, columns, names, target)


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
        layer_shapes=_layer_shapes(document.get("layer_shapes")),
        **numbers,
    )
    if not topology.is_acyclic:
        raise FileFormatError("its network must have no cycles")
    return topology


def _layer_shapes(value: object) -> tuple[tuple[int, ...], ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(
        isinstance(shape, list)
        and len(shape) in (1, 3)
        and all(type(size) is int and 0 < size < 1 << 26 for size in shape)
        for shape in value
    ):
        raise FileFormatError("layer_shapes must be lists of one or three positive sizes")
    return tuple(tuple(shape) for shape in value)


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
