"""Levels of neurons as matrix products of an ONNX graph.

Exported -> nodes of a Graph. Each block is one product; shared filters are stored once and multiply
gathered patches; neurons with sources of their own share one matrix with zeros. The members of a
committee are one more axis in front, so that a committee has as many nodes as one network.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.export.model import Exported
from qubonn.export.onnx_graph import Graph, require_room
from qubonn.topology.blocks import Block, IntMatrix, blocks_by_level

NARROW = 8  # blocks with one position and fewer filters are put together into one matrix


def add_network(graph: Graph, model: Exported, inputs: str) -> tuple[str, str]:
    """Add all neurons; return the names of the outputs' spins and of their sums, in order.

    Both are examples x outputs, with an axis for the members in front where there are several.
    """
    network = _Network(graph, model, inputs)
    for blocks in blocks_by_level(model.topology):
        network.add_level(blocks)
    outputs = np.array([model.topology.outputs])
    return network.spins.read(outputs), network.sums.read(outputs)


@dataclass(eq=False)
class _Shelf:
    """Tensors of some nodes each, and where to find a node."""

    graph: Graph
    node_count: int
    member_count: int
    inputs: str  # the only tensor without an axis for the members
    names: list[str] = field(default_factory=list)
    widths: list[int] = field(default_factory=list)
    joined: dict[tuple[int, ...], str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.home_of = np.full(self.node_count, -1)
        self.place_of = np.full(self.node_count, -1)

    def put(self, name: str, nodes: IntVector) -> None:
        """Keep a tensor whose last axis is `nodes`."""
        self.home_of[nodes] = len(self.names)
        self.place_of[nodes] = np.arange(len(nodes))
        self.names.append(name)
        self.widths.append(len(nodes))

    def order(self, nodes: IntVector) -> IntVector:
        """Return the order in which these nodes stand on the shelf."""
        return np.lexsort((self.place_of[nodes], self.home_of[nodes]))

    def read(self, nodes: IntMatrix) -> str:
        """Return a tensor that ends in positions x nodes, or in nodes if there is one position."""
        homes = np.unique(self.home_of[nodes])
        widths = [self.widths[home] for home in homes]
        starts = np.zeros(len(self.names), dtype=np.int64)
        starts[homes] = np.cumsum(widths) - widths
        places = starts[self.home_of[nodes]] + self.place_of[nodes]
        source = self._join(tuple(homes.tolist()))
        if len(places) == 1:
            places = places[0]
            if np.array_equal(places, np.arange(sum(widths))):
                return source
        indices = self.graph.constant("sources", places, np.int64)
        return self.graph.add("Gather", source, indices, axis=-1)

    def _join(self, homes: tuple[int, ...]) -> str:
        if len(homes) == 1:
            return self.names[homes[0]]
        if homes not in self.joined:
            parts = [self._with_members(home) for home in homes]
            self.joined[homes] = self.graph.add("Concat", *parts, axis=-1)
        return self.joined[homes]

    def _with_members(self, home: int) -> str:
        """Repeat the inputs for all members, because only tensors of one shape can be joined."""
        if self.member_count == 1 or self.names[home] != self.inputs:
            return self.names[home]
        shape = self.graph.constant("members", [self.member_count, 1, 1], np.int64)
        return self.graph.add("Expand", self.names[home], shape)


@dataclass(frozen=True, eq=False)
class _Product:
    """Neurons in a table, positions x columns of a matrix; all or none of them outputs."""

    nodes: IntMatrix  # positions x columns
    sources: IntMatrix  # positions x rows
    weights: NDArray[np.int8]  # members x rows x columns, of -1, 0 and +1


class _Network:
    """Adds neurons level by level."""

    def __init__(self, graph: Graph, model: Exported, inputs: str) -> None:
        self.graph, self.model, topology = graph, model, model.topology
        self.spins = _Shelf(graph, topology.node_count, model.member_count, inputs)
        self.sums = _Shelf(graph, topology.node_count, model.member_count, inputs)
        self.spins.put(inputs, np.arange(topology.input_count))

    def add_level(self, blocks: list[Block]) -> None:
        """Add the blocks of a level, which read earlier levels only."""
        few: dict[bool, list[Block]] = {False: [], True: []}
        for block in blocks:
            if block.position_count > 1 or (block.fan_in and len(block.weights) >= NARROW):
                weights = self.model.weight_spins[:, block.weights].swapaxes(1, 2)
                self._add(_Product(block.nodes, block.sources, weights))
            else:
                few[self._are_outputs(block.nodes)].append(block)
        for some in few.values():
            if some:
                self._add(self._together(some))

    def _add(self, product: _Product) -> None:
        """Add one matrix product, the biases and the sign rule."""
        graph, nodes = self.graph, product.nodes
        require_room(product.weights.size * np.dtype(graph.spin_type).itemsize)
        if len(nodes) == 1:  # rows in the order of the sources, so that nobody need gather them
            order = self.spins.order(product.sources[0])
            sources, weights = product.sources[:, order], product.weights[:, order]
            product = _Product(nodes, sources, weights)
        weights, biases = self._shaped(product)
        lowered = 0 if graph.form == "int8" or self._are_outputs(nodes) else 0.5
        sums = graph.product(self.spins.read(product.sources), weights)
        sums = graph.add("Add", sums, graph.constant("biases", biases - lowered, graph.sum_type))
        if len(nodes) > 1:
            kept = [0] * (1 if self.model.member_count == 1 else 2)  # axes
            shape = graph.constant("flat", [*kept, nodes.size], np.int64)
            sums = graph.add("Reshape", sums, shape)
        spins = graph.add("Sign", sums) if lowered else graph.spins(sums)
        self.spins.put(spins, nodes.reshape(-1))
        if self._are_outputs(nodes):
            self.sums.put(sums, nodes.reshape(-1))

    def _shaped(self, product: _Product) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
        """Return weights and biases for tensors of members x examples x positions x columns.

        Without the axis of members or positions where there is one of them only.
        """
        nodes, weights = product.nodes, product.weights
        biases = self.model.bias_spins[:, nodes - self.model.topology.input_count]
        if self.model.member_count == 1:
            return weights[0], biases[0]
        return (weights[:, None], biases[:, None]) if len(nodes) > 1 else (weights, biases)

    def _together(self, blocks: list[Block]) -> _Product:
        """Put blocks of one position side by side; a row is a source, or its k-th parallel arc."""
        most = max(block.fan_in for block in blocks) + 1
        rows_of = [most * block.sources[0] + _repeats(block.sources[0]) for block in blocks]
        rows = np.unique(np.concatenate(rows_of))
        rows = rows if len(rows) else np.zeros(1, dtype=np.int64)  # any input, with weight 0
        nodes = np.concatenate([block.nodes[0] for block in blocks])
        require_room(self.model.member_count * len(rows) * len(nodes))
        weights = np.zeros((self.model.member_count, len(rows), len(nodes)), dtype=np.int8)
        column = 0
        for block, own in zip(blocks, rows_of, strict=True):
            end = column + len(block.weights)
            values = self.model.weight_spins[:, block.weights].swapaxes(1, 2)
            weights[:, np.searchsorted(rows, own), column:end] = values
            column = end
        return _Product(nodes[None], rows[None] // most, weights)

    def _are_outputs(self, nodes: IntMatrix) -> bool:
        return bool(nodes[0, 0] >= self.model.topology.outputs.start)


def _repeats(sources: IntVector) -> IntVector:
    """Return how many equal ones are before each source; they come in order."""
    return np.arange(len(sources)) - np.searchsorted(sources, sources)
