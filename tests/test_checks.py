"""Each check gives back good values in canonical form and refuses bad ones in one sentence."""

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.sparse import csr_array

from qubonn import checks
from qubonn.errors import AlphabetError, QubonnError, RangeError, ShapeError

NAN, INFINITY = float("nan"), float("inf")


class TestRequireSeconds:
    @pytest.mark.parametrize("value", [None, 1, 0.5, np.float32(2.5), np.int64(3)])
    def test_returns_positive_numbers_and_none(self, value: Any) -> None:
        assert checks.require_seconds("time_limit", value) is value

    @pytest.mark.parametrize("value", [0, -1, NAN, INFINITY, True, "3", [3], 1j])
    def test_refuses_what_is_no_positive_number(self, value: Any) -> None:
        with pytest.raises(RangeError, match=r"^time_limit must be a positive number of seconds"):
            checks.require_seconds("time_limit", value)


class TestRequireCount:
    @pytest.mark.parametrize("value", [1, 7, np.int8(7), np.uint64(2**63)])
    def test_returns_a_python_int(self, value: object) -> None:
        checked = checks.require_count("seed", value)
        assert type(checked) is int
        assert checked == value

    def test_takes_the_least_allowed_value(self) -> None:
        assert checks.require_count("seed", 0, least=0) == 0
        with pytest.raises(RangeError, match=r"^seed must be at least 0; got -1$"):
            checks.require_count("seed", -1, least=0)

    @pytest.mark.parametrize("value", [1.0, True, np.True_, "3", None, [3], NAN, np.array(3)])
    def test_refuses_what_is_no_whole_number(self, value: object) -> None:
        with pytest.raises(RangeError, match=r"^size must be a whole number, at least 1; got "):
            checks.require_count("size", value)

    def test_shows_only_the_beginning_of_something_long(self) -> None:
        with pytest.raises(RangeError) as caught:
            checks.require_count("size", ["x"] * 10_000)
        assert len(str(caught.value)) < 200


class TestRequireStrength:
    @pytest.mark.parametrize("value", [0, 3, 3.0, np.float32(3), np.int8(3), 2**31])
    def test_returns_whole_numbers_as_int(self, value: float) -> None:
        checked = checks.require_strength("alpha", value)
        assert type(checked) is int
        assert checked == value

    @pytest.mark.parametrize("value", [0.25, 1e-300, 2**31 + 1, 2.0**40, np.float64(0.02)])
    def test_returns_fractions_and_what_is_too_large_for_exact_sums_as_float(
        self, value: float
    ) -> None:
        checked = checks.require_strength("alpha", value)
        assert type(checked) is float
        assert checked == value

    @pytest.mark.parametrize(
        "value", [-1, -0.5, NAN, INFINITY, True, np.False_, "1", None, 1j, [1]]
    )
    def test_refuses_negative_and_infinite_and_what_is_no_number(self, value: object) -> None:
        shown = f"({re.escape(str(value))}|{re.escape(repr(value))})"
        with pytest.raises(
            RangeError, match=rf"^alpha must be a finite number, at least 0; got {shown}$"
        ):
            checks.require_strength("alpha", value)

    @pytest.mark.parametrize("value", [2**41, 1e18, 1e300])
    def test_refuses_what_makes_sums_inexact(self, value: float) -> None:
        with pytest.raises(
            RangeError, match=r"^alpha must be at most 2\*\*40, so that float64 hold"
        ):
            checks.require_strength("alpha", value)

    def test_refuses_what_no_float_can_hold(self) -> None:
        with pytest.raises(RangeError, match="alpha must be a number that float64 can hold"):
            checks.require_strength("alpha", 10**400)


