"""The forward pass level by level, with the sign rule, margins and votes.

Topology, parameters, input spins -> activations and pre-activations.  Paper, eq:activation.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix, SpinVector
from qubonn.encoding import Reading
from qubonn.inference import packed_network
from qubonn.inference.program import program_of
from qubonn.topology import Topology
from qubonn.topology.blocks import threshold_sums

CHUNK_BYTES = 64 << 20  # of float32 activations held at once
WORTH_IT = 10**7  # arcs times examples: a millisecond for NumPy
WORTH_LOADING = 10**9  # the same where Numba and compiled kernels must be loaded first


def sign(values: NDArray[Any]) -> NDArray[np.int8]:
    """Return +1 where a value is positive and -1 elsewhere: f(0) is -1; numpy.sign(0) is 0."""
    return (values > 0) * np.int8(2) - np.int8(1)  # ten times as fast as numpy.where


def decide(votes: NDArray[Any], reading: Reading) -> SpinMatrix:
    """Return output spins: the signs of the votes, or +1 at the largest of each row only.

    The earliest of equal votes is the largest.
    """
    if reading == "signs":
        return sign(votes)
    spins = np.full(votes.shape, -1, dtype=np.int8)
    spins[np.arange(len(votes)), votes.argmax(axis=1)] = 1
    return spins


@dataclass(frozen=True, eq=False)
class Margins:
    """Magnitudes of the pre-activations, one row per example and one column per neuron.

    S1 and S2: paper, eq:sumofmargins and eq:sumofmargins2.

    >>> Margins(np.array([[3, 1], [1, 5]]))
    Margins(s1=2, s2=10)
    """

    magnitudes: NDArray[np.int32]

    @property
    def per_neuron(self) -> NDArray[np.int32]:
        """Smallest magnitude of each neuron over the examples; the neuron margin of the paper."""
        return np.asarray(self.magnitudes.min(axis=0))

    @property
    def s1(self) -> int:
        """Sum over neurons of the smallest magnitude."""
        return int(self.per_neuron.sum())

    @property
    def s2(self) -> int:
        """Sum of all magnitudes."""
        return int(self.magnitudes.sum(dtype=np.int64))

    def __repr__(self) -> str:
        return f"Margins(s1={self.s1}, s2={self.s2})"


@dataclass(frozen=True, eq=False, repr=False)
class ForwardPass:
    """The activation of every node and the sum of every neuron, for every example."""

    activation_spins: SpinMatrix  # examples x nodes
    pre_activations: NDArray[np.int32]  # examples x neurons
    output_count: int

    @property
    def output_spins(self) -> SpinMatrix:
        """Activations of the outputs, examples x outputs."""
        return self.activation_spins[:, self.activation_spins.shape[1] - self.output_count :]

    @cached_property
    def margins(self) -> Margins:
        """Magnitudes of the pre-activations."""
        return Margins(np.abs(self.pre_activations))

    def votes(self, reading: Reading) -> NDArray[np.int64]:
        """Return what a committee adds up: output spins, or with "largest" their sums."""
        if reading == "signs":
            return self.output_spins.astype(np.int64)
        first = self.pre_activations.shape[1] - self.output_count
        return self.pre_activations[:, first:].astype(np.int64)

    def __repr__(self) -> str:
        examples, nodes = self.activation_spins.shape
        return f"ForwardPass({examples} examples, {nodes} nodes, {self.output_count} outputs)"


@dataclass(frozen=True, eq=False)
class LevelPlan:
    """One level: pre-activations of `nodes` are ``activations[:, sources] @ matrix + thresholds``.

    Neurons are grouped by level and not by shape: then a level is one matrix product. The matrix is
    dense float32 where at least an eighth of it is arcs (exact: sums of spins stay below 2**24),
    sparse otherwise. Parallel arcs add up in it; thresholds are biases and arcs from the constant.
    """

    nodes: IntVector
    sources: IntVector
    matrix: Any
    thresholds: NDArray[np.float32]


def plan_levels(
    topology: Topology, weights: SpinVector, biases: SpinVector, cut: Iterable[int] = ()
) -> tuple[LevelPlan, ...]:
    """Prepare a forward pass in which the activations of the nodes in `cut` are given."""
    plan = []
    (thresholds,) = threshold_sums(topology, weights[np.newaxis], biases[np.newaxis])
    for nodes, sources, place, weight_of in _arcs_of_levels(topology, tuple(cut)):
        matrix = _matrix((len(sources), len(nodes)), place, weights[weight_of])
        own = thresholds[nodes - topology.input_count].astype(np.float32)
        plan.append(LevelPlan(nodes, sources, matrix, own))
    return tuple(plan)


def run_forward(
    plan: tuple[LevelPlan, ...],
    topology: Topology,
    input_spins: SpinMatrix,
    clamped: tuple[IntVector, SpinMatrix] | None = None,
) -> ForwardPass:
    """Compute all activations; `clamped` (nodes, spins) keep their spins whatever their sums.

    `input_spins` has the columns of the data, without the constant.
    """
    example_count = len(input_spins)
    spins = np.ones((example_count, topology.node_count), dtype=np.int8)
    sums = np.empty((example_count, topology.neuron_count), dtype=np.int32)
    spins[:, : topology.column_count] = input_spins  # the constant stays +1
    is_clamped = np.zeros(topology.node_count, dtype=bool)
    if clamped is not None:
        is_clamped[clamped[0]] = True
        spins[:, clamped[0]] = clamped[1]
    for rows in chunks(example_count, topology.node_count):
        for level in plan:
            known = spins[rows, level.sources].astype(np.float32)
            found = np.asarray(known @ level.matrix + level.thresholds).astype(np.int32)
            sums[rows, level.nodes - topology.input_count] = found
            follows = ~is_clamped[level.nodes]
            spins[rows, level.nodes[follows]] = sign(found[:, follows])
    return ForwardPass(spins, sums, topology.output_count)


def outputs_of_many(
    topology: Topology, weights: SpinMatrix, biases: SpinMatrix, input_spins: SpinMatrix
) -> SpinMatrix:
    """Return the outputs of networks of one topology, a row of parameters each, side by side.

    Networks x examples x outputs. For many small networks on a few examples this is much faster
    than one network after the other.
    """
    levels = _arcs_of_levels(topology, ())
    widest = max((len(nodes) * len(sources) for nodes, sources, _, _ in levels), default=0)
    pieces = chunks(len(weights), 2 * widest + len(input_spins) * topology.node_count)
    return np.concatenate(
        [_outputs(topology, levels, weights[rows], biases[rows], input_spins) for rows in pieces]
    )


def _outputs(
    topology: Topology,
    levels: list[tuple[IntVector, ...]],
    weights: SpinMatrix,
    biases: SpinMatrix,
    input_spins: SpinMatrix,
) -> SpinMatrix:
    spins = np.ones((len(weights), len(input_spins), topology.node_count), dtype=np.float32)
    spins[:, :, : topology.column_count] = input_spins
    thresholds = threshold_sums(topology, weights, biases)[:, np.newaxis]
    for nodes, sources, place, weight_of in levels:
        matrix = np.zeros((len(sources) * len(nodes), len(weights)), dtype=np.float32)
        np.add.at(matrix, place, weights.T[weight_of])
        matrices = np.moveaxis(matrix.reshape(len(sources), len(nodes), -1), 2, 0)
        sums = spins[:, :, sources] @ matrices + thresholds[:, :, nodes - topology.input_count]
        spins[:, :, nodes] = sign(sums)
    return spins[:, :, topology.outputs.start :].astype(np.int8)


def is_worth_packing(topology: Topology, example_count: int, member_count: int = 1) -> bool:
    """Return whether prediction in bits pays; small work is done before the kernels are loaded."""
    work, loaded = topology.arc_count * example_count * member_count, packed_network.has_run
    if work < WORTH_IT or (work < WORTH_LOADING and not loaded):
        return False
    return work >= WORTH_LOADING or bool(program_of(topology).tables.plane_count) in loaded


def chunks(row_count: int, node_count: int) -> Iterator[slice]:
    """Cut rows into slices whose activations fit into CHUNK_BYTES."""
    size = max(1, CHUNK_BYTES // (4 * max(node_count, 1)))
    return (slice(start, min(start + size, row_count)) for start in range(0, row_count, size))


@lru_cache(maxsize=16)
def _arcs_of_levels(topology: Topology, cut: tuple[int, ...]) -> list[tuple[IntVector, ...]]:
    """Return for each level its nodes, their sources, and of each arc its place and its weight.

    The place is in the flattened matrix, sources x nodes. All networks of a topology have the same.
    Arcs from the constant are left out.
    """
    is_constant = np.zeros(topology.arc_count, dtype=bool)
    is_constant[topology.constant_arcs] = True
    found: list[tuple[IntVector, ...]] = []
    for nodes in topology.levels(cut):
        arcs = np.flatnonzero(np.isin(topology.target_of, nodes) & ~is_constant)
        sources, source_row = np.unique(topology.source_of[arcs], return_inverse=True)
        target_column = np.searchsorted(nodes, topology.target_of[arcs])
        place = source_row * len(nodes) + target_column
        found.append((nodes, sources, place, topology.weight_of[arcs]))
    return found


def _matrix(shape: tuple[int, int], place: IntVector, values: SpinVector) -> Any:
    if 8 * len(values) >= prod(shape):
        flat = np.bincount(place, weights=values, minlength=prod(shape))
        return flat.astype(np.float32).reshape(shape)
    from scipy.sparse import coo_array

    places = np.divmod(place, shape[1])
    return coo_array((values.astype(np.float32), places), shape=shape).tocsr()
