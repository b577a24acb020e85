"""H_decay: pull weights of several levels towards zero.

Variables -> Hamiltonian.  Not in the paper, whose weights are single arcs of size one.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qubonn.formulation.assignment import Assignment
from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian


@dataclass(frozen=True)
class DecayTerm:
    """H_decay, the sum of w**2 over the weights w of several levels.

    Such a weight is the sum of m spins 2*v - 1, so w**2 is m**2 - 4*(m - 1) * (sum of v) + 8 * (sum
    of v*v' over pairs). Single arcs, whose square is always 1, and thresholds have no part in it.
    """

    name: ClassVar[str] = "decay"
    sign: ClassVar[int] = +1
    strength: int | float

    def hamiltonian(self, variables: Variables) -> Hamiltonian:
        """Return the sum over weights of several levels."""
        starts, weights = variables.topology.levelled_weights
        sizes, total = np.diff(starts), Hamiltonian()
        for m in np.unique(sizes).tolist():
            places = starts[:-1][sizes == m, None] + np.arange(m)
            v, (first, second) = variables.weight_variables[weights[places]], np.triu_indices(m, 1)
            total += (
                Hamiltonian.constant(m**2 * len(v))
                + Hamiltonian.linear(v, -4 * (m - 1))
                + Hamiltonian.quadratic(v[:, first], v[:, second], 8)
            )
        return total

    def evaluate(self, variables: Variables, assignment: Assignment) -> int:
        """Return the sum of squares."""
        starts, weights = variables.topology.levelled_weights
        spins = assignment.network.weight_spins[weights].astype(np.int64)
        return int((np.add.reduceat(spins, starts[:-1]) ** 2).sum())
