"""Consistent activations of a network with cycles, where no forward pass exists.

Network, one example -> Settled.  A state is consistent when every neuron has the sign of its
pre-activation (paper, eq:activation); a cyclic network may have one, several or none.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import (
    IntVector,
    SpinMatrix,
    SpinVector,
    require_count,
    require_indices,
    require_spins,
)
from qubonn.errors import RangeError, ShapeError
from qubonn.network.forward import chunks, plan_levels, run_forward, sign
from qubonn.topology import Topology

if TYPE_CHECKING:
    from qubonn.network.binary_network import BinaryNetwork


class Settling(Enum):
    """How the search for consistent activations ended."""

    UNIQUE = "one consistent state, and no other exists"
    SEVERAL = "several consistent states exist"
    NONE = "no consistent state exists"
    FOUND = "a consistent state; the network is too large to say whether there are others"
    UNDECIDED = "no consistent state found; the network is too large to say whether there is one"


@dataclass(frozen=True, eq=False)
class Settled:
    """The consistent states that were found, one per row; the one that updates reached is first.

    ``closest`` is the state with the fewest inconsistent neurons; it equals ``states[0]`` if there
    is one.
    """

    outcome: Settling
    states: SpinMatrix
    closest: SpinVector
    output_count: int

    @property
    def outputs(self) -> SpinMatrix:
        """Output activations of each consistent state."""
        return self.states[:, self.states.shape[1] - self.output_count :]

    def __repr__(self) -> str:
        return f"Settled({self.outcome.name}, {len(self.states)} states: {self.outcome.value})"


def settle(
    network: "BinaryNetwork",
    input_spins: SpinVector,
    *,
    clamped: tuple[ArrayLike, ArrayLike] | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
    start_count: int = 32,
    sweep_count: int = 100,
    exact_limit: int = 16,
) -> Settled:
    """Update neurons one at a time until nothing changes; then search exactly if that is feasible.

    Asynchronous updates run in random order from `start` (spins of all nodes; default: random) and
    from ``start_count - 1`` random states. The exact search cuts the cycles at as few nodes as a
    greedy choice gives and tries both spins of each cut node, at most ``2**exact_limit`` states; it
    finds all consistent states. `clamped` is (nodes, spins): neurons that keep a given spin and
    need not be consistent; like the inputs, they overrule `start`.

    >>> from qubonn.network.binary_network import BinaryNetwork
    >>> pair = Topology.from_arcs([(0, 1), (1, 0)], inputs=0, outputs=2)
    >>> BinaryNetwork(pair, [1, 1], [1, 1]).settle([])
    Settled(SEVERAL, 2 states: several consistent states exist)
    """
    conditions = _Consistency(network, input_spins, clamped)
    most = require_count("exact_limit", exact_limit, least=0)
    reached = _asynchronous(conditions, start, seed, start_count, sweep_count)
    wrong_counts = conditions.inconsistencies(reached)
    consistent = reached[wrong_counts == 0]
    cut = feedback_nodes(network.topology, conditions.held, most=most)
    is_exact = len(cut) <= most
    if is_exact:
        consistent = np.concatenate([consistent, *_exact(conditions, cut)])
    _, first = np.unique(consistent, axis=0, return_index=True)
    states = consistent[np.sort(first)]
    closest = states[0] if len(states) else reached[np.argmin(wrong_counts)]
    if len(states) > 1:
        outcome = Settling.SEVERAL
    elif is_exact:
        outcome = Settling.UNIQUE if len(states) else Settling.NONE
    else:
        outcome = Settling.FOUND if len(states) else Settling.UNDECIDED
    return Settled(outcome, states, closest, network.topology.output_count)


def feedback_nodes(topology: Topology, held: IntVector, *, most: int | None = None) -> IntVector:
    """Return nodes that break every cycle together with the `held` ones; greedy, not minimal.

    Stops after ``most + 1`` nodes: each costs a pass over all arcs.
    """
    chosen: list[int] = []
    while most is None or len(chosen) <= most:
        on_cycles = topology.arcs_on_cycles((*held.tolist(), *chosen))
        if not len(on_cycles):
            break
        is_alive = np.zeros(topology.node_count, dtype=bool)
        is_alive[topology.source_of[on_cycles]] = True
        arcs = is_alive[topology.source_of] & is_alive[topology.target_of]
        outgoing = np.bincount(topology.source_of[arcs], minlength=topology.node_count)
        incoming = np.bincount(topology.target_of[arcs], minlength=topology.node_count)
        chosen.append(int(np.argmax(outgoing * incoming)))
    return np.array(sorted(chosen), dtype=np.int64)


class _Consistency:
    """The conditions on consistent states of a network for one example; for both searches."""

    def __init__(
        self,
        network: "BinaryNetwork",
        input_spins: SpinVector,
        clamped: tuple[ArrayLike, ArrayLike] | None,
    ) -> None:
        self.network, self.topology, self.input_spins = network, network.topology, input_spins
        self.held, self.held_spins = _require_clamped(self.topology, clamped)
        neurons = np.arange(self.topology.input_count, self.topology.node_count)
        self.free = np.setdiff1d(neurons, self.held)

    def inconsistencies(self, states: SpinMatrix) -> NDArray[np.int64]:
        """Count the free neurons whose spin is not the sign of their pre-activation."""
        sums = self.network.pre_activations_at(states)[:, self.free - self.topology.input_count]
        return np.asarray((sign(sums) != states[:, self.free]).sum(axis=1))


def _require_clamped(
    topology: Topology, clamped: tuple[ArrayLike, ArrayLike] | None
) -> tuple[IntVector, SpinVector]:
    if clamped is None:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int8)
    if not isinstance(clamped, tuple) or len(clamped) != 2:
        raise ShapeError(f"clamped must be a pair (nodes, spins); got {clamped!r:.60}")
    held = require_indices("clamped nodes", np.asarray(clamped[0]), below=topology.node_count)
    if len(held) and held.min() < topology.input_count:
        raise RangeError(
            f"clamped nodes must not be inputs; got node {held.min()}: change the inputs instead"
        )
    if len(np.unique(held)) != len(held):
        raise RangeError(f"clamped nodes must each be named once; got {held.tolist()!r:.60}")
    return held, require_spins("clamped spins", clamped[1], count=len(held), of="clamped node")


def _asynchronous(
    conditions: _Consistency, start: ArrayLike | None, seed: int, start_count: int, sweep_count: int
) -> SpinMatrix:
    generator = np.random.default_rng(require_count("seed", seed, least=0))
    topology, network = conditions.topology, conditions.network
    size = require_count("start_count", start_count), topology.node_count
    states = (2 * generator.integers(2, size=size) - 1).astype(np.int8)
    if start is not None:
        states[0] = require_spins("start", start, count=topology.node_count, of="node")
    states[:, : topology.input_count] = topology.with_constant(conditions.input_spins)
    states[:, conditions.held] = conditions.held_spins
    # one row per node, so that the sources of a neuron are contiguous; float32 is exact here
    spins = states.T.astype(np.float32)
    arc_spins = network.weight_spins[topology.weight_of].astype(np.float32)
    arcs_into = {node: topology.arcs_into(node) for node in conditions.free.tolist()}
    for _ in range(require_count("sweep_count", sweep_count)):
        before = spins.copy()
        for node in generator.permutation(conditions.free).tolist():
            arcs, bias = arcs_into[node], network.bias_spins[node - topology.input_count]
            spins[node] = sign(arc_spins[arcs] @ spins[topology.source_of[arcs]] + bias)
        if (spins == before).all():
            break
    return np.ascontiguousarray(spins.T, dtype=np.int8)


def _exact(conditions: _Consistency, cut: IntVector) -> Iterator[SpinMatrix]:
    """Yield every consistent state: guess the cut nodes, compute the rest, keep what agrees."""
    network, topology = conditions.network, conditions.topology
    nodes = np.concatenate([cut, conditions.held])
    plan = plan_levels(topology, network.weight_spins, network.bias_spins, nodes.tolist())
    for rows in chunks(1 << len(cut), topology.node_count):
        numbers = np.arange(rows.start, rows.stop)[:, np.newaxis]
        guesses = (2 * (numbers >> np.arange(len(cut)) & 1) - 1).astype(np.int8)
        held = np.broadcast_to(conditions.held_spins, (len(guesses), len(conditions.held)))
        inputs = np.broadcast_to(conditions.input_spins, (len(guesses), topology.column_count))
        found = run_forward(plan, topology, inputs, (nodes, np.hstack([guesses, held])))
        sums = found.pre_activations[:, cut - topology.input_count]
        yield found.activation_spins[(sign(sums) == guesses).all(axis=1)]
