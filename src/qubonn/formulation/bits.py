"""Theorem 1: the top bit of a shifted count is the sign of a sum of spins.

Number of terms -> CountCode.  Paper, thm:1 and cor:1.
"""

from dataclasses import dataclass

import numpy as np

from qubonn.checks import IntVector, require_count


@dataclass(frozen=True)
class CountCode:
    """How a sum of `term_count` spins is counted: its sign is bit `top_bit` of the shifted count.

    >>> CountCode.for_inputs(3)
    CountCode(term_count=3, top_bit=1, slack=0)
    """

    term_count: int
    top_bit: int  # n in the paper
    slack: int  # kappa in the paper

    @classmethod
    def for_inputs(cls, term_count: int) -> "CountCode":
        """Return the code of a neuron that sums `term_count` spins, its bias included."""
        top_bit = require_count("term_count", term_count).bit_length() - 1
        return cls(term_count, top_bit, 2 ** (top_bit + 1) - (term_count + 1))

    @property
    def shift(self) -> int:
        """What is added to the number of +1 spins: floor(kappa / 2)."""
        return self.slack // 2


def top_bits_of(fan_in: IntVector) -> IntVector:
    """Return n_j = floor(log2(|P_j| + 1)) for many neurons."""
    # frexp gives the exponent exactly, where log2 may round
    return np.asarray(np.frexp(fan_in + 1.0)[1].astype(np.int64) - 1)


def shifts_of(fan_in: IntVector, top_bits: IntVector) -> IntVector:
    """Return floor(kappa_j / 2), kappa_j = 2**(n_j + 1) - |P_j| - 2, for many neurons."""
    return np.asarray(((2 << top_bits) - fan_in - 2) // 2)
