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
    FINE,
    FIRST,
    FIRST_OWN,
    LAST,
    LEAST,
    NO_WEIGHT,
    PARAMETER,
    SOURCE,
)
from qubonn.simd.compiling import inlined, kernel, part
from qubonn.simd.streams import next_thresholds
from qubonn.simd.team import Team, add_up, in_all, team_of
from qubonn.simd.vectors import choose, load, store, sum_of, widen

ZERO = np.uint64(0)
AHEAD = 4  # numbers whose sums are computed in one loop
MOST_AHEAD = 32  # of a team: the longer no flip is made, the less often its members wait


class Scratch(NamedTuple):
    """Work arrays of one visit."""

    thresholds: np.ndarray  # of the proposals, in whole rows of lanes
    before: np.ndarray  # by block: activations of the neuron when its visit begins
    flips: np.ndarray  # blocks x lanes
    gains: np.ndarray  # blocks x lanes
    falls: np.ndarray  # blocks x lanes
    outputs: np.ndarray  # outputs x lanes: counts after a change, in one block
    changed: np.ndarray  # by neuron: lanes in which its activation changes, in one block
    flip_costs: np.ndarray  # by parameter, in fine units; empty if flips are made
    team: Team  # which blocks this thread works on


# ---- anneal ------------------------------------------------------------------------------------


@kernel
def anneal_replica(tables, task, replica, energy, schedule, scratch, shared, sums):
    """Make the visits of a schedule, and return the replica's energy.

    `tables` are wiring and cones, a task is examples and prices.

    A sweep visits every neuron, then every one of the `shared` weights, which are None if there are
    none, so that their visits are not compiled. `sums` of bundles are (bundles * blocks) x lanes.
    If `flip_costs` is not empty, it is filled with the costs of all flips, in fine units, and
    nothing is flipped.
    """
    (wiring, cones), (examples, prices) = tables, task
    neuron_count = len(wiring.order)
    visit_count = len(schedule.groups)
    for visit in range(schedule.first, schedule.last):
        if energy <= schedule.target:
            break
        sweep, place = visit // visit_count, visit % visit_count
        temperature = schedule.temperatures[sweep, schedule.groups[place]]
        if place < neuron_count:
            neuron = wiring.order[place]
            energy += visit_neuron(
                tables, examples, sums, prices, replica, neuron, temperature, scratch
            )
            if wiring.with_threshold[neuron] and not len(scratch.flip_costs):
                energy += visit_with_threshold(
                    wiring, examples, sums, prices, replica, neuron, temperature, scratch
                )
        elif shared is not None:
            energy += visit_shared(
                wiring, cones, examples, prices, replica, place, temperature, scratch
            )
    return energy


