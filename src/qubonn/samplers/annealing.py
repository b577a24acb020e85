"""SimulatedAnnealing: the paper's machine on a CPU.

Qubo -> Samples.  Paper, section "Experimental set-up": many replicas, one Metropolis proposal for
each variable in each step, geometric cooling.
"""

import time
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, require_bits, require_count
from qubonn.errors import ShapeError
from qubonn.quadratic import Qubo, Samples, Stop
from qubonn.samplers.replicas import Replicas, random_states, require_room, threads
from qubonn.samplers.schedules import geometric, require_temperatures
from qubonn.samplers.temperatures import default_temperatures
from qubonn.watching import Report, Watch, require_seed

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
        require_room(qubo, self.replica_count)
        states = self._start(qubo, initial_states, require_seed(seed))
        hottest, coldest = self.temperatures_for(qubo)
        temperatures = geometric(hottest, coldest, self.sweep_count)
        with threads(self.thread_count):
            replicas = Replicas(qubo, states, seed)
            stop = _anneal(replicas, temperatures, watch)
        info = {
            "hottest": hottest,
            "coldest": coldest,
            "sweeps": replicas.sweep,
            "seconds": watch.seconds,
        }
        return Samples.of(qubo, replicas.states(), stop=stop, info=info)

    def _start(self, qubo: Qubo, initial_states: ArrayLike | None, seed: int) -> BitMatrix:
        shape = (self.replica_count, qubo.variable_count)
        if initial_states is None:
            return random_states(qubo, self.replica_count, seed)
        states = require_bits("initial_states", initial_states, count=qubo.variable_count)
        if states.shape != shape:
            raise ShapeError(
                f"initial_states must have {shape[0]} rows, one per replica; got {states.shape}"
            )
        return states


def _anneal(replicas: Replicas, temperatures: NDArray[np.float64], watch: Watch) -> Stop:
    """Sweep in slices of about SLICE_SECONDS and look at the watch in between."""
    slice_size, total = 1, len(temperatures)
    try:
        while replicas.sweep < total:
            start = time.perf_counter()
            replicas.advance(temperatures[replicas.sweep : replicas.sweep + slice_size])
            verdict = watch.verdict(replicas.sweep / total, replicas.best_energy)
            if verdict is not None and (verdict is Stop.TARGET or replicas.sweep < total):
                return verdict
            seconds = max(time.perf_counter() - start, 1e-6)
            fitting = slice_size * min(SLICE_SECONDS, watch.seconds_left) / seconds
            slice_size = int(min(max(fitting, 1), 8 * slice_size))
    except KeyboardInterrupt:
        return Stop.INTERRUPTED
    return Stop.FINISHED
