"""Kernels that can be called alone equal slow twins."""

import numpy as np
import pytest

from qubonn.inference._plane_kernels import digit_count
from qubonn.simd.words import transpose


def test_transposing_swaps_rows_and_bits_in_each_lane() -> None:
    square = np.random.default_rng(0).integers(1 << 64, size=512, dtype=np.uint64)
    before = square.reshape(64, 8).tolist()
    transpose(square)
    after = square.reshape(64, 8).tolist()
    for lane in range(8):
        for row in range(64):
            for bit in range(64):
                assert after[bit][lane] >> row & 1 == before[row][lane] >> bit & 1


@pytest.mark.parametrize("fan_in", [*range(20), 29, 30, 61, 62, 1021, 1022])
def test_digits_hold_the_lead_of_every_pre_activation(fan_in: int) -> None:
    digits = digit_count(fan_in + 1)
    leads = [(total - 1 - fan_in % 2) // 2 for total in range(-fan_in - 1, fan_in + 2, 2)]
    assert -(2 ** (digits - 1)) <= min(leads)
    assert max(leads) < 2 ** (digits - 1)