class TestRequireIndices:
    @pytest.mark.parametrize(
        "values",
        [[2, 0, 2], (2, 0, 2), np.array([2, 0, 2], np.uint8), (i for i in (2, 0, 2))],
        ids=["list", "tuple", "array", "generator"],
    )
    def test_returns_int64_in_the_same_order(self, values: Any) -> None:
        checked = checks.require_indices("nodes", values, below=3)
        assert checked.tolist() == [2, 0, 2]
        assert checked.dtype == np.int64

    @pytest.mark.parametrize("values", [[], (), np.zeros(0), range(0)])
    def test_takes_nothing_at_all(self, values: Any) -> None:
        checked = checks.require_indices("nodes", values, below=3)
        assert checked.shape == (0,)
        assert checked.dtype == np.int64

    @pytest.mark.parametrize(("values", "bad"), [([0, 3], 3), ([-1], -1), ([2**62], 2**62)])
    def test_names_the_first_value_out_of_range(self, values: list[int], bad: int) -> None:
        with pytest.raises(RangeError, match=rf"^nodes must lie in 0\.\.2; got {bad}$"):
            checks.require_indices("nodes", values, below=3)

    def test_does_not_wrap_large_unsigned_numbers_around(self) -> None:
        with pytest.raises(RangeError, match=f"got {2**64 - 1}"):
            checks.require_indices("nodes", np.array([2**64 - 1], np.uint64), below=2**63 - 1)

    @pytest.mark.parametrize(
        "values", [[0.5], [True], ["a"], [[0]], 3, None, [[0], [1, 2]], [10**30]]
    )
    def test_refuses_what_is_no_sequence_of_whole_numbers(self, values: Any) -> None:
        with pytest.raises(ShapeError, match=r"^nodes must be a sequence of whole numbers; got "):
            checks.require_indices("nodes", values, below=3)


class TestRequireSpins:
    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.float32, np.float64])
    def test_returns_int8(self, dtype: type) -> None:
        values: NDArray[Any] = np.array([1, -1, -1], dtype=dtype)
        checked = checks.require_spins("w", values, count=3, of="weight")
        assert checked.tolist() == [1, -1, -1]
        assert checked.dtype == np.int8

    def test_takes_no_values_where_none_are_wanted(self) -> None:
        assert checks.require_spins("w", [], count=0, of="weight").shape == (0,)

    @pytest.mark.parametrize("values", [[1], [1, 1, 1], [[1, 1]], 1, []])
    def test_refuses_another_number_of_values(self, values: Any) -> None:
        shape = re.escape(str(np.shape(values)))
        with pytest.raises(
            ShapeError, match=rf"^w must have 2 values, one per weight; got shape {shape}$"
        ):
            checks.require_spins("w", values, count=2, of="weight")

    def test_tells_who_comes_with_bits_how_to_make_spins(self) -> None:
        with pytest.raises(
            AlphabetError,
            match=r"^w must be -1 or \+1; got 0 at place 1; turn bits into spins with 2 \* bits",
        ):
            checks.require_spins("w", [1, 0], count=2, of="weight")
        with pytest.raises(AlphabetError, match=r"got 0 at place 1; turn bits"):
            checks.require_spins("w", [True, False], count=2, of="weight")

    @pytest.mark.parametrize("bad", [2, -3, 0.5, NAN, INFINITY])
    def test_tells_who_comes_with_other_numbers_how_to_encode_them(self, bad: float) -> None:
        with pytest.raises(
            AlphabetError,
            match=rf"^w must be -1 or \+1; got {bad} at place 1; turn classes into spins with",
        ):
            checks.require_spins("w", [-1, bad], count=2, of="weight")


class TestRequireSpinMatrix:
    def test_returns_int8(self) -> None:
        checked = checks.require_spin_matrix("y", [[1.0, -1.0]], columns=2, of="output", rows=1)
        assert checked.tolist() == [[1, -1]]
        assert checked.dtype == np.int8

    def test_refuses_another_number_of_rows(self) -> None:
        with pytest.raises(ShapeError, match=r"^y must have 3 rows, one per example; got 1$"):
            checks.require_spin_matrix("y", [[1, -1]], columns=2, of="output", rows=3)

    def test_names_row_and_column_of_the_first_bad_value(self) -> None:
        with pytest.raises(AlphabetError, match=r"^y must be -1 or \+1; got 7 in row 1, column 0;"):
            checks.require_spin_matrix("y", [[1, 1], [7, 0]], columns=2, of="output")


