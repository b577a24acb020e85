"""H1: every activation is the sign of its pre-activation.

Variables -> Hamiltonian.  Paper, section "Training model", eq:training-activation-constraint2.

For neuron j and example k the square of
    d_j + sum over arcs (2*psi - v - y + 1) - 2**n_j * y_j - chi_j + shift_j.
An arc whose source is known has psi = v*y, so it adds (2*y - 1) * v + 1 - y: a spin times v. One
whose weight is known adds (2*v - 1) * y + 1 - v in the same way, and one of both a constant.
Neurons of one shape (equally many arcs of each kind, bias and own activation known or not) are
built together, as a stack of affine forms in which the parameters are shared by all examples.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from qubonn.formulation.assignment import Assignment, residuals
from qubonn.formulation.structure import Alike
from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian
from qubonn.quadratic.hamiltonian import AffineForms, sum_of_squares


@dataclass(frozen=True)
class ActivationTerm:
    """H1, zero exactly when every activation has the sign of its pre-activation."""

    name: ClassVar[str] = "activation"
    sign: ClassVar[int] = +1
    strength: int = 1

    def hamiltonian(self, variables: Variables) -> Hamiltonian:
        """Return the sum of squares over neurons and examples."""
        return Hamiltonian.total(
            [sum_of_squares(_affine_forms(variables, alike)) for alike in variables.structure.alike]
        )

    def evaluate(self, variables: Variables, assignment: Assignment) -> int | float:
        """Return the sum of squared residuals."""
        return variables.total(residuals(variables, assignment) ** 2)


def coupling_bound(variables: Variables) -> int:
    """Return a cheap bound on the number of terms of H1 and H2 before they are merged."""
    total = 0
    for alike in variables.structure.alike:
        shared = alike.parameters.shape[1]
        own = 2 * alike.free_count + len(alike.signs) + len(alike.count_weights)
        own += not alike.is_known
        in_each = shared * own + own * (own + 1) // 2
        in_all = shared * (shared + 1) // 2 + variables.example_count * in_each
        total += len(alike.neurons) * in_all
    return total + 4 * variables.example_count * len(variables.structure.product_arcs)


def _affine_forms(variables: Variables, alike: Alike) -> AffineForms:
    known_bits = variables.known_bits[:, alike.known_sources].transpose(1, 0, 2)  # G x K x arcs
    own_nodes = variables.topology.input_count + alike.neurons
    constants = alike.known_count + alike.free_count - known_bits.sum(axis=2, dtype=np.int64)
    constants = constants + alike.signs.count(-1) + (alike.bias_bit or 0)
    source_bits = variables.known_bits[:, alike.constant_sources]  # K x G x arcs
    constants = constants + (source_bits == alike.constant_bits).sum(axis=2).T
    constants = constants + variables.structure.shift[alike.neurons, None]
    if alike.is_known:
        own_bits = variables.known_bits[:, own_nodes].T.astype(np.int64)
        constants = constants - (own_bits << alike.top_bit)
    # +1 for a free bias, the source's spin for a known arc, -1 for a free arc
    shared = np.ones((*known_bits.shape[:2], alike.parameters.shape[1]), dtype=np.int8)
    first = int(alike.bias_bit is None)
    shared[..., first : first + alike.known_count] = 2 * known_bits - 1
    shared[..., first + alike.known_count :] = -1
    return AffineForms(
        constants=constants,
        shared=alike.parameters,
        shared_values=shared,
        own=_own_numbers(variables, alike, own_nodes),
        own_values=_own_values(alike),
        weights=variables.example_weights,
    )


def _own_numbers(
    variables: Variables, alike: Alike, own_nodes: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Sources of free arcs, products, sources of signed arcs, count bits, own activation."""
    parts = [variables.count_variables[:, alike.count_rank]]
    if alike.signs:
        parts = [variables.activation_variables[:, alike.signed_sources], *parts]
    if alike.free_count:
        sources = variables.activation_variables[:, alike.free_sources]
        parts = [sources, variables.product_variables[:, alike.product_rank], *parts]
    if not alike.is_known:
        parts.append(variables.activation_variables[:, own_nodes[:, None]])
    return np.concatenate(parts, axis=2).transpose(1, 0, 2)


def _own_values(alike: Alike) -> NDArray[np.int64]:
    """Coefficients in the order of `_own_numbers`."""
    counts = [-weight for weight in alike.count_weights]
    activation = [] if alike.is_known else [-(2**alike.top_bit)]
    arcs = [-1] * alike.free_count + [2] * alike.free_count
    return np.array([*arcs, *alike.signs, *counts, *activation], dtype=np.int64)
