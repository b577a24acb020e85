"""Structure: all of a training problem that does not depend on its examples.

Topology, whether outputs are fixed -> what is known, what needs variables, neurons of one shape.
An arc has a product variable only if neither its source nor its weight is known.
Computed once for a topology and kept for a while, since one network is often trained many times.
Number of terms -> CountCode: the top bit of a shifted count is the sign of a sum of spins.
Paper, thm:1 and cor:1.
"""

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, require_count
from qubonn.topology import Topology
from qubonn.topology.blocks import alike

KNOWN, FREE, PLUS, MINUS, CONSTANT = range(5)  # kinds of arcs, see `Alike`


@lru_cache(maxsize=16)
def structure_of(
    topology: Topology, has_fixed_outputs: bool, bound: int | None = None
) -> "Structure":
    """Return the structure in which inputs are known, and outputs too where they are fixed.

    Count bits weigh at most `bound`; None stands for powers of two, as in the paper.
    """
    is_known = np.zeros(topology.node_count, dtype=bool)
    is_known[: topology.input_count] = True
    is_known[topology.outputs.start :] = has_fixed_outputs
    return Structure(topology, is_known, bound)


@dataclass(frozen=True, eq=False)
class Alike:
    """G neurons with equally many arcs of each kind.

    Known arcs have a known source and a free weight, free arcs a free source and a free weight,
    signed arcs a free source and a known weight, and constant arcs are known altogether.
    """

    neurons: IntVector  # G
    is_known: bool  # their own activation
    top_bit: int  # n_j
    known_sources: NDArray[np.int64]  # G x known arcs, or 1 x known arcs if all see the same
    free_sources: NDArray[np.int64]  # G x free arcs
    signed_sources: NDArray[np.int64]  # G x signed arcs, those of weight +1 first
    signs: tuple[int, ...]  # of the weights of signed arcs
    constant_sources: NDArray[np.int64]  # G x constant arcs
    constant_bits: NDArray[np.int8]  # G x constant arcs: of their weights
    bias_bit: int | None  # None where it is free
    parameters: NDArray[np.int64]  # G x variables of bias if free, weights of known, of free arcs
    product_rank: NDArray[np.int64]  # G x free arcs: place among the products of one example
    count_rank: NDArray[np.int64]  # G x count bits: place among the count bits of one example
    count_weights: tuple[int, ...]  # of the count bits; their sum is 2**n_j - 1

    @property
    def known_count(self) -> int:
        """Number of arcs from known sources, the same for each neuron."""
        return int(self.known_sources.shape[1])

    @property
    def free_count(self) -> int:
        """Number of arcs from free sources, the same for each neuron."""
        return int(self.free_sources.shape[1])


