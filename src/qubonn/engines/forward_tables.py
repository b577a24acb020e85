"""Index tables of the forward kernels: which neurons depend on which parameters.

Topology -> Wiring: arcs by neuron, and which parameters belong to one neuron only; Cones: the
neurons that depend, directly or not, on a neuron or on a weight that several arcs share. Known
parameters are on arcs, but among none of those that are proposed.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_memory
from qubonn.topology import Topology
from qubonn.topology.graph import first_with_equal_arcs

Integers = NDArray[np.int64]
LANES = 64  # examples in a block, bits in a word
FINE = 16  # energies of replicas are kept in 2**-16 of the lanes' unit
WORDS_PAY = 4  # a neuron reads words of 64 inputs with at least this many inputs per word
BEGIN, PROPOSE, FINISH = 1, 2, 4  # the phases of a turn
ALL_PHASES = BEGIN | PROPOSE | FINISH
NO_WEIGHT = -1

# columns of tables
SOURCE, PARAMETER, PLANE = 0, 1, 2  # of arcs
FIRST, LAST = 2, 3  # of numbers, after source and parameter of their first arc
FIRST_ARC, FIRST_OWN, FIRST_INNER, NEEDED, LEAST = 0, 1, 2, 3, 4  # of neurons
NEURON, IS_DEEP, ARCS_START, ARCS_END = 0, 1, 2, 3  # of cones


class Cones(NamedTuple):
    """The neurons that depend on each owner, in the order of a forward pass.

    Owners are all neurons, then all weights of several arcs that are not tied.
    """

    starts: Integers  # of each owner's rows in `table`
    table: Integers  # neuron; whether it depends on the owner through other neurons, so that all
    # its inner arcs must be read; first and last arc in `arcs` that a change reaches directly
    arcs: Integers  # source, parameter


class Wiring(NamedTuple):
    """Which neurons depend on which parameters, nodes and neurons; tables of integers."""

    input_count: int
    output_count: int  # the last neurons are the outputs
    arcs: Integers  # by target, its bias last: source, parameter, rank among parallel arcs. A
    # source is a node; after all nodes comes the constant. Parameters are weights, then biases.
    neurons: Integers  # first arc, first own, first inner arc; terms needed; pi at count 0
    own: Integers  # by target, in a fixed shuffled order: the numbers that belong to one neuron,
    # sums of the weights of parallel arcs: source, first parameter, its place in `parallel`, end
    parallel: Integers  # parameters of those arcs, then those of shared weights side by side
    decaying: Integers  # numbers of several arcs that are not thresholds, as rows like `own`
    inner: Integers  # by target: source and parameter of arcs from neurons
    order: Integers  # neurons in the order of a forward pass
    tied_starts: Integers  # by neuron: its first row in `tied`; a neuron with rows has no `own`
    tied: Integers  # rows like `own` of neurons whose weights have several arcs from inputs: a
    # bundle of sources, and the parameters that have these sources
    bundle_starts: Integers  # of each bundle's sources
    bundle_sources: Integers  # inputs, or the constant in the bundles from `first_constant` on
    first_constant: int
    shared: Integers  # weights of several arcs that are not tied
    shared_numbers: Integers  # the number that each is a part of, as rows like `own`
    wide_row_of: Integers  # by neuron: its row in `wide_inputs`; -1: arcs are counted one by one
    wide_inputs: NDArray[np.uint64]  # neurons with many inputs x words: a bit for each input
    plane_count: int  # most arcs from one input to one neuron
    with_threshold: NDArray[np.bool_]  # by neuron: whether weights also move with its threshold


class Examples(NamedTuple):
    """The examples as masks over blocks of lanes."""

    wanted: NDArray[np.uint64]  # outputs x blocks: bit k is set where example k wants +1
    is_real: NDArray[np.uint64]  # by block: the lanes that hold an example
    weights: NDArray[Any]  # blocks x lanes: of the examples, whole; 0 where a lane holds none
    pull: Integers  # by parameter: twice the field, in 2**-FINE of the unit


class Prices(NamedTuple):
    """Strengths of the terms of the energy, in whole multiples of a unit."""

    margin: int  # reward of one unit of a hidden pre-activation
    margin_cap: int
    violation: int  # of one missing term; of half of one with pairwise outputs
    target_margin: int
    is_pairwise: bool
    decay: int  # of the square of a weight of several levels, in 2**-FINE of the unit
    softness: Integers  # by neuron; 0: no noise
    blocks_per_sum: int  # blocks whose gains a lane can add up without overflow


class Replica(NamedTuple):
    """A network, its counts and activations; all replicas, if arrays have a first axis for them."""

    parameters: NDArray[np.uint64]  # all bits set where the weight or bias is +1
    counts: NDArray[Any]  # (neurons * blocks) x lanes
    spins: NDArray[np.uint64]  # (nodes + 1) x blocks: inputs, neurons, a row with all bits set
    generator: NDArray[np.uint32]


class VisitSchedule(NamedTuple):
    """The visits to make and their temperatures; a replica stops at or below the target."""

    temperatures: NDArray[np.float64]  # sweeps x groups
    groups: Integers  # of each visit of a sweep
    turns: Integers  # starts of the runs in `Wiring.order` of neurons that are visited together
    first: int
    last: int
    target: int
    phases: int = ALL_PHASES  # of the turns to go through
    rank: int = 0  # of the thread, if several share the neurons of a turn
    thread_count: int = 1


@dataclass(frozen=True, eq=False)
class TemperatureGroups:
    """Groups of parameters that have one temperature because their flips are similar.

    A group is the biases and unshared weights of the neurons of a level, or the shared weights into
    a level.
    """

    of_neuron: Integers
    of_shared: Integers
    of_parameter: Integers  # weights, then biases
    count: int


def turns_of(topology: Topology, at_once: int) -> Integers:
    """Return where the runs of neurons visited together begin in `Wiring.order`, and its end.

    They are up to `at_once` hidden neurons of a level; outputs are visited one by one.

    >>> turns_of(Topology.dense(9, 5, 2), 2).tolist()
    [0, 2, 4, 5, 6, 7]
    """
    starts, done = [], 0
    for nodes in topology.levels():
        hidden = int((nodes < topology.outputs.start).sum())
        step = at_once if hidden == len(nodes) else 1
        starts.append(done + np.arange(0, len(nodes), step))
        done += len(nodes)
    return np.concatenate([*starts, [done]]).astype(np.int64)


@lru_cache(maxsize=12)
def tables_of(topology: Topology) -> tuple[Wiring, Cones]:
    """Return the wiring and the cones of a topology. Neurons are numbered from 0."""
    count, arc_counts = topology.neuron_count, np.bincount(topology.weight_of)
    require_memory(
        f"finding what the flips of {count:,} neurons reach",
        20 * count * (count + int((arc_counts > 1).sum())) + 100 * topology.arc_count,
    )
    listed = sources, targets, parameters = arcs_with_biases(topology)
    is_inner = (sources >= topology.input_count) & (sources < topology.node_count)
    tied = _tied(topology, *listed)
    is_tied = np.zeros(topology.neuron_count, dtype=bool)
    is_tied[tied.neurons] = True
    is_free = topology.known_parameters == 0
    is_shared = (np.bincount(parameters) > 1) & is_free
    is_shared[tied.parameters] = False
    is_own = ~is_shared[parameters] & ~is_tied[targets] & is_free[parameters]
    terms = np.append(np.bincount(targets), 0)
    needed = terms // 2 + 1
    planes = _ranks(sources, targets, topology.node_count)
    is_threshold = (sources == topology.node_count) & is_free[parameters]
    arcs, places = _parallel(np.flatnonzero(is_own), sources, targets, topology.node_count)
    places = places[_shuffled(targets[arcs[places[:, 0]]])]
    first = arcs[places[:, 0]]
    owners = targets, targets[first], targets[is_inner]
    shared = np.flatnonzero(is_shared)
    level_starts, levelled = topology.levelled_weights
    decaying = _rows(len(arcs) + level_starts)
    shared_numbers = _rows(len(arcs) + len(levelled) + np.arange(len(shared) + 1))  # alone, or
    number_of = np.full(topology.weight_count, -1)
    number_of[levelled] = np.repeat(np.arange(len(decaying)), np.diff(level_starts))
    is_levelled = number_of[shared] >= 0
    shared_numbers[is_levelled] = decaying[number_of[shared[is_levelled]]]
    wide_row_of, wide_inputs = _wide_neurons(topology)
    wiring = Wiring(
        input_count=topology.input_count,
        output_count=topology.output_count,
        arcs=np.stack([sources, parameters, planes], axis=1),
        neurons=np.stack(
            [*(starts_of(of, count) for of in owners), needed, 2 * needed - terms], axis=1
        ),
        own=np.stack([sources[first], parameters[first], *places.T], axis=1),
        parallel=np.concatenate([parameters[arcs], levelled, shared, tied.parameters]),
        decaying=decaying,
        inner=np.stack([sources, parameters], axis=1)[is_inner],
        order=np.concatenate(topology.levels()) - topology.input_count,
        tied_starts=starts_of(tied.neurons, count),
        tied=tied.rows(len(arcs) + len(levelled) + len(shared)),
        bundle_starts=tied.bundle_starts,
        bundle_sources=tied.bundle_sources,
        first_constant=tied.first_constant,
        shared=shared,
        shared_numbers=shared_numbers,
        wide_row_of=wide_row_of,
        wide_inputs=wide_inputs,
        plane_count=int(planes[sources < topology.input_count].max(initial=0)) + 1,
        with_threshold=_with_threshold(
            topology, targets[is_threshold], targets[is_threshold & ~is_shared[parameters]]
        ),
    )
    return wiring, _cones(topology, listed, wiring.order, is_shared)


@dataclass(frozen=True, eq=False)
class Tied:
    """Numbers of neurons that read inputs only, by weights of several arcs of their own."""

    neurons: Integers  # of each number
    bundles: Integers  # of each number
    starts: Integers  # of each number's parameters
    parameters: Integers
    bundle_starts: Integers
    bundle_sources: Integers
    first_constant: int

    def rows(self, first: int) -> Integers:
        """Return rows like `own` whose parameters begin at `first` in `parallel`."""
        rows = _rows(first + self.starts)
        rows[:, SOURCE], rows[:, PARAMETER] = self.bundles, self.parameters[self.starts[:-1]]
        return rows


def _tied(topology: Topology, sources: Integers, targets: Integers, parameters: Integers) -> Tied:
    """Find the neurons that read inputs only, by weights that no other neuron has.

    Weights of the same sources are a number; neurons without a weight of several arcs are left out.
    Known weights do not count.
    """
    is_free = topology.known_parameters[parameters] == 0
    counts = np.bincount(parameters)
    first_target = np.zeros(len(counts), dtype=np.int64)
    first_target[parameters[::-1]] = targets[::-1]
    is_inner = (sources >= topology.input_count) & (sources < topology.node_count)
    has_others = np.bincount(parameters, first_target[parameters] != targets) > 0
    is_several = is_free & (counts[parameters] > 1)
    is_tied = np.bincount(targets, is_several, topology.neuron_count) > 0
    is_tied[targets[is_inner | (is_free & has_others[parameters])]] = False
    arcs = np.flatnonzero(is_tied[targets] & is_free)
    if not len(arcs):
        none = np.zeros(0, dtype=np.int64)
        return Tied(none, none, np.zeros(1, np.int64), none, np.zeros(1, np.int64), none, 0)
    sources, (own, owners) = sources[arcs], np.unique(parameters[arcs], return_inverse=True)
    kinds, bundle_of = np.unique(first_with_equal_arcs(owners, sources), return_inverse=True)
    order = np.lexsort((sources, owners))
    starts = starts_of(owners[order], len(own))
    parts = [sources[order[starts[kind] : starts[kind + 1]]] for kind in kinds]
    ranks = np.argsort([part[0] == topology.node_count for part in parts], kind="stable")
    bundle_of = np.argsort(ranks)[bundle_of]
    parts = [parts[rank] for rank in ranks]
    keys = first_target[own] * len(parts) + bundle_of
    numbers, number_of = np.unique(keys, return_inverse=True)
    shuffled = _shuffled(numbers // len(parts))
    by_number = np.argsort(np.argsort(shuffled)[number_of], kind="stable")
    sizes = np.bincount(number_of)[shuffled]
    return Tied(
        neurons=numbers[shuffled] // len(parts),
        bundles=numbers[shuffled] % len(parts),
        starts=np.append(0, np.cumsum(sizes)),
        parameters=own[by_number],
        bundle_starts=np.append(0, np.cumsum([len(part) for part in parts])),
        bundle_sources=np.concatenate(parts),
        first_constant=sum(part[0] < topology.node_count for part in parts),
    )


@lru_cache(maxsize=8)
def temperature_groups(topology: Topology) -> TemperatureGroups:
    """Return the temperature groups of a topology's neurons, shared weights and parameters."""
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
    return TemperatureGroups(
        of_parameter[weight_count:], of_parameter[shared], of_parameter, len(kinds)
    )


