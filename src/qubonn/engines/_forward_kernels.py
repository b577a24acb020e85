"""Numba kernels of the forward view: examples in lanes, one replica at a time on a thread.

Wiring, examples, a replica (parameters, counts, activations, random stream), a schedule of visits
-> the replica, in place, and its energy.

A count is rho - t: positive terms of a pre-activation beyond the least number that makes it
positive, so a neuron is +1 exactly if its count is >= 0. A flipped weight moves the count of its
neuron by one up or down in every example. So a neuron is visited together with its own weights,
those of a single arc. Parallel ones are a number of several levels, which moves by one level up or
down, whichever costs less. In each example `flips` is the cost of a change of its sign downstream,
and `gains` is the cost of a step up of its count minus that of a step down; the cost of a proposal
is a sum of gains over the examples that would step up. An accepted flip changes this neuron only;
its cone, the neurons that depend on it, is updated when the visit ends. A weight of several arcs
has a visit to itself: the change runs through its cone once for its cost and again if it is made.
A bias is the weight of a last arc whose source is always +1.

With a softness S the flips of a visited hidden neuron are evaluated as if noise, uniform in -S..S,
were added to its pre-activation: it is +1 with probability (pi + S) / 2S, clipped to 0 and 1.
Energies of such visits are in 1 / 2S of the unit, and the change of the network's own energy is
unknown.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from qubonn.engines._forward_passes import (
    behind,
    cost_of_change,
    level_of,
    make_change,
    margin_of,
    missing,
)
from qubonn.engines.forward_tables import (
    FINE,
    FIRST,
    FIRST_OWN,
    LAST,
    LEAST,
    NO_WEIGHT,
    PARAMETER,
    SOURCE,
)
from qubonn.simd.streams import draw_thresholds
from qubonn.simd.vectors import choose, is_negative, larger, load, store, sum_of, widen

ZERO = np.uint64(0)


class Scratch(NamedTuple):
    """Work arrays of one visit."""

    flips: np.ndarray  # blocks x lanes
    gains: np.ndarray  # blocks x lanes
    outputs: np.ndarray  # outputs x lanes: counts after a change, in one block
    changed: np.ndarray  # by neuron: lanes in which its activation changes, in one block
    flip_costs: np.ndarray  # by parameter, in fine units; empty if flips are made


class Visit(NamedTuple):
    """A neuron, in all examples, while its own weights are proposed."""

    own: np.ndarray  # numbers to propose
    counts: np.ndarray  # blocks x lanes
    spins: np.ndarray  # by block
    flips: np.ndarray  # cost of a change of sign downstream; of a soft neuron: of +1 minus of -1
    gains: np.ndarray  # cost of a step up minus cost of a step down
    outputs: np.ndarray  # (outputs * blocks) x lanes: counts of all outputs
    wanted: np.ndarray  # outputs x blocks
    is_real: np.ndarray  # by block
    output: int  # index of the output; negative for a hidden neuron
    least: int  # its pre-activation at count 0
    softness: int


# ---- anneal ------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def anneal_replica(tables, examples, prices, replica, energy, schedule, flip_costs):
    """Make the visits of a schedule, and return the replica's energy.

    A sweep visits every neuron, then every shared weight. If `flip_costs` is not empty, it is
    filled with the costs of all flips, in fine units, and nothing is flipped.
    """
    wiring, cones = tables
    neuron_count = len(wiring.order)
    visit_count = neuron_count + len(wiring.shared)
    scratch = new_scratch(wiring, examples, replica, flip_costs)
    for visit in range(schedule.first, schedule.last):
        if energy <= schedule.target:
            break
        sweep, place = visit // visit_count, visit % visit_count
        temperature = schedule.temperatures[sweep, schedule.groups[place]]
        if place < neuron_count:
            neuron = wiring.order[place]
            energy += visit_neuron(
                wiring, cones, examples, prices, replica, neuron, temperature, scratch
            )
        else:
            energy += visit_shared(
                wiring, cones, examples, prices, replica, place, temperature, scratch
            )
    return energy


@njit(cache=True)
def new_scratch(wiring, examples, replica, flip_costs):
    """Return the work arrays of visits."""
    block_count, lane_count = replica.spins.shape[1], replica.counts.shape[1]
    flips = np.zeros((block_count, lane_count), dtype=replica.counts.dtype)
    outputs = np.zeros((len(examples.wanted), lane_count), dtype=replica.counts.dtype)
    changed = np.zeros(len(wiring.order), dtype=replica.spins.dtype)
    return Scratch(flips, np.zeros_like(flips), outputs, changed, flip_costs)


@njit(cache=True)
def visit_neuron(wiring, cones, examples, prices, replica, neuron, temperature, scratch):
    """Propose a neuron's own weights and its bias; return the change of energy.

    For a soft neuron the change is unknown, and 0 is returned.
    """
    has_cone = cones.starts[neuron] < cones.starts[neuron + 1]
    if has_cone:
        cost_of_change(wiring, cones, examples, prices, replica, neuron, NO_WEIGHT, scratch)
    else:
        scratch.flips[:] = 0
    visit = visit_of(wiring, examples, prices, replica, neuron, scratch)
    if visit.softness:
        temperature *= 2 * visit.softness
        turn_to_pushes(visit)
    before = visit.spins.copy()
    thresholds = next_thresholds(len(visit.own), replica.spins, replica.generator, temperature)
    total = propose_all(
        wiring.parallel, examples.pull, prices, replica, visit, thresholds, scratch.flip_costs
    )
    if has_cone:
        crossed = before ^ visit.spins
        make_change(wiring, cones, replica, neuron, NO_WEIGHT, crossed, scratch.changed)
    return 0 if visit.softness else total  # sums of expected energies could overflow


@njit(inline="always")
def visit_of(wiring, examples, prices, replica, neuron, scratch):
    """Return the visit of a neuron: views of the replica's arrays and of the work arrays."""
    block_count = replica.spins.shape[1]
    output = neuron - (len(wiring.order) - wiring.output_count)
    return Visit(
        own=wiring.own[wiring.neurons[neuron, FIRST_OWN] : wiring.neurons[neuron + 1, FIRST_OWN]],
        counts=replica.counts[neuron * block_count : (neuron + 1) * block_count],
        spins=replica.spins[wiring.input_count + neuron],
        flips=scratch.flips,
        gains=scratch.gains,
        outputs=replica.counts[(neuron - output) * block_count :],
        wanted=examples.wanted,
        is_real=examples.is_real,
        output=output,
        least=wiring.neurons[neuron, LEAST],
        softness=prices.softness[neuron],
    )


