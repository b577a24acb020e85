"""Numba kernels of the lifted view: replicas in lanes, energies of neurons in closed form.

Circuit, packed parameters and activations, random streams, temperatures -> the same, in place.

A site is an example and a neuron. Its count is rho - t: positive terms of the pre-activation beyond
the least number that makes it positive, so the pre-activation is positive exactly if count >= 0.
Its slack is the count where the activation is +1 and -1 - count where it is -1: >= 0 exactly if the
activation has the right sign. The energy of a site is A * max(0, -slack)**2 (or without the square)
minus G * max(0, slack): the paper's H1 and margin after products and chi are minimised out.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from qubonn.simd.streams import accept, load_generator, store_generator, threshold_scale
from qubonn.simd.vectors import choose, larger, load, store


class Circuit(NamedTuple):
    """A topology and its strengths as flat arrays; energies in whole multiples of a unit.

    Arcs of one weight are grouped by target, and so are the arcs that leave a free node, so that a
    flip that reaches a neuron along several arcs is counted once with all of them.
    """

    input_count: int
    neuron_count: int
    node_count: int
    example_count: int
    weight_starts: np.ndarray  # groups of weight w are weight_starts[w] to weight_starts[w + 1]
    group_target: np.ndarray  # neuron of each group
    group_starts: np.ndarray  # arcs of each group
    arc_source: np.ndarray  # source node of each of those arcs
    free_nodes: np.ndarray  # nodes whose activations are free
    out_starts: np.ndarray  # outgoing groups of free node f, its self loops left out
    out_target: np.ndarray
    out_group_starts: np.ndarray
    out_weight: np.ndarray  # weight of each arc of those groups
    self_starts: np.ndarray  # self loops of free node f
    self_weight: np.ndarray
    wanted: np.ndarray  # examples x free nodes: 1 where +1 is wanted
    output_penalty: np.ndarray  # by free node: what an unwanted activation costs
    weight_pull: np.ndarray  # twice the field, by weight
    bias_pull: np.ndarray
    margin_gap: np.ndarray  # by neuron: margin of a just satisfied +1 minus that of a -1
    violation: int  # A
    margin: int  # 2 G: a count of one is a pre-activation of two
    is_squared: bool


@njit(inline="always")
def cost(circuit, slack):
    """Energy of a site, but for the margin that every satisfied neuron has at least."""
    miss = larger(slack * -1, 0)
    if circuit.is_squared:
        miss = miss * miss
    return miss * circuit.violation - larger(slack, 0) * circuit.margin


@njit(inline="always")
def site_change(circuit, activations, counts, k, j, step):
    """Change of a site's energy when its count moves by `step` and its activation stays."""
    count = load(counts, k * circuit.neuron_count + j, activations)
    own = activations[k * circuit.node_count + circuit.input_count + j]
    before = choose(own, count, count * -1 - 1)
    return cost(circuit, before + choose(own, step, step * -1)) - cost(circuit, before)


@njit(inline="always")
def weight_step(circuit, weights, activations, w, group, k, zero):
    """How far the count of a group's target moves in example k when weight w flips."""
    step = zero
    for place in range(circuit.group_starts[group], circuit.group_starts[group + 1]):
        source = activations[k * circuit.node_count + circuit.arc_source[place]]
        # a term is positive where weight and activation differ in no bit
        step = step + choose(weights[w] ^ source, zero + 1, zero - 1)
    return step


@njit(inline="always")
def weight_change(circuit, weights, activations, counts, w, zero):
    """Change of energy when weight w flips, in all arcs and examples."""
    pull = zero + circuit.weight_pull[w]
    total = choose(weights[w], pull, pull * -1)
    for group in range(circuit.weight_starts[w], circuit.weight_starts[w + 1]):
        for k in range(circuit.example_count):
            step = weight_step(circuit, weights, activations, w, group, k, zero)
            target = circuit.group_target[group]
            total = total + site_change(circuit, activations, counts, k, target, step)
    return total


@njit(inline="always")
def bias_change(circuit, biases, activations, counts, j, zero):
    """Change of energy when the bias of neuron j flips, in all examples."""
    pull = zero + circuit.bias_pull[j]
    total = choose(biases[j], pull, pull * -1)
    step = choose(biases[j], zero - 1, zero + 1)
    for k in range(circuit.example_count):
        total = total + site_change(circuit, activations, counts, k, j, step)
    return total


@njit(inline="always")
def out_step(circuit, weights, own, first, last, zero):
    """How far a target's count moves when the activation `own` flips, along some arcs."""
    step = zero
    for place in range(first, last):
        step = step + choose(weights[circuit.out_weight[place]] ^ own, zero + 1, zero - 1)
    return step


