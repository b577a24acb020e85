from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qubonn.encoding.cells import Cells, as_matrix, is_plain, words_of
from qubonn.errors import AlphabetError, CellTypeError, ShapeError


class Series:
    """A column of a frame that is neither pandas' nor polars'."""

    def __init__(self, values: list[Any], dtype: Any = None) -> None:
        self.values, self.dtype = values, dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        return np.array(self.values, dtype=dtype)


class Frame:
    """The least that a frame has: columns by name, each with a type."""

    def __init__(self, **columns: Series) -> None:
        self.by_name = columns
        self.columns = list(columns)
        self.dtypes = [series.dtype for series in columns.values()]
        self.shape = (len(next(iter(columns.values())).values), len(columns))

    def __getitem__(self, name: str) -> Series:
        return self.by_name[name]


def lists(cells: Cells) -> list[list[Any]]:
    return [column.tolist() for column in cells.columns]


def test_a_column_is_of_numbers_unless_a_cell_is_text() -> None:
    cells = Cells.of(np.array([[1, "a", True, None], [None, 2, False, None]], dtype=object))
    assert [column.dtype.kind for column in cells.columns] == ["f", "O", "f", "f"]
    assert np.array_equal(cells.columns[0], [1, np.nan], equal_nan=True)
    assert lists(cells)[1:3] == [["a", "2"], [1.0, 0.0]]


def test_one_number_has_one_text() -> None:
    cells = [1, 1.0, np.float32(1), True, 2.5, "x\0", 10**20, float("nan"), None]
    words = ["1", "1", "1", "True", "2.5", "x", "1" + "0" * 20, None, None]
    assert words_of("a", cells).tolist() == words


def test_text_arrays_are_words_and_lists_with_text_keep_their_numbers() -> None:
    assert lists(Cells.of(np.array([["1", "a"]]))) == [["1"], ["a"]]
    assert lists(Cells.of(np.array([[b"caf\xc3\xa9"]]))) == [["café"]]
    assert lists(Cells.of([[1, "a"], [2, "b"]])) == [[1.0, 2.0], ["a", "b"]]
    assert as_matrix([[1, 2]]).dtype.kind == "i"


def test_rows_can_be_sliced() -> None:
    cells = Cells.of([[1, "a"], [2, "b"]])
    assert cells.shape == (2, 2)
    assert lists(cells[:1]) == [[1.0], ["a"]]


def test_a_frame_is_whatever_has_columns_with_types() -> None:
    frame = Frame(size=Series([1, 2], np.dtype("i8")), colour=Series(["red", None], "string"))
    assert lists(Cells.of(frame)) == [[1.0, 2.0], ["red", None]]
    assert Cells.of(frame).titles == ("'size'", "'colour'")
    assert not is_plain(frame)
    assert is_plain(Frame(size=frame["size"]))
    assert is_plain([["a"]])


def test_pandas_columns_of_every_kind_are_read() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {
            "float": [1.5, np.nan],
            "whole": pandas.array([1, None], dtype="Int64"),
            "truth": pandas.array([True, None], dtype="boolean"),
            "plain truth": [True, False],
            "object": ["a", None],
            "string": pandas.array(["a", None], dtype="string"),
            "category": pandas.Categorical([2, None], categories=[1, 2]),
            "numbers and text": [1, "x"],
        }
    )
    cells = Cells.of(frame)
    words = [column.tolist() for column in cells.columns if column.dtype.kind == "O"]
    assert words == [["a", None], ["a", None], ["2", None], ["1", "x"]]
    numbers = np.array([[1.5, np.nan], [1, np.nan], [1, np.nan], [1, 0]])
    assert np.array_equal(np.stack(cells.columns[:4]), numbers, equal_nan=True)
    twice = pandas.DataFrame([[1, "a"]], columns=["same", "same"])
    assert lists(Cells.of(twice)) == [[1.0], ["a"]]


@pytest.mark.parametrize(
    ("X", "error", "words"),
    [
        ([["a", {}]], CellTypeError, "argument must be a table of strings, numbers.*column 1"),
        (np.array([["2020-01-01"]], dtype="M8[D]"), CellTypeError, "turn dates"),
        (
            [["a", np.inf]],
            AlphabetError,
            "column 1 of X must hold finite numbers; got inf in row 0",
        ),
        ([["a", 10**400]], AlphabetError, "fit float64"),
        (["a", "b"], ShapeError, "rows and columns"),
        ([["a"], ["b", "c"]], ShapeError, "unequal length"),
    ],
)
def test_what_is_no_table_is_refused(X: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        Cells.of(X)
