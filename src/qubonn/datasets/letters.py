"""The letters O, N, L and X in 5 x 5 pixels: four to train on, forty to test on.

Seed -> spins.  Paper, section "Experimental set-up", fig:dataset. The paper shows its images only
as a picture, so the letters here are our own; the test images are made from them as in the paper.
"""

from dataclasses import dataclass, fields
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.random import PCG64, SeedSequence
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import SpinMatrix, SpinVector, require_count, require_spins

IMAGE_SHAPE = (5, 5)
TEST_IMAGES_PER_CLASS = 10

_PIXEL_COUNT = IMAGE_SHAPE[0] * IMAGE_SHAPE[1]
_DRAWINGS = {
    "O": "##### #...# #...# #...# #####",
    "N": "#...# ##..# #.#.# #..## #...#",
    "L": "#.... #.... #.... #.... #####",
    "X": "#...# .#.#. ..#.. .#.#. #...#",
}
_CODEWORDS = {"O": (-1, -1), "N": (-1, 1), "L": (1, 1), "X": (1, -1)}  # a Gray code
_PIXEL_PAIRS = np.array(list(combinations(range(_PIXEL_COUNT), 2)))


@dataclass(frozen=True, eq=False, repr=False)
class Letters:
    """Images row by row, with outputs as spins and as labels; all arrays are read-only.

    Classes come in the order of `classes`: training image i is of class i, and test images 10 i to
    10 i + 9 are.
    """

    train_inputs: SpinMatrix  # 4 x 25, +1 where the letter is drawn
    train_outputs: SpinMatrix  # 4 x 2
    test_inputs: SpinMatrix  # 40 x 25
    test_outputs: SpinMatrix  # 40 x 2
    train_labels: NDArray[np.str_]
    test_labels: NDArray[np.str_]

    classes: ClassVar[tuple[str, ...]] = tuple(_DRAWINGS)
    image_shape: ClassVar[tuple[int, int]] = IMAGE_SHAPE

    def __post_init__(self) -> None:
        for field in fields(self):
            getattr(self, field.name).setflags(write=False)

    def __repr__(self) -> str:
        return f"Letters({len(self.train_labels)} to train on, {len(self.test_labels)} to test on)"


def letters(seed: int) -> Letters:
    """Return the four letters and, for each, ten distinct images with two pixels inverted.

    The same seed gives the same images on every platform and with every version of NumPy.

    >>> data = letters(seed=0)
    >>> data
    Letters(4 to train on, 40 to test on)
    >>> data.train_labels[3], data.train_outputs[3]
    (np.str_('X'), array([ 1, -1], dtype=int8))
    >>> (data.test_inputs[30:] != data.train_inputs[3]).sum(axis=1)
    array([2, 2, 2, 2, 2, 2, 2, 2, 2, 2])
    """
    streams = SeedSequence(require_count("seed", seed, least=0)).spawn(len(_DRAWINGS))
    marks = np.array([list(drawing.replace(" ", "")) for drawing in _DRAWINGS.values()])
    train_inputs = np.where(marks == "#", 1, -1).astype(np.int8)
    train_outputs = np.array([_CODEWORDS[name] for name in _DRAWINGS], dtype=np.int8)
    train_labels = np.array(list(_DRAWINGS))
    test_inputs = [
        _with_two_pixels_inverted(image, stream)
        for image, stream in zip(train_inputs, streams, strict=True)
    ]
    return Letters(
        train_inputs=train_inputs,
        train_outputs=train_outputs,
        test_inputs=np.concatenate(test_inputs),
        test_outputs=np.repeat(train_outputs, TEST_IMAGES_PER_CLASS, axis=0),
        train_labels=train_labels,
        test_labels=np.repeat(train_labels, TEST_IMAGES_PER_CLASS),
    )


def as_text(image: ArrayLike) -> str:
    """Return 25 spins, or 5 rows of 5, as five lines of # for +1 and . for -1.

    >>> print(as_text(letters(seed=0).train_inputs[2]))
    #....
    #....
    #....
    #....
    #####
    """
    flat = np.ravel(image) if np.shape(image) == IMAGE_SHAPE else image
    spins = require_spins("image", flat, count=_PIXEL_COUNT, of="pixel")
    rows = np.where(spins > 0, "#", ".").reshape(IMAGE_SHAPE)
    return "\n".join("".join(row) for row in rows)


def _with_two_pixels_inverted(image: SpinVector, stream: SeedSequence) -> SpinMatrix:
    # A 64-bit number is drawn for each pixel pair, and the pairs of the ten smallest are inverted.
    # NumPy guarantees that these raw numbers never change, unlike those of Generator.choice.
    draws = np.asarray(PCG64(stream).random_raw(len(_PIXEL_PAIRS)))
    pairs = _PIXEL_PAIRS[np.argsort(draws, kind="stable")[:TEST_IMAGES_PER_CLASS]]
    images = np.tile(image, (TEST_IMAGES_PER_CLASS, 1))
    images[np.arange(TEST_IMAGES_PER_CLASS)[:, np.newaxis], pairs] *= -1
    return images
