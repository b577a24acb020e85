"""Which settings the straight-through networks get: results on examples held out -> Settings.

The grid is tried for each number of images a class, on draws of other seeds than those that are
tested, and scored on other training images; for digits on a quarter of each split's training
examples. Single networks and committees get the settings that are best for them.
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from fewshot.store import Result

if TYPE_CHECKING:
    from straight_through import Settings

LEARNING_RATES = (0.01, 0.03, 0.1)
BATCH_SIZES = (16, 64, None)
OUTPUT_SCALES = (0.3, 1.0, 2.0)
EPOCHS = 100
SEEDS = (100, 101)  # of draws for tuning
MEMBERS = 5  # networks a setting and draw


def grid(example_count: int) -> "list[Settings]":
    """Return the settings to try; a batch that holds all examples is all examples."""
    from straight_through import Settings

    sizes = dict.fromkeys(
        None if size is None or size >= example_count else size for size in BATCH_SIZES
    )
    return [
        Settings(learning_rate=rate, batch_size=size, epoch_count=EPOCHS, output_scale=scale)
        for rate, size, scale in product(LEARNING_RATES, sizes, OUTPUT_SCALES)
    ]


def best(results: "Mapping[Settings, Sequence[Result]]") -> "tuple[Settings, Settings]":
    """Return the best settings for single networks, and for committees; of equals the first."""

    def single(settings: "Settings") -> float:
        return float(np.mean([result.single for result in results[settings]]))

    def together(settings: "Settings") -> float:
        return float(np.mean([result.committee or 0 for result in results[settings]]))

    return max(results, key=single), max(results, key=together)


def worded(settings: "Settings") -> str:
    batch = f"batches of {settings.batch_size}" if settings.batch_size else "all at once"
    return f"rate {settings.learning_rate}, {batch}, scale {settings.output_scale}"