@njit(cache=True)
def propose_all(parallel, pulls, prices, replica, visit, thresholds, flip_costs):
    """Propose a neuron's own numbers one by one; return the change of energy.

    The sum over gains is the innermost loop, which takes most of the time.
    """
    parameters, spins, own, gains = replica.parameters, replica.spins, visit.own, visit.gains
    blocks_per_sum, total = prices.blocks_per_sum, 0
    scale = 2 * visit.softness if visit.softness else 1
    decay, constant = scale * prices.decay, len(spins) - 1
    fall = move(prices, visit, visit.spins, visit.spins[0], False)
    climb, is_climb_known = 0, False  # the sum of all gains
    for number in range(len(own)):
        source, parameter = own[number, SOURCE], own[number, PARAMETER]
        weight, pull = parameters[parameter], scale * pulls[parameter]
        # a term is negative, and turns positive, where weight and source differ
        rise = sum_where(spins, source, weight, gains, blocks_per_sum)
        change = ((fall + rise) << FINE) + (pull if weight else -pull)
        if own[number, FIRST] + 1 < own[number, LAST]:
            if not is_climb_known:
                climb = sum_of_gains(spins, gains, blocks_per_sum)
                is_climb_known = True
            same, other = (fall + rise) << FINE, (fall + climb - rise) << FINE
            if decay and source < constant:
                towards = level_of(parallel, own[number], parameters) * (1 if weight else -1)
                same += 4 * decay * (1 - towards)
                other += 4 * decay * (1 + towards)
            costs = same, other
            parameter, change = cheapest(
                parallel, own, number, parameters, pulls, scale, costs, flip_costs
            )
            weight = parameters[parameter]
        if len(flip_costs):
            flip_costs[parameter] = change
        elif np.float32(change) <= thresholds[number]:
            total += change
            parameters[parameter] = ~weight
            fall = move(prices, visit, spins[source], weight, True)
            is_climb_known = False
    return total


@njit(inline="always")
def sum_where(spins, source, weight, gains, blocks_per_sum):
    """Return the sum of the gains of all examples in which a source differs from a weight."""
    block_count = len(gains)
    zero = load(gains, 0, spins) * 0
    total = widen(zero)
    for first in range(0, block_count, blocks_per_sum):
        part = zero
        for b in range(first, min(first + blocks_per_sum, block_count)):
            part = part + choose(spins[source, b] ^ weight, load(gains, b, spins), zero)
        total = total + widen(part)
    return sum_of(total)


@njit(cache=True)
def sum_of_gains(spins, gains, blocks_per_sum):
    """Return the sum of the gains of all examples."""
    return sum_where(spins, len(spins) - 1, ZERO, gains, blocks_per_sum)