def arcs_with_biases(topology: Topology) -> tuple[Integers, Integers, Integers]:
    """Return sources, targets (neurons) and parameters of all arcs, by target.

    A bias is one more arc into its neuron, the last one, from a source that is always +1; its
    number follows those of all nodes. Arcs from a topology's constant have the same source.
    """
    neurons = np.arange(topology.neuron_count)
    sources = np.append(topology.source_of, np.full(len(neurons), topology.node_count))
    if topology.has_constant:
        sources[sources == topology.input_count - 1] = topology.node_count
    targets = np.append(topology.target_of - topology.input_count, neurons)
    parameters = np.append(topology.weight_of, topology.weight_count + neurons)
    by_target = np.argsort(targets, kind="stable")
    return sources[by_target], targets[by_target], parameters[by_target]


def _with_threshold(
    topology: Topology, targets: Integers, own_targets: Integers
) -> NDArray[np.bool_]:
    """Return which neurons have a threshold of several levels and no neuron that depends on them.

    `targets` are those of free biases and arcs from the constant, `own_targets` of those that no
    other neuron has: a neuron needs one. Pairs gain little in other neurons.
    """
    has_levels = np.bincount(targets, minlength=topology.neuron_count) > 1
    has_levels &= np.bincount(own_targets, minlength=topology.neuron_count) > 0
    has_levels[
        topology.source_of[topology.source_of >= topology.input_count] - topology.input_count
    ] = False
    return has_levels


