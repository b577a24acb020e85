"""Replicas: many states of one QUBO, packed for the kernels, advanced sweep by sweep.

Qubo, states, seed -> states and energies after any number of sweeps.
"""

from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, BitVector, require_bits, require_memory
from qubonn.errors import ShapeError
from qubonn.quadratic import Qubo, Samples
from qubonn.samplers.opencl import OpenClSweeps
from qubonn.stopping import Stop

DENSE = 0.4  # the share of nonzero couplings from which rows of a full matrix are faster
MOST_DENSE = 20_000  # variables of a full matrix
SMALL = 1_000_000  # proposals; threads would take longer to start than to make them


class PackedQubo:
    """A QUBO as the kernels read it; made once for all replicas of a run."""

    def __init__(self, qubo: Qubo, thread_count: int | None = None, *, device: str = "cpu") -> None:
        import numba

        # Numba is slow to import, so these are imported when needed
        self.kernels: Any = import_module("qubonn.samplers._kernels")
        self.streams: Any = import_module("qubonn.simd.streams")
        self.share: Any = import_module("qubonn.simd.threads").share
        self.qubo = qubo
        most = int(numba.config.NUMBA_NUM_THREADS)
        self.thread_count = min(thread_count or most, most)
        given = qubo.neighbour_lists()
        self.lists = lists = self.kernels.whole_lists(*given)
        self.order = self.kernels.sweep_order(qubo.variable_count)
        self.unit = float(lists.unit)
        self.gpu: OpenClSweeps | None = None
        if device == "gpu":
            self.gpu = OpenClSweeps(lists, self.order, self.streams)
        # whether the kernels' integers hold all coefficients, so that their energies are exact
        pairs = ((lists.linear, given[0]), (lists.couplings, given[3]))
        self.is_exact = all(np.array_equal(ours * self.unit, theirs) for ours, theirs in pairs)

    @cached_property
    def matrix(self) -> NDArray[Any] | None:
        """The couplings as a full matrix if most of them are not zero."""
        count = self.qubo.variable_count
        if not 64 <= count <= MOST_DENSE or 2 * self.qubo.coupling_count < DENSE * count**2:
            return None
        return np.asarray(import_module("qubonn.samplers._dense_kernels").full_matrix(self.lists))

    def lanes_for(self, replica_count: int) -> int:
        """The fastest number of replicas in a block."""
        if self.matrix is not None:
            return 16
        return int(self.streams.lane_count_for(replica_count, self.thread_count))


