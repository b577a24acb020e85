"""Replicas: many states of one QUBO, packed for the kernels, advanced sweep by sweep.

Qubo, states, seed -> states and energies after any number of sweeps.
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, require_bits, require_memory
from qubonn.errors import ShapeError
from qubonn.quadratic import Qubo
from qubonn.stopping import Stop, Watch


class Replicas:
    """States and random streams of all replicas; each replica depends on its own stream only."""

    def __init__(self, qubo: Qubo, states: BitMatrix, seed: int, lanes: int | None = None) -> None:
        import numba

        # Numba is slow to import, so these are imported when needed
        self.kernels: Any = import_module("qubonn.samplers._kernels")
        self.streams: Any = import_module("qubonn.simd.streams")
        self._qubo, self.sweep, self.count = qubo, 0, len(states)
        self.ancestor_of = np.arange(len(states))
        self._lists = self.kernels.whole_lists(*qubo.neighbour_lists())
        self._lanes = lanes or self.streams.lane_count_for(len(states), numba.get_num_threads())
        self._packed = self.streams.pack_states(states, self._lanes)
        # the first seeds do not change when replicas are added
        words = np.random.SeedSequence(seed).spawn(2)[1].generate_state(len(states), np.uint64)
        self._generators = self.streams.start_generators(words.astype(np.uint64), self._lanes)
        self._order = self.kernels.sweep_order(qubo.variable_count)
        self._energies = np.zeros((len(self._packed), self._lanes), dtype=np.int64)
        self._is_rounded = not qubo.is_exact or self._lists.unit != 1
        self._lowest, self._lowest_state = float("inf"), None  # type: float, BitMatrix | None

    @classmethod
    def start(
        cls, qubo: Qubo, replica_count: int, seed: int, initial_states: ArrayLike | None
    ) -> "Replicas":
        """Start from the given states, checked, or from random ones; refuse too many replicas."""
        require_memory(
            f"annealing {replica_count:,} replicas of {qubo.variable_count:,} variables",
            8 * replica_count * qubo.variable_count + 64 * qubo.coupling_count,
            hint="use fewer replicas",
        )
        if initial_states is None:
            return cls(qubo, random_states(qubo, replica_count, seed), seed)
        states = require_bits("initial_states", initial_states, count=qubo.variable_count)
        if states.shape != (replica_count, qubo.variable_count):
            raise ShapeError(
                f"initial_states must have {replica_count} rows, one per replica; "
                f"got {states.shape}"
            )
        return cls(qubo, states, seed)

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        """Sweep once at each temperature."""
        blocks = (self._packed, self._energies, self._generators)
        self.kernels.anneal_all(*blocks, self._order, self._lists, temperatures / self._lists.unit)
        self.sweep += len(temperatures)

    @property
    def energies(self) -> NDArray[np.float64]:
        """Energies after the last sweep; exact for whole coefficients, else rounded."""
        energies = self._energies.ravel()[: self.count].astype(np.float64)
        return energies * float(self._lists.unit) + float(self._qubo.offset)

    def best_energy(self) -> float:
        """The lowest energy of any replica now, exact; its state is kept if it is the best yet."""
        replica = int(np.argmin(self.energies))
        energy = float(self.energies[replica])
        if self._is_rounded:
            energy = float(self._qubo.energy(self.states()[replica]))
        if energy < self._lowest:
            self._lowest = energy
            self._lowest_state = self.states()[replica].copy()
        return energy

    def sweep_all(self, temperatures: NDArray[np.float64], total: int, watch: Watch) -> Stop | None:
        """Sweep at each of the next temperatures of a run of `total` sweeps, in slices."""
        first = self.sweep
        for start, end in watch.slices(range(len(temperatures))):
            self.advance(temperatures[start:end])
            if stop := watch.verdict((first + end) / total, self.best_energy()):
                return stop
        return None

    def states(self, stop: Stop = Stop.FINISHED) -> BitMatrix:
        """Replicas x variables, as bits; after an early stop with the best state that was seen."""
        states = np.asarray(self.streams.unpack_states(self._packed, self.count))
        if stop is Stop.FINISHED or self._lowest_state is None:
            return states
        if float(self._qubo.energy(self._lowest_state)) >= float(self.energies.min()):
            return states
        return np.concatenate([states, self._lowest_state[None]])

    def changes(self) -> NDArray[np.float64]:
        """Magnitude of the energy change of each flip: variables x lanes of the first block."""
        lists = self._lists
        fields = np.empty((len(lists.linear), self._lanes), dtype=lists.couplings.dtype)
        self.kernels.set_fields(fields, self._packed[0], lists)
        return np.abs(fields.astype(np.float64)) * float(lists.unit)

    def copy_from(self, sources: NDArray[np.int64]) -> None:
        """Give replica r the state of replica ``sources[r]``; random streams stay."""
        self._packed = self.streams.pack_states(self.states()[sources], self._lanes)
        self.ancestor_of = self.ancestor_of[sources]


def random_states(qubo: Qubo, replica_count: int, seed: int) -> BitMatrix:
    """Draw every bit of every replica from a fair coin."""
    generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    return generator.integers(0, 2, (replica_count, qubo.variable_count), dtype=np.int8)
