"""Numba kernels on planes: one node to a register, 512 examples in its bits; full adders count.

Planes of sources -> planes of neurons, for convolutions and any wiring; words <-> planes. Bit i of
lane l of a plane is example 8 * i + l, so that a square of 64 words by 64 examples, transposed in
each lane, is 64 planes.

P sources that are +1 have weight +1 and N have weight -1; D is the number of arcs with weight +1
minus the number with -1; t is the threshold, the sum of the bias and c arcs from the constant. The
pre-activation is 2 * (P - N) - D + t, positive exactly if the lead, P - N - 1 - (D - t) // 2, is
not negative, and equal to 2 * lead + 1 + (n + c is odd). Counters start at (D - c - 1) // 2, count
the terms of t that are -1 and the N, are inverted, which negates them, and count the P.
"""

from typing import NamedTuple

import numpy as np

from qubonn.inference.program import CHUNK, SLIDE, SPREAD
from qubonn.simd.compiling import njit, part
from qubonn.simd.words import full_adder, load_at, repeated, store_at, transpose

EIGHT = np.zeros(1, dtype=np.uint8)  # lanes of a plane
SIXTEEN = np.zeros(1, dtype=np.uint16)  # lanes of two neighbouring planes
ZERO, ONE, ALL = (np.uint64(word) for word in (0, 1, (1 << 64) - 1))
REPEATED = np.array([0, (1 << 64) - 1], dtype=np.uint64)  # a bit in all places


class Planes(NamedTuple):
    """What one thread needs for planes: flat arrays that start at a cache line."""

    nodes: np.ndarray  # nodes x lanes; then zeros; then the thresholds of a row, term by term
    order: np.ndarray  # places of the sources of a strip, those with weight -1 first
    counters: np.ndarray  # binary digits x lanes
    square: np.ndarray  # 64 x lanes, to be transposed


@part
def run_plane_step(tables, step, parameters, inputs, buffers, planes, chunk_count, is_sums):
    """Run one step of one network on a block: strips, or words to planes, or planes to words."""
    end = step["first"] + step["count"]
    if step["kind"] == SLIDE:
        votes, output_count = buffers.votes, tables.output_count
        zeros, longest = tables.node_count, tables.longest
        for number in range(step["first"], end):
            strip = tables.strips[number]
            counts = sort_arcs(strip, tables.offsets, parameters, planes, zeros, longest)
            for row in range(strip["rows"]):
                start_row(strip, row, parameters, planes, counts, zeros, longest)
                if strip["column"] < 0:
                    run_hidden(strip, row, planes, counts)
                else:
                    run_outputs(
                        strip, row, planes, counts, votes, output_count, chunk_count, is_sums
                    )
        return
    words, place, rows = buffers.words, 0, tables.row_count
    if step["reads_inputs"]:
        words, place, rows = inputs.words, inputs.first, tables.input_row_count
    spans, place = tables.spans[step["first"] : end], place + step["row"] * CHUNK
    if step["kind"] == SPREAD:
        spread(spans, words, place, rows * CHUNK, planes, chunk_count)
    else:
        gather(spans, words, place, rows * CHUNK, planes, chunk_count)


# ---- strips ------------------------------------------------------------------------------------


@part
def sort_arcs(strip, offsets, parameters, planes, zeros, longest):
    """List where a strip's first neuron finds its sources: weight -1 up to `middle`, then +1.

    A term of -1 of the threshold counts as a source of the first kind; a plane of zeros fills both
    kinds up to multiples of eight. Returns `middle`, the end and what the counters start at.
    """
    fan_in, first_bit, positive = strip["fan_in"], strip["weight_bit"], 0
    term_count = strip["term_count"]
    for arc in range(fan_in):
        positive += bit_at(parameters, first_bit + arc)
    middle = (term_count + fan_in - positive + 7) // 8 * 8
    end = middle + (positive + 7) // 8 * 8
    for place in range(end):
        planes.order[place] = 8 * zeros
    for term in range(term_count):
        planes.order[term] = 8 * (zeros + (1 + term) * longest)
    sources = offsets[strip["first_offset"] : strip["first_offset"] + fan_in]
    base, low, high = strip["base"], term_count, middle
    for arc in range(fan_in):
        bit = bit_at(parameters, first_bit + arc)
        planes.order[high if bit else low] = 8 * (base + sources[arc])
        high += bit
        low += 1 - bit
    return middle, end, (2 * positive - fan_in - term_count) >> 1


