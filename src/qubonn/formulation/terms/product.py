"""H2: tie every product bit to its weight bit and activation bit.

Variables -> Hamiltonian.  Paper, section "Training model", eq:penalty.
"""

from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian


def product_penalty(variables: Variables) -> Hamiltonian:
    """Return H2, zero exactly when each product bit equals weight bit times activation bit.

    Per arc and example, v*y - 2*v*p - 2*y*p + 3*p is 0 if p == v*y, else 1 or 3;
    so H2 is at least the number of broken products.
    """
    arcs, topology = variables.structure.product_arcs, variables.topology
    v = variables.weight_variables[topology.weight_of[arcs]]
    y = variables.activation_variables[:, topology.source_of[arcs]]
    p = variables.product_variables
    return (
        Hamiltonian.quadratic(v, y, 1)
        + Hamiltonian.quadratic(v, p, -2)
        + Hamiltonian.quadratic(y, p, -2)
        + Hamiltonian.linear(p, 3)
    )
