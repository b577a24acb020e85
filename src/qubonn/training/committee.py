"""Committee: networks of one topology that vote.

Networks -> Committee.  The paper anneals 1,000 replicas and keeps one; the others cost nothing.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import SpinMatrix, require_matrix
from qubonn.encoding import CodeBook, Reading, require_reading
from qubonn.errors import FileFormatError, RangeError, TopologyError
from qubonn.inference import PackedNetwork
from qubonn.network import BinaryNetwork, Summary
from qubonn.network.binary_network import layered_arrays
from qubonn.network.files import parameters_of
from qubonn.network.forward import decide, is_worth_packing, outputs_of_many
from qubonn.network.robustness import Robustness, robustness_of
from qubonn.network.summary import accuracy, summarise
from qubonn.storage import write_arrays
from qubonn.training.calibration import Calibration

EVIDENCE_UNIT = 2.0**-20  # of log odds: whole numbers, so that ties stay ties
NO_CALIBRATION = Calibration()
WARMTH = 0.6  # of sums, times the root of their terms: least log loss on held-out examples


@dataclass(frozen=True, init=False, repr=False)
class Committee:
    """Networks of one topology that vote.

    `reading` is "signs" (each output by the majority of its members, ties to -1: for bit codes) or
    "largest" (output pre-activations are added up and the largest output wins: for one-hot
    outputs).
    """

    members: tuple[BinaryNetwork, ...]
    reading: Reading

    def __init__(self, members: Sequence[BinaryNetwork], reading: Reading = "signs") -> None:
        networks = tuple(members)
        if not networks:
            raise RangeError("a committee needs at least one network; got none")
        if any(network.topology != networks[0].topology for network in networks):
            raise TopologyError("the members of a committee must have one topology")
        object.__setattr__(self, "members", networks)
        object.__setattr__(self, "reading", require_reading(reading))

    def __len__(self) -> int:
        return len(self.members)

    def votes(self, inputs: ArrayLike) -> NDArray[np.int64]:
        """Return the sum over members of outputs, or of output pre-activations for "largest".

        Much work is done in bits, by XNOR and popcount; see `packed`. The result is the same.
        """
        topology = self.members[0].topology
        columns = topology.column_count
        matrix = require_matrix("inputs", inputs, columns=columns, of="input neuron")
        if is_worth_packing(topology, len(matrix), len(self)):
            packed = self._packed
            return packed.votes(matrix) if self.reading == "signs" else packed.output_sums(matrix)
        members = (member.forward(matrix).votes(self.reading) for member in self.members)
        return reduce(np.add, members)

    def member_outputs(self, inputs: ArrayLike) -> NDArray[np.int8]:
        """Return the outputs of every member: members x examples x outputs."""
        topology, spins = self.members[0].topology, self.members[0].input_spins(inputs)
        if is_worth_packing(topology, len(spins)):
            return np.stack([member.predict_outputs(spins) for member in self.members])
        weights = np.stack([member.weight_spins for member in self.members])
        biases = np.stack([member.bias_spins for member in self.members])
        return outputs_of_many(topology, weights, biases, spins)

    def packed(self, *, thread_count: int | None = None) -> PackedNetwork:
        """Return all members at one bit a weight, for votes only, by default on all cores."""
        return PackedNetwork.of(
            self.members[0].topology,
            np.stack([member.weight_spins for member in self.members]),
            np.stack([member.bias_spins for member in self.members]),
            thread_count=thread_count,
        )

    def predict_outputs(self, inputs: ArrayLike) -> SpinMatrix:
        """Return the prediction of the committee, one row of spins per example."""
        return decide(self.votes(inputs), self.reading)

    def accuracy(self, inputs: ArrayLike, outputs: ArrayLike) -> float:
        """Return the fraction of examples with all outputs right."""
        return accuracy(self.predict_outputs(inputs), outputs)

    def robustness(self, inputs: ArrayLike, **options: Any) -> Robustness:
        """Return for each example the smallest number of input flips that changes the vote.

        As ``network.robustness``, with the same options; all members see the same flips.
        """
        return robustness_of(self.members, inputs, self.reading, **options)

    def summary(self, inputs: ArrayLike | None = None, outputs: ArrayLike | None = None) -> Summary:
        """Return the committee in numbers; with data also margins, accuracy and disagreement."""
        return summarise(self.members, inputs, outputs, self.reading, is_committee=True)

    def draw(self, axes: Any = None) -> Any:
        """Draw the mean weights of the members as cells, neurons x sources; return the axes."""
        from qubonn.drawing.cells import draw_cells

        mean = np.mean([member.weight_spins for member in self.members], axis=0)
        return draw_cells(self.members[0].topology, mean, axes)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all members to one file; read it back with ``qubonn.load``."""
        write_arrays(path, committee_arrays(self))

    @cached_property
    def _packed(self) -> PackedNetwork:
        return self.packed()

    def __repr__(self) -> str:
        return f"Committee({len(self)} x {self.members[0]!r}, {self.reading})"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def committee_arrays(committee: Committee) -> dict[str, NDArray[Any]]:
    """Return the parts of a committee's file: the topology once, and all parameters."""
    members = committee.members
    arrays = layered_arrays(members[0].topology)
    for name in ("weight", "bias"):
        spins = np.stack([getattr(member, f"{name}_spins") for member in members])
        arrays[f"committee_{name}_bits"] = np.packbits(spins > 0, axis=1)
    arrays["committee_reading"] = np.frombuffer(committee.reading.encode(), dtype=np.uint8)
    return arrays


