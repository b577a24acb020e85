"""The layout in 32-bit words: activations in RAM, weights and biases in constant tables.

Blocks by level -> BitLayout, the same for all members of a committee. Each level starts a new word;
within a level, neurons go position by position and filter by filter, so that a filter of the next
level reads long runs. A bias, or a digit of a threshold, has the place of its neuron's activation.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.topology import Topology
from qubonn.topology.blocks import (
    Block,
    IntMatrix,
    blocks_by_level,
    plane_bits,
    plane_values,
    threshold_digit_count,
)

WORD = 32  # bits
Grid = tuple[int, int, int, int]  # rows, columns and the steps of both, as in Record
ONE_POSITION: Grid = (1, 1, 0, 0)


class Record(NamedTuple):
    """A block as C stores it, under the name of a step.

    Position (r, c) of rows x columns reads its sources from bit ``base + r * row_step +
    c * column_step`` on: `run_count` runs, or none if a word starts there and the sources follow
    each other. Filter f writes bit ``target + (r * columns + c) * filters + f``.
    """

    fan_in: int  # sources
    first_run: int
    run_count: int
    base: int
    rows: int
    columns: int
    row_step: int
    column_step: int
    filters: int
    target: int
    weight: int  # word of the first filter
    output: int  # 0 for hidden neurons; else 1 + place of the first neuron among the outputs
    parallel: int  # arcs of each source, in planes of `plane_values`
    terms: int  # of each threshold: the bias and the arcs from the constant
    group: int  # sources that follow each other and have the same weights


class BitLayout:
    """Tables of whole numbers that describe an acyclic topology to C."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.digit_count = threshold_digit_count(topology)
        self.input_words = word_count(topology.column_count)
        self.patch_words = 1  # largest patch that is put together from runs; at least 1
        self.records: list[Record] = []  # of blocks, or of the positions of an irregular one
        self.runs: list[tuple[int, int]] = []  # start, from the position's first source, and length
        self.output_of: list[int] = []  # output of each output neuron, in order of computation
        self._place_of = np.full(topology.node_count, -1)  # bit of each node
        self._place_of[: topology.column_count] = np.arange(topology.column_count)
        self._node_at = [*range(topology.column_count)]  # by bit; -1 for padding
        self.weight_words = 0
        self._filters: list[NDArray[np.int64]] = []  # filters x parallel arcs x bits; -1: padding
        self._known: dict[tuple[str, bytes], int] = {}  # filters and runs that exist already
        for blocks in blocks_by_level(topology):
            self._end_word()
            places = [self._place(block) for block in blocks]
            for block, place in zip(blocks, places, strict=True):
                self._add_block(block, *place)
        self._end_word()
        self.state_words = len(self._node_at) // WORD  # of inputs and all neurons
        nodes = np.array(self._node_at[WORD * self.input_words :])
        digits = np.arange(self.digit_count)[:, np.newaxis] * topology.neuron_count
        numbers = np.where(nodes < 0, -1, digits + nodes - topology.input_count)
        self.bias_numbers = numbers.reshape(-1)  # by digit and bit: those of `threshold_digits`

    @property
    def has_levels(self) -> bool:
        """Whether some weights or thresholds have more than two levels, or several sources."""
        return any(max(record.parallel, record.terms, record.group) > 1 for record in self.records)

    @property
    def group_count(self) -> int:
        """Most groups of a record whose weights have several sources; 0 without any."""
        counts = (record.fan_in // record.group for record in self.records if record.group > 1)
        return max(counts, default=0)

    def weights(self, weight_spins: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the words of weights, a row for each network."""
        bits = np.pad(weight_spins > 0, ((0, 0), (0, 1)))  # the last is that of padding
        none = np.zeros((len(bits), 0), dtype=bool)
        return packed(np.hstack([none, *(plane_bits(filters, bits) for filters in self._filters)]))

    @property
    def field_count(self) -> int:
        """Fields of a record; the last is for groups only, two before it are for levels."""
        return len(Record._fields) - (not self.group_count) - 2 * (not self.has_levels)

    def byte_count(self, member_count: int = 1) -> int:
        """Return the bytes of all tables in C, which have one element at least."""
        records, runs = self.field_count * len(self.records), 2 * max(len(self.runs), 1)
        indices = records + runs + len(self.output_of)
        bits = len(self.bias_numbers) + WORD * self.weight_words
        words = member_count * bits // WORD + (not self.weight_words)
        return self.index_bytes * indices + WORD // 8 * words

    @property
    def index_bytes(self) -> int:
        """Bytes of a whole number in a table: 2, or 4 where one is too large."""
        tables = (*self.records, *self.runs, self.output_of)
        return 2 if max(max(table) for table in tables) < 1 << 16 else 4

    def _end_word(self) -> None:
        self._node_at += [-1] * (-len(self._node_at) % WORD)

    def _place(self, block: Block) -> tuple[int, int]:
        """Give the neurons of a block the next bits; return the first, and `output` of Record."""
        nodes = block.nodes.reshape(-1)
        target, output = len(self._node_at), 0
        self._place_of[nodes] = target + np.arange(len(nodes))
        self._node_at += nodes.tolist()
        if nodes[0] >= self.topology.outputs.start:
            output = 1 + len(self.output_of)
            self.output_of += (nodes - self.topology.outputs.start).tolist()
        return target, output

    def _add_block(self, block: Block, target: int, output: int) -> None:
        """Write a block as one record if its positions form a grid, else as one for each."""
        places = self._place_of[block.sources]
        order = np.argsort(places[0], kind="stable")
        places, weights = places[:, order], block.weights[:, :, order]
        terms = 1 + block.constant_count
        grid = _grid(places)
        if grid is not None:
            self._add_record(places[0], weights, target, output, terms, grid)
            return
        for position, place in enumerate(places):
            order = np.argsort(place, kind="stable")
            shift = position * len(weights)
            own = target + shift, output and output + shift, terms
            self._add_record(place[order], weights[:, :, order], *own, ONE_POSITION)

    def _add_record(
        self,
        places: IntVector,
        weights: NDArray[np.int64],
        target: int,
        output: int,
        terms: int,
        grid: Grid,
    ) -> None:
        fan_in, first_run, run_count = len(places), 0, 0
        if grid != ONE_POSITION or not self._starts_a_word(places):
            first_run, run_count = self._add_runs(places)
            self.patch_words = max(self.patch_words, word_count(fan_in))
        base = int(places[0]) if fan_in else 0
        group = _group_size(weights)
        first, (filters, parallel, _) = self._add_filters(weights[:, :, ::group]), weights.shape
        neurons = filters, target, first, output, parallel, terms, group
        self.records.append(Record(fan_in, first_run, run_count, base, *grid, *neurons))

    def _starts_a_word(self, places: IntVector) -> bool:
        """Whether the sources are whole words already: in order, padding after the last."""
        if not len(places):
            return True
        end = int(places[-1]) + 1
        after = self._node_at[end : end + -end % WORD]
        is_run = places[0] % WORD == 0 and (np.diff(places) == 1).all()
        return bool(is_run and all(node < 0 for node in after))

    def _add_runs(self, places: IntVector) -> tuple[int, int]:
        starts = np.flatnonzero(np.diff(places, prepend=places[0] - 2) != 1)
        lengths = np.diff(starts, append=len(places))
        runs = np.stack([places[starts] - places[0], lengths], axis=1)
        first = self._known.setdefault(("runs", runs.tobytes()), len(self.runs))
        if first == len(self.runs):
            self.runs += [(start, length) for start, length in runs.tolist()]
        return first, len(runs)

    def _add_filters(self, weights: NDArray[np.int64]) -> int:
        """Give filters the next words, whole words for each plane; return the first word."""
        padding = -weights.shape[2] % WORD
        rows = np.pad(weights, ((0, 0), (0, 0), (0, padding)), constant_values=-1)
        name = f"filters of {weights.shape[1]} arcs"  # other numbers of arcs have other planes
        first = self._known.setdefault((name, rows.tobytes()), self.weight_words)
        if first == self.weight_words:
            self._filters.append(rows)
            plane_count = len(plane_values(weights.shape[1]))
            self.weight_words += len(rows) * plane_count * rows.shape[2] // WORD
        return first


def _group_size(weights: NDArray[np.int64]) -> int:
    """Return how many sources in a row have the same weights, if all of them come in such rows.

    `weights` are filters x parallel arcs x sources.
    """
    is_last = np.append((weights[:, :, 1:] != weights[:, :, :-1]).any(axis=(0, 1)), True)
    ends = np.flatnonzero(is_last) + 1
    size = int(ends[0])
    return size if np.array_equal(ends, size * (1 + np.arange(len(ends)))) else 1


def word_count(bit_count: int) -> int:
    """Return the number of words that hold `bit_count` bits."""
    return -(-bit_count // WORD)


def packed(bits: NDArray[np.bool_]) -> NDArray[np.uint32]:
    """Return rows of words; the columns of `bits` fill whole words."""
    in_bytes = np.ascontiguousarray(np.packbits(bits, axis=1, bitorder="little"))
    return in_bytes.view("<u4").astype(np.uint32)


def _grid(places: IntMatrix) -> Grid | None:
    """Return a grid if all positions read the first one's sources, shifted."""
    if len(places) == 1:
        return ONE_POSITION
    base = places[:, 0]
    columns = 1 + int(np.argmax(np.append(np.diff(base) != base[1] - base[0], True)))
    if len(base) % columns:
        return None
    rows, column_step = len(base) // columns, int(base[1] - base[0])
    row_step = int(base[columns] - base[0]) if rows > 1 else 0
    shifts = row_step * np.arange(rows)[:, None] + column_step * np.arange(columns)
    if min(row_step, column_step) < 0 or (places != places[0] + shifts.reshape(-1, 1)).any():
        return None
    return rows, columns, row_step, column_step
