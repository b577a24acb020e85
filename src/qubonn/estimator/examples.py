"""Examples, checked as scikit-learn does.

X, y, weights -> a matrix of numbers, CSR or Cells, labels, and weights that are positive.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import check_array, check_X_y, validate_data

from qubonn.checks import require_weights
from qubonn.encoding import CodeBook
from qubonn.encoding.automatic import as_table
from qubonn.encoding.cells import as_matrix, is_plain
from qubonn.encoding.labels import require_classes
from qubonn.errors import ShapeError

MOST_REPEATED = 20  # mean of whole weights
PARTS = 4  # of the mean of other weights

CHECKS: dict[str, Any] = {
    "dtype": None,  # text and objects are kept
    "accept_sparse": "csr",
    "ensure_all_finite": "allow-nan",
}


def checked_inputs(estimator: Any, X: Any) -> Any:
    """Return the rows of `X` for a fitted estimator."""
    if is_plain(X):
        return as_table(validate_data(estimator, _rows(X), reset=False, **CHECKS))
    validate_data(estimator, X, reset=False, skip_check_array=True)
    check_array(_stand_in(X), estimator=estimator)
    return as_table(X)


def checked_examples(estimator: Any, X: Any, y: Any, *, reset: bool) -> tuple[Any, NDArray[Any]]:
    """Return the rows of `X` and their labels; names of columns are kept with `reset`."""
    _require_one_label(y)
    if is_plain(X):
        rows, labels = validate_data(estimator, _rows(X), y, reset=reset, **CHECKS)
        return as_table(rows), labels
    validate_data(estimator, X, reset=reset, skip_check_array=True)
    _, labels = check_X_y(_stand_in(X), y, estimator=estimator)
    return as_table(X), labels


def example_weights(
    class_weight: Any, labels: NDArray[Any], sample_weight: Any
) -> NDArray[Any] | None:
    """Return the weight of each example, by its class and its own; None if all are 1."""
    if class_weight is None and sample_weight is None:
        return None
    weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight)
    weights = require_weights("sample_weight", weights, count=len(labels)).astype(np.float64)
    if class_weight is not None:
        products = weights * compute_sample_weight(class_weight, labels)
        weights = require_weights("class_weight x sample_weight", products, count=len(labels))
    return None if (weights == 1).all() else weights


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """Checked examples of positive weight, and the classes that they may have."""

    numbers: Any  # a matrix, CSR or Cells
    class_of: NDArray[np.int64]
    classes: NDArray[Any]
    weights: NDArray[Any] | None
    image_shape: tuple[int, ...] | None

    @classmethod
    def of(
        cls,
        numbers: Any,
        labels: NDArray[Any],
        weights: NDArray[Any] | None,
        image_shape: tuple[int, ...] | None,
        *,
        classes: Any = None,
        kept: NDArray[Any] | None = None,
    ) -> "LabelledRows":
        """Leave out examples of weight 0, and number the classes, which may be more than occur.

        Without `classes` they are those of the labels, and must be those that are `kept`.
        """
        if weights is not None:
            used = np.flatnonzero(weights)
            numbers, labels, weights = numbers[used], labels[used], weights[used]
        if classes is None:
            classes, class_of = require_classes(labels, kept)
        else:
            classes, _ = require_classes(np.asarray(classes))
            class_of = CodeBook.one_hot(classes).class_numbers(labels)
        return cls(numbers, class_of, classes, weights, image_shape)

    @property
    def numbers_to_fit(self) -> Any:
        """The numbers, those of each example as often as its weight, about."""
        return self.numbers if self.weights is None else self.numbers[repeated(self.weights)]


def repeated(weights: NDArray[Any]) -> NDArray[np.int64]:
    """Return rows that stand for weighted examples: each as often as its weight, about.

    >>> repeated(np.array([1, 0, 2])).tolist()
    [0, 2, 2]
    """
    is_whole = (weights == np.rint(weights)).all() and weights.sum() < MOST_REPEATED * len(weights)
    times = weights if is_whole else np.ceil(weights * (PARTS / weights.mean()))
    return np.repeat(np.arange(len(weights)), times.astype(np.int64))


def _require_one_label(y: Any) -> None:
    shape: tuple[int, ...] = (
        np.shape(y) if isinstance(y, (list, tuple)) else getattr(y, "shape", ())
    )
    if len(shape) == 2 and shape[1] > 1:
        raise ShapeError(
            f"y must have one label for each example; got shape {shape}: for several labels wrap "
            "the classifier in sklearn.multioutput.MultiOutputClassifier"
        )


def _rows(X: Any) -> Any:
    return as_matrix(X) if isinstance(X, (list, tuple)) else X


def _stand_in(X: Any) -> NDArray[np.int8]:
    """Return a matrix of the shape of a frame, for checks of shapes."""
    return np.broadcast_to(np.int8(0), X.shape)
