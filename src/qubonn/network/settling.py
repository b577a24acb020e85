"""Consistent activations of a network with cycles, where no forward pass exists.

Network, one example -> Settled.  A state is consistent when every neuron has the sign of its
pre-activation (paper, eq:activation); a cyclic network may have one, several or none.
"""

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import IntVector, SpinMatrix, SpinVector, require_count, require_spins
from qubonn.network.forward import plan_all, plan_levels, pre_activations_of, run_forward, sign
from qubonn.topology import Topology

if TYPE_CHECKING:
    from qubonn.network.parameters import BinaryNetwork

__all__ = ["Settled", "Settling", "settle"]


class Settling(Enum):
    """How the search for consistent activations ended."""

    UNIQUE = "one consistent state, and no other exists"
    SEVERAL = "several consistent states exist"
    NONE = "no consistent state exists"
    FOUND = "a consistent state; the network is too large to say whether there are others"
    UNDECIDED = "no consistent state found; the network is too large to say whether there is one"


@dataclass(frozen=True, eq=False)
class Settled:
    """The consistent states that were found, one per row, the one the dynamics reached first.

    ``closest`` is the state with the fewest inconsistent neurons that was met; it equals
    ``states[0]`` where there is one.
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
    clamped: tuple[IntVector, SpinVector] | None = None,
    start: ArrayLike | None = None,
    seed: int = 0,
    start_count: int = 32,
    sweep_count: int = 100,
    exact_limit: int = 16,
) -> Settled:
    """Update neurons one at a time until nothing changes; then search exactly if that is small.

    Asynchronous updates run in random order from `start` (spins of all nodes; default: random) and
    from ``start_count - 1`` random states. The exact search cuts the cycles at as few nodes as a
    greedy choice finds and tries both spins of each cut node, at most ``2**exact_limit`` states; it
    finds all consistent states. `clamped` is (nodes, spins): neurons that keep a given spin and need
    not be consistent.

    >>> from qubonn.network.parameters import BinaryNetwork
    >>> pair = Topology.from_arcs([(0, 1), (1, 0)], inputs=0, outputs=2)
    >>> BinaryNetwork(pair, [1, 1], [1, 1]).settle([])
    Settled(SEVERAL, 2 states: several consistent states exist)
    """
    search = _Search(network, input_spins, clamped)
    reached = _asynchronous(search, start, seed, start_count, sweep_count)
    consistent = reached[search.inconsistencies(reached) == 0]
    closest = reached[np.argmin(search.inconsistencies(reached))]
    cut = feedback_nodes(network.topology, search.held)
    is_exact = len(cut) <= require_count("exact_limit", exact_limit, least=0)
    if is_exact:
        consistent = np.concatenate([consistent, _exact(search, cut)])
    states = _distinct(consistent)
    if len(states):
        closest = states[0]
    return Settled(_outcome(len(states), is_exact), states, closest, network.topology.output_count)


def feedback_nodes(topology: Topology, held: IntVector) -> IntVector:
    """Return nodes whose knowledge breaks every cycle, beside the `held` ones; greedy, not minimal."""
    chosen: list[int] = []
    is_out = np.zeros(topology.node_count, dtype=bool)
    is_out[held] = True
    while True:
        alive = _on_cycles(topology, is_out)
        if not len(alive):
            return np.array(sorted(chosen), dtype=np.int64)
        arcs = np.isin(topology.source_of, alive) & np.isin(topology.target_of, alive)
        outgoing = np.bincount(topology.source_of[arcs], minlength=topology.node_count)
        incoming = np.bincount(topology.target_of[arcs], minlength=topology.node_count)
        chosen.append(int(np.argmax(outgoing * incoming)))
        is_out[chosen[-1]] = True


class _Search:
    """What the dynamics and the exact search both need of a network and one example."""

    def __init__(
        self,
        network: "BinaryNetwork",
        input_spins: SpinVector,
        clamped: tuple[IntVector, SpinVector] | None,
    ) -> None:
        self.network = network
        self.topology = network.topology
        self.held, self.held_spins = clamped or (np.zeros(0, np.int64), np.zeros(0, np.int8))
        self.held = np.asarray(self.held, dtype=np.int64)
        self.is_free = np.ones(self.topology.node_count, dtype=bool)
        self.is_free[: self.topology.input_count] = False
        self.is_free[self.held] = False
        self.input_spins = input_spins
        self.plan = plan_all(network.topology, network.weight_spins, network.bias_spins)

    def complete(self, states: SpinMatrix) -> SpinMatrix:
        """Write the inputs and the held spins into states."""
        states[:, : self.topology.input_count] = self.input_spins
        states[:, self.held] = self.held_spins
        return states

    def inconsistencies(self, states: SpinMatrix) -> NDArray[np.int64]:
        """Count the free neurons whose spin is not the sign of their pre-activation."""
        first = self.topology.input_count
        wanted = sign(pre_activations_of(self.plan, self.topology, states))
        return ((wanted != states[:, first:]) & self.is_free[first:]).sum(axis=1)

    def update(self, states: SpinMatrix, node: int) -> None:
        """Give one neuron of every state the sign of its pre-activation."""
        arcs = self.topology.arcs_into(node)
        arc_spins = self.network.weight_spins[self.topology.weight_of[arcs]].astype(np.int32)
        bias = self.network.bias_spins[node - self.topology.input_count]
        states[:, node] = sign(states[:, self.topology.source_of[arcs]] @ arc_spins + bias)


def _asynchronous(
    search: _Search, start: ArrayLike | None, seed: int, start_count: int, sweep_count: int
) -> SpinMatrix:
    generator = np.random.default_rng(require_count("seed", seed, least=0))
    count = require_count("start_count", start_count)
    node_count = search.topology.node_count
    states = (2 * generator.integers(2, size=(count, node_count)) - 1).astype(np.int8)
    if start is not None:
        states[0] = require_spins("start", start, count=node_count, of="node")
    search.complete(states)
    free = np.flatnonzero(search.is_free)
    for _ in range(require_count("sweep_count", sweep_count)):
        before = states.copy()
        for node in generator.permutation(free):
            search.update(states, node)
        if (states == before).all():
            break
    return states


def _exact(search: _Search, cut: IntVector) -> SpinMatrix:
    """Return every consistent state: guess the cut nodes, let the rest follow, keep what agrees."""
    network, topology = search.network, search.topology
    guesses = np.arange(1 << len(cut))[:, None] >> np.arange(len(cut)) & 1
    count = len(guesses)
    nodes = np.concatenate([cut, search.held])
    spins = np.concatenate(
        [2 * guesses - 1, np.broadcast_to(search.held_spins, (count, len(search.held)))], axis=1
    ).astype(np.int8)
    plan = plan_levels(topology, network.weight_spins, network.bias_spins, nodes.tolist())
    inputs = np.broadcast_to(search.input_spins, (count, topology.input_count))
    states = run_forward(plan, topology, inputs, (nodes, spins)).activation_spins
    return states[search.inconsistencies(states) == 0]


def _on_cycles(topology: Topology, is_out: NDArray[np.bool_]) -> IntVector:
    """Return the nodes that lie on a cycle when the `is_out` nodes are taken away."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    arcs = ~is_out[topology.source_of] & ~is_out[topology.target_of]
    sources, targets = topology.source_of[arcs], topology.target_of[arcs]
    shape = (topology.node_count, topology.node_count)
    graph = coo_array((np.ones(len(sources)), (sources, targets)), shape=shape)
    _, component = connected_components(graph, directed=True, connection="strong")
    is_large = np.bincount(component)[component] > 1
    is_large[sources[sources == targets]] = True
    return np.flatnonzero(is_large)


def _distinct(states: SpinMatrix) -> SpinMatrix:
    _, first = np.unique(states, axis=0, return_index=True)
    return states[np.sort(first)]


def _outcome(state_count: int, is_exact: bool) -> Settling:
    if state_count > 1:
        return Settling.SEVERAL
    if is_exact:
        return Settling.UNIQUE if state_count else Settling.NONE
    return Settling.FOUND if state_count else Settling.UNDECIDED