def committee_of(arrays: dict[str, NDArray[Any]]) -> Committee:
    """Return the committee whose parts `committee_arrays` returned, after checking them."""
    if "committee_vote" in arrays:  # of the first files
        how = {b"majority": "signs", b"sums": "largest"}.get(arrays["committee_vote"].tobytes(), "")
    elif "committee_reading" in arrays:
        how = arrays["committee_reading"].tobytes().decode("ascii", "replace")
    else:
        raise FileFormatError("it must have a part named 'committee_reading'")
    topology, weights, biases = parameters_of(arrays, "committee_", by_member=True)
    if len(weights) != len(biases):
        raise FileFormatError("its members must have weights and biases each")
    members = [BinaryNetwork(topology, *spins) for spins in zip(weights, biases, strict=True)]
    return Committee(members, how)  # type: ignore[arg-type]


def class_scores(
    committee: Committee,
    book: CodeBook,
    votes: NDArray[np.int64],
    calibration: Calibration = NO_CALIBRATION,
) -> NDArray[np.float64]:
    """Return logarithms of probabilities, up to a constant for each example: examples x classes.

    `votes` is what ``committee.votes`` returned; `QuboClassifier.predict_proba` has the formulas.
    """
    size = len(committee)
    codewords = book.codewords.astype(np.int64)
    # whole numbers until the last step, so that ties stay ties
    if committee.reading == "signs":
        evidence = vote_evidence(size)[(votes + size) // 2]
        return np.asarray((evidence @ codewords.T) * (calibration.sharpness * EVIDENCE_UNIT / 2))
    if (offsets := class_offsets(committee, calibration)) is not None:
        votes = votes + offsets
    return np.asarray((votes @ codewords.T) * (calibration.sharpness / (2 * _scale(committee))))


def class_offsets(committee: Committee, calibration: Calibration) -> NDArray[np.int64] | None:
    """Return what is added to the votes on each class where the largest output is read."""
    return calibration.offsets(_scale(committee)) if committee.reading == "largest" else None


def _scale(committee: Committee) -> float:
    """Return the number of votes on an output that change a score by one."""
    topology = committee.members[0].topology
    terms = topology.fan_in[topology.outputs.start :].max() + 1
    return float(len(committee) * WARMTH * terms**0.5)


def is_right(
    committee: Committee, book: CodeBook, inputs: ArrayLike, outputs: SpinMatrix
) -> NDArray[np.bool_]:
    """Return for which examples the likeliest class is the one whose codeword is in `outputs`."""
    scores = class_scores(committee, book, committee.votes(inputs))
    return np.asarray((book.codewords[scores.argmax(axis=1)] == outputs).all(axis=1))


def vote_evidence(size: int) -> NDArray[np.int64]:
    """Return the log odds of +1 in units of 2**-20, by the number of members that vote +1.

    >>> vote_evidence(2) * EVIDENCE_UNIT  # none, one or both of two; log(5) is 1.609
    array([-1.60943794,  0.        ,  1.60943794])
    """
    logarithms = np.log(np.arange(size + 1) + 0.5)  # half a vote more, so that nothing is certain
    odds = (logarithms - logarithms[::-1]) / EVIDENCE_UNIT
    return np.asarray(np.rint(odds), dtype=np.int64)


def pick_diverse(outputs: NDArray[np.int8], count: int) -> NDArray[np.int64]:
    """Return members, best first, each as different as possible from those before it.

    `outputs` has a row for each candidate, best first: its predictions for some inputs. Starts with
    the best and adds the one whose least difference to the chosen ones is largest.
    """
    chosen = [0]
    distance = (outputs != outputs[0]).sum(axis=1)
    while len(chosen) < min(count, len(outputs)):
        distance[chosen] = -1
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, (outputs != outputs[chosen[-1]]).sum(axis=1))
    return np.array(chosen)
