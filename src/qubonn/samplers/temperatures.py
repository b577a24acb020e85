"""Temperatures that suit a QUBO, from the energy changes that its local minima offer.

Qubo -> (hottest, coldest).
"""

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.quadratic import Qubo

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
    sizes = np.abs(_changes_at_local_minima(qubo))
    sizes = sizes[sizes > 1e-6 * sizes.max(initial=0.0)]
    if not sizes.size:
        return 1.0, 0.1  # a flat energy: any temperature will do
    hottest, small = float(np.median(sizes)), float(np.quantile(sizes, 0.05))
    return hottest, min(small / 7, hottest)


def _changes_at_local_minima(qubo: Qubo) -> NDArray[np.float64]:
    kernels: Any = import_module("qubonn.samplers._kernels")  # Numba takes a moment
    generator = np.random.default_rng(0)
    lists = kernels.whole_lists(*qubo.neighbour_lists())
    bits = generator.integers(0, 2, (REPLICAS, qubo.variable_count), dtype=np.int8)
    states = kernels.pack_states(bits, REPLICAS)
    seeds = generator.integers(0, 2**64, REPLICAS, dtype=np.uint64)
    streams = kernels.start_generators(seeds, REPLICAS)
    order = kernels.sweep_order(qubo.variable_count)
    energies = np.zeros((len(states), REPLICAS), dtype=np.int64)
    kernels.anneal_all(states, energies, streams, order, *lists[:4], np.zeros(SWEEPS))
    fields = np.empty((qubo.variable_count, REPLICAS), dtype=lists.couplings.dtype)
    kernels.set_fields(fields, states[0], *lists[:4])
    return fields.astype(np.float64) * lists.unit
