"""Numba kernels of soft credit: groups of neurons are visited with the pushes that reach them.

Wiring, credit, examples, a replica and its pushes, a schedule of visits -> the replica, in place.

A group is one neuron with its own weights, or all neurons that share weights: then the cost of a
proposal is a sum over examples and over the arcs of a weight. All sums are integers. A change of
signs is carried on through the arcs that leave the neurons, after the visit.
"""

import numpy as np

from qubonn.engines._credit_passes import carry_on, receive, refresh, refresh_few
from qubonn.engines._forward_kernels import (
    any_of,
    cheaper_step,
    clear,
    propose_all,
    sum_where,
    visit_of,
    visit_with_threshold,
)
from qubonn.engines._forward_passes import level_of
from qubonn.engines._forward_steps import move_soft
from qubonn.engines.forward_tables import FINE, FIRST, LAST
from qubonn.simd.compiling import kernel, part
from qubonn.simd.streams import next_thresholds

ZERO = np.uint64(0)
MEMBER, SOURCE = 0, 1  # columns of `Credit.places`


@kernel
def anneal_by_credit(tables, task, of_hidden, widths, state, schedule, scratch):
    """Make the visits of a schedule; a sweep visits every group.

    `tables` are wiring and credit, a state is a replica, its pushes and room for few examples. A
    task is examples and prices; visits of hidden neurons have their own, in finer units. `widths`
    are the numbers of parts of a unit in which visits are evaluated, by neuron.

    If `flip_costs` is not empty, it is filled with the costs of all flips, in fine units times the
    neuron's width, and nothing is flipped.
    """
    wiring, credit = tables
    visit_count, first_output = len(schedule.groups), len(wiring.order) - wiring.output_count
    for visit in range(schedule.first, schedule.last):
        sweep = visit // visit_count
        group = credit.orders[sweep % len(credit.orders), visit % visit_count]
        temperature = schedule.temperatures[sweep, schedule.groups[group]]
        neuron = credit.members[credit.group_starts[group]]
        heat = temperature * widths[neuron]
        visit_task = of_hidden if neuron < first_output else task
        visit_group(tables, visit_task, state, group, heat, scratch)
        has_threshold = neuron >= first_output and wiring.with_threshold[neuron]
        if has_threshold and not len(scratch.flip_costs):
            (examples, prices), replica = task, state[0]
            sums = replica.counts  # of bundles, which these networks do not have
            visit_with_threshold(
                wiring, examples, sums, prices, replica, neuron, temperature, scratch
            )


@part
def visit_group(tables, task, state, group, temperature, scratch):
    """Propose the parameters of a group of neurons."""
    (wiring, credit), (examples, prices), (replica, pushes, _) = tables, task, state
    first, end = credit.group_starts[group], credit.group_starts[group + 1]
    spins, block_count = replica.spins, replica.spins.shape[1]
    neuron, level = credit.members[first], credit.level_of[credit.members[first]]
    first_row, first_output = wiring.input_count, len(wiring.order) - wiring.output_count
    highest = level
    for place in range(first, end):
        level = min(level, credit.level_of[credit.members[place]])
        highest = max(highest, credit.level_of[credit.members[place]])
    if neuron < first_output:
        refresh_few(tables, task, state, level)
        refresh(tables, task, replica, pushes, level)
        for place in range(first, end):
            neuron, row = credit.members[place], (place - first) * block_count
            receive(tables, task, replica, pushes, neuron, row, pushes.flips)
        neuron = credit.members[first]
    else:
        clear(pushes.flips, spins)
    for place in range(first, end):
        member = credit.members[place]
        for b in range(block_count):
            pushes.crossed[member, b] = spins[first_row + member, b]
    if end - first == 1:
        visit = visit_of_member(wiring, examples, prices, replica, pushes, neuron, 0)
        next_thresholds(scratch.thresholds, len(visit.own), spins, replica.generator, temperature)
        work = visit, scratch.thresholds, scratch.flip_costs
        propose_all(wiring.parallel, examples.pull, prices, replica, *work)
        has_flipped = True
    else:
        has_flipped = propose_group(tables, task, replica, pushes, group, temperature, scratch)
    if has_flipped:  # pushes of all neurons that the members read
        for b in range(block_count):
            pushes.stale[b] = max(pushes.stale[b], highest - 1)
    for place in range(first, end):
        member = credit.members[place]
        pushes.is_touched[member] = True
        for b in range(block_count):
            pushes.crossed[member, b] ^= spins[first_row + member, b]
    carry_on(wiring, credit, replica, pushes)