class TestRequireRealMatrix:
    def test_returns_numbers_as_they_are(self) -> None:
        values = np.array([[0.5, -2.0], [0.0, 1e300]])
        assert checks.require_real_matrix("X", values, columns=2, of="input") is values

    def test_takes_rows_without_columns(self) -> None:
        assert checks.require_real_matrix("X", [[], []], columns=0, of="input").shape == (2, 0)

    def test_looks_for_what_is_not_finite_where_require_matrix_does_not(self) -> None:
        values = np.array([[NAN, 1.0]])
        assert checks.require_matrix("X", values, columns=2, of="input") is values
        with pytest.raises(ShapeError, match=r"^X must have 3 columns, one per input; got shape"):
            checks.require_matrix("X", values, columns=3, of="input")

    @pytest.mark.parametrize("bad", [NAN, INFINITY, -INFINITY])
    def test_names_row_and_column_of_what_is_not_finite(self, bad: float) -> None:
        with pytest.raises(
            AlphabetError,
            match=rf"^X must be finite; got {bad} in row 1, column 0: fill in or remove such rows",
        ):
            checks.require_real_matrix("X", [[1.0, 2.0], [bad, bad]], columns=2, of="input")

    @pytest.mark.parametrize(
        ("columns", "shape", "hint"),
        [
            (3, (3,), "; give one example as a matrix of one row"),
            (0, (0,), "; give one example as a matrix of one row"),
            (1, (5,), "; give a vector as one column, with values[:, None]"),
            (3, (3, 5), "; examples are rows: transpose it"),
            (4, (5, 2, 2), "; flatten each example, with values.reshape(len(values), -1)"),
            (3, (5, 2), ""),
            (3, (), ""),
            (3, (2, 2, 2), ""),
        ],
    )
    def test_says_what_to_do_about_a_common_wrong_shape(
        self, columns: int, shape: tuple[int, ...], hint: str
    ) -> None:
        with pytest.raises(ShapeError) as caught:
            checks.require_real_matrix("X", np.ones(shape), columns=columns, of="input")
        assert str(caught.value) == (
            f"X must have {columns} columns, one per input; got shape {shape}{hint}"
        )

    def test_refuses_a_matrix_without_rows(self) -> None:
        with pytest.raises(ShapeError, match=r"^X must have at least one row, .* got none$"):
            checks.require_real_matrix("X", np.ones((0, 3)), columns=3, of="input")

    @pytest.mark.parametrize(
        ("values", "said"),
        [
            ([["a", "b"]], "text such as 'a': encode it first, classes with a CodeBook"),
            (np.array([[b"a", b"b"]]), "text such as"),
            (np.zeros((0, 2), dtype="U3"), "text such as ''"),
            ([[1, None]], "None among them: replace it by a number first"),
            (None, "None among them"),
            ({1, 2}, "{1, 2} among them"),
            ([[10**30, 1]], "object: turn it into real numbers with astype(float) first"),
            ([[1j, 0]], "complex128: turn it into real numbers"),
            (np.zeros((1, 2), dtype="M8[s]"), "datetime64[s]: turn it into real numbers"),
            (csr_array(np.eye(2)), "a sparse csr_array: call its toarray() first"),
        ],
    )
    def test_says_what_it_got_instead_of_numbers(self, values: Any, said: str) -> None:
        with pytest.raises(AlphabetError, match=f"^X must hold numbers; got {re.escape(said)}"):
            checks.require_real_matrix("X", values, columns=2, of="input")

    def test_refuses_rows_of_unequal_length(self) -> None:
        with pytest.raises(ShapeError, match=r"^X must be a rectangular array; got rows of uneq"):
            checks.require_real_matrix("X", [[1], [1, 2]], columns=2, of="input")


class TestRequireRealVector:
    def test_returns_numbers_as_they_are(self) -> None:
        assert checks.require_real_vector("x", [0.5, 2], count=2, of="input").tolist() == [0.5, 2.0]

    def test_refuses_a_matrix_with_a_hint(self) -> None:
        with pytest.raises(
            ShapeError,
            match=r"^x must have 2 values, one per input; got shape \(3, 2\); give the rows one by",
        ):
            checks.require_real_vector("x", np.ones((3, 2)), count=2, of="input")

    def test_refuses_another_number_of_values(self) -> None:
        with pytest.raises(ShapeError, match=r"^x must have 2 values, .* got shape \(3,\)$"):
            checks.require_real_vector("x", [1, 2, 3], count=2, of="input")

    def test_names_the_place_of_what_is_not_finite(self) -> None:
        with pytest.raises(AlphabetError, match=r"^x must be finite; got nan at place 1: fill it"):
            checks.require_real_vector("x", [1, NAN], count=2, of="input")


