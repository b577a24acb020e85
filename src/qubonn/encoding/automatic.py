"""The encoder of a matrix, chosen by the numbers in its columns.

Matrix of numbers -> InputEncoder.  Paper, section "Experimental set-up" (several input nodes for
each pixel of a grey-scale image).
"""

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.encoding import InputEncoder, Thermometer, Threshold
from qubonn.encoding.inputs import Bins, quantile_bins, thermometer_of
from qubonn.errors import RangeError, ShapeError

ALL_SPINS = 256  # of all columns together, about
MOST_SPINS = 31  # of one column
EXAMPLES_PER_SPIN = 4  # a threshold with fewer examples is noise


def fit_binariser(
    wanted: object,
    X: NDArray[Any],
    *,
    is_image: bool = False,
    is_planar: bool = False,
    all_spins: int = ALL_SPINS,
) -> InputEncoder:
    """Return the encoder that `wanted` names, fitted to `X`.

    `wanted` is "auto", "threshold", "thermometer", a number of spins for each column, or an
    encoder. The pixels of an image have one scale, so they get one level; `is_planar` requires one
    spin per column, as convolutions need. `all_spins` is about the number of thresholds of all
    columns together.
    """
    count, width = X.shape
    spins = spins_per_column(count, width, all_spins)
    if isinstance(wanted, (int, np.integer)):
        return thermometer(X, require_count("binariser", wanted))
    if hasattr(wanted, "encode") and hasattr(wanted, "column_count"):
        if wanted.column_count not in (None, width):
            raise ShapeError(
                f"binariser must encode {width} columns, as X has; it encodes {wanted.column_count}"
            )
        return cast(InputEncoder, wanted)
    if wanted == "auto":
        return _automatic(X, 1 if is_planar else spins, is_image=is_image)
    if wanted == "threshold":
        return Threshold.fit(X)
    if wanted == "thermometer":
        return thermometer(X, spins)
    raise RangeError(
        "binariser must be 'auto', 'threshold', 'thermometer', a number of spins for each column, "
        f"or an encoder such as Threshold(0); got {wanted!r:.60}"
    )


def _automatic(X: NDArray[Any], spins: int, *, is_image: bool) -> InputEncoder:
    if X.dtype.kind == "b" or any(((low == X) | (X == 1)).all() for low in (0, -1)):
        return Threshold(0)  # bits or spins already
    if spins > 1:
        return thermometer(X, spins)
    smallest, largest = float(X.min()), float(X.max())
    if 2 * np.equal(X, X.min()).sum() > X.size:
        return Threshold(smallest)  # as in ink on paper or counts of words
    return Threshold(smallest / 2 + largest / 2) if is_image else Threshold.fit(X)


def spins_per_column(example_count: int, column_count: int, all_spins: int = ALL_SPINS) -> int:
    """Return the number of spins for a column of many distinct numbers.

    >>> spins_per_column(112, 4), spins_per_column(1347, 64), spins_per_column(60_000, 784)
    (28, 4, 1)
    """
    most = min(MOST_SPINS, all_spins // column_count, example_count // EXAMPLES_PER_SPIN)
    return max(1, most)


def thermometer(X: NDArray[Any], spins: int) -> Thermometer:
    """Put a threshold between any two numbers of a column where these are few, else at quantiles.

    >>> thermometer(np.array([[0, 1], [1, 2], [1, 7], [0, 9]]), 2).thresholds
    array([0.5, 2. , 7. ])
    """
    return thermometer_of([_bins(column, spins) for column in X.astype(np.float64).T])


def _bins(column: NDArray[np.float64], spins: int) -> Bins:
    distinct = np.unique(column)
    if not 2 <= len(distinct) <= spins + 1:
        return quantile_bins(column, spins)
    low, high = distinct[:-1], distinct[1:]
    middle = low / 2 + high / 2
    return np.where((low <= middle) & (middle < high), middle, low), distinct