@part
def start_row(strip, row, parameters, planes, counts, zeros, longest):
    """Write the thresholds of a row of neurons as planes, and move its sources on."""
    length, term_count = strip["length"], strip["term_count"]
    first_bit = strip["threshold_bit"] + row * length * term_count
    for term in range(term_count):
        thresholds = zeros + (1 + term) * longest
        for neuron in range(length):
            bit = bit_at(parameters, first_bit + neuron * term_count + term)
            for place in range(8 * (thresholds + neuron), 8 * (thresholds + neuron + 1)):
                planes.nodes[place] = REPEATED[1 - bit]
    for arc in range(counts[1] if row else 0):
        if planes.order[arc] < 8 * zeros:
            planes.order[arc] += 8 * strip["step"]


@part
def run_hidden(strip, row, planes, counts):
    """Fill the planes of a row of neurons, two at a time."""
    digits, length = digit_count(strip["fan_in"] + strip["term_count"]), strip["length"]
    target = 8 * (strip["target"] + row * length)
    if length == 1:
        count_arcs(planes, 0, counts, digits, EIGHT)
        lead = load_at(planes.counters, 8 * (digits - 1), EIGHT)
        store_at(planes.nodes, target, lead ^ ALL)
        return
    for pair in range(0, length, 2):
        place = 8 * min(pair, length - 2)  # the last pair may do a neuron again
        count_arcs(planes, place, counts, digits, SIXTEEN)
        lead = load_at(planes.counters, 16 * (digits - 1), SIXTEEN)
        store_at(planes.nodes, target + place, lead ^ ALL)


@part
def run_outputs(strip, row, planes, counts, votes, output_count, chunk_count, is_sums):
    """Fill the planes of a row of output neurons, and add to their votes."""
    term_count, counters = strip["fan_in"] + strip["term_count"], planes.counters
    digits = digit_count(term_count)
    for neuron in range(strip["length"]):
        count_arcs(planes, 8 * neuron, counts, digits, EIGHT)
        signs = load_at(counters, 8 * (digits - 1), EIGHT)
        before = row * strip["length"] + neuron
        store_at(planes.nodes, 8 * (strip["target"] + before), signs ^ ALL)
        first = (strip["column"] + before) * CHUNK
        for bit in range(4 * chunk_count):
            place = bit // 4 * output_count * CHUNK + first + bit % 4 * 8
            total = load_at(votes, place, EIGHT)
            sign = (signs >> np.uint64(bit)) & ONE
            if is_sums:  # 2 * lead + 2 - (n + c + 1 is odd), digit by digit
                total = total + np.uint64(2 - term_count % 2) - (sign << np.uint64(digits))
                for digit in range(digits - 1):
                    ones = (load_at(counters, 8 * digit, EIGHT) >> np.uint64(bit)) & ONE
                    total = total + (ones << np.uint64(digit + 1))
            else:
                total = total + (sign ^ ONE)
            store_at(votes, place, total)


