"""The data of each sweep: GrowingBatches of examples, InputNoise or InputShifts of their inputs.

Number of sweeps and examples -> the examples of each sweep; input spins -> other input spins.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from qubonn.checks import IntVector, SpinMatrix, require_count
from qubonn.encoding.shifts import copy_count, some_copies
from qubonn.errors import RangeError, ShapeError
from qubonn.network import BinaryNetwork


@dataclass(frozen=True, kw_only=True)
class GrowingBatches:
    """Sizes of batches: `first` examples in the first sweep, `last` in the last (default: all).

    Sizes grow by the same factor each sweep. Examples are drawn without replacement until fewer
    than a batch are left.

    >>> GrowingBatches(first=10).sizes(4, 80).tolist()
    [10, 20, 40, 80]
    >>> [
    ...     rows.tolist()
    ...     for rows in GrowingBatches(first=2, last=3).rows(3, 5, np.random.default_rng(0))
    ... ]
    [[2, 4], [3, 0], [4, 1, 2]]
    """

    first: int
    last: int | None = None

    def __post_init__(self) -> None:
        require_count("first", self.first)
        if self.last is not None and require_count("last", self.last) < self.first:
            raise RangeError(f"last must be at least first = {self.first}; got {self.last}")

    def sizes(self, sweep_count: int, example_count: int) -> IntVector:
        """Return the number of examples of each sweep."""
        first, last = (
            min(size, example_count) for size in (self.first, self.last or example_count)
        )
        sizes: IntVector = np.rint(np.geomspace(first, last, sweep_count)).astype(np.int64)
        return sizes

    def rows(
        self,
        sweep_count: int,
        example_count: int,
        generator: np.random.Generator,
        quench_sweeps: int = 0,
    ) -> Iterator[IntVector]:
        """Yield the indices of the examples of each sweep, and of a quench as large as the last."""
        sizes = self.sizes(sweep_count, example_count)
        order = np.empty(0, dtype=np.int64)
        for size in np.pad(sizes, (0, quench_sweeps), mode="edge"):
            if len(order) < size:
                order = generator.permutation(example_count)
            yield order[:size]
            order = order[size:]


@dataclass(frozen=True, kw_only=True)
class InputNoise:
    """Probabilities that an input of an example is inverted, and that it is dropped: set to -1.

    >>> InputNoise(dropped=0.5).disturb(np.ones((1, 8), np.int8), np.random.default_rng(0))
    array([[ 1,  1,  1, -1, -1, -1, -1, -1]], dtype=int8)
    """

    inverted: float = 0.0
    dropped: float = 0.0

    def __post_init__(self) -> None:
        for name in ("inverted", "dropped"):
            probability = getattr(self, name)
            if not 0 <= probability <= 1:
                raise RangeError(f"{name} must be a probability from 0 to 1; got {probability}")

    def disturb(self, input_spins: SpinMatrix, generator: np.random.Generator) -> SpinMatrix:
        """Return inputs with independent errors."""
        spins = input_spins.copy()
        if self.inverted:
            spins[generator.random(spins.shape, dtype=np.float32) < self.inverted] *= -1
        if self.dropped:
            spins[generator.random(spins.shape, dtype=np.float32) < self.dropped] = -1
        return spins


@dataclass(frozen=True, kw_only=True)
class InputShifts:
    """Images of spins, each with all its shifts by up to `pixels` in both directions.

    The last two numbers of `shape` are rows and columns, and those before them channels; spins from
    outside repeat the edge. A sweep sees copies as examples, and makes only those of its batch.

    >>> shifts = InputShifts(shape=(1, 4), pixels=1)
    >>> shifts.copy_count
    9
    >>> spins = np.array([[1, -1, -1, -1], [-1, -1, 1, -1]], np.int8)
    >>> shifts.copies(spins, np.array([1, 8]))  # the second image, and the first, moved to the left
    array([[-1, -1,  1, -1],
           [-1, -1, -1, -1]], dtype=int8)
    """

    shape: tuple[int, ...]
    pixels: int = 1

    def __post_init__(self) -> None:
        if len(self.shape) < 2:
            raise ShapeError(f"shape must have rows and columns; got {self.shape}")
        for size in self.shape:
            require_count("sizes in shape", size)
        require_count("pixels", self.pixels)

    @property
    def copy_count(self) -> int:
        """Return the number of copies of an image, itself included."""
        return copy_count(self.pixels)

    def copies(self, input_spins: SpinMatrix, numbers: IntVector) -> SpinMatrix:
        """Return copies by their numbers: those of all images as they are, then of each shift."""
        if input_spins.shape[1] != prod(self.shape):
            raise ShapeError(
                f"shape {self.shape} needs {prod(self.shape)} inputs; got {input_spins.shape[1]}"
            )
        return some_copies(input_spins, numbers, self.shape, self.pixels)


@dataclass(frozen=True, kw_only=True, eq=False)
class ShiftedActivations(InputShifts):
    """Activations of trained `layers`, one after the other, for shifted copies of `images`."""

    images: SpinMatrix
    layers: tuple[BinaryNetwork, ...]

    def copies(self, input_spins: SpinMatrix, numbers: IntVector) -> SpinMatrix:
        """Return the activations for copies by their numbers; `input_spins` are not read."""
        spins = super().copies(self.images, numbers)
        for network in self.layers:
            spins = network.predict_outputs(spins)
        return spins
