"""Temperatures of the annealing engines."""

import numpy as np
import pytest

from qubonn.engines.base import cooling
from qubonn.errors import RangeError


def test_each_kind_of_flip_cools_by_a_constant_factor_and_then_rests_at_zero() -> None:
    rows = cooling(np.array([8.0, 1.0]), np.array([1.0, 5.0]), 4, 2)
    assert rows[:, 0] == pytest.approx([8, 4, 2, 1, 0, 0])
    assert rows[:, 1] == pytest.approx([1, 1, 1, 1, 0, 0])  # never colder at the start


def test_more_sweeps_than_memory_can_hold_are_refused_at_once() -> None:
    with pytest.raises(RangeError, match=r"10,000,000,000,000 sweeps needs .*: use fewer sweeps"):
        cooling(np.ones(3), np.ones(3), 10**13, 10)
