"""The letters are what the paper describes, and the same for ever."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qubonn.datasets import IMAGE_SHAPE, as_text, letters
from qubonn.encoding import CodeBook
from qubonn.errors import AlphabetError, RangeError, ShapeError

SEEDS = st.integers(0, 2**128)
PAIRS = [[0, 18], [16, 17], [5, 12], [0, 11], [9, 11]]  # of seed 0
FINGERPRINT_0 = "5ba62d73b272c65148789fe807876159cebbe7f4e64169cdadec4632729d4346"
FINGERPRINT_2026 = "1a09678199526576b56493f0966d0675ac36a50f44d0f029c272e64c5a31f27b"


def fingerprint(seed: int) -> str:
    return hashlib.sha256(letters(seed).test_inputs.tobytes()).hexdigest()


def test_shapes_and_types_are_those_of_the_paper() -> None:
    data = letters(seed=0)
    assert data.train_inputs.shape == (4, 25)
    assert data.train_outputs.shape == (4, 2)
    assert data.test_inputs.shape == (40, 25)
    assert data.test_outputs.shape == (40, 2)
    assert data.train_inputs.dtype == data.test_inputs.dtype == np.int8
    assert data.train_outputs.dtype == data.test_outputs.dtype == np.int8
    assert data.image_shape == IMAGE_SHAPE == (5, 5)


def test_the_four_letters_look_as_designed() -> None:
    assert [as_text(image).split() for image in letters(seed=3).train_inputs] == [
        ["#####", "#...#", "#...#", "#...#", "#####"],
        ["#...#", "##..#", "#.#.#", "#..##", "#...#"],
        ["#....", "#....", "#....", "#....", "#####"],
        ["#...#", ".#.#.", "..#..", ".#.#.", "#...#"],
    ]


def test_classes_come_in_the_order_of_the_paper() -> None:
    data = letters(seed=0)
    assert data.classes == ("O", "N", "L", "X")
    assert data.train_labels.tolist() == ["O", "N", "L", "X"]
    assert "".join(data.test_labels) == "O" * 10 + "N" * 10 + "L" * 10 + "X" * 10


def test_outputs_are_the_gray_code_of_the_labels() -> None:
    data = letters(seed=0)
    book = CodeBook.gray_code(data.classes)
    np.testing.assert_array_equal(data.train_outputs, book.encode(data.train_labels))
    np.testing.assert_array_equal(data.test_outputs, book.encode(data.test_labels))


@given(SEEDS)
def test_test_images_are_exactly_two_pixels_from_their_letter(seed: int) -> None:
    data = letters(seed)
    inverted = data.test_inputs != np.repeat(data.train_inputs, 10, axis=0)
    assert (inverted.sum(axis=1) == 2).all()
    assert set(np.unique(data.test_inputs)) == {-1, 1}


@given(SEEDS)
def test_no_two_images_are_the_same(seed: int) -> None:
    data = letters(seed)
    assert len(np.unique(np.vstack([data.train_inputs, data.test_inputs]), axis=0)) == 44


def test_letters_are_too_far_apart_to_share_a_test_image() -> None:
    images = letters(seed=0).train_inputs
    distances = (images[:, np.newaxis] != images).sum(axis=2)
    assert distances[~np.eye(4, dtype=bool)].min() > 4


def test_every_pixel_is_inverted_about_equally_often() -> None:
    # 20,000 pairs, each pixel expected in 1,600 with a standard deviation of at most 38.4;
    # 6 of those on either side: a false alarm in less than one of 10 million choices of seeds.
    inverted = np.stack([letters(seed).test_inputs for seed in range(500)]) != np.repeat(
        letters(0).train_inputs, 10, axis=0
    )
    counts = inverted.sum(axis=(0, 1))
    assert abs(counts - 1600).max() < 230


@given(SEEDS)
def test_the_same_seed_gives_the_same_images(seed: int) -> None:
    np.testing.assert_array_equal(letters(seed).test_inputs, letters(seed).test_inputs)


def test_another_seed_gives_other_images() -> None:
    assert len({fingerprint(seed) for seed in range(50)}) == 50


def test_numpy_seeds_are_as_good_as_python_ones() -> None:
    np.testing.assert_array_equal(letters(np.int64(7)).test_inputs, letters(7).test_inputs)  # type: ignore[arg-type]


def test_the_images_of_a_seed_never_change() -> None:
    data = letters(seed=0)
    inverted = np.argwhere(data.test_inputs != np.repeat(data.train_inputs, 10, axis=0))
    assert inverted[:, 1].reshape(40, 2)[[0, 1, 10, 20, 39]].tolist() == PAIRS
    assert fingerprint(0) == FINGERPRINT_0
    assert fingerprint(2026) == FINGERPRINT_2026


def test_the_data_cannot_be_changed() -> None:
    data = letters(seed=0)
    with pytest.raises(ValueError, match="read-only"):
        data.test_inputs[0, 0] = 1


def test_an_image_may_be_flat_or_square() -> None:
    image = letters(seed=0).test_inputs[0]
    assert as_text(image) == as_text(image.reshape(5, 5))


@pytest.mark.parametrize("seed", [-1, 1.5, True, None, "0"])
def test_a_seed_must_be_a_whole_number_from_zero(seed: int) -> None:
    with pytest.raises(RangeError, match=r"seed must be .*at least 0"):
        letters(seed)


def test_an_image_has_twenty_five_pixels() -> None:
    with pytest.raises(
        ShapeError, match=r"image must have 25 values, one per pixel; got .*\(24,\)"
    ):
        as_text([1] * 24)


def test_an_image_is_made_of_spins() -> None:
    with pytest.raises(AlphabetError, match="image must be -1 or \\+1; got 0"):
        as_text([0] * 25)
