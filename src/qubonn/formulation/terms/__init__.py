"""The terms of the Hamiltonian, one file each; a Term is its strength, its QUBO and its evaluation.

A new term is a file here and an entry in `TrainingProblem.energy_terms`, or an object that the
caller gives as one of the problem's `extra_terms`.
"""

from typing import ClassVar, Protocol

from qubonn.formulation.assignment import Assignment
from qubonn.formulation.terms.activation import ActivationTerm, coupling_bound
from qubonn.formulation.terms.decay import DecayTerm
from qubonn.formulation.terms.field import Field, FieldTerm
from qubonn.formulation.terms.margin import MarginTerm
from qubonn.formulation.terms.output import OutputTerm
from qubonn.formulation.terms.product import ProductTerm
from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian

__all__ = [
    "ActivationTerm",
    "DecayTerm",
    "Field",
    "FieldTerm",
    "MarginTerm",
    "OutputTerm",
    "ProductTerm",
    "Term",
    "coupling_bound",
]


class Term(Protocol):
    """One term of the Hamiltonian: sign * strength * hamiltonian is its part of the energy."""

    name: ClassVar[str]  # in `problem.qubo(name)`, in messages and in files
    sign: ClassVar[int]  # +1 of a penalty, -1 of a reward

    @property
    def strength(self) -> int | float:
        """Factor of the term, at least 0; 0 leaves it out."""
        ...

    def hamiltonian(self, variables: Variables) -> Hamiltonian:
        """Return the term before its factor, over the variables of the problem."""
        ...

    def evaluate(self, variables: Variables, assignment: Assignment) -> int | float:
        """Return the value of the term before its factor, straight from its equation."""
        ...
