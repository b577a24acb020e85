"""Samples: the states that a solver returned for a QUBO, best first.

States, QUBO -> Samples with exact energies.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, BitVector, require_bits, require_count
from qubonn.quadratic.qubo import Qubo
from qubonn.quadratic.sample_files import load_states
from qubonn.stopping import Stop


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """States of a QUBO with their energies, lowest energy first.

    ``bits`` has a row per state and a column per variable; ``info`` holds the solver's own
    records (temperatures, sweeps, seconds ...).

    >>> qubo = Qubo.of([0, 1], [0, 1], [-1, 2], variable_count=2)
    >>> samples = Samples.of(qubo, [[0, 0], [1, 0], [1, 1], [1, 0]])
    >>> samples.energies
    array([-1, -1,  0,  1])
    >>> samples.distinct().bits.tolist()
    [[1, 0], [0, 0], [1, 1]]
    """

    bits: BitMatrix
    energies: NDArray[Any]
    stop: Stop = Stop.FINISHED
    info: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        qubo: Qubo,
        states: ArrayLike,
        *,
        stop: Stop = Stop.FINISHED,
        info: Mapping[str, Any] | None = None,
    ) -> "Samples":
        """Sort states by their energy, computed anew from the QUBO; equal ones keep their order."""
        bits = require_bits("states", np.atleast_2d(np.asarray(states)), count=qubo.variable_count)
        energies = qubo.energy(bits)
        order = np.argsort(energies, kind="stable")
        return cls(np.ascontiguousarray(bits[order]), energies[order], stop, dict(info or {}))

    @classmethod
    def load(cls, path: str | os.PathLike[str], qubo: Qubo) -> "Samples":
        """Read what another solver found for `qubo`: .csv, .json, .npz or .npy.

        See `qubonn.quadratic.sample_files` for the accepted contents.
        """
        return cls.of(qubo, load_states(path, qubo))

    @property
    def best(self) -> BitVector:
        """The state of lowest energy."""
        return np.asarray(self.bits[0])

    @property
    def best_energy(self) -> Any:
        """The lowest energy, as a plain number."""
        return self.energies[0].item()

    def __len__(self) -> int:
        return len(self.bits)

    def distinct(self) -> "Samples":
        """Keep each state once, best first."""
        packed = np.packbits(self.bits, axis=1)
        _, first = np.unique(packed, axis=0, return_index=True)
        return self._rows(np.sort(first))

    def lowest(self, count: int) -> "Samples":
        """Keep the `count` best states, or all where there are fewer."""
        return self._rows(np.arange(min(require_count("count", count), len(self))))

    def _rows(self, rows: NDArray[np.int64]) -> "Samples":
        return Samples(self.bits[rows], self.energies[rows], self.stop, self.info)

    def __repr__(self) -> str:
        best = self.best_energy if len(self) else "none"
        return f"Samples({len(self)} states, best energy {best}, {self.stop.name})"
