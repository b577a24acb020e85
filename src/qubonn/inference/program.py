"""What the kernels read: steps on words and on planes, level by level.

Topology -> Program, once for all networks of a topology. A word holds 64 nodes of one example, a
plane one node of 512 examples. Neurons with common sources read words: XNOR and popcount. All
others, the shared filters of convolutions among them, read planes, which full adders count. Two
more kinds of step turn words into planes and back.
"""

from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.inference.strips import STRIP, Strips, strips_of
from qubonn.topology import Topology
from qubonn.topology.blocks import Block, blocks_by_level, plane_values, threshold_digit_count

CHUNK, BLOCK = 32, 512  # examples: those of one instruction on words; those of a plane
DENSE, SLIDE, SPREAD, GATHER = range(4)

STEP = np.dtype(
    [
        ("kind", "i4"),
        ("reads_inputs", "i4"),  # whether `row` counts words of inputs or of neurons
        ("row", "i4"),  # of words to read; to write for GATHER
        ("first", "i4"),  # in `strips` or `spans`
        ("count", "i4"),  # of strips, spans or neurons
        # of DENSE only
        ("source_count", "i4"),
        ("parallel_count", "i4"),  # arcs of each source
        ("plane_count", "i4"),  # of bits that hold them, by `plane_values`
        ("single_count", "i4"),  # of planes whose bits are one arc each
        ("constant_count", "i4"),
        ("target_row", "i4"),
        ("first_column", "i4"),  # in `columns`; -1 for hidden neurons
        ("weight_word", "i8"),  # of the parameters; the thresholds follow the weights
    ]
)


class Tables(NamedTuple):
    """What the kernels read of a program."""

    steps: NDArray[Any]
    strips: NDArray[Any]  # of STRIP; bits are those of the parameters
    offsets: NDArray[np.int32]  # sources of a strip, counted from its base
    spans: NDArray[np.int32]  # first node and length: nodes of SPREAD and GATHER in order
    columns: NDArray[np.int32]  # the output that each neuron of a DENSE step is
    opening: int  # number of first steps that depend on the inputs only
    node_count: int
    output_count: int
    input_row_count: int
    row_count: int  # words of neurons
    plane_count: int  # 0 where there are no planes; zeros at the end
    longest: int  # most neurons in a row of a strip
    widest: int  # most terms of a neuron in a strip
    digit_count: int  # bits of a threshold in a DENSE step


class Chunk(NamedTuple):
    """Words of 32 examples: the flat array that holds them, and where they begin."""

    words: NDArray[np.uint64]
    first: int


class Buffers(NamedTuple):
    """What one thread writes for a block of examples."""

    words: NDArray[np.uint64]  # of neurons
    votes: NDArray[np.uint64]  # of outputs


class Program(NamedTuple):
    """Tables for the kernels, and which parameter is which bit."""

    tables: Tables
    parameter_of: IntVector  # by bit: one of weights, biases, `threshold_digits`, planes; -1: none
    levelled: tuple[NDArray[np.int64], ...]  # weights of blocks, for `plane_bits`


@lru_cache(maxsize=8)
def program_of(topology: Topology) -> Program:
    """Return the program of an acyclic topology."""
    return _Builder(topology).program()


