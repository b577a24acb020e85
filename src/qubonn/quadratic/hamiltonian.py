"""Hamiltonian: a sum of terms that reads like the equation it implements.

Terms -> Hamiltonian -> Qubo.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.quadratic.qubo import Qubo

__all__ = ["Hamiltonian"]

Part = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # rows, columns, values: equal shapes


@dataclass(frozen=True, eq=False)
class Hamiltonian:
    """An unmerged sum of terms over numbered bits; cheap to add and to scale.

    >>> v, y, p = 0, 1, 2
    >>> penalty = (
    ...     Hamiltonian.quadratic(v, y, 1)
    ...     + Hamiltonian.quadratic(v, p, -2)
    ...     + Hamiltonian.quadratic(y, p, -2)
    ...     + Hamiltonian.linear(p, 3)
    ... )
    >>> penalty.to_qubo(3).energy([[1, 1, 1], [1, 1, 0], [0, 0, 1]])
    array([0, 1, 3])
    """

    parts: tuple[Part, ...] = ()
    offset: int | float = 0

    @classmethod
    def constant(cls, value: float) -> "Hamiltonian":
        """Return an energy that does not depend on any bit."""
        return cls((), value)

    @classmethod
    def linear(cls, variables: ArrayLike, values: ArrayLike) -> "Hamiltonian":
        """Return the sum of ``values * b[variables]``; arrays broadcast."""
        return cls.quadratic(variables, variables, values)

    @classmethod
    def quadratic(cls, first: ArrayLike, second: ArrayLike, values: ArrayLike) -> "Hamiltonian":
        """Return the sum of ``values * b[first] * b[second]``; arrays broadcast."""
        rows, columns, coefficients = np.broadcast_arrays(first, second, values)
        return cls(((rows, columns, coefficients),)) if rows.size else cls()

    @classmethod
    def total(cls, terms: Sequence["Hamiltonian"]) -> "Hamiltonian":
        """Return the sum of all terms."""
        return reduce(cls.__add__, terms, cls())

    def __add__(self, other: "Hamiltonian") -> "Hamiltonian":
        return Hamiltonian(self.parts + other.parts, self.offset + other.offset)

    def __sub__(self, other: "Hamiltonian") -> "Hamiltonian":
        return self + (-1) * other

    def __rmul__(self, factor: float) -> "Hamiltonian":
        if factor == 0:
            return Hamiltonian()
        if factor == 1:
            return self
        parts = tuple((rows, columns, factor * values) for rows, columns, values in self.parts)
        return Hamiltonian(parts, factor * self.offset)

    def to_qubo(self, variable_count: int, labels: Sequence[Hashable] | None = None) -> Qubo:
        """Merge the terms over `variable_count` bits."""
        columns = ([], [], []) if not self.parts else zip(*self.parts, strict=True)
        row, column, value = (_joined(list(part)) for part in columns)
        return Qubo.of(
            row, column, value, variable_count=variable_count, offset=self.offset, labels=labels
        )


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    if not parts:
        return np.zeros(0, dtype=np.int64)
    return np.concatenate([part.ravel() for part in parts])
