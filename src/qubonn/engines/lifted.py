"""LiftedAnnealing: anneal weights, biases and activations; products and counts are minimised out.

TrainingProblem -> Solutions, for any topology: cycles, shared weights, skips. A zero of this energy
is a zero of the paper's, and the other way round. With a margin strength below 1/2 the energy of a
state is the paper's at its best counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, require_count, require_memory
from qubonn.engines.base import (
    PAPER_TERMS,
    Solutions,
    bits_of_networks,
    cooling,
    require_factors,
    require_terms,
    temperatures_from,
)
from qubonn.engines.lifted_tables import circuit_of, energy_unit
from qubonn.errors import RangeError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Report, Stop, Watch, require_seed

QUENCH_SWEEPS = 10  # at temperature zero, at the end
MEASURED = 16  # replicas quenched to measure temperatures


@dataclass(frozen=True, kw_only=True)
class LiftedAnnealing:
    """Metropolis annealing of the lifted view: many replicas side by side, on the CPU.

    A sweep proposes each weight (all arcs that share it, all examples), each bias, and each free
    activation of each example. Flips of weights reach many examples and flips of activations one,
    so each kind has temperatures of its own, measured on the problem; `hottest` and `coldest` scale
    them. `violation` "squared" is the paper's H1; "linear" counts by how much a neuron is wrong,
    not its square: the zeros are the same, but states with violations are ordered otherwise.
    """

    supported_terms: ClassVar[frozenset[str]] = PAPER_TERMS

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

        A target is looked for every ten sweeps. Replicas start from random parameters and
        activations, or from `initial_networks`, repeated as needed, with random activations.
        """
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        require_seed(seed)
        require_terms(problem, self)
        _require_room(problem, self.replica_count)
        run = _Run(problem, self, seed, initial_networks)
        stop = run.anneal(watch)
        return run.found(stop, watch)


class _Run:
    """All replicas of one anneal, packed for the kernels."""

    def __init__(
        self,
        problem: TrainingProblem,
        settings: LiftedAnnealing,
        seed: int,
        initial_networks: Sequence[BinaryNetwork] = (),
        lanes: int | None = None,
    ) -> None:
        # Numba takes a moment, so these are imported when needed
        self.kernels: Any = import_module("qubonn.engines._lifted_kernels")
        self.streams: Any = import_module("qubonn.simd.streams")
        self.threads: Any = import_module("qubonn.simd.threads").threads
        self.problem, self.settings, self.sweep_count = problem, settings, 0
        is_squared = settings.violation == "squared"
        self.unit = energy_unit(problem, is_squared=is_squared)
        self.circuit = circuit_of(problem, self.unit, is_squared=is_squared)
        self.offset = _offset(problem)
        count = settings.replica_count
        starts, streams = np.random.SeedSequence(seed).spawn(2)
        generator = np.random.default_rng(starts)
        with self.threads(settings.thread_count) as thread_count:
            self.lanes = lanes or self.streams.lane_count_for(count, thread_count)
        self.weights, self.biases = (
            self._pack(bits) for bits in _parameters(problem, count, generator, initial_networks)
        )
        self.activations = self._pack(_activations(problem, count, generator))
        seeds = streams.generate_state(count, np.uint64).astype(np.uint64)
        self.generators = self.streams.start_generators(seeds, self.lanes)
        self.energies = np.zeros((len(self.weights), 1, self.lanes), dtype=np.int32)

    def anneal(self, watch: Watch) -> Stop:
        """Cool in slices and look at the watch in between; quench at the end."""
        self.sweep(np.zeros((0, 3)))  # no sweep, but the energies of the start
        try:
            temperatures = self.temperatures()

            def run_slice(start: int, end: int) -> None:
                self.sweep(temperatures[start:end])

            span = range(len(temperatures))
            return watch.work(span, len(span), run_slice, self.best_energy) or Stop.FINISHED
        except KeyboardInterrupt:
            return Stop.INTERRUPTED

    def temperatures(self) -> NDArray[np.float64]:
        """A row for each sweep: temperatures of weights, biases and activations; then zeros."""
        hot, cold = measured_temperatures(self.problem, self.settings, self.lanes)
        hottest, coldest = hot * self.settings.hottest, cold * self.settings.coldest
        return cooling(hottest, coldest, self.settings.sweep_count, QUENCH_SWEEPS)

    def best_energy(self) -> float:
        """The lowest energy of any replica now."""
        return float(self._replica_energies().min())

    def found(self, stop: Stop, watch: Watch) -> Solutions:
        """Unpack all replicas, lowest energy first."""
        energies = self._replica_energies()
        order = np.argsort(energies, kind="stable")
        weights, biases, activations = (
            2 * self._unpack(packed)[order] - 1
            for packed in (self.weights, self.biases, self.activations)
        )
        shape = (len(order), self.problem.example_count, self.problem.topology.node_count)
        info = {"sweeps": self.sweep_count, "seconds": watch.seconds}
        return Solutions(
            self.problem,
            weights,
            biases,
            activations.reshape(shape),
            energies[order],
            stop,
            info,
        )

    def flip_costs(self) -> NDArray[np.float64]:
        """Energy changes of all flips, variables x lanes, of the first block."""
        count = self.weights.shape[1] + self.biases.shape[1]
        free = self.problem.example_count * len(self.circuit.free_nodes)
        changes = np.zeros((count + free, self.lanes), dtype=np.int32)
        self.kernels.set_changes(
            self.circuit, self.weights[0], self.biases[0], self.activations[0], changes
        )
        return changes * self.unit

    def sweep(self, temperatures: NDArray[np.float64]) -> None:
        """Make a sweep for each row of temperatures."""
        with self.threads(self.settings.thread_count):
            self.kernels.anneal_all(
                self.circuit,
                self.weights,
                self.biases,
                self.activations,
                self.energies,
                self.generators,
                temperatures / self.unit,
            )
        self.sweep_count += len(temperatures)

    def _replica_energies(self) -> NDArray[np.float64]:
        energies = self.energies.reshape(-1)[: self.settings.replica_count]
        return energies.astype(np.float64) * self.unit + self.offset

    def _pack(self, bits: BitMatrix) -> Any:
        return self.streams.pack_states(bits, self.lanes)

    def _unpack(self, packed: Any) -> BitMatrix:
        bits = self.streams.unpack_states(packed, self.settings.replica_count)
        return np.asarray(bits).astype(np.int8)


