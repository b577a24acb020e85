"""A network or a committee in numbers: its size, its margins and its accuracy.

Networks that vote, with inputs and outputs if there are any -> Summary.  A network is a committee
of one.  Margins: paper, eq:sumofmargins and eq:sumofmargins2.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import SpinMatrix, require_spin_matrix
from qubonn.drawing.cards import Facts, card, topology_facts
from qubonn.encoding import Reading, require_reading
from qubonn.errors import RangeError
from qubonn.inference.c_layout import BitLayout
from qubonn.network.forward import decide
from qubonn.topology import Topology

if TYPE_CHECKING:
    from qubonn.network.binary_network import BinaryNetwork

DEVICE = "bytes on a device"
MOST_OUTPUTS = 12  # shown one by one


@dataclass(frozen=True, repr=False, kw_only=True)
class Summary:
    """A network or a committee in numbers, as aligned text or as a table in a notebook.

    S1, S2 and the margin are means over the members of a committee. A member alone is read as the
    committee is. What depends on data is None where no data was given.
    """

    topology: Topology
    member_count: int | None  # None for a network
    reading: Reading
    examples: int | None = None
    s1: float | None = None
    s2: float | None = None
    mean_margin: float | None = None  # of all members, neurons and examples
    disagreement: float | None = None  # share of pairs of members and examples; None for one member
    member_accuracies: tuple[float, ...] | None = None
    accuracy: float | None = None  # the fraction of examples with all outputs right
    output_accuracies: tuple[float, ...] | None = None  # the same for each output

    @property
    def level_count(self) -> int | None:
        """Levels of neurons; None with cycles."""
        return len(self.topology.levels()) if self.topology.is_acyclic else None

    @property
    def byte_count(self) -> int | None:
        """Bytes that a device must store: the tables of the model in C; None with cycles."""
        if not self.topology.is_acyclic:
            return None
        return BitLayout(self.topology).byte_count(self.member_count or 1)

    @property
    def mean_member_accuracy(self) -> float | None:
        """The mean of `member_accuracies`."""
        return None if self.member_accuracies is None else float(np.mean(self.member_accuracies))

    @property
    def title(self) -> str:
        """The kind, and the layers where they are known."""
        shapes = self.topology.layer_shapes or ()
        layers = " -> ".join("x".join(map(str, shape)) for shape in shapes)
        if self.member_count is None:
            return f"BinaryNetwork {layers}".rstrip()
        return f"Committee of {self.member_count}{f', each {layers}' if layers else ''}"

    def rows(self) -> Facts:
        """Return names and values."""
        if self.member_count is None:
            yield from topology_facts(self.topology)
        else:
            yield "members", f"{self.member_count:,}"
            yield "reading", self.reading
            yield "each member", ""
            yield from ((f"  {name}", value) for name, value in topology_facts(self.topology))
        if (byte_count := self.byte_count) is not None:
            yield DEVICE, f"{byte_count:,}"
        if self.examples is not None:
            yield "examples", f"{self.examples:,}"
            of, digits = ("", 0) if self.member_count is None else (", mean member", 1)
            yield f"S1{of}", f"{self.s1:,.{digits}f}"
            yield f"S2{of}", f"{self.s2:,.{digits}f}"
            yield "mean margin", f"{self.mean_margin:.2f}"
        if self.disagreement is not None:
            yield "disagreement", f"{self.disagreement:.3f}"
        if self.accuracy is not None:
            yield from self._accuracy_rows()

    def _accuracy_rows(self) -> Facts:
        if self.member_count is not None:
            yield "accuracy, mean member", f"{self.mean_member_accuracy:.3f}"
            yield "accuracy, best member", f"{max(self.member_accuracies or ()):.3f}"
        yield "accuracy", f"{self.accuracy:.3f}"
        each = self.output_accuracies or ()
        shown = {f"output {number}": one for number, one in enumerate(each)}
        if len(each) > MOST_OUTPUTS:
            shown = {"worst output": min(each), "best output": max(each)}
        yield from ((f"  {name}", f"{one:.3f}") for name, one in shown.items())

    def __repr__(self) -> str:
        rows = list(self.rows())
        left, right = (max(len(row[side]) for row in rows) for side in (0, 1))
        lines = [f"{name:<{left}}  {value:>{right}}".rstrip() for name, value in rows]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        return card(self.title, self.rows(), self.topology)


def summarise(
    members: Sequence["BinaryNetwork"],
    inputs: ArrayLike | None,
    outputs: ArrayLike | None,
    reading: Reading,
    *,
    is_committee: bool,
) -> Summary:
    """Count the parts of the members; with data, measure their margins and their accuracy."""
    if inputs is None and outputs is not None:
        raise RangeError("summary needs the inputs that the outputs belong to; got outputs alone")
    topology = members[0].topology
    member_count = len(members) if is_committee else None
    found: dict[str, Any] = {"reading": require_reading(reading), "member_count": member_count}
    if inputs is not None:
        votes, margins = [], []
        for member in members:
            done = member.forward(inputs)
            votes.append(done.votes(reading))
            margins.append((done.margins.s1, done.margins.s2))
        predicted = [decide(one, reading) for one in votes]
        found["examples"] = len(votes[0])
        found["s1"], found["s2"] = np.mean(margins, axis=0).tolist()
        found["mean_margin"] = found["s2"] / (len(votes[0]) * topology.neuron_count)
        found["disagreement"] = _disagreement(np.stack(predicted))
    if outputs is not None:
        by_output = right_outputs(decide(np.sum(votes, axis=0), reading), outputs)
        found["member_accuracies"] = tuple(accuracy(one, outputs) for one in predicted)
        found["accuracy"] = float(by_output.all(axis=1).mean())
        found["output_accuracies"] = tuple(by_output.mean(axis=0).tolist())
    return Summary(topology=topology, **found)


def accuracy(predicted: SpinMatrix, outputs: ArrayLike) -> float:
    """Return the fraction of examples with all outputs right."""
    return float(right_outputs(predicted, outputs).all(axis=1).mean())


def right_outputs(predicted: SpinMatrix, outputs: ArrayLike) -> NDArray[np.bool_]:
    """Compare predicted with actual outputs, after checking these: examples x outputs."""
    rows, columns = predicted.shape
    actual = require_spin_matrix("outputs", outputs, columns=columns, of="output neuron", rows=rows)
    return np.asarray(predicted == actual)


def _disagreement(predicted: NDArray[np.int8]) -> float | None:
    """Return the share of pairs of members that differ; of members x examples x outputs."""
    member_count, example_count, output_count = map(int, predicted.shape)
    if member_count == 1:
        return None
    _, code_of = np.unique(predicted.reshape(-1, output_count), axis=0, return_inverse=True)
    equal_pairs = 0
    for column in code_of.reshape(member_count, example_count).T:
        counts = np.bincount(column)
        equal_pairs += int((counts * (counts - 1)).sum())
    return 1 - equal_pairs / (example_count * member_count * (member_count - 1))
