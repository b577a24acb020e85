"""Random streams and Metropolis thresholds of lanes."""

from importlib import import_module
from typing import Any

import numpy as np

streams: Any = import_module("qubonn.simd.streams")


def test_thresholds_are_exponential() -> None:
    states = np.zeros(1, dtype=np.uint64)
    stream = streams.start_generators(np.arange(64, dtype=np.uint64), 64)[0]
    drawn = np.zeros((5000, 64), dtype=np.float32)
    streams.draw_thresholds(drawn, states, stream, 2.0)
    assert drawn.min() >= 0
    # 320,000 draws: six standard errors each, a false alarm once in a hundred million
    assert abs(drawn.mean() - 2.0) < 6 * 2.0 / np.sqrt(drawn.size)
    for part in (0.1, 1.0, 5.0, 10.0):
        chance = np.exp(-part / 2.0)
        error = np.sqrt(chance * (1 - chance) / drawn.size)
        assert abs((drawn > part).mean() - chance) < 6 * error


def test_states_are_packed_and_unpacked_without_loss() -> None:
    bits = np.random.default_rng(0).integers(0, 2, (37, 5), dtype=np.int8)
    for lane_count in (16, 32, 64):
        packed = streams.pack_states(bits, lane_count)
        assert np.array_equal(streams.unpack_states(packed, 37), bits)
