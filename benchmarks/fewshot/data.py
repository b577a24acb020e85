"""What is learned from and what is asked: MNIST images or scikit-learn's digits -> Splits.

Folder, images per class, seed -> Split.  Tuning has splits of its own that hold no test image.
"""

import zlib
from dataclasses import dataclass, replace
from functools import cached_property
from math import isqrt
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import qubonn as qn
from qubonn.encoding.shifts import with_shifts

MNIST_LEVEL = 10  # of 0..255: pixels above it are +1, others -1; nothing else is done to images
DIGITS_LEVEL = 4  # of 0..16
DIGITS_TEST_COUNT = 500
HELD_OUT_COUNT = 10_000  # images that tuning is scored on

Pixels = NDArray[np.uint8]
Classes = NDArray[np.int64]


@dataclass(frozen=True)
class Split:
    """Pixels and classes to train on, and others to test; a pixel above the level is +1."""

    level: int
    train_pixels: Pixels
    train_classes: Classes
    test_pixels: Pixels
    test_classes: Classes

    @cached_property
    def train_spins(self) -> NDArray[np.int8]:
        """What networks learn from."""
        return spins_of(self.train_pixels, self.level)

    @cached_property
    def test_spins(self) -> NDArray[np.int8]:
        """What networks are asked."""
        return spins_of(self.test_pixels, self.level)

    @property
    def image_shape(self) -> tuple[int, int]:
        """Rows and columns of an image; all are squares."""
        side = isqrt(self.train_pixels.shape[1])
        return side, side

    def shifted(self) -> "Split":
        """Each training image nine times: the original, and shifted by a pixel each way."""
        pixels, classes = with_shifts(self.train_pixels, self.train_classes, self.image_shape, 1)
        return replace(self, train_pixels=pixels, train_classes=classes)

    @cached_property
    def digest(self) -> str:
        """The same for the same examples at the same level."""
        parts = (self.train_pixels, self.train_classes, self.test_pixels, self.test_classes)
        found = self.level
        for part in parts:
            found = zlib.crc32(np.ascontiguousarray(part).tobytes(), found)
        return f"{found:08x}"


@dataclass(frozen=True)
class Mnist:
    """All images, one row of 784 pixels each, and what they show."""

    train_pixels: Pixels
    train_classes: Classes
    test_pixels: Pixels
    test_classes: Classes

    @classmethod
    def read(cls, folder: Path) -> "Mnist":
        """Read the four original files, train-images-idx3-ubyte.gz and so on."""
        parts = (
            qn.datasets.read_idx(folder / f"{name}-ubyte.gz")
            for name in ("train-images-idx3", "train-labels-idx1", "t10k-images-idx3")
        )
        train_images, train_labels, test_images = parts
        test_labels = qn.datasets.read_idx(folder / "t10k-labels-idx1-ubyte.gz")
        return cls(
            train_images.reshape(len(train_images), -1),
            train_labels.astype(np.int64),
            test_images.reshape(len(test_images), -1),
            test_labels.astype(np.int64),
        )

    def whole(self) -> Split:
        """All training images, all test images."""
        train = self.train_pixels, self.train_classes
        return Split(MNIST_LEVEL, *train, self.test_pixels, self.test_classes)

    def split(self, per_class: int, seed: int) -> Split:
        """Training images per class, drawn by the seed; all test images."""
        chosen = drawn(self.train_classes, per_class, seed)
        train = self.train_pixels[chosen], self.train_classes[chosen]
        return Split(MNIST_LEVEL, *train, self.test_pixels, self.test_classes)

    def tuning_split(self, per_class: int, seed: int) -> Split:
        """Training images per class, and other training images in place of test images."""
        chosen = drawn(self.train_classes, per_class, seed)
        others = np.setdiff1d(np.arange(len(self.train_classes)), chosen)
        count = min(HELD_OUT_COUNT, len(others))
        held_out = np.random.default_rng([seed, 1]).choice(others, count, replace=False)
        pixels, classes = self.train_pixels, self.train_classes
        return Split(
            MNIST_LEVEL, pixels[chosen], classes[chosen], pixels[held_out], classes[held_out]
        )


def drawn(classes: Classes, per_class: int, seed: int) -> NDArray[np.int64]:
    """Return `per_class` random rows of each class."""
    generator = np.random.default_rng(seed)
    chosen = [
        generator.choice(np.flatnonzero(classes == one), per_class, replace=False)
        for one in np.unique(classes)
    ]
    return np.concatenate(chosen)


def spins_of(pixels: Pixels, level: int) -> NDArray[np.int8]:
    return np.where(pixels > level, 1, -1).astype(np.int8)


def digits_split(seed: int) -> Split:
    """1,297 of scikit-learn's digits to train on and 500 to test, stratified."""
    pixels, classes = load_digits(return_X_y=True)
    return _parted(pixels.astype(np.uint8), classes.astype(np.int64), DIGITS_TEST_COUNT, seed)


def digits_tuning_split(seed: int) -> Split:
    """The training digits of that seed, a quarter of them in place of test digits."""
    whole = digits_split(seed)
    return _parted(whole.train_pixels, whole.train_classes, 0.25, seed)


def _parted(pixels: Pixels, classes: Classes, test_size: Any, seed: int) -> Split:
    train_pixels, test_pixels, train_classes, test_classes = train_test_split(
        pixels, classes, test_size=test_size, stratify=classes, random_state=seed
    )
    return Split(DIGITS_LEVEL, train_pixels, train_classes, test_pixels, test_classes)
