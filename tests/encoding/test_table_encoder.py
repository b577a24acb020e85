from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qubonn.encoding import TableEncoder, Thermometer
from qubonn.encoding.automatic import fit_binariser
from qubonn.encoding.cells import Cells
from qubonn.errors import AlphabetError, QubonnError, ShapeError

NUMBERS = st.none() | st.sampled_from([0, 1, 2.5, -3, 1e9])
WORDS = st.none() | st.sampled_from(["red", "blue", "", "1", "é"])
TABLES = st.lists(st.tuples(NUMBERS, WORDS, WORDS), min_size=1, max_size=12)


def fitted(X: Any, wanted: Any = "auto") -> TableEncoder:
    encoder = fit_binariser(wanted, Cells.of(X))
    assert isinstance(encoder, TableEncoder)
    return encoder


def slow_spin(encoder: TableEncoder, spin: int, row: Any) -> int:
    """One spin of one row, by the words of the docstring."""
    column = int(encoder.column_of[spin])
    cell, words, level = row[column], encoder.categories[column], encoder.levels[spin]
    if encoder.rule_of[spin] == 2:
        return 1 if cell is None else -1
    if cell is None:
        return -1
    code = cell if words is None else words.index(cell) if cell in words else len(words)
    return 1 if (code > level if encoder.rule_of[spin] == 0 else code == level) else -1


@given(TABLES, TABLES)
def test_spins_are_those_of_the_slow_version(train: Any, test: Any) -> None:
    encoder = fitted(np.array([(0, "red", "red"), *train], dtype=object))
    rows = np.array(test, dtype=object)
    spins = [[slow_spin(encoder, spin, row) for spin in range(encoder.spin_count)] for row in test]
    assert encoder.encode(rows).tolist() == spins


@given(TABLES)
def test_cells_that_differ_in_words_or_in_being_missing_have_different_spins(table: Any) -> None:
    encoder = fitted(np.array(table, dtype=object))
    spins = encoder.encode(np.array(table, dtype=object))[:, encoder.column_of > 0]
    shown = {tuple(row[1:]): tuple(spin) for row, spin in zip(table, spins.tolist(), strict=True)}
    assert len(set(shown.values())) == len(shown)


def test_every_word_has_a_spin_and_an_unknown_one_has_none() -> None:
    encoder = fitted([["red"], ["blue"], ["green"], ["red"]])
    assert encoder.categories == (("blue", "green", "red"),)
    assert encoder.encode([["red"], ["blue"], ["grey"], [None]]).tolist() == [
        [-1, -1, 1],
        [1, -1, -1],
        [-1, -1, -1],
        [-1, -1, -1],
    ]
    assert encoder.codes([["red"], ["grey"]]).tolist() == [[2], [3]]


def test_two_words_share_one_spin() -> None:
    encoder = fitted([["no"], ["yes"], ["no"]])
    assert encoder.encode([["no"], ["yes"], ["maybe"]]).tolist() == [[-1], [1], [-1]]


def test_a_missing_cell_is_one_spin_and_above_no_threshold() -> None:
    encoder = fitted([[1.0, "a"], [None, "b"], [2.0, "c"]], 1)
    assert encoder.encode([[None, "a"], [3.0, "a"]])[:, :2].tolist() == [[-1, 1], [1, -1]]
    assert (encoder.encode([[1.0, None]])[0, 2:] == -1).all()  # none was missing in training


def test_of_many_words_the_most_frequent_are_kept_and_others_share_a_spin() -> None:
    words = [f"w{n:02}" for n in range(40) for _ in range(2 if n < 35 else 1)]
    encoder = fitted([[word] for word in words])
    assert encoder.categories == (tuple(f"w{n:02}" for n in range(32)),)
    for other in ("w33", "w39", "never seen"):
        assert encoder.encode([[other]]).tolist() == [[-1] * 32 + [1]]
    assert encoder.encode([[None]]).tolist() == [[-1] * 33]


def test_words_that_never_repeat_are_all_others() -> None:
    encoder = fitted([[f"name {n}"] for n in range(50)])
    assert encoder.spin_count == 1
    assert encoder.encode([["name 1"], ["x"]]).tolist() == [[1], [1]]


def test_a_column_without_any_cell_is_only_missing() -> None:
    encoder = fitted([[None, "a"], [None, "b"]])
    assert encoder.encode([[None, "a"], [5.0, "a"]])[:, 0].tolist() == [1, -1]


def test_numbers_are_found_among_words_by_their_text() -> None:
    encoder = fitted(np.array([["1"], ["2"], ["x"]]))
    assert (
        encoder.encode(np.array([[1.0], [2.0]])).tolist() == encoder.encode([["1"], ["2"]]).tolist()
    )


def test_numbers_with_gaps_get_the_thresholds_of_the_numbers_that_are_there() -> None:
    numbers = np.random.default_rng(0).normal(size=(80, 2))
    holed = numbers.copy()
    holed[60:] = np.nan
    encoder, twin = fit_binariser(5, holed), fit_binariser(5, numbers[:60])
    assert isinstance(encoder, TableEncoder)
    assert isinstance(twin, Thermometer)
    assert encoder.levels[encoder.rule_of == 0].tolist() == twin.thresholds.tolist()
    assert (
        encoder.encode(numbers)[:, encoder.rule_of == 0].tolist() == twin.encode(numbers).tolist()
    )


def test_text_in_a_column_of_numbers_is_refused() -> None:
    encoder = fitted([[1.0, "a"], [2.0, "b"]])
    with pytest.raises(
        AlphabetError, match="column 0 of X must hold numbers, as in training; got 'x'"
    ):
        encoder.encode([["x", "a"]])
    with pytest.raises(ShapeError, match="X must have 2 columns"):
        encoder.encode([["x"]])


GOOD: dict[str, Any] = {
    "column_of": [0, 0, 1],
    "rule_of": [1, 1, 0],
    "levels": [0, 1, 2.5],
    "words": np.array(["blue", "red"]),
    "word_counts": np.array([2, -1]),
}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("column_of", [0, 0, 2]),
        ("column_of", [1, 0, 0]),
        ("column_of", [0, 0]),
        ("rule_of", [1, 1, 3]),
        ("levels", [0, 1, np.nan]),
        ("levels", [[0, 1, 2]]),
        ("levels", [0, 0.5, 2.5]),
        ("levels", [0, 2, 2.5]),
        ("rule_of", [1, 1, 1]),
        ("words", np.array([1, 2])),
        ("words", np.array([["blue", "red"]])),
        ("words", np.array(["red", "red"])),
        ("words", np.array(["red"])),
        ("word_counts", np.array([2, -2])),
        ("word_counts", np.array([2.0, -1])),
        ("word_counts", np.array([2**62] * 3 + [2**62 + 2])),
        ("word_counts", np.zeros(0, dtype=int)),
    ],
)
def test_parts_that_do_not_fit_are_refused(part: str, value: Any) -> None:
    assert TableEncoder(**GOOD).spin_count == 3
    with pytest.raises(QubonnError):
        TableEncoder(**(GOOD | {part: value}))


def test_an_encoder_prints_its_size() -> None:
    assert repr(TableEncoder(**GOOD)) == "TableEncoder(2 columns, 1 of words, 3 spins)"
