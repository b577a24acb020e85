"""Numba kernels of passes through a network: all examples at once, or a change through its cone.

Tiles of bits -> masks; parameters -> counts and activations; a change -> its cost, or updated
counts and activations.

A tile is 64 inputs of 64 examples: tiles[block, word, example]. The other kernels read it
transposed, as a mask for each input. Read directly, it gives a neuron's count by XOR and popcount,
many times faster than arc by arc.

The cone of a neuron, or of a weight of several arcs, is all neurons that depend on it. A change
runs through its cone in the order of a forward pass, block by block: `changed` holds, by neuron,
the lanes in which its activation changes.
"""

import numpy as np

from qubonn.engines.forward_tables import (
    ARCS_END,
    ARCS_START,
    FINE,
    FIRST,
    FIRST_ARC,
    FIRST_INNER,
    IS_DEEP,
    LANES,
    LAST,
    LEAST,
    NEEDED,
    NEURON,
    NO_WEIGHT,
    PARAMETER,
    PLANE,
    SOURCE,
)
from qubonn.simd.compiling import inlined, kernel, part
from qubonn.simd.vectors import choose, is_negative, larger, load, store, sum_of
from qubonn.simd.words import load_at, ones_of, repeated, store_at, transpose

THIRTY_TWO = np.zeros(1, dtype=np.uint32)  # as `like`: 32 lanes
ZERO = np.uint64(0)


# ---- examples ----------------------------------------------------------------------------------


@kernel
def fill_masks(tiles, masks, square):
    """Turn tiles into masks, columns x blocks: bit k is example k of the block.

    `square` is a work array of eight words for each lane.
    """
    for block in range(len(tiles)):
        for first in range(0, tiles.shape[1], 8):
            count = min(8, tiles.shape[1] - first)
            for word in range(count):
                for lane in range(LANES):
                    square[8 * lane + word] = tiles[block, first + word, lane]
            transpose(square)
            for word in range(count):
                column = (first + word) * LANES
                for bit in range(min(LANES, len(masks) - column)):
                    masks[column + bit, block] = square[8 * bit + word]


@part
def count_disagreements(tiles, block, weights, plane_count, input_masks, found):
    """Fill `found` with the number of masked inputs that differ from their weights, by example.

    `weights` has `plane_count` rows, one for each of several parallel arcs; numbers are added.
    """
    word_count = tiles.shape[1]
    for first in range(0, LANES, 32):
        total = repeated(ZERO, THIRTY_TWO)
        for word in range(word_count):
            known = load_at(tiles[block, word], first, THIRTY_TWO)
            for plane in range(plane_count):
                total = total + ones_of((known ^ weights[plane, word]) & input_masks[word])
        store_at(found, first, total)


# ---- all examples ------------------------------------------------------------------------------


@kernel
def run_forward(wiring, tiles, first_block, last_block, replica, weights, differing):
    """Fill counts and activations of a replica from its parameters and the inputs in `tiles`.

    `weights`, planes x words, and `differing`, a number for each lane, are work arrays.
    """
    arcs, neurons, spins, counts = wiring.arcs, wiring.neurons, replica.spins, replica.counts
    input_count, block_count = wiring.input_count, replica.spins.shape[1]
    constant = len(spins) - 1
    for neuron in wiring.order:
        first, last = neurons[neuron, FIRST_ARC], neurons[neuron + 1, FIRST_ARC]
        row = wiring.wide_row_of[neuron]
        read = known = plane_count = 0  # terms that are counted word by word; that are known
        if row >= 0:
            read, plane_count = pack_weights(
                arcs, first, last, replica.parameters, input_count, weights
            )
        for arc in range(first, last):
            if arcs[arc, SOURCE] == constant and replica.parameters[arcs[arc, PARAMETER]]:
                known += 1
        listed = arcs  # those that are counted one by one
        if row >= 0:
            listed, first, last = (
                wiring.inner,
                neurons[neuron, FIRST_INNER],
                neurons[neuron + 1, FIRST_INNER],
            )
        for b in range(first_block, last_block):
            place = neuron * block_count + b
            if row >= 0:
                masks = wiring.wide_inputs[row]
                count_disagreements(tiles, b, weights, plane_count, masks, differing)
                for lane in range(counts.shape[1]):
                    counts[place, lane] = -np.int64(differing[lane])
            zero = load(counts, place, spins) * 0
            count = zero + (read + known - neurons[neuron, NEEDED])
            if row >= 0:
                count = count + load(counts, place, spins)
            for arc in range(first, last):
                source = listed[arc, SOURCE]
                if source != constant:
                    parameter = replica.parameters[listed[arc, PARAMETER]]
                    count = count + choose(spins[source, b] ^ parameter, zero, zero + 1)
            store(counts, place, count)
            spins[input_count + neuron, b] = ~is_negative(count)


