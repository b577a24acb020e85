"""Which settings the straight-through networks get: results on examples held out -> Settings.

The grid is tried for each number of images a class, on draws of other seeds than those that are
tested, and scored on other training images; for digits on a quarter of each split's training
examples. The best few are tried again with as many members as are wanted, because small committees
say little about large ones. Single networks and committees get the settings that are best for them.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fewshot.store import Result

if TYPE_CHECKING:
    from straight_through import Settings

LEARNING_RATES = (0.01, 0.03, 0.1)
BATCH_SIZES: Sequence[int | None] = (16, 64, 256, None)
MOST_STEPS = 25  # in an epoch, to bound the time
OUTPUT_SCALES = (0.3, 1.0, 2.0)
EPOCHS = 100
SHIFTED_BATCH_SIZES: Sequence[int | None] = (64, 256)  # where each image is there nine times
SHIFTED_MOST_STEPS, SHIFTED_EPOCHS = 60, 30
SEEDS = (100, 101)  # of draws for tuning
MEMBERS = 5  # networks a setting and draw, at first
KINDS = ("single", "committee")  # as results name them
FINALISTS = 2  # for single networks, and for committees

Results = Mapping["Settings", Sequence[Result]]


def grid(example_count: int, *, is_shifted: bool = False) -> "list[Settings]":
    """Return the settings to try."""
    from straight_through import Settings

    sizes, most_steps, epochs = BATCH_SIZES, MOST_STEPS, EPOCHS
    if is_shifted:
        sizes, most_steps, epochs = SHIFTED_BATCH_SIZES, SHIFTED_MOST_STEPS, SHIFTED_EPOCHS
    sizes = [size for size in sizes if _is_sensible(size, example_count, most_steps)] or [None]
    return [
        Settings(learning_rate=rate, batch_size=size, epoch_count=epochs, output_scale=scale)
        for rate, size, scale in product(LEARNING_RATES, sizes, OUTPUT_SCALES)
    ]


def finalists(results: Results) -> "list[Settings]":
    """Return the settings to try again: the best few of both kinds."""
    return list(dict.fromkeys(one for kind in KINDS for one in _ranked(results, kind)[:FINALISTS]))


def best(results: Results) -> "tuple[Settings, Settings]":
    """Return the best settings for single networks, and for committees; of equals the first."""
    single, together = (_ranked(results, kind)[0] for kind in KINDS)
    return single, together


def _ranked(results: Results, kind: str) -> "list[Settings]":
    def mean(settings: "Settings") -> float:
        return float(np.mean([getattr(result, kind) for result in results[settings]]))

    return sorted(results, key=mean, reverse=True)


def _is_sensible(batch_size: int | None, example_count: int, most_steps: int) -> bool:
    if batch_size is None:
        return True
    return batch_size < example_count <= most_steps * batch_size


def worded(settings: "Settings") -> str:
    batch = f"batches of {settings.batch_size}" if settings.batch_size else "all at once"
    return f"rate {settings.learning_rate}, {batch}, scale {settings.output_scale}"
