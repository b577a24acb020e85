"""SimulatedAnnealing: the paper's machine on a CPU.

Qubo -> Samples.  Paper, section "Experimental set-up": many replicas, one Metropolis proposal for
each variable in each step, geometric cooling.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, require_bits, require_count, require_memory
from qubonn.errors import ShapeError
from qubonn.quadratic import Qubo, Samples, Stop
from qubonn.samplers.base import Report, Watch, require_seed
from qubonn.samplers.schedules import geometric, require_temperatures
from qubonn.samplers.temperatures import default_temperatures

__all__ = ["SimulatedAnnealing"]

SLICE_SECONDS = 0.05  # between two looks at the clock; a slice has at least one sweep


@dataclass(frozen=True, kw_only=True)
class SimulatedAnnealing:
    """Metropolis annealing of many replicas side by side, on the CPU.

    A sweep proposes every variable once, in a fixed, shuffled order (count bits proposed one after
    the other do worse). Temperatures are in units of energy; those not given are computed from the
    QUBO. The result depends on the seed only, not on `thread_count`
    (default: all cores).

    >>> qubo = Qubo.of([0, 0, 1], [0, 1, 1], [-1, 2, -2], variable_count=2)
    >>> SimulatedAnnealing(replica_count=10, sweep_count=100).sample(qubo, seed=0).best_energy
    -2
    """

    replica_count: int = 1000
    sweep_count: int = 1000
    hottest: float | None = None
    coldest: float | None = None
    thread_count: int | None = None

    def __post_init__(self) -> None:
        require_count("replica_count", self.replica_count)
        require_count("sweep_count", self.sweep_count)
        if self.thread_count is not None:
            require_count("thread_count", self.thread_count)
        # each alone, then against each other where both are given
        hottest = self.coldest if self.hottest is None else self.hottest
        coldest = self.hottest if self.coldest is None else self.coldest
        if hottest is not None and coldest is not None:
            require_temperatures(hottest, coldest)

    def temperatures_for(self, qubo: Qubo) -> tuple[float, float]:
        """Return (hottest, coldest): as given, or computed from the QUBO."""
        hottest, coldest = default_temperatures(qubo)
        if self.hottest is not None:
            hottest = self.hottest
            coldest = min(coldest, hottest)
        if self.coldest is not None:
            coldest = self.coldest
            hottest = max(coldest, hottest)
        return hottest, coldest

    def sample(
        self,
        qubo: Qubo,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
        initial_states: ArrayLike | None = None,
    ) -> Samples:
        """Anneal all replicas and return their last states, best first.

        `initial_states` (replicas x variables, bits) replace the random start. With a target the
        run stops as soon as a slice of sweeps ends with a replica there.
        """
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        self._require_memory(qubo)
        states = self._start(qubo, initial_states, require_seed(seed))
        hottest, coldest = self.temperatures_for(qubo)
        temperatures = geometric(hottest, coldest, self.sweep_count)
        with _threads(self.thread_count) as thread_count:
            run = _Run(qubo, states, _replica_seeds(seed, self.replica_count), thread_count)
            stop = run.anneal(temperatures, watch)
        info = {
            "hottest": hottest,
            "coldest": coldest,
            "sweeps": run.sweep,
            "seconds": watch.seconds,
        }
        return Samples.of(qubo, run.states(), stop=stop, info=info)

    def _start(self, qubo: Qubo, initial_states: ArrayLike | None, seed: int) -> BitMatrix:
        shape = (self.replica_count, qubo.variable_count)
        if initial_states is None:
            generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(2)[0])
            return generator.integers(0, 2, size=shape, dtype=np.int8)
        states = require_bits("initial_states", initial_states, count=qubo.variable_count)
        if states.shape != shape:
            raise ShapeError(
                f"initial_states must have {shape[0]} rows, one per replica; got {states.shape}"
            )
        return states

    def _require_memory(self, qubo: Qubo) -> None:
        states = 4 * self.replica_count * qubo.variable_count
        require_memory(
            f"annealing {self.replica_count:,} replicas of {qubo.variable_count:,} variables",
            states + 64 * qubo.coupling_count,
        )


class _Run:
    """All replicas of one anneal, packed for the kernels."""

    def __init__(
        self, qubo: Qubo, states: BitMatrix, seeds: NDArray[np.uint64], thread_count: int
    ) -> None:
        _kernels: Any = import_module("qubonn.samplers._kernels")  # Numba takes a moment
        self.kernels, self.offset, self.sweep = _kernels, qubo.offset, 0
        self.replica_count = len(states)
        self.lists = _kernels.whole_lists(*qubo.neighbour_lists())
        lane_count = _kernels.lane_count_for(len(states), thread_count)
        self.packed = _kernels.pack_states(states, lane_count)
        self.generators = _kernels.start_generators(seeds, lane_count)
        self.order = _kernels.sweep_order(qubo.variable_count)
        self.energies = np.zeros((len(self.packed), lane_count), dtype=np.int64)

    def anneal(self, temperatures: NDArray[np.float64], watch: Watch) -> Stop:
        """Sweep in slices of about SLICE_SECONDS and look at the watch in between."""
        slice_size = 1
        try:
            while self.sweep < len(temperatures):
                start = time.perf_counter()
                self._advance(temperatures[self.sweep : self.sweep + slice_size])
                verdict = watch.verdict(self.sweep / len(temperatures), self.best_energy)
                if verdict is not None and (
                    verdict is Stop.TARGET or self.sweep < len(temperatures)
                ):
                    return verdict
                seconds = max(time.perf_counter() - start, 1e-6)
                fitting = slice_size * min(SLICE_SECONDS, watch.seconds_left) / seconds
                slice_size = int(min(max(fitting, 1), 8 * slice_size))
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        return Stop.FINISHED

    @property
    def best_energy(self) -> float:
        """The lowest energy of any replica now; exact for whole coefficients."""
        energies = self.energies.ravel()[: self.replica_count]
        return float(energies.min() * self.lists.unit + self.offset)

    def states(self) -> BitMatrix:
        """Replicas x variables, as bits."""
        return np.asarray(self.kernels.unpack_states(self.packed, self.replica_count))

    def _advance(self, temperatures: NDArray[np.float64]) -> None:
        lists = self.lists
        self.kernels.anneal_all(
            self.packed,
            self.energies,
            self.generators,
            self.order,
            lists.linear,
            lists.starts,
            lists.columns,
            lists.couplings,
            temperatures / lists.unit,
        )
        self.sweep += len(temperatures)


def _replica_seeds(seed: int, replica_count: int) -> NDArray[np.uint64]:
    """A seed for each replica; the first ones do not change when replicas are added."""
    words = np.random.SeedSequence(seed).spawn(2)[1].generate_state(replica_count, np.uint64)
    return words.astype(np.uint64)


@contextmanager
def _threads(thread_count: int | None) -> Iterator[int]:
    """Let Numba use so many threads for a while, at most as many as there are cores."""
    import numba

    before = numba.get_num_threads()
    most = numba.config.NUMBA_NUM_THREADS
    numba.set_num_threads(min(thread_count or most, most))
    try:
        yield numba.get_num_threads()
    finally:
        numba.set_num_threads(before)