@njit(inline="always")
def self_step(circuit, weights, own, f, zero):
    """How far a node's own count moves when it flips: along its self loops."""
    step = zero
    for place in range(circuit.self_starts[f], circuit.self_starts[f + 1]):
        step = step + choose(weights[circuit.self_weight[place]] ^ own, zero + 1, zero - 1)
    return step


@njit(inline="always")
def activation_change(circuit, weights, activations, counts, k, f, zero):
    """Change of energy when the activation of free node f flips in example k."""
    j = circuit.free_nodes[f] - circuit.input_count
    own = activations[k * circuit.node_count + circuit.free_nodes[f]]
    count = load(counts, k * circuit.neuron_count + j, activations)
    before = choose(own, count, count * -1 - 1)
    moved = count + self_step(circuit, weights, own, f, zero)
    after = choose(own, moved * -1 - 1, moved)
    gap = zero + circuit.margin_gap[j]  # a flip to -1 loses it, a flip to +1 gains it
    total = cost(circuit, after) - cost(circuit, before) + choose(own, gap, gap * -1)
    fee = zero + circuit.output_penalty[f] * (2 * circuit.wanted[k, f] - 1)
    total = total + choose(own, fee, fee * -1)
    for group in range(circuit.out_starts[f], circuit.out_starts[f + 1]):
        first, last = circuit.out_group_starts[group], circuit.out_group_starts[group + 1]
        step = out_step(circuit, weights, own, first, last, zero)
        total = total + site_change(
            circuit, activations, counts, k, circuit.out_target[group], step
        )
    return total


@njit(parallel=True, cache=True)
def anneal_all(circuit, weights, biases, activations, energies, generators, temperatures):
    """Advance all blocks by a sweep a row of `temperatures`: of weights, biases, activations."""
    for block in prange(len(weights)):
        anneal_block(
            circuit,
            weights[block],
            biases[block],
            activations[block],
            energies[block],
            generators[block],
            temperatures,
        )


@njit(cache=True)
def anneal_block(circuit, weights, biases, activations, energies, generator, temperatures):
    """Advance one block; leave the energies (1 x lanes) exact."""
    lane_count = energies.shape[1]
    counts = np.zeros((circuit.example_count * circuit.neuron_count, lane_count), dtype=np.int32)
    set_counts(circuit, weights, biases, activations, counts)
    set_energies(circuit, weights, biases, activations, counts, energies)
    stream = load_generator(generator, activations)
    energy = load(energies, 0, activations)
    zero = energy * 0
    for sweep in range(len(temperatures)):
        scale = threshold_scale(temperatures[sweep, 0])
        for w in range(len(weights)):
            change = weight_change(circuit, weights, activations, counts, w, zero)
            accepted, stream = accept(change, stream, scale)
            if accepted:
                energy = energy + choose(accepted, change, zero)
                flip_weight(circuit, weights, activations, counts, w, accepted, zero)
        scale = threshold_scale(temperatures[sweep, 1])
        for j in range(len(biases)):
            change = bias_change(circuit, biases, activations, counts, j, zero)
            accepted, stream = accept(change, stream, scale)
            if accepted:
                energy = energy + choose(accepted, change, zero)
                flip_bias(circuit, biases, activations, counts, j, accepted, zero)
        scale = threshold_scale(temperatures[sweep, 2])
        for k in range(circuit.example_count):
            for f in range(len(circuit.free_nodes)):
                change = activation_change(circuit, weights, activations, counts, k, f, zero)
                accepted, stream = accept(change, stream, scale)
                if accepted:
                    energy = energy + choose(accepted, change, zero)
                    flip_activation(circuit, weights, activations, counts, k, f, accepted, zero)
    store_generator(generator, stream)
    store(energies, 0, energy)


@njit(inline="always")
def flip_weight(circuit, weights, activations, counts, w, accepted, zero):
    """Flip weight w in the accepted lanes and move the counts of its targets."""
    for group in range(circuit.weight_starts[w], circuit.weight_starts[w + 1]):
        for k in range(circuit.example_count):
            step = weight_step(circuit, weights, activations, w, group, k, zero)
            site = k * circuit.neuron_count + circuit.group_target[group]
            store(counts, site, load(counts, site, activations) + choose(accepted, step, zero))
    weights[w] = weights[w] ^ accepted


