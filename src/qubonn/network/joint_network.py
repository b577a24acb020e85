"""JointNetwork: networks that share their inputs and decide together, as one network.

Networks, reading -> one network, its votes, what must happen for another decision, and from margins
a lower bound on the input flips for that.  A single network is the case of one member.

The bound: paper, section "Maximising sum of margins": a margin is how far a neuron is from changing
its sign. A neuron whose sum must fall by `need` changes only if enough of its sources do. With t
input flips the sum falls at most by the t largest gains among the inputs of the neuron, plus the
gains of all neurons that t flips may change; the fewest t for which that is enough is the bound of
the neuron, and so on from level to level. No search, a few matrix products.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix, SpinVector
from qubonn.encoding import Reading, require_reading
from qubonn.errors import TopologyError
from qubonn.network.forward import ForwardPass, chunks, decide, plan_levels, run_forward, sign
from qubonn.topology import Topology

if TYPE_CHECKING:
    from qubonn.network.binary_network import BinaryNetwork

UNREACHABLE = 1 << 40  # more than any sum can fall
Counts = list[tuple[int, NDArray[np.int64]]]  # a gain and how many inputs have it, largest first


@dataclass(frozen=True, eq=False)
class Thresholds:
    """By how much sums must fall, for the examples `rows`: those of neurons or of the votes.

    A neuron changes its sign exactly if ``directions[:, k] * (spins[:, sources] @ matrix)[:, k]``,
    with k its column, falls by at least ``needs[:, k]``; the class changes if one column does.
    """

    rows: IntVector
    sources: IntVector
    matrix: Any  # sources x columns, dense or sparse
    directions: SpinMatrix  # rows x columns
    needs: NDArray[np.int64]


class JointNetwork:
    """Members of one topology that share their inputs and decide together.

    "signs": each output by the majority of its spins, ties to -1. "largest": the output with the
    largest sum of pre-activations, the earliest of equals.
    """

    def __init__(self, members: Sequence["BinaryNetwork"], reading: Reading) -> None:
        self.reading = require_reading(reading)
        if not members[0].topology.is_acyclic:
            source, target = members[0].topology.some_arc_on_a_cycle()
            raise TopologyError(
                f"robustness needs a network without cycles; arc {source} -> {target} closes one, "
                "and then an input may have several classes or none"
            )
        self.topology, weight_spins, bias_spins = joined(members)
        self.plan = plan_levels(self.topology, weight_spins, bias_spins)
        self.member_count = len(members)
        self.column_count = self.topology.column_count
        self.output_count = members[0].topology.output_count
        self.vote_sources, self.vote_matrix = self._vote_sums(weight_spins)

    def run(self, input_spins: SpinMatrix) -> ForwardPass:
        """Run all members."""
        return run_forward(self.plan, self.topology, input_spins)

    def votes(self, done: ForwardPass) -> NDArray[np.int64]:
        """Add up the votes of the members: examples x outputs."""
        by_member = done.votes(self.reading).reshape(-1, self.member_count, self.output_count)
        return np.asarray(by_member.sum(axis=1))

    def classes(self, input_spins: SpinMatrix) -> SpinMatrix:
        """Return the class of each input, as output spins."""
        pieces = chunks(len(input_spins), self.topology.node_count)
        votes = np.concatenate([self.votes(self.run(input_spins[rows])) for rows in pieces])
        return decide(votes, self.reading)

    def thresholds(self, votes: NDArray[np.int64], classes: SpinMatrix) -> Iterator[Thresholds]:
        """Yield what must happen for another class than `classes`, those of these votes."""
        sources, matrix = self.vote_sources, self.vote_matrix
        if self.reading == "signs":
            yield Thresholds(np.arange(len(votes)), sources, matrix, classes, needs_of(votes))
            return
        winners = classes.argmax(axis=1)
        for winner in np.unique(winners):
            rows = np.flatnonzero(winners == winner)
            leads = votes[rows][:, [winner]] - votes[rows]
            leads[:, winner + 1 :] += 1  # an earlier output wins a tie
            leads[:, winner] = UNREACHABLE
            directions = np.ones(leads.shape, dtype=np.int8)
            yield Thresholds(rows, sources, matrix[:, [winner]] - matrix, directions, leads)

    def lower_bounds(self, input_spins: SpinMatrix) -> IntVector:
        """Return the fewest input flips for each way to change the class: examples x outputs.

        The class needs at least the least of them. One more than the number of inputs where no
        flips are enough.
        """
        pieces = chunks(len(input_spins), 4 * self.topology.node_count)
        return np.concatenate([self._bounds(self.run(input_spins[rows])) for rows in pieces])

    def _vote_sums(self, weight_spins: SpinVector) -> tuple[IntVector, NDArray[np.float32]]:
        """Return the nodes whose spins the votes are sums of; coefficients, sources x outputs."""
        topology, first = self.topology, self.topology.outputs.start
        if self.reading == "signs":
            each = np.eye(self.output_count, dtype=np.float32)
            return np.array(topology.outputs), np.tile(each, (self.member_count, 1))
        arcs = np.setdiff1d(np.flatnonzero(topology.target_of >= first), topology.constant_arcs)
        sources, row_of = np.unique(topology.source_of[arcs], return_inverse=True)
        column_of = (topology.target_of[arcs] - first) % self.output_count
        matrix = np.zeros((len(sources), self.output_count), dtype=np.float32)
        np.add.at(matrix, (row_of, column_of), weight_spins[topology.weight_of[arcs]])
        return sources, matrix

    def _bounds(self, done: ForwardPass) -> IntVector:
        spins, votes = done.activation_spins, self.votes(done)
        rows = np.arange(len(votes))
        reach = np.ones(spins.shape, dtype=np.int64)  # fewest input flips that change a node
        for level in self.plan:
            sums = done.pre_activations[:, level.nodes - self.topology.input_count]
            here = Thresholds(rows, level.sources, level.matrix, sign(sums), needs_of(sums))
            reach[:, level.nodes] = self._fewest_flips(here, spins, reach)
        bounds = np.empty(votes.shape, dtype=np.int64)
        for part in self.thresholds(votes, decide(votes, self.reading)):
            bounds[part.rows] = self._fewest_flips(part, spins, reach)
        return bounds

    def _fewest_flips(self, part: Thresholds, spins: SpinMatrix, reach: IntVector) -> IntVector:
        """Return the fewest input flips after which the sums may have fallen enough.

        Either t flips suffice through inputs alone, or some neurons help: then t is at least the
        reach of one of them, and only neurons of at most that reach need to be counted.
        """
        cut = np.searchsorted(part.sources, self.column_count)  # inputs come first
        known = spins[np.ix_(part.rows, part.sources)].astype(np.float32)
        reach = reach[np.ix_(part.rows, part.sources[cut:])]
        counts = _input_counts(known[:, :cut], part.matrix[:cut], part.directions)
        never, inner = self.column_count + 1, part.matrix[cut:]
        size, fewest = abs(inner), _through_inputs(part.needs, counts, never)
        for value in np.unique(reach[reach < never]):
            if value >= fewest.max(initial=0):
                break
            is_near = (reach <= value).astype(np.float32)
            # a neuron's gain is 2 * |c| where c * spin * direction > 0, else 0
            gains = is_near @ size + part.directions * ((is_near * known[:, cut:]) @ inner)
            rest = _through_inputs(part.needs - gains.astype(np.int64), counts, never)
            fewest = np.minimum(fewest, np.maximum(value, rest))
        return fewest


def needs_of(sums: NDArray[Any]) -> NDArray[np.int64]:
    """Return by how much each magnitude must fall until the sign changes; f(0) is -1.

    >>> needs_of(np.array([3, 1, 0, -2]))
    array([3, 1, 1, 3])
    """
    wide = sums.astype(np.int64)
    return np.where(wide > 0, wide, 1 - wide)


def joined(members: Sequence["BinaryNetwork"]) -> tuple[Topology, SpinVector, SpinVector]:
    """Return one network whose outputs are those of all members, member by member.

    Topology, weight spins and bias spins.
    """
    topology, count = members[0].topology, len(members)
    hidden, numbers = topology.hidden_count, np.arange(count)[:, np.newaxis]
    nodes = np.arange(topology.node_count)
    last = nodes + (count - 1) * hidden + numbers * topology.output_count
    places = np.where(nodes < topology.outputs.start, nodes + numbers * hidden, last)
    places[:, : topology.input_count] = nodes[: topology.input_count]  # shared
    weight_of = topology.weight_of + numbers * topology.weight_count
    arcs = (places[:, topology.source_of], places[:, topology.target_of], weight_of)
    joint = Topology.from_arcs(
        np.stack(arcs, axis=-1).reshape(-1, 3),
        inputs=topology.input_count,
        outputs=count * topology.output_count,
        nodes=topology.input_count + count * topology.neuron_count,
        has_constant=topology.has_constant,
    )
    biases = np.stack([member.bias_spins for member in members])
    weights = np.concatenate([member.weight_spins for member in members])
    return joint, weights, np.concatenate([biases[:, :hidden], biases[:, hidden:]], axis=None)


def _input_counts(input_spins: NDArray[np.float32], matrix: Any, directions: SpinMatrix) -> Counts:
    """Count the inputs that help, by what a flip gains: 2, or 2 for each parallel arc."""
    counts = []
    values = matrix if isinstance(matrix, np.ndarray) else matrix.data
    for size in np.unique(np.abs(values))[::-1].tolist():
        if size > 0:
            signs = (matrix == size).astype(np.float32) - (matrix == -size).astype(np.float32)
            arcs = np.asarray(abs(signs).sum(axis=0))
            helping = (arcs + directions * (input_spins @ signs)) / 2
            counts.append((2 * int(size), helping.astype(np.int64)))
    return counts


def _through_inputs(needs: NDArray[np.int64], counts: Counts, never: int) -> NDArray[np.int64]:
    """Return the fewest flips whose gains reach `needs`, the largest gains first."""
    left, flips = needs, np.zeros(needs.shape, dtype=np.int64)
    for gain, count in counts:
        taken = np.clip(-(-left // gain), 0, count)
        left, flips = left - gain * taken, flips + taken
    return np.where(left > 0, never, flips)
