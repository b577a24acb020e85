"""Squares of affine forms, opened into linear and quadratic terms without a loop over forms.

AffineForms -> Hamiltonian.  The forms come in a stack of G groups of K: within a group, some
variables are shared by all K forms, the others are each form's own.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from qubonn.quadratic.hamiltonian import Hamiltonian, Part


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


def sum_of_squares(forms: AffineForms) -> Hamiltonian:
    """Return the sum over all forms of the form squared."""
    parts = (_shared_with_shared(forms), _shared_with_own(forms), _own_with_own(forms))
    return Hamiltonian(parts, int((forms.constants**2).sum()))


def _shared_with_shared(forms: AffineForms) -> Part:
    # float64 products of small integers are exact and run in BLAS
    values = forms.shared_values.astype(np.float64)
    gram = values.transpose(0, 2, 1) @ values
    alone = 2 * (forms.constants[:, None, :] @ values)[:, 0]
    first, second, factor, diagonal = _pairs(forms.shared.shape[1])
    terms = factor * gram[:, first, second]
    if len(terms) < len(alone):  # the groups share their values, not their constants
        terms = np.repeat(terms, len(alone), axis=0)
    terms[:, diagonal] += alone
    return forms.shared[:, first], forms.shared[:, second], terms.astype(np.int64)


def _shared_with_own(forms: AffineForms) -> Part:
    values = forms.shared_values[..., :, None] * (2 * forms.own_values)
    return forms.shared[:, None, :, None], forms.own[:, :, None, :], values


def _own_with_own(forms: AffineForms) -> Part:
    values = forms.own_values
    first, second, factor, diagonal = _pairs(len(values))
    terms = np.empty((*forms.constants.shape, len(first)), dtype=np.int64)
    terms[...] = factor * values[first] * values[second]
    terms[..., diagonal] += 2 * forms.constants[..., None] * values
    return forms.own[..., first], forms.own[..., second], terms


@lru_cache(maxsize=16)
def _pairs(count: int) -> tuple[NDArray[np.int64], ...]:
    """Return both members of every pair i <= j, its factor in a square, and where i == j."""
    first, second = np.triu_indices(count)
    return first, second, np.where(first == second, 1, 2), np.flatnonzero(first == second)
