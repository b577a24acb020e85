"""Numba kernels of the forward view: examples in lanes, one replica at a time on a thread.

Examples, replicas (parameters, counts, activations, random streams), temperatures -> the same, in
place.

A count is rho - t: positive terms of a pre-activation beyond the least number that makes it
positive, so a neuron is +1 exactly if its count is >= 0. A flipped weight moves the count of its
neuron by one up or down in every example. So a neuron is visited with all its weights: the `gains`
say what a step up costs more than a step down in each example, and a proposal is no more than a sum
of gains over the examples that would step up. An accepted flip touches this neuron only, and the
outputs hear of it when the visit ends. A bias is the weight of a last source that is always +1.
"""

from typing import NamedTuple

import numpy as np
from numba import njit, prange

from qubonn.lanes.streams import draw_thresholds
from qubonn.lanes.sums import sum_of
from qubonn.lanes.vectors import at_most, choose, larger, load, store, to_float

__all__ = ["Examples", "Replica", "anneal_all", "anneal_replica", "energy_of", "set_changes"]


class Examples(NamedTuple):
    """The examples as masks over blocks of lanes; energies in whole multiples of a unit."""

    inputs: np.ndarray  # (inputs + 1) x blocks: bit k is set where the input of example k is +1
    wanted: np.ndarray  # outputs x blocks
    is_real: np.ndarray  # by block: the lanes that hold an example
    hidden_pull: np.ndarray  # hidden x (inputs + 1): twice the field
    output_pull: np.ndarray  # outputs x (hidden + 1)
    least: int  # pre-activation of a hidden neuron with count 0: 1 or 2
    margin: int  # reward of one unit of a hidden pre-activation
    margin_cap: int
    violation: int  # of one missing term; of half of one with pairwise outputs
    target_margin: int
    is_pairwise: bool


class Replica(NamedTuple):
    """One network and what follows from it; with a first axis over replicas, all of them."""

    hidden_weights: np.ndarray  # hidden x (inputs + 1): all bits set where the weight is +1
    output_weights: np.ndarray  # outputs x (hidden + 1)
    hidden_counts: np.ndarray  # (hidden * blocks) x lanes
    output_counts: np.ndarray  # (outputs * blocks) x lanes
    activations: np.ndarray  # (hidden + 1) x blocks; the last row has all bits set
    generator: np.ndarray


@njit(parallel=True, cache=True)
def anneal_all(examples, replicas, energies, temperatures, target):
    """Advance all replicas; `temperatures` has a row for each sweep: hidden and output layer."""
    for r in prange(len(energies)):
        replica = Replica(
            replicas.hidden_weights[r],
            replicas.output_weights[r],
            replicas.hidden_counts[r],
            replicas.output_counts[r],
            replicas.activations[r],
            replicas.generator[r],
        )
        energies[r] = anneal_replica(examples, replica, energies[r], temperatures, target)


@njit(cache=True)
def anneal_replica(examples, replica, energy, temperatures, target):
    """Advance one replica until it is at or below `target`, and return its energy."""
    block_count, lane_count = examples.inputs.shape[1], replica.hidden_counts.shape[1]
    flips = np.zeros((block_count, lane_count), dtype=np.int32)
    gains = np.zeros((block_count, lane_count), dtype=np.int32)
    for sweep in range(len(temperatures)):
        if energy <= target:
            break
        for h in range(len(replica.hidden_weights)):
            energy += anneal_hidden(examples, replica, h, temperatures[sweep, 0], flips, gains)
        for c in range(len(replica.output_weights)):
            energy += anneal_output(examples, replica, c, temperatures[sweep, 1], gains)
    return energy


