"""Structure: all of a training problem that does not depend on its examples.

Topology, whether outputs are fixed -> what is known, what needs variables, neurons of one shape.
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
    """G neurons with equally many arcs from known and from free sources."""

    neurons: IntVector  # G
    is_known: bool  # their own activation
    top_bit: int  # n_j
    known_sources: NDArray[np.int64]  # G x known arcs, or 1 x known arcs if all see the same
    free_sources: NDArray[np.int64]  # G x free arcs
    parameters: NDArray[np.int64]  # G x variables of bias, weights of known arcs, of free arcs
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
        """Arcs with product variables: their source is not known."""
        return np.flatnonzero(~self.is_known[self.topology.source_of])

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
        targets = topology.target_of[self.product_arcs]
        free_count = np.bincount(targets, minlength=topology.node_count)
        nodes = np.arange(topology.input_count, topology.node_count)
        groups = alike(topology, nodes, free_count[nodes], self.is_known[nodes])
        return tuple(self._alike(some, arcs, int(free_count[some[0]])) for some, arcs in groups)

    def _alike(self, nodes: IntVector, arcs: NDArray[np.int64], free_count: int) -> Alike:
        topology, neurons = self.topology, nodes - self.topology.input_count
        fan_in, top_bit = arcs.shape[1], int(self.top_bit[neurons[0]])
        is_free = ~self.is_known[topology.source_of[arcs]]
        arcs = np.take_along_axis(arcs, np.argsort(is_free, axis=1, kind="stable"), 1)
        known_arcs, free_arcs = np.split(arcs, [fan_in - free_count], axis=1)
        known_sources = topology.source_of[known_arcs]
        if (known_sources == known_sources[0]).all():
            known_sources = known_sources[:1]
        biases = topology.weight_count + neurons[:, np.newaxis]
        weights = count_weights(top_bit, self.bound)
        return Alike(
            neurons=neurons,
            is_known=bool(self.is_known[nodes[0]]),
            top_bit=top_bit,
            known_sources=known_sources,
            free_sources=topology.source_of[free_arcs],
            parameters=np.concatenate([biases, topology.weight_of[arcs]], axis=1),
            product_rank=np.searchsorted(self.product_arcs, free_arcs),
            count_rank=self._count_start[neurons][:, None] + np.arange(len(weights)),
            count_weights=weights,
        )

    @cached_property
    def _count_sizes(self) -> IntVector:
        sizes = [len(count_weights(n, self.bound)) for n in self.top_bit.tolist()]
        return np.array(sizes, dtype=np.int64)

    @cached_property
    def _count_start(self) -> IntVector:
        return np.cumsum(self._count_sizes) - self._count_sizes


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