@part
def count_arcs(planes, shift, counts, digits, like):
    """Set the counters to the leads of a neuron, or of two neighbours, eight arcs at a time."""
    middle, end, start = counts
    nodes, order, counters = planes.nodes, planes.order, planes.counters
    lanes = np.uint64(like.itemsize * 8)
    ones = repeated(REPEATED[start & 1], like)
    twos = repeated(REPEATED[(start >> 1) & 1], like)
    fours = repeated(REPEATED[(start >> 2) & 1], like)
    for digit in range(3, digits):
        bit = REPEATED[(start >> digit) & 1]
        store_at(counters, np.uint64(digit) * lanes, repeated(bit, like))
    for group in range(np.uint64(0), np.uint64(end), np.uint64(8)):
        if group == np.uint64(middle):
            ones, twos, fours = ones ^ ALL, twos ^ ALL, fours ^ ALL
            invert(counters, digits, like)
        a = load_at(nodes, shift + order[group], like)
        b = load_at(nodes, shift + order[group + np.uint64(1)], like)
        c = load_at(nodes, shift + order[group + np.uint64(2)], like)
        d = load_at(nodes, shift + order[group + np.uint64(3)], like)
        e = load_at(nodes, shift + order[group + np.uint64(4)], like)
        f = load_at(nodes, shift + order[group + np.uint64(5)], like)
        g = load_at(nodes, shift + order[group + np.uint64(6)], like)
        h = load_at(nodes, shift + order[group + np.uint64(7)], like)
        a, two_a = full_adder(a, b, c)
        d, two_b = full_adder(d, e, f)
        g, two_c = full_adder(g, h, ones)
        ones, two_d = full_adder(a, d, g)
        two_a, four_a = full_adder(two_a, two_b, two_c)
        twos, four_b = full_adder(two_a, two_d, twos)
        fours, carry = full_adder(four_a, four_b, fours)
        for digit in range(3, digits):
            place = np.uint64(digit) * lanes
            old = load_at(counters, place, like)
            store_at(counters, place, old ^ carry)
            carry = old & carry
    if middle == end:
        ones, twos, fours = ones ^ ALL, twos ^ ALL, fours ^ ALL
        invert(counters, digits, like)
    store_at(counters, np.uint64(0), ones)
    store_at(counters, lanes, twos)
    store_at(counters, lanes + lanes, fours)


@part
def invert(counters, digits, like):
    """Invert the counters' digits from the fourth on."""
    for digit in range(3, digits):
        place = digit * like.itemsize * 8
        store_at(counters, place, load_at(counters, place, like) ^ ALL)


@njit(cache=True)
def digit_count(term_count):
    """Return the number of binary digits that hold any lead and its sign; at least four."""
    digits = 4
    while (1 << digits) < term_count + 2:
        digits += 1
    return digits


@njit(inline="always")
def bit_at(words, place):
    """Return one bit of an array of words."""
    return np.int64((words[place >> 6] >> np.uint64(place & 63)) & ONE)


# ---- words <-> planes --------------------------------------------------------------------------


@part
def spread(spans, words, place, stride, planes, chunk_count):
    """Turn rows of words, from `place` on, into the planes of the nodes in `spans`."""
    square, bit = planes.square, 64
    for span in range(len(spans)):
        for node in range(spans[span, 0], spans[span, 0] + spans[span, 1]):
            if bit == 64:
                for word in range(len(square)):
                    square[word] = ZERO
                for piece in range(4 * chunk_count):
                    lanes = load_at(words, place + piece // 4 * stride + piece % 4 * 8, EIGHT)
                    store_at(square, 8 * piece, lanes)
                transpose(square)
                place += CHUNK
                bit = 0
            store_at(planes.nodes, 8 * node, load_at(square, 8 * bit, EIGHT))
            bit += 1


@part
def gather(spans, words, place, stride, planes, chunk_count):
    """Turn the planes of the nodes in `spans`, in any order, into rows of words."""
    square, bit = planes.square, 0
    node_count = 0
    for span in range(len(spans)):
        node_count += spans[span, 1]
    for span in range(len(spans)):
        for node in range(spans[span, 0], spans[span, 0] + spans[span, 1]):
            if bit == 0:
                for word in range(len(square)):
                    square[word] = ZERO
            store_at(square, 8 * bit, load_at(planes.nodes, 8 * node, EIGHT))
            bit, node_count = bit + 1, node_count - 1
            if bit == 64 or node_count == 0:
                transpose(square)
                for piece in range(4 * chunk_count):
                    lanes = load_at(square, 8 * piece, EIGHT)
                    store_at(words, place + piece // 4 * stride + piece % 4 * 8, lanes)
                place += CHUNK
                bit = 0
