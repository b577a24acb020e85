"""Jury: networks side by side over the same inputs, and what makes them decide otherwise.

Networks, reading -> one network, votes for each output, thresholds.  One network is a jury of one.

A lower bound on input flips, from margins alone: no search, a few matrix products.
Jury, inputs -> for each example fewer flips than these cannot change its class.  Paper, section
"Maximising sum of margins": a margin is how far a neuron is from changing its mind. A neuron that
must lose `need` changes only if enough of its sources do. With t input flips it loses at most the t
largest gains among the inputs it listens to, plus the gains of all neurons that t flips may change;
the fewest t for which that is enough is the neuron's own bound, and so on from level to level.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix
from qubonn.encoding import Reading, require_reading
from qubonn.errors import TopologyError
from qubonn.network.binary_network import BinaryNetwork
from qubonn.network.forward import LevelPlan, chunks, largest, plan_levels, run_forward, sign
from qubonn.topology import Topology

Counts = list[tuple[int, NDArray[np.int64]]]  # largest gain first: how many inputs have it
UNREACHABLE = 1 << 40  # more than any sum can fall


@dataclass(frozen=True, eq=False)
class Hearing:
    """What happens for some inputs: every activation, every pre-activation, the votes."""

    activation_spins: SpinMatrix  # examples x nodes
    pre_activations: NDArray[np.int32]  # examples x neurons
    votes: NDArray[np.int32]  # examples x outputs


@dataclass(frozen=True, eq=False)
class Thresholds:
    """Sums of which one must fall for another class; for the examples `rows`.

    The class changes exactly if for some column k, ``directions[:, k] * (spins @ matrix)[:, k]``
    falls by at least ``needs[:, k]``.
    """

    rows: IntVector
    matrix: NDArray[np.float32]  # sources of the ballot x columns
    directions: SpinMatrix  # rows x columns
    needs: NDArray[np.int64]


class Jury:
    """Members of one topology that share their inputs and decide together.

    "signs": each output by the majority of its spins, ties to -1. "largest": the output whose
    pre-activations add up to most, the earliest of equals.
    """

    def __init__(self, members: Sequence[BinaryNetwork], reading: Reading) -> None:
        self.reading = require_reading(reading)
        _require_acyclic(members[0].topology)
        self.network = members[0] if len(members) == 1 else side_by_side(members)
        self.member_count = len(members)
        self.input_count = self.network.topology.input_count
        self.output_count = members[0].topology.output_count

    @cached_property
    def plan(self) -> tuple[LevelPlan, ...]:
        """The levels of all members."""
        network = self.network
        return plan_levels(network.topology, network.weight_spins, network.bias_spins)

    @cached_property
    def ballot(self) -> LevelPlan:
        """What is added up for each output: a level without neurons."""
        topology, outputs = self.network.topology, np.arange(self.output_count)
        if self.reading == "signs":
            sources = np.array(topology.outputs)
            matrix = np.tile(np.eye(self.output_count, dtype=np.float32), (self.member_count, 1))
            return LevelPlan(outputs, sources, matrix, np.zeros(len(outputs), dtype=np.float32))
        first = topology.outputs.start
        arcs = np.flatnonzero(topology.target_of >= first)
        sources, row_of = np.unique(topology.source_of[arcs], return_inverse=True)
        column_of = (topology.target_of[arcs] - first) % self.output_count
        matrix = np.zeros((len(sources), self.output_count), dtype=np.float32)
        np.add.at(matrix, (row_of, column_of), self.network.weight_spins[topology.weight_of[arcs]])
        own = self.network.bias_spins[first - topology.input_count :].astype(np.float32)
        return LevelPlan(outputs, sources, matrix, own.reshape(-1, self.output_count).sum(axis=0))

    def hear(self, input_spins: SpinMatrix) -> Hearing:
        """Run all members and count the votes."""
        done = run_forward(self.plan, self.network.topology, input_spins)
        votes = self.ballot.pre_activations(done.activation_spins)
        return Hearing(done.activation_spins, done.pre_activations, votes)

    def decide(self, votes: NDArray[Any]) -> SpinMatrix:
        """Return the class as output spins."""
        return sign(votes) if self.reading == "signs" else largest(votes)

    def classes(self, input_spins: SpinMatrix) -> SpinMatrix:
        """Return the class of each input, as output spins."""
        parts = [
            self.decide(self.hear(input_spins[rows]).votes)
            for rows in chunks(len(input_spins), self.network.topology.node_count)
        ]
        return np.concatenate(parts)

    def thresholds(self, votes: NDArray[np.int32], classes: SpinMatrix) -> Iterator[Thresholds]:
        """Give what must happen for another reading than `classes`, the one of these votes."""
        if self.reading == "signs":
            yield Thresholds(np.arange(len(votes)), self.ballot.matrix, classes, needs_of(votes))
            return
        winners = classes.argmax(axis=1)
        for winner in np.unique(winners):
            rows = np.flatnonzero(winners == winner)
            yield Thresholds(
                rows,
                self.ballot.matrix[:, [winner]] - self.ballot.matrix,
                np.ones((len(rows), self.output_count), dtype=np.int8),
                self._leads(votes[rows], int(winner)),
            )

    def _leads(self, votes: NDArray[np.int32], winner: int) -> NDArray[np.int64]:
        """By how much the winner's lead over each output must fall; an earlier one wins a tie."""
        leads = votes[:, [winner]].astype(np.int64) - votes
        leads[:, winner + 1 :] += 1
        leads[:, winner] = UNREACHABLE
        return leads


