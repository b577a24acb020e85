"""Fix some bits of a QUBO and solve for the rest.

Qubo, known bits -> smaller Qubo -> full assignments.  For user-made problems; our own training
problems substitute what is known while building, which is cheaper.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, BitVector, require_bits, require_indices
from qubonn.quadratic.hamiltonian import Hamiltonian
from qubonn.quadratic.ising import as_qubo
from qubonn.quadratic.qubo import Qubo


@dataclass(frozen=True, eq=False)
class FixedQubo:
    """A QUBO over the bits that are still free, and the way back to all of them."""

    qubo: Qubo
    free: NDArray[np.int64]  # original number of each free variable
    template: BitVector  # the known bits, 0 elsewhere

    def lift(self, bits: ArrayLike) -> BitMatrix:
        """Put the free bits back among the known ones; the energy stays the same."""
        free_bits = require_bits("bits", bits, count=len(self.free))
        full = np.broadcast_to(self.template, (*free_bits.shape[:-1], len(self.template))).copy()
        full[..., self.free] = free_bits
        return full


def fix(qubo: Qubo, known: Mapping[int, int]) -> FixedQubo:
    """Substitute the bits of `known` (variable number -> 0 or 1).

    >>> fixed = fix(Qubo.of([0, 0], [0, 1], [-3, 2], variable_count=2), {1: 1})
    >>> fixed.qubo.linear, fixed.lift([1])
    (array([-1]), array([1, 1], dtype=int8))
    """
    qubo = as_qubo(qubo)
    numbers = require_indices("known variables", list(known), below=qubo.variable_count)
    template = np.zeros(qubo.variable_count, dtype=np.int8)
    template[numbers] = require_bits("known bits", list(known.values()), count=len(numbers))
    is_free = np.ones(qubo.variable_count, dtype=bool)
    is_free[numbers] = False
    number, free = np.cumsum(is_free) - 1, np.flatnonzero(is_free)

    rows, columns, couplings = qubo.rows, qubo.columns, qubo.couplings
    both = is_free[rows] & is_free[columns]
    left = is_free[rows] & (template[columns] == 1)  # of a known bit that is 1
    right = is_free[columns] & (template[rows] == 1)
    terms = (
        Hamiltonian.linear(number[free], qubo.linear[free])
        + Hamiltonian.quadratic(number[rows[both]], number[columns[both]], couplings[both])
        + Hamiltonian.linear(number[rows[left]], couplings[left])
        + Hamiltonian.linear(number[columns[right]], couplings[right])
        + Hamiltonian.constant(qubo.energy(template))
    )
    labels = [qubo.labels[variable] for variable in free.tolist()]
    return FixedQubo(terms.to_qubo(len(free), labels), free, template)
