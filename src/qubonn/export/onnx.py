"""to_onnx: a model as an ONNX graph, for the runtimes and compilers that read one.

BinaryNetwork, Committee or QuboClassifier -> ModelProto: numbers into spins, levels of neurons, and
the decision from the outputs. A block is one matrix product; shared filters are stored once and
multiply gathered patches; neurons with sources of their own share one matrix with zeros. Members of
a committee are one more axis in front, so that a committee has as many nodes as one network.
"""

import json
import os
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.encoding import BitPlanes, TableEncoder
from qubonn.encoding.table_encoder import ABOVE, EQUAL, MISSING
from qubonn.errors import RangeError
from qubonn.export.model import Classes, Comparisons, Exported, exported, float32_levels
from qubonn.export.onnx_graph import Form, OnnxGraph, require_room
from qubonn.storage import write_whole
from qubonn.topology.blocks import Block, IntMatrix, blocks_by_level, threshold_sums

NARROW = 8  # blocks with one position and fewer filters are put together into one matrix


def to_onnx(
    model: object,
    path: str | os.PathLike[str] | None = None,
    *,
    form: Form = "float",
    inputs: Literal["spins", "numbers"] = "spins",
    name: str = "model",
) -> Any:
    """Return a model as an ONNX ModelProto, and write it to `path` if one is given.

    The model is a `BinaryNetwork`, a `Committee` or a fitted `QuboClassifier` without cycles.
    `form` is "float" (MatMul, Add, Sign) or "int8" (MatMulInteger, Add, Greater, Where), with the
    same results. The tensor `inputs` holds spins, examples x inputs, or, with ``inputs="numbers"``,
    the features of a classifier as float32: NaN for a missing one, and for words their indices,
    ``binariser_.codes(X)``. Results: `outputs`, the spins of ``predict_outputs``;
    `sums`, output pre-activations of a network or votes of a committee; and of a classifier
    `class`, the number of the class. Needs the package onnx.

    >>> import qubonn as qn
    >>> network = qn.BinaryNetwork.random(qn.Topology.dense(25, 3, 2), seed=0)
    >>> [node.op_type for node in qn.to_onnx(network).graph.node]
    ['MatMul', 'Add', 'Sign', 'MatMul', 'Add', 'Sub', 'Sign']
    """
    if not isinstance(name, str):
        raise RangeError(f"name must be text; got {name!r:.60}")
    parts, graph = exported(model), OnnxGraph(form)
    spins, source = _add_inputs(graph, parts, inputs)
    graph.name_results(_add_decision(graph, parts, _Network(graph, parts, spins)))
    proto = _proto(graph, parts, name, source)
    if path is not None:
        write_whole(path, proto.SerializeToString())
    return proto


def _proto(graph: OnnxGraph, model: Exported, name: str, source: Any) -> Any:
    """Return the ModelProto of a graph, checked by onnx."""
    kinds, width = {"outputs": graph.spin_type, "sums": graph.sum_type}, model.topology.output_count
    results = [graph.tensor(result, kind, width) for result, kind in kinds.items()]
    if model.classes is not None:
        results.append(graph.tensor("class", np.int64))
    proto = graph.model(name, source, results, f"inputs -> outputs; {model.topology!r}")
    if model.classes is not None:
        facts = {"classes": json.dumps(model.classes.labels)}
        if isinstance(model.encoder, TableEncoder):
            facts["categories"] = json.dumps(model.encoder.categories)
        graph.onnx.helper.set_model_props(proto, facts)
    graph.onnx.checker.check_model(proto, full_check=True)
    return proto


# ---- numbers into spins ----


def _add_inputs(graph: OnnxGraph, model: Exported, inputs: str) -> tuple[str, Any]:
    """Add what makes spins out of numbers; return the tensor of spins and that of the inputs."""
    spin_count = model.topology.column_count
    if inputs == "spins":
        return "inputs", graph.tensor("inputs", graph.spin_type, spin_count)
    if inputs != "numbers":
        raise RangeError(f"inputs must be 'spins' or 'numbers'; got {inputs!r}")
    if isinstance(model.encoder, BitPlanes):
        width = spin_count // model.encoder.bits
        planes = _add_planes(graph, model.encoder, spin_count)
        return planes, graph.tensor("inputs", np.float32, width)
    comparisons = model.require_comparisons(inputs)
    spins = graph.where(_add_comparisons(graph, comparisons))
    return spins, graph.tensor("inputs", np.float32, comparisons.column_count)


