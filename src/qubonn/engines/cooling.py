"""What both annealing engines do alike: check factors, cool each kind of flip, start from networks.

Measured temperatures, factors -> a row of temperatures for each sweep; networks -> bits.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, require_memory
from qubonn.errors import RangeError, TopologyError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.topology import Topology

T = TypeVar("T")


def require_factors(**factors: float) -> None:
    """Refuse factors of temperatures that are not positive and finite."""
    for name, value in factors.items():
        if not (np.isfinite(value) and value > 0):
            raise RangeError(f"{name} must be a positive factor; got {value}")


def cooling(
    hottest: NDArray[np.float64],
    coldest: NDArray[np.float64],
    sweep_count: int,
    quench_sweeps: int,
) -> NDArray[np.float64]:
    """Cool each kind of flip (a column) by the same factor each sweep, then stay at zero."""
    byte_count = 3 * 8 * sweep_count * (len(hottest) + 1)  # the rows, and twice that on the way
    require_memory(f"cooling in {sweep_count:,} sweeps", byte_count, hint="use fewer sweeps")
    coldest = np.minimum(hottest, coldest)
    steps = np.arange(sweep_count) / max(sweep_count - 1, 1)
    rows = hottest * (coldest / hottest) ** steps[:, None]
    return np.concatenate([rows, np.zeros((quench_sweeps, len(hottest)))])


def with_and_without_rewards(
    problem: TrainingProblem, measure: Callable[[TrainingProblem], T]
) -> tuple[T, T]:
    """Return what is measured of the whole energy, and of violations alone; once if they agree."""
    whole = measure(problem)
    if not problem.margin_strength and problem.field.is_zero:
        return whole, whole
    return whole, measure(replace(problem, margin_strength=0, field=Field.zero(problem.topology)))


def bits_of_networks(
    networks: Sequence[BinaryNetwork], topology: Topology, count: int
) -> tuple[BitMatrix, BitMatrix]:
    """Return weights and biases of `count` replicas, the networks repeated as needed."""
    if any(network.topology != topology for network in networks):
        raise TopologyError("initial networks must have the problem's topology")
    which = np.arange(count) % len(networks)
    return (
        (np.stack([network.weight_spins for network in networks])[which] > 0).astype(np.int8),
        (np.stack([network.bias_spins for network in networks])[which] > 0).astype(np.int8),
    )
