"""Replicas: many states of one QUBO, packed for the kernels, advanced sweep by sweep.

Qubo, states, seed -> states and energies after any number of sweeps.
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, require_memory
from qubonn.quadratic import Qubo

__all__ = ["Replicas", "random_states", "require_room", "threads"]


class Replicas:
    """States and random streams of all replicas. What one does depends on its own stream only."""

    def __init__(self, qubo: Qubo, states: BitMatrix, seed: int, lanes: int | None = None) -> None:
        import numba

        # Numba takes a moment, so these are imported when needed
        self.kernels: Any = import_module("qubonn.samplers._kernels")
        self.streams: Any = import_module("qubonn.lanes.streams")
        self.offset, self.sweep, self.count = qubo.offset, 0, len(states)
        self._lists = self.kernels.whole_lists(*qubo.neighbour_lists())
        self._lanes = lanes or self.streams.lane_count_for(len(states), numba.get_num_threads())
        self._packed = self.streams.pack_states(states, self._lanes)
        seeds = _replica_seeds(seed, len(states))
        self._generators = self.streams.start_generators(seeds, self._lanes)
        self._order = self.kernels.sweep_order(qubo.variable_count)
        self._energies = np.zeros((len(self._packed), self._lanes), dtype=np.int64)

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        """Sweep once at each temperature."""
        lists = self._lists
        self.kernels.anneal_all(
            self._packed,
            self._energies,
            self._generators,
            self._order,
            lists.linear,
            lists.starts,
            lists.columns,
            lists.couplings,
            temperatures / lists.unit,
        )
        self.sweep += len(temperatures)

    @property
    def energies(self) -> NDArray[np.float64]:
        """Energies after the last sweep; exact for whole coefficients."""
        energies = self._energies.ravel()[: self.count].astype(np.float64)
        return energies * float(self._lists.unit) + float(self.offset)

    @property
    def best_energy(self) -> float:
        """The lowest energy of any replica now."""
        return float(self.energies.min())

    def states(self) -> BitMatrix:
        """Replicas x variables, as bits."""
        return np.asarray(self.streams.unpack_states(self._packed, self.count))

    def changes(self) -> NDArray[np.float64]:
        """Magnitude of the energy change of each flip: variables x lanes of the first block."""
        lists = self._lists
        fields = np.empty((len(lists.linear), self._lanes), dtype=lists.couplings.dtype)
        self.kernels.set_fields(
            fields, self._packed[0], lists.linear, lists.starts, lists.columns, lists.couplings
        )
        return np.abs(fields.astype(np.float64)) * float(lists.unit)

    def copy_from(self, sources: NDArray[np.int64]) -> None:
        """Give replica r the state of replica ``sources[r]``; random streams stay."""
        self._packed = self.streams.pack_states(self.states()[sources], self._lanes)


def random_states(qubo: Qubo, replica_count: int, seed: int) -> BitMatrix:
    """Draw every bit of every replica from a fair coin."""
    generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    return generator.integers(0, 2, (replica_count, qubo.variable_count), dtype=np.int8)


def require_room(qubo: Qubo, replica_count: int) -> None:
    """Refuse more replicas than fit into memory."""
    require_memory(
        f"annealing {replica_count:,} replicas of {qubo.variable_count:,} variables",
        4 * replica_count * qubo.variable_count + 64 * qubo.coupling_count,
    )


def threads(thread_count: int | None) -> Any:
    """See `qubonn.lanes.threads`; imported when needed, as Numba takes a moment."""
    return import_module("qubonn.lanes.threads").threads(thread_count)


def _replica_seeds(seed: int, replica_count: int) -> NDArray[np.uint64]:
    """A seed for each replica; the first ones do not change when replicas are added."""
    words = np.random.SeedSequence(seed).spawn(2)[1].generate_state(replica_count, np.uint64)
    return words.astype(np.uint64)