def _add_comparisons(graph: OnnxGraph, spins: Comparisons) -> str:
    """Add whether each spin is +1; no number is above infinity, or equal to NaN."""
    column_of, rule_of, numbers = spins.column_of, spins.rule_of, "inputs"
    if not np.array_equal(column_of, np.arange(spins.column_count)):
        columns = graph.constant("columns", column_of, np.int64)
        numbers = graph.add("Gather", numbers, columns, axis=-1)
    levels = np.where(rule_of == ABOVE, float32_levels(spins.levels), np.inf)
    is_up = graph.add("Greater", numbers, graph.constant("levels", levels, np.float32))
    if (rule_of == EQUAL).any():
        words = graph.constant(
            "words", np.where(rule_of == EQUAL, spins.levels, np.nan), np.float32
        )
        is_up = graph.add("Or", is_up, graph.add("Equal", numbers, words))
    if (rule_of == MISSING).any():
        mask = graph.constant("missing", rule_of == MISSING, np.bool_)
        is_missing = graph.add("And", graph.add("IsNaN", numbers), mask)
        is_up = graph.add("Or", is_up, is_missing)
    return is_up


def _add_planes(graph: OnnxGraph, planes: BitPlanes, spin_count: int) -> str:
    """Add the bits of whole numbers, plane by plane; of Gray codes, where two bits differ."""
    whole = graph.cast("inputs", np.uint64)
    whole = graph.add("Unsqueeze", whole, graph.constant("second_axis", [1], np.int64))
    shifts = np.arange(planes.bits)[::-1, None]
    bits = _shifted(graph, whole, shifts)
    if planes.gray:
        bits = graph.add("Add", bits, _shifted(graph, whole, shifts + 1))
    odd = graph.add("Mod", bits, graph.constant("whole_two", 2, np.uint64))
    is_set = graph.add("Equal", odd, graph.constant("whole_one", 1, np.uint64))
    flat = graph.constant("flat", [0, spin_count], np.int64)
    return graph.add("Reshape", graph.where(is_set), flat)


def _shifted(graph: OnnxGraph, whole: str, shifts: Any) -> str:
    by = graph.constant("shifts", shifts, np.uint64)
    return graph.add("BitShift", whole, by, direction="RIGHT")


# ---- neurons ----


class _Tensors:
    """Tensors of some nodes each, and where to find a node."""

    def __init__(self, graph: OnnxGraph, model: Exported) -> None:
        self.graph, self.member_count = graph, model.member_count
        self.names: list[str] = []
        self.widths: list[int] = []
        self.joined: dict[tuple[int, ...], str] = {}
        self.home_of, self.place_of = np.full((2, model.topology.node_count), -1)

    def put(self, name: str, nodes: IntVector) -> None:
        """Keep a tensor whose last axis is `nodes`."""
        self.home_of[nodes] = len(self.names)
        self.place_of[nodes] = np.arange(len(nodes))
        self.names.append(name)
        self.widths.append(len(nodes))

    def order(self, nodes: IntVector) -> IntVector:
        """Return the order in which these nodes stand in the tensors."""
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
            parts = [self.names[home] for home in homes]
            if self.member_count > 1 and homes[0] == self.home_of[0]:  # inputs have no such axis
                shape = self.graph.constant("members", [self.member_count, 1, 1], np.int64)
                parts[0] = self.graph.add("Expand", parts[0], shape)
            self.joined[homes] = self.graph.add("Concat", *parts, axis=-1)
        return self.joined[homes]


