"""Layers that connect one sheet of nodes to the next, and the paper's notation for them.

Text such as ``conv(3x3x2)+fc(4)`` -> layers -> arcs.  Paper, caption of tab:networks.  Numbering is
part of the interface: targets in order, for each target its sources in order, for each source its
parallel arcs, and last the arcs from the constant; convolution weights filter by filter, then
channel, row, column and parallel arc, then those of thresholds neuron by neuron.  Weights may be
known: drawn from a seed, or written with ``#`` for +1 and ``.`` for -1, in the order of their
numbers.  Biases and thresholds then stay free, except those of majority pooling.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinVector, require_count, require_memory
from qubonn.errors import NotationError, RangeError, ShapeError

BYTES_PER_ARC = 72  # at the peak of building; a third of it stays

Shape = tuple[int, ...]  # (nodes,) or (channels, rows, columns)
Arcs = tuple[IntVector, IntVector, IntVector]  # source, target and weight, each counted from 0
Known = tuple[SpinVector, SpinVector]  # weights, then biases: spins, or 0 where they are free
KnownSpins = int | str | None  # of the weights of a layer: a seed, or # and .; None: free
CONSTANT = -1  # as a source, until nodes are numbered
OUTSIDE = -2  # as a source: beyond the edge of an image


@dataclass(frozen=True)
class Dense:
    """Every node reads every node of the layer before, each arc with its own weight.

    A weight of n levels is n - 1 parallel arcs; a threshold of n levels is the bias and n - 2
    weights from the constant, each of `step` arcs. With `groups`, the group of each node of the
    layer before, counted from 0, a neuron has one weight for all nodes of a group. The spins of the
    weights may be `known`.
    """

    size: int
    levels: int = 2
    thresholds: int = 2
    groups: tuple[int, ...] | None = field(default=None, repr=False)
    step: int = field(default=1, repr=False)
    known: KnownSpins = field(default=None, repr=False)

    def shape_after(self, before: Shape) -> Shape:
        """Return the shape of this layer."""
        return (self.size,)

    def arc_count_from(self, before: Shape) -> int:
        """Return the number of arcs from a layer of shape `before`, and from the constant."""
        return self.size * (prod(before) * (self.levels - 1) + self.step * (self.thresholds - 2))

    def arcs_from(self, before: Shape) -> Arcs:
        """Return the arcs from a layer of shape `before`, and from the constant."""
        own = np.broadcast_to(np.arange(prod(before)), (self.size, prod(before)))
        sources, targets = _parallel(own, self.levels, self.step * (self.thresholds - 2))
        if self.groups is None and self.step == 1:
            return sources, targets, np.arange(len(sources))
        groups = np.arange(prod(before)) if self.groups is None else np.array(self.groups)
        shared = groups[:, None] * (self.levels - 1) + np.arange(self.levels - 1)
        count = self.weight_count_from(before) // self.size  # of each neuron
        first = count - (self.thresholds - 2)
        thresholds = first + np.repeat(np.arange(self.thresholds - 2), self.step)
        weights = count * np.arange(self.size)[:, None] + np.append(shared, thresholds)
        return sources, targets, weights.reshape(-1)

    def weight_count_from(self, before: Shape) -> int:
        """Return the number of weights of a layer after one of shape `before`."""
        groups = prod(before) if self.groups is None else max(self.groups) + 1
        return self.size * (groups * (self.levels - 1) + self.thresholds - 2)

    def known_count_from(self, before: Shape) -> int:
        """Return the number of weights that `known` is about: all but those of thresholds."""
        return self.weight_count_from(before) - self.size * (self.thresholds - 2)

    def known_from(self, before: Shape) -> Known:
        """Return which weights and biases are known."""
        spins = known_spins(self.known, self.known_count_from(before)).reshape(self.size, -1)
        weights = np.pad(spins, ((0, 0), (0, self.thresholds - 2)))
        return weights.reshape(-1), np.zeros(self.size, dtype=np.int8)


@dataclass(frozen=True)
class Convolution:
    """Filters slide over the layer before, `stride` nodes at a time; weights are shared.

    A filter spans all channels of the layer before. With `padding` it may begin and end that many
    nodes beyond the edge, where there is nothing to read: neurons at the edge have fewer arcs.
    Biases and thresholds stay one per neuron. The spins of the filters may be `known`.
    """

    rows: int
    columns: int
    filters: int = 1
    levels: int = 2
    thresholds: int = 2
    stride: int = 1
    padding: int = 0
    known: KnownSpins = field(default=None, repr=False)

    def shape_after(self, before: Shape) -> Shape:
        """Return the shape of this layer."""
        _, rows, columns = before
        steps = (
            (size + 2 * self.padding - own) // self.stride
            for size, own in ((rows, self.rows), (columns, self.columns))
        )
        return (self.filters, *(step + 1 for step in steps))

    def arc_count_from(self, before: Shape) -> int:
        """Return the number of arcs from a layer of shape `before`, and from the constant."""
        read = prod(self._lines_read(*sides) for sides in self._sides(before))
        weights = self.filters * before[0] * read * (self.levels - 1)
        return weights + prod(self.shape_after(before)) * (self.thresholds - 2)

    def _lines_read(self, size: int, own: int, count: int) -> int:
        """Return the number of rows of a filter that are on the image, over all places."""
        last = self.stride * (count - 1) + own - self.padding - size  # beyond the far edge
        lines = count * own
        for beyond in (self.padding, last):  # fewer by the stride at each place further inside
            places = min(count, -(-max(beyond, 0) // self.stride))
            lines -= places * beyond - self.stride * places * (places - 1) // 2
        return lines

    def _sides(self, before: Shape) -> list[tuple[int, int, int]]:
        """Return sizes of image, filter and this layer, for rows and for columns."""
        after = self.shape_after(before)
        return list(zip(before[1:], (self.rows, self.columns), after[1:], strict=True))

    def reads_all(self, before: Shape) -> bool:
        """Return whether every weight of a filter has an arc."""
        return all(self._reads_all(*sides) for sides in self._sides(before))

    def _reads_all(self, size: int, own: int, count: int) -> bool:
        """Return whether each row of a filter is on the image at some place.

        At place k those from padding - k * stride on are, as many as the image has.
        """
        first = -(-self.padding // self.stride)  # place where the first row is on the image
        last = 0 if self.stride <= size else first  # where the last row must be; no gaps, or alone
        return first < count and own <= self.padding - last * self.stride + size

    def arcs_from(self, before: Shape) -> Arcs:
        """Return the arcs from a layer of shape `before`, and from the constant."""
        channels, in_rows, in_columns = before
        axes = (*self.shape_after(before), channels, self.rows, self.columns)
        index = np.indices(axes, dtype=np.int64).reshape(6, prod(axes[:3]), -1)
        out_filter, out_row, out_column, channel, row, column = index
        in_row, in_column = (
            self.stride * place + line - self.padding
            for place, line in ((out_row, row), (out_column, column))
        )
        sources = (channel * in_rows + in_row) * in_columns + in_column
        is_inside = (in_row >= 0) & (in_row < in_rows) & (in_column >= 0) & (in_column < in_columns)
        sources = np.where(is_inside, sources, OUTSIDE)
        weights = ((out_filter * channels + channel) * self.rows + row) * self.columns + column
        sources, targets = _parallel(sources, self.levels, self.thresholds - 2)
        parallel = weights[..., None] * (self.levels - 1) + np.arange(self.levels - 1)
        own_count = len(weights) * (self.thresholds - 2)
        own = parallel.max() + 1 + np.arange(own_count).reshape(len(weights), -1)
        shared = parallel.reshape(len(weights), -1)
        weights = np.concatenate([shared, own], axis=1).reshape(-1)
        is_arc = sources != OUTSIDE
        return sources[is_arc], targets[is_arc], weights[is_arc]

    def known_count_from(self, before: Shape) -> int:
        """Return the number of weights that `known` is about: those of all filters."""
        return self.filters * before[0] * self.rows * self.columns * (self.levels - 1)

    def known_from(self, before: Shape) -> Known:
        """Return which weights and biases are known."""
        neurons = prod(self.shape_after(before))
        spins = known_spins(self.known, self.known_count_from(before))
        weights = np.pad(spins, (0, neurons * (self.thresholds - 2)))
        return weights, np.zeros(neurons, dtype=np.int8)


@dataclass(frozen=True)
class Pool:
    """Every neuron is the majority of a rectangle of one channel; rectangles do not overlap.

    That is f of their sum, so ties go to -1. All weights are known to be +1: there is one for each
    place in the rectangle, for all neurons. A bias is known too: -1 for an even number of nodes and
    +1 for an odd one, which never changes the sign of f. Rows and columns that do not fill a
    rectangle are not read.
    """

    rows: int
    columns: int
    levels: ClassVar[int] = 2
    thresholds: ClassVar[int] = 2

    def shape_after(self, before: Shape) -> Shape:
        """Return the shape of this layer."""
        return (before[0], before[1] // self.rows, before[2] // self.columns)

    def arc_count_from(self, before: Shape) -> int:
        """Return the number of arcs from a layer of shape `before`."""
        return prod(self.shape_after(before)) * self.rows * self.columns

    def arcs_from(self, before: Shape) -> Arcs:
        """Return the arcs from a layer of shape `before`."""
        axes = (*self.shape_after(before), self.rows, self.columns)
        channel, out_row, out_column, row, column = np.indices(axes, dtype=np.int64)
        in_row, in_column = self.rows * out_row + row, self.columns * out_column + column
        sources = (channel * before[1] + in_row) * before[2] + in_column
        size = self.rows * self.columns
        sources, targets = _parallel(sources.reshape(-1, size), self.levels, 0)
        return sources, targets, np.arange(len(sources)) % size

    def known_from(self, before: Shape) -> Known:
        """Return which weights and biases are known: all."""
        size, neurons = self.rows * self.columns, prod(self.shape_after(before))
        return np.ones(size, dtype=np.int8), np.full(neurons, 2 * (size % 2) - 1, dtype=np.int8)


def known_spins(known: KnownSpins, count: int) -> SpinVector:
    """Return the spins of `count` weights: of a seed, as written, or 0 where they are free.

    >>> known_spins("#./.#", 4), known_spins(None, 2)
    (array([ 1, -1, -1,  1], dtype=int8), array([0, 0], dtype=int8))
    """
    if known is None:
        return np.zeros(count, dtype=np.int8)
    if isinstance(known, int):
        bits = np.random.default_rng(known).integers(2, size=count, dtype=np.int8)
        return 2 * bits - np.int8(1)
    marks = known.replace("/", "")
    if len(marks) != count or set(marks) - {"#", "."}:
        raise NotationError(
            f"known weights must be a seed, or {count} of # (+1) and . (-1), with / anywhere "
            f"between them; got {known!r:.60}"
        )
    return np.array([1 if mark == "#" else -1 for mark in marks], dtype=np.int8)


def _parallel(sources: NDArray[np.int64], levels: int, constants: int) -> tuple[IntVector, ...]:
    """Return sources and targets of all arcs; `sources` has a row for each target.

    `constants` is the number of arcs from the constant to each target.
    """
    sources = np.repeat(sources, levels - 1, axis=1)
    sources = np.pad(sources, ((0, 0), (0, constants)), constant_values=CONSTANT)
    return sources.reshape(-1), np.repeat(np.arange(len(sources)), sources.shape[1])


Layer = Dense | Convolution | Pool
Stack = tuple[Shape, list[Layer]]  # shape of the inputs; layers, the outputs last


def arc_count(shape: Shape, layers: Sequence[Layer]) -> int:
    """Return the number of arcs of layers after inputs of a shape, without building them."""
    count = 0
    for layer in layers:
        count += layer.arc_count_from(shape)
        shape = layer.shape_after(shape)
    return count


def require_room(shape: Shape, layers: list[Layer]) -> None:
    """Refuse layers whose arcs do not fit into memory."""
    count = arc_count(shape, layers)
    require_memory(f"a network of {count} arcs", BYTES_PER_ARC * count)


def layered_arcs(shape: Shape, layers: list[Layer]) -> tuple[Arcs, tuple[Shape, ...]]:
    """Return source, target and weight of every arc, and the shapes of inputs and layers.

    The constant, where a layer has thresholds, is numbered after the inputs.
    """
    require_room(shape, layers)
    shapes, parts = [shape], []
    first_source = weight_count = 0
    first_target = prod(shape) + has_thresholds(layers)
    for layer in layers:
        sources, targets, weights = layer.arcs_from(shapes[-1])
        sources = np.where(sources == CONSTANT, prod(shape), sources + first_source)
        parts.append((sources, targets + first_target, weights + weight_count))
        shapes.append(layer.shape_after(shapes[-1]))
        first_source, first_target = first_target, first_target + prod(shapes[-1])
        weight_count += int(weights.max()) + 1
    source_of, target_of, weight_of = (np.concatenate(part) for part in zip(*parts, strict=True))
    return (source_of, target_of, weight_of), tuple(shapes)


def layered_known(shape: Shape, layers: list[Layer]) -> Known:
    """Return which weights and biases of layers after inputs of a shape are known."""
    parts = []
    for layer in layers:
        parts.append(layer.known_from(shape))
        shape = layer.shape_after(shape)
    weights, biases = (np.concatenate(part) for part in zip(*parts, strict=True))
    return weights, biases


def has_thresholds(layers: list[Layer]) -> bool:
    """Return whether some thresholds need a constant."""
    return any(layer.thresholds > 2 for layer in layers)


# ---- the notation of the paper ----

_CONVOLUTION = re.compile(r"conv\((\d{1,9})x(\d{1,9})(?:x(\d{1,9}))?\)")
_POOL = re.compile(r"pool\((\d{1,9})x(\d{1,9})\)")
_DENSE = re.compile(r"fc\((\d{1,9})\)")
_OPTION = re.compile(r"(?:(?<=\()|,)(\w+)=([^,()]*)(?=[,)])")


def read_notation(notation: str, inputs: int | Sequence[int], outputs: int) -> Stack:
    """Return the shape of the inputs, the hidden layers and the dense output layer."""
    shape = input_shape = _input_shape(inputs)
    layers: list[Layer] = []
    texts = _split(notation)
    last = texts.pop() if texts[-1].startswith("out(") else "out()"
    for text in texts:
        layers.append(_read_layer(text, shape))
        shape = layers[-1].shape_after(shape)
    layers.append(_read_layer(last, shape, require_count("outputs", outputs)))
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


def _read_layer(text: str, before: Shape, outputs: int = 0) -> Layer:
    """Read a layer and its options; ``out()`` where `outputs` are given."""
    options, sizes = _read_options(text), _OPTION.sub("", text)
    if match := _CONVOLUTION.fullmatch(sizes):
        numbers = [int(size) for size in match.groups(default="1")]
        if all(numbers):
            layer = Convolution(*numbers, **options)
            _require_fit(layer, before, text)
            return _with_known(layer, before)
    if (match := _POOL.fullmatch(text)) and int(match[1]) and int(match[2]):
        pool = Pool(int(match[1]), int(match[2]))
        _require_fit(pool, before, text)
        return pool
    if (match := _DENSE.fullmatch(sizes)) and int(match[1]):
        return _with_known(Dense(int(match[1]), **options), before)
    if outputs and sizes == "out()":
        return _with_known(Dense(outputs, **options), before)
    raise NotationError(
        "a layer must be fc(neurons), conv(rows x columns), conv(rows x columns x filters) or "
        "pool(rows x columns), with positive numbers of up to 9 digits, or out() as the last, "
        f"joined by +; got {text!r:.60}"
    )


def _with_known(layer: Dense | Convolution, before: Shape) -> Layer:
    """Return the layer if its known weights, where written, are as many as it has."""
    if isinstance(layer.known, str):
        known_spins(layer.known, layer.known_count_from(before))
    return layer


def _read_options(text: str) -> dict[str, Any]:
    least = {"levels": 2, "thresholds": 2}
    if text.startswith("conv("):
        least |= {"stride": 1, "padding": 0}
    options: dict[str, int | str] = {}
    for name, value in _OPTION.findall(text):
        if name == "known" and name not in options and value:
            options[name] = int(value) if re.fullmatch(r"\d{1,9}", value) else value
            continue
        is_known = name in least and name not in options
        if not is_known or not re.fullmatch(r"\d{1,9}", value) or int(value) < least[name]:
            raise NotationError(
                "options of a layer must be levels=n and thresholds=n, n from 2, known=seed, and "
                "of a convolution stride=n, n from 1, and padding=n, each at most once and of up "
                f"to 9 digits; got {f'{name}={value}'!r:.60}"
            )
        options[name] = int(value)
    return options


def _require_fit(layer: Convolution | Pool, before: Shape, text: str) -> None:
    if len(before) != 3:
        raise NotationError(
            f"{text} needs rows and columns before it; got a flat layer of {before[0]} nodes: give "
            "inputs=(rows, columns) and put convolutions before fc layers"
        )
    padding = layer.padding if isinstance(layer, Convolution) else 0
    fits = layer.rows <= before[1] + 2 * padding and layer.columns <= before[2] + 2 * padding
    reads_all = isinstance(layer, Pool) or (
        padding < min(layer.rows, layer.columns) and layer.reads_all(before)
    )
    if not fits or not reads_all:
        raise NotationError(
            f"{text} must fit the layer before it, which has {before[1]} rows and {before[2]} "
            f"columns{': each weight must read a part of it' if fits else ''}"
        )


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
