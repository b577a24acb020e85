"""What an assignment costs and which constraints it breaks, straight from the equations.

Assignment -> Terms, Violations.  No QUBO is built, so this also judges problems whose QUBO is huge.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix
from qubonn.formulation.assignment import Assignment, exact_products, product_errors, residuals
from qubonn.formulation.terms import Field
from qubonn.formulation.variables import Variables


@dataclass(frozen=True)
class Strengths:
    """The factors of the terms: alpha, gamma, and what a wrong output costs if outputs are free."""

    product: int | float
    margin: int | float
    output: int | float


@dataclass(frozen=True)
class Terms:
    """Each term of the Hamiltonian before its factor, and the total with the factors."""

    activation: int  # H1
    product: int  # H2
    margin: int  # H_som
    field: int | float  # H_ext
    output: int  # wrong outputs; 0 where outputs are fixed
    total: int | float


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


def evaluate_terms(
    variables: Variables,
    assignment: Assignment,
    strengths: Strengths,
    field: Field,
    wanted_bits: BitMatrix,
) -> Terms:
    """Evaluate H1, H2, H_som, H_ext, the wrong outputs and their weighted total."""
    activation = int((residuals(variables, assignment) ** 2).sum())
    product = _product_energy(variables, assignment)
    margin = _margin_energy(variables, assignment)
    network = assignment.network
    pull = (field.weights @ network.weight_spins + field.biases @ network.bias_spins).item()
    first_output = variables.topology.outputs.start
    found_bits = assignment.activation_spins[:, first_output:] > 0
    wrong = int((found_bits != wanted_bits).sum())
    total = activation + strengths.product * product - strengths.margin * margin - pull
    return Terms(activation, product, margin, pull, wrong, total + strengths.output * wrong)


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


def _product_energy(variables: Variables, assignment: Assignment) -> int:
    """v*y - 2*(v + y)*p + 3*p is 0 for p == v*y, 3 for p = 1 and v = y = 0, else 1."""
    if assignment.product_bits is None:
        return 0
    topology, arcs = variables.topology, variables.structure.product_arcs
    v = assignment.network.weight_spins[topology.weight_of[arcs]] > 0
    y = assignment.activation_spins[:, topology.source_of[arcs]] > 0
    p = assignment.product_bits > 0
    is_broken = p != exact_products(variables, assignment)
    return int(is_broken.sum() + 2 * (p & ~v & ~y).sum())


def _margin_energy(variables: Variables, assignment: Assignment) -> int:
    first = variables.topology.input_count
    spins = assignment.activation_spins[:, first:].astype(np.int64)
    written = (
        2**variables.structure.top_bit * (spins > 0) + assignment.counts - variables.structure.shift
    )
    return int((spins * (2 * written - variables.topology.fan_in[first:] - 1)).sum())