class _Network:
    """All neurons, level by level: tensors of their spins, and of the sums of the outputs.

    Both are examples x nodes, with an axis for the members in front where there are several.
    """

    def __init__(self, graph: OnnxGraph, model: Exported, inputs: str) -> None:
        self.graph, self.model, topology = graph, model, model.topology
        self.spins = _Tensors(graph, model)
        self.sums = _Tensors(graph, model)
        self.thresholds = threshold_sums(topology, model.weight_spins, model.bias_spins)
        self.spins.put(inputs, np.arange(topology.column_count))
        for blocks in blocks_by_level(topology):
            self._add_level(blocks)

    def _add_level(self, blocks: list[Block]) -> None:
        """Add the blocks of a level, which read earlier levels only."""
        narrow: dict[bool, list[Block]] = {False: [], True: []}
        for block in blocks:
            if len(block.nodes) > 1 or (block.sources.size and len(block.weights) >= NARROW):
                self._add(block.nodes, block.sources, self._values(block))
            else:
                narrow[self._are_outputs(block.nodes)].append(block)
        for some in filter(None, narrow.values()):
            self._add(*self._together(some))

    def _values(self, block: Block) -> NDArray[np.int8]:
        """Return the sums of parallel arcs: members x sources x filters."""
        sums = self.model.weight_spins[:, block.weights].sum(axis=2, dtype=np.int8)
        return np.asarray(sums.swapaxes(1, 2))

    def _add(self, nodes: IntMatrix, sources: IntMatrix, weights: NDArray[np.int8]) -> None:
        """Add one matrix product, the thresholds and the sign rule.

        At each position, a row of `sources`, columns of a matrix of whole numbers are the neurons;
        `weights` has members x sources x neurons of a position, all or none of them outputs.
        """
        graph, is_alone = self.graph, self.model.member_count == 1
        require_room(weights.size * np.dtype(graph.spin_type).itemsize)
        biases = self.thresholds[:, nodes - self.model.topology.input_count]
        if len(nodes) == 1:  # rows in the order of the tensor, so that it need not be gathered
            order = self.spins.order(sources[0])
            sources, weights = sources[:, order], weights[:, order]
        elif not is_alone:  # members x examples x positions x columns
            weights, biases = weights[:, None], biases[:, None]
        if is_alone:
            weights, biases = weights[0], biases[0]
        lowered = 0 if graph.form == "int8" or self._are_outputs(nodes) else 0.5
        operator = "MatMul" if graph.form == "float" else "MatMulInteger"
        read = self.spins.read(sources)
        sums = graph.add(operator, read, graph.constant("weights", weights, graph.spin_type))
        sums = graph.add("Add", sums, graph.constant("biases", biases - lowered, graph.sum_type))
        if len(nodes) > 1:
            kept = [0] if is_alone else [0, 0]  # axes
            sums = graph.add("Reshape", sums, graph.constant("flat", [*kept, nodes.size], np.int64))
        self.spins.put(graph.add("Sign", sums) if lowered else graph.spins(sums), nodes.reshape(-1))
        if self._are_outputs(nodes):
            self.sums.put(sums, nodes.reshape(-1))

    def _together(self, blocks: list[Block]) -> tuple[IntMatrix, IntMatrix, NDArray[np.int8]]:
        """Put blocks of one position side by side; a row is a source, or its k-th parallel arc."""
        most = max(block.sources.size for block in blocks) + 1
        rows_of = []
        for (sources,) in (block.sources for block in blocks):
            k = np.arange(len(sources)) - np.searchsorted(sources, sources)
            rows_of.append(most * sources + k)
        rows = np.unique(np.concatenate(rows_of))
        rows = rows if len(rows) else np.zeros(1, dtype=np.int64)  # any input, with weight 0
        nodes = np.concatenate([block.nodes[0] for block in blocks])
        require_room(self.model.member_count * len(rows) * len(nodes))
        weights = np.zeros((self.model.member_count, len(rows), len(nodes)), dtype=np.int8)
        column = 0
        for block, own in zip(blocks, rows_of, strict=True):
            end = column + len(block.weights)
            weights[:, np.searchsorted(rows, own), column:end] = self._values(block)
            column = end
        return nodes[None], rows[None] // most, weights

    def _are_outputs(self, nodes: IntMatrix) -> bool:
        return bool(nodes[0, 0] >= self.model.topology.outputs.start)


# ---- members' outputs into decisions ----


def _add_decision(graph: OnnxGraph, model: Exported, network: _Network) -> dict[str, str]:
    """Add the decision from the outputs of all members; return the tensors of the results."""
    outputs = np.array([model.topology.outputs])
    spins, sums = network.spins.read(outputs), network.sums.read(outputs)
    results = {"outputs": spins, "sums": sums}
    if model.is_committee:
        by_signs = model.reading == "signs"
        votes = spins if by_signs else sums
        if by_signs and graph.form == "int8":
            votes = graph.cast(spins, graph.sum_type)
        if model.member_count > 1:
            axis = graph.constant("first_axis", [0], np.int64)
            votes = graph.add("ReduceSum", votes, axis, keepdims=0)
        decided = graph.spins(votes) if by_signs else _first_largest(graph, model, votes)
        results = {"outputs": decided, "sums": votes}
    if model.classes is not None:
        scores = _class_scores(graph, model, model.classes, results["sums"])
        results["class"] = graph.add("ArgMax", scores, axis=-1, keepdims=0)
    return results


def _first_largest(graph: OnnxGraph, model: Exported, votes: str) -> str:
    """Add spins that are +1 for the first largest vote only."""
    largest = graph.add("ArgMax", votes, axis=-1, keepdims=1)
    numbers = graph.constant("numbers", np.arange(model.topology.output_count), np.int64)
    return graph.where(graph.add("Equal", largest, numbers))


def _class_scores(graph: OnnxGraph, model: Exported, classes: Classes, votes: str) -> str:
    if classes.offsets is not None:
        return graph.add("Add", votes, graph.constant("offsets", classes.offsets, graph.sum_type))
    if classes.evidence is None:
        return votes
    size = graph.constant("size", model.member_count, graph.sum_type)
    doubled = graph.cast(graph.add("Add", votes, size), np.int64)
    members = graph.add("Div", doubled, graph.constant("two", 2, np.int64))
    evidence = graph.constant("evidence", classes.evidence, np.int32)
    found = graph.add("Gather", evidence, members, axis=0)
    return graph.add("MatMul", found, graph.constant("codewords", classes.codewords.T, np.int32))