def measured_temperatures(
    problem: TrainingProblem, settings: LiftedAnnealing, lanes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return hottest and coldest temperature of weights, biases and activations.

    Measured at a few quenched replicas; see `temperatures_from`.
    """
    settings = replace(settings, replica_count=MEASURED)
    return temperatures_from(
        problem, lambda one: _sizes_at_quenched(one, settings, lanes), if_empty=np.nan
    )


def _sizes_at_quenched(
    problem: TrainingProblem, settings: LiftedAnnealing, lanes: int
) -> list[NDArray[np.float64]]:
    """Return the magnitudes of all changes that are not zero: weights, biases, activations."""
    run = _Run(problem, settings, seed=0, lanes=lanes)
    run.sweep(np.zeros((QUENCH_SWEEPS, 3)))
    changes = np.abs(run.flip_costs()[:, :MEASURED])  # the same whatever the number of lanes
    ends = np.cumsum([run.weights.shape[1], run.biases.shape[1]])
    return [kind[kind > 0] for kind in np.split(changes, ends)]


def _offset(problem: TrainingProblem) -> float:
    """What the kernels leave out of H: margins that all neurons have, the field's constant."""
    fan_in = problem.topology.fan_in[problem.topology.input_count :]
    least = 2 - (2 * ((fan_in + 1) // 2 + 1) - (fan_in + 1))  # of a just satisfied -1: 0 or 1
    margin = problem.margin_strength * problem.example_count * int(least.sum())
    return float(problem.field.weights.sum() + problem.field.biases.sum() - margin)


def _parameters(
    problem: TrainingProblem,
    count: int,
    generator: np.random.Generator,
    networks: Sequence[BinaryNetwork],
) -> tuple[BitMatrix, BitMatrix]:
    topology = problem.topology
    if not networks:
        shapes = (count, topology.weight_count), (count, topology.neuron_count)
        weights, biases = (generator.integers(0, 2, shape, dtype=np.int8) for shape in shapes)
        return weights, biases
    return bits_of_networks(networks, topology, count)


def _activations(problem: TrainingProblem, count: int, generator: np.random.Generator) -> BitMatrix:
    """Replicas x (examples x nodes): known bits as they are, free ones from a fair coin."""
    known, free = problem.variables.known_bits, problem.variables.structure.free_nodes
    bits = np.broadcast_to(known, (count, *known.shape)).copy()
    bits[:, :, free] = generator.integers(0, 2, (count, len(known), len(free)), dtype=np.int8)
    return bits.reshape(count, -1)


def _require_room(problem: TrainingProblem, replica_count: int) -> None:
    sites = problem.example_count * problem.topology.node_count
    require_memory(
        f"annealing {replica_count:,} replicas of a network of {problem.topology.node_count:,} "
        f"nodes on {problem.example_count:,} examples",
        replica_count * (4 * sites + 8 * problem.topology.weight_count),
    )
