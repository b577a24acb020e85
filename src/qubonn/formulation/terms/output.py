"""H_out: count wrong outputs, for problems whose outputs are free.

Variables, wanted bits -> Hamiltonian.  Paper, end of section "Training model": the loss that may
take the place of fixed outputs.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qubonn.checks import SpinMatrix
from qubonn.formulation.assignment import Assignment
from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian


@dataclass(frozen=True, eq=False)
class OutputTerm:
    """The number of output activations that differ from the wanted ones."""

    name: ClassVar[str] = "output"
    sign: ClassVar[int] = +1
    strength: int | float
    wanted_spins: SpinMatrix  # examples x outputs

    def hamiltonian(self, variables: Variables) -> Hamiltonian:
        """Return the sum over outputs and examples."""
        y = variables.activation_variables[:, variables.topology.outputs.start :]
        wanted = (self.wanted_spins > 0).astype(np.int64)
        wrong = Hamiltonian.linear(y, variables.scale * (1 - 2 * wanted))
        return wrong + Hamiltonian.constant(variables.total(wanted))

    def evaluate(self, variables: Variables, assignment: Assignment) -> int | float:
        """Count the wrong outputs."""
        first_output = variables.topology.outputs.start
        return variables.total(assignment.activation_spins[:, first_output:] != self.wanted_spins)
