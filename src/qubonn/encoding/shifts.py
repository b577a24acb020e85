"""Images shifted by a few pixels, to train on.

Rows of pixels -> the same rows, then shifted copies of them.
"""

from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count, require_memory
from qubonn.errors import RangeError, ShapeError

LEAST_SIDE = 24  # pixels; for smaller images one pixel is a large step
MOST_IMAGES, MOST_PIXELS = 5_000, 4_000_000  # that "auto" makes copies of, one by one and in all
WIDE = 128  # neurons of each hidden layer; narrower ones have no room for shifts of many images


def shift_for(
    wanted: object,
    image_shape: tuple[int, ...] | None,
    image_count: int,
    *,
    is_usual: bool,
    width: int = 0,
) -> int:
    """Return the largest shift of images in pixels: `wanted`, or the choice of "auto".

    "auto" is one pixel where that is worth its time and layers are trained as usual, else 0;
    `width` is the size of the smallest hidden layer, or 0 if a pixel is several spins.

    >>> shift_for("auto", (28, 28), 100, is_usual=True), shift_for("auto", None, 9, is_usual=True)
    (1, 0)
    """
    if isinstance(wanted, str) and wanted == "auto":
        if image_shape is None or not is_usual:
            return 0
        is_large = min(image_shape[-2:]) >= LEAST_SIDE
        is_quick = image_count <= MOST_IMAGES and image_count * prod(image_shape) <= MOST_PIXELS
        return int(is_large and (is_quick or (image_count > MOST_IMAGES and width >= WIDE)))
    if isinstance(wanted, bool) or not isinstance(wanted, (int, np.integer)):
        raise RangeError(f"shifts must be 'auto' or a number of pixels; got {wanted!r:.60}")
    shift = require_count("shifts", wanted, least=0)
    if shift and image_shape is None:
        raise ShapeError(
            f"shifts={shift} needs images: give X as examples x rows x columns, or set image_shape"
        )
    if shift and image_shape is not None and shift >= min(image_shape[-2:]):
        raise RangeError(f"shifts must be less than the sides of {image_shape}; got {shift}")
    return shift


def copy_count(shift: int) -> int:
    """Return the number of copies of each image, with the original.

    >>> copy_count(0), copy_count(1)
    (1, 9)
    """
    return (2 * shift + 1) ** 2


def with_shifts(
    rows: Any,
    class_of: NDArray[np.int64],
    image_shape: tuple[int, ...] | None,
    shift: int,
) -> tuple[Any, NDArray[np.int64]]:
    """Return the original images, then all of them shifted by up to `shift` pixels each way.

    Pixels from outside repeat the edge. `rows` are examples x pixels, channels first; the classes
    are repeated too.

    >>> rows, classes = with_shifts(np.array([[1, 2, 3, 4]]), np.array([7]), (2, 2), 1)
    >>> rows[:3].tolist(), classes.shape  # original, up and left, up
    ([[1, 2, 3, 4], [4, 4, 4, 4], [3, 4, 3, 4]], (9,))
    """
    if not shift or image_shape is None:
        return rows, class_of
    copies = copy_count(shift)
    hint = "use fewer images, or shifts=0"
    byte_count = rows.shape[0] * rows.shape[1] * rows.dtype.itemsize
    require_memory("shifted images", (copies + 1) * byte_count, hint=hint)
    if hasattr(rows, "toarray"):
        rows = rows.toarray()  # sparse; pixels at the edge are not
    numbers = np.arange(copies * len(rows))
    return some_copies(rows, numbers, image_shape, shift), np.tile(class_of, copies)


def some_copies(
    rows: NDArray[Any], numbers: NDArray[np.int64], image_shape: tuple[int, ...], shift: int
) -> NDArray[Any]:
    """Return some of the rows that `with_shifts` gives, by their numbers."""
    height, width = image_shape[-2:]
    steps = range(2 * shift, -1, -1)
    places = list(dict.fromkeys([(shift, shift), *((y, x) for y in steps for x in steps)]))
    edges = [(0, 0), (0, 0), (shift, shift), (shift, shift)]
    found = np.empty((len(numbers), *rows.shape[1:]), dtype=rows.dtype)
    place_of, row_of = np.divmod(numbers, len(rows))
    for number in np.unique(place_of):
        (y, x), chosen = places[number], np.flatnonzero(place_of == number)
        images = rows[row_of[chosen]].reshape(len(chosen), -1, height, width)
        moved = np.pad(images, edges, mode="edge")[..., y : y + height, x : x + width]
        found[chosen] = moved.reshape(len(chosen), -1)
    return found
