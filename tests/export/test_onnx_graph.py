"""Operators and constants become a model; what is not read is left out."""

import numpy as np
import pytest

from qubonn.errors import RangeError
from qubonn.export.onnx_graph import OnnxGraph, require_room

pytest.importorskip("onnx")


def test_equal_constants_are_one_and_others_get_a_number() -> None:
    graph = OnnxGraph("float")
    assert graph.constant("two", 2, np.int64) == "two"
    assert graph.constant("two", 2, np.int64) == "two"
    assert graph.constant("two", [2, 2], np.int64) == "two_1"


def test_results_get_their_names_and_the_rest_goes() -> None:
    graph = OnnxGraph("int8")
    graph.add("Neg", "inputs")
    graph.constant("unread", 1, np.int8)
    graph.name_results({"outputs": graph.add("Abs", "inputs")})
    model = graph.model(
        "some", graph.tensor("inputs", np.int8, 3), [graph.tensor("outputs", np.int8, 3)], "text"
    )
    assert [(node.op_type, node.name, *node.output) for node in model.graph.node] == [
        ("Abs", "outputs", "outputs")
    ]
    assert not model.graph.initializer
    assert model.graph.doc_string == "text"


def test_a_form_other_than_float_or_int8_is_refused() -> None:
    with pytest.raises(RangeError, match="form must be 'float' or 'int8'; got 'double'"):
        OnnxGraph("double")  # type: ignore[arg-type]


def test_constants_beyond_two_gigabytes_are_refused() -> None:
    require_room(2**30)
    with pytest.raises(RangeError, match="an ONNX file holds at most 2,130,706,432 bytes"):
        require_room(2**31)
