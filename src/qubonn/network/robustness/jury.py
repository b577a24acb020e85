"""Jury: networks side by side over the same inputs, and what makes them decide otherwise.

Networks, reading -> one network, votes for each output, thresholds.  One network is a jury of one.
"""

from collections.abc import Iterator, Sequence
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
