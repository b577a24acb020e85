"""Table: labelled examples read from a file, before binarisation.

Inputs, labels, names of columns.
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
    names: tuple[str, ...] | None = None  # of the columns, if the file has any
    target: str | None = None  # name of the labels
    skipped_count: int = 0  # rows with missing values

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def column_count(self) -> int:
        """Numbers in each example."""
        return int(np.prod(self.inputs.shape[1:], dtype=np.int64))

    @property
    def known_labels(self) -> NDArray[Any]:
        """The labels; an error if the file has none."""
        if self.labels is None:
            raise ShapeError(f"{self.source} must have labels to learn from; it has none")
        return self.labels

    def labels_among(self, classes: NDArray[Any], owner: object) -> NDArray[Any]:
        """Return the labels in the type of `classes`; an error if none of them is a class.

        Classes may be text while the labels of one file happen to be all whole numbers.
        """
        labels = self.known_labels
        if classes.dtype.kind not in "biuf":
            labels = labels.astype(str)
        if not np.isin(labels, classes).any():
            raise AlphabetError(
                f"{self.source} must have labels such as {classes.tolist()[0]!r:.60}, as {owner} "
                f"has; got {labels.tolist()[0]!r:.60}, and no known label"
            )
        return labels

    def split(self, test_share: float, seed: int) -> tuple["Table", "Table | None"]:
        """Return training and test examples, both with the same shares of classes.

        Classes with one example are only in the training examples. Without enough examples for one
        of each class on both sides, there is no test.
        """
        from sklearn.model_selection import train_test_split

        _, class_of, counts = np.unique(self.known_labels, return_inverse=True, return_counts=True)
        is_alone = counts[class_of] < 2
        rows = np.flatnonzero(~is_alone)
        test_count, class_count = round(test_share * len(rows)), int((counts > 1).sum())
        if not 0 < class_count <= min(test_count, len(rows) - test_count):
            return self, None
        train, test = train_test_split(
            rows, test_size=test_count, stratify=class_of[rows], random_state=seed % 2**32
        )
        kept = np.concatenate([train, np.flatnonzero(is_alone)])
        return self.rows(np.sort(kept)), self.rows(np.sort(test))

    def some_per_class(self, count: int | None, seed: int) -> "Table":
        """Return at most `count` examples of each class, drawn at random; None for all."""
        if count is None:
            return self
        generator = np.random.default_rng(seed + 1)  # not the stream of other draws with this seed
        labels = self.known_labels
        drawn = [
            generator.permutation(np.flatnonzero(labels == label))[:count]
            for label in np.unique(labels)
        ]
        return self.rows(np.sort(np.concatenate(drawn)))

    def rows(self, numbers: NDArray[np.int64]) -> "Table":
        """Return the examples with these indices."""
        labels = None if self.labels is None else self.labels[numbers]
        return replace(self, inputs=self.inputs[numbers], labels=labels, skipped_count=0)

    def __repr__(self) -> str:
        shape = " x ".join(str(size) for size in self.inputs.shape[1:])
        labels = "no labels" if self.labels is None else f"{len(np.unique(self.labels))} classes"
        return f"Table({self.source}: {len(self)} examples of {shape} numbers, {labels})"


def label_array(source: str, cells: Sequence[str]) -> NDArray[Any]:
    """Return labels as int64 if all are whole numbers in their usual form, else as text.

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
    """Return names for an error message; of many names the first eight and a count.

    >>> listed(["a", "b"])
    "'a', 'b'"
    """
    shown = ", ".join(f"{name!r:.40}" for name in names[:SHOWN_NAMES])
    more = len(names) - SHOWN_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _is_whole(cell: str) -> bool:
    digits = cell.removeprefix("-")
    return digits.isascii() and digits.isdigit() and str(int(cell)) == cell
