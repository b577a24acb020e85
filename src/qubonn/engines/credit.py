"""Soft credit: what each hidden neuron's sign is worth in each example, passed down by slopes.

Topology, softness -> Credit, the tables of the credit kernels; SoftCredit keeps the pushes of
replicas between visits.

A *push* is E(+1) - E(-1) of a hidden neuron in one example. A neuron that outputs read compares
their costs; those of leads are expected ones under the outputs' noise, so that examples push by
what they lack. A neuron below sums, over the neurons j that read it,
push_j times the change of the chance of +1 of j under j's noise. So its cost grows with the number
of arcs, not of paths, and neurons that share weights, such as a filter of a convolution, are
visited together.
"""

from functools import lru_cache
from importlib import import_module
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from qubonn.engines.forward_tables import (
    FIRST,
    LANES,
    LAST,
    PARAMETER,
    Integers,
    arcs_with_biases,
    starts_of,
    temperature_groups,
)
from qubonn.errors import RangeError, TopologyError
from qubonn.topology import Topology
from qubonn.topology.graph import first_with_equal_arcs

CreditKind = Literal["auto", "exact", "soft", "layers"]
MOST_BITS = 12  # of the fraction of a slope
ORDERS = 64
FINEST = 6  # bits of pushes below the unit
FEW = 4  # examples are few if they are at most this part of all
ALL_BITS = 30  # of a sum of pushes times slopes: int32 with a bit to spare


class Credit(NamedTuple):
    """Which neurons are visited together, and which ones read each neuron."""

    level_of: Integers  # by neuron: its level of the forward pass
    out_starts: Integers  # by neuron: its first arc in `out`
    out: Integers  # arcs from neurons, by source and target: target (a neuron), parameter
    group_starts: Integers  # of each group's members; a group shares weights
    members: Integers  # neurons with something to propose, groups in the order of a forward pass
    orders: Integers  # sweeps x groups: the order of visits, level by level; then again
    number_starts: Integers  # by group: its first number; groups of one member have none
    numbers: Integers  # rows like those of `Wiring.own`: -, first parameter, place in `parallel`
    parallel: Integers  # parameters of numbers side by side
    place_starts: Integers  # by number: its first row in `places`
    places: Integers  # arcs of a number: which member of the group, source
    slopes: Integers  # by neuron: 2**bits / 2S, rounded; 2S is the width of its noise
    lead_softness: int  # S of the noise of leads
    output_slope: int  # what one of the outputs' units counts: 2**bits units, or 2**bits / 4S
    bits: int
    cap: int  # pushes are clipped to -cap..cap


def require_credit(credit: object) -> None:
    """Refuse an unknown kind of credit."""
    if credit not in get_args(CreditKind):
        raise RangeError(f"credit must be one of {get_args(CreditKind)}; got {credit!r:.60}")


def uses_soft_credit(topology: Topology, credit: CreditKind, *, is_soft: bool) -> bool:
    """Whether pushes are passed down by slopes; "auto": where exact costs would take long.

    "layers" is "auto" where a network is not trained layer by layer.
    """
    is_chosen = credit in ("auto", "layers")
    if credit == "exact" or (is_chosen and not is_soft):
        return False
    if is_chosen:
        return _is_deep_or_shared(topology) and not why_exact(topology)
    if not is_soft:
        raise RangeError("credit='soft' needs a softness")
    if reason := why_exact(topology):
        raise TopologyError(f"credit='soft' needs a network in which {reason}")
    return True


@lru_cache(maxsize=8)
def _is_deep_or_shared(topology: Topology) -> bool:
    is_hidden = topology.target_of < topology.outputs.start
    is_inner = topology.source_of >= topology.input_count
    return bool((is_hidden & is_inner).any() or topology.weight_count < topology.arc_count)