@part
def pack_weights(arcs, first, last, parameters, input_count, weights):
    """Set the bits of the inputs whose weight is +1, a row for each of several parallel arcs.

    Return the number of arcs from inputs, and of rows.
    """
    for plane in range(len(weights)):
        for word in range(weights.shape[1]):
            weights[plane, word] = 0
    count = plane_count = 0
    for arc in range(first, last):
        source, plane = arcs[arc, SOURCE], arcs[arc, PLANE]
        if source < input_count:
            count += 1
            if plane_count <= plane:
                plane_count = plane + 1
            bit = np.uint64(1) << np.uint64(source % 64)
            weights[plane, source // 64] |= parameters[arcs[arc, PARAMETER]] & bit
    return count, plane_count


@kernel
def energy_of(wiring, examples, prices, replica):
    """Compute the energy of a replica, in fine units, from its counts and parameters."""
    spins, wanted, counts = replica.spins, examples.wanted, replica.counts
    block_count, first_output = spins.shape[1], len(wiring.order) - len(wanted)
    violations, margins, pulls = 0, 0, 0
    for b in range(block_count):
        weights = load(examples.weights, b, spins)
        zero = load(counts, b, spins) * 0
        right = zero
        for c in range(len(wanted)):
            count = load(counts, (first_output + c) * block_count + b, spins)
            right = right + choose(wanted[c, b], count, zero)
        for neuron in range(len(wiring.order)):
            count = load(counts, neuron * block_count + b, spins)
            output = neuron - first_output
            if output < 0:
                margin = margin_of(prices.margin_cap, wiring.neurons[neuron, LEAST], count)
                margins += sum_of(margin * weights)
            elif prices.is_pairwise:
                lack = choose(wanted[output, b], zero, behind(prices.target_margin, right - count))
                violations += sum_of(lack * weights)
            else:
                violations += sum_of(missing(wanted[output, b], count) * weights)
    for parameter in range(len(replica.parameters)):
        # half the cost of a flip: plus where it is -1, minus where it is +1
        pull = examples.pull[parameter] >> 1
        pulls += -pull if replica.parameters[parameter] else pull
    decayed = 0
    if prices.decay:
        for number in range(len(wiring.decaying)):
            level = level_of(wiring.parallel, wiring.decaying[number], replica.parameters)
            decayed += level * level
    energy = (violations * prices.violation - margins * prices.margin) << FINE
    return energy + pulls + decayed * prices.decay


@part
def level_of(parallel, number, parameters):
    """Return the sum of the spins of parallel parameters: the level of a weight."""
    level = 0
    for place in range(number[FIRST], number[LAST]):
        level += 1 if parameters[parallel[place]] else -1
    return level


# ---- a change through its cone -----------------------------------------------------------------


@part(keeps_literals=True)
def cost_of_change(wiring, cones, examples, prices, replica, owner, weight, scratch):
    """Fill `flips` with the cost of a change in each example.

    The change is a new sign of the neuron `owner`, or a flip of `weight`, in all examples.
    """
    neurons, table, wanted = wiring.neurons, cones.table, examples.wanted
    spins, counts = replica.spins, replica.counts
    flips, outputs, changed = scratch.flips, scratch.outputs, scratch.changed
    start, end = cones.starts[owner], cones.starts[owner + 1]
    block_count, first_output = spins.shape[1], len(neurons) - 1 - len(wanted)
    zero = load(flips, 0, spins) * 0
    for b in range(block_count):
        total = zero
        if prices.is_pairwise:
            for c in range(len(wanted)):
                store(outputs, c, load(counts, (first_output + c) * block_count + b, spins))
        if weight == NO_WEIGHT:
            changed[owner] = ~ZERO
        for entry in range(start, end):
            neuron = table[entry, NEURON]
            before = load(counts, neuron * block_count + b, spins)
            after = next_count(wiring, cones, replica, changed, entry, b, weight, False)
            changed[neuron] = ~is_negative(after) ^ spins[wiring.input_count + neuron, b]
            if neuron < first_output:
                if prices.margin:
                    least, cap = neurons[neuron, LEAST], prices.margin_cap
                    less = margin_of(cap, least, before) - margin_of(cap, least, after)
                    total = total + less * prices.margin
            elif prices.is_pairwise:
                store(outputs, neuron - first_output, after)
            else:
                want = wanted[neuron - first_output, b]
                total = total + (missing(want, after) - missing(want, before)) * prices.violation
        for entry in range(start, end):
            changed[table[entry, NEURON]] = 0
        if prices.is_pairwise:
            more = change_of_lack(prices, wanted, counts, outputs, first_output, b)
            total = total + more * prices.violation
        store(flips, b, total)
    if weight == NO_WEIGHT:
        changed[owner] = 0


@part(keeps_literals=True)
def make_change(wiring, cones, replica, owner, weight, crossed, changed, blocks):
    """Update the counts and activations of a cone, from one of two blocks to before the other.

    The change is a new sign of the neuron `owner` in the examples `crossed`, already made in its
    activations, or a flip of `weight`, not yet made in the parameters.
    """
    table, spins, counts = cones.table, replica.spins, replica.counts
    start, end = cones.starts[owner], cones.starts[owner + 1]
    block_count = spins.shape[1]
    for b in range(blocks[0], blocks[1]):
        if crossed[b] == 0:
            continue
        if weight == NO_WEIGHT:
            changed[owner] = crossed[b]
        for entry in range(start, end):
            neuron = table[entry, NEURON]
            row = wiring.input_count + neuron
            after = next_count(wiring, cones, replica, changed, entry, b, weight, True)
            now = ~is_negative(after)
            changed[neuron] = now ^ spins[row, b]
            store(counts, neuron * block_count + b, after)
            spins[row, b] = now
        for entry in range(start, end):
            changed[table[entry, NEURON]] = 0
    if weight == NO_WEIGHT:
        changed[owner] = 0


@inlined
def next_count(wiring, cones, replica, changed, entry, b, weight, is_made):
    """Return the count of a neuron in a cone after the change, in one block.

    `changed` is filled for the owner and for neurons before this one in the cone; if the change
    `is_made`, their activations are already the new ones.
    """
    table, listed, inner = cones.table, cones.arcs, wiring.inner
    spins, parameters = replica.spins, replica.parameters
    neuron = table[entry, NEURON]
    count = load(replica.counts, neuron * spins.shape[1] + b, spins)
    zero = count * 0
    one = zero + 1
    for arc in range(table[entry, ARCS_START], table[entry, ARCS_END]):
        source, parameter = listed[arc, SOURCE], parameters[listed[arc, PARAMETER]]
        turned = ~ZERO if weight != NO_WEIGHT else changed[source - wiring.input_count]
        was = spins[source, b]
        if is_made and weight == NO_WEIGHT:
            was = was ^ turned
        count = count + choose(turned, choose(was ^ parameter, one, one * -1), zero)
    if table[entry, IS_DEEP]:
        neurons = wiring.neurons
        for arc in range(neurons[neuron, FIRST_INNER], neurons[neuron + 1, FIRST_INNER]):
            source = inner[arc, SOURCE]
            turned = changed[source - wiring.input_count]
            was = spins[source, b] ^ turned if is_made else spins[source, b]
            if inner[arc, PARAMETER] == weight:
                turned = ~turned  # both factors of the term change, or only this one
            if turned:
                parameter = parameters[inner[arc, PARAMETER]]
                count = count + choose(turned, choose(was ^ parameter, one, one * -1), zero)
    return count


@inlined
def change_of_lack(prices, wanted, counts, outputs, first_output, b):
    """Return how much more all leads together lack if the counts become those in `outputs`."""
    block_count = wanted.shape[1]
    zero = load(outputs, 0, wanted) * 0
    right, right_then, lack = zero, zero, zero
    for c in range(len(wanted)):
        count = load(counts, (first_output + c) * block_count + b, wanted)
        right = right + choose(wanted[c, b], count, zero)
        right_then = right_then + choose(wanted[c, b], load(outputs, c, wanted), zero)
    for c in range(len(wanted)):
        count = load(counts, (first_output + c) * block_count + b, wanted)
        then = behind(prices.target_margin, right_then - load(outputs, c, wanted))
        lack = lack + choose(wanted[c, b], zero, then - behind(prices.target_margin, right - count))
    return lack


# ---- costs of counts ---------------------------------------------------------------------------


@inlined
def missing(wanted, count):
    """Return the number of terms by which an output is on the wrong side: 0 where it is right."""
    return larger(choose(wanted, count * -1, count + 1), 0)


@inlined
def behind(target, lead):
    """Return by how much a lead of the right class, in counts, is too small: target - 2 * lead."""
    return larger((lead + lead) * -1 + target, 0)


@inlined
def margin_of(cap, least, count):
    """Return the rewarded margin of a hidden neuron: min(|pi|, cap), pi = 2 * count + least."""
    sums = count + count + least
    return larger(larger(sums, sums * -1) * -1, -cap) * -1
