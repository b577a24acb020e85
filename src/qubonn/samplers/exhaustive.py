"""Exhaustive: all states of a tiny QUBO, for proofs.

Qubo of few variables -> Samples, the lowest first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, require_count, require_memory
from qubonn.errors import RangeError
from qubonn.quadratic import Qubo, Samples
from qubonn.quadratic.ising import as_qubo
from qubonn.stopping import Report, Stop, Watch, require_seed

MOST_VARIABLES = 26
CHUNK_BITS = 16


@dataclass(frozen=True, kw_only=True)
class Exhaustive:
    """Evaluate every state and return the `state_count` lowest; ties in order of the states.

    States are ordered as binary numbers with variable 0 as the lowest bit. With
    ``samples.stop == Stop.FINISHED`` the first energy is proved to be the minimum.

    >>> qubo = Qubo.of([0, 0], [0, 1], [-1, 3], variable_count=2)
    >>> Exhaustive(state_count=2).sample(qubo).energies
    array([-1,  0])
    """

    state_count: int = 1

    def __post_init__(self) -> None:
        require_count("state_count", self.state_count)

    def sample(
        self,
        qubo: Qubo,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
    ) -> Samples:
        """Enumerate; `seed` changes nothing."""
        require_seed(seed)
        qubo = as_qubo(qubo)
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        if qubo.variable_count > MOST_VARIABLES:
            raise RangeError(
                f"Exhaustive accepts QUBOs of at most {MOST_VARIABLES} variables; got "
                f"{qubo.variable_count}: use SimulatedAnnealing"
            )
        require_memory(
            f"keeping {self.state_count:,} states",
            16 * min(self.state_count, 1 << qubo.variable_count) * max(qubo.variable_count, 1),
            hint="request fewer states",
        )
        states, stop = self._lowest(qubo, watch)
        return Samples.of(qubo, states, stop=stop, info={"seconds": watch.seconds})

    def _lowest(self, qubo: Qubo, watch: Watch) -> tuple[BitMatrix, Stop]:
        total = 1 << qubo.variable_count
        kept = np.zeros(0, dtype=np.int64)
        for start in range(0, total, 1 << CHUNK_BITS):
            numbers = np.arange(start, min(start + (1 << CHUNK_BITS), total))
            try:
                candidates = np.concatenate([kept, numbers])
                energies = qubo.energy(_bits(candidates, qubo.variable_count))
                order = np.argsort(energies, kind="stable")[: self.state_count]
                kept = candidates[order]
                verdict = watch.verdict(int(numbers[-1] + 1) / total, energies[order[0]])
            except KeyboardInterrupt:
                if not len(kept):
                    raise  # nothing to return yet
                verdict = Stop.INTERRUPTED
            if verdict is not None:
                return _bits(kept, qubo.variable_count), verdict
        return _bits(kept, qubo.variable_count), Stop.FINISHED


def _bits(numbers: NDArray[np.int64], variable_count: int) -> BitMatrix:
    return (numbers[:, None] >> np.arange(variable_count) & 1).astype(np.int8)
