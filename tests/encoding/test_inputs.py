"""Numbers become spins by the paper's f, and come back where they can."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.typing import NDArray

from qubonn.encoding import BitPlanes, InputEncoder, Thermometer, Threshold
from qubonn.encoding.inputs import even_bins, quantile_bins, thermometer_of
from qubonn.errors import AlphabetError, RangeError, ShapeError

FloatMatrix = NDArray[np.float64]
SHAPES = hnp.array_shapes(min_dims=2, max_dims=2, max_side=8)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
FEW_VALUES = st.sampled_from([-1.0, 0.0, 0.1, 0.30000000000000004, 7.0])
MATRICES = hnp.arrays(np.float64, SHAPES, elements=FLOATS)
TABLES = MATRICES | hnp.arrays(np.float64, SHAPES, elements=FEW_VALUES)
SPINS_PER_COLUMN = st.integers(1, 9)


def varies(X: FloatMatrix) -> NDArray[np.bool_]:
    return np.asarray(X.min(axis=0) < X.max(axis=0))


@pytest.mark.parametrize(
    ("encoder", "line"),
    [
        (Threshold(0), "Threshold(0.0)"),
        (Threshold([10, 20.5]), "Threshold([10.0, 20.5])"),
        (Threshold(np.arange(64)), "Threshold(64 columns)"),
        (
            Thermometer([5, 1, 2], [0, 1, 1], [0, 9, 0, 1.5, 3]),
            "Thermometer(2 columns, 3 thresholds)",
        ),
        (BitPlanes(4), "BitPlanes(bits=4, gray=False, column_count=None)"),
    ],
)
def test_an_encoder_prints_its_size(encoder: InputEncoder, line: str) -> None:
    assert repr(encoder) == line


class TestThreshold:
    def test_ties_go_to_minus_one(self) -> None:
        spins = Threshold(0).encode([[0.0, -0.0, 5e-324, -5e-324]])
        assert spins.tolist() == [[-1, -1, 1, -1]]

    @given(MATRICES, FLOATS)
    def test_one_level_serves_every_column(self, X: FloatMatrix, level: float) -> None:
        spins = Threshold(level).encode(X)
        assert spins.dtype == np.int8
        np.testing.assert_array_equal(spins, np.where(level < X, 1, -1))

    def test_each_column_may_have_its_own_level(self) -> None:
        encoder = Threshold([1, 2, 3])
        assert encoder.encode([[2, 2, 2]]).tolist() == [[1, -1, -1]]
        assert (encoder.column_count, encoder.spin_count) == (3, 3)

    def test_one_level_leaves_the_counts_open(self) -> None:
        assert (Threshold(0.5).column_count, Threshold(0.5).spin_count) == (None, None)

    def test_takes_booleans_and_whole_numbers(self) -> None:
        assert Threshold(0).encode([[True, False]]).tolist() == [[1, -1]]
        assert Threshold(0).encode(np.array([[3, 0]], dtype=np.uint8)).tolist() == [[1, -1]]

    def test_fit_takes_the_median_of_each_column(self) -> None:
        X = np.random.default_rng(0).normal(size=(20, 7))
        np.testing.assert_array_equal(Threshold.fit(X).levels, np.median(X, axis=0))

    def test_fit_lowers_a_median_that_is_the_largest_number(self) -> None:
        assert Threshold.fit([[0], [1], [1], [1]]).encode([[0], [1]]).tolist() == [[-1], [1]]

    @given(TABLES)
    def test_fit_gives_a_varying_column_a_varying_spin(self, X: FloatMatrix) -> None:
        spins = Threshold.fit(X).encode(X)
        np.testing.assert_array_equal(varies(spins.astype(np.float64)), varies(X))

    def test_the_spin_of_a_constant_column_is_minus_one_but_larger_numbers_are_plus_one(
        self,
    ) -> None:
        encoder = Threshold.fit([[4], [4]])
        assert encoder.encode([[3], [4], [5]]).tolist() == [[-1], [-1], [1]]

    def test_cannot_be_changed(self) -> None:
        encoder = Threshold([1, 2])
        with pytest.raises(ValueError, match="read-only"):
            encoder.levels[0] = 5

    def test_does_not_freeze_the_array_it_is_given(self) -> None:
        levels = np.zeros(2)
        Threshold(levels)
        assert levels.flags.writeable

    @pytest.mark.parametrize("levels", [[], [[1.0]]])
    def test_refuses_levels_of_another_shape(self, levels: list[float]) -> None:
        with pytest.raises(ShapeError, match="levels must be one number, or one per column"):
            Threshold(levels)

    def test_refuses_levels_that_are_not_numbers(self) -> None:
        with pytest.raises(AlphabetError, match="levels must be numbers; got 'high'"):
            Threshold("high")

    def test_refuses_a_level_that_is_not_finite(self) -> None:
        with pytest.raises(AlphabetError, match="levels must be finite; got nan"):
            Threshold([0, np.nan])


class TestThermometer:
    def test_ties_go_to_minus_one(self) -> None:
        thermometer = Thermometer([1, 2], [0, 0], [0, 1.5, 3])
        assert thermometer.encode([[1.0], [1.1], [2.0], [2.1]]).tolist() == [
            [-1, -1],
            [1, -1],
            [1, -1],
            [1, 1],
        ]

    def test_spins_go_column_by_column_and_by_rising_threshold(self) -> None:
        X = np.random.default_rng(0).normal(size=(50, 3))
        thermometer = Thermometer.fit(X, spins_per_column=4)
        assert thermometer.column_of.tolist() == [0] * 4 + [1] * 4 + [2] * 4
        assert (thermometer.column_count, thermometer.spin_count) == (3, 12)
        np.testing.assert_allclose(
            thermometer.thresholds.reshape(3, 4).T, np.quantile(X, [0.2, 0.4, 0.6, 0.8], axis=0)
        )

    @given(TABLES)
    def test_one_spin_per_column_is_the_threshold_encoder(self, X: FloatMatrix) -> None:
        thermometer = Thermometer.fit(X, spins_per_column=1)
        np.testing.assert_array_equal(thermometer.thresholds, Threshold.fit(X).levels)

    @given(TABLES, SPINS_PER_COLUMN)
    def test_every_column_has_a_spin_and_none_has_more_than_asked(
        self, X: FloatMatrix, spins_per_column: int
    ) -> None:
        counts = np.bincount(Thermometer.fit(X, spins_per_column).column_of)
        assert len(counts) == X.shape[1]
        assert counts.min() >= 1
        assert counts.max() <= spins_per_column

    @given(TABLES, SPINS_PER_COLUMN)
    def test_spins_of_one_column_differ_and_vary_where_the_column_does(
        self, X: FloatMatrix, spins_per_column: int
    ) -> None:
        thermometer = Thermometer.fit(X, spins_per_column)
        spins = thermometer.encode(X)
        with_column = np.vstack([thermometer.column_of, spins])
        assert len(np.unique(with_column, axis=1).T) == thermometer.spin_count
        np.testing.assert_array_equal(
            varies(spins.astype(np.float64)), varies(X)[thermometer.column_of]
        )

    @given(TABLES, SPINS_PER_COLUMN)
    def test_encoding_a_decoded_number_gives_the_same_spins(
        self, X: FloatMatrix, spins_per_column: int
    ) -> None:
        thermometer = Thermometer.fit(X, spins_per_column)
        spins = thermometer.encode(X)
        np.testing.assert_array_equal(thermometer.encode(thermometer.decode(spins)), spins)

    @given(hnp.arrays(np.float64, SHAPES, elements=FEW_VALUES))
    def test_decoding_is_exact_for_columns_of_few_values(self, X: FloatMatrix) -> None:
        thermometer = Thermometer.fit(X, spins_per_column=100)
        np.testing.assert_array_equal(thermometer.decode(thermometer.encode(X)), X)

    def test_a_column_of_two_values_has_one_spin(self) -> None:
        thermometer = Thermometer.fit([[0], [1], [1], [1], [1], [1]], spins_per_column=4)
        assert thermometer.encode([[0], [1]]).tolist() == [[-1], [1]]

    def test_decodes_to_the_lower_middle_number_of_the_bin(self) -> None:
        thermometer = Thermometer.fit([[1], [2], [10], [20]], spins_per_column=1)
        assert thermometer.decode([[-1], [1]]).tolist() == [[1], [10]]

    def test_a_constant_column_decodes_to_its_constant(self) -> None:
        thermometer = Thermometer.fit([[4, 0], [4, 1]])
        assert thermometer.encode([[4, 0], [5, 1]]).tolist() == [[-1, -1], [1, 1]]
        assert thermometer.decode([[-1, -1], [1, 1]]).tolist() == [[4, 0], [4, 1]]

    def test_the_largest_numbers_do_not_overflow(self) -> None:
        most = np.finfo(np.float64).max
        thermometer = Thermometer.fit([[-most], [most]], spins_per_column=1)
        assert thermometer.thresholds.tolist() == [0]

    def test_refuses_spins_that_no_number_has(self) -> None:
        thermometer = Thermometer([5, 1, 2], [0, 1, 1], [0, 9, 0, 1.5, 3])
        assert thermometer.decode([[-1, 1, 1]]).tolist() == [[0, 3]]
        with pytest.raises(
            AlphabetError,
            match=r"first \+1 and then -1; row 1 has column 1 above 2.0 but not .* 1.0",
        ):
            thermometer.decode([[1, 1, -1], [1, -1, 1]])

    def test_refuses_spins_of_another_width(self) -> None:
        with pytest.raises(ShapeError, match="spins must have 1 columns, one per threshold"):
            Thermometer.fit([[1], [2]]).decode([[1, 1]])

    def test_refuses_bits_for_spins(self) -> None:
        with pytest.raises(AlphabetError, match="spins must be -1 or \\+1; got 0"):
            Thermometer.fit([[1], [2]]).decode([[0]])

    @pytest.mark.parametrize("count", [0, -1, 2.5, True])
    def test_refuses_a_spin_count_that_is_not_a_positive_whole_number(self, count: int) -> None:
        with pytest.raises(RangeError, match="spins_per_column must be"):
            Thermometer.fit([[1.0]], spins_per_column=count)

    def test_refuses_thresholds_that_do_not_rise(self) -> None:
        with pytest.raises(RangeError, match=r"rise within a column; column 0 has 2\.0 before"):
            Thermometer([2, 2], [0, 0], [1, 2, 3])

    @pytest.mark.parametrize("column_of", [[1, 1], [0, 2], [1, 0]])
    def test_refuses_columns_out_of_order(self, column_of: list[int]) -> None:
        with pytest.raises(RangeError, match=r"column_of must"):
            Thermometer([1, 2], column_of, [1, 2, 3])

    @pytest.mark.parametrize(("thresholds", "column_of"), [([1, 2], [0]), ([], []), ([[1]], [0])])
    def test_refuses_another_number_of_columns_than_thresholds(
        self, thresholds: list[float], column_of: list[int]
    ) -> None:
        with pytest.raises(ShapeError, match="must have one entry per spin, at least one"):
            Thermometer(thresholds, column_of, [1, 2])

    def test_refuses_another_number_of_bin_values_than_bins(self) -> None:
        with pytest.raises(ShapeError, match=r"bin_values must have 4 values, .* got shape \(3,\)"):
            Thermometer([1, 2], [0, 1], [1, 2, 3])


class TestBitPlanes:
    @given(st.data(), st.integers(1, 53), st.booleans(), SHAPES)
    def test_decoding_gives_back_the_numbers(
        self, data: st.DataObject, bits: int, gray: bool, shape: tuple[int, int]
    ) -> None:
        levels = st.integers(0, 2**bits - 1)
        numbers = data.draw(hnp.arrays(np.int64, shape, elements=levels))
        planes = BitPlanes(bits=bits, gray=gray)
        spins = planes.encode(numbers)
        assert spins.dtype == np.int8
        assert spins.shape == (shape[0], bits * shape[1])
        np.testing.assert_array_equal(planes.decode(spins), numbers)
        np.testing.assert_array_equal(planes.encode(numbers.astype(np.float64)), spins)

    @given(st.integers(1, 5), st.booleans(), st.data())
    def test_encoding_gives_back_the_spins(
        self, bits: int, gray: bool, data: st.DataObject
    ) -> None:
        signs = st.sampled_from([-1, 1])
        spins = data.draw(hnp.arrays(np.int8, (3, 2 * bits), elements=signs))
        planes = BitPlanes(bits=bits, gray=gray)
        np.testing.assert_array_equal(planes.encode(planes.decode(spins)), spins)

    def test_planes_are_channels_of_an_image_with_the_most_significant_first(self) -> None:
        image = np.array([[128, 0, 1], [255, 64, 2]])
        spins = BitPlanes().encode(image.reshape(1, -1))
        channels = spins.reshape(8, 2, 3)
        assert channels[0].tolist() == [[1, -1, -1], [1, -1, -1]]
        assert channels[1].tolist() == [[-1, -1, -1], [1, 1, -1]]
        assert channels[7].tolist() == [[-1, -1, 1], [1, -1, -1]]

    def test_neighbouring_numbers_differ_in_one_spin_of_the_gray_code(self) -> None:
        spins = BitPlanes(bits=6, gray=True).encode(np.arange(64).reshape(-1, 1))
        assert ((spins[1:] != spins[:-1]).sum(axis=1) == 1).all()

    def test_does_not_change_the_numbers_it_is_given(self) -> None:
        numbers = np.array([[3]])
        BitPlanes(gray=True).encode(numbers)
        assert numbers.tolist() == [[3]]

    def test_counts_are_known_once_the_columns_are(self) -> None:
        assert BitPlanes().spin_count is None
        assert BitPlanes(bits=4, column_count=25).spin_count == 100

    @pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.uint64, np.float16, np.float32])
    def test_takes_every_kind_of_number(self, dtype: type[np.number]) -> None:
        numbers: NDArray[Any] = np.array([[0, 5, 100]], dtype=dtype)
        np.testing.assert_array_equal(BitPlanes(53).decode(BitPlanes(53).encode(numbers)), numbers)

    @pytest.mark.parametrize("bad", [-1, 256, 0.5, 1e300])
    def test_refuses_numbers_that_are_not_whole_or_do_not_fit(self, bad: float) -> None:
        with pytest.raises(RangeError, match=r"whole numbers in 0\.\.255.* in row 1, column 2"):
            BitPlanes().encode([[0.0, 0.0, 0.0], [0.0, 255.0, bad]])

    def test_refuses_a_float32_that_is_one_too_large(self) -> None:
        with pytest.raises(RangeError, match="fit in 53 bits"):
            BitPlanes(53).encode(np.array([[2.0**53]], dtype=np.float32))

    def test_refuses_another_number_of_columns_than_declared(self) -> None:
        planes = BitPlanes(bits=2, column_count=3)
        with pytest.raises(ShapeError, match="X must have 3 columns"):
            planes.encode([[1, 2]])
        with pytest.raises(ShapeError, match="spins must have 6 columns, one per bit"):
            planes.decode([[1, -1]])

    def test_refuses_spins_that_are_not_whole_planes(self) -> None:
        with pytest.raises(ShapeError, match=r"spins must have 8 columns for each number.*got 9"):
            BitPlanes().decode([[1] * 9])

    @pytest.mark.parametrize(
        ("bits", "why"), [(0, "at least 1"), (54, "at most 53"), (1.5, "whole")]
    )
    def test_refuses_a_number_of_bits_out_of_range(self, bits: int, why: str) -> None:
        with pytest.raises(RangeError, match=f"bits must be .*{why}"):
            BitPlanes(bits=bits)

    def test_refuses_a_column_count_of_zero(self) -> None:
        with pytest.raises(RangeError, match="column_count must be at least 1"):
            BitPlanes(column_count=0)


ENCODERS: list[InputEncoder] = [
    Threshold(0),
    Threshold([0, 0]),
    Thermometer.fit([[0, 1], [1, 0]]),
    BitPlanes(),
    BitPlanes(column_count=2),
]


@pytest.mark.parametrize("encoder", ENCODERS, ids=lambda e: f"{type(e).__name__}-{e.column_count}")
class TestEveryEncoder:
    def test_gives_int8_spins_of_the_width_it_announces(self, encoder: InputEncoder) -> None:
        spins = encoder.encode([[0, 1], [1, 1], [1, 0]])
        assert spins.dtype == np.int8
        assert set(np.unique(spins)) == {-1, 1}
        assert encoder.spin_count in (None, spins.shape[1])

    def test_prints_one_short_line(self, encoder: InputEncoder) -> None:
        assert len(repr(encoder)) < 80
        assert "array" not in repr(encoder)

    def test_refuses_infinity(self, encoder: InputEncoder) -> None:
        with pytest.raises(AlphabetError, match="X must be finite; got inf in row 0, column 1"):
            encoder.encode([[0, np.inf]])

    def test_refuses_text(self, encoder: InputEncoder) -> None:
        with pytest.raises(AlphabetError, match="X must hold numbers"):
            encoder.encode([["a", "b"]])

    def test_refuses_rows_of_unequal_length(self, encoder: InputEncoder) -> None:
        with pytest.raises(ShapeError, match="X must be a rectangular array"):
            encoder.encode([[0, 1], [0]])

    def test_refuses_a_vector(self, encoder: InputEncoder) -> None:
        with pytest.raises(
            ShapeError, match=r"X must .*one per measured quantity; got shape \(2,\)"
        ):
            encoder.encode([0, 1])

    def test_refuses_no_examples(self, encoder: InputEncoder) -> None:
        with pytest.raises(ShapeError, match="X must have at least one row"):
            encoder.encode(np.zeros((0, 2)))


@pytest.mark.parametrize("encoder", ENCODERS[:3])
def test_a_missing_number_is_above_no_threshold(encoder: InputEncoder) -> None:
    holed = encoder.encode([[np.nan, 1.0], [np.nan, np.nan]])
    assert holed.tolist() == encoder.encode([[-9, 1], [-9, -9]]).tolist()
    assert (holed[1] == -1).all()


@pytest.mark.parametrize("encoder", ENCODERS[3:])
def test_bits_name_the_row_and_column_of_a_missing_number(encoder: InputEncoder) -> None:
    with pytest.raises(AlphabetError, match="X must be finite; got nan in row 1, column 0"):
        encoder.encode([[0.0, 1.0], [np.nan, 1.0]])


@pytest.mark.parametrize("encoder", [encoder for encoder in ENCODERS if encoder.column_count])
def test_refuses_another_number_of_columns_than_fitted(encoder: InputEncoder) -> None:
    with pytest.raises(ShapeError, match="X must have 2 columns, one per measured quantity"):
        encoder.encode([[0, 1, 0]])


@pytest.mark.parametrize("kind", [Threshold, Thermometer])
class TestEveryFit:
    def test_names_the_row_and_column_of_a_missing_number(
        self, kind: type[Threshold] | type[Thermometer]
    ) -> None:
        with pytest.raises(AlphabetError, match="X must be finite; got nan in row 0, column 1"):
            kind.fit([[0, np.nan]])

    def test_refuses_a_vector(self, kind: type[Threshold] | type[Thermometer]) -> None:
        with pytest.raises(ShapeError, match="X must be a matrix with at least one column"):
            kind.fit([0, 1])


def test_even_bins_are_centred_on_the_mean_and_ignore_outliers() -> None:
    column = np.random.default_rng(0).normal(3.0, 2.0, 10_000)
    cuts, values = even_bins(column, 31)
    np.testing.assert_allclose(np.diff(cuts), cuts[1] - cuts[0])
    assert cuts[15] == pytest.approx(3.0, abs=0.1)
    assert cuts[-1] - cuts[0] == pytest.approx(2 * 2.5 * 2.0 * 30 / 31, rel=0.05)
    assert ((values[1:-1] > cuts[:-1]) & (values[1:-1] < cuts[1:])).all()
    column[:50] = 1e6
    assert even_bins(column, 31)[0][-1] < 12


def test_skewed_columns_of_many_numbers_are_cut_at_quantiles() -> None:
    column = np.exp(2 * np.random.default_rng(0).normal(size=500))
    with_zeros = np.append(column, np.zeros(900))
    expected = quantile_bins(np.append(column, 0), 9)[0].tolist()
    assert even_bins(with_zeros, 9)[0].tolist() == expected
    few = np.repeat([0.0, 1.0, 9.0], [80, 10, 10])
    assert np.ptp(np.diff(even_bins(few, 9)[0])) < 1e-9


@pytest.mark.parametrize("column", [[1e308, -1e308, 0.0], [1e17, 1e17 + 16, 1e17 + 32], [2.0, 2.0]])
def test_even_bins_of_any_numbers_are_a_thermometer(column: list[float]) -> None:
    encoder = thermometer_of([even_bins(np.array(column), 5)])
    assert encoder.encode(np.array(column)[:, None]).shape[1] == encoder.spin_count
