"""Ising: the same energy over spins s = 2 b - 1.

Qubo <-> Ising.  Note the sign: we minimise sum h s + sum J s s as dimod does; the paper's
introduction writes the same energy with both signs reversed.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import require_spin_matrix, require_spins
from qubonn.quadratic.qubo import Qubo


@dataclass(frozen=True, eq=False)
class Ising:
    """The energy ``offset + sum fields[i] s[i] + sum couplings[m] s[rows[m]] s[columns[m]]``.

    Whole QUBO coefficients become exact quarters, so nothing is lost in float64.

    >>> ising = Qubo.of([0, 0], [0, 1], [-3, 2], variable_count=2).to_ising()
    >>> ising.fields, ising.couplings, ising.offset
    (array([-1. ,  0.5]), array([0.5]), -1.0)
    >>> ising.energy([1, -1])
    -3.0
    """

    fields: NDArray[np.float64]
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    couplings: NDArray[np.float64]
    offset: float
    labels: Sequence[Hashable]

    @classmethod
    def of(cls, qubo: Qubo) -> "Ising":
        """Substitute b = (1 + s) / 2."""
        quarter = qubo.couplings / 4
        fields = qubo.linear / 2
        np.add.at(fields, qubo.rows, quarter)
        np.add.at(fields, qubo.columns, quarter)
        offset = float(qubo.offset + qubo.linear.sum() / 2 + quarter.sum())
        return cls(fields, qubo.rows, qubo.columns, quarter, offset, qubo.labels)

    def energy(self, spins: ArrayLike) -> Any:
        """Return the energy of one state, or of each row of a matrix of states."""
        count, of = len(self.fields), "variable"
        if np.ndim(spins) == 1:
            states = require_spins("spins", spins, count=count, of=of)
        else:
            states = require_spin_matrix("spins", spins, columns=count, of=of)
        pairs = states[..., self.rows] * states[..., self.columns]
        energies = states @ self.fields + pairs @ self.couplings + self.offset
        return energies.item() if states.ndim == 1 else energies

    def to_qubo(self) -> Qubo:
        """Return the same energy over bits b = (s + 1) / 2, whole numbers where it can be."""
        linear = 2 * self.fields
        np.subtract.at(linear, self.rows, 2 * self.couplings)
        np.subtract.at(linear, self.columns, 2 * self.couplings)
        offset = float(self.offset - self.fields.sum() + self.couplings.sum())
        return Qubo.of_parts(
            linear, self.rows, self.columns, 4 * self.couplings, offset, self.labels
        )
