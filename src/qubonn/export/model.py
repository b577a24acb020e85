"""The parts of a model that an export writes, whatever its kind.

BinaryNetwork, Committee or fitted QuboClassifier -> Exported.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix
from qubonn.encoding import CodeBook, InputEncoder, Reading, TableEncoder, Thermometer, Threshold
from qubonn.encoding.table_encoder import ABOVE
from qubonn.errors import RangeError, TopologyError
from qubonn.network import BinaryNetwork
from qubonn.topology import Topology
from qubonn.training import Committee
from qubonn.training.calibration import Calibration
from qubonn.training.committee import NO_CALIBRATION, class_offsets, vote_evidence

SCORE_BITS = 30  # of sums of evidence over outputs, so that they fit into int32


@dataclass(frozen=True, eq=False)
class Classes:
    """How votes on outputs become the number of a class.

    The class with the largest score wins, the first of equals. Scores are the votes plus `offsets`,
    or evidence times codewords: ``evidence[n]`` is the evidence for +1, in whole numbers, of n
    members that output +1.
    """

    labels: tuple[str, ...]
    codewords: SpinMatrix
    evidence: NDArray[np.int64] | None = None  # None where the largest vote wins
    offsets: NDArray[np.int64] | None = None  # None: all 0


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
    names: tuple[str, ...] | None = None  # of the columns, if they are known

    @property
    def member_count(self) -> int:
        """Number of networks."""
        return len(self.weight_spins)

    @property
    def threshold_count(self) -> int:
        """Number of values that the binariser compares features with."""
        values = getattr(self.encoder, "thresholds", getattr(self.encoder, "levels", ()))
        return int(np.size(values))

    def require_comparisons(self, inputs: str) -> "Comparisons":
        """Return how features become spins; an encoder that does not compare is refused."""
        encoder, spin_count = self.encoder, self.topology.column_count
        if isinstance(encoder, TableEncoder):
            parts = encoder.column_of, encoder.levels, encoder.rule_of
            return Comparisons(*parts, encoder.column_count, encoder.categories)
        rules = np.full(spin_count, ABOVE)
        if isinstance(encoder, Threshold):
            levels = np.broadcast_to(encoder.levels, (spin_count,)).copy()
            return Comparisons(np.arange(spin_count), levels, rules, spin_count)
        if isinstance(encoder, Thermometer):
            parts = encoder.column_of, encoder.thresholds, rules
            return Comparisons(*parts, encoder.column_count)
        have = "a model without a binariser" if encoder is None else type(encoder).__name__
        raise RangeError(
            f"inputs={inputs!r} needs a QuboClassifier whose binariser is a Threshold, a "
            f"Thermometer or a TableEncoder; got {have}: binarise before, and leave `inputs` out"
        )


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Spin s compares column ``column_of[s]`` with ``levels[s]``, by the rules of `TableEncoder`.

    Columns count 0, 0, ..., 1, 1, ...; `categories` are the words of each column, None of numbers.
    """

    column_of: IntVector
    levels: NDArray[np.float64]
    rule_of: IntVector
    column_count: int
    categories: tuple[tuple[str, ...] | None, ...] | None = None  # None: numbers only

    def words(self, column: int) -> tuple[str, ...] | None:
        """Return the words that a column stands for, None if it is of numbers."""
        return None if self.categories is None else self.categories[column]


def float32_levels(levels: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 not above each level; float32 numbers compare alike with both."""
    with np.errstate(over="ignore"):
        rounded = levels.astype(np.float32)
    down = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded.astype(np.float64) > levels, down, rounded)


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
    found = getattr(model, "feature_names_in_", None)
    names = None if found is None else tuple(map(str, found))
    calibration = getattr(model, "calibration_", NO_CALIBRATION)
    more = {"classes": _classes(book, committee, calibration), "encoder": encoder, "names": names}
    return _of_members(committee.members, committee.reading, **more)


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


def _classes(book: CodeBook, committee: Committee, calibration: Calibration) -> Classes:
    labels = tuple(str(label) for label in book.classes.tolist())
    if committee.reading == "largest":
        assert (book.codewords.argmax(axis=1) == np.arange(len(labels))).all(), "one-hot, in order"
        offsets = class_offsets(committee, calibration)
        return Classes(labels, book.codewords, offsets=offsets)
    evidence = vote_evidence(len(committee))
    most = int(evidence[-1]) * book.spin_count
    surplus = max(0, most.bit_length() - SCORE_BITS)  # coarser where sums would overflow int32
    return Classes(labels, book.codewords, np.rint(evidence / 2**surplus).astype(np.int64))


def _hint(model: Any) -> str:
    if hasattr(model, "named_steps"):
        return (
            ": export its last step, pipeline[-1], whose inputs are pipeline[:-1].transform(X); or "
            "fit a QuboClassifier alone, which encodes numbers, text and missing cells itself"
        )
    if hasattr(model, "networks") and hasattr(model, "committee"):
        return ": give its .network or its .committee()"
    return ": call its fit first" if hasattr(model, "fit") else ""
