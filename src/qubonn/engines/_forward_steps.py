"""Numba kernels of a visited neuron: its counts in all examples, and what steps of them cost.

Visit -> counts and activations after a flip, in place; costs of steps up and down by example.

Flips move a count by one; a weight that moves together with its neuron's threshold moves it by two
in some examples and not at all in the others; a weight of several arcs moves it by the sum of their
sources' spins.
"""

from typing import NamedTuple

import numpy as np

from qubonn.engines._forward_passes import behind, margin_of, missing
from qubonn.simd.compiling import inlined, part
from qubonn.simd.vectors import choose, is_negative, larger, load, store, sum_of, widen


class Visit(NamedTuple):
    """A neuron, in all examples, while its own weights are proposed."""

    own: np.ndarray  # numbers to propose
    counts: np.ndarray  # blocks x lanes
    spins: np.ndarray  # by block
    flips: np.ndarray  # cost of a change of sign downstream; of a soft neuron: of +1 minus of -1;
    # times the weights of the examples
    gains: np.ndarray  # cost of a step up minus cost of a step down
    outputs: np.ndarray  # (outputs * blocks) x lanes: counts of all outputs
    wanted: np.ndarray  # outputs x blocks
    is_real: np.ndarray  # by block: the lanes that hold an example; costs are 0 in the others too
    weights: np.ndarray  # blocks x lanes: of the examples; 0 where a lane holds none
    output: int  # index of the output; negative for a hidden neuron
    least: int  # its pre-activation at count 0
    softness: int  # of a hidden neuron's sum, or of an output's leads; 0: no noise


# ---- steps of one ------------------------------------------------------------------------------
# Each `move` moves the counts of the visited neuron if `weight` is flipped, then fills its gains
# and returns the cost of a step down, summed over all examples.


@inlined
def move(prices, visit, sources, weight, is_flipped):
    """Move a neuron of any kind; see above."""
    if visit.output < 0 and visit.softness:
        fall = move_soft(prices, visit, sources, weight, is_flipped)
    elif visit.output < 0:
        fall = move_hidden(prices, visit, sources, weight, is_flipped)
    else:
        if is_flipped:
            shift(visit, sources, weight)
        if prices.is_pairwise:
            fall = set_pairwise_gains(prices, visit)
        else:
            fall = set_output_gains(prices, visit)
    return fall


@part
def move_hidden(prices, visit, sources, weight, is_flipped):
    """Move a hidden neuron without noise; its steps cost in its cone, and in margin."""
    counts, spins, flips, gains = visit.counts, visit.spins, visit.flips, visit.gains
    is_real, weights, least = visit.is_real, visit.weights, visit.least
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
        up, down = hidden_steps(prices, load(weights, b, spins), least, count, flip, spins[b], one)
        store(gains, b, choose(is_real[b], up - down, zero))
        total = total + widen(choose(is_real[b], down, zero))
    return sum_of(total)


@part
def weigh_flips(visit):
    """Multiply the costs of a change of sign by the weights of the examples.

    Those of a soft neuron are turned into how much more a +1 costs than a -1.
    """
    for b in range(len(visit.flips)):
        flip = load(visit.flips, b, visit.spins) * load(visit.weights, b, visit.spins)
        if visit.softness:
            flip = choose(visit.spins[b], flip * -1, flip)
        store(visit.flips, b, flip)


@part
def move_soft(prices, visit, sources, weight, is_flipped):
    """Move a soft neuron, all energies in 1 / 2S; its flips are pushes.

    The costs are those of `soft_steps`, which is compiled to slower code in this loop.
    """
    counts, spins, pushes, gains = visit.counts, visit.spins, visit.flips, visit.gains
    is_real, weights = visit.is_real, visit.weights
    softness, least = visit.softness, visit.least
    margin = prices.margin * 2 * softness
    zero = load(gains, 0, spins) * 0
    one = zero + 1
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
            price = load(weights, b, spins) * margin
            up_margin, down_margin = margin_steps(prices, least, count, one)
            up, down = up + up_margin * price, down + down_margin * price
        store(gains, b, choose(is_real[b], up - down, zero))
        total = total + widen(choose(is_real[b], down, zero))
    return sum_of(total)


