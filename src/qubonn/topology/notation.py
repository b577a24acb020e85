"""The paper's notation for hidden layers: ``conv(2x2)``, ``conv(3x3x2)+fc(4)``, ``fc(7)``.

Text -> layers.  Paper, caption of tab:networks.
"""

import re
from collections.abc import Iterable, Sequence

import numpy as np

from qubonn.checks import require_count
from qubonn.errors import NotationError, RangeError, ShapeError
from qubonn.topology.layers import Convolution, Dense, Layer, Shape, Sheet, require_room

_CONVOLUTION = re.compile(r"conv\((\d{1,9})x(\d{1,9})(?:x(\d{1,9}))?\)")
_DENSE = re.compile(r"fc\((\d{1,9})\)")


def read_notation(notation: str, inputs: int | Sequence[int], outputs: int) -> list[Layer]:
    """Return the input sheet, the hidden layers and the dense output layer."""
    shape = _input_shape(inputs)
    layers: list[Layer] = [Sheet(shape)]
    for text in _split(notation):
        layer = _read_layer(text)
        shape = _shape_after(layer, shape, text)
        layers.append(layer)
    layers.append(Dense(require_count("outputs", outputs)))
    try:
        require_room(layers)
    except RangeError as error:
        raise NotationError(f"{notation:.60}: {error}") from None
    return layers


def _split(notation: str) -> list[str]:
    if not isinstance(notation, str):
        raise NotationError(f"a network must be written as text such as 'fc(4)'; got {notation!r}")
    if re.search(r"\d\s+\d", notation):
        raise NotationError(f"a number must be written without blanks; got {notation!r:.60}")
    compact = re.sub(r"\s+", "", notation).replace("×", "x").lower()  # noqa: RUF001
    if not compact:
        raise NotationError(
            "a network needs at least one hidden layer such as fc(4) or conv(3x3); got an empty "
            "text: for none, use Topology.dense(inputs, outputs)"
        )
    return compact.split("+")


def _read_layer(text: str) -> Convolution | Dense:
    if match := _CONVOLUTION.fullmatch(text):
        sizes = [int(size) for size in match.groups(default="1")]
        if all(sizes):
            return Convolution(*sizes)
    if (match := _DENSE.fullmatch(text)) and int(match[1]):
        return Dense(int(match[1]))
    raise NotationError(
        "a layer must be fc(neurons), conv(rows x columns) or conv(rows x columns x filters), with "
        f"positive numbers of up to 9 digits, joined by +; got {text!r:.60}"
    )


def _shape_after(layer: Convolution | Dense, before: Shape, text: str) -> Shape:
    if isinstance(layer, Dense):
        return layer.shape_after(before)
    if len(before) != 3:
        raise NotationError(
            f"{text} needs rows and columns before it; got a flat layer of {before[0]} nodes: give "
            "inputs=(rows, columns) and put convolutions before fc layers"
        )
    if layer.rows > before[1] or layer.columns > before[2]:
        raise NotationError(
            f"{text} must fit the layer before it, which has {before[1]} rows and "
            f"{before[2]} columns"
        )
    return layer.shape_after(before)


def _input_shape(inputs: int | Sequence[int]) -> Shape:
    if isinstance(inputs, (int, np.integer)):
        return (require_count("inputs", inputs),)
    is_listed = isinstance(inputs, Iterable)
    sizes = tuple(require_count("inputs", size) for size in inputs) if is_listed else ()
    if len(sizes) not in (1, 2, 3):
        raise ShapeError(
            "inputs must be a number of nodes, (rows, columns) or (channels, rows, columns); "
            f"got {inputs!r}"
        )
    return (1, *sizes) if len(sizes) == 2 else sizes
