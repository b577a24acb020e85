"""Hamiltonian: a sum of terms that reads like the equation it implements.

Terms -> Hamiltonian -> Qubo.  Squares of affine forms are opened into linear and quadratic terms
without a loop over forms: they come in a stack of G groups of K; within a group, some variables are
shared by all K forms, the others are each form's own.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.quadratic.qubo import Qubo

Part = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]  # rows, columns, values; they broadcast


@dataclass(frozen=True, eq=False, repr=False)
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
        return cls(((np.asarray(first), np.asarray(second), np.asarray(values)),))

    @classmethod
    def total(cls, terms: Sequence["Hamiltonian"]) -> "Hamiltonian":
        """Return the sum of all terms."""
        return cls(
            tuple(part for term in terms for part in term.parts), sum(term.offset for term in terms)
        )

    def __add__(self, other: "Hamiltonian") -> "Hamiltonian":
        return Hamiltonian(self.parts + other.parts, self.offset + other.offset)

    def __sub__(self, other: "Hamiltonian") -> "Hamiltonian":
        return self + (-1) * other

    def __rmul__(self, factor: float) -> "Hamiltonian":
        if factor == 0:
            return Hamiltonian()
        if factor == 1:
            return self
        parts = []
        for rows, columns, values in self.parts:
            is_whole = isinstance(factor, (int, np.integer)) and values.dtype.kind in "iu"
            wide = values.astype(np.int64 if is_whole else np.float64)  # int8 would wrap around
            parts.append((rows, columns, wide * factor))
        return Hamiltonian(tuple(parts), factor * self.offset)

    def to_qubo(self, variable_count: int, labels: Sequence[Hashable] | None = None) -> Qubo:
        """Merge the terms over `variable_count` bits."""
        shapes = [np.broadcast(*part).shape for part in self.parts]
        is_whole = float(self.offset).is_integer() and all(
            values.dtype.kind in "iu" or prod(shape) == 0
            for (_, _, values), shape in zip(self.parts, shapes, strict=True)
        )
        coefficient = np.int64 if is_whole else np.float64
        return Qubo.of(
            _joined([rows for rows, _, _ in self.parts], shapes, np.int32),
            _joined([columns for _, columns, _ in self.parts], shapes, np.int32),
            _joined([values for _, _, values in self.parts], shapes, coefficient),
            variable_count=variable_count,
            offset=self.offset,
            labels=labels,
        )

    def __repr__(self) -> str:
        count = sum(prod(np.broadcast(*part).shape) for part in self.parts)
        return f"Hamiltonian({count} terms, offset {self.offset:g})"


def _joined(parts: list[NDArray[Any]], shapes: list[tuple[int, ...]], dtype: type) -> NDArray[Any]:
    """Broadcast each part to its shape and put all into one vector; each is copied once."""
    ends = list(accumulate(map(prod, shapes), initial=0))
    joined: NDArray[Any] = np.empty(ends[-1], dtype=dtype)
    for part, shape, start, end in zip(parts, shapes, ends[:-1], ends[1:], strict=True):
        joined[start:end].reshape(shape)[...] = part
    return joined


@dataclass(frozen=True, eq=False)
class AffineForms:
    """``constants[g,k] + shared_values[g,k] . b[shared[g]] + own_values . b[own[g,k]]``.

    ``shared_values`` may have a first axis of length 1: all groups then use the same values.
    """

    constants: NDArray[np.int64]  # G x K
    shared: NDArray[np.int64]  # G x A variable numbers
    shared_values: NDArray[np.int8]  # G x K x A, or 1 x K x A
    own: NDArray[np.int64]  # G x K x B variable numbers
    own_values: NDArray[np.int64]  # B
    weights: NDArray[Any] | None = None  # K, factors of the squares; None: all 1


def sum_of_squares(forms: AffineForms) -> Hamiltonian:
    """Return the sum over all forms of the form squared, times its weight."""
    values = forms.shared_values[..., :, None] * (2 * forms.own_values)
    squares = forms.constants**2
    if forms.weights is not None:
        values, squares = values * forms.weights[:, None, None], squares * forms.weights
    shared_with_own = forms.shared[:, None, :, None], forms.own[:, :, None, :], values
    parts = (_shared_with_shared(forms), shared_with_own, _own_with_own(forms))
    return Hamiltonian(parts, squares.sum().item())


def _shared_with_shared(forms: AffineForms) -> Part:
    # float64 products of small integers are exact and run in BLAS
    values = forms.shared_values.astype(np.float64)
    weighed = values if forms.weights is None else values * forms.weights[:, None]
    gram = values.transpose(0, 2, 1) @ weighed
    alone = 2 * (forms.constants[:, None, :] @ weighed)[:, 0]
    first, second, factor, diagonal = _pairs(forms.shared.shape[1])
    terms = factor * gram[:, first, second]
    if len(terms) < len(alone):  # the groups share their values, not their constants
        terms = np.repeat(terms, len(alone), axis=0)
    terms[:, diagonal] += alone
    if forms.weights is None or forms.weights.dtype.kind == "i":
        terms = terms.astype(np.int64)
    return forms.shared[:, first], forms.shared[:, second], terms


def _own_with_own(forms: AffineForms) -> Part:
    values = forms.own_values
    first, second, factor, diagonal = _pairs(len(values))
    terms = np.empty((*forms.constants.shape, len(first)), dtype=np.int64)
    terms[...] = factor * values[first] * values[second]
    terms[..., diagonal] += 2 * forms.constants[..., None] * values
    if forms.weights is not None:
        terms = terms * forms.weights[:, None]
    return forms.own[..., first], forms.own[..., second], terms


@lru_cache(maxsize=16)
def _pairs(count: int) -> tuple[NDArray[np.int64], ...]:
    """Return both members of every pair i <= j, its factor in a square, and where i == j."""
    first, second = np.triu_indices(count)
    return first, second, np.where(first == second, 1, 2), np.flatnonzero(first == second)
