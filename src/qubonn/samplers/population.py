"""PopulationAnnealing: replicas that do badly make room for copies of those that do well.

Qubo -> Samples.  Hukushima and Iba 2003. Every few sweeps the replicas are drawn anew, each as
often as its Boltzmann weight at the next temperature asks for; in between it is plain annealing. On
the paper's QUBOs the best of 1,000 replicas is far better than that of 1,000 independent anneals.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.quadratic import Qubo, Samples, Stop
from qubonn.samplers.annealing import SimulatedAnnealing
from qubonn.samplers.replicas import Replicas, random_states, require_room, threads
from qubonn.samplers.schedules import geometric
from qubonn.watching import Report, Watch, require_seed

__all__ = ["PopulationAnnealing"]


@dataclass(frozen=True, kw_only=True)
class PopulationAnnealing:
    """Anneal a population: every `sweeps_per_resampling` sweeps the fittest multiply.

    Settings and promises are those of `SimulatedAnnealing`. Replicas with a common ancestor are
    related, so the states are fewer and more alike than those of independent anneals:
    ``samples.info["families"]`` counts the ancestors that are left.

    >>> qubo = Qubo.of([0, 0, 1], [0, 1, 1], [-1, 2, -2], variable_count=2)
    >>> PopulationAnnealing(replica_count=10, sweep_count=100).sample(qubo, seed=0).best_energy
    -2
    """

    replica_count: int = 1000
    sweep_count: int = 1000
    hottest: float | None = None
    coldest: float | None = None
    sweeps_per_resampling: int = 10
    thread_count: int | None = None

    def __post_init__(self) -> None:
        require_count("sweeps_per_resampling", self.sweeps_per_resampling)
        self._as_annealing()  # checks the settings that both have

    def sample(
        self,
        qubo: Qubo,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Samples:
        """Anneal the population and return its last states, best first."""
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        require_room(qubo, self.replica_count)
        hottest, coldest = self._as_annealing().temperatures_for(qubo)
        states = random_states(qubo, self.replica_count, require_seed(seed))
        with threads(self.thread_count):
            population = _Population(Replicas(qubo, states, seed), seed)
            temperatures = geometric(hottest, coldest, self.sweep_count)
            stop = population.anneal(temperatures, self.sweeps_per_resampling, watch)
        info = {
            "hottest": hottest,
            "coldest": coldest,
            "sweeps": population.replicas.sweep,
            "families": len(np.unique(population.ancestor_of)),
            "seconds": watch.seconds,
        }
        return Samples.of(qubo, population.replicas.states(), stop=stop, info=info)

    def _as_annealing(self) -> SimulatedAnnealing:
        return SimulatedAnnealing(
            replica_count=self.replica_count,
            sweep_count=self.sweep_count,
            hottest=self.hottest,
            coldest=self.coldest,
            thread_count=self.thread_count,
        )


class _Population:
    """Replicas, the stream that redraws them, and which first replica each descends from."""

    def __init__(self, replicas: Replicas, seed: int) -> None:
        self.replicas = replicas
        self.generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
        self.ancestor_of = np.arange(replicas.count)

    def anneal(self, temperatures: NDArray[np.float64], step: int, watch: Watch) -> Stop:
        """Sweep `step` temperatures at a time and redraw the population in between."""
        total = len(temperatures)
        try:
            while self.replicas.sweep < total:
                start = self.replicas.sweep
                self.replicas.advance(temperatures[start : start + step])
                verdict = watch.verdict(self.replicas.sweep / total, self.replicas.best_energy)
                if verdict is not None and (verdict is Stop.TARGET or self.replicas.sweep < total):
                    return verdict
                if self.replicas.sweep < total:
                    now, after = start + step - 1, min(start + 2 * step, total) - 1
                    self._redraw(1 / temperatures[after] - 1 / temperatures[now])
        except KeyboardInterrupt:
            return Stop.INTERRUPTED
        return Stop.FINISHED

    def _redraw(self, colder_by: float) -> None:
        """Keep or copy replicas by weight exp(-colder_by * energy), with evenly spaced draws."""
        energies = self.replicas.energies
        weights = np.exp(-colder_by * (energies - energies.min()))
        ends = np.cumsum(weights)
        count = self.replicas.count
        draws = (self.generator.random() + np.arange(count)) * (ends[-1] / count)
        sources = np.minimum(np.searchsorted(ends, draws), count - 1)
        self.replicas.copy_from(sources)
        self.ancestor_of = self.ancestor_of[sources]