@njit(cache=True)
def anneal_hidden(examples, replica, h, temperature, flips, gains):
    """Propose every weight of a hidden neuron, its bias last; return the change of energy."""
    weights, pull = replica.hidden_weights[h], examples.hidden_pull[h]
    thresholds = next_thresholds(len(weights), examples, replica, temperature)
    set_flips(examples, replica, h, flips)
    fall = set_hidden_gains(examples, replica, h, flips, gains)
    before = replica.activations[h].copy()
    total = 0
    for i in range(len(weights)):
        change = fall + rise(examples.inputs, i, weights[i], gains)
        change += pull[i] if weights[i] else -pull[i]
        if np.float32(change) <= thresholds[i]:
            total += change
            flip_hidden(examples, replica, h, i, flips)
            fall = set_hidden_gains(examples, replica, h, flips, gains)
    move_outputs(examples, replica, h, before)
    return total


@njit(cache=True)
def anneal_output(examples, replica, c, temperature, gains):
    """Propose every weight of an output neuron, its bias last; return the change of energy."""
    weights, pull = replica.output_weights[c], examples.output_pull[c]
    thresholds = next_thresholds(len(weights), examples, replica, temperature)
    fall = set_output_gains(examples, replica, c, gains)
    total = 0
    for h in range(len(weights)):
        change = fall + rise(replica.activations, h, weights[h], gains)
        change += pull[h] if weights[h] else -pull[h]
        if np.float32(change) <= thresholds[h]:
            total += change
            flip_output(replica, c, h)
            fall = set_output_gains(examples, replica, c, gains)
    return total


