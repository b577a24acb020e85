"""PopulationAnnealing: replicas that do badly make room for copies of those that do well.

Qubo -> Samples.  Hukushima and Iba 2003. Every few sweeps the replicas are drawn anew, each as
often as its Boltzmann weight at the next temperature demands; in between it is plain annealing. On
the paper's QUBOs the best of 1,000 replicas is far better than that of 1,000 independent anneals.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import require_count
from qubonn.quadratic import Qubo, Samples
from qubonn.samplers.replicas import Replicas, threads
from qubonn.samplers.temperatures import chosen_temperatures, geometric, require_given_temperatures
from qubonn.stopping import Report, Stop, Watch, require_seed


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
        for name in ("replica_count", "sweep_count", "sweeps_per_resampling"):
            require_count(name, getattr(self, name))
        if self.thread_count is not None:
            require_count("thread_count", self.thread_count)
        require_given_temperatures(self.hottest, self.coldest)

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
        """Anneal the population and return its last states, best first."""
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        with threads(self.thread_count):
            replicas = Replicas.start(qubo, self.replica_count, require_seed(seed), initial_states)
            population = _Population(replicas, seed)
            hottest, coldest = chosen_temperatures(qubo, self.hottest, self.coldest)
            step = self.sweeps_per_resampling
            temperatures = geometric(hottest, coldest, -(-self.sweep_count // step))
            stop = population.anneal(temperatures, step, self.sweep_count, watch)
        info = {
            "hottest": hottest,
            "coldest": coldest,
            "sweeps": replicas.sweep,
            "families": len(np.unique(population.ancestor_of)),
            "seconds": watch.seconds,
        }
        return Samples.of(qubo, replicas.states(stop), stop=stop, info=info)


class _Population:
    """Replicas, the stream that redraws them, and which first replica each descends from."""

    def __init__(self, replicas: Replicas, seed: int) -> None:
        self.replicas = replicas
        self.generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
        self.ancestor_of = np.arange(replicas.count)

    def anneal(
        self, temperatures: NDArray[np.float64], step: int, total: int, watch: Watch
    ) -> Stop:
        """Sweep `step` times at each temperature and redraw the population in between.

        The temperature is constant between two redraws: sweeping on from a hotter one would undo
        what the redraw has done.
        """
        try:
            for number, temperature in enumerate(temperatures):
                count = min(step, total - self.replicas.sweep)
                sweeps = np.full(count, temperature)
                verdict = self.replicas.sweep_all(sweeps, total, watch)
                if verdict is not None:
                    return verdict
                if number + 1 < len(temperatures):
                    self._redraw(1 / temperatures[number + 1] - 1 / temperature)
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
