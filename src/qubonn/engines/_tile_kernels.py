"""Numba kernels that show examples to the forward view: rows of bits -> tiles -> masks, counts.

A tile is 64 inputs of 64 examples: tiles[block, word, example]. Transposed, it is what the other
kernels read: a mask for each input. Read as it is, it counts a neuron's terms by XOR and popcount,
many times quicker than one arc after the other.
"""

import numpy as np
from numba import njit

from qubonn.simd.words import load_at, ones_of, repeated, store_at, transpose

LANES = 64  # examples in a block, bits in a word
THIRTY_TWO = np.zeros(1, dtype=np.uint32)  # so many lanes
ZERO = np.uint64(0)


@njit(cache=True, nogil=True)
def fill_tiles(words, rows, tiles):
    """Copy the rows of `words` (examples x words) that `rows` lists; zeros after the last."""
    for block in range(len(tiles)):
        for lane in range(LANES):
            number = block * LANES + lane
            for word in range(words.shape[1]):
                tiles[block, word, lane] = words[rows[number], word] if number < len(rows) else ZERO


@njit(cache=True, nogil=True)
def fill_masks(tiles, masks):
    """Turn tiles into masks, columns x blocks: bit k is example k of the block."""
    square = np.zeros(8 * LANES, dtype=np.uint64)
    for block in range(len(tiles)):
        for first in range(0, tiles.shape[1], 8):
            count = min(8, tiles.shape[1] - first)
            for word in range(count):
                for lane in range(LANES):
                    square[8 * lane + word] = tiles[block, first + word, lane]
            transpose(square)
            for word in range(count):
                column = (first + word) * LANES
                for bit in range(min(LANES, len(masks) - column)):
                    masks[column + bit, block] = square[8 * bit + word]


@njit(cache=True)
def count_disagreements(tiles, block, weights, heard, found):
    """Fill `found` with how many of the inputs `heard` differ from their weights, by example."""
    flat = tiles.reshape(-1)
    word_count = tiles.shape[1]
    for first in range(0, LANES, 32):
        total = repeated(ZERO, THIRTY_TWO)
        for word in range(word_count):
            known = load_at(flat, (block * word_count + word) * LANES + first, THIRTY_TWO)
            total = total + ones_of((known ^ weights[word]) & heard[word])
        store_at(found, first, total)