def _rows(starts: Integers) -> Integers:
    """Return rows like `own` of the runs that begin and end at these places in `parallel`."""
    rows = np.zeros((len(starts) - 1, 4), dtype=np.int64)
    rows[:, FIRST], rows[:, LAST] = starts[:-1], starts[1:]
    return rows


def _ranks(sources: Integers, targets: Integers, node_count: int) -> Integers:
    """Return the rank of each arc among the arcs from its source to its target."""
    keys = targets * (node_count + 1) + sources
    order = np.argsort(keys, kind="stable")
    _, first, group_of = np.unique(keys[order], return_index=True, return_inverse=True)
    ranks = np.empty_like(keys)
    ranks[order] = np.arange(len(keys)) - first[group_of]
    return ranks


def _parallel(
    arcs: Integers, sources: Integers, targets: Integers, node_count: int
) -> tuple[Integers, Integers]:
    """Return arcs by source and target, and where each run of parallel ones begins and ends.

    Runs are in the order of their first arcs.
    """
    keys = targets[arcs] * (node_count + 1) + sources[arcs]
    _, first, group_of = np.unique(keys, return_index=True, return_inverse=True)
    order = np.argsort(first[group_of], kind="stable")
    starts = np.flatnonzero(np.diff(first[group_of][order], prepend=-1))
    return arcs[order], np.stack([starts, np.append(starts[1:], len(arcs))[: len(starts)]], axis=1)