class TestRequireAMatrixOfAnyWidth:
    def test_returns_the_matrix(self) -> None:
        assert checks.require_matrix("X", np.ones((2, 3)), columns=None, of="pixel").shape == (2, 3)

    @pytest.mark.parametrize("shape", [(3,), (2, 0), (), (1, 2, 3)])
    def test_refuses_what_has_no_columns(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(
            ShapeError,
            match="^X must be a matrix with at least one column, one per pixel; "
            + re.escape(f"got shape {shape}"),
        ):
            checks.require_matrix("X", np.ones(shape), columns=None, of="pixel")


class TestRequireBits:
    @pytest.mark.parametrize("values", [[0, 1, 1], [False, True, True], [0.0, 1.0, 1.0]])
    def test_returns_int8(self, values: list[Any]) -> None:
        checked = checks.require_bits("bits", values, count=3)
        assert checked.tolist() == [0, 1, 1]
        assert checked.dtype == np.int8
        assert checks.require_bits("bits", [values, values], count=3).shape == (2, 3)

    @pytest.mark.parametrize("shape", [(2,), (3, 2), (), (1, 1, 3)])
    def test_refuses_another_number_of_values(self, shape: tuple[int, ...]) -> None:
        with pytest.raises(
            ShapeError,
            match="^bits must have 3 values, one per variable; " + re.escape(f"got shape {shape}"),
        ):
            checks.require_bits("bits", np.ones(shape), count=3)

    def test_tells_who_comes_with_spins_how_to_make_bits(self) -> None:
        with pytest.raises(
            AlphabetError,
            match=r"^bits must be 0 or 1; got -1 at place 1; turn spins into bits with \(spins",
        ):
            checks.require_bits("bits", [1, -1], count=2)

    @pytest.mark.parametrize("bad", [2, 0.5, NAN])
    def test_names_row_and_column_of_the_first_bad_value(self, bad: float) -> None:
        with pytest.raises(
            AlphabetError, match=rf"^bits must be 0 or 1; got {bad} in row 1, column 0$"
        ):
            checks.require_bits("bits", np.array([[0, 1], [bad, 1]]), count=2)


class TestRequireMemory:
    def test_does_not_even_ask_for_little(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "free_memory", lambda: 0)
        checks.require_memory("a trifle", checks.HARMLESS_BYTES)

    def test_refuses_more_than_is_free(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(checks, "free_memory", lambda: 3 << 30)
        checks.require_memory("a QUBO", 3 << 30)
        with pytest.raises(
            RangeError,
            match=r"^a QUBO needs about 3\.5 GiB and 3\.0 GiB are free: use fewer examples or a sm",
        ):
            checks.require_memory("a QUBO", 7 << 29)

    def test_refuses_an_exbibyte(self) -> None:
        with pytest.raises(RangeError, match="GiB are free"):
            checks.require_memory("a QUBO", 1 << 60)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=12,
)


@given(VALUES)
def test_whatever_comes_is_returned_clean_or_refused_on_purpose(values: Any) -> None:
    def attempt(check: Any, **options: Any) -> None:
        try:
            checked = check("it", values, **options)
        except QubonnError as error:
            assert str(error).startswith("it must ")  # noqa: PT017 - most values are refused
            assert len(str(error)) < 300  # noqa: PT017
        else:
            assert type(checked) in (int, float) or checked.dtype.kind in "iuf"

    attempt(checks.require_count)
    attempt(checks.require_strength)
    attempt(checks.require_indices, below=3)
    attempt(checks.require_spins, count=2, of="weight")
    attempt(checks.require_spin_matrix, columns=2, of="output")
    attempt(checks.require_real_matrix, columns=2, of="input")
    attempt(checks.require_matrix, columns=2, of="input")
    attempt(checks.require_real_vector, count=2, of="input")
    attempt(checks.require_matrix, columns=None, of="pixel")
    attempt(checks.require_bits, count=2)


def test_every_refusal_is_also_the_value_error_that_people_expect() -> None:
    assert issubclass(RangeError, ValueError)
    assert issubclass(ShapeError, ValueError)
    assert issubclass(AlphabetError, ValueError)
