"""Temperatures that suit a QUBO, from the energy changes that its local minima offer.

Qubo -> (hottest, coldest).
"""

import numpy as np
from numpy.typing import NDArray

from qubonn.quadratic import Qubo
from qubonn.samplers.replicas import Replicas, random_states

__all__ = ["default_temperatures"]

REPLICAS, SWEEPS = 64, 20  # quenched to look at; much less work than an anneal


def default_temperatures(qubo: Qubo) -> tuple[float, float]:
    """Return temperatures between which annealing this QUBO pays.

    Some random states are quenched (sweeps at temperature zero). The hottest temperature is the
    median size of the nonzero energy changes that single flips offer there: a typical barrier is
    then crossed in one try out of three. The coldest is a seventh of the smallest sizes (5 %
    quantile): such a step up is taken once in a thousand tries, so the end is frozen.

    >>> default_temperatures(Qubo.of([0, 1], [0, 1], [-7, 14], variable_count=2))
    (10.5, 1.0)
    """
    sizes = _changes_at_local_minima(qubo)
    sizes = sizes[sizes > 1e-6 * sizes.max(initial=0.0)]
    if not sizes.size:
        return 1.0, 0.1  # a flat energy: any temperature will do
    hottest, small = float(np.median(sizes)), float(np.quantile(sizes, 0.05))
    return hottest, min(small / 7, hottest)


def _changes_at_local_minima(qubo: Qubo) -> NDArray[np.float64]:
    # one full block, so that the number of threads does not matter
    replicas = Replicas(qubo, random_states(qubo, REPLICAS, seed=0), seed=0, lanes=REPLICAS)
    replicas.advance(np.zeros(SWEEPS))
    return replicas.changes()
