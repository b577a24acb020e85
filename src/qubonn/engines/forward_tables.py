"""What flips reach in an acyclic network: the wiring of the forward kernels.

Topology -> Wiring: arcs by neuron, which parameters move one neuron only, and cones: the neurons
that hear, directly or not, of a neuron or of a weight that several arcs share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_memory
from qubonn.topology import Topology

Integers = NDArray[np.int64]
WORDS_PAY = 4  # a neuron reads words of 64 inputs if it hears so many inputs for each word
CutCones = tuple[Integers, Integers, Integers]  # starts, table and arcs of Cones


@dataclass(frozen=True, eq=False)
class Groups:
    """Parameters whose flips are alike, and so are given one temperature.

    Biases and weights of their own of the neurons of a level; shared weights into a level.
    """

    of_neuron: Integers
    of_shared: Integers
    of_parameter: Integers  # weights, then biases
    count: int


@lru_cache(maxsize=8)
def wiring_of(topology: Topology) -> tuple[Any, Any, Any]:
    """Return the tables by which the kernels find their way: Wiring, and Cones of two kinds.

    Neurons are numbered from 0. A bias is one more arc into its neuron, the last one, from a source
    that is always +1. The cones are those of neurons and those of weights with several arcs.
    """
    kernels: Any = import_module("qubonn.engines._forward_kernels")
    _require_room(topology)
    sources, targets, parameters = _arcs_with_biases(topology)
    count = topology.neuron_count
    is_inner = _is_inner(topology, sources)
    is_shared = _is_shared(topology)
    is_own = ~is_shared[parameters]
    terms = np.append(np.bincount(targets, minlength=count), 0)
    needed = terms // 2 + 1
    starts = [_starts(targets[of], count) for of in (slice(None), is_own, is_inner)]
    wiring = kernels.Wiring(
        input_count=topology.input_count,
        output_count=topology.output_count,
        arcs=np.stack([sources, parameters], axis=1),
        neurons=np.stack([*starts, needed, 2 * needed - terms], axis=1),
        own=_in_any_order(np.flatnonzero(is_own), targets),
        inner=np.flatnonzero(is_inner),
        order=_order(topology),
        shared=np.flatnonzero(is_shared),
        **_word_by_word(topology),
    )
    reach = _reach(topology)
    cones = _cones_of_neurons(topology, reach), _cones_of_weights(topology, reach)
    return wiring, kernels.Cones(*cones[0]), kernels.Cones(*cones[1])


@lru_cache(maxsize=8)
def groups_of(topology: Topology) -> Groups:
    """Return the groups of a topology's neurons, shared weights and parameters."""
    shared, weight_count = wiring_of(topology)[0].shared, topology.weight_count
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
    return Groups(np.searchsorted(kinds, 2 * of_neuron), of_shared, of_parameter, len(kinds))


def _arcs_with_biases(topology: Topology) -> tuple[Integers, Integers, Integers]:
    """Return sources, targets and parameters of all arcs by target, each neuron's bias last."""
    neurons = np.arange(topology.neuron_count)
    sources = np.append(topology.source_of, np.full(len(neurons), topology.node_count))
    targets = np.append(topology.target_of - topology.input_count, neurons)
    parameters = np.append(topology.weight_of, topology.weight_count + neurons)
    by_target = np.argsort(targets, kind="stable")
    return sources[by_target], targets[by_target], parameters[by_target]


def _in_any_order(arcs: Integers, targets: Integers) -> Integers:
    """Return arcs by target, those of a target in an order of its own, always the same.

    Weights that are visited early settle what later ones need not: let them lie anywhere.
    """
    places = np.random.default_rng(0).permutation(len(arcs))
    return arcs[places[np.argsort(targets[arcs[places]], kind="stable")]]


def _word_by_word(topology: Topology) -> dict[str, NDArray[Any]]:
    """Return which neurons count their inputs by words, and the inputs that each of them hears.

    Those that hear every input at most once, and enough of them.
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
    heard = np.zeros((int(is_wide.sum()), word_count), dtype=np.uint64)
    is_read = is_wide[targets]
    places = row_of[targets[is_read]], sources[is_read] // 64
    np.bitwise_or.at(heard, places, np.uint64(1) << (sources[is_read] % 64).astype(np.uint64))
    return {"row_of": row_of, "heard": heard}


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
    """Return for each neuron which ones hear of it, directly or not; neurons x neurons."""
    reach = np.zeros((topology.neuron_count, topology.neuron_count), dtype=bool)
    sources, targets = (topology.source_of, topology.target_of)
    inner = sources >= topology.input_count
    sources, targets = sources[inner] - topology.input_count, targets[inner] - topology.input_count
    by_source = np.argsort(sources, kind="stable")
    starts = _starts(sources[by_source], topology.neuron_count)
    for neuron in _order(topology)[::-1]:
        heard = targets[by_source[starts[neuron] : starts[neuron + 1]]]
        reach[neuron] = reach[heard].any(axis=0)
        reach[neuron, heard] = True
    return reach


def _cones_of_neurons(topology: Topology, reach: NDArray[np.bool_]) -> CutCones:
    """Cones of all neurons; arcs that come straight from the neuron are listed one by one."""
    sources, _, _ = _arcs_with_biases(topology)
    inner = np.flatnonzero(_is_inner(topology, sources))
    starters = sources[inner] - topology.input_count
    starts, table, arcs = _cones(topology, reach, (inner, starters), np.zeros_like(reach))
    # neurons that look at all their arcs from neurons find these among them
    _, is_deep, first, last = table.T
    last[is_deep == 1] = first[is_deep == 1]
    return starts, table, arcs


def _cones_of_weights(topology: Topology, reach: NDArray[np.bool_]) -> CutCones:
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
) -> CutCones:
    """Write cones (a row of neurons for each owner) as lists in the order of a forward pass.

    A neuron is deep where it hears of a change through other neurons of the cone, or, as
    `is_inside` says, through arcs of its own; all its arcs from neurons must then be looked at.
    """
    _, targets, _ = _arcs_with_biases(topology)
    order = _order(topology)
    owners, places = np.nonzero(rows[:, order])
    neurons = order[places]
    deep = is_inside | _hears_inside(topology, rows)
    is_deep = deep[owners, neurons]
    arcs, starters = listed
    keys = starters * len(order) + targets[arcs]
    by_key = np.argsort(keys, kind="stable")
    wanted = owners * len(order) + neurons
    first = np.searchsorted(keys[by_key], wanted, side="left")
    last = np.searchsorted(keys[by_key], wanted, side="right")
    table = np.stack([neurons, is_deep, first, last], axis=1)
    return _starts(owners, len(rows)), table, arcs[by_key]


def _hears_inside(topology: Topology, rows: NDArray[np.bool_]) -> NDArray[np.bool_]:
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


def _require_room(topology: Topology) -> None:
    require_memory(
        f"finding what the flips of {topology.neuron_count:,} neurons reach",
        20 * topology.neuron_count**2 + 100 * topology.arc_count,
    )
