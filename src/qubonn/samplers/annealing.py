"""SimulatedAnnealing: the paper's machine on a CPU.

Qubo -> Samples.  Paper, section "Experimental set-up": many replicas, one Metropolis proposal for
each variable in each step, geometric cooling.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

from numpy.typing import ArrayLike

from qubonn.checks import require_count
from qubonn.quadratic import Qubo, Samples
from qubonn.samplers.replicas import Replicas
from qubonn.samplers.temperatures import chosen_temperatures, geometric, require_temperatures
from qubonn.stopping import Report, Stop, Watch, require_seed


@dataclass(frozen=True, kw_only=True)
class Annealer(ABC):
    """Metropolis annealing of many replicas side by side; a subclass defines the cooling."""

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
        require_temperatures(self.hottest, self.coldest)

    def temperatures_for(self, qubo: Qubo) -> tuple[float, float]:
        """Return (hottest, coldest): as given, or computed from the QUBO."""
        return chosen_temperatures(qubo, self.hottest, self.coldest)

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

        `initial_states` (replicas x variables, bits) replace the random start. A target is
        checked every ten sweeps. A run that is stopped also returns the best state it has seen.
        """
        from qubonn.simd.threads import threads  # with Numba, which is slow to import

        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        with threads(self.thread_count):
            replicas = Replicas.start(qubo, self.replica_count, require_seed(seed), initial_states)
            ends = self.temperatures_for(qubo)
            try:
                stop = self._cool(replicas, *ends, watch, seed) or Stop.FINISHED
            except KeyboardInterrupt:
                stop = Stop.INTERRUPTED
        info = {"hottest": ends[0], "coldest": ends[1], "sweeps": replicas.sweep}
        info |= self._records(replicas) | {"seconds": watch.seconds}
        return Samples.of(qubo, replicas.states(stop), stop=stop, info=info)

    @abstractmethod
    def _cool(
        self, replicas: Replicas, hottest: float, coldest: float, watch: Watch, seed: int
    ) -> Stop | None:
        """Sweep from the hottest to the coldest temperature; return why the watch stopped it."""

    def _records(self, replicas: Replicas) -> dict[str, Any]:
        """Return further entries of ``samples.info``."""
        return {}


@dataclass(frozen=True, kw_only=True)
class SimulatedAnnealing(Annealer):
    """Metropolis annealing of many replicas side by side, on the CPU.

    A sweep proposes every variable once, in a fixed, shuffled order (count bits proposed one after
    the other do worse). Temperatures are in units of energy; those not given are computed from the
    QUBO. The result depends on the seed only, not on `thread_count` (default: all cores).

    >>> qubo = Qubo.of([0, 0, 1], [0, 1, 1], [-1, 2, -2], variable_count=2)
    >>> SimulatedAnnealing(replica_count=10, sweep_count=100).sample(qubo, seed=0).best_energy
    -2
    """

    def _cool(
        self, replicas: Replicas, hottest: float, coldest: float, watch: Watch, seed: int
    ) -> Stop | None:
        temperatures = geometric(hottest, coldest, self.sweep_count)
        return replicas.sweep_all(temperatures, self.sweep_count, watch)
