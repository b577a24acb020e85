"""Numba kernels of the lifted view: replicas in lanes, energies of neurons in closed form.

Circuit, packed parameters and activations, random streams, temperatures -> the same, in place.

A site is an example and a neuron. Its count is rho - t: positive terms of the pre-activation beyond
the least number that makes it positive, so the pre-activation is positive exactly if count >= 0.
Its slack is the count where the activation is +1 and -1 - count where it is -1: >= 0 exactly if the
activation has the right sign. The energy of a site is A * max(0, -slack)**2 (or without the square)
minus G * max(0, slack): the paper's H1 and margin after products and chi are minimised out.
A bias is the weight of one more arc, from a source that is always +1: the last node of a row.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from qubonn.simd.streams import accept, load_generator, store_generator, threshold_scale
from qubonn.simd.vectors import choose, larger, load, store


class Circuit(NamedTuple):
    """A topology and its strengths as flat arrays; energies in whole multiples of a unit.

    Parameters are weights, then biases. Arcs of one parameter are grouped by target, and so are the
    arcs that leave a free node, so that a flip that reaches a neuron along several arcs is counted
    once with all of them.
    """

    input_count: int
    neuron_count: int
    row_length: int  # activations of an example: all nodes, then the constant +1
    example_count: int
    kind_starts: np.ndarray  # where the weights begin, where the biases, and where they end
    parameter_starts: np.ndarray  # groups of parameter p: parameter_starts[p] to [p + 1]
    group_target: np.ndarray  # neuron of each group
    group_starts: np.ndarray  # arcs of each group
    arc_source: np.ndarray  # source node of each of those arcs
    needed: np.ndarray  # by neuron: least number of positive terms that makes it positive
    free_nodes: np.ndarray  # nodes whose activations are free
    out_starts: np.ndarray  # outgoing groups of free node f, its self loops left out
    out_target: np.ndarray
    out_group_starts: np.ndarray
    out_weight: np.ndarray  # weight of each arc of those groups
    self_starts: np.ndarray  # self loops of free node f
    self_weight: np.ndarray
    wanted: np.ndarray  # examples x free nodes: 1 where +1 is wanted
    output_penalty: np.ndarray  # by free node: energy of an unwanted activation
    pull: np.ndarray  # twice the field, by parameter
    margin_gap: np.ndarray  # by neuron: margin of a just satisfied +1 minus that of a -1
    violation: int  # A
    margin: int  # 2 G: a count of one is a pre-activation of two
    is_squared: bool


@njit(inline="always")
def cost_change(circuit, before, after):
    """Change of a site's energy from one slack to another, without the least margin."""
    miss_before, miss_after = larger(before * -1, 0), larger(after * -1, 0)
    growth = miss_after - miss_before
    reward = after - before + growth  # a slack is its positive part minus its miss
    if circuit.is_squared:
        growth = growth * (miss_after + miss_before)
    return growth * circuit.violation - reward * circuit.margin


@njit(inline="always")
def site_change(circuit, activations, counts, k, j, step):
    """Change of a site's energy when its count moves by `step` and its activation stays."""
    count = load(counts, k * circuit.neuron_count + j, activations)
    own = activations[k * circuit.row_length + circuit.input_count + j]
    before = choose(own, count, count * -1 - 1)
    return cost_change(circuit, before, before + choose(own, step, step * -1))


@njit(inline="always")
def parameter_step(circuit, own, activations, group, k, zero):
    """How far the count of a group's target moves in example k when the parameter `own` flips."""
    step = zero
    for place in range(circuit.group_starts[group], circuit.group_starts[group + 1]):
        source = activations[k * circuit.row_length + circuit.arc_source[place]]
        # a term is positive where weight and activation differ in no bit
        step = step + choose(own ^ source, zero + 1, zero - 1)
    return step


@njit(inline="always")
def parameter_change(circuit, parameters, activations, counts, p, zero):
    """Change of energy when parameter p flips, in all arcs and examples."""
    own = parameters[p]
    pull = zero + circuit.pull[p]
    total = choose(own, pull, pull * -1)
    for group in range(circuit.parameter_starts[p], circuit.parameter_starts[p + 1]):
        target = circuit.group_target[group]
        for k in range(circuit.example_count):
            step = parameter_step(circuit, own, activations, group, k, zero)
            total = total + site_change(circuit, activations, counts, k, target, step)
    return total


