"""Numba kernels of soft credit: groups of neurons are visited with the pushes that reach them.

Wiring, credit, examples, a replica and its pushes, a schedule of visits -> the replica, in place.

A group is one neuron with its own weights, or all neurons that share weights: then the cost of a
proposal is a sum over examples and over the arcs of a weight. All sums are integers. A change of
signs is carried on through the arcs that leave the neurons, after the visit.

The push of a hidden neuron in an example is E(+1) - E(-1). If outputs read it, their costs with
either sign are compared; leads have noise, so that an example counts by what it lacks. If hidden
neurons j read it, it is the sum of push_j times the change of the chance of +1 of j, under the
noise of j. Pushes are kept for neurons that read others, and computed again where they are stale:
in the examples whose activations changed, and in all examples after a weight changed. Those of the
visited neurons are computed when the visit begins. Few stale examples are copied side by side into
blocks of their own, so that only they are computed.
"""

from typing import NamedTuple

import numpy as np

from qubonn.engines._forward_kernels import (
    any_of,
    cheaper_step,
    clear,
    propose_all,
    sum_where,
    visit_of,
    visit_with_threshold,
)
from qubonn.engines._forward_passes import level_of, missing
from qubonn.engines._forward_steps import clipped, move_soft, soft_sign
from qubonn.engines.forward_tables import (
    FINE,
    FIRST,
    LANES,
    LAST,
    LEAST,
    PARAMETER,
    Examples,
    Replica,
)
from qubonn.simd.compiling import inlined, kernel, part
from qubonn.simd.streams import next_thresholds
from qubonn.simd.vectors import choose, is_negative, larger, load, narrow, store, widen

ZERO, ONE = np.uint64(0), np.uint64(1)
TARGET = 0  # column of `Credit.out`, before PARAMETER
MEMBER, SOURCE = 0, 1  # columns of `Credit.places`
BLOCK, LANE = 0, 1  # columns of `Few.origins`


class Pushes(NamedTuple):
    """The pushes of one replica, and work arrays."""

    pushes: np.ndarray  # (neurons * blocks) x lanes
    stale: np.ndarray  # by block: the highest level whose pushes are stale
    changed: np.ndarray  # by block: lanes whose pushes are stale on all levels
    crossed: np.ndarray  # neurons x blocks: lanes in which an activation changed; 0 between visits
    is_touched: np.ndarray  # by neuron: whether its counts changed; False between visits
    sums: np.ndarray  # blocks x lanes, int32
    blocks: np.ndarray  # some blocks
    levels: np.ndarray  # by output: the weight of its arcs from one neuron
    flips: np.ndarray  # (members of a group * blocks) x lanes: as in `Visit`
    gains: np.ndarray  # (members of a group * blocks) x lanes
    falls: np.ndarray  # members of a group x 2: the cost of a step down, the sum of all gains


def new_pushes(neuron_count, block_count, counts, output_count, widest):
    """Return pushes that are stale; a group has at most `widest` members."""
    return Pushes(
        pushes=np.zeros_like(counts),
        stale=np.zeros(block_count, dtype=np.int64),
        changed=np.zeros(block_count, dtype=np.uint64),
        crossed=np.zeros((neuron_count, block_count), dtype=np.uint64),
        is_touched=np.zeros(neuron_count, dtype=np.bool_),
        sums=np.zeros((block_count, counts.shape[1]), dtype=np.int32),
        blocks=np.zeros(block_count, dtype=np.int64),
        levels=np.zeros(output_count, dtype=np.int64),
        flips=np.zeros((widest * block_count, counts.shape[1]), dtype=counts.dtype),
        gains=np.zeros((widest * block_count, counts.shape[1]), dtype=counts.dtype),
        falls=np.zeros((widest, 2), dtype=np.int64),
    )


class Few(NamedTuple):
    """Blocks for copies of a few examples."""

    replica: Replica
    examples: Examples
    pushes: Pushes
    origins: np.ndarray  # block and lane of each example


