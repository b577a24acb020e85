"""A committee's card in numbers: its size, and what voting adds to its members.

Committee, inputs and outputs if there are any -> CommitteeSummary.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.encoding import Reading
from qubonn.network.summary import Card, Rows, Scores, Size, layers_of, require_inputs, score
from qubonn.topology import Topology
from qubonn.training.committee import Committee


@dataclass(frozen=True)
class Members:
    """What the members do one by one: means over them, and how often two of them differ.

    A member alone decides as the committee does: by its outputs, or by its largest one.
    """

    mean_s1: float
    mean_s2: float
    mean_margin: float  # of all members, neurons and examples
    disagreement: float | None  # of pairs of members and examples; None for a single member
    accuracies: tuple[float, ...] | None  # of each member; None without outputs

    def rows(self) -> Rows:
        """Give names and values."""
        yield "S1, mean member", f"{self.mean_s1:,.1f}"
        yield "S2, mean member", f"{self.mean_s2:,.1f}"
        yield "mean margin", f"{self.mean_margin:.2f}"
        if self.disagreement is not None:
            yield "disagreement", f"{self.disagreement:.3f}"
        if self.accuracies is not None:
            yield "accuracy, mean member", f"{np.mean(self.accuracies):.3f}"
            yield "accuracy, best member", f"{max(self.accuracies):.3f}"


@dataclass(frozen=True, repr=False)
class CommitteeSummary(Card):
    """A committee in numbers; those of data are None where no data was given."""

    topology: Topology
    member_count: int
    reading: Reading
    size: Size  # of each member
    examples: int | None = None
    members: Members | None = None
    scores: Scores | None = None  # of the committee

    @property
    def bits(self) -> int:
        """One for each weight and each bias of each member."""
        return self.member_count * self.size.bits

    @property
    def packed_bytes(self) -> int:
        """Bytes that hold all weights and biases, eight to a byte."""
        return -(-self.bits // 8)

    @property
    def accuracy(self) -> float | None:
        """The fraction of examples that the committee decides right."""
        return None if self.scores is None else self.scores.accuracy

    @property
    def mean_member_accuracy(self) -> float | None:
        """The same for its members, on average."""
        if self.members is None or self.members.accuracies is None:
            return None
        return float(np.mean(self.members.accuracies))

    @property
    def title(self) -> str:
        """The layers of a member, where they are known."""
        layers = layers_of(self.topology)
        return f"Committee of {self.member_count}{f', each{layers}' if layers else ''}"

    def rows(self) -> Rows:
        """Give names and values."""
        yield "members", f"{self.member_count:,}"
        yield "reading", self.reading
        yield "each member", ""
        for name, value in self.size.rows():
            yield f"  {name}", value
        yield "parameter bits", f"{self.bits:,}"
        yield "bytes, packed", f"{self.packed_bytes:,}"
        if self.members is not None:
            yield "examples", f"{self.examples:,}"
            yield from self.members.rows()
        if self.scores is not None:
            yield from self.scores.rows()


def summarise_committee(
    committee: Committee, inputs: ArrayLike | None, outputs: ArrayLike | None
) -> CommitteeSummary:
    """Count what the committee is made of; with data, measure it and its members."""
    require_inputs(inputs, outputs)
    topology = committee.members[0].topology
    known = topology, len(committee), committee.reading, Size.of(topology)
    if inputs is None:
        return CommitteeSummary(*known)
    decided = committee.predict_outputs(inputs)
    scores = None if outputs is None else score(decided, outputs)
    return CommitteeSummary(*known, len(decided), _members(committee, inputs, outputs), scores)


def _members(committee: Committee, inputs: ArrayLike, outputs: ArrayLike | None) -> Members:
    margins = [member.margins(inputs) for member in committee.members]
    alone = [Committee([member], committee.reading) for member in committee.members]
    answers = np.stack([member.predict_outputs(inputs) for member in alone])
    mean_s2 = float(np.mean([margin.s2 for margin in margins]))
    return Members(
        float(np.mean([margin.s1 for margin in margins])),
        mean_s2,
        mean_s2 / margins[0].magnitudes.size,
        _disagreement(answers),
        None if outputs is None else tuple(score(answer, outputs).accuracy for answer in answers),
    )


def _disagreement(answers: NDArray[np.int8]) -> float | None:
    """Return how often two members differ; answers are members x examples x outputs."""
    members, examples, outputs = map(int, answers.shape)
    if members == 1:
        return None
    rows = answers.reshape(-1, outputs)
    _, number_of = np.unique(rows, axis=0, return_inverse=True)
    numbers = number_of.reshape(members, examples)
    alike = 0
    for column in numbers.T:
        counts = np.bincount(column)
        alike += int((counts * (counts - 1)).sum())
    return 1 - float(alike) / (examples * members * (members - 1))
