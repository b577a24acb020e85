"""What an assignment costs and which constraints it breaks, straight from the equations.

Assignment -> Terms, Violations.  No QUBO is built, so this also works where the QUBO is huge.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from dataclasses import field as made_by
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.formulation.assignment import Assignment, product_errors, residuals
from qubonn.formulation.terms import Term
from qubonn.formulation.variables import Variables

NAMED = ("activation", "product", "margin", "field", "output", "decay")  # not in `others`


@dataclass(frozen=True)
class Terms:
    """Each term of the Hamiltonian before its factor, and the total with the factors."""

    activation: int | float  # H1
    product: int | float  # H2
    margin: int | float  # H_som
    field: int | float  # H_ext
    output: int | float  # wrong outputs; 0 where outputs are fixed
    total: int | float
    others: Mapping[str, int | float] = made_by(default_factory=dict)  # extra terms, by name
    decay: int = 0  # of weights of several levels


@dataclass(frozen=True)
class Violation:
    """One failed constraint: kind "activation" at a node, or kind "product" at an arc.

    `residual` is left minus right side of the constraint.
    """

    kind: str
    example: int
    place: int
    residual: int

    def __str__(self) -> str:
        where = "node" if self.kind == "activation" else "arc"
        return (
            f"{self.kind} constraint of example {self.example} at {where} {self.place}: "
            f"off by {self.residual:+d}"
        )


@dataclass(frozen=True, eq=False)
class Violations:
    """All failed constraints of an assignment; iterate to get them one by one.

    Rows of `activation` are (example, node, residual), rows of `product` (example, arc, residual).
    """

    activation: NDArray[np.int64]
    product: NDArray[np.int64]
    constraint_count: int

    @property
    def count(self) -> int:
        """Number of failed constraints, n^USC in the paper."""
        return len(self.activation) + len(self.product)

    @property
    def fraction(self) -> float:
        """Failed constraints as a fraction of all."""
        return self.count / self.constraint_count if self.constraint_count else 0.0

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Violation]:
        for kind, rows in (("activation", self.activation), ("product", self.product)):
            for example, place, residual in rows.tolist():
                yield Violation(kind, example, place, residual)

    def __repr__(self) -> str:
        return (
            f"Violations({len(self.activation)} activation + {len(self.product)} product "
            f"of {self.constraint_count} constraints)"
        )


def evaluate_terms(terms: Iterable[Term], variables: Variables, assignment: Assignment) -> Terms:
    """Evaluate each term and their weighted total."""
    values: dict[str, Any] = {}
    total: int | float = 0
    for term in terms:
        values[term.name] = term.evaluate(variables, assignment)
        total += term.sign * term.strength * values[term.name]
    named = {name: values.pop(name, 0) for name in NAMED}
    return Terms(**named, total=total, others=values)


def find_violations(variables: Variables, assignment: Assignment) -> Violations:
    """List the activation and product constraints that fail."""
    gaps = residuals(variables, assignment)
    errors = product_errors(variables, assignment)
    nodes = np.arange(variables.topology.input_count, variables.topology.node_count)
    return Violations(
        _failed(gaps, nodes),
        _failed(errors, variables.structure.product_arcs),
        gaps.size + errors.size,
    )


def _failed(
    residual: NDArray[np.int64] | NDArray[np.int8], places: NDArray[np.int64]
) -> NDArray[np.int64]:
    example, column = np.nonzero(residual)
    return np.stack([example, places[column], residual[example, column].astype(np.int64)], axis=1)
