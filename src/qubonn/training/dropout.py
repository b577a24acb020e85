"""Dropout: which nodes an iteration removes, and how its network moves the field of the next.

Topology, random stream -> nodes to remove; Field, thinned network -> Field.  Paper, section "A
dropout algorithm", ModifyNetwork and the update function g.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinVector, require_count, require_strength
from qubonn.errors import RangeError, TopologyError
from qubonn.formulation import Field
from qubonn.network import BinaryNetwork
from qubonn.network.forward import sign
from qubonn.topology import Thinning, Topology

RATE_PER_EXAMPLE = 0.01  # of the default learning rate; see docs/training.md
Final = Literal["whole", "batch", "none"]


@dataclass(frozen=True, kw_only=True)
class Dropout:
    """Settings of Algorithm 1.

    Each iteration removes `dropped_inputs` of the inputs and `dropped_hidden` of the hidden nodes,
    drawn anew and each equally likely, and never an output. With `iteration_count` None they go on
    until the batches end. The network found moves the strengths of its own weights and biases by
    `learning_rate` * `violation_decay` ** (unsatisfied constraints); a decay of 1 is Georgiev's
    rule. Energies grow with the number of examples, so the default rate does: a hundredth of them.
    With `warm_start` an iteration starts from the networks of the one before.

    `final` sets the data of the final training of the whole network: "whole", all examples of the
    problem; "batch", the next batch, or the last one again; "none", no final training: the networks
    of the last iterations are the result, completed by the signs of the field.

    The paper uses 10 iterations, 5 dropped inputs of 25, 0 to 2 dropped hidden nodes, learning
    rates from 0.01 to 0.5, a decay of 0.1, and neither batches nor warm starts.
    """

    dropped_inputs: int = 0
    dropped_hidden: int = 0
    iteration_count: int | None = 10
    learning_rate: float | None = None
    violation_decay: float = 0.1
    warm_start: bool = False
    final: Final = "whole"

    def __post_init__(self) -> None:
        for name in ("dropped_inputs", "dropped_hidden", "iteration_count"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name), least=0)
        if self.learning_rate is not None:
            require_strength("learning_rate", self.learning_rate)
        if require_strength("violation_decay", self.violation_decay) > 1:
            raise RangeError(
                "violation_decay must lie in 0 to 1, so that violations never strengthen a vote; "
                f"got {self.violation_decay}"
            )
        if self.final not in ("whole", "batch", "none"):
            raise RangeError(f"final must be 'whole', 'batch' or 'none'; got {self.final!r}")
        if self.final == "none" and self.iteration_count == 0:
            raise RangeError("iteration_count must be at least 1 where final='none'; got 0")

    def require_fit(self, topology: Topology) -> None:
        """Raise unless one input and one hidden node remain."""
        for name, there in (
            ("dropped_inputs", topology.input_count),
            ("dropped_hidden", topology.hidden_count),
        ):
            dropped = getattr(self, name)
            if dropped and dropped >= there:
                raise TopologyError(
                    f"{name} must leave at least one of {there} nodes; got {dropped}"
                )

    def rate_for(self, example_count: int) -> float:
        """Return the learning rate of a batch."""
        if self.learning_rate is None:
            return RATE_PER_EXAMPLE * example_count
        return float(self.learning_rate)

    def draw(self, topology: Topology, generator: np.random.Generator) -> IntVector:
        """Return the nodes to remove in one iteration, in order.

        >>> Dropout(dropped_inputs=2, dropped_hidden=1).draw(
        ...     Topology.dense(9, 4, 2), np.random.default_rng(0)
        ... )
        array([ 5,  6, 10])
        """
        inputs = generator.choice(topology.input_count, self.dropped_inputs, replace=False)
        hidden = generator.choice(topology.hidden_count, self.dropped_hidden, replace=False)
        nodes = np.concatenate([inputs, topology.input_count + hidden])
        return np.sort(nodes).astype(np.int64)


NO_DROPOUT = Dropout(iteration_count=None, violation_decay=1, final="batch")


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
    """Move the strengths of the parameters of a thinned network towards its spins.

    A weight is one of them if any of its arcs remains. A weight that several arcs share has one
    vote, as every other parameter.
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