@njit(cache=True)
def cheapest(parallel, own, number, parameters, pulls, scale, costs, flip_costs):
    """Return that of several parallel parameters whose flip costs least, and its cost.

    `costs`, without the field, are those of a flip of the first, and of one of opposite sign.
    """
    first, best, least = parameters[own[number, PARAMETER]], -1, 0
    for place in range(own[number, FIRST], own[number, LAST]):
        parameter = parallel[place]
        pull = scale * pulls[parameter]
        change = costs[0] if parameters[parameter] == first else costs[1]
        change += pull if parameters[parameter] else -pull
        if len(flip_costs):
            flip_costs[parameter] = change
        if best < 0 or change < least:
            best, least = parameter, change
    return best, least


@njit(cache=True)
def visit_shared(wiring, cones, examples, prices, replica, owner, temperature, scratch):
    """Propose a weight of several arcs, the owner of a cone; return the change of energy."""
    weight, spins = wiring.shared[owner - len(wiring.order)], replica.spins
    threshold = next_thresholds(1, spins, replica.generator, temperature)[0]
    cost_of_change(wiring, cones, examples, prices, replica, owner, weight, scratch)
    zero = load(scratch.flips, 0, spins) * 0
    total = widen(zero)
    for b in range(spins.shape[1]):
        total = total + widen(choose(examples.is_real[b], load(scratch.flips, b, spins), zero))
    pull = examples.pull[weight]
    change = (sum_of(total) << FINE) + (pull if replica.parameters[weight] else -pull)
    if prices.decay:
        row = wiring.shared_numbers[owner - len(wiring.order)]
        level = level_of(wiring.parallel, row, replica.parameters)
        change += 4 * prices.decay * (1 - level if replica.parameters[weight] else 1 + level)
    if len(scratch.flip_costs):
        scratch.flip_costs[weight] = change
        return 0
    if np.float32(change) > threshold:
        return 0
    all_lanes = spins[len(spins) - 1]
    make_change(wiring, cones, replica, owner, weight, all_lanes, scratch.changed)
    replica.parameters[weight] = ~replica.parameters[weight]
    return change


