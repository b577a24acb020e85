"""to_onnx: a model as an ONNX graph, for the runtimes and compilers that read one.

BinaryNetwork, Committee or QuboClassifier -> ModelProto.  The one file that imports onnx.
"""

import json
import os
from typing import Any, Literal

import numpy as np

from qubonn import __version__
from qubonn.errors import MissingExtra, RangeError
from qubonn.export.model import Exported, exported
from qubonn.export.onnx_ends import add_decision, add_inputs
from qubonn.export.onnx_graph import Form, Graph, Node, require_room
from qubonn.export.onnx_layers import add_network
from qubonn.storage import write_whole

OPSET, IR_VERSION = 17, 8


def to_onnx(
    model: object,
    path: str | os.PathLike[str] | None = None,
    *,
    form: Form = "float",
    inputs: Literal["spins", "numbers"] = "spins",
    name: str = "model",
) -> Any:
    """Return a model as an ONNX ModelProto, and write it to `path` if one is given.

    The model is a `BinaryNetwork`, a `Committee` or a fitted `QuboClassifier` without cycles.
    `form` is "float" (MatMul, Add, Sign) or "int8" (MatMulInteger, Add, Greater, Where): the same
    answers. The tensor `inputs` holds spins, examples x inputs, or with ``inputs="numbers"`` the
    features of a classifier as float32. Results: `outputs`, spins as ``predict_outputs`` returns;
    `sums`, output pre-activations of a network or votes of a committee; and of a classifier
    `class`, the number of the class. Needs the package onnx.

    >>> import qubonn as qn
    >>> network = qn.BinaryNetwork.random(qn.Topology.dense(25, 3, 2), seed=0)
    >>> [node.op_type for node in qn.to_onnx(network).graph.node]
    ['MatMul', 'Add', 'Sign', 'MatMul', 'Add', 'Sub', 'Sign']
    """
    if not isinstance(name, str):
        raise RangeError(f"name must be text; got {name!r:.60}")
    parts = exported(model)
    graph = Graph(form)
    spins, width = add_inputs(graph, parts, inputs)
    graph.finish(add_decision(graph, parts, *add_network(graph, parts, spins)))
    require_room(sum(array.nbytes for array in graph.constants.values()))
    kind = np.float32 if inputs == "numbers" else graph.spin_type
    proto = _model_proto(graph, name, ("inputs", kind, width), _results(graph, parts), parts)
    if path is not None:
        write_whole(path, proto.SerializeToString())
    return proto


Tensor = tuple[str, Any, int | None]  # name, type, columns


def _results(graph: Graph, model: Exported) -> list[Tensor]:
    outputs = model.topology.output_count
    results: list[Tensor] = [
        ("outputs", graph.spin_type, outputs),
        ("sums", graph.sum_type, outputs),
    ]
    return results if model.classes is None else [*results, ("class", np.int64, None)]


def _model_proto(
    graph: Graph, name: str, source: Tensor, results: list[Tensor], model: Exported
) -> Any:
    """Write a graph down as onnx has it, and have onnx check it."""
    try:
        from onnx import checker, helper, numpy_helper
    except ImportError:
        raise MissingExtra.of("to_onnx", "onnx", "onnx") from None
    constants = [
        numpy_helper.from_array(array, constant) for constant, array in graph.constants.items()
    ]
    body = helper.make_graph(
        [_node_proto(node) for node in graph.nodes],
        name.encode("utf-8", "replace").decode(),
        [_value(source)],
        [_value(result) for result in results],
        constants,
        doc_string=f"inputs -> outputs; {model.topology!r}",
    )
    proto = helper.make_model(
        body,
        producer_name="qubonn",
        producer_version=__version__,
        ir_version=IR_VERSION,
        opset_imports=[helper.make_opsetid("", OPSET)],
    )
    if model.classes is not None:
        helper.set_model_props(proto, {"classes": json.dumps(model.classes.labels)})
    checker.check_model(proto, full_check=True)
    return proto


def _node_proto(node: Node) -> Any:
    from onnx import helper

    attributes = {
        key: helper.np_dtype_to_tensor_dtype(np.dtype(value)) if isinstance(value, type) else value
        for key, value in node.attributes.items()
    }
    return helper.make_node(node.operator, node.inputs, [node.output], node.output, **attributes)


def _value(tensor: Tensor) -> Any:
    """Say what goes in or comes out: one row for each example, any number of them."""
    from onnx import helper

    name, kind, columns = tensor
    shape = ["examples"] if columns is None else ["examples", columns]
    element = helper.np_dtype_to_tensor_dtype(np.dtype(kind))
    return helper.make_tensor_value_info(name, element, shape)