@dataclass(frozen=True, eq=False, repr=False)
class Structure:
    """What a topology needs in each example, given which nodes are known."""

    topology: Topology
    is_known: NDArray[np.bool_]
    bound: int | None = None  # of the weights of count bits

    def __repr__(self) -> str:
        return f"Structure({self.topology!r}, {self.is_known.sum()} nodes known)"

    @cached_property
    def top_bit(self) -> IntVector:
        """n_j of every neuron (non-input node)."""
        return top_bits_of(self.topology.fan_in[self.topology.input_count :])

    @cached_property
    def shift(self) -> IntVector:
        """floor(kappa_j / 2) of every neuron."""
        return shifts_of(self.topology.fan_in[self.topology.input_count :], self.top_bit)

    @cached_property
    def free_nodes(self) -> IntVector:
        """Nodes whose activations are variables."""
        return np.flatnonzero(~self.is_known)

    @cached_property
    def product_arcs(self) -> IntVector:
        """Arcs with product variables: neither their source nor their weight is known."""
        return np.flatnonzero(self._kind_of_arc == FREE)

    @cached_property
    def weight_variables(self) -> IntVector:
        """Variable of each weight; -1 where it is known."""
        return _numbers(self.topology.free_weights, self.topology.weight_count, 0)

    @cached_property
    def bias_variables(self) -> IntVector:
        """Variable of each neuron's bias; -1 where it is known."""
        first, free = len(self.topology.free_weights), self.topology.free_biases
        return _numbers(free, self.topology.neuron_count, first)

    @cached_property
    def count_neuron(self) -> IntVector:
        """Neuron of each count bit of one example."""
        return np.repeat(np.arange(self.topology.neuron_count), self._count_sizes)

    @cached_property
    def count_place(self) -> IntVector:
        """Place (0 is lowest) of each count bit of one example."""
        return np.arange(len(self.count_neuron)) - self._count_start[self.count_neuron]

    @cached_property
    def count_weight(self) -> IntVector:
        """Part of the count that each count bit of one example stands for."""
        weights = [count_weights(n, self.bound) for n in self.top_bit.tolist()]
        return np.array([weight for some in weights for weight in some], dtype=np.int64)

    @cached_property
    def alike(self) -> tuple[Alike, ...]:
        """The neurons, grouped so that those of one shape can be built together."""
        topology = self.topology
        nodes = np.arange(topology.input_count, topology.node_count)
        counts = np.zeros((CONSTANT + 1, topology.node_count), dtype=np.int64)
        np.add.at(counts, (self._kind_of_arc, topology.target_of), 1)
        kinds = self.is_known[nodes], topology.known_biases, *counts[:, nodes]
        groups = alike(topology, nodes, *kinds)
        return tuple(self._alike(some, arcs, counts[:, some[0]]) for some, arcs in groups)

    def _alike(self, nodes: IntVector, arcs: NDArray[np.int64], counts: IntVector) -> Alike:
        topology, neurons = self.topology, nodes - self.topology.input_count
        top_bit = int(self.top_bit[neurons[0]])
        by_kind = np.argsort(self._kind_of_arc[arcs], axis=1, kind="stable")
        arcs = np.take_along_axis(arcs, by_kind, 1)
        parts = np.split(arcs, np.cumsum(counts)[:-1], axis=1)
        known_arcs, free_arcs, plus_arcs, minus_arcs, constant_arcs = parts
        signed_arcs = np.concatenate([plus_arcs, minus_arcs], axis=1)
        known_sources = topology.source_of[known_arcs]
        if (known_sources == known_sources[0]).all():
            known_sources = known_sources[:1]
        known_bias = int(topology.known_biases[neurons[0]])
        own = topology.weight_of[np.concatenate([known_arcs, free_arcs], axis=1)]
        parameters = self.weight_variables[own]
        if not known_bias:
            biases = self.bias_variables[neurons][:, np.newaxis]
            parameters = np.concatenate([biases, parameters], axis=1)
        weights = count_weights(top_bit, self.bound)
        return Alike(
            neurons=neurons,
            is_known=bool(self.is_known[nodes[0]]),
            top_bit=top_bit,
            known_sources=known_sources,
            free_sources=topology.source_of[free_arcs],
            signed_sources=topology.source_of[signed_arcs],
            signs=(1,) * plus_arcs.shape[1] + (-1,) * minus_arcs.shape[1],
            constant_sources=topology.source_of[constant_arcs],
            constant_bits=(topology.known_weights[topology.weight_of[constant_arcs]] + 1) // 2,
            bias_bit=int(known_bias > 0) if known_bias else None,
            parameters=parameters,
            product_rank=np.searchsorted(self.product_arcs, free_arcs),
            count_rank=self._count_start[neurons][:, None] + np.arange(len(weights)),
            count_weights=weights,
        )

    @cached_property
    def _kind_of_arc(self) -> IntVector:
        """By arc: KNOWN, FREE, PLUS, MINUS or CONSTANT."""
        topology = self.topology
        is_free = ~self.is_known[topology.source_of]
        spins = topology.known_weights[topology.weight_of]
        with_known_weight = np.where(is_free, np.where(spins > 0, PLUS, MINUS), CONSTANT)
        return np.where(spins == 0, np.where(is_free, FREE, KNOWN), with_known_weight)

    @cached_property
    def _count_sizes(self) -> IntVector:
        sizes = [len(count_weights(n, self.bound)) for n in self.top_bit.tolist()]
        return np.array(sizes, dtype=np.int64)

    @cached_property
    def _count_start(self) -> IntVector:
        return np.cumsum(self._count_sizes) - self._count_sizes


def _numbers(free: IntVector, count: int, first: int) -> IntVector:
    """Return numbers from `first` on at the places `free`, and -1 elsewhere."""
    numbers = np.full(count, -1)
    numbers[free] = first + np.arange(len(free))
    return numbers


# ---- theorem 1 ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class CountCode:
    """How a sum of `term_count` spins is counted: its sign is bit `top_bit` of the shifted count.

    >>> CountCode.for_inputs(3)
    CountCode(term_count=3, top_bit=1, slack=0)
    """

    term_count: int
    top_bit: int  # n in the paper
    slack: int  # kappa in the paper

    @classmethod
    def for_inputs(cls, term_count: int) -> "CountCode":
        """Return the code of a neuron that sums `term_count` spins, its bias included."""
        top_bit = require_count("term_count", term_count).bit_length() - 1
        return cls(term_count, top_bit, 2 ** (top_bit + 1) - (term_count + 1))

    @property
    def shift(self) -> int:
        """What is added to the number of +1 spins: floor(kappa / 2)."""
        return self.slack // 2


@lru_cache(maxsize=256)
def count_weights(top_bit: int, bound: int | None) -> tuple[int, ...]:
    """Return weights of at most `bound` whose sums are exactly 0 .. 2**top_bit - 1, in order.

    Powers of two up to the bound, then the bound as often as it fits, and the rest. Each weight is
    at most 1 more than all smaller ones together, so every sum can be had, the largest first.

    >>> count_weights(4, None), count_weights(4, 4), count_weights(2, 1)
    ((1, 2, 4, 8), (1, 2, 4, 4, 4), (1, 1, 1))
    """
    total, weights = 2**top_bit - 1, list[int]()
    most = total if bound is None else min(bound, total)
    while (power := 2 ** len(weights)) <= most and sum(weights) + power <= total:
        weights.append(power)
    rest = total - sum(weights)
    weights += [most] * (rest // most if most else 0)
    rest = total - sum(weights)
    return tuple(sorted([*weights, rest] if rest else weights))


def top_bits_of(fan_in: IntVector) -> IntVector:
    """Return n_j = floor(log2(|P_j| + 1)) for many neurons."""
    # frexp gives the exponent exactly, where log2 may round
    return np.asarray(np.frexp(fan_in + 1.0)[1].astype(np.int64) - 1)


def shifts_of(fan_in: IntVector, top_bits: IntVector) -> IntVector:
    """Return floor(kappa_j / 2), kappa_j = 2**(n_j + 1) - |P_j| - 2, for many neurons."""
    return np.asarray(((2 << top_bits) - fan_in - 2) // 2)
