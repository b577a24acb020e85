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
Weights of several arcs from inputs to one neuron are visited with it: they move its count by the
sum of the spins of their sources, a bundle.
A bias is the weight of a last arc whose source is always +1.

With a softness S the flips of a visited hidden neuron are evaluated as if noise, uniform in -S..S,
were added to its pre-activation: it is +1 with probability (pi + S) / 2S, clipped to 0 and 1. Those
of a visited output are evaluated as if such noise were added to its leads. Energies of such visits
are in 1 / 2S of the unit, and the change of the network's own energy is unknown.
"""

from typing import NamedTuple

import numpy as np

from qubonn.engines._forward_passes import cost_of_change, level_of, make_change
from qubonn.engines._forward_steps import (
    Visit,
    move,
    set_double_steps,
    shift,
    shift_by,
    sums_of_steps,
    weigh_flips,
)
from qubonn.engines.forward_tables import (
    BEGIN,
    FINE,
    FINISH,
    FIRST,
    FIRST_OWN,
    LAST,
    LEAST,
    NO_WEIGHT,
    PARAMETER,
    PROPOSE,
    SOURCE,
)
from qubonn.simd.compiling import inlined, kernel, part
from qubonn.simd.streams import next_thresholds
from qubonn.simd.vectors import choose, load, store, sum_of, widen

ZERO = np.uint64(0)
AHEAD = 4  # numbers whose sums are computed in one loop


class Scratch(NamedTuple):
    """Work arrays of one visit; or of several, with a first axis for them."""

    thresholds: np.ndarray  # of the proposals, in whole rows of lanes
    before: (
        np.ndarray
    )  # by block: activations of the neuron when its visit begins, then its changes
    flips: np.ndarray  # blocks x lanes
    gains: np.ndarray  # blocks x lanes
    falls: np.ndarray  # blocks x lanes
    outputs: np.ndarray  # outputs x lanes: counts after a change, in one block
    changed: np.ndarray  # by neuron: lanes in which its activation changes, in one block
    flip_costs: np.ndarray  # by parameter, in fine units; empty if flips are made


# ---- anneal ------------------------------------------------------------------------------------


@kernel
def anneal_replica(tables, task, replica, energy, schedule, scratch, shared, sums):
    """Make the visits of a schedule, and return the replica's energy.

    `tables` are wiring and cones, a task is examples and prices.

    A sweep has a turn for every neuron, or for several of a layer that are visited from the same
    state, then one for every one of the `shared` weights, which are None if there are none, so that
    their visits are not compiled. `sums` of bundles are (bundles * blocks) x lanes. Threads that
    share the neurons of a turn must end a phase together.
    If `flip_costs` is not empty, it is filled with the costs of all flips, in fine units, and
    nothing is flipped.
    """
    (wiring, cones), (examples, prices) = tables, task
    turns, phases = schedule.turns, schedule.phases
    turn_count, visit_count = len(turns) - 1, len(schedule.groups)
    for visit in range(schedule.first, schedule.last):
        if energy <= schedule.target:
            break
        sweep, place = visit // visit_count, visit % visit_count
        temperature = schedule.temperatures[sweep, schedule.groups[place]]
        if place < turn_count:
            first, last = turns[place], turns[place + 1]
            if phases & BEGIN:
                for number in range(first, last):
                    neuron, own = wiring.order[number], member_of(scratch, number - first)
                    draw_thresholds(wiring, prices, replica, neuron, temperature, own)
            if phases & PROPOSE:
                for number in range(first + schedule.rank, last, schedule.thread_count):
                    neuron, own = wiring.order[number], member_of(scratch, number - first)
                    energy += propose_own(tables, examples, sums, prices, replica, neuron, own)
            if phases & FINISH:
                count, rank = len(examples.is_real), schedule.rank
                own_blocks = (
                    rank * count // schedule.thread_count,
                    (rank + 1) * count // schedule.thread_count,
                )
                changed = member_of(scratch, rank).changed
                for number in range(first, last):
                    neuron, own = wiring.order[number], member_of(scratch, number - first)
                    if cones.starts[neuron] < cones.starts[neuron + 1]:
                        work = own.before, changed, own_blocks
                        make_change(wiring, cones, replica, neuron, NO_WEIGHT, *work)
                    if wiring.with_threshold[neuron] and not len(own.flip_costs):
                        energy += visit_with_threshold(
                            wiring, examples, sums, prices, replica, neuron, temperature, own
                        )
        elif shared is not None:
            own, owner = member_of(scratch, 0), place - turn_count + len(wiring.order)
            energy += visit_shared(
                wiring, cones, examples, prices, replica, owner, temperature, own
            )
    return energy


def new_scratch(wiring, replica, flip_costs, *members):
    """Return the work arrays of a visit; of several, if their number is given."""
    block_count, lane_count = replica.spins.shape[1], replica.counts.shape[1]
    lanes, kind = (block_count, lane_count), replica.counts.dtype
    most = max(
        np.diff(starts).max(initial=1)
        for starts in (wiring.neurons[:, FIRST_OWN], wiring.tied_starts)
    )

    def room(kind, *shape, members=members):
        return np.zeros((*members, *shape), dtype=kind)

    return Scratch(
        thresholds=room(np.float32, -(-most // lane_count) * lane_count),
        before=room(replica.spins.dtype, block_count),
        flips=room(kind, *lanes),
        gains=room(kind, *lanes),
        falls=room(kind, *lanes, members=members and (1,)),
        outputs=room(kind, wiring.output_count, lane_count),
        changed=room(replica.spins.dtype, len(wiring.order)),
        flip_costs=flip_costs,
    )


@inlined
def member_of(scratch, number):
    """Return the work arrays of one of several visits; only neurons without a cone use `falls`."""
    return Scratch(
        scratch.thresholds[number],
        scratch.before[number],
        scratch.flips[number],
        scratch.gains[number],
        scratch.falls[0],
        scratch.outputs[number],
        scratch.changed[number],
        scratch.flip_costs,
    )


@part
def draw_thresholds(wiring, prices, replica, neuron, temperature, scratch):
    """Draw the thresholds of a neuron's own proposals."""
    count = wiring.neurons[neuron + 1, FIRST_OWN] - wiring.neurons[neuron, FIRST_OWN]
    count += wiring.tied_starts[neuron + 1] - wiring.tied_starts[neuron]  # one of them is 0
    if prices.softness[neuron]:
        temperature *= 2 * prices.softness[neuron]
    if count:  # else all its parameters are known or shared
        next_thresholds(scratch.thresholds, count, replica.spins, replica.generator, temperature)


