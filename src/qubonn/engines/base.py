"""The interface of engines, and the parts that both annealing engines share.

TrainingProblem -> Solutions, without flattening it into a QUBO. Measured temperatures -> a row of
temperatures for each sweep; networks -> bits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, SpinMatrix, require_memory
from qubonn.errors import RangeError, TopologyError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Report, Stop
from qubonn.topology import Topology

Sizes = list[NDArray[np.float64]]  # of energy changes, by kind of flip


@dataclass(frozen=True, eq=False, repr=False)
class Solutions:
    """The replicas of an engine's run, lowest energy first.

    ``energies`` are the total H of each, unless the engine documents an energy of its own.
    ``activation_spins`` (replicas x examples x nodes) are part of the solution if a network has
    cycles.
    """

    problem: TrainingProblem
    weight_spins: SpinMatrix  # replicas x weights
    bias_spins: SpinMatrix  # replicas x neurons
    activation_spins: NDArray[np.int8]
    energies: NDArray[np.float64]
    stop: Stop = Stop.FINISHED
    info: Mapping[str, Any] = field(default_factory=dict)

    def network(self, replica: int = 0) -> BinaryNetwork:
        """Return the network of one replica."""
        return BinaryNetwork(
            self.problem.topology, self.weight_spins[replica], self.bias_spins[replica]
        )

    def __len__(self) -> int:
        return len(self.weight_spins)

    def __repr__(self) -> str:
        return (
            f"Solutions({len(self)} networks, best energy {self.energies[0]:g}, {self.stop.name})"
        )


@runtime_checkable
class Engine(Protocol):
    """Anything that turns a training problem into networks; the contract is that of a Sampler.

    An engine declares `supported_terms`, the names of the terms of its energy, and refuses problems
    with other terms by `require_terms`.
    """

    def solve(
        self,
        problem: TrainingProblem,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Solutions:
        """Return networks, lowest energy first."""
        ...


# of the engines of this package; "product" is implied where products are exact
PAPER_TERMS = frozenset({"activation", "product", "margin", "field", "output"})


def require_terms(problem: TrainingProblem, engine: Any) -> None:
    """Refuse a problem with a term that an engine does not support."""
    supported = engine.supported_terms
    for term in problem.energy_terms:
        if term.strength and term.name not in supported:
            raise RangeError(
                f"{type(engine).__name__} supports the terms {', '.join(sorted(supported))}; the "
                f"problem also has {term.name!r}: use a sampler, for example SimulatedAnnealing"
            )


# ---- both annealing engines --------------------------------------------------------------------


def require_room(problem: TrainingProblem, replica_count: int, byte_count: int) -> None:
    """Refuse a run that needs more bytes than there is memory."""
    require_memory(
        f"annealing {replica_count:,} replicas of a network of {problem.topology.node_count:,} "
        f"nodes on {problem.example_count:,} examples",
        byte_count,
    )


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
    byte_count = 3 * 8 * sweep_count * (len(hottest) + 1)  # the rows, and temporary arrays
    require_memory(f"cooling in {sweep_count:,} sweeps", byte_count, hint="use fewer sweeps")
    coldest = np.minimum(hottest, coldest)
    steps = np.arange(sweep_count) / max(sweep_count - 1, 1)
    rows = hottest * (coldest / hottest) ** steps[:, None]
    return np.concatenate([rows, np.zeros((quench_sweeps, len(hottest)))])


def temperatures_from(
    problem: TrainingProblem, sizes_of: Callable[[TrainingProblem], Sizes], *, if_empty: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return hottest and coldest temperature of each kind of flip, from sizes of energy changes.

    The hottest is the median size without margins, field and decay; the coldest is a seventh of the
    5 % quantile of the sizes with them. A kind without nonzero changes has the size `if_empty`; NaN
    means the largest of the other kinds, or 1.
    """
    whole = violations = sizes_of(problem)
    if problem.margin_strength or problem.decay_strength or not problem.field.is_zero:
        no_field = Field.zero(problem.topology)
        bare = replace(problem, margin_strength=0, decay_strength=0, field=no_field)
        violations = sizes_of(bare)
    hottest = _quantile(violations, 0.5, if_empty)
    return hottest, np.minimum(_quantile(whole, 0.05, if_empty) / 7, hottest)


def _quantile(sizes: Sizes, quantile: float, if_empty: float) -> NDArray[np.float64]:
    found = np.array([np.quantile(size, quantile) if size.size else if_empty for size in sizes])
    return np.where(np.isnan(found), np.nanmax(found) if not np.isnan(found).all() else 1.0, found)


def with_known_bits(topology: Topology, bits: BitMatrix) -> BitMatrix:
    """Return weights, then biases, of replicas, with the known ones set."""
    known = topology.known_parameters
    return np.where(known, known > 0, bits).astype(np.int8)


def bits_of_networks(
    networks: Sequence[BinaryNetwork], topology: Topology, count: int
) -> BitMatrix:
    """Return weights, then biases, of `count` replicas, the networks repeated as needed."""
    if any(network.topology != topology for network in networks):
        raise TopologyError("initial networks must have the problem's topology")
    spins = np.stack([np.append(one.weight_spins, one.bias_spins) for one in networks])
    return (spins[np.arange(count) % len(networks)] > 0).astype(np.int8)
