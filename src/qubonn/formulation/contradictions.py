"""Contradictions: examples with the same input spins and different outputs, and what they cost.

Input spins, output spins, weights -> Contradictions.  A network without cycles maps equal inputs to
equal outputs, so whatever it does, some of these examples violate a constraint.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix

SHOWN_GROUPS, SHOWN_EXAMPLES = 3, 6  # in a sentence


@dataclass(frozen=True)
class Contradictions:
    """Groups of examples that no network without cycles can all satisfy.

    ``least_penalty`` is a lower bound on H1 + alpha * H2, plus the penalty of wrong outputs where
    outputs are free: of each group, all examples but those of the most frequent output (by weight)
    violate a constraint, which costs 1 or alpha at least, or have a wrong output.
    """

    groups: tuple[tuple[int, ...], ...] = ()  # numbers of examples, in order
    least_penalty: int | float = 0

    def __len__(self) -> int:
        return len(self.groups)

    def __str__(self) -> str:
        if not self.groups:
            return "no examples contradict each other"
        shown = "; ".join(_listed(group) for group in self.groups[:SHOWN_GROUPS])
        more = f"; and {len(self) - SHOWN_GROUPS} groups more" if len(self) > SHOWN_GROUPS else ""
        return (
            f"examples {shown}{more} have the same input spins and different outputs: no network "
            f"satisfies all of them, and the energy without rewards is at least "
            f"{self.least_penalty:g}"
        )


def find_contradictions(
    inputs: SpinMatrix, outputs: SpinMatrix, weights: NDArray[Any], least: int | float
) -> Contradictions:
    """Group the examples by their inputs; `least` is the smallest cost of one that is violated.

    >>> spins = np.array([[1, 1], [1, -1], [1, 1], [1, 1]])
    >>> find_contradictions(spins, spins[:, :1] * [[1], [1], [-1], [1]], np.ones(4, int), 1)
    Contradictions(groups=((0, 2, 3),), least_penalty=1)
    """
    group_of, code_of = _numbered(inputs), _numbered(np.hstack([inputs, outputs]))
    weight_of_code = np.bincount(code_of, weights)
    group_of_code = np.zeros(len(weight_of_code), dtype=np.int64)
    group_of_code[code_of] = group_of
    most = np.zeros(group_of.max() + 1)
    np.maximum.at(most, group_of_code, weight_of_code)
    is_torn = np.bincount(group_of_code) > 1
    excess = (np.bincount(group_of, weights) - most)[is_torn].sum()
    rows = np.flatnonzero(is_torn[group_of])
    groups: dict[int, list[int]] = {}
    for row, group in zip(rows.tolist(), group_of[rows].tolist(), strict=True):
        groups.setdefault(group, []).append(row)
    is_whole = weights.dtype.kind == "i" and isinstance(least, int)
    penalty = int(excess) * least if is_whole else float(excess) * least
    return Contradictions(tuple(map(tuple, groups.values())), penalty if groups else 0)


def _numbered(spins: SpinMatrix) -> NDArray[np.int64]:
    """Return for each row a number that equal rows share."""
    packed = np.packbits(spins > 0, axis=1)
    if not packed.shape[1]:  # a network without inputs
        return np.zeros(len(spins), dtype=np.int64)
    return np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)


def _listed(group: tuple[int, ...]) -> str:
    if len(group) > SHOWN_EXAMPLES:
        return (
            f"{', '.join(map(str, group[:SHOWN_EXAMPLES]))} and {len(group) - SHOWN_EXAMPLES} more"
        )
    return f"{', '.join(map(str, group[:-1]))} and {group[-1]}"
