"""Compiled lanes of words do what the same functions do on NumPy arrays."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numba import njit as compiled
from numpy.typing import NDArray

words: Any = import_module("qubonn.simd.words")
LIKE = {lanes: np.zeros(1, f"u{lanes // 8}") for lanes in (8, 16, 32, 64)}


def _counted(array: Any, place: Any, target: Any, like: Any) -> None:
    words.store_at(target, 0, words.ones_of(words.load_at(array, place, like)))


def _spread_word(word: Any, target: Any, like: Any) -> None:
    words.store_at(target, 0, words.repeated(word, like))


def _added(a: Any, b: Any, c: Any, target: Any, like: Any) -> None:
    low, carry = words.full_adder(
        words.load_at(a, 0, like), words.load_at(b, 0, like), words.load_at(c, 0, like)
    )
    words.store_at(target, 0, low)
    words.store_at(target, 8, carry)


def _checked(numbers: Any, place: Any, like: Any) -> Any:
    lanes = words.load_at(numbers, place, like)
    return words.positive(lanes), words.finite(lanes)


counted, spread_word, added, checked = map(compiled, (_counted, _spread_word, _added, _checked))


def random_words(count: int) -> NDArray[np.uint64]:
    return np.random.default_rng(0).integers(1 << 64, size=count, dtype=np.uint64)


@pytest.mark.parametrize("lanes", LIKE)
@pytest.mark.parametrize("place", [0, 1, 5])
def test_ones_are_counted_in_each_lane_from_any_place(lanes: int, place: int) -> None:
    array, target = random_words(80), np.zeros(lanes, np.uint64)
    array[place : place + 2] = 0, 2**64 - 1
    counted(array, place, target, LIKE[lanes])
    expected = [int(word).bit_count() for word in array[place : place + lanes].tolist()]
    assert target.tolist() == expected
    assert words.ones_of(words.load_at(array, place, LIKE[lanes])).tolist() == expected


@pytest.mark.parametrize("lanes", LIKE)
def test_a_word_is_repeated_in_all_lanes(lanes: int) -> None:
    word, target = np.uint64(2**64 - 5), np.zeros(lanes, np.uint64)
    spread_word(word, target, LIKE[lanes])
    assert target.tolist() == [2**64 - 5] * lanes
    assert words.repeated(word, LIKE[lanes]).tolist() == [2**64 - 5] * lanes


def test_a_full_adder_adds_three_bits_in_every_place() -> None:
    a, b, c = random_words(24).reshape(3, 8)
    target = np.zeros(16, np.uint64)
    added(a, b, c, target, LIKE[8])
    for lane in range(8):
        for bit in range(64):
            total = sum(int(part[lane]) >> bit & 1 for part in (a, b, c))
            low, carry = (int(target[place + lane]) >> bit & 1 for place in (0, 8))
            assert 2 * carry + low == total


@pytest.mark.parametrize("kind", [np.int8, np.uint8, np.int64, np.float32, np.float64])
def test_signs_of_64_numbers_are_a_word(kind: type) -> None:
    numbers = np.random.default_rng(1).integers(0, 4, 70).astype(kind) - kind(
        0 if kind is np.uint8 else 2
    )
    expected = sum(int(float(number) > 0) << place for place, number in enumerate(numbers[3:67]))
    assert checked(numbers, 3, LIKE[64]) == (expected, True)
    lanes = words.load_at(numbers, 3, LIKE[64])
    assert (words.positive(lanes), words.finite(lanes)) == (expected, True)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_one_number_that_is_not_finite_is_noticed(kind: type, bad: float) -> None:
    for place in (0, 17, 63):
        numbers: NDArray[Any] = np.ones(64, dtype=kind)
        assert checked(numbers, 0, LIKE[64])[1] is True
        numbers[place] = bad
        assert checked(numbers, 0, LIKE[64])[1] is False
        assert words.finite(numbers) is False
