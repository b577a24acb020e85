"""Layers that connect one sheet of nodes to the next, and the paper's notation for them.

Text such as ``conv(3x3x2)+fc(4)`` -> layers -> arcs.  Paper, caption of tab:networks.  Numbering is
part of the interface: targets in order, and for each target its sources in order; convolution
weights filter by filter, then channel, row and column.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from qubonn.checks import IntVector, require_count, require_memory
from qubonn.errors import NotationError, RangeError, ShapeError

BYTES_PER_ARC = 72  # at the peak of building; a third of it stays

Shape = tuple[int, ...]  # (nodes,) or (channels, rows, columns)
Arcs = tuple[IntVector, IntVector, IntVector]  # source, target and weight, each counted from 0


@dataclass(frozen=True)
class Dense:
    """Every node reads every node of the layer before, each arc with its own weight."""

    size: int

    def shape_after(self, before: Shape) -> Shape:
        """Return the shape of this layer."""
        return (self.size,)

    def arc_count_from(self, before: Shape) -> int:
        """Return the number of arcs from a layer of shape `before`."""
        return self.size * prod(before)

    def arcs_from(self, before: Shape) -> Arcs:
        """Return the arcs from a layer of shape `before`."""
        source_count = prod(before)
        targets, sources = np.divmod(np.arange(self.size * source_count), source_count)
        return sources, targets, np.arange(self.size * source_count)


@dataclass(frozen=True)
class Convolution:
    """Filters slide over the layer before, one step at a time, without padding; weights are shared.

    A filter spans all channels of the layer before. Biases stay one per neuron.
    """

    rows: int
    columns: int
    filters: int = 1

    def shape_after(self, before: Shape) -> Shape:
        """Return the shape of this layer."""
        _, rows, columns = before
        return (self.filters, rows - self.rows + 1, columns - self.columns + 1)

    def arc_count_from(self, before: Shape) -> int:
        """Return the number of arcs from a layer of shape `before`."""
        return prod(self.shape_after(before)) * before[0] * self.rows * self.columns

    def arcs_from(self, before: Shape) -> Arcs:
        """Return the arcs from a layer of shape `before`."""
        channels, in_rows, in_columns = before
        axes = (*self.shape_after(before), channels, self.rows, self.columns)
        index = np.indices(axes, dtype=np.int64).reshape(6, -1)
        out_filter, out_row, out_column, channel, row, column = index
        sources = (channel * in_rows + out_row + row) * in_columns + out_column + column
        targets = (out_filter * axes[1] + out_row) * axes[2] + out_column
        weights = ((out_filter * channels + channel) * self.rows + row) * self.columns + column
        return sources, targets, weights


Layer = Dense | Convolution
Stack = tuple[Shape, list[Layer]]  # shape of the inputs; layers, the outputs last


def require_room(shape: Shape, layers: list[Layer]) -> None:
    """Refuse layers whose arcs do not fit into memory."""
    arc_count = 0
    for layer in layers:
        arc_count += layer.arc_count_from(shape)
        shape = layer.shape_after(shape)
    require_memory(f"a network of {arc_count} arcs", BYTES_PER_ARC * arc_count)


def layered_arcs(shape: Shape, layers: list[Layer]) -> tuple[Arcs, tuple[Shape, ...]]:
    """Return source, target and weight of every arc, and the shapes of inputs and layers."""
    require_room(shape, layers)
    shapes, parts = [shape], []
    node_count = weight_count = 0
    for layer in layers:
        sources, targets, weights = layer.arcs_from(shapes[-1])
        before = prod(shapes[-1])
        parts.append((sources + node_count, targets + node_count + before, weights + weight_count))
        node_count += before
        weight_count += int(weights.max()) + 1
        shapes.append(layer.shape_after(shapes[-1]))
    source_of, target_of, weight_of = (np.concatenate(part) for part in zip(*parts, strict=True))
    return (source_of, target_of, weight_of), tuple(shapes)


# ---- the notation of the paper ----

_CONVOLUTION = re.compile(r"conv\((\d{1,9})x(\d{1,9})(?:x(\d{1,9}))?\)")
_DENSE = re.compile(r"fc\((\d{1,9})\)")


def read_notation(notation: str, inputs: int | Sequence[int], outputs: int) -> Stack:
    """Return the shape of the inputs, the hidden layers and the dense output layer."""
    shape = input_shape = _input_shape(inputs)
    layers: list[Layer] = []
    for text in _split(notation):
        layers.append(_read_layer(text, shape))
        shape = layers[-1].shape_after(shape)
    layers.append(Dense(require_count("outputs", outputs)))
    try:
        require_room(input_shape, layers)
    except RangeError as error:
        raise NotationError(f"{notation:.60}: {error}") from None
    return input_shape, layers


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


def _read_layer(text: str, before: Shape) -> Layer:
    if match := _CONVOLUTION.fullmatch(text):
        sizes = [int(size) for size in match.groups(default="1")]
        if all(sizes):
            return _fitting(Convolution(*sizes), before, text)
    if (match := _DENSE.fullmatch(text)) and int(match[1]):
        return Dense(int(match[1]))
    raise NotationError(
        "a layer must be fc(neurons), conv(rows x columns) or conv(rows x columns x filters), with "
        f"positive numbers of up to 9 digits, joined by +; got {text!r:.60}"
    )


def _fitting(layer: Convolution, before: Shape, text: str) -> Convolution:
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
    return layer


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