@njit(cache=True)
def next_thresholds(count, examples, replica, temperature):
    """Draw so many thresholds from the replica's stream; whole rows of lanes are used up."""
    lane_count = replica.generator.shape[1]
    thresholds = np.empty((-(-count // lane_count), lane_count), dtype=np.float32)
    draw_thresholds(thresholds, examples.inputs, replica.generator, temperature)
    return thresholds.reshape(-1)


@njit(inline="always")
def rise(sources, row, weight, gains):
    """Sum the gains over the examples in which the count goes up when `weight` flips."""
    zero = load(gains, 0, sources) * 0
    total = zero
    for b in range(len(gains)):
        # the term is negative, and turns positive, where weight and source differ
        total = total + choose(sources[row, b] ^ weight, load(gains, b, sources), zero)
    return sum_of(total)


@njit(cache=True)
def set_flips(examples, replica, h, flips):
    """Fill `flips` with what a flip of a hidden activation costs at the outputs, by example."""
    block_count = len(flips)
    for b in range(block_count):
        one = load(flips, b, examples.inputs) * 0 + 1
        zero = one * 0
        own = replica.activations[h, b]
        before, after, total = zero, zero, zero
        if examples.is_pairwise:
            for c in range(len(examples.wanted)):
                count = load(replica.output_counts, c * block_count + b, examples.inputs)
                step = choose(own ^ replica.output_weights[c, h], one, one * -1)
                before = before + choose(examples.wanted[c, b], count, zero)
                after = after + choose(examples.wanted[c, b], count + step, zero)
        for c in range(len(examples.wanted)):
            count = load(replica.output_counts, c * block_count + b, examples.inputs)
            step = choose(own ^ replica.output_weights[c, h], one, one * -1)
            wanted = examples.wanted[c, b]
            if examples.is_pairwise:
                change = behind(examples, after - count - step) - behind(examples, before - count)
                total = total + choose(wanted, zero, change)
            else:
                total = total + missing(wanted, count + step) - missing(wanted, count)
        store(flips, b, total * examples.violation)


@njit(inline="always")
def missing(wanted, count):
    """Return how many terms an output needs more, or has too many: 0 where it is right."""
    return larger(choose(wanted, count * -1, count + 1), 0)


@njit(inline="always")
def behind(examples, lead):
    """Return by how much a lead of the right class, in counts, is too small: target - 2 * lead."""
    return larger((lead + lead) * -1 + examples.target_margin, 0)


@njit(inline="always")
def margin_of(examples, count):
    """Return the reward of hidden neurons: of |pi| up to the cap, with pi = 2 * count + least."""
    sums = count + count + examples.least
    beyond = larger(larger(sums, sums * -1) * -1, -examples.margin_cap)
    return beyond * -examples.margin


@njit(cache=True)
def set_hidden_gains(examples, replica, h, flips, gains):
    """Fill `gains` for a hidden neuron; return what steps down cost in all examples together."""
    block_count = len(gains)
    zero = load(gains, 0, examples.inputs) * 0
    total = zero
    for b in range(block_count):
        count = load(replica.hidden_counts, h * block_count + b, examples.inputs)
        flip = load(flips, b, examples.inputs)
        own = replica.activations[h, b]
        here = margin_of(examples, count)
        # a step up crosses where the count is -1, a step down where it is 0
        up_crosses = is_nonnegative(count + 1) & ~own
        down_crosses = own & ~is_nonnegative(count - 1)
        up = here - margin_of(examples, count + 1) + choose(up_crosses, flip, zero)
        down = here - margin_of(examples, count - 1) + choose(down_crosses, flip, zero)
        store(gains, b, choose(examples.is_real[b], up - down, zero))
        total = total + choose(examples.is_real[b], down, zero)
    return sum_of(total)


@njit(inline="always")
def is_nonnegative(lanes):
    """Return a mask of the lanes >= 0."""
    return at_most(to_float(lanes * -1), to_float(lanes * 0))


@njit(cache=True)
def set_output_gains(examples, replica, c, gains):
    """Fill `gains` for an output neuron; return what steps down cost in all examples together."""
    block_count = len(gains)
    zero = load(gains, 0, examples.inputs) * 0
    total = zero
    for b in range(block_count):
        count = load(replica.output_counts, c * block_count + b, examples.inputs)
        wanted = examples.wanted[c, b]
        if examples.is_pairwise:
            right = right_count(examples, replica, b, zero)
            here = behind(examples, right - count)
            up = behind(examples, right - count - 1) - here
            down = behind(examples, right - count + 1) - here
            if wanted:  # where the right class moves, its lead over all others does
                others_up, others_down = zero, zero
                for other in range(len(examples.wanted)):
                    if other != c:
                        place = other * block_count + b
                        lead = right - load(replica.output_counts, place, examples.inputs)
                        here = behind(examples, lead)
                        others_up = others_up + behind(examples, lead + 1) - here
                        others_down = others_down + behind(examples, lead - 1) - here
                up = choose(wanted, others_up, up)
                down = choose(wanted, others_down, down)
        else:
            here = missing(wanted, count)
            up = missing(wanted, count + 1) - here
            down = missing(wanted, count - 1) - here
        up = choose(examples.is_real[b], up, zero)
        down = choose(examples.is_real[b], down, zero)
        store(gains, b, (up - down) * examples.violation)
        total = total + down
    return sum_of(total) * examples.violation


@njit(inline="always")
def right_count(examples, replica, b, zero):
    """Return the count of each example's right class."""
    right = zero
    for c in range(len(examples.wanted)):
        count = load(replica.output_counts, c * examples.inputs.shape[1] + b, examples.inputs)
        right = right + choose(examples.wanted[c, b], count, zero)
    return right


@njit(cache=True)
def flip_hidden(examples, replica, h, i, flips):
    """Flip a weight of a hidden neuron; its activations follow, the outputs wait."""
    block_count = len(flips)
    weight = replica.hidden_weights[h, i]
    for b in range(block_count):
        flip = load(flips, b, examples.inputs)
        one = flip * 0 + 1
        count = load(replica.hidden_counts, h * block_count + b, examples.inputs)
        count = count + choose(examples.inputs[i, b] ^ weight, one, one * -1)
        store(replica.hidden_counts, h * block_count + b, count)
        now = is_nonnegative(count)
        crossed = now ^ replica.activations[h, b]
        replica.activations[h, b] = now
        store(flips, b, choose(crossed, flip * -1, flip))  # the way back costs the opposite
    replica.hidden_weights[h, i] = ~weight


@njit(cache=True)
def move_outputs(examples, replica, h, before):
    """Bring the outputs up to date after a visit that began with the activations `before`.

    During the visit nobody needs them: `flips` has all that the neuron must know of them.
    """
    block_count = len(before)
    for b in range(block_count):
        crossed = before[b] ^ replica.activations[h, b]
        if crossed:
            for c in range(len(examples.wanted)):
                count = load(replica.output_counts, c * block_count + b, examples.inputs)
                one = count * 0 + 1
                step = choose(before[b] ^ replica.output_weights[c, h], one, one * -1)
                moved = count + choose(crossed, step, one * 0)
                store(replica.output_counts, c * block_count + b, moved)


@njit(cache=True)
def flip_output(replica, c, h):
    """Flip a weight of an output neuron."""
    block_count = replica.activations.shape[1]
    weight = replica.output_weights[c, h]
    for b in range(block_count):
        count = load(replica.output_counts, c * block_count + b, replica.activations)
        one = count * 0 + 1
        step = choose(replica.activations[h, b] ^ weight, one, one * -1)
        store(replica.output_counts, c * block_count + b, count + step)
    replica.output_weights[c, h] = ~weight


@njit(cache=True)
def energy_of(examples, replica):
    """Add up the energy of a replica from its counts and parameters."""
    block_count = examples.inputs.shape[1]
    total = 0
    for b in range(block_count):
        real = examples.is_real[b]
        zero = load(replica.output_counts, b, examples.inputs) * 0
        right = right_count(examples, replica, b, zero)
        for c in range(len(examples.wanted)):
            count = load(replica.output_counts, c * block_count + b, examples.inputs)
            if examples.is_pairwise:
                miss = choose(examples.wanted[c, b], zero, behind(examples, right - count))
            else:
                miss = missing(examples.wanted[c, b], count)
            total += sum_of(choose(real, miss, zero)) * examples.violation
        for h in range(len(replica.hidden_weights)):
            count = load(replica.hidden_counts, h * block_count + b, examples.inputs)
            total -= sum_of(choose(real, margin_of(examples, count), zero))
    for h in range(len(replica.hidden_weights)):
        total += pull_of(replica.hidden_weights[h], examples.hidden_pull[h])
    for c in range(len(replica.output_weights)):
        total += pull_of(replica.output_weights[c], examples.output_pull[c])
    return total


@njit(cache=True)
def pull_of(weights, pull):
    """Return minus the field's reward; `pull` is twice the field, so half of each is meant."""
    twice = 0
    for i in range(len(weights)):
        twice += -pull[i] if weights[i] else pull[i]
    return twice // 2


@njit(cache=True)
def set_changes(examples, replica, hidden_changes, output_changes):
    """Fill in what a flip of each weight would change, biases last in each row."""
    block_count, lane_count = examples.inputs.shape[1], replica.hidden_counts.shape[1]
    flips = np.zeros((block_count, lane_count), dtype=np.int32)
    gains = np.zeros((block_count, lane_count), dtype=np.int32)
    for h in range(len(replica.hidden_weights)):
        weights, pull = replica.hidden_weights[h], examples.hidden_pull[h]
        set_flips(examples, replica, h, flips)
        fall = set_hidden_gains(examples, replica, h, flips, gains)
        for i in range(len(weights)):
            change = fall + rise(examples.inputs, i, weights[i], gains)
            hidden_changes[h, i] = change + (pull[i] if weights[i] else -pull[i])
    for c in range(len(replica.output_weights)):
        weights, pull = replica.output_weights[c], examples.output_pull[c]
        fall = set_output_gains(examples, replica, c, gains)
        for h in range(len(weights)):
            change = fall + rise(replica.activations, h, weights[h], gains)
            output_changes[c, h] = change + (pull[h] if weights[h] else -pull[h])