@part
def shift(visit, sources, weight):
    """Move a neuron's counts when `weight` flips, and update its activations."""
    one = load(visit.counts, 0, visit.spins) * 0 + 1
    for b in range(len(visit.spins)):
        shift_block(visit, b, choose(sources[b] ^ weight, one, one * -1))


@inlined
def shift_block(visit, b, step):
    """Move a neuron's counts in one block, and update its activations."""
    counts, spins, flips = visit.counts, visit.spins, visit.flips
    flip, count = load(flips, b, spins), load(counts, b, spins) + step
    store(counts, b, count)
    now = ~is_negative(count)
    if not visit.softness:  # pushes stay what they are
        store(flips, b, choose(now ^ spins[b], flip * -1, flip))
    spins[b] = now


@part
def set_output_gains(prices, visit):
    """Fill the gains of an output that must have the right sign; return the cost of a step down."""
    counts, spins, flips, gains = visit.counts, visit.spins, visit.flips, visit.gains
    wanted, weights = visit.wanted[visit.output], visit.weights
    zero = load(gains, 0, spins) * 0
    one = zero + 1
    total = widen(zero)
    for b in range(len(gains)):
        count, flip = load(counts, b, spins), load(flips, b, spins)
        weight = load(weights, b, spins)
        up, down = output_steps(prices, weight, wanted[b], count, flip, spins[b], one)
        store(gains, b, up - down)
        total = total + widen(down)
    return sum_of(total)


@part
def set_pairwise_gains(prices, visit):
    """Fill the gains of an output that is compared with others; return the cost of a step down."""
    gains, outputs, wanted = visit.gains, visit.outputs, visit.wanted
    weights, output, softness = visit.weights, visit.output, visit.softness
    zero = load(gains, 0, wanted) * 0
    one = zero + 1
    total = widen(zero)
    for b in range(len(gains)):
        up, down = pairwise_steps(prices, softness, weights, b, outputs, wanted, output, one)
        store(gains, b, (up - down) * prices.violation)
        total = total + widen(down)
    return sum_of(total) * prices.violation


# ---- steps of two ------------------------------------------------------------------------------


@part
def set_double_steps(prices, visit, climbs, falls):
    """Fill the costs of two steps up and of two steps down, in all examples."""
    two = load(climbs, 0, visit.spins) * 0 + 2
    for b in range(len(climbs)):
        up, down = steps_of(prices, visit, b, two)
        store(climbs, b, up)
        store(falls, b, down)


# ---- steps of a bundle -------------------------------------------------------------------------


@part
def sums_of_steps(prices, visit, sums, bundle, offset):
    """Return the costs of a bundle's steps, up and down, summed over all examples.

    The steps are the bundle's sums of spins and an `offset`.
    """
    spins, block_count = visit.spins, len(visit.spins)
    climb = fall = widen(load(sums, 0, spins) * 0)
    for b in range(block_count):
        size = load(sums, bundle * block_count + b, spins) + offset
        up, down = steps_of(prices, visit, b, size)
        climb, fall = climb + widen(up), fall + widen(down)
    return sum_of(climb), sum_of(fall)


@part
def shift_by(visit, sums, bundle, sign):
    """Move a neuron's counts by a bundle's steps, and update its activations."""
    block_count = len(visit.spins)
    for b in range(block_count):
        shift_block(visit, b, load(sums, bundle * block_count + b, visit.spins) * sign)


# ---- the costs of steps up and down, in one block, times the weights of the examples -----------


@inlined
def steps_of(prices, visit, b, size):
    """Return the costs for a neuron of any kind; `size` has a number for each lane."""
    counts, spins, flips, weights = visit.counts, visit.spins, visit.flips, visit.weights
    outputs, wanted, output = visit.outputs, visit.wanted, visit.output
    softness, least = visit.softness, visit.least
    count, flip = load(counts, b, spins), load(flips, b, spins)
    weight = load(weights, b, spins)
    if output < 0 and softness:
        up, down = soft_steps(prices, weight, softness, least, count, flip, size)
    elif output < 0:
        up, down = hidden_steps(prices, weight, least, count, flip, spins[b], size)
    elif prices.is_pairwise:
        up, down = pairwise_steps(prices, softness, weights, b, outputs, wanted, output, size)
        up, down = up * prices.violation, down * prices.violation
    else:
        want = wanted[output, b]
        up, down = output_steps(prices, weight, want, count, flip, spins[b], size)
    return up, down


