"""H_ext: pull weights and biases towards given signs.

Variables, Field -> Hamiltonian.  Paper, section "A dropout algorithm", eq:augmented-training.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinVector, require_real_vector
from qubonn.errors import ShapeError
from qubonn.formulation.assignment import Assignment
from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian
from qubonn.topology import Topology


@dataclass(frozen=True, eq=False, repr=False)
class Field:
    """Strengths c^w by weight number and c^b by neuron; positive favours +1.

    Where arcs share a weight, its strength is the sum of the paper's strengths of those arcs.
    """

    weights: NDArray[Any]
    biases: NDArray[Any]

    def __post_init__(self) -> None:
        for name in ("weights", "biases"):
            array = require_real_vector(f"field {name}", getattr(self, name))
            is_whole = (array == np.rint(array)).all() and (np.abs(array) < 2**53).all()
            # integers where possible, so that energies stay exact
            checked = array.astype(np.int64 if is_whole else np.float64)
            object.__setattr__(self, name, checked)

    @classmethod
    def zero(cls, topology: Topology) -> "Field":
        """Return a field that favours nothing."""
        return cls(np.zeros(topology.weight_count), np.zeros(topology.neuron_count))

    @property
    def is_zero(self) -> bool:
        """Whether nothing is favoured."""
        return not (self.weights.any() or self.biases.any())

    def require_fit(self, topology: Topology) -> None:
        """Raise unless there is one strength per weight and per neuron."""
        wanted = (topology.weight_count, topology.neuron_count)
        if (len(self.weights), len(self.biases)) != wanted:
            raise ShapeError(
                f"field must have {wanted[0]} weights and {wanted[1]} biases; "
                f"got {len(self.weights)} and {len(self.biases)}"
            )

    def __repr__(self) -> str:
        sizes = np.abs(np.append(self.weights, self.biases))
        strengths = "all 0" if self.is_zero else f"up to {sizes.max():g}"
        return f"Field({len(self.weights)} weights, {len(self.biases)} biases, {strengths})"


@dataclass(frozen=True, eq=False)
class FieldTerm:
    """H_ext, the sum of strength times spin."""

    name: ClassVar[str] = "field"
    sign: ClassVar[int] = -1
    field: Field

    @property
    def strength(self) -> int:
        """1 unless nothing is favoured: strengths are in the field."""
        return 0 if self.field.is_zero else 1

    def hamiltonian(self, variables: Variables) -> Hamiltonian:
        """Return the sum over weights and biases."""
        topology, field = variables.topology, self.field
        weights = _pull(variables.weight_variables, field.weights, topology.known_weights)
        return weights + _pull(variables.bias_variables, field.biases, topology.known_biases)

    def evaluate(self, variables: Variables, assignment: Assignment) -> int | float:
        """Return the sum over weights and biases."""
        network, field = assignment.network, self.field
        pull = field.weights @ network.weight_spins + field.biases @ network.bias_spins
        return pull.item()


def _pull(bits: IntVector, strengths: NDArray[Any], known: SpinVector) -> Hamiltonian:
    free = known == 0
    constant = (strengths @ known - strengths[free].sum()).item()
    return Hamiltonian.linear(bits[free], 2 * strengths[free]) + Hamiltonian.constant(constant)
