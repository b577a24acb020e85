"""TableEncoder: numbers, words and missing cells as spins.

Columns of a table -> codes, a number for each cell -> spins.  The codes are what exported models
read: a number as it is, the index of a word, NaN for a missing cell.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import IntVector, SpinMatrix, require_indices
from qubonn.encoding.cells import Cells, Column, words_of
from qubonn.encoding.inputs import FloatMatrix, FloatVector, finite_numbers, store
from qubonn.errors import AlphabetError, RangeError, ShapeError

ABOVE, EQUAL, MISSING = range(3)  # rules: a spin is +1 where a code is above, equal, or NaN
MOST_WORDS = 32  # of one column with a spin each

Rules = list[tuple[int, float]]  # rule and level of each spin of a column
ColumnCode = tuple[list[str] | None, Rules]  # words, None for numbers; spins


@dataclass(frozen=True, eq=False, init=False)
class TableEncoder:
    """Spins of a table with words or missing cells; `QuboClassifier` fits one where it needs one.

    Spins go column by column. Spin s belongs to column ``column_of[s]`` and is +1 where the code of
    the cell is above ``levels[s]`` (rule 0), equal to it (rule 1), or missing (rule 2). The code of
    a number is the number, that of a word its index in `categories`, or their count if it is not
    among them, and that of a missing cell NaN. `words` are all categories, column by column;
    `word_counts` are their numbers, -1 for a column of numbers.

    >>> encoder = TableEncoder([0, 0, 1], [1, 1, 0], [0, 1, 2.5], ["blue", "red"], [2, -1])
    >>> X = [["red", 3], ["green", 2], [None, float("nan")]]
    >>> encoder.codes(X).tolist()
    [[1.0, 3.0], [2.0, 2.0], [nan, nan]]
    >>> encoder.encode(X).tolist()
    [[-1, 1, 1], [-1, -1, -1], [-1, -1, -1]]
    """

    column_of: IntVector
    rule_of: IntVector
    levels: FloatVector
    words: NDArray[np.str_]
    word_counts: IntVector

    def __init__(
        self,
        column_of: Any,
        rule_of: Any,
        levels: ArrayLike,
        words: Iterable[str] | NDArray[Any],
        word_counts: ArrayLike,
    ) -> None:
        counts, texts = np.asarray(word_counts), np.asarray(words)
        if counts.ndim != 1 or counts.dtype.kind != "i" or not counts.size or counts.min() < -1:
            raise ShapeError("word_counts must be a whole number for each column, -1 for numbers")
        if not texts.size:
            texts = np.zeros(0, dtype=np.str_)
        store(
            self,
            column_of=require_indices("column_of", column_of, below=counts.size),
            rule_of=require_indices("rule_of", rule_of, below=3),
            levels=finite_numbers("levels", levels),
            words=texts.copy(),
            word_counts=counts.astype(np.int64),
        )
        self._require_consistent()

    @property
    def column_count(self) -> int:
        """Number of columns that `encode` accepts."""
        return len(self.word_counts)

    @property
    def spin_count(self) -> int:
        """Number of spins for each example."""
        return len(self.column_of)

    @cached_property
    def categories(self) -> tuple[tuple[str, ...] | None, ...]:
        """The words of each column that have a code of their own; None for a column of numbers."""
        words, ends = self.words.tolist(), np.cumsum(np.maximum(self.word_counts, 0)).tolist()
        return tuple(
            None if count < 0 else tuple(words[end - count : end])
            for count, end in zip(self.word_counts.tolist(), ends, strict=True)
        )

    def codes(self, X: Any) -> FloatMatrix:
        """Return a number for each cell: what an exported model reads."""
        cells = self._cells(X)
        codes = [self._codes(cells, column) for column in range(self.column_count)]
        return np.stack(codes, axis=1)

    def encode(self, X: Any) -> SpinMatrix:
        """Return one row of spins for each row of a DataFrame, an array or lists."""
        cells = self._cells(X)
        spins = np.full((len(cells), self.spin_count), -1, dtype=np.int8)
        ends = np.searchsorted(self.column_of, np.arange(self.column_count + 1)).tolist()
        for column, (first, end) in enumerate(pairwise(ends)):
            codes = self._codes(cells, column)[:, np.newaxis]
            rule, level = self.rule_of[first:end], self.levels[first:end]
            is_up = np.where(rule == ABOVE, codes > level, codes == level)
            is_up = np.where(rule == MISSING, np.isnan(codes), is_up)
            spins[:, first:end][is_up] = 1
        return spins

    def __repr__(self) -> str:
        of_words = int((self.word_counts >= 0).sum())
        return (
            f"TableEncoder({self.column_count} columns, {of_words} of words, "
            f"{self.spin_count} spins)"
        )

    def _cells(self, X: Any) -> Cells:
        cells = Cells.of(X)
        if cells.shape[1] != self.column_count or not len(cells):
            raise ShapeError(
                f"X must have {self.column_count} columns and at least one row; "
                f"got shape {cells.shape}"
            )
        return cells

    def _codes(self, cells: Cells, column: int) -> FloatVector:
        words, values = self.categories[column], cells.columns[column]
        if words is None:
            if values.dtype.kind != "f":
                word = next(word for word in values if word is not None)
                raise AlphabetError(
                    f"column {cells.titles[column]} of X must hold numbers, as in training; "
                    f"got {word!r:.40}"
                )
            return values
        if values.dtype.kind == "f":
            values = words_of(cells.titles[column], values.tolist())
        index_of: dict[Any, float] = {word: float(n) for n, word in enumerate(words)}
        index_of[None] = np.nan
        unknown = float(len(words))
        codes = (index_of.get(word, unknown) for word in values)
        return np.fromiter(codes, dtype=np.float64, count=len(values))

    def _require_consistent(self) -> None:
        if not self.column_of.shape == self.rule_of.shape == self.levels.shape != (0,):
            raise ShapeError("column_of, rule_of and levels must have an entry for each spin")
        if (np.diff(self.column_of) < 0).any():
            raise RangeError("column_of must not fall")
        if self.words.ndim != 1 or self.words.dtype.kind != "U":
            raise AlphabetError("words must be a vector of text")
        counts, total = np.maximum(self.word_counts, 0), len(self.words)
        if counts.max() > total or counts.sum() != total:
            raise ShapeError("word_counts must add up to the number of words")
        is_word = self.rule_of == EQUAL
        indices, below = self.levels[is_word], self.word_counts[self.column_of[is_word]]
        if not ((indices >= 0) & (indices < below) & (indices % 1 == 0)).all():
            raise RangeError(
                "a spin of rule 1 must have the index of a word of its column as level"
            )
        if any(len(set(words)) < len(words) for words in self.categories if words):
            raise AlphabetError("the words of a column must be distinct")


def number_code(thresholds: FloatVector, *, has_missing: bool) -> ColumnCode:
    """Return the code of a column of numbers: thresholds, and a spin for missing cells if any."""
    rules: Rules = [(ABOVE, float(level)) for level in thresholds]
    return None, rules + [(MISSING, 0.0)] * has_missing


def word_code(column: Column) -> ColumnCode:
    """Return the code of a column of words: a spin for each, or one spin for two words.

    Of more than 32 words the most frequent are kept, if they occur more than once, and the others
    share a spin. Missing cells have a spin if there are any.

    >>> word_code(np.array(["b", "a", "c", "a"], dtype=object))
    (['a', 'b', 'c'], [(1, 0.0), (1, 1.0), (1, 2.0)])
    >>> word_code(np.array(["no", "yes", None], dtype=object))
    (['no', 'yes'], [(1, 1.0), (2, 0.0)])
    """
    counts = Counter(word for word in column if word is not None)
    words = sorted(counts)
    is_cut = len(words) > MOST_WORDS
    if is_cut:
        frequent = sorted(words, key=lambda word: -counts[word])[:MOST_WORDS]  # ties: by alphabet
        words = sorted(word for word in frequent if counts[word] > 1)
    first = 1 if len(words) == 2 and not is_cut else 0
    rules: Rules = [(EQUAL, float(index)) for index in range(first, len(words))]
    rules += [(ABOVE, len(words) - 0.5)] * is_cut
    return words, rules + [(MISSING, 0.0)] * (counts.total() < len(column))


def table_of(columns: Iterable[ColumnCode]) -> TableEncoder:
    """Return the encoder of columns with these codes."""
    codes = list(columns)
    rules = [(column, *rule) for column, (_, rules) in enumerate(codes) for rule in rules]
    words = [word for words, _ in codes for word in words or ()]
    counts = [-1 if words is None else len(words) for words, _ in codes]
    column_of, rule_of, levels = zip(*rules, strict=True)
    return TableEncoder(column_of, rule_of, levels, words, counts)
