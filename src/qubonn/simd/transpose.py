"""Squares of bits: 64 rows of eight words, whose rows and bits change places.

Without the compiler lanes are NumPy arrays, as in `qubonn.simd.vectors`.
"""

import numpy as np
from numba import njit

from qubonn.simd.words import load_at, store_at

EIGHT = np.zeros(1, dtype=np.uint8)  # so many lanes
HALVES = np.array([((1 << 64) - 1) // ((1 << n) + 1) for n in (32, 16, 8, 4, 2, 1)], np.uint64)


@njit(cache=True)
def transpose(square):
    """Swap rows and bits in each lane of 64 rows of eight words, a flat array."""
    width = 32
    for half in HALVES:
        for row in range(64):
            if row & width == 0:
                upper = load_at(square, 8 * row, EIGHT)
                lower = load_at(square, 8 * (row + width), EIGHT)
                swap = ((upper >> np.uint64(width)) ^ lower) & half
                store_at(square, 8 * row, upper ^ (swap << np.uint64(width)))
                store_at(square, 8 * (row + width), lower ^ swap)
        width >>= 1