class Replicas:
    """States and random streams of all replicas; each replica depends on its own stream only."""

    def __init__(
        self, problem: PackedQubo | Qubo, states: BitMatrix, seed: int, lanes: int | None = None
    ) -> None:
        self.problem = problem if isinstance(problem, PackedQubo) else PackedQubo(problem)
        self.sweep, self.count = 0, len(states)
        self.ancestor_of = np.arange(len(states))
        self._lanes = lanes or self.problem.lanes_for(len(states))
        streams = self.problem.streams
        self._packed = streams.pack_states(states, self._lanes)
        # the first seeds do not change when replicas are added
        words = np.random.SeedSequence(seed).spawn(2)[1].generate_state(len(states), np.uint64)
        self._generators = streams.start_generators(words.astype(np.uint64), self._lanes)
        self._energies = np.zeros((len(self._packed), self._lanes), dtype=np.int64)
        self._fields: Any = None  # of dense QUBOs, kept between calls
        self._lowest, self._lowest_state = float("inf"), np.zeros(0, dtype=np.int8)

    @classmethod
    def start(
        cls,
        problem: PackedQubo | Qubo,
        replica_count: int,
        seed: int,
        initial_states: ArrayLike | None = None,
    ) -> "Replicas":
        """Start from the given states, checked, or from random ones; refuse too many replicas."""
        qubo = problem.qubo if isinstance(problem, PackedQubo) else problem
        require_memory(
            f"annealing {replica_count:,} replicas of {qubo.variable_count:,} variables",
            8 * replica_count * qubo.variable_count + 64 * qubo.coupling_count,
            hint="use fewer replicas",
        )
        if initial_states is None:
            return cls(problem, random_states(qubo, replica_count, seed), seed)
        states = require_bits("initial_states", initial_states, count=qubo.variable_count)
        if states.shape != (replica_count, qubo.variable_count):
            raise ShapeError(
                f"initial_states must have {replica_count} rows, one per replica; "
                f"got {states.shape}"
            )
        return cls(problem, states, seed)

    def advance(self, temperatures: NDArray[np.float64]) -> None:
        """Sweep once at each temperature."""
        problem, temperatures = self.problem, temperatures / self.problem.unit
        self.sweep += len(temperatures)
        if problem.gpu is not None:
            blocks = (self._packed, self._energies, self._generators)
            return problem.gpu.advance(*blocks, temperatures)
        work = len(temperatures) * self._packed.size * self._lanes
        is_dense = problem.matrix is not None and self._lanes == 16
        run = self._sweep_dense if is_dense else self._sweep
        if is_dense and self._fields is None:
            self._set_dense_fields()
        problem.share(
            lambda first, end, thread: run(slice(first, end), temperatures),
            len(self._packed),
            1 if work < SMALL else problem.thread_count,
        )
        return None

    def _sweep(self, blocks: slice, temperatures: NDArray[np.float64]) -> None:
        parts = (self._packed[blocks], self._energies[blocks], self._generators[blocks])
        problem = self.problem
        problem.kernels.anneal_all(*parts, problem.order, problem.lists, temperatures)

    def _sweep_dense(self, blocks: slice, temperatures: NDArray[np.float64]) -> None:
        problem, parts = self.problem, (self._packed, self._energies, self._generators)
        rest = (problem.order, problem.lists.linear, problem.matrix, temperatures)
        run = import_module("qubonn.samplers._dense_kernels").anneal_dense
        run(*(part[blocks] for part in (self._fields, *parts)), *rest)

    def _set_dense_fields(self) -> None:
        problem, kernels = self.problem, import_module("qubonn.samplers._dense_kernels")
        matrix: Any = problem.matrix
        self._fields = np.zeros((*self._energies.shape, matrix.shape[1]), matrix.dtype)
        kernels.set_dense_fields(self._fields, self._packed, problem.lists.linear, matrix)

    def descend(self) -> None:
        """Flip what lowers the energy, variable by variable, until no flip does."""
        temperatures = np.full(2, self.problem.kernels.DESCENT * self.problem.unit)
        before, sweep = None, self.sweep
        while before is None or not np.array_equal(before, self._energies):
            before = self._energies.copy()
            self.advance(temperatures)
        self.sweep = sweep

    @property
    def energies(self) -> NDArray[np.float64]:
        """Energies after the last sweep; exact for whole coefficients, else rounded."""
        energies = self._energies.ravel()[: self.count].astype(np.float64)
        return energies * self.problem.unit + float(self.problem.qubo.offset)

    def best_energy(self) -> float:
        """The lowest energy of any replica now, exact; its state is kept if it is the best yet."""
        replica = int(np.argmin(self.energies))
        energy = float(self.energies[replica])
        if not self.problem.is_exact:
            energy = float(self.problem.qubo.energy(self.state(replica)))
        if energy < self._lowest:
            self._lowest, self._lowest_state = energy, self.state(replica)
        return energy

    def state(self, replica: int) -> BitVector:
        """One replica as bits."""
        block, lane = divmod(replica, self._lanes)
        packed = self._packed[block]
        return np.asarray(packed >> packed.dtype.type(lane) & packed.dtype.type(1), dtype=np.int8)

    def states(self) -> BitMatrix:
        """Replicas x variables, as bits."""
        return np.asarray(self.problem.streams.unpack_states(self._packed, self.count))

    def samples(self, row_count: int, stop: Stop, info: dict[str, Any]) -> Samples:
        """Return the states, best first, in `row_count` rows; if there are fewer, some repeatedly.

        After an early stop the best state that was seen replaces the worst.
        """
        states, energies = self.states(), self.exact_energies()
        if stop is not Stop.FINISHED and self._lowest < float(energies.min()):
            worst = int(np.argmax(energies))
            states[worst] = self._lowest_state
            energies[worst] = self.problem.qubo.energy(states[worst])
        order = np.resize(np.argsort(energies, kind="stable"), row_count)
        order = order[np.argsort(energies[order], kind="stable")]
        return Samples(states[order], energies[order], stop, info)

    def exact_energies(self) -> NDArray[Any]:
        """Energies after the last sweep, of the QUBO's own kind of number."""
        qubo = self.problem.qubo
        if not self.problem.is_exact:
            return np.asarray(qubo.energy(self.states()))
        kind = qubo.linear.dtype.type
        energies = self._energies.ravel()[: self.count].astype(kind) * kind(self.problem.unit)
        return np.asarray(energies + qubo.offset)

    def replace(self, replica: int, state: BitVector) -> None:
        """Give a replica another state; its energy is known after the next sweep."""
        block, lane = divmod(replica, self._lanes)
        kind = self._packed.dtype.type
        others = self._packed[block] & ~(kind(1) << kind(lane))
        self._packed[block] = others | (state.astype(kind) << kind(lane))
        self._fields = None

    def changes(self) -> NDArray[np.float64]:
        """Magnitude of the energy change of each flip: variables x lanes of the first block."""
        lists = self.problem.lists
        fields = np.empty((len(lists.linear), self._lanes), dtype=lists.couplings.dtype)
        self.problem.kernels.set_fields(fields, self._packed[0], lists)
        return np.abs(fields.astype(np.float64)) * self.problem.unit

    def copy_from(self, sources: NDArray[np.int64]) -> None:
        """Give replica r the state of replica ``sources[r]``; random streams stay."""
        self._packed = self.problem.streams.pack_states(self.states()[sources], self._lanes)
        self.ancestor_of, self._fields = self.ancestor_of[sources], None


def random_states(qubo: Qubo, replica_count: int, seed: int) -> BitMatrix:
    """Draw every bit of every replica from a fair coin."""
    generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
    return generator.integers(0, 2, (replica_count, qubo.variable_count), dtype=np.int8)
