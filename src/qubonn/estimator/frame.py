"""Frame: what stands around the networks of a classifier.

Numbers -> spins, classes -> outputs: a training problem.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.encoding import CodeBook, InputEncoder
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology


@dataclass(frozen=True)
class Frame:
    """What turns numbers into spins, spins into outputs and outputs into classes."""

    binariser: InputEncoder
    book: CodeBook
    topology: Topology

    def problem(
        self, numbers: NDArray[Any], class_of: NDArray[np.int64], margin_strength: float
    ) -> TrainingProblem:
        """Return the training problem of examples of these classes."""
        return TrainingProblem(
            self.topology,
            self.binariser.encode(numbers),
            self.book.codewords[class_of],
            margin_strength=margin_strength,
        )
