"""Images moved by a few pixels: which copies there are, and what the classifier makes of them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

import qubonn as qn
from qubonn.encoding.shifts import copy_count, shift_for, with_shifts
from qubonn.errors import RangeError, ShapeError


def slowly_moved(image: NDArray[np.int64], down: int, right: int) -> NDArray[np.int64]:
    """Pixel by pixel: what was up and left of each; beyond the edge, the edge."""
    *channels, height, width = image.shape
    found = np.empty_like(image)
    for channel in np.ndindex(*channels):
        for y in range(height):
            for x in range(width):
                source = np.clip(y - down, 0, height - 1), np.clip(x - right, 0, width - 1)
                found[(*channel, y, x)] = image[(*channel, *source)]
    return found


@given(
    st.lists(st.integers(1, 2), max_size=1),
    st.tuples(st.integers(2, 5), st.integers(2, 5)),
    st.integers(1, 3),
    st.integers(0, 1),
)
def test_there_is_one_copy_for_each_place(
    channels: list[int], sides: tuple[int, int], count: int, shift: int
) -> None:
    shape = (*channels, *sides)
    images = np.arange(count * np.prod(shape)).reshape(count, *shape)
    classes = np.arange(count)
    found, class_of = with_shifts(images.reshape(count, -1), classes, shape, shift)
    assert class_of.reshape(-1, count).tolist() == [classes.tolist()] * copy_count(shift)
    steps = range(-shift, shift + 1)
    wanted = [
        np.concatenate([slowly_moved(image, down, right).ravel() for image in images]).tolist()
        for down in steps
        for right in steps
    ]
    copies = found.reshape(copy_count(shift), -1).tolist()
    assert sorted(copies) == sorted(wanted)
    assert copies[0] == images.ravel().tolist()


@pytest.mark.parametrize(
    ("shape", "count", "is_usual", "shift"),
    [
        ((28, 28), 5_000, True, 1),
        ((3, 24, 32), 10, True, 1),
        ((28, 28), 5_001, True, 0),  # copies of many take long
        ((3, 200, 200), 33, True, 1),
        ((3, 200, 200), 34, True, 0),  # and so do those of large ones
        ((8, 8), 100, True, 0),  # a pixel is much there
        (None, 100, True, 0),
        ((28, 28), 100, False, 0),
    ],
)
def test_auto_shifts_large_images_of_which_there_are_few(
    shape: tuple[int, ...] | None, count: int, is_usual: bool, shift: int
) -> None:
    assert shift_for("auto", shape, count, is_usual=is_usual) == shift


@pytest.mark.parametrize(
    ("side", "count", "width", "shift"),
    [(28, 5_001, 128, 1), (28, 5_001, 127, 0), (200, 101, 128, 0), (8, 5_001, 128, 0)],
)
def test_auto_shifts_many_images_if_hidden_layers_are_wide(
    side: int, count: int, width: int, shift: int
) -> None:
    assert shift_for("auto", (side, side), count, is_usual=True, width=width) == shift


@pytest.mark.parametrize(
    ("wanted", "shape", "error", "words"),
    [
        ("some", (28, 28), RangeError, "shifts must be 'auto' or a number of pixels; got 'some'"),
        (-1, (28, 28), RangeError, "shifts must be at least 0; got -1"),
        (1.5, (28, 28), RangeError, "shifts must be 'auto' or a number of pixels; got 1.5"),
        (True, (28, 28), RangeError, "shifts must be 'auto' or a number of pixels; got True"),
        (None, (28, 28), RangeError, "shifts must be 'auto' or a number of pixels; got None"),
        (2, None, ShapeError, "shifts=2 needs images"),
        (4, (8, 4), RangeError, r"less than the sides of \(8, 4\); got 4"),
    ],
)
def test_other_shifts_are_refused(
    wanted: object, shape: tuple[int, ...] | None, error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        shift_for(wanted, shape, 10, is_usual=True)


def two_bars(side: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """An upright and a level bar in the middle of an image."""
    images = np.zeros((2, side, side), dtype=np.int64)
    images[0, 4:-4, side // 2] = images[1, side // 2, 4:-4] = 1
    return images, np.array([0, 1])


def test_a_classifier_knows_bars_that_were_moved() -> None:
    images, classes = two_bars(24)
    rows = images.reshape(2, -1)
    moved, asked = with_shifts(rows, classes, (24, 24), 1)
    classifier = qn.QuboClassifier(8, committee_size=3, random_state=0)
    assert classifier.fit(images, classes).score(moved, asked) == 1
    assert classifier.set_params(shifts=0).fit(images, classes).score(moved, asked) < 1


def test_flat_rows_and_images_are_moved_alike_and_flat_rows_alone_are_not() -> None:
    images, classes = two_bars(24)
    classifier = qn.QuboClassifier(4, committee_size=1, random_state=0)
    cube = classifier.fit(images, classes).committee_
    rows = images.reshape(2, -1)
    assert classifier.set_params(image_shape=(24, 24)).fit(rows, classes).committee_ == cube
    alone = classifier.set_params(image_shape=None).fit(rows, classes).committee_
    assert alone == classifier.set_params(shifts=0).fit(images, classes).committee_
    assert alone != cube
    assert classifier.shift_ == 0


def test_members_report_on_the_images_as_they_are() -> None:
    generator = np.random.default_rng(0)
    images, classes = generator.integers(0, 2, (40, 24, 24)), np.arange(40) % 2  # nothing to learn
    classifier = qn.QuboClassifier(2, committee_size=2, random_state=0).fit(images, classes)
    rows, class_of = with_shifts(images.reshape(40, -1), classes, (24, 24), 1)
    inputs = classifier.binariser_.encode(rows)
    wanted = classifier.code_book_.encode(class_of)
    for member in classifier.members_:
        wrong = member.network.predict_outputs(inputs) != wanted
        assert member.violation_count == wrong[:40].sum() < wrong.sum()
        sums = qn.Committee([member.network], "largest").votes(inputs[:40])
        assert member.accuracy == (sums.argmax(axis=1) == classes).mean()


def test_members_that_are_kept_and_those_that_join_them_see_the_same() -> None:
    images, classes = two_bars(24)
    classifier = qn.QuboClassifier(4, committee_size=2, shifts=0, random_state=0)
    classifier.fit(images, classes).set_params(warm_start=True, committee_size=3)
    with pytest.raises(RangeError, match="shifts of the members that it keeps, 0; got 1"):
        classifier.set_params(shifts=1).fit(images, classes)
    assert classifier.set_params(shifts="auto").fit(images, classes).shift_ == 0
    plain = qn.QuboClassifier(4, committee_size=3, shifts=0, random_state=0)
    assert classifier.committee_ == plain.fit(images, classes).committee_


@pytest.mark.parametrize(("dropout", "shift"), [(0, 1), (0.5, 0)])
def test_no_dropout_is_as_usual(dropout: float, shift: int) -> None:
    images, classes = two_bars(24)
    classifier = qn.QuboClassifier(4, committee_size=1, random_state=0, dropout=dropout)
    assert classifier.fit(images, classes).shift_ == shift


def test_shifts_are_kept_in_files(tmp_path: Path) -> None:
    images, classes = two_bars(24)
    classifier = qn.QuboClassifier(2, shifts=2, committee_size=1, random_state=0)
    classifier.fit(images, classes).save(tmp_path / "model.qubonn")
    loaded = qn.load(tmp_path / "model.qubonn")
    assert isinstance(loaded, qn.QuboClassifier)
    assert (loaded.shifts, loaded.shift_) == (2, 2)


def test_sparse_images_are_shifted_as_dense_ones() -> None:
    images, classes = np.eye(6)[:, :6], np.arange(6)
    found, _ = with_shifts(csr_array(images), classes, (2, 3), 1)
    assert np.array_equal(found, with_shifts(images, classes, (2, 3), 1)[0])
    stored, _ = with_shifts(csr_array(images), classes, (2, 3), 0)
    assert stored.nnz == 6  # without shifts they stay sparse
