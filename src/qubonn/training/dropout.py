"""Dropout: how many nodes each iteration removes, and how strongly its network votes.

Topology, random stream -> nodes to remove.  Paper, section "A dropout algorithm", ModifyNetwork.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from qubonn.checks import IntVector, require_count, require_strength
from qubonn.errors import RangeError, TopologyError
from qubonn.topology import Topology

RATE_PER_EXAMPLE = 0.01  # of the default learning rate; see docs/training.md
Final = Literal["whole", "batch", "none"]


@dataclass(frozen=True, kw_only=True)
class Dropout:
    """How the iterations of Algorithm 1 go.

    Each iteration removes `dropped_inputs` of the inputs and `dropped_hidden` of the hidden nodes,
    drawn anew and each equally likely, and never an output. With `iteration_count` None they go on
    until the batches end. The network found moves the strengths of its own weights and biases by
    `learning_rate` * `violation_decay` ** (unsatisfied constraints); a decay of 1 is Georgiev's
    rule. Energies grow with the number of examples, so the default rate does: a hundredth of them.
    With `warm_start` an iteration starts from the networks of the one before.

    `final` says on what the whole network is trained at the end: "whole", all examples of the
    problem; "batch", the next batch, or the last again where there is none; "none", on nothing: the
    networks of the last iterations are the result, made whole by the signs of the field.

    The paper has 10 iterations, 5 dropped inputs of 25, 0 to 2 dropped hidden nodes, learning rates
    from 0.01 to 0.5, a decay of 0.1 and neither batches nor warm starts.
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
        """Raise unless one input and one hidden node stay, where any are dropped."""
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
        rate = (
            RATE_PER_EXAMPLE * example_count if self.learning_rate is None else self.learning_rate
        )
        return float(rate)

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
