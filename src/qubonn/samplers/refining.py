"""Post-processing by wrapping: greedy descent from every state that another sampler returns.

Sampler -> Sampler; every option of `sample` is passed on.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from qubonn.checks import BitMatrix
from qubonn.quadratic import Qubo, Samples
from qubonn.samplers.base import Sampler


def descend(qubo: Qubo, states: BitMatrix) -> BitMatrix:
    """Return the states after flipping the bit that lowers the energy most until none does."""
    from qubonn.samplers._descent_kernels import descend_all

    lowered = np.array(states, dtype=np.int8, order="C", ndmin=2)
    linear, *neighbours = qubo.neighbour_lists()
    descend_all(lowered, linear.copy(), *neighbours)
    return lowered


@dataclass(frozen=True)
class Refined:
    """Let every state of another sampler descend to a local minimum; energies never rise."""

    sampler: Sampler

    def sample(self, qubo: Qubo, *, seed: int = 0, **options: Any) -> Samples:
        """Sample, then descend; the time limit is the inner sampler's."""
        found = self.sampler.sample(qubo, seed=seed, **options)
        return Samples.of(qubo, descend(qubo, found.bits), stop=found.stop, info=found.info)
