"""What flips reach in an acyclic network: the wiring of the forward kernels.

Topology -> Wiring: arcs by neuron, which parameters move one neuron only, and cones: the neurons
that depend, directly or not, on a neuron or on a weight that several arcs share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_memory
from qubonn.topology import Topology

Integers = NDArray[np.int64]
WORDS_PAY = 4  # a neuron reads words of 64 inputs with at least this many inputs per word
NO_WEIGHT = -1

# columns of tables
SOURCE, PARAMETER = 0, 1  # of arcs
FIRST_ARC, FIRST_OWN, FIRST_INNER, NEEDED, LEAST = 0, 1, 2, 3, 4  # of neurons
NEURON, IS_DEEP, ARCS_START, ARCS_END = 0, 1, 2, 3  # of cones


class Cones(NamedTuple):
    """The neurons that depend on each owner, in the order of a forward pass."""

    starts: Integers  # of each owner's rows in `table`
    table: Integers  # neuron; whether it depends on the owner through others: all its inner arcs
    # must be looked at; where in `arcs` are those that come straight from the change
    arcs: Integers  # source, parameter


class Wiring(NamedTuple):
    """Which neurons depend on which parameters, nodes and neurons; tables of integers."""

    input_count: int
    output_count: int  # the last neurons are the outputs
    arcs: Integers  # by target, its bias last: source, parameter. A source is a node; after all
    # nodes comes the constant. Parameters are weights, then biases.
    neurons: Integers  # first arc, first own, first inner arc; terms needed; pi at count 0
    own: Integers  # by target, in a fixed shuffled order: arcs whose weight has no other arc
    inner: Integers  # by target: source and parameter of arcs from neurons
    order: Integers  # neurons in the order of a forward pass
    shared: Integers  # weights with several arcs
    wide_row_of: Integers  # by neuron: its row in `wide_inputs`; -1: arcs are counted one by one
    wide_inputs: NDArray[np.uint64]  # neurons with many inputs, once each x words: a bit an input


class Examples(NamedTuple):
    """The examples as masks over blocks of lanes."""

    wanted: NDArray[np.uint64]  # outputs x blocks: bit k is set where example k wants +1
    is_real: NDArray[np.uint64]  # by block: the lanes that hold an example
    pull: Integers  # by parameter: twice the field, in 2**-FINE of the unit


class Prices(NamedTuple):
    """What things cost, in whole multiples of a unit."""

    margin: int  # reward of one unit of a hidden pre-activation
    margin_cap: int
    violation: int  # of one missing term; of half of one with pairwise outputs
    target_margin: int
    is_pairwise: bool
    softness: Integers  # by neuron; 0: its sign, without noise
    blocks_per_sum: int  # whose gains a lane can add up without overflow


class Replica(NamedTuple):
    """One network and what follows from it; with a first axis over replicas, all of them."""

    parameters: NDArray[np.uint64]  # all bits set where the weight or bias is +1
    counts: NDArray[Any]  # (neurons * blocks) x lanes
    spins: NDArray[np.uint64]  # (nodes + 1) x blocks: inputs, neurons, a row with all bits set
    generator: NDArray[np.uint32]


class VisitSchedule(NamedTuple):
    """Which visits to make, how hot; a replica at or below the target rests."""

    temperatures: NDArray[np.float64]  # sweeps x groups
    groups: Integers  # of each visit of a sweep
    first: int
    last: int
    target: int


@dataclass(frozen=True, eq=False)
class TemperatureGroups:
    """Parameters whose flips are alike, and so are given one temperature.

    Biases and weights of their own of the neurons of a level; shared weights into a level.
    """

    of_neuron: Integers
    of_shared: Integers
    of_parameter: Integers  # weights, then biases
    count: int


@lru_cache(maxsize=8)
def tables_of(topology: Topology) -> tuple[Wiring, Cones, Cones]:
    """Return the wiring, the cones of all neurons and those of all weights of several arcs.

    Neurons are numbered from 0. A bias is one more arc into its neuron, the last one, from a source
    that is always +1.
    """
    require_memory(
        f"finding what the flips of {topology.neuron_count:,} neurons reach",
        20 * topology.neuron_count**2 + 100 * topology.arc_count,
    )
    sources, targets, parameters = _arcs_with_biases(topology)
    count = topology.neuron_count
    is_inner = _is_inner(topology, sources)
    is_shared = _is_shared(topology)
    is_own = ~is_shared[parameters]
    terms = np.append(np.bincount(targets, minlength=count), 0)
    needed = terms // 2 + 1
    starts = [_starts(targets[of], count) for of in (slice(None), is_own, is_inner)]
    wide_row_of, wide_inputs = _wide_neurons(topology)
    wiring = Wiring(
        input_count=topology.input_count,
        output_count=topology.output_count,
        arcs=np.stack([sources, parameters], axis=1),
        neurons=np.stack([*starts, needed, 2 * needed - terms], axis=1),
        own=_shuffled(np.flatnonzero(is_own), targets),
        inner=np.stack([sources, parameters], axis=1)[is_inner],
        order=_order(topology),
        shared=np.flatnonzero(is_shared),
        wide_row_of=wide_row_of,
        wide_inputs=wide_inputs,
    )
    reach = _reach(topology)
    return wiring, _cones_of_neurons(topology, reach), _cones_of_weights(topology, reach)


@lru_cache(maxsize=8)
def temperature_groups(topology: Topology) -> TemperatureGroups:
    """Return the groups of a topology's neurons, shared weights and parameters."""
    shared, weight_count = tables_of(topology)[0].shared, topology.weight_count
    of_neuron = np.empty(topology.neuron_count, dtype=np.int64)
    for number, nodes in enumerate(topology.levels()):
        of_neuron[nodes - topology.input_count] = number
    first_target = np.zeros(weight_count, dtype=np.int64)
    first_target[topology.weight_of[::-1]] = topology.target_of[::-1] - topology.input_count
    of_weight = 2 * of_neuron[first_target]
    of_weight[shared] += 1
    raw = np.concatenate([of_weight, 2 * of_neuron])
    kinds, of_parameter = np.unique(raw, return_inverse=True)
    of_shared = np.searchsorted(kinds, raw[shared])
    return TemperatureGroups(
        np.searchsorted(kinds, 2 * of_neuron), of_shared, of_parameter, len(kinds)
    )


