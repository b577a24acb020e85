"""Iteration: what happened in one round of dropout or mini-batch training.

Kept by TrainingResult.history.  Paper, section "A dropout algorithm", Algorithm 1.
"""

from dataclasses import dataclass

from qubonn.checks import IntVector, SpinVector
from qubonn.network import BinaryNetwork
from qubonn.topology import Topology


@dataclass(frozen=True, eq=False)
class Iteration:
    """One training of a thinned network on one batch, and how far it moved the field.

    The spins are those of the network of lowest energy, numbered as in ``topology.thin(dropped)``;
    with the votes of all iterations they give the field again, step by step.
    """

    number: int  # from 0
    dropped: IntVector  # nodes that were removed, in order
    example_count: int
    rows: IntVector | None  # the batch's rows of the whole data, where `Batches` made it
    weight_spins: SpinVector
    bias_spins: SpinVector
    violation_count: int  # n^USC: constraints that the solver left unsatisfied
    vote: float  # eta * beta^nUSC, by which the field moved
    energy: float  # of that network, with the field before this iteration
    accuracy: float | None  # of the thinned network on its batch; None for cyclic networks
    weight_norm: float  # Euclidean norm of c^w afterwards
    bias_norm: float  # of c^b
    solver: str
    seconds: float

    def network(self, topology: Topology) -> BinaryNetwork:
        """Return the thinned network; `topology` is that of the whole one."""
        return BinaryNetwork(
            topology.thin(self.dropped).topology, self.weight_spins, self.bias_spins
        )

    def __repr__(self) -> str:
        return (
            f"Iteration({self.number}: dropped {len(self.dropped)} nodes, {self.example_count} "
            f"examples, {self.violation_count} violations, vote {self.vote:g}, energy "
            f"{self.energy:g}, {self.seconds:.3g} s)"
        )
