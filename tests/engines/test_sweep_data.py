"""What a sweep sees: sizes of batches, which examples are in them, and noise on inputs."""

import itertools

import numpy as np
import pytest
from numpy.typing import NDArray

from qubonn.engines import GrowingBatches, InputNoise, InputShifts
from qubonn.errors import RangeError, ShapeError


def test_sizes_grow_by_the_same_factor_from_first_to_last() -> None:
    sizes = GrowingBatches(first=100, last=3200).sizes(6, 5000)
    assert sizes.tolist() == [100, 200, 400, 800, 1600, 3200]


def test_the_last_batch_has_all_examples_unless_told_otherwise() -> None:
    assert GrowingBatches(first=3).sizes(7, 500)[[0, -1]].tolist() == [3, 500]


@pytest.mark.parametrize(
    ("batches", "sizes"),
    [
        (GrowingBatches(first=100), [10, 10, 10]),
        (GrowingBatches(first=100, last=200), [10, 10, 10]),
        (GrowingBatches(first=5, last=200), [5, 7, 10]),
    ],
    ids=["first", "both", "last"],
)
def test_no_batch_is_larger_than_the_examples(batches: GrowingBatches, sizes: list[int]) -> None:
    assert batches.sizes(3, 10).tolist() == sizes


def test_a_single_sweep_sees_the_first_batch() -> None:
    assert GrowingBatches(first=4, last=8).sizes(1, 10).tolist() == [4]


def test_a_single_example_is_in_every_batch() -> None:
    rows = GrowingBatches(first=1).rows(3, 1, np.random.default_rng(0))
    assert [batch.tolist() for batch in rows] == [[0], [0], [0]]


def test_batches_have_their_sizes_and_no_example_twice() -> None:
    batches = GrowingBatches(first=7, last=60)
    rows = list(batches.rows(9, 100, np.random.default_rng(0)))
    assert [len(batch) for batch in rows] == batches.sizes(9, 100).tolist()
    assert [len(set(batch.tolist())) for batch in rows] == [len(batch) for batch in rows]


def test_every_example_is_seen_before_any_is_seen_again() -> None:
    rows = list(GrowingBatches(first=25, last=25).rows(8, 100, np.random.default_rng(0)))
    first, second = np.concatenate(rows[:4]), np.concatenate(rows[4:])
    assert sorted(first.tolist()) == list(range(100))
    assert sorted(second.tolist()) == list(range(100))
    assert first.tolist() != second.tolist()


def test_generators_decide_which_examples_are_seen() -> None:
    one, again, other = (
        [
            batch.tolist()
            for batch in GrowingBatches(first=20).rows(3, 90, np.random.default_rng(seed))
        ]
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


@pytest.mark.parametrize(
    ("first", "last", "message"),
    [
        (0, None, "first must be at least 1"),
        (2.5, None, "first must be a whole number"),
        (5, 4, "last must be at least first = 5; got 4"),
        (1, 0, "last must be at least 1"),
    ],
)
def test_bad_sizes_are_refused(first: int, last: int | None, message: str) -> None:
    with pytest.raises(RangeError, match=message):
        GrowingBatches(first=first, last=last)


def test_noise_inverts_and_drops_as_often_as_asked() -> None:
    spins = np.ones((300, 300), dtype=np.int8)
    inverted = InputNoise(inverted=0.2).disturb(spins, np.random.default_rng(0))
    dropped = InputNoise(dropped=0.2).disturb(-spins, np.random.default_rng(0))
    assert abs((inverted == -1).mean() - 0.2) < 0.01  # 7 standard deviations
    assert (dropped == -1).all()
    assert (spins == 1).all()


@pytest.mark.parametrize("bad", [{"inverted": -0.1}, {"dropped": 1.5}])
def test_chances_lie_between_0_and_1(bad: dict[str, float]) -> None:
    with pytest.raises(RangeError, match="must be a probability from 0 to 1"):
        InputNoise(**bad)


def shifted(image: NDArray[np.int8], down: int, right: int) -> NDArray[np.int8]:
    """Return an image, channels x rows x columns, pixel by pixel; pixels outside are the edge's."""
    found = np.empty_like(image)
    _, height, width = image.shape
    for channel, row, column in np.ndindex(image.shape):
        source_row = min(max(row - down, 0), height - 1)
        source_column = min(max(column - right, 0), width - 1)
        found[channel, row, column] = image[channel, source_row, source_column]
    return found


@pytest.mark.parametrize("pixels", [1, 2])
def test_copies_are_all_images_with_every_shift(pixels: int) -> None:
    generator = np.random.default_rng(pixels)
    spins = generator.choice(np.array([-1, 1], dtype=np.int8), (20, 2 * 4 * 5))
    kept, shifts = spins.copy(), InputShifts(shape=(2, 4, 5), pixels=pixels)
    copies = shifts.copies(spins, np.arange(20 * shifts.copy_count))
    steps = range(-pixels, pixels + 1)
    images = spins.reshape(-1, 2, 4, 5)
    expected = {
        np.array([shifted(image, down, right) for image in images]).tobytes()
        for down, right in itertools.product(steps, steps)
    }
    assert {copies[first : first + 20].tobytes() for first in range(0, len(copies), 20)} == expected
    assert shifts.copy_count == len(steps) ** 2
    assert np.array_equal(copies[:20], spins)
    assert np.array_equal(spins, kept)


def test_some_copies_are_those_of_their_numbers() -> None:
    generator = np.random.default_rng(0)
    spins = generator.choice(np.array([-1, 1], dtype=np.int8), (7, 4 * 5))
    shifts = InputShifts(shape=(4, 5))
    numbers = generator.permutation(7 * 9)[:30]
    copies = shifts.copies(spins, np.arange(7 * 9))
    assert np.array_equal(shifts.copies(spins, numbers), copies[numbers])


def test_shifts_need_images_of_their_shape() -> None:
    with pytest.raises(ShapeError, match="rows and columns"):
        InputShifts(shape=(4,))
    with pytest.raises(RangeError, match="pixels"):
        InputShifts(shape=(4, 4), pixels=0)
    with pytest.raises(ShapeError, match="needs 16 inputs; got 15"):
        InputShifts(shape=(4, 4)).copies(np.ones((2, 15), np.int8), np.arange(2))