@inlined
def hidden_steps(prices, weight, least, count, flip, spins, size):
    """Return the costs in a hidden neuron's cone and margin."""
    up, down = crossings(count, flip, spins, size)
    if prices.margin:
        up_margin, down_margin = margin_steps(prices, least, count, size)
        price = weight * prices.margin
        up, down = up + up_margin * price, down + down_margin * price
    return up, down


@inlined
def soft_steps(prices, weight, softness, least, count, push, size):
    """Return the costs expected for a soft neuron, in 1 / 2S."""
    here = soft_sign(softness, least, count)
    up = push * (soft_sign(softness, least, count + size) - here)
    down = push * (soft_sign(softness, least, count - size) - here)
    if prices.margin:
        up_margin, down_margin = margin_steps(prices, least, count, size)
        price = weight * (prices.margin * 2 * softness)
        up, down = up + up_margin * price, down + down_margin * price
    return up, down


@inlined
def output_steps(prices, weight, wanted, count, flip, spins, size):
    """Return the costs for an output that must have the right sign."""
    up, down = crossings(count, flip, spins, size)
    here, price = missing(wanted, count), weight * prices.violation
    up = up + (missing(wanted, count + size) - here) * price
    down = down + (missing(wanted, count - size) - here) * price
    return up, down


@inlined
def pairwise_steps(prices, softness, weights, b, outputs, wanted, output, size):
    """Return the costs, in violations, for an output that is compared with others.

    With a softness they are expected costs, in 1 / 2S.
    """
    block_count, target = len(weights), prices.target_margin
    zero = load(weights, b, wanted) * 0
    right = zero  # the count of each example's right class
    for c in range(len(wanted)):
        right = right + choose(wanted[c, b], load(outputs, c * block_count + b, wanted), zero)
    lead = right - load(outputs, output * block_count + b, wanted)
    up = change_of_lead(target, softness, lead, size * -1)
    down = change_of_lead(target, softness, lead, size)
    if wanted[output, b]:  # a move of the right class moves its leads over all others
        others_up, others_down = zero, zero
        for c in range(len(wanted)):
            if c != output:
                lead = right - load(outputs, c * block_count + b, wanted)
                others_up = others_up + change_of_lead(target, softness, lead, size)
                others_down = others_down + change_of_lead(target, softness, lead, size * -1)
        up = choose(wanted[output, b], others_up, up)
        down = choose(wanted[output, b], others_down, down)
    weight = load(weights, b, wanted)
    return up * weight, down * weight


@inlined
def change_of_lead(target, softness, lead, step):
    """Return the cost of a step of a lead, in counts.

    With a softness, what the lead lacks has noise, uniform in -S..S: the expected cost, in 1 / 2S,
    is half the square of `near`, where the noise decides, plus 2S for each unit of `far` beyond.
    """
    if softness:
        lack = (lead + lead) * -1 + (target + softness)
        then = lack - (step + step)
        near, near_then = clipped(lack, softness), clipped(then, softness)
        far, far_then = larger(lack - 2 * softness, 0), larger(then - 2 * softness, 0)
        squares = (near_then * near_then >> 1) - (near * near >> 1)  # S makes all of them even
        cost = squares + (far_then - far) * (2 * softness)
    else:
        cost = behind(target, lead + step) - behind(target, lead)
    return cost


@inlined
def clipped(lanes, softness):
    """Return integers clipped to 0 and 2S."""
    return larger(larger(lanes, 0) * -1, -2 * softness) * -1


@inlined
def crossings(count, flip, spins, size):
    """Return the costs in the cone of a step up and a step down, where they change the sign."""
    zero = count * 0
    up = choose(~is_negative(count + size) ^ spins, flip, zero)
    down = choose(~is_negative(count - size) ^ spins, flip, zero)
    return up, down


@inlined
def soft_sign(softness, least, count):
    """Return the probability of +1 in 1 / 2S: pi + S, clipped to 0 and 2S."""
    return clipped(count + count + (least + softness), softness)


@inlined
def margin_steps(prices, least, count, size):
    """Return by how much a step up and a step down reduce the rewarded margin."""
    here = margin_of(prices.margin_cap, least, count)
    return (
        here - margin_of(prices.margin_cap, least, count + size),
        here - margin_of(prices.margin_cap, least, count - size),
    )
