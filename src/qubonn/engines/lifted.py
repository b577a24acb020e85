"""LiftedAnnealing: anneal weights, biases and activations; products and counts are minimised out.

TrainingProblem -> Solutions, for any topology: cycles, shared weights, skips. This energy is zero
exactly where the paper's is. With a margin strength below 1/2 the energy of a state is the paper's
with the best counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, require_count
from qubonn.engines.base import (
    PAPER_TERMS,
    Solutions,
    bits_of_networks,
    cooling,
    require_factors,
    require_room,
    require_terms,
    temperatures_from,
    with_known_bits,
)
from qubonn.engines.lifted_tables import (
    circuit_of,
    energy_unit,
    has_whole_strengths,
    numbers_of,
    squared_levels,
    unit_circuits,
)
from qubonn.errors import RangeError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Report, Stop, Watch, finished, require_seed

QUENCH_SWEEPS = 10  # at temperature zero, at the end
MEASURED = 16  # replicas quenched to measure temperatures


@dataclass(frozen=True, kw_only=True)
class LiftedAnnealing:
    """Metropolis annealing of the lifted view: many replicas in parallel, on the CPU.

    A sweep proposes each weight (all arcs that share it, all examples), each bias, and each free
    activation of each example. Weights on the same arcs are one number, as are a bias and arcs from
    the constant; it moves by one level and is proposed twice. Flips of weights affect many examples
    and flips of activations one, so each kind has its own temperatures, measured on the problem;
    `hottest` and `coldest` scale them. `violation` "squared" is the paper's H1; "linear" penalises
    the amount by which a neuron is wrong, not its square: the zeros are the same, but states with
    violations are ranked differently.

    While annealing, strengths that are no whole numbers are rounded to multiples of 2**-16, or of a
    larger power of two where energies are large (a reward of 0.01 for margins then differs by up to
    8e-6 for each unit of margin); so is the energy that a target is compared with. Energies that
    are returned are exact, except with weights of examples that are no whole numbers.
    """

    supported_terms: ClassVar[frozenset[str]] = PAPER_TERMS | {"decay"}

    replica_count: int = 256
    sweep_count: int = 200
    hottest: float = 1.0
    coldest: float = 1.0
    violation: Literal["squared", "linear"] = "squared"
    thread_count: int | None = None

    def __post_init__(self) -> None:
        require_count("replica_count", self.replica_count)
        require_count("sweep_count", self.sweep_count)
        require_factors(hottest=self.hottest, coldest=self.coldest)
        if self.violation not in ("squared", "linear"):
            raise RangeError(f"violation must be 'squared' or 'linear'; got {self.violation!r}")
        if self.thread_count is not None:
            require_count("thread_count", self.thread_count)

    def solve(
        self,
        problem: TrainingProblem,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
        initial_networks: Sequence[BinaryNetwork] = (),
    ) -> Solutions:
        """Anneal all replicas and return their networks, lowest energy first.

        The target is checked every ten sweeps. Replicas start from random parameters and
        activations, or from `initial_networks`, repeated as needed, with random activations.
        """
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        require_seed(seed)
        require_terms(problem, self)
        topology, sites = problem.topology, problem.example_count * problem.topology.node_count
        byte_count = self.replica_count * (4 * sites + 8 * topology.weight_count)
        require_room(problem, self.replica_count, byte_count)
        run = LiftedRun(problem, self, seed, initial_networks)
        stop = run.anneal(watch)
        return finished(lambda: run.found(stop, watch))


class LiftedRun:
    """All replicas of one anneal, packed for the kernels."""

    def __init__(
        self,
        problem: TrainingProblem,
        settings: LiftedAnnealing,
        seed: int,
        initial_networks: Sequence[BinaryNetwork] = (),
        lanes: int | None = None,
    ) -> None:
        # Numba is slow to import, so these are imported when needed
        self.kernels: Any = import_module("qubonn.engines._lifted_kernels")
        self.streams: Any = import_module("qubonn.simd.streams")
        self.threads: Any = import_module("qubonn.simd.threads")
        self.problem, self.settings, self.sweep_count = problem, settings, 0
        is_squared = settings.violation == "squared"
        self.unit = energy_unit(problem, is_squared=is_squared)
        self.circuit = circuit_of(problem, self.unit, is_squared=is_squared)
        self.numbers = numbers_of(problem, self.circuit, self.unit)
        self.offset = _offset(problem)
        count = settings.replica_count
        starts, streams = np.random.SeedSequence(seed).spawn(2)
        generator = np.random.default_rng(starts)
        with self.threads.threads(settings.thread_count) as thread_count:
            self.lanes = lanes or self.streams.lane_count_for(count, thread_count)
        bits = _parameters(problem, count, generator, initial_networks)
        self.parameters = self.streams.pack_states(bits, self.lanes)
        bits = _activations(problem, count, generator)
        self.activations = self.streams.pack_states(bits, self.lanes)
        seeds = streams.generate_state(count, np.uint64).astype(np.uint64)
        self.generators = self.streams.start_generators(seeds, self.lanes)
        self.energies = np.zeros((len(self.parameters), 1, self.lanes), dtype=np.int32)
        self.best: tuple[float, Any, Any] = np.inf, None, None  # energy, parameters, activations

    def anneal(self, watch: Watch) -> Stop:
        """Cool in slices, check the watch after each, and quench at the end."""
        self.sweep(np.zeros((0, 3)))  # only computes the energies
        try:
            temperatures = self.temperatures()
            for start, end in watch.slices(range(len(temperatures))):
                self.sweep(temperatures[start:end])
                if stop := watch.verdict(end / len(temperatures), self.best_energy()):
                    return stop
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        return Stop.FINISHED

    def temperatures(self) -> NDArray[np.float64]:
        """A row for each sweep: temperatures of weights, biases and activations; then zeros."""
        settings, lanes = self.settings, self.lanes
        measured = replace(settings, replica_count=MEASURED)
        hot, cold = temperatures_from(
            self.problem, lambda one: _sizes_at_quenched(one, measured, lanes), if_empty=np.nan
        )
        hottest, coldest = hot * settings.hottest, cold * settings.coldest
        return cooling(hottest, coldest, settings.sweep_count, QUENCH_SWEEPS)

    def best_energy(self) -> float:
        """The lowest energy of any replica now; its state is kept if it is the best so far."""
        energies = self._replica_energies()
        replica = int(np.argmin(energies))
        if energies[replica] < self.best[0]:
            block, lane = divmod(replica, self.lanes)
            packed = self.parameters, self.activations
            self.best = energies[replica], *(masks[block] >> lane & 1 for masks in packed)
        return float(energies[replica])

    def found(self, stop: Stop, watch: Watch) -> Solutions:
        """Return the networks of all replicas, lowest energy first.

        After an early stop the best state so far takes the place of the worst replica.
        """
        problem, energies = self.problem, self._replica_energies()
        packed = self.parameters, self.activations
        if stop is not Stop.FINISHED and self.best[0] < energies.min():
            block, lane = divmod(int(np.argmax(energies)), self.lanes)
            for masks, bits in zip(packed, self.best[1:], strict=True):
                one = masks.dtype.type(1) << masks.dtype.type(lane)
                masks[block] = np.where(bits, masks[block] | one, masks[block] & ~one)
            self.sweep(np.zeros((0, 3)))  # the energy of that one
        energies = self._exact_energies()
        states = [self.streams.unpack_states(masks, len(energies)) for masks in packed]
        order = np.argsort(energies, kind="stable")
        parameters, activations = (2 * rows[order] - 1 for rows in states)
        weights, biases = np.split(parameters, [problem.topology.weight_count], axis=1)
        activations = activations.reshape(len(order), problem.example_count, -1)[:, :, :-1]
        info = {"sweeps": self.sweep_count, "seconds": watch.seconds}
        return Solutions(problem, weights, biases, activations, energies[order], stop, info)

    def flip_costs(self) -> NDArray[np.float64]:
        """Energy changes of all flips, variables x lanes, of the first block."""
        count = self.parameters.shape[1] + self.circuit.wanted.size
        changes = np.zeros((count, self.lanes), dtype=np.int32)
        state = self.parameters[0], self.activations[0], self._new_counts()
        self.kernels.set_changes(self.circuit, self.numbers, state, changes)
        return changes * self.unit

    def sweep(self, temperatures: NDArray[np.float64]) -> None:
        """Make a sweep for each row of temperatures."""
        self._anneal((self.circuit, self.numbers), self.energies, temperatures / self.unit)
        self.sweep_count += len(temperatures)

    def _anneal(self, tables: Any, energies: Any, temperatures: NDArray[np.float64]) -> None:
        """Sweep all blocks; each stays on one thread."""

        def work(first: int, end: int, thread: int) -> None:
            counts = self._new_counts()
            for block in range(first, end):
                state = self.parameters[block], self.activations[block], counts
                rest = energies[block], self.generators[block], temperatures
                self.kernels.anneal_block(*tables, state, *rest)

        self.threads.share(work, len(energies), self.settings.thread_count)

    def _new_counts(self) -> NDArray[np.int32]:
        site_count = self.circuit.example_count * self.circuit.neuron_count
        return np.empty((site_count, self.lanes), dtype=np.int32)

    def _replica_energies(self) -> NDArray[np.float64]:
        energies = self.energies.reshape(-1)[: self.settings.replica_count]
        return energies.astype(np.float64) * self.unit + self.offset

    def _exact_energies(self) -> NDArray[np.float64]:
        """Return energies as certificates have them: strengths times whole numbers.

        Weights of examples that are no whole numbers stay rounded to units.
        """
        problem = self.problem
        is_rounded = problem.weight_of_example.dtype.kind != "i"
        if is_rounded or has_whole_strengths(problem):
            return self._replica_energies()
        parts = unit_circuits(problem, self.circuit)
        violations, margins, outputs = (self._whole_energies(part) for part in parts)
        bits = self.streams.unpack_states(self.parameters, self.settings.replica_count)
        pulls = np.append(problem.field.weights, problem.field.biases)
        terms = problem.topology.fan_in[problem.topology.input_count :] + 1
        margins -= problem.weight_of_example.sum() * int((terms % 2).sum())
        total = violations + problem.margin_strength * margins
        total = total - (2 * bits.astype(np.float64) - 1) @ pulls
        total = total + (problem.output_strength or 0) * outputs
        squares = squared_levels(problem.topology, bits) if problem.decay_strength else 0
        return np.asarray(total + problem.decay_strength * squares, dtype=np.float64)

    def _whole_energies(self, circuit: Any) -> NDArray[np.int64]:
        """Return the energies of all replicas in a circuit whose strengths are whole."""
        energies, numbers = np.zeros_like(self.energies), self.numbers
        if numbers is not None:
            numbers = numbers._replace(decay=np.zeros_like(numbers.decay))
        self._anneal((circuit, numbers), energies, np.zeros((0, 3)))
        return energies.reshape(-1)[: self.settings.replica_count].astype(np.int64)


def _sizes_at_quenched(
    problem: TrainingProblem, settings: LiftedAnnealing, lanes: int
) -> list[NDArray[np.float64]]:
    """Return the sizes of the nonzero changes at quenched replicas, by kind of flip."""
    run = LiftedRun(problem, settings, seed=0, lanes=lanes)
    run.sweep(np.zeros((QUENCH_SWEEPS, 3)))
    changes = np.abs(run.flip_costs()[:, :MEASURED])  # the same for any number of lanes
    kind_of = np.append(run.circuit.kind_of, np.full(run.circuit.wanted.size, 2))
    kind_of[np.flatnonzero(problem.topology.known_parameters)] = -1  # never proposed
    return [kind[kind > 0] for kind in (changes[kind_of == number] for number in range(3))]


def _offset(problem: TrainingProblem) -> float:
    """Return the part of H that the kernels leave out: least margins, constants of other terms."""
    terms = problem.topology.fan_in[problem.topology.input_count :] + 1
    least = terms % 2  # margin of a just satisfied -1
    margin = problem.margin_strength * problem.weight_of_example.sum() * int(least.sum())
    squares = (np.diff(problem.topology.levelled_weights[0]) ** 2).sum()
    decay = problem.decay_strength * int(squares)
    return float(problem.field.weights.sum() + problem.field.biases.sum() - margin + decay)


def _parameters(
    problem: TrainingProblem,
    count: int,
    generator: np.random.Generator,
    networks: Sequence[BinaryNetwork],
) -> BitMatrix:
    topology = problem.topology
    if networks:
        return bits_of_networks(networks, topology, count)
    shapes = (count, topology.weight_count), (count, topology.neuron_count)
    bits = np.hstack([generator.integers(0, 2, shape, dtype=np.int8) for shape in shapes])
    return with_known_bits(topology, bits)


def _activations(problem: TrainingProblem, count: int, generator: np.random.Generator) -> BitMatrix:
    """Return replicas x (examples x nodes, a 1 after each example); free bits are random."""
    known, free = problem.variables.known_bits, problem.variables.structure.free_nodes
    bits = np.ones((count, len(known), problem.topology.node_count + 1), dtype=np.int8)
    bits[:, :, :-1] = known
    bits[:, :, free] = generator.integers(0, 2, (count, len(known), len(free)), dtype=np.int8)
    return bits.reshape(count, -1)
