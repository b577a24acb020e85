"""Images seen from a little to the left, to the right, above and below.

Rows of pixels -> the same rows, then copies of them moved by a few pixels.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count, require_memory
from qubonn.errors import RangeError, ShapeError

__all__ = ["copy_count", "shift_for", "with_shifts"]

LEAST_SIDE = 24  # pixels; in smaller images one pixel is no small step
MOST_EXAMPLES = 5_000  # that "auto" makes copies of


def shift_for(
    wanted: object, image_shape: tuple[int, ...] | None, example_count: int, *, is_usual: bool
) -> int:
    """Return how many pixels to move images by, at most: `wanted`, or what "auto" chooses.

    "auto" is one pixel for up to 5,000 images whose sides have 24 pixels or more, where dense
    layers are trained as usual; otherwise images stay where they are.

    >>> shift_for("auto", (28, 28), 100, is_usual=True), shift_for("auto", None, 9, is_usual=True)
    (1, 0)
    """
    if isinstance(wanted, str):
        if wanted != "auto":
            raise RangeError(f"shifts must be 'auto' or a number of pixels; got {wanted!r:.60}")
        is_large = image_shape is not None and min(image_shape[-2:]) >= LEAST_SIDE
        return int(is_usual and is_large and example_count <= MOST_EXAMPLES)
    shift = require_count("shifts", wanted, least=0)
    if shift and image_shape is None:
        raise ShapeError(
            f"shifts={shift} needs images: give X as examples x rows x columns, or set image_shape"
        )
    if shift and image_shape is not None and shift >= min(image_shape[-2:]):
        raise RangeError(f"shifts must be less than the sides of {image_shape}; got {shift}")
    return shift


def copy_count(shift: int) -> int:
    """Return how often each image is seen.

    >>> copy_count(0), copy_count(1)
    (1, 9)
    """
    return (2 * shift + 1) ** 2


def with_shifts(
    rows: NDArray[Any], image_shape: tuple[int, ...] | None, shift: int
) -> NDArray[Any]:
    """Return the images as they are, then all of them moved by up to `shift` pixels each way.

    Pixels that come in from outside repeat the edge. `rows` are examples x pixels, channels first.

    >>> with_shifts(np.array([[1, 2, 3, 4]]), (2, 2), 1)[:3].tolist()  # as it is, up left, up
    [[1, 2, 3, 4], [4, 4, 4, 4], [3, 4, 3, 4]]
    """
    if not shift or image_shape is None:
        return rows
    require_memory("moved images", copy_count(shift) * rows.nbytes)
    *channels, height, width = image_shape
    images = rows.reshape(len(rows), *channels, height, width)
    edges = [(0, 0)] * (images.ndim - 2) + [(shift, shift)] * 2
    padded = np.pad(images, edges, mode="edge")
    steps = range(2 * shift + 1)
    places = [(shift, shift), *((y, x) for y in reversed(steps) for x in reversed(steps))]
    views = [padded[..., y : y + height, x : x + width] for y, x in dict.fromkeys(places)]
    return np.concatenate([view.reshape(rows.shape) for view in views])
