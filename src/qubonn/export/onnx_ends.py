"""The two ends of an ONNX graph: numbers into spins, and members' outputs into decisions.

Exported -> nodes of a Graph before and after the neurons.
"""

from typing import Any

import numpy as np

from qubonn.encoding import BitPlanes
from qubonn.errors import RangeError
from qubonn.export.levels import float32_levels, require_comparisons
from qubonn.export.model import Classes, Exported
from qubonn.export.onnx_graph import Graph


def add_inputs(graph: Graph, model: Exported, inputs: str) -> tuple[str, int]:
    """Add what makes spins out of numbers; return the tensor of spins and the width of `inputs`."""
    spin_count = model.topology.input_count
    if inputs == "spins":
        return "inputs", spin_count
    if inputs != "numbers":
        raise RangeError(f"inputs must be 'spins' or 'numbers'; got {inputs!r}")
    if isinstance(model.encoder, BitPlanes):
        return _add_planes(graph, model.encoder, spin_count), spin_count // model.encoder.bits
    found = require_comparisons(model.encoder, spin_count, inputs)
    numbers = "inputs"
    if not found.is_one_each:
        columns = graph.constant("columns", found.column_of, np.int64)
        numbers = graph.add("Gather", numbers, columns, axis=-1)
    levels = graph.constant("levels", float32_levels(found.levels), np.float32)
    return graph.where(graph.add("Greater", numbers, levels)), found.column_count


def add_decision(graph: Graph, model: Exported, spins: str, sums: str) -> dict[str, str]:
    """Add what is made of the outputs of all members; return the tensors of the results."""
    if not model.is_committee:
        results = {"outputs": spins, "sums": sums}
    elif model.reading == "signs":
        votes = _added_up(graph, model, _cast(graph, spins, graph.sum_type))
        results = {"outputs": graph.spins(votes), "sums": votes}
    else:
        votes = _added_up(graph, model, sums)
        results = {"outputs": _first_largest(graph, model, votes), "sums": votes}
    if model.classes is not None:
        scores = _class_scores(graph, model, model.classes, results["sums"])
        results["class"] = graph.add("ArgMax", scores, axis=-1, keepdims=0)
    return results


def _add_planes(graph: Graph, planes: BitPlanes, spin_count: int) -> str:
    """Add the bits of whole numbers, plane by plane; of Gray codes, where two bits differ."""
    whole = graph.add("Cast", "inputs", to=np.uint64)
    whole = graph.add("Unsqueeze", whole, graph.constant("second_axis", [1], np.int64))
    shifts = np.arange(planes.bits)[::-1, None]
    bits = _shifted(graph, whole, shifts)
    if planes.gray:
        bits = graph.add("Add", bits, _shifted(graph, whole, shifts + 1))
    odd = graph.add("Mod", bits, graph.constant("whole_two", 2, np.uint64))
    is_set = graph.add("Equal", odd, graph.constant("whole_one", 1, np.uint64))
    flat = graph.constant("flat", [0, spin_count], np.int64)
    return graph.add("Reshape", graph.where(is_set), flat)


def _shifted(graph: Graph, whole: str, shifts: Any) -> str:
    by = graph.constant("shifts", shifts, np.uint64)
    return graph.add("BitShift", whole, by, direction="RIGHT")


def _added_up(graph: Graph, model: Exported, values: str) -> str:
    """Add up over members."""
    if model.member_count == 1:
        return values
    return graph.add("ReduceSum", values, graph.constant("first_axis", [0], np.int64), keepdims=0)


def _first_largest(graph: Graph, model: Exported, votes: str) -> str:
    """Add spins that are +1 for the first largest vote only."""
    largest = graph.add("ArgMax", votes, axis=-1, keepdims=1)
    everyone = graph.constant("numbers", np.arange(model.topology.output_count), np.int64)
    return graph.where(graph.add("Equal", largest, everyone))


def _class_scores(graph: Graph, model: Exported, classes: Classes, votes: str) -> str:
    if classes.evidence is None:
        return votes
    size = graph.constant("size", model.member_count, graph.sum_type)
    doubled = _cast(graph, graph.add("Add", votes, size), np.int64)
    members = graph.add("Div", doubled, graph.constant("two", 2, np.int64))
    evidence = graph.constant("evidence", classes.evidence, np.int32)
    found = graph.add("Gather", evidence, members, axis=0)
    return graph.add("MatMul", found, graph.constant("codewords", classes.codewords.T, np.int32))


def _cast(graph: Graph, tensor: str, kind: Any) -> str:
    return tensor if kind == np.float32 else graph.add("Cast", tensor, to=kind)
