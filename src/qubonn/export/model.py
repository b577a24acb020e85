"""The parts of a model that an export writes, whatever its kind.

BinaryNetwork, Committee or fitted QuboClassifier -> Exported.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix
from qubonn.encoding import CodeBook, InputEncoder, Reading, Thermometer, Threshold
from qubonn.errors import RangeError, TopologyError
from qubonn.network import BinaryNetwork
from qubonn.topology import Topology
from qubonn.training import Committee
from qubonn.training.committee import vote_evidence

SCORE_BITS = 30  # of sums of evidence over outputs, so that they fit into int32


@dataclass(frozen=True, eq=False)
class Classes:
    """How votes on outputs become the number of a class.

    The class with the largest score wins, the first of equals. Scores are the votes themselves, or
    evidence times codewords: ``evidence[n]`` is the evidence for +1, in whole numbers, of n members
    that output +1.
    """

    labels: tuple[str, ...]
    codewords: SpinMatrix
    evidence: NDArray[np.int64] | None = None  # None where the largest vote wins


@dataclass(frozen=True, eq=False)
class Exported:
    """Members of one acyclic topology, and how their outputs are read.

    Of a single network, votes are output pre-activations and outputs their signs. Of a committee
    whose signs are read, votes are sums of outputs over members and outputs their signs. Of one
    whose largest output is read, votes are sums of output pre-activations, and the first largest is
    the one output that is +1.
    """

    topology: Topology
    weight_spins: SpinMatrix  # members x weights
    bias_spins: SpinMatrix  # members x neurons
    reading: Reading
    is_committee: bool = True
    classes: Classes | None = None
    encoder: InputEncoder | None = None

    @property
    def member_count(self) -> int:
        """Number of networks."""
        return len(self.weight_spins)

    @property
    def threshold_count(self) -> int:
        """Number of values that the binariser compares features with."""
        values = getattr(self.encoder, "thresholds", getattr(self.encoder, "levels", ()))
        return int(np.size(values))

    def require_comparisons(self, inputs: str) -> tuple[IntVector, NDArray[np.float64]]:
        """Return (column_of, levels): spin s is +1 where column ``column_of[s]`` > ``levels[s]``.

        Columns count 0, 0, ..., 1, 1, ...; an encoder that does not compare is refused.
        """
        encoder, spin_count = self.encoder, self.topology.column_count
        if isinstance(encoder, Threshold):
            return np.arange(spin_count), np.broadcast_to(encoder.levels, (spin_count,)).copy()
        if isinstance(encoder, Thermometer):
            return encoder.column_of, encoder.thresholds
        have = "a model without a binariser" if encoder is None else type(encoder).__name__
        raise RangeError(
            f"inputs={inputs!r} needs a QuboClassifier whose binariser is a Threshold or a "
            f"Thermometer; got {have}: binarise before, and leave `inputs` out"
        )


def exported(model: object) -> Exported:
    """Return the parts of a model, or say why it cannot be exported."""
    if isinstance(model, BinaryNetwork):
        return _of_members((model,), "signs", is_committee=False)
    if isinstance(model, Committee):
        return _of_members(model.members, model.reading)
    parts = [getattr(model, name, None) for name in ("committee_", "code_book_", "binariser_")]
    committee, book, encoder = parts
    if not isinstance(committee, Committee) or not isinstance(book, CodeBook):
        raise TopologyError(
            "model must be a BinaryNetwork, a Committee or a fitted QuboClassifier; "
            f"got {type(model).__name__}{_hint(model)}"
        )
    classes = _classes(book, committee)
    return _of_members(committee.members, committee.reading, classes=classes, encoder=encoder)


def _of_members(members: tuple[BinaryNetwork, ...], reading: Reading, **more: Any) -> Exported:
    topology = members[0].topology
    if not topology.is_acyclic:
        source, target = topology.some_arc_on_a_cycle()
        raise TopologyError(
            f"an exported network must have no cycles; arc {source} -> {target} closes one: "
            "its activations have to be searched for, see network.settle"
        )
    if not topology.column_count:
        raise TopologyError("an exported network must have at least one input; got none")
    weights = np.stack([member.weight_spins for member in members])
    biases = np.stack([member.bias_spins for member in members])
    return Exported(topology, weights, biases, reading, **more)


def _classes(book: CodeBook, committee: Committee) -> Classes:
    labels = tuple(str(label) for label in book.classes.tolist())
    if committee.reading == "largest":
        assert (book.codewords.argmax(axis=1) == np.arange(len(labels))).all(), "one-hot, in order"
        return Classes(labels, book.codewords)
    evidence = vote_evidence(len(committee))
    most = int(evidence[-1]) * book.spin_count
    surplus = max(0, most.bit_length() - SCORE_BITS)  # coarser where sums would overflow int32
    return Classes(labels, book.codewords, np.rint(evidence / 2**surplus).astype(np.int64))


def _hint(model: Any) -> str:
    if hasattr(model, "networks") and hasattr(model, "committee"):
        return ": give its .network or its .committee()"
    return ": call its fit first" if hasattr(model, "fit") else ""
