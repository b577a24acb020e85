"""Assignment: what a state of all variables means, with or without the flat bits.

Bits <-> Assignment; network, activations -> the Assignment that a forward pass implies.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, BitVector, IntVector, SpinMatrix, require_bits
from qubonn.errors import AlphabetError, ShapeError
from qubonn.formulation.variables import Variables
from qubonn.network import BinaryNetwork


@dataclass(frozen=True, eq=False, repr=False)
class Assignment:
    """Parameters, activations of all nodes, counts and products, for K examples.

    ``product_bits`` is None where every product equals weight times activation: the implied
    assignment of a large problem need not be written out.
    """

    network: BinaryNetwork
    activation_spins: SpinMatrix  # K x nodes, known ones included
    counts: NDArray[np.int64]  # K x neurons, chi in the paper
    product_bits: BitMatrix | None  # K x product arcs

    def __repr__(self) -> str:
        return f"Assignment({self.network!r}, {len(self.activation_spins)} examples)"


def implied(
    variables: Variables, network: BinaryNetwork, activation_spins: SpinMatrix
) -> Assignment:
    """Return the assignment with exact products and, for each neuron, the best possible count."""
    empty = np.zeros((variables.example_count, network.topology.neuron_count), dtype=np.int64)
    bare = Assignment(network, activation_spins, empty, None)
    # the residual is r - chi with chi = 0, and the nearest chi in 0..2**n - 1 is best
    best = np.clip(residuals(variables, bare), 0, 2**variables.structure.top_bit - 1)
    return Assignment(network, activation_spins, best, None)


def residuals(variables: Variables, assignment: Assignment) -> NDArray[np.int64]:
    """Return, for each example and neuron, what H1 squares: zero where the constraint holds."""
    topology = variables.topology
    sums = assignment.network.pre_activations_at(assignment.activation_spins).astype(np.int64)
    fan_in = topology.fan_in[topology.input_count :]
    positive_count = (sums + fan_in + 1) // 2  # rho in the paper
    own_bits = (assignment.activation_spins[:, topology.input_count :] > 0).astype(np.int64)
    structure = variables.structure
    exact = positive_count + structure.shift - 2**structure.top_bit * own_bits - assignment.counts
    if assignment.product_bits is None:
        return np.asarray(exact)
    errors = product_errors(variables, assignment).astype(np.int64)
    neurons = topology.target_of[structure.product_arcs] - topology.input_count
    return exact + _sums_by_neuron(variables, neurons, 2 * errors)  # 2 * (psi - v*y) of each arc


def product_errors(variables: Variables, assignment: Assignment) -> NDArray[np.int8]:
    """Return product bit minus weight bit times activation bit, by example and product arc."""
    shape = (variables.example_count, len(variables.structure.product_arcs))
    if assignment.product_bits is None:
        return np.zeros(shape, dtype=np.int8)
    return assignment.product_bits - exact_products(variables, assignment)


def exact_products(variables: Variables, assignment: Assignment) -> BitMatrix:
    """Return weight bit times activation bit for each example and product arc."""
    topology, arcs = variables.topology, variables.structure.product_arcs
    weight_bits = assignment.network.weight_spins[topology.weight_of[arcs]] > 0
    source_bits = assignment.activation_spins[:, topology.source_of[arcs]] > 0
    return (source_bits & weight_bits).astype(np.int8)


def pack(variables: Variables, assignment: Assignment) -> BitVector:
    """Write an assignment as one bit per variable, in the order of `Variables`."""
    network, structure = assignment.network, variables.structure
    products = assignment.product_bits
    if products is None:
        products = exact_products(variables, assignment)
    bits: BitVector = np.empty(variables.count, dtype=np.int8)
    first, free = variables.starts[1], structure.free_nodes
    bits[:first] = network.weight_spins[network.topology.free_weights] > 0
    bits[first : variables.starts[2]] = network.bias_spins[network.topology.free_biases] > 0
    for numbers, values in (
        (variables.activation_variables[:, free], assignment.activation_spins[:, free] > 0),
        (variables.count_variables, _count_bits(variables, assignment.counts)),
        (variables.product_variables, products),
    ):
        bits[numbers] = values
        if variables.is_shared and (bits[numbers] != values).any():
            raise AlphabetError(
                "activations, counts and products must be the same in all examples that share "
                "their variables; got different ones: use share=False"
            )
    return bits


def unpack(variables: Variables, bits: ArrayLike) -> Assignment:
    """Read one bit per variable."""
    state = require_bits("bits", bits, count=variables.count)
    if state.ndim != 1:
        raise ShapeError(
            f"bits must be one assignment, a vector of {variables.count} values; "
            f"got shape {state.shape}: decode the rows of a matrix one by one"
        )
    structure, free = variables.structure, variables.structure.free_nodes
    network = BinaryNetwork(variables.topology, *variables.parameter_spins(state))
    spins = (2 * variables.known_bits - 1).astype(np.int8)
    spins[:, free] = 2 * state[variables.activation_variables[:, free]] - 1
    parts = state[variables.count_variables].astype(np.int64) * structure.count_weight
    whole = _sums_by_neuron(variables, structure.count_neuron, parts)
    return Assignment(network, spins, whole, state[variables.product_variables])


def _count_bits(variables: Variables, counts: NDArray[np.int64]) -> BitMatrix:
    """Write each count as count bits, those of the largest weights first."""
    structure, rest = variables.structure, counts.copy()
    bits = np.zeros((len(counts), len(structure.count_neuron)), dtype=np.int8)
    for place in range(int(structure.count_place.max(initial=-1)), -1, -1):
        here = np.flatnonzero(structure.count_place == place)
        neurons, weights = structure.count_neuron[here], structure.count_weight[here]
        is_set = rest[:, neurons] >= weights
        bits[:, here] = is_set
        rest[:, neurons] -= is_set * weights
    return bits


def _sums_by_neuron(
    variables: Variables, neuron_of: IntVector, values: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Add up the columns of each neuron."""
    sums = np.zeros((variables.topology.neuron_count, variables.example_count), dtype=np.int64)
    np.add.at(sums, neuron_of, values.T)
    return sums.T
