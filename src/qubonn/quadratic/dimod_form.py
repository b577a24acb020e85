"""Qubo <-> dimod.BinaryQuadraticModel, by arrays.

Imports dimod, which takes a moment, when called.
"""

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np

from qubonn.quadratic.qubo import Qubo, whole_if_exact

if TYPE_CHECKING:
    import dimod


def to_dimod(qubo: Qubo) -> "dimod.BinaryQuadraticModel":
    """Return a float64 model with the labels as variables; whole numbers up to 2**53 stay exact."""
    import dimod

    return dimod.BinaryQuadraticModel.from_numpy_vectors(
        qubo.linear.astype(np.float64),
        (qubo.rows, qubo.columns, qubo.couplings.astype(np.float64)),
        float(qubo.offset),
        dimod.BINARY,
        variable_order=list(qubo.labels),
    )


def from_dimod(model: "dimod.BinaryQuadraticModel") -> Qubo:
    """Read a model of either vartype; coefficients become int64 if all are whole numbers."""
    import dimod

    binary = model.change_vartype(dimod.BINARY, inplace=False)
    labels: list[Hashable] = list(binary.variables)
    vectors = binary.to_numpy_vectors(variable_order=labels)
    rows, columns, values = vectors.quadratic
    terms = np.concatenate([vectors.linear_biases, values]).astype(np.float64)
    offset = float(vectors.offset)
    everyone = np.arange(len(labels))
    return Qubo.of(
        np.concatenate([everyone, rows]),
        np.concatenate([everyone, columns]),
        whole_if_exact(terms, offset),
        variable_count=len(labels),
        offset=offset,
        labels=labels,
    )
