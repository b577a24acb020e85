"""Numba kernel that packs numbers into words: 64 inputs of an example to a uint64.

Rows of numbers -> words in the order that the other kernels read: chunk of 32 examples, then word,
then example. A bit is set where the number is more than 0.
"""

import numpy as np
from numba import njit

from qubonn.inference.program import CHUNK
from qubonn.simd.words import finite, load_at, positive

SIXTY_FOUR = np.zeros(1, dtype=np.uint64)  # so many lanes: one number for each bit of a word


@njit(cache=True, nogil=True)
def pack_chunks(numbers, column_count, first_chunk, words):
    """Fill `words` from flat `numbers`, `first_chunk` and on; return whether all are finite.

    Eight rows at a time, so that what is written fills cache lines. The last word of a row reads 64
    numbers too and drops those that it has in common with the word before.
    """
    row_count = len(numbers) // max(column_count, 1)
    end_row = min((first_chunk + len(words)) * CHUNK, row_count)
    is_finite = True
    for first_row in range(first_chunk * CHUNK, end_row, 8):
        chunk, lane = first_row // CHUNK - first_chunk, first_row % CHUNK
        rows = range(min(8, row_count - first_row))
        for word in range(column_count // 64):
            for row in rows:
                lanes = load_at(numbers, (first_row + row) * column_count + word * 64, SIXTY_FOUR)
                words[chunk, word, lane + row] = positive(lanes)
                is_finite &= finite(lanes)
        if column_count > 64 and column_count % 64:
            surplus = np.uint64(64 - column_count % 64)
            for row in rows:
                lanes = load_at(numbers, (first_row + row + 1) * column_count - 64, SIXTY_FOUR)
                words[chunk, column_count // 64, lane + row] = positive(lanes) >> surplus
                is_finite &= finite(lanes)
        elif column_count < 64:
            for row in rows:
                place = (first_row + row) * column_count
                signs, is_row_finite = short_word(numbers, place, column_count)
                words[chunk, 0, lane + row] = signs
                is_finite &= is_row_finite
    return is_finite


@njit(cache=True, nogil=True)
def short_word(numbers, first, count):
    """Return the signs of fewer than 64 numbers, the first in the lowest bit; are they finite."""
    word = np.uint64(0)
    is_finite = True
    for place in range(count):
        number = numbers[first + place]
        word |= np.uint64(number > 0) << np.uint64(place)
        is_finite &= bool(np.isfinite(number))
    return word, is_finite
