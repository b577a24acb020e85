"""How far every neuron is from changing its mind.

Pre-activations -> S1 and S2.  Paper, eq:sumofmargins and eq:sumofmargins2.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Margins:
    """Magnitudes of the pre-activations, one row per example and one column per neuron.

    >>> Margins(np.array([[3, 1], [1, 5]]))
    Margins(s1=2, s2=10)
    """

    magnitudes: NDArray[np.int32]

    @property
    def per_neuron(self) -> NDArray[np.int32]:
        """Smallest magnitude of each neuron over the examples; the neuron margin of the paper."""
        return np.asarray(self.magnitudes.min(axis=0))

    @property
    def s1(self) -> int:
        """Sum over neurons of the smallest magnitude."""
        return int(self.per_neuron.sum())

    @property
    def s2(self) -> int:
        """Sum of all magnitudes."""
        return int(self.magnitudes.sum(dtype=np.int64))

    def __repr__(self) -> str:
        return f"Margins(s1={self.s1}, s2={self.s2})"