@njit(cache=True)
def next_thresholds(count, states, generator, temperature):
    """Draw `count` thresholds from the replica's stream, which advances by whole rows of lanes."""
    lane_count = generator.shape[1]
    thresholds = np.empty((-(-count // lane_count), lane_count), dtype=np.float32)
    draw_thresholds(thresholds, states, generator, temperature)
    return thresholds.reshape(-1)


# ---- the cost of a flip of a neuron's own weight -----------------------------------------------
# Each `move` moves the counts of the visited neuron if `weight` is flipped, then fills its gains
# and returns the cost of a step down, summed over all examples.


@njit(inline="always")
def move(prices, visit, sources, weight, is_flipped):
    """Move a neuron of any kind; see above."""
    if visit.softness:
        fall = move_soft(prices, visit, sources, weight, is_flipped)
    elif visit.output < 0:
        fall = move_hidden(prices, visit, sources, weight, is_flipped)
    else:
        if is_flipped:
            move_output(visit, sources, weight)
        if prices.is_pairwise:
            fall = set_pairwise_gains(prices, visit)
        else:
            fall = set_output_gains(prices, visit)
    return fall


@njit(cache=True)
def move_hidden(prices, visit, sources, weight, is_flipped):
    """Move a hidden neuron without noise; its steps cost in its cone, and in margin."""
    counts, spins, flips, gains = visit.counts, visit.spins, visit.flips, visit.gains
    is_real = visit.is_real
    zero = load(gains, 0, spins) * 0
    one = zero + 1
    total = widen(zero)
    for b in range(len(gains)):
        count, flip = load(counts, b, spins), load(flips, b, spins)
        if is_flipped:
            count = count + choose(sources[b] ^ weight, one, one * -1)
            store(counts, b, count)
            now = ~is_negative(count)
            flip = choose(now ^ spins[b], flip * -1, flip)  # the way back costs the opposite
            store(flips, b, flip)
            spins[b] = now
        up, down = crossings(count, flip, spins[b], zero)
        if prices.margin:
            up_margin, down_margin = margin_steps(prices, visit.least, count)
            up, down = up + up_margin * prices.margin, down + down_margin * prices.margin
        store(gains, b, choose(is_real[b], up - down, zero))
        total = total + widen(choose(is_real[b], down, zero))
    return sum_of(total)


@njit(cache=True)
def turn_to_pushes(visit):
    """Turn the costs of a change of sign into how much more a +1 costs than a -1."""
    for b in range(len(visit.flips)):
        flip = load(visit.flips, b, visit.spins)
        store(visit.flips, b, choose(visit.spins[b], flip * -1, flip))


@njit(cache=True)
def move_soft(prices, visit, sources, weight, is_flipped):
    """Move a soft neuron, all energies in 1 / 2S; its flips are pushes."""
    counts, spins, pushes, gains = visit.counts, visit.spins, visit.flips, visit.gains
    is_real, softness, least = visit.is_real, visit.softness, visit.least
    zero = load(gains, 0, spins) * 0
    one = zero + 1
    margin = prices.margin * 2 * softness
    total = widen(zero)
    for b in range(len(gains)):
        count, push = load(counts, b, spins), load(pushes, b, spins)
        if is_flipped:
            count = count + choose(sources[b] ^ weight, one, one * -1)
            store(counts, b, count)
            spins[b] = ~is_negative(count)
        here = soft_sign(softness, least, count)
        up = push * (soft_sign(softness, least, count + 1) - here)
        down = push * (soft_sign(softness, least, count - 1) - here)
        if margin:
            up_margin, down_margin = margin_steps(prices, least, count)
            up, down = up + up_margin * margin, down + down_margin * margin
        store(gains, b, choose(is_real[b], up - down, zero))
        total = total + widen(choose(is_real[b], down, zero))
    return sum_of(total)


@njit(cache=True)
def move_output(visit, sources, weight):
    """Move an output's counts when `weight` flips, and update its activations."""
    counts, spins, flips = visit.counts, visit.spins, visit.flips
    for b in range(len(flips)):
        flip = load(flips, b, spins)
        one = flip * 0 + 1
        count = load(counts, b, spins) + choose(sources[b] ^ weight, one, one * -1)
        store(counts, b, count)
        now = ~is_negative(count)
        store(flips, b, choose(now ^ spins[b], flip * -1, flip))
        spins[b] = now


@njit(cache=True)
def set_output_gains(prices, visit):
    """Fill the gains of an output that must have the right sign; return the cost of a step down."""
    counts, spins, flips, gains = visit.counts, visit.spins, visit.flips, visit.gains
    wanted, is_real = visit.wanted[visit.output], visit.is_real
    zero = load(gains, 0, spins) * 0
    total = widen(zero)
    for b in range(len(gains)):
        count, flip = load(counts, b, spins), load(flips, b, spins)
        up, down = crossings(count, flip, spins[b], zero)
        here = missing(wanted[b], count)
        up = up + (missing(wanted[b], count + 1) - here) * prices.violation
        down = down + (missing(wanted[b], count - 1) - here) * prices.violation
        store(gains, b, choose(is_real[b], up - down, zero))
        total = total + widen(choose(is_real[b], down, zero))
    return sum_of(total)


@njit(cache=True)
def set_pairwise_gains(prices, visit):
    """Fill the gains of an output that is compared with others; return the cost of a step down."""
    outputs, wanted, gains = visit.outputs, visit.wanted, visit.gains
    is_real, output = visit.is_real, visit.output
    block_count = len(gains)
    zero = load(gains, 0, wanted) * 0
    total = widen(zero)
    for b in range(block_count):
        right = zero  # the count of each example's right class
        for c in range(len(wanted)):
            right = right + choose(wanted[c, b], load(outputs, c * block_count + b, wanted), zero)
        lead = right - load(outputs, output * block_count + b, wanted)
        here = behind(prices, lead)
        up = behind(prices, lead - 1) - here
        down = behind(prices, lead + 1) - here
        if wanted[output, b]:  # a move of the right class moves its leads over all others
            others_up, others_down = zero, zero
            for c in range(len(wanted)):
                if c != output:
                    lead = right - load(outputs, c * block_count + b, wanted)
                    here = behind(prices, lead)
                    others_up = others_up + behind(prices, lead + 1) - here
                    others_down = others_down + behind(prices, lead - 1) - here
            up = choose(wanted[output, b], others_up, up)
            down = choose(wanted[output, b], others_down, down)
        store(gains, b, choose(is_real[b], up - down, zero) * prices.violation)
        total = total + widen(choose(is_real[b], down, zero))
    return sum_of(total) * prices.violation


@njit(inline="always")
def crossings(count, flip, spins, zero):
    """Return the costs in the cone of a step up and a step down, where they change the sign."""
    # a step up crosses where the count is -1, a step down where it is 0
    up = choose(~is_negative(count + 1) & ~spins, flip, zero)
    down = choose(spins & is_negative(count - 1), flip, zero)
    return up, down


@njit(inline="always")
def soft_sign(softness, least, count):
    """Return the probability of +1 in 1 / 2S: pi + S, clipped to 0 and 2S."""
    sums = count + count + (least + softness)
    return larger(larger(sums, 0) * -1, -2 * softness) * -1


@njit(inline="always")
def margin_steps(prices, least, count):
    """Return by how much a step up and a step down reduce the rewarded margin."""
    here = margin_of(prices, least, count)
    return (
        here - margin_of(prices, least, count + 1),
        here - margin_of(prices, least, count - 1),
    )
