"""Binarisers as comparisons: which column against which level.

InputEncoder -> columns and levels; levels as whole numbers for C, or as float32 for ONNX.
"""

from fractions import Fraction
from math import floor

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.encoding import InputEncoder, Thermometer, Threshold
from qubonn.errors import RangeError


def require_comparisons(
    encoder: InputEncoder | None, spin_count: int, inputs: str
) -> tuple[IntVector, NDArray[np.float64]]:
    """Return (column_of, levels): spin s is +1 where column ``column_of[s]`` exceeds ``levels[s]``.

    Columns count 0, 0, ..., 1, 1, ...; an encoder that does not compare is refused.
    """
    if isinstance(encoder, Threshold):
        return np.arange(spin_count), np.broadcast_to(encoder.levels, (spin_count,)).copy()
    if isinstance(encoder, Thermometer):
        return encoder.column_of, encoder.thresholds
    have = "a model without a binariser" if encoder is None else type(encoder).__name__
    raise RangeError(
        f"inputs={inputs!r} needs a QuboClassifier whose binariser is a Threshold or a "
        f"Thermometer; got {have}: binarise before, and leave `inputs` out"
    )


def whole_levels(levels: NDArray[np.float64], scale: int, lowest: int, highest: int) -> list[int]:
    """Return a level for whole numbers n: n is above it exactly if ``n / scale`` is above `levels`.

    n lies in lowest..highest, of 32 bits at most, and ``n / scale`` is a float64, rounded as usual.
    Levels are cut off where that changes nothing.

    >>> whole_levels(np.array([0.5, 0.3, -7.5, 1e9]), 10, 0, 255)
    [5, 3, -1, 255]
    """
    found: list[int] = []
    for level in levels.tolist():
        whole = min(max(floor(Fraction(level) * scale), lowest - 1), highest)
        # 3 / 10 is not above 0.3, the float64
        is_rounded_down = whole < highest and (whole + 1) / scale <= level
        found.append(whole + is_rounded_down)
    return found


def float32_levels(levels: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return the largest float32 not above each level; float32 numbers compare alike with both."""
    with np.errstate(over="ignore"):
        rounded = levels.astype(np.float32)
    down = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded.astype(np.float64) > levels, down, rounded)