class _Builder:
    """Adds steps level by level and remembers where every node can be read."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.opening: list[dict[str, int]] = []
        self.steps: list[dict[str, int]] = []
        self.strips: list[Any] = []  # rows of STRIP
        self.offsets: list[int] = []
        self.spans: list[tuple[int, int]] = []
        self.columns: list[int] = []
        self.parameters: list[IntVector] = []
        self.levelled: list[NDArray[np.int64]] = []
        self.bit_count = 0
        self.row_count = 0
        self.words_of: dict[bytes, _Words] = {}  # by node numbers in order
        self.is_plane = np.zeros(topology.node_count, dtype=bool)
        self.home_of = np.full(topology.node_count, -1)  # in `homes`: words with a given node
        self.homes: list[_Words] = []
        self.digit_count = threshold_digit_count(topology)
        self.number_count = topology.weight_count + (1 + self.digit_count) * topology.neuron_count
        if topology.column_count:
            self._remember(_Words(True, 0, np.arange(topology.column_count)))
        for blocks in blocks_by_level(topology):
            self._add_level(blocks)

    def _add_level(self, blocks: list[Block]) -> None:
        """Add the steps of neurons that read earlier levels only."""
        by_words = [block for block in blocks if self._is_worth_words(block)]
        by_planes = [block.nodes.reshape(-1) for block in blocks if block not in by_words]
        if by_planes:
            self._add_strips(np.concatenate(by_planes))
        for block in by_words:
            self._add_dense(block)

    def program(self) -> Program:
        """Return what has been added."""
        steps = [
            tuple(step.get(k, 0) for k in STEP.names or ()) for step in self.opening + self.steps
        ]
        strips = np.array(self.strips, dtype=STRIP)
        longest, topology = int(strips["length"].max(initial=0)), self.topology
        planes = topology.node_count + longest * (1 + int(strips["term_count"].max(initial=0)))
        tables = Tables(
            steps=np.array(steps, dtype=STEP),
            strips=strips,
            offsets=np.array(self.offsets, dtype=np.int32),
            spans=np.array(self.spans, dtype=np.int32).reshape(-1, 2),
            columns=np.array(self.columns, dtype=np.int32),
            opening=len(self.opening),
            node_count=topology.node_count,
            output_count=topology.output_count,
            input_row_count=_row_count(topology.column_count),
            row_count=self.row_count,
            plane_count=planes if self.is_plane.any() else 0,
            longest=longest,
            widest=int((strips["fan_in"] + strips["term_count"]).max(initial=0)),
            digit_count=self.digit_count,
        )
        numbers = np.concatenate([np.zeros(0, np.int64), *self.parameters])
        return Program(tables, numbers, tuple(self.levelled))

    # ---- neurons that read words ----

    def _is_worth_words(self, block: Block) -> bool:
        """Compare nanoseconds for 512 examples, roughly; words that exist are always worth it.

        Words must be put together first, then they are quick. Planes exist already, but
        looking up the arcs of a single neuron is slower than counting them.
        """
        neuron_count, parallel_count, source_count = block.weights.shape
        if len(block.sources) > 1 or not source_count:  # a convolution, or thresholds alone
            return False
        if block.sources.tobytes() in self.words_of:
            return True
        row_count = _row_count(source_count)
        word_count = row_count * len(plane_values(parallel_count))
        by_words = neuron_count * (30 * word_count + 40) + 1200 * row_count
        by_planes = neuron_count * (10 * block.fan_in + 200)
        return bool(by_words < by_planes)

    def _add_dense(self, block: Block) -> None:
        (nodes,), (read,) = block.nodes, block.sources
        sources = self.words_of.get(read.tobytes()) or self._gather(read)
        neuron_count, parallel_count, source_count = block.weights.shape
        is_output = nodes[0] >= self.topology.outputs.start
        numbers = self._plane_numbers(block.weights)
        padding = ((0, 0), (0, 0), (0, -source_count % 64))
        weights = np.pad(numbers, padding, constant_values=-1)
        self.steps.append(
            {
                "kind": DENSE,
                "reads_inputs": sources.are_inputs,
                "row": sources.row,
                "count": neuron_count,
                "source_count": source_count,
                "parallel_count": parallel_count,
                "plane_count": numbers.shape[1],
                "single_count": plane_values(parallel_count).count(1),
                "constant_count": block.constant_count,
                "target_row": self.row_count,
                "first_column": len(self.columns) if is_output else -1,
                "weight_word": self._add_parameters(weights.reshape(-1)) // 64,
            }
        )
        for digit in range(1, 1 + self.digit_count):
            self._add_parameters(self._bias_numbers(nodes) + digit * self.topology.neuron_count)
        if is_output:
            self.columns.extend(nodes - self.topology.outputs.start)
        self._remember(_Words(False, self._new_rows(neuron_count), nodes))

    def _gather(self, nodes: IntVector) -> "_Words":
        """Put words together from planes, in any order."""
        self._require_planes(nodes)
        words = _Words(False, self._new_rows(len(nodes)), nodes)
        step = {"kind": GATHER, "row": words.row, **self._add_spans(nodes)}
        are_inputs = nodes.max() < self.topology.input_count
        (self.opening if are_inputs else self.steps).append(step)
        self.words_of[nodes.tobytes()] = words
        return words

    def _remember(self, words: "_Words") -> None:
        self.words_of[words.nodes.tobytes()] = words
        self.home_of[words.nodes] = len(self.homes)
        self.homes.append(words)

    # ---- neurons that read planes ----

    def _add_strips(self, nodes: IntVector) -> None:
        first = len(self.strips)
        for strips in strips_of(self.topology, nodes):
            self._require_planes(strips.sources)
            self.strips.extend(self._placed(strips))
        self.steps.append({"kind": SLIDE, "first": first, "count": len(self.strips) - first})
        self.is_plane[nodes] = True

    def _placed(self, strips: Strips) -> NDArray[Any]:
        """Add offsets, weights and thresholds of strips; return the table with their places."""
        table = strips.table
        table["column"] = np.maximum(table["target"] - self.topology.outputs.start, -1)
        table["first_offset"] += len(self.offsets)
        self.offsets.extend(strips.patterns.reshape(-1).tolist())
        size = table["length"].astype(np.int64) * table["rows"]
        before = np.cumsum(size) - size
        neurons = np.repeat(table["target"] - before, size) + np.arange(size.sum())
        terms = np.column_stack([self._bias_numbers(neurons), strips.constants])
        first = self._add_parameters(np.concatenate([strips.filters, terms], axis=None))
        table["weight_bit"] += first
        table["threshold_bit"] = first + strips.filters.size + before * terms.shape[1]
        return table

    def _require_planes(self, nodes: IntVector) -> None:
        """Spread the words of those nodes that are not planes yet."""
        for home in np.unique(self.home_of[nodes[~self.is_plane[nodes]]]):
            are_inputs, row, nodes = self.homes[home]
            step = {"kind": SPREAD, "reads_inputs": are_inputs, "row": row}
            (self.opening if are_inputs else self.steps).append(step | self._add_spans(nodes))
            self.is_plane[nodes] = True

    # ---- numbering ----

    def _add_spans(self, nodes: IntVector) -> dict[str, int]:
        """Write node numbers as runs of consecutive ones."""
        first = np.flatnonzero(np.diff(nodes, prepend=nodes[0] - 2) != 1)
        length = np.diff(first, append=len(nodes))
        self.spans.extend(zip(nodes[first].tolist(), length.tolist(), strict=True))
        return {"first": len(self.spans) - len(first), "count": len(first)}

    def _add_parameters(self, numbers: IntVector) -> int:
        """Give parameters the next bits, up to the end of a word; return the first bit."""
        first = self.bit_count
        padding = np.full(-len(numbers) % 64, -1)
        self.parameters += [numbers, padding]
        self.bit_count += len(numbers) + len(padding)
        return first

    def _plane_numbers(self, weights: NDArray[np.int64]) -> NDArray[np.int64]:
        """Number the bits of planes after all other parameters; a single plane is the weights."""
        neuron_count, parallel_count, source_count = weights.shape
        if parallel_count == 1:
            return weights
        shape = neuron_count, len(plane_values(parallel_count)), source_count
        self.levelled.append(weights)
        self.number_count += prod(shape)
        return np.arange(self.number_count - prod(shape), self.number_count).reshape(shape)

    def _bias_numbers(self, nodes: IntVector) -> IntVector:
        return self.topology.weight_count + nodes - self.topology.input_count

    def _new_rows(self, node_count: int) -> int:
        self.row_count += _row_count(node_count)
        return self.row_count - _row_count(node_count)


class _Words(NamedTuple):
    """Where the words of some nodes are."""

    are_inputs: bool
    row: int
    nodes: IntVector


def _row_count(node_count: int) -> int:
    return -(-node_count // 64)
