from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import qubonn as qn
from qubonn.encoding import TableEncoder
from qubonn.encoding.automatic import fit_binariser, spins_per_column, thermometer
from qubonn.encoding.cells import Cells
from qubonn.errors import AlphabetError


@pytest.mark.parametrize("low", [0, -1])
@pytest.mark.parametrize("kind", [np.int8, np.float32, np.uint8, np.int64])
def test_bits_and_spins_pass_through(low: int, kind: Any) -> None:
    X = np.array([[low, 1, 1], [1, low, 1]]).astype(kind if low == 0 else np.float64)
    encoder = fit_binariser("auto", X)
    assert isinstance(encoder, qn.Threshold)
    assert encoder.encode(X).tolist() == [[-1, 1, 1], [1, -1, 1]]
    assert encoder.encode(1 - X if low == 0 else -X).tolist() == [[1, -1, -1], [-1, 1, -1]]


def test_booleans_pass_through_but_spins_among_zeros_do_not() -> None:
    assert isinstance(fit_binariser("auto", np.array([[True, False]] * 8)), qn.Threshold)
    assert isinstance(fit_binariser("auto", np.array([[-1], [0], [1]] * 8)), qn.Thermometer)


def test_the_smallest_number_is_the_threshold_where_most_numbers_equal_it() -> None:
    mostly, partly = np.array([[0, 0, 0, 9], [0, 2, 0, 0]]), np.array([[0, 1, 2, 3]])
    assert fit_binariser("auto", mostly, is_image=True).levels == 0  # type: ignore[attr-defined]
    assert fit_binariser("auto", partly, is_image=True).levels == 1.5  # type: ignore[attr-defined]


def test_few_distinct_numbers_get_a_threshold_between_any_two() -> None:
    X = np.array([[0, 7.0], [1, 7.0], [5, 7.0]] * 8)
    encoder = fit_binariser("auto", X)
    assert encoder.thresholds.tolist() == [0.5, 3, 7]  # type: ignore[attr-defined]
    assert encoder.encode([[2.9, 7], [3.1, 8]]).tolist() == [[1, -1, -1], [1, 1, 1]]


def test_many_distinct_numbers_get_quantiles() -> None:
    X = np.arange(320.0).reshape(-1, 1) ** 2
    encoder = fit_binariser("auto", X)
    assert encoder.spin_count == 31
    shares = (encoder.encode(X) > 0).mean(axis=0)
    assert np.allclose(shares, 1 - np.arange(1, 32) / 32, atol=0.01)


@pytest.mark.parametrize(
    ("examples", "columns", "spins"),
    [(150, 4, 31), (1000, 30, 8), (1000, 64, 4), (1000, 129, 1), (20, 4, 5), (2, 4, 1)],
)
def test_there_are_fewer_spins_where_columns_are_many_or_examples_few(
    examples: int, columns: int, spins: int
) -> None:
    assert spins_per_column(examples, columns) == spins


def test_many_columns_get_one_threshold_each_and_pixels_one_for_all() -> None:
    X = np.random.default_rng(0).integers(0, 256, (50, 200))
    assert np.array_equal(fit_binariser("auto", X).levels, np.median(X, axis=0))  # type: ignore[attr-defined]
    middle = fit_binariser("auto", X, is_image=True).levels  # type: ignore[attr-defined]
    assert middle.shape == ()
    assert 120 < middle < 135


def test_convolutions_get_one_spin_a_column() -> None:
    X = np.random.default_rng(0).normal(size=(80, 9))
    assert fit_binariser("auto", X, is_planar=True).spin_count == 9
    assert fit_binariser("auto", X).spin_count == 9 * 20


def test_a_number_asks_for_so_many_spins_in_each_column() -> None:
    X = np.random.default_rng(0).normal(size=(80, 300))
    assert fit_binariser(3, X).spin_count == 900
    assert fit_binariser("threshold", X).spin_count == 300
    assert fit_binariser("thermometer", X[:, :10]).spin_count == 200


@given(
    arrays(np.float64, (12, 3), elements=st.floats(allow_nan=False, allow_infinity=False)),
    st.integers(1, 14),
)
def test_decoding_gives_back_columns_of_few_distinct_numbers(X: Any, spins: int) -> None:
    encoder = thermometer(X, spins)
    spin_counts = np.bincount(encoder.column_of)
    distinct = [len(np.unique(column)) for column in X.T]
    is_few = np.array([count <= spins + 1 for count in distinct])
    decoded = encoder.decode(encoder.encode(X))
    assert np.array_equal(decoded[:, is_few], X[:, is_few])
    assert (spin_counts <= spins).all()
    assert (spin_counts >= 1).all()


def test_images_with_gaps_are_refused_for_convolutions_and_images_of_text_always() -> None:
    holed = np.array([[0.0, np.nan], [1.0, 2.0]])
    assert isinstance(fit_binariser("auto", holed, is_image=True), TableEncoder)
    with pytest.raises(AlphabetError, match="images must hold numbers"):
        fit_binariser("auto", holed, is_image=True, is_planar=True)
    with pytest.raises(AlphabetError, match="images must hold numbers"):
        fit_binariser("auto", Cells.of([["a", "b"]]), is_image=True)