@part
def visit_of_member(wiring, examples, prices, replica, pushes, neuron, row):
    """Return the visit of a neuron whose work arrays begin at `row`."""
    end = row + replica.spins.shape[1]
    work = pushes.flips[row:end], pushes.gains[row:end]
    return visit_of(wiring, examples, prices, replica, neuron, work)


# ---- groups of several neurons -----------------------------------------------------------------


@part
def propose_group(tables, task, replica, pushes, group, temperature, scratch):
    """Propose the numbers of a group one by one; return whether one was flipped."""
    (wiring, credit), (examples, prices) = tables, task
    first, end = credit.group_starts[group], credit.group_starts[group + 1]
    first_number, last_number = credit.number_starts[group], credit.number_starts[group + 1]
    spins, parameters, pulls = replica.spins, replica.parameters, examples.pull
    parallel, block_count = credit.parallel, spins.shape[1]
    scale, constant = 2 * prices.softness[credit.members[first]], len(spins) - 1
    has_flipped, has_field = False, any_of(pulls)
    shared = wiring, examples, prices, replica, pushes
    next_thresholds(
        scratch.thresholds, last_number - first_number, spins, replica.generator, temperature
    )
    for place in range(first, end):
        row = (place - first) * block_count
        visit = visit_of_member(*shared, credit.members[place], row)
        move_member(prices, pushes, visit, place - first, spins, 0, ZERO, False)
    for number in range(first_number, last_number):
        row = credit.numbers[number]
        climb, fall = sums_of_number(credit, prices, spins, pushes, number, pushes.gains)
        is_threshold = credit.places[credit.place_starts[number], SOURCE] == constant
        is_levelled = row[FIRST] + 1 < row[LAST] and not is_threshold
        decay = 4 * scale * prices.decay if is_levelled else 0
        level = level_of(parallel, row, parameters) if decay else 0
        climb = (climb << FINE) + decay * (1 + level)
        fall = (fall << FINE) + decay * (1 - level)
        if len(scratch.flip_costs):
            for place in range(row[FIRST], row[LAST]):
                pull = scale * pulls[parallel[place]]
                is_set = parameters[parallel[place]] != ZERO
                scratch.flip_costs[parallel[place]] = fall + pull if is_set else climb - pull
            continue
        flipped, change, _ = cheaper_step(
            parallel, row, parameters, pulls, has_field, scale, (climb, fall)
        )
        if np.float32(change) > scratch.thresholds[number - first_number]:
            continue
        has_flipped = True
        for arc in range(credit.place_starts[number], credit.place_starts[number + 1]):
            member, source = credit.places[arc, MEMBER], credit.places[arc, SOURCE]
            neuron = credit.members[first + member]
            visit = visit_of_member(*shared, neuron, member * block_count)
            move_member(prices, pushes, visit, member, spins, source, parameters[flipped], True)
        parameters[flipped] = ~parameters[flipped]
    return has_flipped


@part
def move_member(prices, pushes, visit, member, spins, source, weight, is_flipped):
    """Move the counts of a member if `weight` is flipped; fill its gains and their sums."""
    fall = move_soft(prices, visit, spins[source], weight, is_flipped)
    pushes.falls[member, 0] = fall
    pushes.falls[member, 1] = sum_where(
        spins, len(spins) - 1, ZERO, visit.gains, prices.blocks_per_sum
    )


@part
def sums_of_number(credit, prices, spins, pushes, number, gains):
    """Return the costs of a level up and a level down of a number, over all arcs and examples."""
    climb, fall, block_count = 0, 0, spins.shape[1]
    for arc in range(credit.place_starts[number], credit.place_starts[number + 1]):
        member, source = credit.places[arc, MEMBER], credit.places[arc, SOURCE]
        own = gains[member * block_count : (member + 1) * block_count]
        rise = sum_where(spins, source, ZERO, own, prices.blocks_per_sum)
        climb += pushes.falls[member, 0] + rise
        fall += pushes.falls[member, 0] + pushes.falls[member, 1] - rise
    return climb, fall
