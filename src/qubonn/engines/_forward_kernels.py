"""Numba kernels of the forward view: examples in lanes, one replica at a time on a thread.

Wiring, examples, a replica (parameters, counts, activations, random stream), a course of
temperatures -> the replica, in place, and its energy.

A count is rho - t: positive terms of a pre-activation beyond the least number that makes it
positive, so a neuron is +1 exactly if its count is >= 0. A flipped weight moves the count of its
neuron by one up or down in every example. So a neuron is visited with all the weights that no other
arc shares: `flips` say what a change of its sign costs downstream in each example, `gains` what a
step up of its count costs more than a step down, and a proposal is no more than a sum of gains over
the examples that would step up. An accepted flip touches this neuron only; its cone, the neurons
that hear of it, is brought up to date when the visit ends. A weight of several arcs has a visit of
its own: the change runs through its cone once to be judged and once more to be made.
A bias is the weight of a last arc whose source is always +1.

With a softness S a visited hidden neuron is judged as if noise, uniform in -S..S, were added to its
pre-activation: it is +1 with chance (pi + S) / 2S, cut off at 0 and 1. Energies of such visits are
counted in 1 / 2S of the unit, and what the network's own energy changes by is not known.

Numba hands over every array of a tuple one by one, so what is called often takes few arrays.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from qubonn.engines._tile_kernels import count_disagreements
from qubonn.simd.streams import draw_thresholds
from qubonn.simd.vectors import choose, is_negative, larger, load, store, sum_of, widen

FINE = 16  # energies are kept in 2**-16 of the lanes' unit
NO_WEIGHT = -1

# columns of tables
SOURCE, PARAMETER = 0, 1  # of arcs
FIRST_ARC, FIRST_OWN, FIRST_INNER, NEEDED, LEAST = 0, 1, 2, 3, 4  # of neurons
NEURON, IS_DEEP, ARCS_START, ARCS_END = 0, 1, 2, 3  # of cones


class Wiring(NamedTuple):
    """Who hears whom; tables of integers."""

    input_count: int
    output_count: int  # the last neurons are the outputs
    arcs: np.ndarray  # by target, its bias last: source, parameter. A source is a node; after all
    # nodes comes the constant. Parameters are weights, then biases.
    neurons: np.ndarray  # first arc, first own, first inner arc; terms needed; pi at count 0
    own: np.ndarray  # by target, in any order: arcs whose weight has no other arc
    inner: np.ndarray  # by target: arcs from neurons
    order: np.ndarray  # neurons in the order of a forward pass
    shared: np.ndarray  # weights with several arcs
    row_of: np.ndarray  # by neuron: its row in `heard`; -1 where its arcs are counted one by one
    heard: np.ndarray  # neurons that hear many inputs, once each x words: a bit for each such input


class Cones(NamedTuple):
    """The neurons that hear of a change at each owner, in the order of a forward pass."""

    starts: np.ndarray  # of each owner's rows in `table`
    table: np.ndarray  # neuron; whether it hears through others: look at all its inner arcs; where
    # in `arcs` are those that come straight from the change
    arcs: np.ndarray


class Examples(NamedTuple):
    """The examples as masks over blocks of lanes."""

    wanted: np.ndarray  # outputs x blocks: bit k is set where example k wants +1
    is_real: np.ndarray  # by block: the lanes that hold an example
    pull: np.ndarray  # by parameter: twice the field, in 2**-FINE of the unit


class Prices(NamedTuple):
    """What things cost, in whole multiples of a unit."""

    margin: int  # reward of one unit of a hidden pre-activation
    margin_cap: int
    violation: int  # of one missing term; of half of one with pairwise outputs
    target_margin: int
    is_pairwise: bool
    softness: np.ndarray  # by neuron; 0: its sign as it is
    span: int  # blocks whose gains a lane can add up without overflow


class Replica(NamedTuple):
    """One network and what follows from it; with a first axis over replicas, all of them."""

    parameters: np.ndarray  # all bits set where the weight or bias is +1
    counts: np.ndarray  # (neurons * blocks) x lanes
    spins: np.ndarray  # (nodes + 1) x blocks: inputs, neurons, then a row with all bits set
    generator: np.ndarray


class Course(NamedTuple):
    """Which visits to make, how hot; a replica at or below the target rests."""

    temperatures: np.ndarray  # sweeps x groups
    groups: np.ndarray  # of each visit of a sweep
    first: int
    last: int
    target: int


class Scratch(NamedTuple):
    """What a visit needs for a while."""

    flips: np.ndarray  # blocks x lanes
    gains: np.ndarray  # blocks x lanes
    outputs: np.ndarray  # outputs x lanes: counts as they would be
    changed: np.ndarray  # by neuron: lanes in which its activation changes, in one block


# ---- anneal ------------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def anneal_replica(wiring, cones, shared_cones, examples, prices, replica, energy, course, changes):
    """Advance a replica from visit to visit, and return its energy.

    A sweep visits every neuron, then every shared weight. Where `changes` has room for what the
    flip of every parameter costs, in fine units, it is filled and nothing is flipped.
    """
    neuron_count = len(wiring.order)
    visit_count = neuron_count + len(wiring.shared)
    scratch = new_scratch(wiring, examples, replica)
    for visit in range(course.first, course.last):
        if energy <= course.target:
            break
        sweep, place = visit // visit_count, visit % visit_count
        temperature = course.temperatures[sweep, course.groups[place]]
        if place < neuron_count:
            neuron = wiring.order[place]
            energy += visit_neuron(
                wiring, cones, examples, prices, replica, neuron, temperature, scratch, changes
            )
        else:
            number = place - neuron_count
            energy += visit_shared(
                wiring,
                shared_cones,
                examples,
                prices,
                replica,
                number,
                temperature,
                scratch,
                changes,
            )
    return energy


@njit(cache=True)
def new_scratch(wiring, examples, replica):
    """Return room for a visit."""
    block_count, lane_count = replica.spins.shape[1], replica.counts.shape[1]
    return Scratch(
        np.zeros((block_count, lane_count), dtype=replica.counts.dtype),
        np.zeros((block_count, lane_count), dtype=replica.counts.dtype),
        np.zeros((len(examples.wanted), lane_count), dtype=replica.counts.dtype),
        np.zeros(len(wiring.order), dtype=replica.spins.dtype),
    )


@njit(cache=True)
def visit_neuron(wiring, cones, examples, prices, replica, neuron, temperature, scratch, changes):
    """Propose every weight of a neuron's own, and its bias; return the change of energy.

    Of a soft neuron the change is not known, and 0 is returned.
    """
    first, last = wiring.neurons[neuron, FIRST_OWN], wiring.neurons[neuron + 1, FIRST_OWN]
    has_cone = cones.starts[neuron] < cones.starts[neuron + 1]
    if has_cone:
        all_lanes = replica.spins[len(replica.spins) - 1]
        spread(
            wiring, cones, examples, prices, replica, neuron, NO_WEIGHT, all_lanes, False, scratch
        )
    else:
        scratch.flips[:] = 0
    block_count, own_spins = replica.spins.shape[1], replica.spins[wiring.input_count + neuron]
    output = neuron - (len(wiring.order) - wiring.output_count)
    softness = prices.softness[neuron]
    if softness:
        temperature *= 2 * softness
        turn_to_pushes(own_spins, scratch.flips)
    before = own_spins.copy()
    total = propose_all(
        wiring.own[first:last],
        wiring.arcs,
        examples.pull,
        prices,
        replica.parameters,
        replica.spins,
        replica.counts[neuron * block_count : (neuron + 1) * block_count],
        replica.counts[(neuron - output) * block_count :],
        own_spins,
        examples.wanted,
        examples.is_real,
        output,
        wiring.neurons[neuron, LEAST],
        softness,
        next_thresholds(last - first, replica.spins, replica.generator, temperature),
        scratch.flips,
        scratch.gains,
        changes,
    )
    if has_cone:
        crossed = before ^ own_spins
        spread(wiring, cones, examples, prices, replica, neuron, NO_WEIGHT, crossed, True, scratch)
    return 0 if softness else total  # a sum of expected energies may grow beyond all bounds


@njit(cache=True)
def propose_all(
    own,
    arcs,
    pulls,
    prices,
    parameters,
    spins,
    counts,
    outputs,
    own_spins,
    wanted,
    is_real,
    output,
    least,
    softness,
    thresholds,
    flips,
    gains,
    changes,
):
    """Propose the weights of the arcs `own` one by one; return the change of energy.

    The sum over gains stands here in full: it is the loop in which the time is spent.
    """
    block_count, span, total = len(gains), prices.span, 0
    zero = load(gains, 0, spins) * 0
    fall = move(
        prices,
        output,
        least,
        softness,
        own_spins,
        own_spins[0],
        False,
        counts,
        outputs,
        own_spins,
        wanted,
        is_real,
        flips,
        gains,
    )
    for number in range(len(own)):
        source, parameter = arcs[own[number], SOURCE], arcs[own[number], PARAMETER]
        weight, pull = parameters[parameter], pulls[parameter]
        if softness:
            pull *= 2 * softness
        rise = widen(zero)  # gains of the examples in which the count goes up when the weight flips
        for first in range(0, block_count, span):
            part = zero
            for b in range(first, min(first + span, block_count)):
                # the term is negative, and turns positive, where weight and source differ
                part = part + choose(spins[source, b] ^ weight, load(gains, b, spins), zero)
            rise = rise + widen(part)
        change = ((fall + sum_of(rise)) << FINE) + (pull if weight else -pull)
        if len(changes):
            changes[parameter] = change
        elif np.float32(change) <= thresholds[number]:
            total += change
            parameters[parameter] = ~weight
            fall = move(
                prices,
                output,
                least,
                softness,
                spins[source],
                weight,
                True,
                counts,
                outputs,
                own_spins,
                wanted,
                is_real,
                flips,
                gains,
            )
    return total


@njit(cache=True)
def visit_shared(wiring, cones, examples, prices, replica, number, temperature, scratch, changes):
    """Propose a weight of several arcs; return the change of energy."""
    weight, spins = wiring.shared[number], replica.spins
    threshold = next_thresholds(1, spins, replica.generator, temperature)[0]
    all_lanes = spins[len(spins) - 1]
    spread(wiring, cones, examples, prices, replica, number, weight, all_lanes, False, scratch)
    zero = load(scratch.flips, 0, spins) * 0
    total = widen(zero)
    for b in range(spins.shape[1]):
        total = total + widen(choose(examples.is_real[b], load(scratch.flips, b, spins), zero))
    pull = examples.pull[weight]
    change = (sum_of(total) << FINE) + (pull if replica.parameters[weight] else -pull)
    if len(changes):
        changes[weight] = change
        return 0
    if np.float32(change) > threshold:
        return 0
    spread(wiring, cones, examples, prices, replica, number, weight, all_lanes, True, scratch)
    replica.parameters[weight] = ~replica.parameters[weight]
    return change


@njit(cache=True)
def next_thresholds(count, states, generator, temperature):
    """Draw so many thresholds from the replica's stream; whole rows of lanes are used up."""
    lane_count = generator.shape[1]
    thresholds = np.empty((-(-count // lane_count), lane_count), dtype=np.float32)
    draw_thresholds(thresholds, states, generator, temperature)
    return thresholds.reshape(-1)


# ---- what a flip of a neuron's own weight costs ------------------------------------------------


@njit(inline="always")
def move(
    prices,
    output,
    least,
    softness,
    sources,
    weight,
    is_flipped,
    counts,
    outputs,
    own_spins,
    wanted,
    is_real,
    flips,
    gains,
):
    """Move a neuron's counts if `weight` is flipped, then fill its `gains`.

    Returns what steps down cost in all examples together.
    """
    if softness:
        fall = move_soft(
            prices,
            least,
            softness,
            sources,
            weight,
            is_flipped,
            counts,
            own_spins,
            is_real,
            flips,
            gains,
        )
    elif output < 0:
        fall = move_hidden(
            prices, least, sources, weight, is_flipped, counts, own_spins, is_real, flips, gains
        )
    else:
        if is_flipped:
            move_output(sources, weight, counts, own_spins, flips)
        fall = set_output_gains(
            prices, output, counts, outputs, own_spins, wanted, is_real, flips, gains
        )
    return fall


@njit(cache=True)
def move_hidden(
    prices, least, sources, weight, is_flipped, counts, own_spins, is_real, flips, gains
):
    """Move a hidden neuron's counts if `weight` is flipped, then fill its `gains`.

    Returns what steps down cost in all examples together: in the cone, and in margin.
    """
    zero = load(gains, 0, own_spins) * 0
    one = zero + 1
    total = widen(zero)
    for b in range(len(gains)):
        count, flip = load(counts, b, own_spins), load(flips, b, own_spins)
        if is_flipped:
            count = count + choose(sources[b] ^ weight, one, one * -1)
            store(counts, b, count)
            now = ~is_negative(count)
            flip = choose(now ^ own_spins[b], flip * -1, flip)  # the way back costs the opposite
            store(flips, b, flip)
            own_spins[b] = now
        up, down = crossings(count, flip, own_spins[b], zero)
        if prices.margin:
            up_margin, down_margin = margin_steps(prices, least, count)
            up, down = up + up_margin * prices.margin, down + down_margin * prices.margin
        store(gains, b, choose(is_real[b], up - down, zero))
        total = total + widen(choose(is_real[b], down, zero))
    return sum_of(total)


@njit(cache=True)
def turn_to_pushes(own_spins, flips):
    """Turn what a change of sign costs into what a +1 costs more than a -1."""
    for b in range(len(flips)):
        flip = load(flips, b, own_spins)
        store(flips, b, choose(own_spins[b], flip * -1, flip))


@njit(cache=True)
def move_soft(
    prices, least, softness, sources, weight, is_flipped, counts, own_spins, is_real, pushes, gains
):
    """Move a soft neuron's counts if `weight` is flipped, then fill its `gains`, in 1 / 2S.

    `pushes` say what a +1 costs more than a -1. Returns what steps down cost in all examples
    together.
    """
    zero = load(gains, 0, own_spins) * 0
    one = zero + 1
    margin = prices.margin * 2 * softness
    total = widen(zero)
    for b in range(len(gains)):
        count, push = load(counts, b, own_spins), load(pushes, b, own_spins)
        if is_flipped:
            count = count + choose(sources[b] ^ weight, one, one * -1)
            store(counts, b, count)
            own_spins[b] = ~is_negative(count)
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
def move_output(sources, weight, counts, own_spins, flips):
    """Move an output's counts when `weight` flips; its activations follow."""
    for b in range(len(flips)):
        flip = load(flips, b, own_spins)
        one = flip * 0 + 1
        count = load(counts, b, own_spins) + choose(sources[b] ^ weight, one, one * -1)
        store(counts, b, count)
        now = ~is_negative(count)
        store(flips, b, choose(now ^ own_spins[b], flip * -1, flip))
        own_spins[b] = now


@njit(cache=True)
def set_output_gains(prices, output, counts, outputs, own_spins, wanted, is_real, flips, gains):
    """Fill `gains` for an output; return what steps down cost in all examples together."""
    if prices.is_pairwise:
        return set_pairwise_gains(prices, output, outputs, wanted, is_real, gains)
    zero = load(gains, 0, own_spins) * 0
    total = widen(zero)
    for b in range(len(gains)):
        count, flip = load(counts, b, own_spins), load(flips, b, own_spins)
        up, down = crossings(count, flip, own_spins[b], zero)
        here = missing(wanted[output, b], count)
        up = up + (missing(wanted[output, b], count + 1) - here) * prices.violation
        down = down + (missing(wanted[output, b], count - 1) - here) * prices.violation
        store(gains, b, choose(is_real[b], up - down, zero))
        total = total + widen(choose(is_real[b], down, zero))
    return sum_of(total)


@njit(cache=True)
def set_pairwise_gains(prices, output, outputs, wanted, is_real, gains):
    """Fill `gains` for a pairwise output; nobody hears of it."""
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
        if wanted[output, b]:  # where the right class moves, its lead over all others does
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
    """Return what a step up and a step down cost in the cone, where they change the sign."""
    # a step up crosses where the count is -1, a step down where it is 0
    up = choose(~is_negative(count + 1) & ~spins, flip, zero)
    down = choose(spins & is_negative(count - 1), flip, zero)
    return up, down


@njit(inline="always")
def soft_sign(softness, least, count):
    """Return the chance of +1 in 1 / 2S: pi + S, but no less than 0 and no more than 2S."""
    sums = count + count + (least + softness)
    return larger(larger(sums, 0) * -1, -2 * softness) * -1


@njit(inline="always")
def missing(wanted, count):
    """Return how many terms an output needs more, or has too many: 0 where it is right."""
    return larger(choose(wanted, count * -1, count + 1), 0)


@njit(inline="always")
def behind(prices, lead):
    """Return by how much a lead of the right class, in counts, is too small: target - 2 * lead."""
    return larger((lead + lead) * -1 + prices.target_margin, 0)


@njit(inline="always")
def margin_steps(prices, least, count):
    """Return how much of a rewarded margin a step up and a step down lose."""
    here = margin_of(prices, least, count)
    return (
        here - margin_of(prices, least, count + 1),
        here - margin_of(prices, least, count - 1),
    )


@njit(inline="always")
def margin_of(prices, least, count):
    """Return what is rewarded of a hidden neuron: |pi| up to the cap, pi = 2 * count + least."""
    sums = count + count + least
    return larger(larger(sums, sums * -1) * -1, -prices.margin_cap) * -1


# ---- changes run through a cone ----------------------------------------------------------------


@njit(cache=True)
def spread(wiring, cones, examples, prices, replica, owner, weight, crossed, is_final, scratch):
    """Run a change through the cone of its owner; make it, or fill `flips` with what it would cost.

    The change is a new sign of a neuron in the examples `crossed`, or a flip of `weight` in all.
    Arrays are taken out of their tuples once: in a loop that would cost more than the work.
    """
    arcs, neurons, inner, input_count = (
        wiring.arcs,
        wiring.neurons,
        wiring.inner,
        wiring.input_count,
    )
    table, cone_arcs, wanted = cones.table, cones.arcs, examples.wanted
    parameters, spins, counts = replica.parameters, replica.spins, replica.counts
    flips, outputs, changed = scratch.flips, scratch.outputs, scratch.changed
    start, end = cones.starts[owner], cones.starts[owner + 1]
    block_count, output_count = spins.shape[1], len(wanted)
    first_output = len(neurons) - 1 - output_count
    zero = load(flips, 0, spins) * 0
    one = zero + 1
    for b in range(block_count):
        if crossed[b] == 0:
            continue
        total = zero
        if prices.is_pairwise and not is_final:
            for c in range(output_count):
                store(outputs, c, load(counts, (first_output + c) * block_count + b, spins))
        if weight == NO_WEIGHT:
            changed[owner] = crossed[b]
        for entry in range(start, end):
            neuron = table[entry, NEURON]
            place, row = neuron * block_count + b, input_count + neuron
            before = load(counts, place, spins)
            after = before
            for listed in range(table[entry, ARCS_START], table[entry, ARCS_END]):
                source = arcs[cone_arcs[listed], SOURCE]
                parameter = parameters[arcs[cone_arcs[listed], PARAMETER]]
                was = spins[source, b]  # of a final change the source has made it already
                if is_final and weight == NO_WEIGHT:
                    was = was ^ crossed[b]
                after = after + choose(crossed[b], choose(was ^ parameter, one, one * -1), zero)
            if table[entry, IS_DEEP]:
                for listed in range(neurons[neuron, FIRST_INNER], neurons[neuron + 1, FIRST_INNER]):
                    source = arcs[inner[listed], SOURCE]
                    turned = changed[source - input_count]
                    was = spins[source, b]
                    if is_final:
                        was = was ^ turned
                    if arcs[inner[listed], PARAMETER] == weight:
                        turned = ~turned  # both factors of the term change, or only this one
                    if turned:
                        parameter = parameters[arcs[inner[listed], PARAMETER]]
                        after = after + choose(turned, choose(was ^ parameter, one, one * -1), zero)
            now = ~is_negative(after)
            changed[neuron] = now ^ spins[row, b]
            if is_final:
                store(counts, place, after)
                spins[row, b] = now
            elif neuron < first_output:
                if prices.margin:
                    least = neurons[neuron, LEAST]
                    less = margin_of(prices, least, before) - margin_of(prices, least, after)
                    total = total + less * prices.margin
            elif prices.is_pairwise:
                store(outputs, neuron - first_output, after)
            else:
                want = wanted[neuron - first_output, b]
                total = total + (missing(want, after) - missing(want, before)) * prices.violation
        for entry in range(start, end):
            changed[table[entry, NEURON]] = 0
        if prices.is_pairwise and not is_final:
            right, right_then, lack = zero, zero, zero
            for c in range(output_count):
                count = load(counts, (first_output + c) * block_count + b, spins)
                right = right + choose(wanted[c, b], count, zero)
                right_then = right_then + choose(wanted[c, b], load(outputs, c, spins), zero)
            for c in range(output_count):
                count = load(counts, (first_output + c) * block_count + b, spins)
                then = behind(prices, right_then - load(outputs, c, spins))
                more = then - behind(prices, right - count)
                lack = lack + choose(wanted[c, b], zero, more)
            total = total + lack * prices.violation
        if not is_final:
            store(flips, b, total)
    if weight == NO_WEIGHT:
        changed[owner] = 0


# ---- from scratch ------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def run_forward(wiring, tiles, replica):
    """Fill counts and activations of a replica from its parameters and the inputs in `tiles`."""
    arcs, neurons, spins, counts = wiring.arcs, wiring.neurons, replica.spins, replica.counts
    input_count, block_count = wiring.input_count, replica.spins.shape[1]
    weights = np.zeros(tiles.shape[1], dtype=np.uint64)
    differing = np.zeros(counts.shape[1], dtype=np.uint64)
    for neuron in wiring.order:
        first, last = neurons[neuron, FIRST_ARC], neurons[neuron + 1, FIRST_ARC]
        row = wiring.row_of[neuron]
        read = 0  # terms that are counted word by word
        if row >= 0:
            read = pack_weights(arcs[first:last], replica.parameters, input_count, weights)
        for b in range(block_count):
            place = neuron * block_count + b
            if row >= 0:
                count_disagreements(tiles, b, weights, wiring.heard[row], differing)
                for lane in range(counts.shape[1]):
                    counts[place, lane] = -np.int64(differing[lane])
            else:
                counts[place] = 0
            zero = load(counts, place, spins) * 0
            count = load(counts, place, spins) + (read - neurons[neuron, NEEDED])
            for arc in range(first, last):
                source = arcs[arc, SOURCE]
                if row < 0 or source >= input_count:
                    parameter = replica.parameters[arcs[arc, PARAMETER]]
                    count = count + choose(spins[source, b] ^ parameter, zero, zero + 1)
            store(counts, place, count)
            spins[input_count + neuron, b] = ~is_negative(count)


@njit(cache=True)
def pack_weights(arcs, parameters, input_count, weights):
    """Set the bits of the inputs whose weight is +1; return how many inputs there are."""
    weights[:] = 0
    count = 0
    for arc in range(len(arcs)):
        source = arcs[arc, SOURCE]
        if source < input_count:
            count += 1
            bit = np.uint64(1) << np.uint64(source % 64)
            weights[source // 64] |= parameters[arcs[arc, PARAMETER]] & bit
    return count


@njit(cache=True, nogil=True)
def energy_of(wiring, examples, prices, replica):
    """Add up the energy of a replica, in fine units, from its counts and parameters."""
    spins, wanted, counts = replica.spins, examples.wanted, replica.counts
    block_count, first_output = spins.shape[1], len(wiring.order) - len(wanted)
    violations, margins, pulls = 0, 0, 0
    for b in range(block_count):
        real = examples.is_real[b]
        zero = load(counts, b, spins) * 0
        right = zero
        for c in range(len(wanted)):
            count = load(counts, (first_output + c) * block_count + b, spins)
            right = right + choose(wanted[c, b], count, zero)
        for neuron in range(len(wiring.order)):
            count = load(counts, neuron * block_count + b, spins)
            output = neuron - first_output
            if output < 0:
                margin = margin_of(prices, wiring.neurons[neuron, LEAST], count)
                margins += sum_of(choose(real, margin, zero))
            elif prices.is_pairwise:
                lack = choose(wanted[output, b], zero, behind(prices, right - count))
                violations += sum_of(choose(real, lack, zero))
            else:
                violations += sum_of(choose(real, missing(wanted[output, b], count), zero))
    for parameter in range(len(replica.parameters)):
        # half of what a flip costs: plus where it is -1, minus where it is +1
        pull = examples.pull[parameter] >> 1
        pulls += -pull if replica.parameters[parameter] else pull
    return ((violations * prices.violation - margins * prices.margin) << FINE) + pulls