def needs_of(sums: NDArray[Any]) -> NDArray[np.int64]:
    """Return by how much each magnitude must fall until the sign rule says otherwise; f(0) is -1.

    >>> needs_of(np.array([3, 1, 0, -2]))
    array([3, 1, 1, 3])
    """
    wide = sums.astype(np.int64)
    return np.where(wide > 0, wide, 1 - wide)


def side_by_side(members: Sequence[BinaryNetwork]) -> BinaryNetwork:
    """Return one network whose outputs are those of all members, member by member."""
    topology, count = members[0].topology, len(members)
    arcs = np.stack([topology.source_of, topology.target_of, topology.weight_of], axis=1)
    copies = [
        np.stack(
            [
                _moved(arcs[:, 0], topology, number, count),
                _moved(arcs[:, 1], topology, number, count),
                arcs[:, 2] + number * topology.weight_count,
            ],
            axis=1,
        )
        for number in range(count)
    ]
    joint = Topology.from_arcs(
        np.concatenate(copies),
        inputs=topology.input_count,
        outputs=count * topology.output_count,
        nodes=topology.input_count + count * topology.neuron_count,
    )
    hidden = np.concatenate([member.bias_spins[: topology.hidden_count] for member in members])
    outputs = np.concatenate([member.bias_spins[topology.hidden_count :] for member in members])
    weights = np.concatenate([member.weight_spins for member in members])
    return BinaryNetwork(joint, weights, np.concatenate([hidden, outputs]))


def _moved(nodes: IntVector, topology: Topology, number: int, count: int) -> IntVector:
    """Where the nodes of member `number` stand: inputs, hidden nodes of all, outputs of all."""
    hidden = nodes + number * topology.hidden_count
    outputs = nodes + (count - 1) * topology.hidden_count + number * topology.output_count
    moved = np.where(nodes < topology.outputs.start, hidden, outputs)
    return np.where(nodes < topology.input_count, nodes, moved)


def _require_acyclic(topology: Topology) -> None:
    if not topology.is_acyclic:
        source, target = topology.some_arc_on_a_cycle()
        raise TopologyError(
            f"robustness needs a network without cycles; arc {source} -> {target} closes one, "
            "and then an input may have several classes or none"
        )


def lower_bounds(jury: Jury, input_spins: SpinMatrix) -> IntVector:
    """Return how many input flips each way to change the class needs at least: examples x outputs.

    The class needs the least of them. One more than there are inputs where no flips are enough.
    """
    parts = [
        _bounds(jury, jury.hear(input_spins[rows]))
        for rows in chunks(len(input_spins), 4 * jury.network.topology.node_count)
    ]
    return np.concatenate(parts)


def _bounds(jury: Jury, hearing: Hearing) -> IntVector:
    spins, first, never = hearing.activation_spins, jury.input_count, jury.input_count + 1
    reach = np.ones(spins.shape, dtype=np.int64)  # input flips needed to change a node, at least
    for level in jury.plan:
        sums = hearing.pre_activations[:, level.nodes - first]
        place = _Place(spins[:, level.sources], reach[:, level.sources], level.sources, never)
        reach[:, level.nodes] = place.flips_for(level.matrix, sign(sums), needs_of(sums))
    bounds, sources = np.empty(hearing.votes.shape, dtype=np.int64), jury.ballot.sources
    for asked in jury.thresholds(hearing.votes, jury.decide(hearing.votes)):
        here = np.ix_(asked.rows, sources)
        place = _Place(spins[here], reach[here], sources, never)
        bounds[asked.rows] = place.flips_for(asked.matrix, asked.directions, asked.needs)
    return bounds


class _Place:
    """The sources of a level: their spins, and how many input flips each needs to change."""

    def __init__(self, spins: SpinMatrix, reach: IntVector, sources: IntVector, never: int) -> None:
        self.never = never
        self.cut = int(np.searchsorted(sources, never - 1))  # inputs come first
        self.input_spins = spins[:, : self.cut].astype(np.float32)
        self.spins = spins[:, self.cut :].astype(np.float32)
        self.reach = reach[:, self.cut :]

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
        size = _with_values(inner, np.abs)
        for value in np.unique(self.reach[self.reach < self.never]):
            if value >= fewest.max(initial=0):
                break
            near = (self.reach <= value).astype(np.float32)
            # a neuron's gain is 2 * |c| where c * spin * direction > 0, else 0
            gains = near @ size + directions * ((near * self.spins) @ inner)
            rest = self._through_inputs(needs - gains.astype(np.int64), counts)
            fewest = np.minimum(fewest, np.maximum(value, rest))
        return fewest

    def _input_counts(self, matrix: Any, directions: SpinMatrix) -> Counts:
        """Count the inputs that help, by what a flip gains: 2, or 2 for each parallel arc."""
        counts = []
        values = matrix if isinstance(matrix, np.ndarray) else matrix.data
        for size in np.unique(np.abs(values))[::-1].tolist():
            if size > 0:
                signs = _with_values(matrix, _signs_of_size(size))
                arcs = np.asarray(_with_values(signs, np.abs).sum(axis=0)).ravel()
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


def _signs_of_size(size: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return lambda values: np.where(np.abs(values) == size, np.sign(values), np.float32(0))


def _with_values(matrix: Any, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Change the values of a dense or a sparse matrix."""
    if isinstance(matrix, np.ndarray):
        return change(matrix)
    changed = matrix.copy()
    changed.data = change(changed.data)
    return changed
