"""SimulatedAnnealing: the paper's machine on a CPU.

Qubo -> Samples.  Paper, section "Experimental set-up": many replicas, one Metropolis proposal for
each variable in each step, geometric cooling.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import ArrayLike

from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.quadratic import Qubo, Samples
from qubonn.quadratic.ising import as_qubo
from qubonn.samplers.replicas import PackedQubo, Replicas
from qubonn.samplers.running import Run
from qubonn.samplers.temperatures import Cooling, chosen_temperatures, require_temperatures
from qubonn.stopping import Report, Stop, Watch, require_seed


@dataclass(frozen=True, kw_only=True)
class Annealer(ABC):
    """Metropolis annealing of many replicas side by side; a subclass defines the cooling."""

    replica_count: int | None = None
    sweep_count: int | None = None
    hottest: float | None = None
    coldest: float | None = None
    polish: bool | None = None
    thread_count: int | None = None
    device: Literal["cpu", "gpu"] = "cpu"

    def __post_init__(self) -> None:
        if self.device not in ("cpu", "gpu"):
            raise RangeError(f"device must be 'cpu' or 'gpu'; got {self.device!r}")
        for name in ("replica_count", "sweep_count", "thread_count"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        require_temperatures(self.hottest, self.coldest)

    def temperatures_for(self, qubo: Qubo) -> tuple[float, float]:
        """Return (hottest, coldest): as given, or computed from the QUBO."""
        return chosen_temperatures(qubo, self.hottest, self.coldest)

    @property
    def is_polishing(self) -> bool:
        """Whether samples are improved by descent and tabu search."""
        if self.polish is not None:
            return self.polish
        return self.hottest is None or self.coldest is None

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

        `initial_states` (replicas x variables, bits) replace the random start. A target is checked
        every ten sweeps. A run that is stopped early returns the best state it has seen in place of
        the worst. With a time limit the schedule fits the time that is left after the first sweeps,
        so the samples depend on the clock, unless all `sweep_count` sweeps fit.
        """
        qubo = as_qubo(qubo)
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        problem = PackedQubo(qubo, self.thread_count, device=self.device)
        run = Run(self, problem, watch, require_seed(seed), initial_states)
        stop = run.sample() or Stop.FINISHED
        info: dict[str, Any] = {"hottest": run.ends[0], "coldest": run.ends[1]}
        info["sweeps"] = run.replicas.sweep
        if problem.gpu is not None:
            info["device"] = problem.gpu.name
        info |= {"replicas": run.replicas.count} | self._records(run.replicas)
        found = run.replicas.samples(run.row_count, stop, info)
        return Samples(found.bits, found.energies, stop, info | {"seconds": watch.seconds})

    @property
    def sweeps_per_temperature(self) -> int:
        """Sweeps before the next temperature."""
        return 1

    @abstractmethod
    def cool(self, replicas: Replicas, cooling: Cooling, watch: Watch, seed: int) -> Stop | None:
        """Sweep from the hottest to the coldest temperature; return why the watch stopped it."""

    def _records(self, replicas: Replicas) -> dict[str, Any]:
        """Return further entries of ``samples.info``."""
        return {}


@dataclass(frozen=True, kw_only=True)
class SimulatedAnnealing(Annealer):
    """Metropolis annealing of many replicas side by side, on the CPU or a GPU.

    A sweep proposes every variable once, in a fixed, shuffled order (count bits proposed one after
    the other do worse). Without a time limit there are 1,000 replicas and 1,000 sweeps if no other
    number is given; with one, as many as suit the time. Temperatures are in units of energy; those
    not given are computed from the QUBO. Unless both are given, or if `polish` is True, the samples
    are then improved: each descends to a local minimum, and the best are the start of tabu
    searches, which find their way where penalties hide small costs. The result depends on the seed
    only, not on `thread_count` (default: all cores); with a time limit on the clock too. With
    ``device="gpu"`` the sweeps run on a device of OpenCL, with the same samples, bit for bit.

    >>> qubo = Qubo.of([0, 0, 1], [0, 1, 1], [-1, 2, -2], variable_count=2)
    >>> SimulatedAnnealing(replica_count=10, sweep_count=100).sample(qubo, seed=0).best_energy
    -2
    """

    def cool(self, replicas: Replicas, cooling: Cooling, watch: Watch, seed: int) -> Stop | None:
        """Sweep once at each temperature."""
        for temperatures in cooling.slices(watch):
            replicas.advance(temperatures)
            if stop := watch.verdict(cooling.progress(watch), replicas.best_energy()):
                return stop
        return None
