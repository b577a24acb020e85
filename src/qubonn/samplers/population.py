"""PopulationAnnealing: copies of replicas of low energy replace those of high energy.

Qubo -> Samples.  Hukushima and Iba 2003. Every few sweeps the replicas are drawn anew, each as
often as its Boltzmann weight at the next temperature demands; in between it is plain annealing. On
the paper's QUBOs the best of 1,000 replicas is far better than that of 1,000 independent anneals.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.samplers.annealing import Annealer
from qubonn.samplers.replicas import Replicas
from qubonn.samplers.temperatures import Cooling
from qubonn.stopping import Stop, Watch


@dataclass(frozen=True, kw_only=True)
class PopulationAnnealing(Annealer):
    """Anneal a population that is resampled every `sweeps_per_resampling` sweeps.

    Settings and promises are those of `SimulatedAnnealing`. Replicas with a common ancestor are
    related, so the states are fewer and more alike than those of independent anneals:
    ``samples.info["families"]`` counts the ancestors that are left.

    >>> from qubonn.quadratic import Qubo
    >>> qubo = Qubo.of([0, 0, 1], [0, 1, 1], [-1, 2, -2], variable_count=2)
    >>> PopulationAnnealing(replica_count=10, sweep_count=100).sample(qubo, seed=0).best_energy
    -2
    """

    sweeps_per_resampling: int = 10

    def __post_init__(self) -> None:
        super().__post_init__()
        require_count("sweeps_per_resampling", self.sweeps_per_resampling)

    @property
    def sweeps_per_temperature(self) -> int:
        """Sweeps before the next temperature."""
        return self.sweeps_per_resampling

    def cool(self, replicas: Replicas, cooling: Cooling, watch: Watch, seed: int) -> Stop | None:
        """Redraw the population before each temperature but the first, then sweep there.

        The temperature is constant between two redraws: sweeping on from a hotter one would undo
        what the redraw has done.
        """
        generator = np.random.default_rng(np.random.SeedSequence(seed).spawn(3)[2])
        last = None
        for temperatures in cooling.slices(watch):
            cuts = np.flatnonzero(np.diff(temperatures)) + 1
            for sweeps in np.split(temperatures, cuts):
                if last is not None and sweeps[0] != last:
                    colder_by = 1 / sweeps[0] - 1 / last
                    replicas.copy_from(_drawn(replicas.energies, colder_by, generator))
                replicas.advance(sweeps)
                last = sweeps[0]
            if stop := watch.verdict(cooling.progress(watch), replicas.best_energy()):
                return stop
        return None

    def _records(self, replicas: Replicas) -> dict[str, Any]:
        return {"families": len(np.unique(replicas.ancestor_of))}


def _drawn(
    energies: NDArray[np.float64], colder_by: float, generator: np.random.Generator
) -> NDArray[np.int64]:
    """Return replicas drawn by weight exp(-colder_by * energy), with evenly spaced draws."""
    ends = np.cumsum(np.exp(-colder_by * (energies - energies.min())))
    draws = (generator.random() + np.arange(len(ends))) * (ends[-1] / len(ends))
    return np.asarray(np.minimum(np.searchsorted(ends, draws), len(ends) - 1))