@lru_cache(maxsize=8)
def why_exact(topology: Topology) -> str:
    """Return what soft credit needs of a network and this one lacks; empty if nothing."""
    if topology.known_parameters.all():
        return "some weights or biases are free"
    if (topology.source_of >= topology.outputs.start).any():
        return "no neuron reads an output"
    arcs = topology.known_weights[topology.weight_of] == 0
    targets, weights = topology.target_of[arcs], topology.weight_of[arcs]
    if len(np.unique(targets * topology.weight_count + weights)) < len(targets):
        return "no weight has two arcs into one neuron"
    is_shared = np.bincount(weights, minlength=topology.weight_count)[weights] > 1
    if (is_shared & (targets >= topology.outputs.start)).any():
        return "outputs share no weights"
    return ""


@lru_cache(maxsize=8)
def group_of_neurons(topology: Topology) -> Integers:
    """Return for each neuron the group of neurons that it shares weights with, directly or not.

    Known weights are left out.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    arcs = topology.known_weights[topology.weight_of] == 0
    neurons, weights = topology.target_of[arcs] - topology.input_count, topology.weight_of[arcs]
    count = topology.neuron_count + topology.weight_count
    ends = neurons, topology.neuron_count + weights
    graph = coo_array((np.ones(len(neurons), dtype=np.int8), ends), shape=(count, count))
    groups = connected_components(graph, directed=False)[1][: topology.neuron_count]
    return np.asarray(np.unique(groups, return_inverse=True)[1], dtype=np.int64)


def widest_group(topology: Topology) -> int:
    """Return the largest number of neurons that are visited together."""
    return int(np.bincount(group_of_neurons(topology)).max(initial=1))


def credit_of(topology: Topology, prices: Any, cap: int, finer: int) -> Credit:
    """Return the tables for a topology and prices.

    Pushes are in 2**-finer of the unit, and at most `cap` of those.
    """
    sources, targets, parameters = arcs_with_biases(topology)
    count, level_of = topology.neuron_count, np.empty(topology.neuron_count, dtype=np.int64)
    levels = [nodes - topology.input_count for nodes in topology.levels()]
    for number, neurons in enumerate(levels):
        level_of[neurons] = number
    is_inner = (sources >= topology.input_count) & (sources < topology.node_count)
    inner = np.flatnonzero(is_inner)
    inner = inner[np.lexsort((targets[inner], sources[inner]))]
    order = np.concatenate(levels) if levels else np.zeros(0, dtype=np.int64)
    is_free, group_of = topology.known_parameters[parameters] == 0, group_of_neurons(topology)
    order = order[np.isin(order, targets[is_free])]  # others have nothing to propose
    groups, first = np.unique(group_of[order], return_index=True)
    rank = np.full(int(group_of.max(initial=-1)) + 1, -1)
    rank[groups[np.argsort(first)]] = np.arange(len(groups))
    rank = rank[group_of]
    members = order[np.argsort(rank[order], kind="stable")]
    most_arcs = int(np.bincount(sources[inner], minlength=1).max(initial=0)) + 1
    bits = max(4, min(MOST_BITS, ALL_BITS - int(np.ceil(np.log2(most_arcs * cap + 1)))))
    cap = min(cap, 2 ** (ALL_BITS - bits) // most_arcs)
    output_slope, lead_softness = prices.violation << (bits + finer), int(prices.softness[-1])
    if prices.is_pairwise:
        output_slope = max(1, round(output_slope / (4 * lead_softness)))
    group_starts = starts_of(rank[members], int(rank.max(initial=-1)) + 1)
    return Credit(
        level_of=level_of,
        out_starts=starts_of(sources[inner] - topology.input_count, count),
        out=np.stack([targets[inner], parameters[inner]], axis=1),
        group_starts=group_starts,
        members=members,
        orders=_orders(level_of[members[group_starts[:-1]]]),
        **_numbers(
            group_starts, members, rank, sources[is_free], targets[is_free], parameters[is_free]
        ),
        slopes=np.rint(2**bits / np.maximum(2 * prices.softness, 1)).astype(np.int64),
        lead_softness=lead_softness,
        output_slope=output_slope,
        bits=bits,
        cap=cap,
    )


def _orders(levels: Integers) -> Integers:
    """Return orders of the groups, by level and shuffled: the first should not always be first."""
    generator = np.random.default_rng(0)
    shuffled = [generator.permutation(len(levels)) for _ in range(ORDERS)]
    return np.stack([order[np.argsort(levels[order], kind="stable")] for order in shuffled])


def _numbers(
    group_starts: Integers,
    members: Integers,
    group_of: Integers,
    sources: Integers,
    targets: Integers,
    parameters: Integers,
) -> dict[str, Integers]:
    """Return the numbers of the groups of several members, in a fixed shuffled order.

    `sources`, `targets` and `parameters` are those of arcs whose weights are free.
    """
    place_of = np.empty_like(group_of)
    place_of[members] = np.arange(len(members)) - group_starts[group_of[members]]
    kept = np.flatnonzero(np.diff(group_starts)[group_of[targets]] > 1)
    arcs = kept[np.lexsort((sources[kept], targets[kept], parameters[kept]))]
    own, owner_of = np.unique(parameters[arcs], return_inverse=True)
    pairs = targets[arcs] * (int(sources.max(initial=0)) + 1) + sources[arcs]
    if not len(own):
        none, zero = np.zeros(0, dtype=np.int64), np.zeros(1, dtype=np.int64)
        return {
            "number_starts": np.zeros(len(group_starts), dtype=np.int64),
            "numbers": np.zeros((0, 4), dtype=np.int64),
            "parallel": none,
            "place_starts": zero,
            "places": np.zeros((0, 2), dtype=np.int64),
        }
    first_of = first_with_equal_arcs(owner_of, pairs)
    firsts = np.unique(first_of)
    group_of_first = group_of[targets[arcs[np.searchsorted(owner_of, firsts)]]]
    shuffled = np.random.default_rng(0).permutation(len(firsts))
    firsts = firsts[shuffled[np.argsort(group_of_first[shuffled], kind="stable")]]
    number_of = np.empty(len(own), dtype=np.int64)
    number_of[firsts] = np.arange(len(firsts))
    number_of = number_of[first_of]
    by_number = np.argsort(number_of, kind="stable")
    starts = starts_of(number_of[by_number], len(firsts))
    numbers = np.zeros((len(firsts), 4), dtype=np.int64)
    numbers[:, PARAMETER], numbers[:, FIRST], numbers[:, LAST] = (
        own[firsts],
        starts[:-1],
        starts[1:],
    )
    is_first = first_of[owner_of] == owner_of
    listed = arcs[is_first][np.argsort(number_of[owner_of[is_first]], kind="stable")]
    number_of_arc = np.sort(number_of[owner_of[is_first]], kind="stable")
    place_starts = starts_of(number_of_arc, len(firsts))
    group_of_number = group_of[targets[listed[place_starts[:-1]]]]
    return {
        "number_starts": starts_of(group_of_number, len(group_starts) - 1),
        "numbers": numbers,
        "parallel": own[by_number],
        "place_starts": place_starts,
        "places": np.stack([place_of[targets[listed]], sources[listed]], axis=1),
    }


class SoftCredit:
    """The tables of one problem, and the pushes of its replicas."""

    def __init__(self, topology: Topology, prices: Any, cap: int, heaviest: int, kind: Any) -> None:
        # Numba is slow to import, so these are imported when needed
        self.kernels: Any = import_module("qubonn.engines._credit_kernels")
        self.topology = topology
        hidden = prices.softness[: topology.hidden_count]
        most = heaviest * (4 * cap + 8 * int(hidden.max(initial=0)) * prices.margin)
        room = np.iinfo(kind).max // 4 // max(most, 1)
        self.finer = int(np.clip(np.log2(max(room, 1)), 0, FINEST))
        self.blocks_per_sum = max(1, int(np.iinfo(kind).max // (most << self.finer)))
        self.tables = credit_of(topology, prices, cap << self.finer, self.finer)
        self.top = int(self.tables.level_of.max(initial=0))
        self.pushes: list[Any] = []
        self.few: list[Any] = []

    @property
    def group_count(self) -> int:
        """Visits of a sweep."""
        return len(self.tables.group_starts) - 1

    def widths(self, prices: Any) -> Integers:
        """Return by neuron the number of parts of a unit in which its visits are evaluated."""
        widths = np.maximum(2 * prices.softness, 1)
        widths[: self.topology.hidden_count] <<= self.finer
        return np.asarray(widths)

    def temperature_groups(self) -> Integers:
        """Return the temperature group of each visit: that of its weights, not of its biases."""
        groups, tables = temperature_groups(self.topology), self.tables
        found = groups.of_neuron[tables.members[tables.group_starts[:-1]]]
        has_numbers = np.flatnonzero(np.diff(tables.number_starts))
        for group in has_numbers:
            rows = tables.numbers[tables.number_starts[group] : tables.number_starts[group + 1]]
            weights = rows[rows[:, PARAMETER] < self.topology.weight_count, PARAMETER]
            found[group] = groups.of_parameter[weights[0]]
        return np.asarray(found)

    def load(self, replica_count: int, counts: NDArray[Any]) -> None:
        """Forget all pushes; `counts` are those of one replica."""
        neurons, blocks = self.topology.neuron_count, len(counts) // self.topology.neuron_count
        if len(self.pushes) != replica_count or self.pushes[0].pushes.shape != counts.shape:
            widest = widest_group(self.topology)
            self.pushes = [
                self.kernels.new_pushes(neurons, blocks, counts, self.topology.output_count, widest)
                for _ in range(replica_count)
            ]
        if len(self.few) != replica_count:
            self.few = [None] * replica_count
        for one in self.pushes:
            one.stale[:], one.changed[:] = self.top, 0

    def anneal(
        self, wiring: Any, task: Any, number: int, one: Any, schedule: Any, flip_costs: Integers
    ) -> None:
        """Make the visits of a schedule in one replica."""
        scratch = self._scratch(wiring, one, flip_costs)
        few = self._few(number, one, task[0])
        examples, prices = task
        finer = self.finer
        of_hidden = (
            examples._replace(pull=examples.pull << finer),
            prices._replace(
                margin=prices.margin << finer,
                decay=prices.decay << finer,
                blocks_per_sum=self.blocks_per_sum,
            ),
        )
        state = one, self.pushes[number], few
        tables, widths = (wiring, self.tables), self.widths(prices)
        self.kernels.anneal_by_credit(tables, task, of_hidden, widths, state, schedule, scratch)

    def _few(self, number: int, one: Any, examples: Any) -> Any:
        """Return room for copies of a few examples of one replica, the same until it is too small.

        The kernels touch only what they need of it, which takes longer where the memory is new.
        """
        room, found = -(-one.spins.shape[1] // FEW), self.few[number]
        if found is None or found.replica.spins.shape[1] < room:
            found = self.kernels.new_few(one, examples, self.topology.output_count, room)
        self.few[number] = found = found._replace(
            replica=one._replace(counts=found.replica.counts, spins=found.replica.spins),
            examples=examples._replace(
                wanted=found.examples.wanted, is_real=found.examples.is_real
            ),
        )
        return found

    def _scratch(self, wiring: Any, replica: Any, flip_costs: Integers) -> Any:
        """Return the work arrays of visits, with thresholds for all numbers of a group."""
        tables, kernels = self.tables, import_module("qubonn.engines._forward_kernels")
        scratch = kernels.new_scratch(wiring, replica, flip_costs)
        most = max(
            len(scratch.thresholds), int(np.diff(tables.number_starts).max(initial=1)) + LANES
        )
        return scratch._replace(thresholds=np.zeros(-(-most // LANES) * LANES, dtype=np.float32))