@njit(inline="always")
def activation_step(parameters, own, weight_of, first, last, zero):
    """How far a count moves when the activation `own` flips, along the arcs first to last."""
    step = zero
    for place in range(first, last):
        step = step + choose(parameters[weight_of[place]] ^ own, zero + 1, zero - 1)
    return step


@njit(inline="always")
def self_step(circuit, parameters, own, f, zero):
    """How far a node's own count moves when it flips: along its self loops."""
    first, last = circuit.self_starts[f], circuit.self_starts[f + 1]
    return activation_step(parameters, own, circuit.self_weight, first, last, zero)


@njit(inline="always")
def out_step(circuit, parameters, own, group, zero):
    """How far the count of an outgoing group's target moves when the activation `own` flips."""
    first, last = circuit.out_group_starts[group], circuit.out_group_starts[group + 1]
    return activation_step(parameters, own, circuit.out_weight, first, last, zero)


@njit(inline="always")
def activation_change(circuit, parameters, activations, counts, k, f, zero):
    """Change of energy when the activation of free node f flips in example k."""
    j = circuit.free_nodes[f] - circuit.input_count
    own = activations[k * circuit.row_length + circuit.free_nodes[f]]
    count = load(counts, k * circuit.neuron_count + j, activations)
    before = choose(own, count, count * -1 - 1)
    moved = count + self_step(circuit, parameters, own, f, zero)
    after = choose(own, moved * -1 - 1, moved)
    gap = zero + circuit.margin_gap[j]  # a flip to -1 loses it, a flip to +1 gains it
    total = cost_change(circuit, before, after) + choose(own, gap, gap * -1)
    fee = zero + circuit.output_penalty[f] * (2 * circuit.wanted[k, f] - 1)
    total = total + choose(own, fee, fee * -1)
    for group in range(circuit.out_starts[f], circuit.out_starts[f + 1]):
        step = out_step(circuit, parameters, own, group, zero)
        target = circuit.out_target[group]
        total = total + site_change(circuit, activations, counts, k, target, step)
    return total


@njit(parallel=True, cache=True)
def anneal_all(circuit, parameters, activations, energies, generators, temperatures):
    """Sweep all blocks once for each row of `temperatures`: of weights, biases, activations."""
    for block in prange(len(parameters)):
        weights_and_biases, stream = parameters[block], generators[block]
        anneal_block(
            circuit, weights_and_biases, activations[block], energies[block], stream, temperatures
        )


@njit(cache=True)
def anneal_block(circuit, parameters, activations, energies, generator, temperatures):
    """Sweep one block; its energies (1 x lanes) are exact afterwards."""
    lane_count = energies.shape[1]
    counts = np.zeros((circuit.example_count * circuit.neuron_count, lane_count), dtype=np.int32)
    set_counts(circuit, parameters, activations, counts)
    set_energies(circuit, parameters, activations, counts, energies)
    stream = load_generator(generator, activations)
    energy = load(energies, 0, activations)
    zero = energy * 0
    for sweep in range(len(temperatures)):
        for kind in range(2):
            scale = threshold_scale(temperatures[sweep, kind])
            for p in range(circuit.kind_starts[kind], circuit.kind_starts[kind + 1]):
                change = parameter_change(circuit, parameters, activations, counts, p, zero)
                accepted, stream = accept(change, stream, scale)
                if accepted:
                    energy = energy + choose(accepted, change, zero)
                    flip_parameter(circuit, parameters, activations, counts, p, accepted, zero)
        scale = threshold_scale(temperatures[sweep, 2])
        for k in range(circuit.example_count):
            for f in range(len(circuit.free_nodes)):
                change = activation_change(circuit, parameters, activations, counts, k, f, zero)
                accepted, stream = accept(change, stream, scale)
                if accepted:
                    energy = energy + choose(accepted, change, zero)
                    flip_activation(circuit, parameters, activations, counts, k, f, accepted, zero)
    store_generator(generator, stream)
    store(energies, 0, energy)


