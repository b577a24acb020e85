"""Compiled lanes do what the same functions do on NumPy arrays."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from numba import njit as compiled
from numpy.typing import NDArray

vectors: Any = import_module("qubonn.simd.vectors")


def _chosen(matrix: Any, states: Any, target: Any) -> Any:
    left, right = vectors.load(matrix, 0, states), vectors.load(matrix, 1, states)
    mask = vectors.is_negative(left)
    chosen = vectors.choose(mask, left * -1 + right, vectors.larger(left, right))
    vectors.store(target, 0, chosen)
    return mask, vectors.sum_of(vectors.widen(chosen))


@pytest.mark.parametrize("kind", [np.int16, np.int32])
@pytest.mark.parametrize("lane_count", [16, 32, 64])
def test_arithmetic_choice_and_sums_are_those_of_arrays(lane_count: int, kind: type) -> None:
    matrix: NDArray[Any] = np.random.default_rng(0).integers(-9, 10, (2, lane_count)).astype(kind)
    states = np.zeros(1, f"u{lane_count // 8}")
    fast: NDArray[Any] = np.zeros((1, lane_count), kind)
    slow = fast.copy()
    assert compiled(_chosen)(matrix, states, fast) == _chosen(matrix, states, slow)
    left, right = matrix
    expected = np.where(left < 0, right - left, np.maximum(left, right))
    assert fast.tolist() == slow.tolist() == [expected.tolist()]