def new_scratch(wiring, replica, flip_costs, team=None):
    """Return the work arrays of visits, by one thread unless it is a member of a team."""
    block_count, lane_count = replica.spins.shape[1], replica.counts.shape[1]
    lanes, kind = (block_count, lane_count), replica.counts.dtype
    most = max(
        np.diff(starts).max(initial=1)
        for starts in (wiring.neurons[:, FIRST_OWN], wiring.tied_starts)
    )
    return Scratch(
        thresholds=np.zeros(-(-most // lane_count) * lane_count, dtype=np.float32),
        before=np.zeros(block_count, dtype=replica.spins.dtype),
        flips=np.zeros(lanes, kind),
        gains=np.zeros(lanes, kind),
        falls=np.zeros(lanes, kind),
        outputs=np.zeros((wiring.output_count, lane_count), kind),
        changed=np.zeros(len(wiring.order), dtype=replica.spins.dtype),
        flip_costs=flip_costs,
        team=team_of(block_count, 1)[0] if team is None else team,
    )


@part
def visit_neuron(tables, examples, sums, prices, replica, neuron, temperature, scratch):
    """Propose a neuron's own weights and its bias; return the change of energy.

    For a soft neuron the change is unknown, and 0 is returned.
    """
    wiring, cones = tables
    tied = wiring.tied[wiring.tied_starts[neuron] : wiring.tied_starts[neuron + 1]]
    own_count = wiring.neurons[neuron + 1, FIRST_OWN] - wiring.neurons[neuron, FIRST_OWN]
    if own_count + len(tied) == 0:  # all its parameters are known or shared
        return 0
    has_cone = cones.starts[neuron] < cones.starts[neuron + 1]
    if has_cone:
        cost_of_change(wiring, cones, examples, prices, replica, neuron, NO_WEIGHT, scratch)
    else:
        clear(scratch.flips, replica.spins)
    work = scratch.flips, scratch.gains
    visit = visit_of(wiring, examples, prices, replica, neuron, work, scratch.team)
    if visit.softness:
        temperature *= 2 * visit.softness
    if has_cone:
        weigh_flips(visit)
    crossed, thresholds = scratch.before, scratch.thresholds
    first, last = scratch.team.first, scratch.team.last
    for b in range(first, last):
        crossed[b] = visit.spins[b]
    count = len(visit.own) + len(tied)  # one of them is empty
    next_thresholds(thresholds, count, replica.spins, replica.generator, temperature)
    shared = wiring.parallel, examples.pull, prices, replica, visit
    if len(tied):
        total = propose_tied(wiring, examples.pull, sums, prices, replica, visit, tied, scratch)
    else:
        total = propose_all(*shared, thresholds, scratch.flip_costs)
    if has_cone:
        for b in range(first, last):
            crossed[b] ^= visit.spins[b]
        make_change(wiring, cones, replica, neuron, NO_WEIGHT, crossed, scratch)
    return 0 if visit.softness else total  # sums of expected energies could overflow


@part
def visit_with_threshold(wiring, examples, sums, prices, replica, neuron, temperature, scratch):
    """Propose the weights of a neuron without a cone, each together with its threshold.

    Return the change of energy, 0 for a soft neuron. Not a part of `visit_neuron`, which would be
    compiled to slower code with it.
    """
    clear(scratch.flips, replica.spins)
    work = scratch.flips, scratch.gains
    visit = visit_of(wiring, examples, prices, replica, neuron, work, scratch.team)
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
def visit_of(wiring, examples, prices, replica, neuron, work, team):
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
        team=team,
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
    fall = 0  # the cost of a step down in all examples
    climb, is_climb_known = 0, False  # the sum of all gains
    team, first, ahead = visit.team, 0, 0  # numbers whose sums are known until the next flip
    for number in range(len(own) + 1):
        if is_due:  # at first, and after a flip
            team.sums[0] = move(prices, visit, spins[source], weight, flip_count > 0)
            is_climb_known = False
        if number == len(own):
            break
        if is_due or number == first + ahead:
            ahead = next_ahead(team, ahead, is_due)
            first, last = number, number + ahead
            if last > len(own):  # `min` would be compiled by itself, which takes longer
                last = len(own)
            for start in range(first, last, AHEAD):
                set_sums(start, first, parameters, spins, own, visit, blocks_per_sum)
            add_up(team, last - first + 1)
            if is_due:
                fall = team.sums[0]
            is_due = False
        source, parameter = own[number, SOURCE], own[number, PARAMETER]
        weight, pull = parameters[parameter], scale * pulls[parameter]
        rise = team.sums[number - first + 1]
        change = ((fall + rise) << FINE) + (pull if weight else -pull)
        if own[number, FIRST] + 1 < own[number, LAST]:
            if not is_climb_known:
                climb = sum_where(visit.team, spins, constant, ZERO, gains, blocks_per_sum)
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
            all_up = sum_where(visit.team, spins, constant, ZERO, climbs, per_sum)
            all_down = sum_where(visit.team, spins, constant, ZERO, falls, per_sum)
            for spin in range(2):
                lowering = raising
                raising = best_flip(parallel, threshold, parameters, pulls, has_field, spin > 0)
            is_known = True
        up = sum_where(visit.team, spins, row[SOURCE], ZERO, climbs, per_sum)
        down = sum_where(visit.team, spins, row[SOURCE], ZERO, falls, per_sum)
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
def next_ahead(team, ahead, is_due):
    """Return for how many numbers sums are computed ahead: for few if flips are frequent."""
    if is_due or len(team.lines) == 2:
        return AHEAD
    team.sums[0] = 0
    return ahead if ahead == MOST_AHEAD else 2 * ahead


@inlined
def set_sums(start, first, parameters, spins, own, visit, blocks_per_sum):
    """Set sums as `sum_where` does, of AHEAD numbers from `start` on; the first has place 1.

    They are of this member's examples only. After the last number they are of a repeated one.
    """
    second, third, fourth = start + 1, start + 2, start + 3
    if fourth >= len(own):
        second = second if second < len(own) else start
        third, fourth = third if third < len(own) else second, second
    one, two, three, four = own[start], own[second], own[third], own[fourth]
    a, b, c, d = one[SOURCE], two[SOURCE], three[SOURCE], four[SOURCE]
    gains, team, place = visit.gains, visit.team, start - first
    zero = load(gains, 0, spins) * 0
    total_a = total_b = total_c = total_d = widen(zero)
    weight_a, weight_b = parameters[one[PARAMETER]], parameters[two[PARAMETER]]
    weight_c, weight_d = parameters[three[PARAMETER]], parameters[four[PARAMETER]]
    for begin in range(team.first, team.last, blocks_per_sum):
        part_a = part_b = part_c = part_d = zero
        end = begin + blocks_per_sum
        if end > team.last:
            end = team.last
        for block in range(begin, end):
            gain = load(gains, block, spins)
            part_a = part_a + choose(spins[a, block] ^ weight_a, gain, zero)
            part_b = part_b + choose(spins[b, block] ^ weight_b, gain, zero)
            part_c = part_c + choose(spins[c, block] ^ weight_c, gain, zero)
            part_d = part_d + choose(spins[d, block] ^ weight_d, gain, zero)
        total_a, total_b = total_a + widen(part_a), total_b + widen(part_b)
        total_c, total_d = total_c + widen(part_c), total_d + widen(part_d)
    team.sums[place + 1], team.sums[place + 2] = sum_of(total_a), sum_of(total_b)
    team.sums[place + 3], team.sums[place + 4] = sum_of(total_c), sum_of(total_d)


@inlined
def sum_where(team, spins, source, weight, gains, blocks_per_sum):
    """Return the sum of the gains of all examples in which a source differs from a weight."""
    zero = load(gains, 0, spins) * 0
    total = widen(zero)
    for first in range(team.first, team.last, blocks_per_sum):
        part = zero
        last = first + blocks_per_sum
        if last > team.last:  # `min` would be compiled by itself, which takes longer
            last = team.last
        for b in range(first, last):
            part = part + choose(spins[source, b] ^ weight, load(gains, b, spins), zero)
        total = total + widen(part)
    return in_all(team, sum_of(total))


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
    for b in range(scratch.team.first, scratch.team.last):
        flips = load(scratch.flips, b, spins)
        total = total + widen(flips * load(examples.weights, b, spins))
    pull = examples.pull[weight]
    rise = in_all(scratch.team, sum_of(total))
    change = (rise << FINE) + (pull if replica.parameters[weight] else -pull)
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
    make_change(wiring, cones, replica, owner, weight, all_lanes, scratch)
    replica.parameters[weight] = ~replica.parameters[weight]
    return change