def new_few(replica, examples, output_count, block_count):
    """Return room for copies of examples."""
    lanes, kind = replica.counts.shape[1], replica.counts.dtype
    neuron_count = len(replica.counts) // replica.spins.shape[1]
    counts = np.zeros((neuron_count * block_count, lanes), dtype=kind)
    spins = np.zeros((len(replica.spins), block_count), dtype=np.uint64)
    return Few(
        replica=replica._replace(counts=counts, spins=spins),
        examples=examples._replace(
            wanted=np.zeros((output_count, block_count), dtype=np.uint64),
            is_real=np.zeros(block_count, dtype=np.uint64),
        ),
        pushes=new_pushes(neuron_count, block_count, counts, output_count, 1),
        origins=np.zeros((lanes * block_count, 2), dtype=np.int64),
    )


# ---- pushes ------------------------------------------------------------------------------------


@part
def refresh(tables, task, replica, pushes, level):
    """Compute the pushes that are stale, of all hidden neurons above a level."""
    wiring, credit = tables
    first_output = len(wiring.order) - wiring.output_count
    listed, count = -1, 0  # the level that `blocks` is listed for
    for place in range(len(wiring.order) - 1, -1, -1):
        neuron = wiring.order[place]
        own = credit.level_of[neuron]
        if own <= level:
            break
        if neuron >= first_output:
            continue
        if own != listed:
            listed, count = own, 0
            for b in range(len(pushes.stale)):
                if pushes.stale[b] >= own:
                    pushes.blocks[count] = b
                    count += 1
        if count:
            push(tables, task, replica, pushes, neuron, count, 0, pushes.pushes)
    for b in range(len(pushes.stale)):
        pushes.stale[b] = min(pushes.stale[b], level)


