"""Levels for whole numbers and for float32 compare as the thresholds do."""

import numpy as np

from qubonn.export.levels import float32_levels, whole_levels


def test_whole_levels_split_whole_numbers_as_thresholds_split_reals() -> None:
    thresholds = np.array([-300, -0.5, -1e-9, 0, 1e-9, 0.3, 0.7, 7, 25.5, 99.99, 1e30])
    for scale in (1, 3, 10):
        levels = whole_levels(thresholds, scale, 0, 255)
        for threshold, level in zip(thresholds, levels, strict=True):
            assert [n > level for n in range(256)] == [n / scale > threshold for n in range(256)]


def test_float32_levels_split_float32_as_thresholds_do() -> None:
    thresholds = np.concatenate([np.random.default_rng(0).normal(size=1000), [0.1, 1e300, -1e300]])
    levels = float32_levels(thresholds)
    up = np.float32(np.inf)
    near = thresholds.clip(-1e38, 1e38).astype(np.float32)
    for numbers in (near, np.nextafter(near, up), np.nextafter(near, -up)):
        assert ((numbers > levels) == (numbers.astype(np.float64) > thresholds)).all()
