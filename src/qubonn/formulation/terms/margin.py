"""H_som: reward neurons that are far from changing their sign.

Variables -> Hamiltonian.  Paper, section "Maximising sum of margins", eq:som-hamiltonian.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from qubonn.checks import IntVector
from qubonn.formulation.assignment import Assignment
from qubonn.formulation.variables import Variables
from qubonn.quadratic import Hamiltonian


@dataclass(frozen=True)
class MarginTerm:
    """H_som, the sum of (2 y - 1) * pi with pi written in activation and count bits.

    With pi = 2 * (2**n * y + chi - shift) - |P| - 1, it equals S2 wherever H1 is zero.
    """

    name: ClassVar[str] = "margin"
    sign: ClassVar[int] = -1
    strength: int | float  # gamma

    def hamiltonian(self, variables: Variables) -> Hamiltonian:
        """Return the sum over neurons and examples."""
        return _of_free_neurons(variables) + _of_known_neurons(variables)

    def evaluate(self, variables: Variables, assignment: Assignment) -> int | float:
        """Return the sum of all margins as activations and counts give them."""
        first, structure = variables.topology.input_count, variables.structure
        spins = assignment.activation_spins[:, first:].astype(np.int64)
        written = 2**structure.top_bit * (spins > 0) + assignment.counts - structure.shift
        return variables.total(spins * (2 * written - variables.topology.fan_in[first:] - 1))


def _of_free_neurons(variables: Variables) -> Hamiltonian:
    """(2 y - 1) * (2**(n+1) * y + 2 * chi - least), opened for a variable y."""
    first, structure = variables.topology.input_count, variables.structure
    is_free = ~structure.is_known[first:]
    y = variables.activation_variables[:, first:][:, is_free]
    least = _least(variables)[is_free]
    bits = np.flatnonzero(is_free[structure.count_neuron])
    s = variables.count_variables[:, bits]
    scale = variables.scale
    weight = scale * (2 * structure.count_weight[bits])  # of the bit in 2 * chi
    y_of_s = variables.activation_variables[:, first + structure.count_neuron[bits]]
    return (
        Hamiltonian.linear(y, scale * (2 ** (structure.top_bit[is_free] + 1) - 2 * least))
        + Hamiltonian.quadratic(y_of_s, s, 2 * weight)
        + Hamiltonian.linear(s, -weight)
        + Hamiltonian.constant(variables.total(np.broadcast_to(least, y.shape)))
    )


def _of_known_neurons(variables: Variables) -> Hamiltonian:
    """The same for outputs whose activation is a known bit: linear in the count bits."""
    first, structure = variables.topology.input_count, variables.structure
    is_known = structure.is_known[first:]
    spins = 2 * variables.known_bits[:, first:].astype(np.int64) - 1  # of neurons, where known
    own, top = spins[:, is_known], 2 ** structure.top_bit[is_known]
    constant = own * (top * (own + 1) - _least(variables)[is_known])
    bits = np.flatnonzero(is_known[structure.count_neuron])
    rewards = spins[:, structure.count_neuron[bits]] * 2 * structure.count_weight[bits]
    counts = Hamiltonian.linear(variables.count_variables[:, bits], variables.scale * rewards)
    return counts + Hamiltonian.constant(variables.total(constant))


def _least(variables: Variables) -> IntVector:
    """2 * shift + |P| + 1: minus the pre-activation that an all-zero count stands for."""
    fan_in = variables.topology.fan_in[variables.topology.input_count :]
    return 2 * variables.structure.shift + fan_in + 1
