"""Kernels that show examples to the forward view, against NumPy's obvious way."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qubonn.engines._forward_passes import count_disagreements, fill_masks
from qubonn.engines.forward_packing import _tiles, _words
from qubonn.simd.compiling import kernel

WIDTHS = [1, 63, 64, 65, 130, 512, 520, 784]  # of inputs; eight words are transposed at once


@kernel
def disagreements(tiles: Any, block: Any, weights: Any, count: Any, masks: Any, found: Any) -> None:
    count_disagreements(tiles, block, weights, count, masks, found)


def random_spins(example_count: int, width: int, seed: int) -> NDArray[np.int8]:
    bits = np.random.default_rng(seed).integers(2, size=(example_count, width))
    return (2 * bits - 1).astype(np.int8)


def tiles_of(spins: NDArray[np.int8], rows: NDArray[np.int64]) -> NDArray[np.uint64]:
    return _tiles(_words(spins), rows)


def slow_masks(spins: NDArray[np.int8], rows: NDArray[np.int64]) -> list[list[int]]:
    """Return masks, columns x blocks: bit k is set where example k of the block is +1."""
    blocks = [rows[first : first + 64] for first in range(0, len(rows), 64)]
    return [
        [sum(1 << k for k, row in enumerate(block) if spins[row, column] > 0) for block in blocks]
        for column in range(spins.shape[1])
    ]


def slow_disagreements(spins: Any, weights: Any, is_selected: Any) -> list[int]:
    """Return by example how often a selected input differs from one of its weights."""
    return [sum(int(((row != one) & is_selected).sum()) for one in weights) for row in spins]


def test_words_hold_a_bit_for_each_input_and_zeros_after_the_last() -> None:
    spins = random_spins(3, 70, 0)
    bits = np.unpackbits(_words(spins).view(np.uint8), axis=1, bitorder="little")
    np.testing.assert_array_equal(bits[:, :70], spins > 0)
    assert bits.shape == (3, 128)
    assert not bits[:, 70:].any()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("count", [1, 64, 100])
def test_masks_are_those_of_the_rows_that_are_shown(width: int, count: int) -> None:
    spins = random_spins(150, width, seed=width)
    rows = np.random.default_rng(count).permutation(150)[:count]
    tiles = tiles_of(spins, rows)
    masks = np.full((width, len(tiles)), 99, dtype=np.uint64)
    fill_masks(tiles, masks, np.full(512, 99, dtype=np.uint64))
    assert masks.tolist() == slow_masks(spins, rows)


@settings(deadline=None, max_examples=30)
@given(width=st.sampled_from(WIDTHS), block=st.integers(0, 1), seed=st.integers(0, 99))
def test_disagreements_are_those_of_the_selected_inputs(width: int, block: int, seed: int) -> None:
    generator = np.random.default_rng(seed)
    spins, weights = random_spins(128, width, seed), random_spins(1 + seed % 3, width, seed + 1)
    is_selected = generator.integers(2, size=width) > 0
    masks = _words(np.where(is_selected, 1, -1)[None].astype(np.int8))
    rows = generator.permutation(128)
    found = np.full(64, 99, dtype=np.uint64)
    planes = _words(weights)
    disagreements(tiles_of(spins, rows), block, planes, len(planes), masks[0], found)
    shown = spins[rows[64 * block : 64 * (block + 1)]]
    assert found.tolist() == slow_disagreements(shown, weights, is_selected)
