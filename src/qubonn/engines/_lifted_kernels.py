"""Numba kernels of the lifted view: replicas in lanes, energies of neurons in closed form.

Circuit, packed parameters and activations, random streams, temperatures -> the same, in place.

A site is an example and a neuron. Its count is rho - t: positive terms of the pre-activation beyond
the least number that makes it positive, so the pre-activation is positive exactly if count >= 0.
Its slack is the count where the activation is +1 and -1 - count where it is -1: >= 0 exactly if the
activation has the right sign. The energy of a site is A * max(0, -slack)**2 (or without the square)
minus G * max(0, slack): the paper's H1 and margin after products and chi are minimised out.
A bias is the weight of one more arc, from a source that is always +1: the last node of a row.
Several parameters on exactly the same arcs are one number, the sum of their spins, which moves by
one level.
"""

from typing import NamedTuple

import numpy as np

from qubonn.simd.compiling import kernel, njit, part
from qubonn.simd.streams import accept, load_generator, store_generator, threshold_scale
from qubonn.simd.vectors import at_most, choose, larger, load, store, to_float


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
    kind_of: np.ndarray  # by parameter: 0 for weights; 1 for biases and the rest of thresholds
    single: np.ndarray  # parameters alone on their arcs, by kind
    kind_starts: np.ndarray  # where each kind of those begins, and their end
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
    output_penalty: np.ndarray  # examples x free nodes: energy of an unwanted activation
    pull: np.ndarray  # twice the field, by parameter
    margin_gap: np.ndarray  # examples x neurons: margin of a just satisfied +1 minus that of a -1
    violation: np.ndarray  # A, by example
    margin: np.ndarray  # 2 G, by example: a count of one is a pre-activation of two
    is_squared: bool


class Numbers(NamedTuple):
    """Sums of several parameters on the same arcs; None where there are none.

    They are not a part of the Circuit because kernels without them compile a third faster.
    """

    starts: np.ndarray  # members of number n: starts[n] to [n + 1]
    member: np.ndarray  # parameters, those of a number with the largest pull first
    kind_starts: np.ndarray  # where the numbers of each kind begin, and their end
    decay: np.ndarray  # by number: 4 times the strength; 0 for thresholds


@njit(inline="always")
def cost_change(circuit, k, before, after):
    """Change of a site's energy from one slack to another, without the least margin."""
    miss_before, miss_after = larger(before * -1, 0), larger(after * -1, 0)
    growth = miss_after - miss_before
    reward = after - before + growth  # a slack is its positive part minus its miss
    if circuit.is_squared:
        growth = growth * (miss_after + miss_before)
    return growth * circuit.violation[k] - reward * circuit.margin[k]


@njit(inline="always")
def site_change(circuit, activations, counts, k, j, step):
    """Change of a site's energy when its count moves by `step` and its activation stays."""
    count = load(counts, k * circuit.neuron_count + j, activations)
    own = activations[k * circuit.row_length + circuit.input_count + j]
    before = choose(own, count, count * -1 - 1)
    return cost_change(circuit, k, before, before + choose(own, step, step * -1))


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
def parameter_change(circuit, own, activations, counts, p, zero):
    """Change of the energy of all sites when parameter p, which is `own`, flips."""
    total = zero
    for group in range(circuit.parameter_starts[p], circuit.parameter_starts[p + 1]):
        target = circuit.group_target[group]
        for k in range(circuit.example_count):
            step = parameter_step(circuit, own, activations, group, k, zero)
            total = total + site_change(circuit, activations, counts, k, target, step)
    return total


@njit(inline="always")
def pull_change(circuit, own, p, zero):
    """Change of the field's energy when parameter p, which is `own`, flips."""
    pull = zero + circuit.pull[p]
    return choose(own, pull, pull * -1)


@njit(inline="always")
def unequal_pull_change(circuit, numbers, parameters, own, number, zero):
    """Change of the field's energy where the members of a number differ; see `flip_member`."""
    first, last = numbers.starts[number], numbers.starts[number + 1]
    total, up, down = zero, ~own, own
    for step in range(last - first):
        high, low = numbers.member[first + step], numbers.member[last - 1 - step]
        rising, falling = up ^ (up & parameters[high]), down & parameters[low]
        total = total - choose(rising, zero + circuit.pull[high], zero)
        total = total + choose(falling, zero + circuit.pull[low], zero)
        up, down = up ^ rising, down ^ falling
    return total


