"""Graph: ONNX operators and constants, written down without the onnx package.

Calls of `add` and `constant` -> nodes and arrays, in either of the two forms: activations of
float32 and sums that are never 0 before `Sign`, or activations of int8 and sums of int32.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import RangeError

Form = Literal["float", "int8"]

MOST_BYTES = 2**31 - 2**24  # of constants; a file of protocol buffers ends at 2 GiB


@dataclass(frozen=True)
class Node:
    """One operator."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any]


@dataclass(eq=False)
class Graph:
    """Operators in order, and the constants that they read."""

    form: Form
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, NDArray[Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.form not in ("float", "int8"):
            raise RangeError(f"form must be 'float' or 'int8'; got {self.form!r}")

    @property
    def spin_type(self) -> Any:
        """What activations are stored as."""
        return np.float32 if self.form == "float" else np.int8

    @property
    def sum_type(self) -> Any:
        """What sums are stored as."""
        return np.float32 if self.form == "float" else np.int32

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add an operator with one result and return the result's name."""
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(Node(operator, inputs, name, attributes))
        return name

    def constant(self, name: str, value: Any, kind: Any) -> str:
        """Add a constant, unless it is the one of that name already, and return its name."""
        array = np.asarray(value, dtype=kind)
        known = self.constants.get(name)
        if known is not None and np.array_equal(known, array):
            return name
        unused = name if known is None else f"{name}_{len(self.constants)}"
        self.constants[unused] = array
        return unused

    def product(self, matrix: str, weights: NDArray[Any]) -> str:
        """Add a matrix product of spins and weights."""
        operator = "MatMul" if self.form == "float" else "MatMulInteger"
        return self.add(operator, matrix, self.constant("weights", weights, self.spin_type))

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

    def finish(self, results: Mapping[str, str]) -> None:
        """Give the results their names, and drop what nobody reads."""
        name_of = {tensor: name for name, tensor in results.items()}
        read, kept = set(results), []
        for node in reversed(self.nodes):
            output = name_of.get(node.output, node.output)
            if output in read:
                inputs = tuple(name_of.get(name, name) for name in node.inputs)
                read |= set(inputs)
                kept.append(Node(node.operator, inputs, output, node.attributes))
        self.nodes = kept[::-1]
        self.constants = {name: self.constants[name] for name in self.constants if name in read}


def require_room(byte_count: int) -> None:
    """Refuse constants that no ONNX file can hold."""
    if byte_count > MOST_BYTES:
        raise RangeError(
            f"an ONNX file holds at most {MOST_BYTES:,} bytes of weights; this model needs "
            f"{byte_count:,}: use form='int8', fewer members, or to_c"
        )
