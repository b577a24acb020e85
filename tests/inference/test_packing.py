"""Packed inputs have the bit of each number where kernels look for it; bad numbers are named."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.inference import PackedInputs
from qubonn.inference.packing import UnpackedInputs, aligned_zeros, threads_for

COLUMNS = (1, 2, 63, 64, 65, 127, 128, 130, 784)
ROWS = (1, 7, 8, 9, 31, 32, 33, 70)


def slow_words(matrix: NDArray[Any]) -> list[list[list[int]]]:
    """Words by chunk of 32 examples, word of 64 inputs, example; bit by bit."""
    rows, columns = matrix.shape
    words = np.zeros((-(-rows // 32), -(-columns // 64), 32), dtype=object)
    for row in range(rows):
        for column in range(columns):
            is_set = bool(float(matrix[row, column]) > 0)
            words[row // 32, column // 64, row % 32] += int(is_set) << (column % 64)
    return words.tolist()  # type: ignore[no-any-return]


def some_numbers(rows: int, columns: int, kind: type, seed: int = 0) -> NDArray[Any]:
    matrix: NDArray[Any] = np.random.default_rng(seed).integers(-2, 3, (rows, columns))
    return matrix.astype(kind)


@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("kind", [np.int8, np.int64, np.float32, np.float64])
def test_each_number_has_its_bit(columns: int, kind: type) -> None:
    matrix = some_numbers(33, columns, kind)
    assert PackedInputs.of(matrix).words.tolist() == slow_words(matrix)


@pytest.mark.parametrize("rows", ROWS)
def test_examples_that_are_not_there_have_no_bits(rows: int) -> None:
    matrix = some_numbers(rows, 70, np.int8)
    assert PackedInputs.of(matrix).words.tolist() == slow_words(matrix)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 140), st.integers(1, 140), st.integers(0, 2**32))
def test_each_number_has_its_bit_in_any_shape(rows: int, columns: int, seed: int) -> None:
    matrix = some_numbers(rows, columns, np.int8, seed)
    assert PackedInputs.of(matrix).words.tolist() == slow_words(matrix)


@pytest.mark.parametrize(
    "kind",
    [np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.uint64, np.float16, np.longdouble],
)
def test_all_real_kinds_of_numbers_will_do(kind: type) -> None:
    matrix: NDArray[Any] = np.random.default_rng(0).integers(0, 3, (5, 70)).astype(kind)
    assert PackedInputs.of(matrix).words.tolist() == slow_words(matrix)


def test_truth_values_lists_and_arrays_in_any_order_will_do() -> None:
    matrix = some_numbers(5, 70, np.float64)
    expected = slow_words(matrix)
    read_only = matrix.copy()
    read_only.setflags(write=False)
    same: list[NDArray[Any]] = [
        np.asfortranarray(matrix),
        np.repeat(matrix, 2, axis=1)[:, ::2],
        matrix.astype(">f8"),
        matrix > 0,
        read_only,
    ]
    assert [PackedInputs.of(other).words.tolist() for other in same] == [expected] * len(same)
    assert PackedInputs.of(matrix.tolist()).words.tolist() == expected


def test_numbers_too_small_for_a_float64_keep_their_sign() -> None:
    tiny = np.finfo(np.longdouble).tiny
    assert PackedInputs.of(np.array([[tiny, -tiny, 0]])).words[0, 0, 0] == 1
    assert PackedInputs.of([[5e-324, -5e-324, 0.0, -0.0, 1e300]]).words[0, 0, 0] == 0b10001


@pytest.mark.parametrize("columns", [1, 63, 64, 65, 130])
@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_named(columns: int, kind: type, bad: float) -> None:
    for column in {0, columns // 2, columns - 1}:
        matrix: NDArray[Any] = np.ones((40, columns), dtype=kind)
        matrix[35, column] = bad
        with pytest.raises(
            AlphabetError, match=f"inputs must be finite; got {bad} in row 35, column {column}:"
        ):
            PackedInputs.of(matrix)


def test_a_vector_text_and_no_rows_are_refused() -> None:
    with pytest.raises(ShapeError, match="inputs must be a matrix with at least one column"):
        PackedInputs.of([1, 2, 3])
    with pytest.raises(ShapeError, match="inputs must have at least one row"):
        PackedInputs.of(np.zeros((0, 3)))
    with pytest.raises(AlphabetError, match="inputs must hold numbers; got text"):
        PackedInputs.of([["a", "b"]])


def test_the_number_of_threads_must_be_one_or_more() -> None:
    with pytest.raises(RangeError, match="thread_count must be at least 1; got 0"):
        PackedInputs.of([[1, 2]], thread_count=0)


def test_the_caller_may_still_change_the_matrix_afterwards() -> None:
    matrix = np.ones((3, 3))
    packed = PackedInputs.of(matrix)
    matrix[0, 0] = -1
    assert packed.words[0, 0, 0] == 0b111


def test_a_network_without_inputs_has_no_words() -> None:
    assert UnpackedInputs(np.zeros((5, 0))).words_of(0, 1).shape == (1, 0, 32)


def test_inputs_may_be_packed_in_pieces() -> None:
    matrix = some_numbers(200, 70, np.int8)
    unpacked, words = UnpackedInputs(matrix), slow_words(matrix)
    for first, end in ((0, 7), (0, 1), (3, 5), (6, 7)):
        assert unpacked.words_of(first, end).tolist() == words[first:end]
        assert PackedInputs.of(matrix).words_of(first, end).tolist() == words[first:end]


def test_arrays_for_vectors_begin_at_a_cache_line() -> None:
    assert [aligned_zeros(count).ctypes.data % 64 for count in (1, 7, 8, 1000)] == [0] * 4
    assert [len(aligned_zeros(count)) for count in (0, 1, 7)] == [0, 1, 7]


def test_little_work_gets_few_threads() -> None:
    assert [threads_for(work, 10, None) for work in (0, 9, 10, 35)] == [1, 1, 2, 4]
    assert [threads_for(work, 10, 2) for work in (0, 9, 10, 35)] == [1, 1, 2, 2]