@part
def propose_own(tables, examples, sums, prices, replica, neuron, scratch):
    """Propose a neuron's own weights and its bias; return the change of energy.

    For a soft neuron the change is unknown, and 0 is returned. `before` is filled with the changes
    of its activations, which its cone does not know yet.
    """
    wiring, cones = tables
    tied = wiring.tied[wiring.tied_starts[neuron] : wiring.tied_starts[neuron + 1]]
    has_cone = cones.starts[neuron] < cones.starts[neuron + 1]
    spins, crossed = replica.spins[wiring.input_count + neuron], scratch.before
    for b in range(len(crossed)):
        crossed[b] = spins[b]
    own_count = wiring.neurons[neuron + 1, FIRST_OWN] - wiring.neurons[neuron, FIRST_OWN]
    total = 0
    if own_count + len(tied):
        if has_cone:
            cost_of_change(wiring, cones, examples, prices, replica, neuron, NO_WEIGHT, scratch)
        else:
            clear(scratch.flips, replica.spins)
        work = scratch.flips, scratch.gains
        visit = visit_of(wiring, examples, prices, replica, neuron, work)
        if has_cone:
            weigh_flips(visit)
        if len(tied):
            total = propose_tied(wiring, examples.pull, sums, prices, replica, visit, tied, scratch)
        else:
            shared = wiring.parallel, examples.pull, prices, replica, visit
            total = propose_all(*shared, scratch.thresholds, scratch.flip_costs)
        if visit.softness:  # sums of expected energies could overflow
            total = 0
    for b in range(len(crossed)):
        crossed[b] ^= spins[b]
    return total


@part
def visit_with_threshold(wiring, examples, sums, prices, replica, neuron, temperature, scratch):
    """Propose the weights of a neuron without a cone, each together with its threshold.

    Return the change of energy, 0 for a soft neuron. Not a part of `propose_own`, which would be
    compiled to slower code with it.
    """
    clear(scratch.flips, replica.spins)
    work = scratch.flips, scratch.gains
    visit = visit_of(wiring, examples, prices, replica, neuron, work)
    thresholds = scratch.thresholds
    if visit.softness:
        temperature *= 2 * visit.softness
    tied = wiring.tied[wiring.tied_starts[neuron] : wiring.tied_starts[neuron + 1]]
    count = len(visit.own) + len(tied)  # one of them is empty
    next_thresholds(thresholds, count, replica.spins, replica.generator, temperature)
    shared = examples.pull, prices, replica, visit, thresholds
    if len(tied):
        total = propose_tied_pairs(wiring, sums, tied, *shared)
    else:
        total = propose_pairs(wiring.parallel, *shared, scratch.falls)
    return 0 if visit.softness else total