def _shuffled(targets: Integers) -> Integers:
    """Return an order by target, fixed and shuffled within each target.

    Flips of early weights make flips of later ones unnecessary, so no part of the inputs should
    always come first.
    """
    places = np.random.default_rng(0).permutation(len(targets))
    return places[np.argsort(targets[places], kind="stable")]


def _wide_neurons(topology: Topology) -> tuple[Integers, NDArray[np.uint64]]:
    """Return the neurons that count their inputs by words, and the inputs of each of them.

    They have many inputs, each by the same number of arcs.
    """
    word_count, count = -(-topology.input_count // 64), topology.neuron_count
    is_outer = topology.source_of < topology.column_count
    sources = topology.source_of[is_outer]
    targets = topology.target_of[is_outer] - topology.input_count
    arc_counts = np.bincount(targets, minlength=count)
    pairs, arcs_of_pair = np.unique(targets * topology.input_count + sources, return_counts=True)
    owners = pairs // topology.input_count
    input_counts = np.bincount(owners, minlength=count)
    most = np.zeros(count, dtype=np.int64)
    np.maximum.at(most, owners, arcs_of_pair)
    is_wide = (arc_counts == most * input_counts) & (input_counts >= WORDS_PAY * word_count)
    row_of = np.where(is_wide, np.cumsum(is_wide) - 1, -1)
    inputs = np.zeros((int(is_wide.sum()), word_count), dtype=np.uint64)
    is_read = is_wide[targets]
    places = row_of[targets[is_read]], sources[is_read] // 64
    np.bitwise_or.at(inputs, places, np.uint64(1) << (sources[is_read] % 64).astype(np.uint64))
    return row_of, inputs


def _cones(
    topology: Topology,
    listed_arcs: tuple[Integers, Integers, Integers],
    order: Integers,
    is_shared: NDArray[np.bool_],
) -> Cones:
    """Return the cones of all neurons and shared weights, neurons in the order of a forward pass.

    Arcs that a change reaches directly are listed, except those that a deep neuron reads anyway.
    """
    sources, targets, parameters = listed_arcs
    count, first_neuron = topology.neuron_count, topology.input_count
    inner = np.flatnonzero((sources >= first_neuron) & (sources < topology.node_count))
    shared = np.flatnonzero(is_shared[parameters])
    outer = shared[sources[shared] < first_neuron]
    owner_of_weight = count + np.cumsum(is_shared) - 1
    shared_arcs = owner_of_weight[parameters[shared]], sources[shared], targets[shared]
    rows, deep = _members(topology, order, *shared_arcs)
    owners, places = np.nonzero(rows[:, order])
    neurons = order[places]
    is_deep = deep[owners, neurons]
    listed = np.append(inner, outer)
    starters = np.append(sources[inner] - first_neuron, owner_of_weight[parameters[outer]])
    keys = starters * count + targets[listed]
    by_key = np.argsort(keys, kind="stable")
    wanted = owners * count + neurons
    first, last = (np.searchsorted(keys[by_key], wanted, side=side) for side in ("left", "right"))
    last = np.where(is_deep & (owners < count), first, last)
    table = np.stack([neurons, is_deep, first, last], axis=1)
    arcs = np.stack([sources, parameters], axis=1)[listed[by_key]]
    return Cones(starts_of(owners, len(rows)), table, arcs)


def _members(
    topology: Topology, order: Integers, owners: Integers, sources: Integers, targets: Integers
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return which neurons are in the cone of each owner, and which of them are deep.

    Owners that are weights are listed with the sources and targets of their arcs.

    A neuron is deep if a change reaches it through other neurons of the cone or, for a weight,
    through an arc from a neuron; all its arcs from neurons must then be read.
    """
    count = topology.neuron_count
    arcs = _arcs_between_neurons(topology)
    rows = np.zeros((owners.max(initial=count - 1) + 1, count), dtype=bool)
    rows[:count] = _reach(arcs, order)
    for owner, target in zip(owners, targets, strict=True):
        rows[owner] |= rows[target]
        rows[owner, target] = True
    deep = np.asarray(rows.astype(np.float32) @ arcs > 0)  # no owner is in its own cone
    is_inside = sources >= topology.input_count
    deep[owners[is_inside], targets[is_inside]] = True
    return rows, deep


def _arcs_between_neurons(topology: Topology) -> Any:
    """Return a sparse matrix, sources x targets, that is positive where there is an arc."""
    from scipy.sparse import coo_array

    is_inner = topology.source_of >= topology.input_count
    ends = [of[is_inner] - topology.input_count for of in (topology.source_of, topology.target_of)]
    count = topology.neuron_count
    ones = np.ones(len(ends[0]), dtype=np.float32)
    return coo_array((ones, ends), shape=(count, count)).tocsr()


def _reach(arcs: Any, order: Integers) -> NDArray[np.bool_]:
    """Return for each neuron which ones depend on it, directly or not; neurons x neurons."""
    reach = np.zeros(arcs.shape, dtype=bool)
    for neuron in order[::-1]:
        targets = arcs.indices[arcs.indptr[neuron] : arcs.indptr[neuron + 1]]
        reach[neuron] = reach[targets].any(axis=0)
        reach[neuron, targets] = True
    return reach


def starts_of(sorted_owners: Integers, count: int) -> Integers:
    """Return where each owner's run begins in a sorted list, and where the last one ends."""
    return np.searchsorted(sorted_owners, np.arange(count + 1))
