"""OnnxGraph: operators and constants, added one by one, as an ONNX model.

Calls of `add` and `constant` -> ModelProto, in either of two forms: activations of float32 and sums
that are never 0 before `Sign`, or activations of int8 and sums of int32. The one file that imports
onnx.
"""

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn import __version__
from qubonn.errors import MissingExtra, RangeError

Form = Literal["float", "int8"]

OPSET, IR_VERSION = 17, 8
MOST_BYTES = 2**31 - 2**24  # of constants; a file of protocol buffers ends at 2 GiB


class OnnxGraph:
    """Operators in order, and the constants that they read."""

    def __init__(self, form: Form) -> None:
        if form not in ("float", "int8"):
            raise RangeError(f"form must be 'float' or 'int8'; got {form!r}")
        try:
            import onnx
        except ImportError:
            raise MissingExtra.of("to_onnx", "onnx", "onnx") from None
        self.onnx: Any = onnx
        self.form = form
        self.spin_type: Any = np.float32 if form == "float" else np.int8
        self.sum_type: Any = np.float32 if form == "float" else np.int32
        self.nodes: list[Any] = []
        self.constants: dict[str, NDArray[Any]] = {}

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator with one result and return the result's name."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def constant(self, name: str, value: ArrayLike, kind: Any) -> str:
        """Add a constant, unless it is the one of that name already, and return its name."""
        array = np.asarray(value, dtype=kind)
        known = self.constants.get(name)
        if known is not None and np.array_equal(known, array):
            return name
        unused = name if known is None else f"{name}_{len(self.constants)}"
        self.constants[unused] = array
        return unused

    def cast(self, tensor: str, kind: Any) -> str:
        """Add a change of type."""
        return self.add("Cast", tensor, to=self._element(kind))

    def spins(self, sums: str) -> str:
        """Add the sign rule: +1 where a sum is positive, -1 elsewhere; Sign(0) would be 0."""
        if self.form == "float":
            lowered = self.add("Sub", sums, self.constant("half", 0.5, np.float32))
            return self.add("Sign", lowered)
        return self.where(self.add("Greater", sums, self.constant("zero", 0, np.int32)))

    def where(self, condition: str) -> str:
        """Add spins that are +1 where a condition holds."""
        one = self.constant("one", 1, self.spin_type)
        return self.add("Where", condition, one, self.constant("minus_one", -1, self.spin_type))

    def name_results(self, results: Mapping[str, str]) -> None:
        """Give the results their names, and drop what is never read."""
        name_of = {tensor: name for name, tensor in results.items()}
        read, kept = set(results), []
        for node in reversed(self.nodes):
            node.name = node.output[0] = name_of.get(node.name, node.name)
            if node.name in read:
                node.input[:] = [name_of.get(name, name) for name in node.input]
                read.update(node.input)
                kept.append(node)
        self.nodes = kept[::-1]
        self.constants = {name: self.constants[name] for name in self.constants if name in read}

    def tensor(self, name: str, kind: Any, *columns: int) -> Any:
        """Describe an input or a result: one row for each example, any number of them."""
        helper = self.onnx.helper
        return helper.make_tensor_value_info(name, self._element(kind), ["examples", *columns])

    def model(self, name: str, source: Any, results: list[Any], about: str) -> Any:
        """Return the ModelProto."""
        require_room(sum(array.nbytes for array in self.constants.values()))
        helper, from_array = self.onnx.helper, self.onnx.numpy_helper.from_array
        body = helper.make_graph(
            self.nodes,
            name.encode("utf-8", "replace").decode(),
            [source],
            results,
            [from_array(array, constant) for constant, array in self.constants.items()],
            doc_string=about,
        )
        return helper.make_model(
            body,
            producer_name="qubonn",
            producer_version=__version__,
            ir_version=IR_VERSION,
            opset_imports=[helper.make_opsetid("", OPSET)],
        )

    def _element(self, kind: Any) -> int:
        return int(self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(kind)))


def require_room(byte_count: int) -> None:
    """Refuse constants that no ONNX file can hold."""
    if byte_count > MOST_BYTES:
        raise RangeError(
            f"an ONNX file holds at most {MOST_BYTES:,} bytes of weights; this model needs "
            f"{byte_count:,}: use form='int8', fewer members, or to_c"
        )