@part
def propose_tied_pairs(wiring, sums, rows, pulls, prices, replica, visit, thresholds):
    """Propose each number of a neuron together with its threshold, both by one level.

    Of the four such moves the cheapest is proposed. Return the change of energy.
    """
    parallel, parameters, total = wiring.parallel, replica.parameters, 0
    scale = 2 * visit.softness if visit.softness else 1
    has_field = any_of(pulls)
    threshold = rows[0]
    for number in range(len(rows)):  # the longest of those from the constant
        row = rows[number]
        if row[SOURCE] >= wiring.first_constant and (
            threshold[SOURCE] < wiring.first_constant
            or row[LAST] - row[FIRST] > threshold[LAST] - threshold[FIRST]
        ):
            threshold = row
    bundle = threshold[SOURCE]
    step = wiring.bundle_starts[bundle + 1] - wiring.bundle_starts[bundle]
    for number in range(len(rows)):
        row = rows[number]
        if row[SOURCE] >= wiring.first_constant:
            continue
        decay = 4 * scale * prices.decay if row[FIRST] + 1 < row[LAST] else 0
        level = level_of(parallel, row, parameters) if decay else 0
        first = second = -1
        least, is_up, is_raised = 0, False, False
        for side in range(2):
            offset = step if side else -step
            climb, fall = sums_of_steps(prices, visit, sums, row[SOURCE], offset)
            for spin in range(2):
                up, raised = spin > 0, (spin > 0) == (side > 0)
                one, pull = best_flip(parallel, row, parameters, pulls, has_field, up)
                other, more = best_flip(parallel, threshold, parameters, pulls, has_field, raised)
                bend = decay * (1 + level if up else 1 - level)
                change = ((climb if up else fall) << FINE) + bend + scale * (pull + more)
                if one >= 0 and other >= 0 and (first < 0 or change < least):
                    first, second, least, is_up, is_raised = one, other, change, up, raised
        if first >= 0 and np.float32(least) <= thresholds[number]:
            total += least
            parameters[first], parameters[second] = ~parameters[first], ~parameters[second]
            shift_by(visit, sums, row[SOURCE], 1 if is_up else -1)
            shift_by(visit, sums, bundle, 1 if is_raised else -1)
    return total


@part
def propose_tied(wiring, pulls, sums, prices, replica, visit, rows, scratch):
    """Propose numbers one by one, each by the cheaper of a level up and a level down.

    Return the change of energy.
    """
    parallel, parameters, total = wiring.parallel, replica.parameters, 0
    thresholds, flip_costs = scratch.thresholds, scratch.flip_costs
    scale = 2 * visit.softness if visit.softness else 1
    has_field = any_of(pulls)
    for number in range(len(rows)):
        row = rows[number]
        is_levelled = row[FIRST] + 1 < row[LAST] and row[SOURCE] < wiring.first_constant
        decay = 4 * scale * prices.decay if is_levelled else 0
        level = level_of(parallel, row, parameters) if decay else 0
        climb, fall = sums_of_steps(prices, visit, sums, row[SOURCE], 0)
        climb = (climb << FINE) + decay * (1 + level)
        fall = (fall << FINE) + decay * (1 - level)
        if len(flip_costs):
            for place in range(row[FIRST], row[LAST]):
                pull = scale * pulls[parallel[place]]
                is_set = parameters[parallel[place]] != ZERO
                flip_costs[parallel[place]] = fall + pull if is_set else climb - pull
            continue
        costs = climb, fall
        flipped, change, is_up = cheaper_step(
            parallel, row, parameters, pulls, has_field, scale, costs
        )
        if np.float32(change) <= thresholds[number]:
            total += change
            parameters[flipped] = ~parameters[flipped]
            shift_by(visit, sums, row[SOURCE], 1 if is_up else -1)
    return total


@part
def cheaper_step(parallel, row, parameters, pulls, has_field, scale, costs):
    """Return the parameter of the cheaper of a level up and a level down, its cost, and if up.

    `costs` are those of both, up first, without the field.
    """
    raising, pull_up = best_flip(parallel, row, parameters, pulls, has_field, True)
    lowering, pull_down = best_flip(parallel, row, parameters, pulls, has_field, False)
    climb, fall = costs[0] + scale * pull_up, costs[1] + scale * pull_down
    is_up = lowering < 0 or (raising >= 0 and climb < fall)
    return raising if is_up else lowering, climb if is_up else fall, is_up


@inlined
def clear(lanes, spins):
    """Set all lanes, blocks x lanes, to 0."""
    zero = load(lanes, 0, spins) * 0
    for b in range(len(lanes)):
        store(lanes, b, zero)


