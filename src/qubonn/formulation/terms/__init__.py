"""The terms of the Hamiltonian, one file each; every one is a function Variables -> Hamiltonian."""

from qubonn.formulation.terms.activation import activation_penalty, coupling_bound
from qubonn.formulation.terms.field import Field, field_reward
from qubonn.formulation.terms.margin import margin_reward
from qubonn.formulation.terms.output import output_penalty
from qubonn.formulation.terms.product import product_penalty

__all__ = [
    "Field",
    "activation_penalty",
    "coupling_bound",
    "field_reward",
    "margin_reward",
    "output_penalty",
    "product_penalty",
]
