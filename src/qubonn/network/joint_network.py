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
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix, SpinVector
from qubonn.encoding import Reading, require_reading
from qubonn.errors import TopologyError
from qubonn.network.forward import (
    ForwardPass,
    LevelPlan,
    chunks,
    decide,
    plan_levels,
    run_forward,
    sign,
)
from qubonn.topology import Topology

if TYPE_CHECKING:
    from qubonn.network.binary_network import BinaryNetwork

UNREACHABLE = 1 << 40  # more than any sum can fall
Counts = list[tuple[int, NDArray[np.int64]]]  # a gain and how many inputs have it, largest first


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Sums of which one must fall for another class, for the examples `rows`.

    The class changes exactly if for some column k, ``directions[:, k] * (spins @ matrix)[:, k]``
    falls by at least ``needs[:, k]``.
    """

    rows: IntVector
    matrix: NDArray[np.float32]  # `vote_sources` x columns
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
        self.topology, self.weight_spins, self.bias_spins = joined(members)
        self.member_count = len(members)
        self.input_count = self.topology.input_count
        self.output_count = members[0].topology.output_count

    @cached_property
    def plan(self) -> tuple[LevelPlan, ...]:
        """The levels of all members."""
        return plan_levels(self.topology, self.weight_spins, self.bias_spins)

    @cached_property
    def vote_sources(self) -> IntVector:
        """The nodes whose spins the votes are sums of."""
        topology = self.topology
        if self.reading == "signs":
            return np.array(topology.outputs)
        return np.unique(topology.source_of[topology.target_of >= topology.outputs.start])

    @cached_property
    def vote_matrix(self) -> NDArray[np.float32]:
        """The coefficients of these sums: sources x outputs."""
        topology, first = self.topology, self.topology.outputs.start
        if self.reading == "signs":
            return np.tile(np.eye(self.output_count, dtype=np.float32), (self.member_count, 1))
        arcs = np.flatnonzero(topology.target_of >= first)
        row_of = np.searchsorted(self.vote_sources, topology.source_of[arcs])
        column_of = (topology.target_of[arcs] - first) % self.output_count
        matrix = np.zeros((len(self.vote_sources), self.output_count), dtype=np.float32)
        np.add.at(matrix, (row_of, column_of), self.weight_spins[topology.weight_of[arcs]])
        return matrix

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
        matrix = self.vote_matrix
        if self.reading == "signs":
            yield Thresholds(np.arange(len(votes)), matrix, classes, needs_of(votes))
            return
        winners = classes.argmax(axis=1)
        for winner in np.unique(winners):
            rows = np.flatnonzero(winners == winner)
            leads = votes[rows][:, [winner]] - votes[rows]
            leads[:, winner + 1 :] += 1  # an earlier output wins a tie
            leads[:, winner] = UNREACHABLE
            directions = np.ones(leads.shape, dtype=np.int8)
            yield Thresholds(rows, matrix[:, [winner]] - matrix, directions, leads)

    def lower_bounds(self, input_spins: SpinMatrix) -> IntVector:
        """Return the fewest input flips for each way to change the class: examples x outputs.

        The class needs at least the least of them. One more than the number of inputs where no
        flips are enough.
        """
        pieces = chunks(len(input_spins), 4 * self.topology.node_count)
        return np.concatenate([self._bounds(self.run(input_spins[rows])) for rows in pieces])

    def _bounds(self, done: ForwardPass) -> IntVector:
        spins, first, votes = done.activation_spins, self.input_count, self.votes(done)
        reach = np.ones(spins.shape, dtype=np.int64)  # fewest input flips that change a node
        for level in self.plan:
            sums = done.pre_activations[:, level.nodes - first]
            here = _Sources(spins, reach, level.sources, first)
            reach[:, level.nodes] = here.flips_for(level.matrix, sign(sums), needs_of(sums))
        bounds = np.empty(votes.shape, dtype=np.int64)
        for part in self.thresholds(votes, decide(votes, self.reading)):
            here = _Sources(spins[part.rows], reach[part.rows], self.vote_sources, first)
            bounds[part.rows] = here.flips_for(part.matrix, part.directions, part.needs)
        return bounds


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
    if count == 1:
        return topology, members[0].weight_spins, members[0].bias_spins
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
    )
    biases = np.stack([member.bias_spins for member in members])
    weights = np.concatenate([member.weight_spins for member in members])
    return joint, weights, np.concatenate([biases[:, :hidden], biases[:, hidden:]], axis=None)


class _Sources:
    """The sources of a level: their spins, and the fewest input flips that change each."""

    def __init__(
        self, spins: SpinMatrix, reach: IntVector, sources: IntVector, input_count: int
    ) -> None:
        self.never = input_count + 1
        self.cut = int(np.searchsorted(sources, input_count))  # inputs come first
        inputs, neurons = sources[: self.cut], sources[self.cut :]
        self.input_spins = spins[:, inputs].astype(np.float32)
        self.spins = spins[:, neurons].astype(np.float32)
        self.reach = reach[:, neurons]

    def flips_for(
        self, matrix: Any, directions: SpinMatrix, needs: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the fewest input flips after which `directions` times sums may lose `needs`.

        Either t flips suffice through inputs alone, or some neurons help: then t is at least the
        reach of one of them, and only neurons of at most that reach need to be counted.
        """
        counts = self._input_counts(matrix[: self.cut], directions)
        fewest = self._through_inputs(needs, counts)
        inner = matrix[self.cut :]
        size = abs(inner)
        for value in np.unique(self.reach[self.reach < self.never]):
            if value >= fewest.max(initial=0):
                break
            is_near = (self.reach <= value).astype(np.float32)
            # a neuron's gain is 2 * |c| where c * spin * direction > 0, else 0
            gains = is_near @ size + directions * ((is_near * self.spins) @ inner)
            rest = self._through_inputs(needs - gains.astype(np.int64), counts)
            fewest = np.minimum(fewest, np.maximum(value, rest))
        return fewest

    def _input_counts(self, matrix: Any, directions: SpinMatrix) -> Counts:
        """Count the inputs that help, by what a flip gains: 2, or 2 for each parallel arc."""
        counts = []
        values = matrix if isinstance(matrix, np.ndarray) else matrix.data
        for size in np.unique(np.abs(values))[::-1].tolist():
            if size > 0:
                signs = (matrix == size).astype(np.float32) - (matrix == -size).astype(np.float32)
                arcs = np.asarray(abs(signs).sum(axis=0))
                helping = (arcs + directions * (self.input_spins @ signs)) / 2
                counts.append((2 * int(size), helping.astype(np.int64)))
        return counts

    def _through_inputs(self, needs: NDArray[np.int64], counts: Counts) -> NDArray[np.int64]:
        """Return the fewest flips whose gains reach `needs`, the largest gains first."""
        left, flips = needs, np.zeros(needs.shape, dtype=np.int64)
        for gain, count in counts:
            taken = np.clip(-(-left // gain), 0, count)
            left, flips = left - gain * taken, flips + taken
        return np.where(left > 0, self.never, flips)
