"""The interface of QUBO samplers, and greedy descent that improves the samples of any.

Qubo -> Samples.
"""

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from qubonn.checks import BitMatrix
from qubonn.quadratic import Qubo, Samples
from qubonn.quadratic.ising import as_qubo
from qubonn.stopping import Report


@runtime_checkable
class Sampler(Protocol):
    """Anything that turns a QUBO into samples.

    The same `seed` gives the same samples whatever the number of threads. After `time_limit`
    seconds, on Ctrl-C, or once a state at or below `target_energy` is found, the states so far are
    returned, and ``samples.stop`` says why. `report` is called regularly with a `Progress`; it may
    return True to stop the run.
    """

    def sample(
        self,
        qubo: Qubo,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Samples:
        """Return states of the QUBO, lowest energy first."""
        ...


@dataclass(frozen=True)
class Refined:
    """Let every state of another sampler descend to a local minimum; energies never rise."""

    sampler: Sampler

    def sample(self, qubo: Qubo, *, seed: int = 0, **options: Any) -> Samples:
        """Sample, then descend; the time limit is the inner sampler's."""
        qubo = as_qubo(qubo)
        found = self.sampler.sample(qubo, seed=seed, **options)
        return Samples.of(qubo, descend(qubo, found.bits), stop=found.stop, info=found.info)


def as_sampler(sampler: Any) -> Any:
    """Return one of dimod's samplers as ours, and anything else as it is."""
    if not hasattr(sampler, "sample_ising"):  # only dimod's samplers have it
        return sampler
    from qubonn.samplers.dimod import DimodSolver

    return DimodSolver(sampler)


def descend(qubo: Qubo, states: BitMatrix) -> BitMatrix:
    """Return the states after flipping the bit that lowers the energy most until none does."""
    from qubonn.samplers._kernels import descend_all
    from qubonn.simd.threads import share

    lowered = np.array(states, dtype=np.int8, order="C", ndmin=2)
    linear, *neighbours = qubo.neighbour_lists()
    lists = (linear.copy(), *neighbours)
    share(lambda first, end, thread: descend_all(lowered[first:end], *lists), len(lowered))
    return lowered