@njit(inline="always")
def decay_change(numbers, parameters, own, number, zero):
    """Change of the decay when a member of a number, `own`, flips."""
    first, last = numbers.starts[number], numbers.starts[number + 1]
    level = zero + first - last
    for place in range(first, last):
        level = level + choose(parameters[numbers.member[place]], zero + 2, zero)
    return (choose(own, level * -1, level) + 1) * numbers.decay[number]


@njit(inline="always")
def number_change(circuit, numbers, parameters, own, number, zero):
    """Change of the energy of field and decay when a number moves by one level."""
    first = numbers.member[numbers.starts[number]]
    last = numbers.member[numbers.starts[number + 1] - 1]
    total = pull_change(circuit, own, first, zero)
    if circuit.pull[first] != circuit.pull[last]:
        total = unequal_pull_change(circuit, numbers, parameters, own, number, zero)
    if numbers.decay[number]:
        total = total + decay_change(numbers, parameters, own, number, zero)
    return total


@njit(inline="always")
def spin_to_flip(numbers, parameters, number, down):
    """The spin of the member of a number that is to flip: +1 for `down`, where there are both."""
    first, last = numbers.starts[number], numbers.starts[number + 1]
    every = some = parameters[numbers.member[first]]
    for place in range(first + 1, last):
        every = every & parameters[numbers.member[place]]
        some = some | parameters[numbers.member[place]]
    return every | (some & down)


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
    gap = zero + circuit.margin_gap[k, j]  # a flip to -1 loses it, a flip to +1 gains it
    total = cost_change(circuit, k, before, after) + choose(own, gap, gap * -1)
    fee = zero + circuit.output_penalty[k, f] * (2 * circuit.wanted[k, f] - 1)
    total = total + choose(own, fee, fee * -1)
    for group in range(circuit.out_starts[f], circuit.out_starts[f + 1]):
        step = out_step(circuit, parameters, own, group, zero)
        target = circuit.out_target[group]
        total = total + site_change(circuit, activations, counts, k, target, step)
    return total


@kernel
def anneal_block(circuit, numbers, state, energies, generator, temperatures):
    """Sweep one block once for each row of `temperatures`: of weights, biases, activations.

    Its energies (1 x lanes) are exact afterwards; the counts of its state need not be set.
    """
    parameters, activations, counts = state
    set_counts(circuit, parameters, activations, counts)
    set_energies(circuit, numbers, parameters, activations, counts, energies)
    stream = load_generator(generator, activations)
    energy = load(energies, 0, activations)
    zero = energy * 0
    for sweep in range(len(temperatures)):
        for kind in range(2):
            scale = threshold_scale(temperatures[sweep, kind])
            for place in range(circuit.kind_starts[kind], circuit.kind_starts[kind + 1]):
                p = circuit.single[place]
                own = parameters[p]
                change = pull_change(circuit, own, p, zero)
                change = change + parameter_change(circuit, own, activations, counts, p, zero)
                accepted, stream = accept(change, stream, scale)
                if accepted:
                    energy = energy + choose(accepted, change, zero)
                    move_counts(circuit, own, activations, counts, p, accepted, zero)
                    parameters[p] = own ^ accepted
            if numbers is not None:
                store_generator(generator, stream)
                store(energies, 0, energy)
                move_numbers(circuit, numbers, state, energies, generator, kind, scale)
                stream = load_generator(generator, activations)
                energy = load(energies, 0, activations)
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


@part
def move_numbers(circuit, numbers, state, energies, generator, kind, scale):
    """Propose two moves of each number of a kind, by a guided walk.

    The first goes up or down at random, the second on if the first is accepted, and back if not:
    a number at its end has half the weight of one between, at any temperature. Not a part of
    `anneal_block`, whose loops would be compiled to slower code with it.
    """
    parameters, activations, counts = state
    stream = load_generator(generator, activations)
    energy = load(energies, 0, activations)
    zero = energy * 0
    for number in range(numbers.kind_starts[kind], numbers.kind_starts[kind + 1]):
        p = numbers.member[numbers.starts[number]]  # all members have the same arcs
        down = at_most(to_float(stream[0] & 1), np.float32(0.5))  # half of all lanes, at random
        for _ in range(2):
            own = spin_to_flip(numbers, parameters, number, down)
            change = number_change(circuit, numbers, parameters, own, number, zero)
            change = change + parameter_change(circuit, own, activations, counts, p, zero)
            accepted, stream = accept(change, stream, scale)
            if accepted:
                energy = energy + choose(accepted, change, zero)
                move_counts(circuit, own, activations, counts, p, accepted, zero)
                flip_member(numbers, parameters, own, number, accepted)
            down = ~(own ^ accepted)
    store_generator(generator, stream)
    store(energies, 0, energy)