@njit(inline="always")
def flip_parameter(circuit, parameters, activations, counts, p, accepted, zero):
    """Flip parameter p in the accepted lanes and move the counts of its targets."""
    own = parameters[p]
    for group in range(circuit.parameter_starts[p], circuit.parameter_starts[p + 1]):
        for k in range(circuit.example_count):
            step = parameter_step(circuit, own, activations, group, k, zero)
            site = k * circuit.neuron_count + circuit.group_target[group]
            store(counts, site, load(counts, site, activations) + choose(accepted, step, zero))
    parameters[p] = own ^ accepted


@njit(inline="always")
def flip_activation(circuit, parameters, activations, counts, k, f, accepted, zero):
    """Flip the activation of free node f in the accepted lanes and move the counts it enters."""
    place = k * circuit.row_length + circuit.free_nodes[f]
    own = activations[place]
    site = k * circuit.neuron_count + circuit.free_nodes[f] - circuit.input_count
    step = choose(accepted, self_step(circuit, parameters, own, f, zero), zero)
    store(counts, site, load(counts, site, activations) + step)
    for group in range(circuit.out_starts[f], circuit.out_starts[f + 1]):
        step = choose(accepted, out_step(circuit, parameters, own, group, zero), zero)
        site = k * circuit.neuron_count + circuit.out_target[group]
        store(counts, site, load(counts, site, activations) + step)
    activations[place] = own ^ accepted


@njit(cache=True)
def set_counts(circuit, parameters, activations, counts):
    """Count the positive terms of every site, less the number that makes it positive."""
    zero = load(counts, 0, activations) * 0
    for k in range(circuit.example_count):
        for j in range(circuit.neuron_count):
            store(counts, k * circuit.neuron_count + j, zero - circuit.needed[j])
    for p in range(len(parameters)):
        for group in range(circuit.parameter_starts[p], circuit.parameter_starts[p + 1]):
            for k in range(circuit.example_count):
                site = k * circuit.neuron_count + circuit.group_target[group]
                count = load(counts, site, activations)
                for place in range(circuit.group_starts[group], circuit.group_starts[group + 1]):
                    source = activations[k * circuit.row_length + circuit.arc_source[place]]
                    count = count + choose(parameters[p] ^ source, zero, zero + 1)
                store(counts, site, count)


@njit(cache=True)
def set_energies(circuit, parameters, activations, counts, energies):
    """Compute the energy of every lane."""
    zero = load(energies, 0, activations) * 0
    total = zero
    for k in range(circuit.example_count):
        for j in range(circuit.neuron_count):
            count = load(counts, k * circuit.neuron_count + j, activations)
            own = activations[k * circuit.row_length + circuit.input_count + j]
            total = total + cost_change(circuit, zero, choose(own, count, count * -1 - 1))
            total = total - choose(own, zero + circuit.margin_gap[j], zero)
        for f in range(len(circuit.free_nodes)):
            own = activations[k * circuit.row_length + circuit.free_nodes[f]]
            fee = circuit.output_penalty[f]
            if circuit.wanted[k, f]:
                total = total + choose(own, zero, zero + fee)
            else:
                total = total + choose(own, zero + fee, zero)
    for p in range(len(parameters)):
        total = total - choose(parameters[p], zero + circuit.pull[p], zero)
    store(energies, 0, total)


@njit(cache=True)
def set_changes(circuit, parameters, activations, changes):
    """Fill `changes` (parameters, then activations by example; x lanes) with energy changes."""
    lane_count = changes.shape[1]
    counts = np.zeros((circuit.example_count * circuit.neuron_count, lane_count), dtype=np.int32)
    set_counts(circuit, parameters, activations, counts)
    zero = load(changes, 0, activations) * 0
    for p in range(len(parameters)):
        store(changes, p, parameter_change(circuit, parameters, activations, counts, p, zero))
    row = len(parameters)
    for k in range(circuit.example_count):
        for f in range(len(circuit.free_nodes)):
            change = activation_change(circuit, parameters, activations, counts, k, f, zero)
            store(changes, row, change)
            row += 1