@njit(inline="always")
def flip_bias(circuit, biases, activations, counts, j, accepted, zero):
    """Flip the bias of neuron j in the accepted lanes and move its counts."""
    step = choose(accepted, choose(biases[j], zero - 1, zero + 1), zero)
    for k in range(circuit.example_count):
        site = k * circuit.neuron_count + j
        store(counts, site, load(counts, site, activations) + step)
    biases[j] = biases[j] ^ accepted


@njit(inline="always")
def flip_activation(circuit, weights, activations, counts, k, f, accepted, zero):
    """Flip the activation of free node f in the accepted lanes and move the counts it enters."""
    place = k * circuit.node_count + circuit.free_nodes[f]
    own = activations[place]
    site = k * circuit.neuron_count + circuit.free_nodes[f] - circuit.input_count
    step = choose(accepted, self_step(circuit, weights, own, f, zero), zero)
    store(counts, site, load(counts, site, activations) + step)
    for group in range(circuit.out_starts[f], circuit.out_starts[f + 1]):
        first, last = circuit.out_group_starts[group], circuit.out_group_starts[group + 1]
        step = choose(accepted, out_step(circuit, weights, own, first, last, zero), zero)
        site = k * circuit.neuron_count + circuit.out_target[group]
        store(counts, site, load(counts, site, activations) + step)
    activations[place] = own ^ accepted


@njit(cache=True)
def set_counts(circuit, weights, biases, activations, counts):
    """Count the positive terms of every site anew, less the number that makes it positive."""
    zero = load(counts, 0, activations) * 0
    terms = np.ones(circuit.neuron_count, dtype=np.int64)
    for w in range(len(weights)):
        for group in range(circuit.weight_starts[w], circuit.weight_starts[w + 1]):
            size = circuit.group_starts[group + 1] - circuit.group_starts[group]
            terms[circuit.group_target[group]] += size
    for k in range(circuit.example_count):
        for j in range(circuit.neuron_count):
            start = zero - (terms[j] // 2 + 1)
            count = start + choose(biases[j], zero + 1, zero)
            store(counts, k * circuit.neuron_count + j, count)
    for w in range(len(weights)):
        for group in range(circuit.weight_starts[w], circuit.weight_starts[w + 1]):
            for k in range(circuit.example_count):
                site = k * circuit.neuron_count + circuit.group_target[group]
                count = load(counts, site, activations)
                for place in range(circuit.group_starts[group], circuit.group_starts[group + 1]):
                    source = activations[k * circuit.node_count + circuit.arc_source[place]]
                    count = count + choose(weights[w] ^ source, zero, zero + 1)
                store(counts, site, count)


@njit(cache=True)
def set_energies(circuit, weights, biases, activations, counts, energies):
    """Add up the energy of every lane from nothing."""
    zero = load(energies, 0, activations) * 0
    total = zero
    for k in range(circuit.example_count):
        for j in range(circuit.neuron_count):
            count = load(counts, k * circuit.neuron_count + j, activations)
            own = activations[k * circuit.node_count + circuit.input_count + j]
            total = total + cost(circuit, choose(own, count, count * -1 - 1))
            total = total - choose(own, zero + circuit.margin_gap[j], zero)
        for f in range(len(circuit.free_nodes)):
            own = activations[k * circuit.node_count + circuit.free_nodes[f]]
            fee = circuit.output_penalty[f]
            if circuit.wanted[k, f]:
                total = total + choose(own, zero, zero + fee)
            else:
                total = total + choose(own, zero + fee, zero)
    for w in range(len(weights)):
        total = total - choose(weights[w], zero + circuit.weight_pull[w], zero)
    for j in range(len(biases)):
        total = total - choose(biases[j], zero + circuit.bias_pull[j], zero)
    store(energies, 0, total)


@njit(cache=True)
def set_changes(circuit, weights, biases, activations, changes):
    """Fill `changes` (weights, biases, activations by example; x lanes) with energy changes."""
    lane_count = changes.shape[1]
    counts = np.zeros((circuit.example_count * circuit.neuron_count, lane_count), dtype=np.int32)
    set_counts(circuit, weights, biases, activations, counts)
    zero = load(changes, 0, activations) * 0
    row = 0
    for w in range(len(weights)):
        store(changes, row, weight_change(circuit, weights, activations, counts, w, zero))
        row += 1
    for j in range(len(biases)):
        store(changes, row, bias_change(circuit, biases, activations, counts, j, zero))
        row += 1
    for k in range(circuit.example_count):
        for f in range(len(circuit.free_nodes)):
            change = activation_change(circuit, weights, activations, counts, k, f, zero)
            store(changes, row, change)
            row += 1