@njit(inline="always")
def move_counts(circuit, own, activations, counts, p, accepted, zero):
    """Move the counts of the targets of parameter p, which is `own`, in the accepted lanes."""
    for group in range(circuit.parameter_starts[p], circuit.parameter_starts[p + 1]):
        for k in range(circuit.example_count):
            step = parameter_step(circuit, own, activations, group, k, zero)
            site = k * circuit.neuron_count + circuit.group_target[group]
            store(counts, site, load(counts, site, activations) + choose(accepted, step, zero))


@njit(inline="always")
def flip_member(numbers, parameters, own, number, accepted):
    """Flip a member of a number, one that is `own`, in the accepted lanes.

    It is the one with the largest pull where it turns to +1, else the one with the smallest.
    """
    first, last = numbers.starts[number], numbers.starts[number + 1]
    down = accepted & own
    up = accepted ^ down
    for step in range(last - first):
        high, low = numbers.member[first + step], numbers.member[last - 1 - step]
        rising = up ^ (up & parameters[high])
        parameters[high] = parameters[high] ^ rising
        falling = down & parameters[low]
        parameters[low] = parameters[low] ^ falling
        up, down = up ^ rising, down ^ falling


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


@part
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


@part
def set_energies(circuit, numbers, parameters, activations, counts, energies):
    """Compute the energy of every lane."""
    zero = load(energies, 0, activations) * 0
    total = zero
    for k in range(circuit.example_count):
        for j in range(circuit.neuron_count):
            count = load(counts, k * circuit.neuron_count + j, activations)
            own = activations[k * circuit.row_length + circuit.input_count + j]
            total = total + cost_change(circuit, k, zero, choose(own, count, count * -1 - 1))
            total = total - choose(own, zero + circuit.margin_gap[k, j], zero)
        for f in range(len(circuit.free_nodes)):
            own = activations[k * circuit.row_length + circuit.free_nodes[f]]
            fee = circuit.output_penalty[k, f]
            if circuit.wanted[k, f]:
                total = total + choose(own, zero, zero + fee)
            else:
                total = total + choose(own, zero + fee, zero)
    for p in range(len(parameters)):
        total = total - choose(parameters[p], zero + circuit.pull[p], zero)
    if numbers is not None:
        for number in range(len(numbers.decay)):
            first, last = numbers.starts[number], numbers.starts[number + 1]
            positive = zero
            for place in range(first, last):
                positive = positive + choose(parameters[numbers.member[place]], zero + 1, zero)
            square = positive * (positive + (first - last))  # w**2 / 4 but for a constant
            total = total + square * numbers.decay[number]
    store(energies, 0, total)


@kernel
def set_changes(circuit, numbers, state, changes):
    """Fill `changes` (parameters, then activations by example; x lanes) with energy changes."""
    parameters, activations, counts = state
    set_counts(circuit, parameters, activations, counts)
    zero = load(changes, 0, activations) * 0
    for p in range(len(parameters)):
        change = parameter_change(circuit, parameters[p], activations, counts, p, zero)
        store(changes, p, change + pull_change(circuit, parameters[p], p, zero))
    if numbers is not None:
        for number in range(len(numbers.decay)):
            for place in range(numbers.starts[number], numbers.starts[number + 1]):
                p = numbers.member[place]
                decay = decay_change(numbers, parameters, parameters[p], number, zero)
                store(changes, p, load(changes, p, activations) + decay)
    row = len(parameters)
    for k in range(circuit.example_count):
        for f in range(len(circuit.free_nodes)):
            change = activation_change(circuit, parameters, activations, counts, k, f, zero)
            store(changes, row, change)
            row += 1
