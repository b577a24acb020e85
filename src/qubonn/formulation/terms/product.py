"""H2: tie every product bit to its weight bit and activation bit.

Variables -> Hamiltonian.  Paper, section "Training model", eq:penalty.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qubonn.formulation.assignment import Assignment
from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian


@dataclass(frozen=True)
class ProductTerm:
    """H2, zero exactly when each product bit equals weight bit times activation bit.

    Per arc and example, v*y - 2*v*p - 2*y*p + 3*p is 0 if p == v*y, 3 if p = 1 and v = y = 0, else
    1; so H2 is at least the number of broken products.
    """

    name: ClassVar[str] = "product"
    sign: ClassVar[int] = +1
    strength: int | float  # alpha

    def hamiltonian(self, variables: Variables) -> Hamiltonian:
        """Return the sum over product arcs and examples."""
        arcs, topology = variables.structure.product_arcs, variables.topology
        v = variables.weight_variables[topology.weight_of[arcs]]
        y = variables.activation_variables[:, topology.source_of[arcs]]
        p, scale = variables.product_variables, variables.scale
        return (
            Hamiltonian.quadratic(v, y, scale)
            + Hamiltonian.quadratic(v, p, -2 * scale)
            + Hamiltonian.quadratic(y, p, -2 * scale)
            + Hamiltonian.linear(p, 3 * scale)
        )

    def evaluate(self, variables: Variables, assignment: Assignment) -> int | float:
        """Return the same sum for the bits of an assignment."""
        if assignment.product_bits is None:
            return 0
        topology, arcs = variables.topology, variables.structure.product_arcs
        v = np.int8(assignment.network.weight_spins[topology.weight_of[arcs]] > 0)
        y = np.int8(assignment.activation_spins[:, topology.source_of[arcs]] > 0)
        p = assignment.product_bits
        return variables.total(v * y - 2 * v * p - 2 * y * p + 3 * p)
