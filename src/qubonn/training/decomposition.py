"""Decomposition: train a large network with a sampler of small QUBOs, block by block.

TrainingProblem, sampler -> Solutions.  A block is some weights of a neuron, and everything that
follows from them in some examples: activations, counts and products.  All else is fixed, which
leaves an exact QUBO of few variables; networks that lower the energy of the whole problem are kept.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, require_count
from qubonn.engines import Solutions
from qubonn.errors import RangeError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.quadratic.fixing import fix
from qubonn.samplers import SimulatedAnnealing
from qubonn.samplers.base import as_sampler
from qubonn.stopping import Report, Stop, Watch, require_seed

TRIED = 8  # of the best samples of a block


@dataclass(frozen=True, kw_only=True)
class BlockDecomposition:
    """An engine that sends QUBOs of at most `variable_limit` variables to any sampler.

    A block has the bias and the weights of one neuron, or half of them and so on, until all
    examples whose constraints they can change fit; its QUBO is then H1 and H2 of the whole problem.
    Where even those of one weight do not fit, it has some of these examples. Networks are compared
    by the energy of their forward pass on all examples. At energy 0, if there are no rewards, and
    after `patience` visits to each neuron without progress, training starts again from another
    random network; the best of each start are returned. `sampler` may be one of ours or of dimod.

    >>> from qubonn.topology import Topology
    >>> xor = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    >>> problem = TrainingProblem(Topology.dense(2, 2, 1), xor, [[-1], [1], [1], [-1]])
    >>> BlockDecomposition(variable_limit=40).solve(problem, target_energy=0)
    Solutions(... networks, best energy 0, TARGET)
    """

    sampler: Any = field(
        default_factory=lambda: SimulatedAnnealing(replica_count=32, sweep_count=300)
    )
    variable_limit: int = 64
    block_count: int = 500  # QUBOs that are sampled
    patience: int = 4

    def __post_init__(self) -> None:
        for name in ("variable_limit", "block_count", "patience"):
            require_count(name, getattr(self, name))

    def solve(
        self,
        problem: TrainingProblem,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Solutions:
        """Return the best network of each start, lowest energy first."""
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        run = _Run(problem, self, np.random.default_rng(require_seed(seed)))
        stop = Stop.FINISHED
        try:
            for done in range(self.block_count):
                run.step(None if time_limit is None else max(watch.seconds_left, 1e-3))
                verdict = watch.verdict((done + 1) / self.block_count, run.lowest)
                if verdict is not None:
                    stop = verdict
                    break
        except KeyboardInterrupt:
            stop = Stop.INTERRUPTED
        return run.solutions(stop, {"blocks": done + 1, "seconds": watch.seconds})


class _Run:
    """The network of the current start, its energy, and the best network of each start."""

    network: BinaryNetwork
    energy: float
    idle: int  # blocks since the last progress
    queue: list[int]  # neurons to visit
    is_over: bool  # the next step begins with another network

    def __init__(
        self, problem: TrainingProblem, engine: BlockDecomposition, generator: np.random.Generator
    ) -> None:
        self.problem, self.engine, self.generator = problem, engine, generator
        self.sampler = as_sampler(engine.sampler)
        self.following = tuple(_following(problem))
        neurons = range(problem.topology.neuron_count)
        self.visited = np.array([n for n in neurons if len(self._own_parameters(n))], dtype=int)
        self.sizes = [self._variables_of_each_example(neuron) for neuron in neurons]
        self.has_floor = problem.field.is_zero and not (
            problem.margin_strength or problem.extra_terms
        )
        self.best: list[tuple[float, BinaryNetwork]] = []
        self._start()

    @property
    def lowest(self) -> float:
        """The lowest energy of all starts."""
        return min(energy for energy, _ in self.best)

    def step(self, time_limit: float | None) -> None:
        """Visit the next neuron: sample its block and keep the best network that is no worse."""
        if self.is_over:
            self._start()
        if not len(self.visited):
            return  # all parameters are known
        if not self.queue:
            self.queue = self.generator.permutation(self.visited).tolist()
        neuron = self.queue.pop()
        networks = self._block_networks(neuron, time_limit)
        energies = [self._energy(network) for network in networks]
        ties = self.generator.permutation(len(energies)).tolist()
        chosen = min(range(len(energies)), key=lambda number: (energies[number], ties[number]))
        self.idle = 0 if energies[chosen] < self.energy else self.idle + 1
        if energies[chosen] <= self.energy:
            self.network, self.energy = networks[chosen], energies[chosen]
            self.best[-1] = (self.energy, self.network)
            self._note_sums()
        is_lowest = self.has_floor and self.energy <= 0
        if is_lowest or self.idle > self.engine.patience * len(self.following):
            self.is_over = True

    def solutions(self, stop: Stop, info: dict[str, Any]) -> Solutions:
        """Return the best network of each start."""
        ordered = sorted(self.best, key=lambda one: one[0])
        networks = [network for _, network in ordered]
        spins = [self.problem.assignment(network).activation_spins for network in networks]
        return Solutions(
            self.problem,
            np.stack([network.weight_spins for network in networks]),
            np.stack([network.bias_spins for network in networks]),
            np.stack(spins),
            np.array([energy for energy, _ in ordered], dtype=np.float64),
            stop,
            {**info, "starts": len(ordered)},
        )

    def _start(self) -> None:
        seed = int(self.generator.integers(2**31))
        self.network = BinaryNetwork.random(self.problem.topology, seed=seed)
        self.energy, self.idle, self.queue = self._energy(self.network), 0, []
        self.is_over = False
        self._note_sums()
        self.best.append((self.energy, self.network))

    def _note_sums(self) -> None:
        self.spins = self.problem.assignment(self.network).activation_spins
        self.sums = self.network.pre_activations_at(self.spins)

    def _energy(self, network: BinaryNetwork) -> float:
        return float(self.problem.certify(network).terms.total)

    def _block_networks(self, neuron: int, time_limit: float | None) -> list[BinaryNetwork]:
        """Sample the QUBO of a block; return the networks of its best states."""
        parameters, rows = self._block(neuron)
        some = self.problem.of_examples(rows)
        bits = some.encode(self.network)
        is_free = _free_variables(some, parameters, self.following[neuron])
        known = np.flatnonzero(~is_free)
        fixed = fix(some.qubo(), dict(zip(known.tolist(), bits[known].tolist(), strict=True)))
        seed = int(self.generator.integers(2**31))
        samples = self.sampler.sample(fixed.qubo, seed=seed, time_limit=time_limit)
        best = fixed.lift(samples.distinct().lowest(TRIED).bits)
        return list(dict.fromkeys(some.decode(state) for state in best))

    def _block(self, neuron: int) -> tuple[IntVector, IntVector]:
        """Return the parameters and the examples that fit the limit."""
        own, each = self._own_parameters(neuron), self.sizes[neuron]
        limit = self.engine.variable_limit
        if limit <= each:
            raise RangeError(
                f"variable_limit must be at least {each + 1}: a weight of neuron "
                f"{neuron + self.problem.topology.input_count} and what follows from it in one "
                f"example need as many variables; got {limit}"
            )
        own, size = self.generator.permutation(own), len(own)
        while size >= 1:  # all examples that these weights can change, if they fit
            rows = self._changeable(own[:size], neuron)
            if size + each * len(rows) <= limit and len(rows):
                return own[:size], rows
            size //= 2
        # otherwise some of them; at least half of the variables are for examples
        own = own[: max(1, min(limit // 2, limit - each))]
        rows = self.generator.permutation(self._changeable(own, neuron, or_all=True))
        return own, np.sort(rows[: (limit - len(own)) // each])

    def _changeable(self, parameters: IntVector, neuron: int, or_all: bool = False) -> IntVector:
        """Return the examples whose energy these parameters can change; `or_all` if there is none.

        A sum changes by 2 with each of its terms; beyond that, activations stay as they are, and a
        known output that is right stays right.
        """
        topology, node = self.problem.topology, neuron + self.problem.topology.input_count
        arcs = np.isin(topology.weight_of, parameters)
        reach = 2 * np.bincount(topology.target_of[arcs], minlength=topology.node_count)
        reach[node] += 2 * (topology.weight_count + neuron in parameters)
        sums, spins = self.sums, self.spins[:, topology.input_count :]
        reach = reach[topology.input_count :]
        can_change = (np.abs(sums) <= reach) | ((sums > 0) != (spins > 0))
        found = np.flatnonzero((can_change & (reach > 0)).any(axis=1))
        return np.arange(len(sums)) if or_all and not len(found) else found

    def _own_parameters(self, neuron: int) -> IntVector:
        """Return the free weights and the bias of a neuron: numbers of weights, then of biases."""
        topology = self.problem.topology
        arcs = topology.target_of == neuron + topology.input_count
        own = np.append(np.unique(topology.weight_of[arcs]), topology.weight_count + neuron)
        return np.asarray(own[topology.known_parameters[own] == 0])

    def _variables_of_each_example(self, neuron: int) -> int:
        one, own = self.problem.of_examples(slice(0, 1)), self._own_parameters(neuron)
        return int(_free_variables(one, own, self.following[neuron]).sum()) - len(own)


def _following(problem: TrainingProblem) -> Iterator[NDArray[np.bool_]]:
    """Yield for each neuron which nodes its weights can change: it, its likes, and all after."""
    topology = problem.topology
    for neuron in range(topology.neuron_count):
        node = neuron + topology.input_count
        weights = topology.weight_of[topology.target_of == node]
        weights = weights[topology.known_weights[weights] == 0]
        is_changed = np.zeros(topology.node_count, dtype=bool)
        is_changed[node] = True
        is_changed[topology.target_of[np.isin(topology.weight_of, weights)]] = True
        held = problem.variables.structure.is_known
        while True:
            reached = is_changed.copy()
            reached[topology.target_of[(is_changed & ~held)[topology.source_of]]] = True
            if (reached == is_changed).all():
                break
            is_changed = reached
        yield is_changed


def _free_variables(
    problem: TrainingProblem, parameters: IntVector, is_changed: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Return which variables of a problem are free: parameters, and all of the changed nodes."""
    variables, topology = problem.variables, problem.topology
    structure, is_free = variables.structure, np.zeros(problem.variables.count, dtype=bool)
    variable_of = np.append(variables.weight_variables, variables.bias_variables)
    is_free[variable_of[parameters]] = True
    activations = variables.activation_variables[:, is_changed]
    is_free[activations[activations >= 0]] = True
    counts = is_changed[topology.input_count :][structure.count_neuron]
    is_free[variables.count_variables[:, counts]] = True
    arcs = structure.product_arcs
    weights = variables.weight_variables[topology.weight_of[arcs]]
    follows = is_changed[topology.source_of[arcs]] | is_free[weights]
    is_free[variables.product_variables[:, follows]] = True
    return is_free
