"""InputNoise: inputs as a network might meet them, with some inverted and some off.

Input spins -> input spins, other ones each time.
"""

from dataclasses import dataclass

import numpy as np

from qubonn.checks import SpinMatrix
from qubonn.errors import RangeError


@dataclass(frozen=True, kw_only=True)
class InputNoise:
    """Chances that an input of an example is inverted, and that it is dropped: set to -1.

    >>> InputNoise(dropped=0.5).disturb(np.ones((1, 8), np.int8), np.random.default_rng(0))
    array([[ 1,  1,  1, -1, -1, -1, -1, -1]], dtype=int8)
    """

    inverted: float = 0.0
    dropped: float = 0.0

    def __post_init__(self) -> None:
        for name in ("inverted", "dropped"):
            chance = getattr(self, name)
            if not 0 <= chance <= 1:
                raise RangeError(f"{name} must be a chance from 0 to 1; got {chance}")

    def disturb(self, input_spins: SpinMatrix, generator: np.random.Generator) -> SpinMatrix:
        """Return inputs with errors, each input of each example on its own."""
        spins = input_spins.copy()
        if self.inverted:
            spins[generator.random(spins.shape, dtype=np.float32) < self.inverted] *= -1
        if self.dropped:
            spins[generator.random(spins.shape, dtype=np.float32) < self.dropped] = -1
        return spins
