"""g: how the network of one iteration moves the field of the next.

Field, Thinning, parameters -> Field.  Paper, section "A dropout algorithm", update function g.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinVector
from qubonn.formulation import Field
from qubonn.network import BinaryNetwork
from qubonn.network.forward import sign
from qubonn.topology import Thinning, Topology


def vote_of(learning_rate: float, violation_decay: float, violation_count: int) -> float:
    """Return eta * beta^nUSC: how far one network moves a strength.

    >>> vote_of(0.5, 0.1, 0), vote_of(0.5, 1, 7), vote_of(0.5, 0, 7)
    (0.5, 0.5, 0.0)
    """
    return float(learning_rate) * float(violation_decay) ** violation_count


def moved(strengths: NDArray[Any], spins: SpinVector, vote: float) -> NDArray[np.float64]:
    """Return g(a, b) = a + eta * beta^nUSC * b for all strengths a and spins b at once."""
    return strengths + vote * spins.astype(np.float64)


def moved_field(field: Field, thinning: Thinning, network: BinaryNetwork, vote: float) -> Field:
    """Move the strengths of the parameters that took part towards a thinned network's spins.

    A bias took part if its neuron did, a weight if any of its arcs did. A weight that several arcs
    share has one vote, as every other parameter, however many of its arcs were left.
    """
    weights, biases = (part.astype(np.float64) for part in (field.weights, field.biases))
    taking, neurons = thinning.weight_of, thinning.neuron_of
    weights[taking] = moved(weights[taking], network.weight_spins, vote)
    biases[neurons] = moved(biases[neurons], network.bias_spins, vote)
    return Field(weights, biases)


def thinned_field(field: Field, thinning: Thinning) -> Field:
    """Return the strengths of the parameters that a thinned network still has."""
    return Field(field.weights[thinning.weight_of], field.biases[thinning.neuron_of])


def voted(topology: Topology, field: Field) -> BinaryNetwork:
    """Return the network that the field alone favours; a strength of 0 gives -1."""
    return BinaryNetwork(topology, sign(field.weights), sign(field.biases))


def filled(
    topology: Topology, field: Field, thinning: Thinning, network: BinaryNetwork
) -> BinaryNetwork:
    """Return a thinned network made whole: what was dropped gets the sign of its strength."""
    weights, biases = sign(field.weights), sign(field.biases)
    weights[thinning.weight_of] = network.weight_spins
    biases[thinning.neuron_of] = network.bias_spins
    return BinaryNetwork(topology, weights, biases)


def thinned(network: BinaryNetwork, thinning: Thinning) -> BinaryNetwork:
    """Return what is left of a whole network."""
    return BinaryNetwork(
        thinning.topology,
        network.weight_spins[thinning.weight_of],
        network.bias_spins[thinning.neuron_of],
    )
