"""Table: labelled examples as they came out of a file.

Inputs, labels, names of columns; nothing is binarised yet.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import AlphabetError, ShapeError

SHOWN_NAMES = 8


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Examples read from a file: numbers, and labels if there are any.

    ``inputs`` is examples x columns, or examples x rows x columns (and channels first, if any)
    where the file holds images. ``labels`` are int64 if all are whole numbers, otherwise text.
    """

    source: str
    inputs: NDArray[Any]
    labels: NDArray[Any] | None = None
    names: tuple[str, ...] | None = None  # of the columns, where the file has any
    target: str | None = None  # what the labels are called
    skipped_count: int = 0  # rows left out because of missing values

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def column_count(self) -> int:
        """Numbers in each example."""
        return int(np.prod(self.inputs.shape[1:], dtype=np.int64))

    @property
    def known_labels(self) -> NDArray[Any]:
        """The labels; an error where the file has none."""
        if self.labels is None:
            raise ShapeError(f"{self.source} must have labels to learn from; it has none")
        return self.labels

    def rows(self, numbers: NDArray[np.int64]) -> "Table":
        """Return some of the examples."""
        labels = None if self.labels is None else self.labels[numbers]
        return replace(self, inputs=self.inputs[numbers], labels=labels, skipped_count=0)

    def __repr__(self) -> str:
        shape = " x ".join(str(size) for size in self.inputs.shape[1:])
        labels = "no labels" if self.labels is None else f"{len(np.unique(self.labels))} classes"
        return f"Table({self.source}: {len(self)} examples of {shape} numbers, {labels})"


def label_array(source: str, cells: Sequence[str]) -> NDArray[Any]:
    """Return labels as int64 where all are whole numbers in their usual form, else as text.

    >>> label_array("d.csv", ["3", "-1"]), label_array("d.csv", ["007", "3"])
    (array([ 3, -1]), array(['007', '3'], dtype='<U3'))
    """
    distinct = set(cells)
    if all(len(cell) < 19 and _is_whole(cell) for cell in distinct):
        return np.array([int(cell) for cell in cells], dtype=np.int64)
    longest = max(map(len, distinct), default=1)
    if longest > 200:
        raise AlphabetError(
            f"{source}: labels must be at most 200 characters long; got one of {longest}"
        )
    return np.array(cells, dtype=np.str_)


def listed(names: Sequence[str]) -> str:
    """Return names as people read them in an error, however many there are.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(f"{name!r:.40}" for name in names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _is_whole(cell: str) -> bool:
    digits = cell.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(cell)) == cell