@inlined
def visit_of(wiring, examples, prices, replica, neuron, work):
    """Return the visit of a neuron: views of the replica's arrays, and flips and gains."""
    block_count = replica.spins.shape[1]
    output = neuron - (len(wiring.order) - wiring.output_count)
    return Visit(
        own=wiring.own[wiring.neurons[neuron, FIRST_OWN] : wiring.neurons[neuron + 1, FIRST_OWN]],
        counts=replica.counts[neuron * block_count : (neuron + 1) * block_count],
        spins=replica.spins[wiring.input_count + neuron],
        flips=work[0],
        gains=work[1],
        outputs=replica.counts[(neuron - output) * block_count :],
        wanted=examples.wanted,
        is_real=examples.is_real,
        weights=examples.weights,
        output=output,
        least=wiring.neurons[neuron, LEAST],
        softness=prices.softness[neuron],
    )


@part
def propose_all(parallel, pulls, prices, replica, visit, thresholds, flip_costs):
    """Propose a neuron's own numbers one by one; return the change of energy.

    The sums over gains take most of the time, and most flips are refused: so those of a few numbers
    are computed ahead.
    """
    parameters, spins, own, gains = replica.parameters, replica.spins, visit.own, visit.gains
    blocks_per_sum, total = prices.blocks_per_sum, 0
    scale = 2 * visit.softness if visit.softness else 1
    decay, constant = scale * prices.decay, len(spins) - 1
    source, weight, flip_count, is_due = constant, ZERO, 0, True
    fall, climb, is_climb_known = 0, 0, False  # the sum of all gains
    rises, ahead = (0, 0, 0, 0), 0  # sums of this number and those that follow
    for number in range(len(own) + 1):
        if is_due:  # at first, and after a flip
            fall = move(prices, visit, spins[source], weight, flip_count > 0)
            is_due, is_climb_known, ahead = False, False, AHEAD
        if number == len(own):
            break
        if ahead == AHEAD:
            rises, ahead = sums_where(own, number, parameters, spins, gains, blocks_per_sum), 0
        rise = rises[ahead]
        ahead += 1
        source, parameter = own[number, SOURCE], own[number, PARAMETER]
        weight, pull = parameters[parameter], scale * pulls[parameter]
        change = ((fall + rise) << FINE) + (pull if weight else -pull)
        if own[number, FIRST] + 1 < own[number, LAST]:
            if not is_climb_known:
                climb = sum_where(spins, constant, ZERO, gains, blocks_per_sum)
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
            flip_count += 1
            is_due = True
    return total


@part
def propose_pairs(parallel, pulls, prices, replica, visit, thresholds, falls):
    """Propose each number of several levels together with the neuron's threshold.

    Both by one level: the count then moves by two where the source has one spin, and stays where it
    has the other. Of the four such moves the cheapest is proposed. Return the change of energy.
    """
    parameters, spins, own, climbs = replica.parameters, replica.spins, visit.own, visit.gains
    per_sum, total, constant = prices.blocks_per_sum, 0, len(spins) - 1
    scale = 2 * visit.softness if visit.softness else 1
    decay = scale * prices.decay
    threshold, has_field = own[0], any_of(pulls)
    for number in range(len(own)):
        if own[number, SOURCE] == constant:
            threshold = own[number]
    is_known, all_up, all_down = False, 0, 0
    lowering = raising = -1, 0  # the flips that move the threshold, and their costs in the field
    for number in range(len(own)):
        row = own[number]
        if row[SOURCE] == constant or row[FIRST] + 1 == row[LAST]:
            continue
        if not is_known:
            set_double_steps(prices, visit, climbs, falls)
            all_up = sum_where(spins, constant, ZERO, climbs, per_sum)
            all_down = sum_where(spins, constant, ZERO, falls, per_sum)
            for spin in range(2):
                lowering = raising
                raising = best_flip(parallel, threshold, parameters, pulls, has_field, spin > 0)
            is_known = True
        up = sum_where(spins, row[SOURCE], ZERO, climbs, per_sum)
        down = sum_where(spins, row[SOURCE], ZERO, falls, per_sum)
        level = level_of(parallel, row, parameters) if decay else 0
        first = second = -1
        least = 0
        for spin in range(2):
            is_up = spin > 0
            one, pull = best_flip(parallel, row, parameters, pulls, has_field, is_up)
            bend = 4 * decay * (1 + level if is_up else 1 - level)
            for other_spin in range(2):
                is_raised = other_spin > 0
                other, other_pull = raising if is_raised else lowering
                if one < 0 or other < 0:
                    continue
                if is_up == is_raised:
                    cost = up if is_up else down
                else:
                    cost = all_down - down if is_up else all_up - up
                change = (cost << FINE) + bend + scale * (pull + other_pull)
                if first < 0 or change < least:
                    first, second, least = one, other, change
        if first >= 0 and np.float32(least) <= thresholds[number]:
            total += least
            for source, parameter in ((row[SOURCE], first), (constant, second)):
                weight = parameters[parameter]
                shift(visit, spins[source], weight)
                parameters[parameter] = ~weight
            is_known = False
    return total