@part
def refresh_few(tables, task, state, level):
    """Compute the pushes above a level of the examples whose activations changed, if few."""
    (wiring, credit), (examples, prices), (replica, pushes, few) = tables, task, state
    origins, count, top = few.origins, 0, credit.level_of[wiring.order[-1]]
    for b in range(len(pushes.changed)):
        changed, lane = pushes.changed[b], 0
        pushes.changed[b] = ZERO
        if pushes.stale[b] < top and changed:
            pushes.stale[b] = max(pushes.stale[b], level)
            while changed and count < len(origins):
                if changed & ONE:
                    origins[count, BLOCK], origins[count, LANE] = b, lane
                    count += 1
                changed >>= ONE
                lane += 1
            if changed:  # no room for these
                pushes.stale[b] = top
    if count == 0 or level == top:
        return
    first_output, block_count = len(wiring.order) - wiring.output_count, -(-count // LANES)
    copy_examples(examples, few, count)
    for b in range(block_count):
        few.pushes.blocks[b] = b
    for place in range(len(wiring.order) - 1, -1, -1):
        neuron = wiring.order[place]
        if credit.level_of[neuron] <= level:
            break
        copy_neuron(wiring, replica, few, neuron, count)
        if neuron < first_output:
            of_few = (few.examples, prices), few.replica, few.pushes
            push(tables, *of_few, neuron, block_count, 0, few.pushes.pushes)
            return_pushes(pushes, few, neuron, count)


@part
def copy_examples(examples, few, count):
    """Copy what outputs are wanted of the examples."""
    wanted, is_real = few.examples.wanted, few.examples.is_real
    for b in range(-(-count // LANES)):
        is_real[b] = ZERO
        for c in range(len(wanted)):
            wanted[c, b] = ZERO
    for place in range(count):
        b, lane = place // LANES, np.uint64(place % LANES)
        is_real[b] |= ONE << lane
        from_lane = np.uint64(few.origins[place, LANE])
        for c in range(len(wanted)):
            bit = (examples.wanted[c, few.origins[place, BLOCK]] >> from_lane) & ONE
            wanted[c, b] |= bit << lane


@part
def copy_neuron(wiring, replica, few, neuron, count):
    """Copy counts and activations of a neuron in the examples."""
    row, origins = wiring.input_count + neuron, few.origins
    first = neuron * replica.spins.shape[1]
    first_few = neuron * few.replica.spins.shape[1]
    counts, spins = few.replica.counts, few.replica.spins
    for place in range(count):
        b, lane = place // LANES, place % LANES
        counts[first_few + b, lane] = replica.counts[
            first + origins[place, BLOCK], origins[place, LANE]
        ]
        if lane == 0:
            spins[row, b] = ZERO
        bit = (replica.spins[row, origins[place, BLOCK]] >> np.uint64(origins[place, LANE])) & ONE
        spins[row, b] |= bit << np.uint64(lane)


@part
def return_pushes(pushes, few, neuron, count):
    """Copy the pushes of a neuron back."""
    found, origins = few.pushes.pushes, few.origins
    first, first_few = neuron * len(pushes.stale), neuron * len(few.pushes.stale)
    for place in range(count):
        row = first + origins[place, BLOCK]
        pushes.pushes[row, origins[place, LANE]] = found[first_few + place // LANES, place % LANES]


@part
def receive(tables, task, replica, pushes, neuron, row, flips):
    """Fill `flips` from `row` on with the pushes of a neuron times the weights of the examples."""
    spins, block_count = replica.spins, replica.spins.shape[1]
    for b in range(block_count):
        pushes.blocks[b] = b
    start = row - neuron * block_count
    push(tables, task, replica, pushes, neuron, block_count, start, flips)
    for b in range(block_count):
        found = load(flips, row + b, spins) * load(task[0].weights, b, spins)
        store(flips, row + b, found)


@part
def push(tables, task, replica, pushes, neuron, count, start, found):
    """Compute the pushes of a neuron in the first `count` of `blocks`.

    They are stored in rows of `found`, which begins `start` rows later than `pushes`.
    """
    (wiring, credit), (examples, prices) = tables, task
    spins, parameters = replica.spins, replica.parameters
    out, sums, blocks, levels = credit.out, pushes.sums, pushes.blocks, pushes.levels
    block_count, first_output = spins.shape[1], len(wiring.order) - wiring.output_count
    own = wiring.input_count + neuron
    zero = load(sums, 0, spins) * 0
    for place in range(count):
        store(sums, blocks[place], zero)
    for c in range(len(levels)):
        levels[c] = 0
    place, end, reaches_output = credit.out_starts[neuron], credit.out_starts[neuron + 1], False
    while place < end:
        target, level = out[place, TARGET], 0
        while place < end and out[place, TARGET] == target:
            level += 1 if parameters[out[place, PARAMETER]] else -1
            place += 1
        if target >= first_output:
            levels[target - first_output] = level
            reaches_output = True
        elif level:
            of_target = (
                prices.softness[target],
                wiring.neurons[target, LEAST],
                credit.slopes[target],
            )
            add_slopes(replica, pushes, own, target, level, of_target, count)
    if reaches_output:
        add_costs(task, credit, replica, pushes, own, count)
    half, lift = (1 << credit.bits) >> 1, 1 << 30
    for place in range(count):
        b = blocks[place]
        # shifted as positive numbers
        change = (load(sums, b, spins) + (half + lift)) >> credit.bits
        change = change - (lift >> credit.bits)
        change = larger(larger(change, -credit.cap) * -1, -credit.cap) * -1
        change = choose(examples.is_real[b], change, zero)
        row = start + neuron * block_count + b
        store(found, row, narrow(choose(spins[own, b], change * -1, change), found))


@part
def add_slopes(replica, pushes, own, target, level, of_target, count):
    """Add what a flip of a neuron's sign costs by a hidden neuron that reads it.

    `of_target` are the softness of that neuron, its sum at count 0, and the unit of its slope.
    """
    counts, spins, sums, blocks = replica.counts, replica.spins, pushes.sums, pushes.blocks
    (softness, least, slope), row = of_target, target * spins.shape[1]
    for place in range(count):
        b = blocks[place]
        here = load(counts, row + b, spins)
        step = here * 0 + level
        there = here + choose(spins[own, b], step * -1, step)
        turn = soft_sign(softness, least, there) - soft_sign(softness, least, here)
        cost = widen(load(pushes.pushes, row + b, spins)) * widen(turn) * slope
        store(sums, b, load(sums, b, spins) + cost)


@part
def add_costs(task, credit, replica, pushes, own, count):
    """Add what a flip of a neuron's sign costs at the outputs that read it."""
    examples, prices = task
    spins, counts, softness = replica.spins, replica.counts, credit.lead_softness
    wanted, sums, blocks, levels = examples.wanted, pushes.sums, pushes.blocks, pushes.levels
    block_count, output_count = spins.shape[1], len(wanted)
    first = len(counts) - output_count * block_count
    for place in range(count):
        b = blocks[place]
        zero = load(counts, b, spins) * 0
        sign = choose(spins[own, b], zero - 1, zero + 1)
        right, step_of_right, total = zero, zero, load(sums, b, spins) * 0
        if prices.is_pairwise:
            for c in range(output_count):
                here = load(counts, first + c * block_count + b, spins)
                right = right + choose(wanted[c, b], here, zero)
                step_of_right = step_of_right + choose(wanted[c, b], zero + levels[c], zero)
        for c in range(output_count):
            here = load(counts, first + c * block_count + b, spins)
            if prices.is_pairwise:  # the lead of the right class over itself does not move
                step = (step_of_right - levels[c]) * sign
                total = total + change_of_lead(prices.target_margin, softness, right - here, step)
            else:
                then = missing(wanted[c, b], here + sign * levels[c])
                total = total + widen(then - missing(wanted[c, b], here))
        store(sums, b, load(sums, b, spins) + total * credit.output_slope)


@inlined
def change_of_lead(target, softness, lead, step):
    """Return the cost expected of a step of a lead, in 1 / 4S.

    What the lead lacks has noise, uniform in -S..S: the expected cost is the square of `near`,
    where the noise decides, plus 4S for each unit of `far` beyond.
    """
    lack = (lead + lead) * -1 + (target + softness)
    then = lack - (step + step)
    near, near_then = clipped(lack, softness), clipped(then, softness)
    far, far_then = larger(lack - 2 * softness, 0), larger(then - 2 * softness, 0)
    squares = widen(near_then - near) * widen(near_then + near)
    return squares + widen(far_then - far) * (4 * softness)


# ---- changes -----------------------------------------------------------------------------------


@part
def carry_on(wiring, credit, replica, pushes):
    """Carry changes of activations on to all neurons that read them, in the forward order."""
    counts, spins, crossed, out = replica.counts, replica.spins, pushes.crossed, credit.out
    block_count, is_touched, blocks = spins.shape[1], pushes.is_touched, pushes.blocks
    for neuron in wiring.order:
        if not is_touched[neuron]:
            continue
        is_touched[neuron] = False
        row, count = wiring.input_count + neuron, 0
        for b in range(block_count):
            before = spins[row, b] ^ crossed[neuron, b]
            now = ~is_negative(load(counts, neuron * block_count + b, spins))
            spins[row, b] = now
            if now != before:
                crossed[neuron, b] = now ^ before
                blocks[count] = b
                count += 1
                pushes.changed[b] |= now ^ before
            else:
                crossed[neuron, b] = ZERO
        if count:
            for place in range(credit.out_starts[neuron], credit.out_starts[neuron + 1]):
                weight, target = replica.parameters[out[place, PARAMETER]], out[place, TARGET]
                is_touched[target] = True
                step_counts(
                    counts, spins[row], crossed[neuron], weight, target * block_count, blocks, count
                )
            for place in range(count):
                crossed[neuron, blocks[place]] = ZERO


@part
def step_counts(counts, spins, crossed, weight, row, blocks, count):
    """Move the counts of a neuron whose source has changed its sign in some lanes."""
    for place in range(count):
        b = blocks[place]
        here = load(counts, row + b, crossed)
        zero = here * 0
        one = zero + 1
        step = choose(spins[b] ^ weight, one * -1, one)
        store(counts, row + b, here + choose(crossed[b], step, zero))


# ---- visits ------------------------------------------------------------------------------------


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
        climb, fall = sums_of_number(credit, prices, spins, pushes, number)
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
def sums_of_number(credit, prices, spins, pushes, number):
    """Return the costs of a level up and a level down of a number, over all arcs and examples."""
    climb, fall, block_count = 0, 0, spins.shape[1]
    for arc in range(credit.place_starts[number], credit.place_starts[number + 1]):
        member, source = credit.places[arc, MEMBER], credit.places[arc, SOURCE]
        own = pushes.gains[member * block_count : (member + 1) * block_count]
        rise = sum_where(spins, source, ZERO, own, prices.blocks_per_sum)
        climb += pushes.falls[member, 0] + rise
        fall += pushes.falls[member, 0] + pushes.falls[member, 1] - rise
    return climb, fall
