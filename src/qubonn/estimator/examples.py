"""Examples, checked as scikit-learn does.

X, y -> a matrix of numbers, CSR or Cells, and labels.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array, check_X_y, validate_data

from qubonn.encoding.automatic import as_table
from qubonn.encoding.cells import as_matrix, is_plain
from qubonn.errors import ShapeError

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