@part
def any_of(pulls):
    """Return whether a number is not 0."""
    found = False
    for pull in pulls:
        found |= pull != 0
    return found


@part
def best_flip(parallel, number, parameters, pulls, has_field, is_up):
    """Return the parameter that moves a number up, or down, at the least cost in the field.

    -1 if there is none. Without a field, all pulls are 0 and the first one is returned.
    """
    best, least = -1, 0
    for place in range(number[FIRST], number[LAST]):
        parameter = parallel[place]
        if (parameters[parameter] == ZERO) == is_up:
            cost = -pulls[parameter] if is_up else pulls[parameter]
            if best < 0 or cost < least:
                best, least = parameter, cost
            if not has_field:
                break
    return best, least


@inlined
def sums_where(own, number, parameters, spins, gains, blocks_per_sum):
    """Return the sums of AHEAD numbers, as `sum_where` does; after the last one of a repeated one.

    A term is negative, and turns positive, where weight and source differ.
    """
    second, third, fourth = number + 1, number + 2, number + 3
    if fourth >= len(own):
        second = second if second < len(own) else number
        third, fourth = third if third < len(own) else second, second
    one, two, three, four = own[number], own[second], own[third], own[fourth]
    a, b, c, d = one[SOURCE], two[SOURCE], three[SOURCE], four[SOURCE]
    weight_a, weight_b = parameters[one[PARAMETER]], parameters[two[PARAMETER]]
    weight_c, weight_d = parameters[three[PARAMETER]], parameters[four[PARAMETER]]
    zero = load(gains, 0, spins) * 0
    total_a = total_b = total_c = total_d = widen(zero)
    block_count = len(gains)
    for first in range(0, block_count, blocks_per_sum):
        part_a = part_b = part_c = part_d = zero
        last = first + blocks_per_sum
        if last > block_count:
            last = block_count
        for block in range(first, last):
            gain = load(gains, block, spins)
            part_a = part_a + choose(spins[a, block] ^ weight_a, gain, zero)
            part_b = part_b + choose(spins[b, block] ^ weight_b, gain, zero)
            part_c = part_c + choose(spins[c, block] ^ weight_c, gain, zero)
            part_d = part_d + choose(spins[d, block] ^ weight_d, gain, zero)
        total_a, total_b = total_a + widen(part_a), total_b + widen(part_b)
        total_c, total_d = total_c + widen(part_c), total_d + widen(part_d)
    return sum_of(total_a), sum_of(total_b), sum_of(total_c), sum_of(total_d)


@inlined
def sum_where(spins, source, weight, gains, blocks_per_sum):
    """Return the sum of the gains of all examples in which a source differs from a weight."""
    block_count = len(gains)
    zero = load(gains, 0, spins) * 0
    total = widen(zero)
    for first in range(0, block_count, blocks_per_sum):
        part = zero
        last = first + blocks_per_sum
        if last > block_count:  # `min` would be compiled by itself, which takes longer
            last = block_count
        for b in range(first, last):
            part = part + choose(spins[source, b] ^ weight, load(gains, b, spins), zero)
        total = total + widen(part)
    return sum_of(total)


@part
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


@part
def visit_shared(wiring, cones, examples, prices, replica, owner, temperature, scratch):
    """Propose a weight of several arcs, the owner of a cone; return the change of energy."""
    weight, spins = wiring.shared[owner - len(wiring.order)], replica.spins
    next_thresholds(scratch.thresholds, 1, spins, replica.generator, temperature)
    threshold = scratch.thresholds[0]
    cost_of_change(wiring, cones, examples, prices, replica, owner, weight, scratch)
    total = widen(load(scratch.flips, 0, spins) * 0)
    for b in range(spins.shape[1]):
        flips = load(scratch.flips, b, spins)
        total = total + widen(flips * load(examples.weights, b, spins))
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
    work = all_lanes, scratch.changed, (0, len(all_lanes))
    make_change(wiring, cones, replica, owner, weight, *work)
    replica.parameters[weight] = ~replica.parameters[weight]
    return change