def _arcs_with_biases(topology: Topology) -> tuple[Integers, Integers, Integers]:
    """Return sources, targets and parameters of all arcs by target, each neuron's bias last."""
    neurons = np.arange(topology.neuron_count)
    sources = np.append(topology.source_of, np.full(len(neurons), topology.node_count))
    targets = np.append(topology.target_of - topology.input_count, neurons)
    parameters = np.append(topology.weight_of, topology.weight_count + neurons)
    by_target = np.argsort(targets, kind="stable")
    return sources[by_target], targets[by_target], parameters[by_target]


def _shuffled(arcs: Integers, targets: Integers) -> Integers:
    """Return arcs by target, those of each target in a fixed shuffled order.

    Weights that are visited early settle what later ones need not: they should lie anywhere.
    """
    places = np.random.default_rng(0).permutation(len(arcs))
    return arcs[places[np.argsort(targets[arcs[places]], kind="stable")]]


def _wide_neurons(topology: Topology) -> tuple[Integers, NDArray[np.uint64]]:
    """Return which neurons count their inputs by words, and the inputs of each of them.

    Those that have every input at most once, and enough of them.
    """
    word_count, count = -(-topology.input_count // 64), topology.neuron_count
    is_outer = topology.source_of < topology.input_count
    sources = topology.source_of[is_outer]
    targets = topology.target_of[is_outer] - topology.input_count
    arc_counts = np.bincount(targets, minlength=count)
    pairs = np.unique(targets * topology.input_count + sources)
    input_counts = np.bincount(pairs // topology.input_count, minlength=count)
    is_wide = (arc_counts == input_counts) & (arc_counts >= WORDS_PAY * word_count)
    row_of = np.where(is_wide, np.cumsum(is_wide) - 1, -1)
    inputs = np.zeros((int(is_wide.sum()), word_count), dtype=np.uint64)
    is_read = is_wide[targets]
    places = row_of[targets[is_read]], sources[is_read] // 64
    np.bitwise_or.at(inputs, places, np.uint64(1) << (sources[is_read] % 64).astype(np.uint64))
    return row_of, inputs


def _is_inner(topology: Topology, sources: Integers) -> NDArray[np.bool_]:
    """Whether arcs come from neurons."""
    return (sources >= topology.input_count) & (sources < topology.node_count)


def _is_shared(topology: Topology) -> NDArray[np.bool_]:
    """Whether parameters have several arcs; biases never do."""
    counts = np.bincount(topology.weight_of, minlength=topology.weight_count)
    return np.append(counts > 1, np.zeros(topology.neuron_count, dtype=bool))


def _order(topology: Topology) -> Integers:
    return np.concatenate(topology.levels()) - topology.input_count


def _reach(topology: Topology) -> NDArray[np.bool_]:
    """Return for each neuron which ones depend on it, directly or not; neurons x neurons."""
    reach = np.zeros((topology.neuron_count, topology.neuron_count), dtype=bool)
    sources, targets = (topology.source_of, topology.target_of)
    inner = sources >= topology.input_count
    sources, targets = sources[inner] - topology.input_count, targets[inner] - topology.input_count
    by_source = np.argsort(sources, kind="stable")
    starts = _starts(sources[by_source], topology.neuron_count)
    for neuron in _order(topology)[::-1]:
        targets_of = targets[by_source[starts[neuron] : starts[neuron + 1]]]
        reach[neuron] = reach[targets_of].any(axis=0)
        reach[neuron, targets_of] = True
    return reach


def _cones_of_neurons(topology: Topology, reach: NDArray[np.bool_]) -> Cones:
    """Cones of all neurons; arcs that come straight from the neuron are listed one by one."""
    sources, _, _ = _arcs_with_biases(topology)
    inner = np.flatnonzero(_is_inner(topology, sources))
    starters = sources[inner] - topology.input_count
    starts, table, arcs = _cones(topology, reach, (inner, starters), np.zeros_like(reach))
    # neurons that look at all their arcs from neurons find these among them
    _, is_deep, first, last = table.T
    last[is_deep == 1] = first[is_deep == 1]
    return Cones(starts, table, arcs)


def _cones_of_weights(topology: Topology, reach: NDArray[np.bool_]) -> Cones:
    """Cones of weights with several arcs; their arcs from inputs are listed one by one."""
    sources, targets, parameters = _arcs_with_biases(topology)
    is_shared = _is_shared(topology)
    number_of = np.cumsum(is_shared) - 1
    count = int(is_shared.sum())
    rows = np.zeros((count, topology.neuron_count), dtype=bool)
    is_inside = np.zeros_like(rows)  # the weight lies on an arc between neurons
    arcs = np.flatnonzero(is_shared[parameters])
    for arc in arcs:
        row = rows[number_of[parameters[arc]]]
        row |= reach[targets[arc]]
        row[targets[arc]] = True
        if sources[arc] >= topology.input_count:
            is_inside[number_of[parameters[arc]], targets[arc]] = True
    outer = arcs[sources[arcs] < topology.input_count]
    listed = (outer, number_of[parameters[outer]])
    return _cones(topology, rows, listed, is_inside)


def _cones(
    topology: Topology,
    rows: NDArray[np.bool_],
    listed: tuple[Integers, Integers],
    is_inside: NDArray[np.bool_],
) -> Cones:
    """Write cones (a row of neurons for each owner) as lists in the order of a forward pass.

    A neuron is deep where a change reaches it through other neurons of the cone, or, as
    `is_inside` says, through arcs of its own; all its arcs from neurons must then be looked at.
    """
    sources, targets, parameters = _arcs_with_biases(topology)
    order = _order(topology)
    owners, places = np.nonzero(rows[:, order])
    neurons = order[places]
    deep = is_inside | _depends_inside(topology, rows)
    is_deep = deep[owners, neurons]
    arcs, starters = listed
    keys = starters * len(order) + targets[arcs]
    by_key = np.argsort(keys, kind="stable")
    wanted = owners * len(order) + neurons
    first = np.searchsorted(keys[by_key], wanted, side="left")
    last = np.searchsorted(keys[by_key], wanted, side="right")
    table = np.stack([neurons, is_deep, first, last], axis=1)
    ends = np.stack([sources, parameters], axis=1)[arcs[by_key]]
    return Cones(_starts(owners, len(rows)), table, ends)


def _depends_inside(topology: Topology, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return where a neuron has a source in the cone itself; the owner is not part of its cone."""
    from scipy.sparse import coo_array

    inner = topology.source_of >= topology.input_count
    ends = (
        topology.source_of[inner] - topology.input_count,
        topology.target_of[inner] - topology.input_count,
    )
    count = topology.neuron_count
    arcs = coo_array((np.ones(len(ends[0]), dtype=np.float32), ends), shape=(count, count))
    return np.asarray(rows.astype(np.float32) @ arcs.tocsr() > 0)


def _starts(sorted_owners: Sequence[int] | Integers, count: int) -> Integers:
    """Return where each owner's run begins in a sorted list, and where the last one ends."""
    return np.searchsorted(np.asarray(sorted_owners), np.arange(count + 1))
