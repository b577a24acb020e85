"""Build the program of a topology: who reads words, who reads planes, and when to convert.

Topology -> Program, once for all networks of a topology.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.inference.program import DENSE, GATHER, SLIDE, SPREAD, STEP, STRIP, Program, Tables
from qubonn.inference.wiring import Alike, Strips, alike_neurons, strips_of
from qubonn.topology import Topology


@lru_cache(maxsize=8)
def program_of(topology: Topology) -> Program:
    """Return the program of an acyclic topology."""
    builder = _Builder(topology)
    for nodes in topology.levels():
        builder.add_level(nodes)
    return builder.program()


class _Builder:
    """Adds steps level by level and remembers where every node can be read."""

    def __init__(self, topology: Topology) -> None:
        self.topology = topology
        self.use_count = np.bincount(topology.weight_of, minlength=topology.weight_count)
        self.opening: list[dict[str, int]] = []
        self.steps: list[dict[str, int]] = []
        self.strips: list[NDArray[Any]] = []
        self.strip_count = 0
        self.offsets: list[IntVector] = []
        self.offset_count = 0
        self.spans: list[tuple[int, int]] = []
        self.columns: list[int] = []
        self.parameters: list[IntVector] = []
        self.bit_count = 0
        self.row_count = 0
        self.words_of: dict[bytes, _Words] = {}  # by node numbers in order
        self.is_plane = np.zeros(topology.node_count, dtype=bool)
        self.home_of = np.full(topology.node_count, -1)  # in `homes`: words with a given node
        self.homes: list[_Words] = []
        if topology.input_count:
            self._remember(_Words(True, 0, np.arange(topology.input_count)))

    def add_level(self, nodes: IntVector) -> None:
        """Add the steps of neurons that listen to earlier levels only."""
        groups, others = alike_neurons(self.topology, nodes, self.use_count)
        dense, apart = [], [others]
        for group in groups:
            if self._is_worth_words(group):
                dense.append(group)
            else:
                apart.append(group.nodes)
        self._add_strips(np.concatenate(apart))
        for group in dense:
            self._add_dense(group)

    def program(self) -> Program:
        """Return what has been added."""
        strips = np.concatenate([np.zeros(0, STRIP), *self.strips])
        longest = int(strips["length"].max(initial=0))
        topology = self.topology
        tables = Tables(
            steps=_table(self.opening + self.steps),
            strips=strips,
            offsets=np.concatenate([np.zeros(0, np.int64), *self.offsets]).astype(np.int32),
            spans=np.array(self.spans, dtype=np.int32).reshape(-1, 2),
            columns=np.array(self.columns, dtype=np.int32),
            opening=len(self.opening),
            node_count=topology.node_count,
            output_count=topology.output_count,
            input_row_count=_row_count(topology.input_count),
            row_count=self.row_count,
            plane_count=topology.node_count + 2 * longest if self.is_plane.any() else 0,
            longest=longest,
            widest=int(strips["fan_in"].max(initial=0)),
        )
        return Program(tables, np.concatenate([np.zeros(0, np.int64), *self.parameters]))

    # ---- neurons that read words ----

    def _is_worth_words(self, group: Alike) -> bool:
        """Compare nanoseconds for 512 examples, roughly; words that are there are always worth it.

        Words must be put together first, then they are quick. Planes are there, but to look up the
        arcs of a single neuron takes longer than to count them.
        """
        if group.sources.tobytes() in self.words_of:
            return True
        row_count, (neuron_count, fan_in) = _row_count(len(group.sources)), group.weights.shape
        by_words = neuron_count * (30 * row_count + 40) + 1200 * row_count
        by_planes = neuron_count * (10 * fan_in + 200)
        return bool(by_words < by_planes)

    def _add_dense(self, group: Alike) -> None:
        sources = self.words_of.get(group.sources.tobytes()) or self._gather(group.sources)
        neuron_count, fan_in = group.weights.shape
        is_output = group.nodes[0] >= self.topology.outputs.start
        weights = np.full((neuron_count, 64 * _row_count(fan_in)), -1)
        weights[:, :fan_in] = group.weights
        self.steps.append(
            {
                "kind": DENSE,
                "reads_inputs": sources.are_inputs,
                "row": sources.row,
                "count": neuron_count,
                "fan_in": fan_in,
                "target_row": self.row_count,
                "first_column": len(self.columns) if is_output else -1,
                "weight_word": self._add_parameters(weights.reshape(-1)) // 64,
            }
        )
        self._add_parameters(self._bias_numbers(group.nodes))
        if is_output:
            self.columns.extend(group.nodes - self.topology.outputs.start)
        self._remember(_Words(False, self._new_rows(neuron_count), group.nodes))

    def _gather(self, nodes: IntVector) -> "_Words":
        """Put words together from planes, in any order."""
        self._require_planes(nodes)
        words = _Words(False, self._new_rows(len(nodes)), nodes)
        step = {"kind": GATHER, "row": words.row, **self._add_spans(nodes)}
        (self.opening if self._are_inputs(nodes) else self.steps).append(step)
        self.words_of[nodes.tobytes()] = words
        return words

    def _remember(self, words: "_Words") -> None:
        self.words_of[words.nodes.tobytes()] = words
        self.home_of[words.nodes] = len(self.homes)
        self.homes.append(words)

    # ---- neurons that read planes ----

    def _add_strips(self, nodes: IntVector) -> None:
        if not len(nodes):
            return
        first = self.strip_count
        for strips in strips_of(self.topology, nodes):
            self._require_planes(strips.sources)
            self.strips.append(self._strip_table(strips))
            self.strip_count += len(strips.first_of)
        self.steps.append({"kind": SLIDE, "first": first, "count": self.strip_count - first})
        self.is_plane[nodes] = True

    def _strip_table(self, strips: Strips) -> NDArray[Any]:
        fan_in = strips.patterns.shape[1]
        table = np.zeros(len(strips.first_of), STRIP)
        table["fan_in"], table["base"] = fan_in, strips.base_of
        table["target"], table["length"] = strips.first_of, strips.length_of
        table["rows"], table["step"] = strips.rows_of, strips.step_of
        column = strips.first_of - self.topology.outputs.start
        table["column"] = np.maximum(column, -1)
        table["first_offset"] = self.offset_count + strips.pattern_of * fan_in
        self.offsets.append(strips.patterns.reshape(-1))
        self.offset_count += strips.patterns.size
        size = strips.length_of * strips.rows_of
        before = np.cumsum(size) - size
        neurons = np.repeat(strips.first_of - before, size) + np.arange(size.sum())
        biases = self._bias_numbers(neurons)
        first = self._add_parameters(np.concatenate([strips.filters.reshape(-1), biases]))
        table["weight_bit"] = first + strips.filter_of * fan_in
        table["bias_bit"] = first + strips.filters.size + before
        return table

    def _require_planes(self, nodes: IntVector) -> None:
        """Spread the words of those nodes that are not planes yet."""
        for home in np.unique(self.home_of[nodes[~self.is_plane[nodes]]]):
            words = self.homes[home]
            step = {"kind": SPREAD, "reads_inputs": words.are_inputs, "row": words.row}
            (self.opening if words.are_inputs else self.steps).append(
                step | self._add_spans(words.nodes)
            )
            self.is_plane[words.nodes] = True

    # ---- numbering ----

    def _add_spans(self, nodes: IntVector) -> dict[str, int]:
        """Write node numbers as runs of consecutive ones."""
        first = np.flatnonzero(np.concatenate([[True], np.diff(nodes) != 1]))
        length = np.diff(np.concatenate([first, [len(nodes)]]))
        self.spans.extend(zip(nodes[first].tolist(), length.tolist(), strict=True))
        return {"first": len(self.spans) - len(first), "count": len(first)}

    def _add_parameters(self, numbers: IntVector) -> int:
        """Give parameters the next bits, up to the end of a word; return the first bit."""
        first = self.bit_count
        padding = np.full(-len(numbers) % 64, -1)
        self.parameters += [numbers, padding]
        self.bit_count += len(numbers) + len(padding)
        return first

    def _bias_numbers(self, nodes: IntVector) -> IntVector:
        return self.topology.weight_count + nodes - self.topology.input_count

    def _new_rows(self, node_count: int) -> int:
        self.row_count += _row_count(node_count)
        return self.row_count - _row_count(node_count)

    def _are_inputs(self, nodes: IntVector) -> bool:
        return bool(nodes.max() < self.topology.input_count)


@dataclass(frozen=True, eq=False)
class _Words:
    """Where the words of some nodes are."""

    are_inputs: bool
    row: int
    nodes: IntVector


def _row_count(node_count: int) -> int:
    return -(-node_count // 64)


def _table(steps: list[dict[str, int]]) -> NDArray[Any]:
    table = np.zeros(len(steps), STEP)
    for row, step in zip(table, steps, strict=True):
        for name, value in step.items():
            row[name] = value
    return table
