"""What every engine is: it solves a training problem without flattening it into a QUBO.

TrainingProblem -> Solutions.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix
from qubonn.errors import RangeError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Report, Stop


@dataclass(frozen=True, eq=False, repr=False)
class Solutions:
    """The replicas of an engine's run, lowest energy first.

    ``energies`` are the total H of each, or an engine's own energy where it says so.
    ``activation_spins`` (replicas x examples x nodes) say
    which activations an engine of cyclic networks settled on.
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
    """Anything that turns a training problem into networks; promises as those of a Sampler.

    An engine declares `supported_terms`, the names of the terms that its energy has, and refuses
    problems with other terms by `require_terms`.
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


# what the engines of this package have; "product" is implied where products are exact
PAPER_TERMS = frozenset({"activation", "product", "margin", "field", "output"})


def require_terms(problem: TrainingProblem, engine: object, supported: frozenset[str]) -> None:
    """Refuse a problem with a term that an engine does not support."""
    for term in problem.energy_terms:
        if term.strength and term.name not in supported:
            raise RangeError(
                f"{type(engine).__name__} supports the terms {', '.join(sorted(supported))}; the "
                f"problem also has {term.name!r}: use a sampler, for example SimulatedAnnealing"
            )
