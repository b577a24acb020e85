"""The topology of a classifier: hidden layers, the paper's notation, or a graph that was given.

Hidden sizes or notation, inputs, outputs -> Topology.
"""

from collections.abc import Iterable
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.encoding import BitPlanes, InputEncoder, Threshold
from qubonn.errors import RangeError, ShapeError, TopologyError
from qubonn.topology import Topology


def flattened(X: Any, image_shape: object) -> tuple[Any, tuple[int, ...] | None]:
    """Return images as rows of pixels, and the shape of one; other data as they are.

    Images are examples x rows x columns or examples x channels x rows x columns, or flat with an
    `image_shape`.
    """
    shape = None
    if image_shape is not None:
        sizes = image_shape if isinstance(image_shape, Iterable) else ()
        shape = tuple(require_count("image_shape", size) for size in sizes)
        if len(shape) not in (2, 3):
            raise ShapeError(
                "image_shape must be (rows, columns) or (channels, rows, columns); "
                f"got {image_shape!r:.60}"
            )
    if getattr(X, "ndim", 2) in (3, 4) and len(X):
        own = tuple(np.shape(X)[1:])
        if shape is not None and shape != own:
            raise ShapeError(f"X must hold images of shape {shape}; got shape {np.shape(X)}")
        return np.asarray(X).reshape(len(X), -1), own
    return X, shape


def has_planes(topology: object) -> bool:
    """Whether a notation asks for inputs in rows and columns."""
    return isinstance(topology, str) and "conv" in topology.lower()


def topology_for(
    hidden: object,
    topology: object,
    *,
    inputs: int | tuple[int, ...],
    outputs: int,
) -> Topology:
    """Return dense layers of `hidden` sizes, unless a topology or a notation is given.

    >>> topology_for((8, 4), None, inputs=10, outputs=2)
    Topology(10 -> 8 -> 4 -> 2: 24 nodes, 120 arcs, 120 weights)
    """
    if topology is None:
        size = prod(inputs) if isinstance(inputs, tuple) else inputs
        return Topology.dense(size, *_sizes(hidden), outputs)
    if isinstance(topology, str):
        return Topology.parse(topology, inputs=inputs, outputs=outputs)
    if not isinstance(topology, Topology):
        raise TopologyError(
            "topology must be a Topology, or a text such as 'conv(3x3)+fc(4)'; "
            f"got {type(topology).__name__}"
        )
    return _fitting(topology, prod(inputs) if isinstance(inputs, tuple) else inputs, outputs)


def input_shape(
    encoder: InputEncoder, X: NDArray[Any], image_shape: tuple[int, ...] | None
) -> int | tuple[int, ...]:
    """Return the number of inputs, or (channels, rows, columns) where images keep their shape."""
    spins = int(encoder.encode(X[:1]).shape[1])  # encoders of any width have no spin_count
    if image_shape is None:
        return spins
    if prod(image_shape) != X.shape[1]:
        raise ShapeError(
            f"X must have {prod(image_shape)} columns, one per pixel of {image_shape}; "
            f"got {X.shape[1]}"
        )
    if not isinstance(encoder, (Threshold, BitPlanes)):
        return spins
    channels, rows, columns = (1, *image_shape)[-3:]
    return (channels * (spins // X.shape[1]), rows, columns)


def _sizes(hidden: object) -> tuple[int, ...]:
    if isinstance(hidden, (int, np.integer)):
        return (require_count("hidden", hidden),)
    if isinstance(hidden, str) or not isinstance(hidden, Iterable):
        raise RangeError(
            f"hidden must be a number of neurons, or one for each layer; got {hidden!r:.60}"
        )
    return tuple(require_count("hidden", size) for size in hidden)


def _fitting(topology: Topology, inputs: int, outputs: int) -> Topology:
    if (topology.input_count, topology.output_count) != (inputs, outputs):
        raise TopologyError(
            f"topology must have {inputs} inputs, one per spin of the binariser, and {outputs} "
            f"outputs, one per spin of the label code; got {topology!r}"
        )
    if not topology.is_acyclic:
        raise TopologyError(
            "topology must have no cycles, because a classifier answers by a forward pass; "
            f"got {topology!r}"
        )
    return topology
