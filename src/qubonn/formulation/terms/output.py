"""H_out: count wrong outputs, for problems whose outputs are free.

Variables, wanted bits -> Hamiltonian.  Paper, end of section "Training model": the loss that may
take the place of fixed outputs.
"""

import numpy as np

from qubonn.checks import BitMatrix
from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian


def output_penalty(variables: Variables, wanted_bits: BitMatrix) -> Hamiltonian:
    """Return the number of output activations that differ from the wanted ones."""
    y = variables.activation_variables[:, variables.topology.outputs.start :]
    wanted = wanted_bits.astype(np.int64)
    return Hamiltonian.linear(y, 1 - 2 * wanted) + Hamiltonian.constant(int(wanted.sum()))
