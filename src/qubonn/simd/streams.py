"""Replicas in lanes: bits as masks, a random stream for each lane, Metropolis thresholds.

Bits <-> masks; seeds -> streams -> thresholds. The draws of a lane depend on its own seed only.
"""

import numpy as np

from qubonn.simd.compiling import inlined, kernel, part
from qubonn.simd.vectors import as_bits, as_float, at_most, fused, load, store, to_float
from qubonn.simd.words import store_at


def lane_count_for(replica_count, thread_count):
    """Return the fastest number of lanes: 64, or fewer if some threads would be idle."""
    share = -(-replica_count // max(thread_count, 1))
    return 16 if share <= 16 else 32 if share <= 32 else 64


def pack_states(bits, lane_count):
    """Turn bits, replicas x variables, into masks, blocks x variables: lane r is bit r of a mask.

    Unused lanes of the last block are zero.
    """
    replica_count, variable_count = bits.shape
    block_count = -(-replica_count // lane_count)
    lanes = np.zeros((block_count * lane_count, variable_count), dtype=np.uint8)
    lanes[:replica_count] = bits
    lanes = lanes.reshape(block_count, lane_count, variable_count)
    bytes_ = np.packbits(lanes, axis=1, bitorder="little").transpose(0, 2, 1)
    masks = np.ascontiguousarray(bytes_).view(f"<u{lane_count // 8}")
    return masks.reshape(block_count, variable_count)


def unpack_states(states, replica_count):
    """Turn masks, blocks x variables, back into int8 bits, replicas x variables."""
    block_count, variable_count = states.shape
    lane_count = states.dtype.itemsize * 8
    bytes_ = states.view(np.uint8).reshape(block_count, variable_count, lane_count // 8)
    bits = np.unpackbits(bytes_.transpose(0, 2, 1), axis=1, bitorder="little")
    bits = bits.reshape(block_count * lane_count, variable_count)
    return bits[:replica_count].astype(np.int8)


def start_generators(seeds, lane_count):
    """Turn a uint64 seed for each replica into xoshiro128+ streams, blocks x 4 words x lanes."""
    block_count = -(-len(seeds) // lane_count)
    padded = np.zeros(block_count * lane_count, dtype=np.uint64)
    padded[: len(seeds)] = seeds
    words = np.stack([_splitmix(padded, step) for step in (1, 2)], axis=1)  # never both zero
    halves = words.view(np.uint32).reshape(block_count, lane_count, 4)
    return np.ascontiguousarray(halves.transpose(0, 2, 1))


def _splitmix(seeds, step):
    """Output number `step` of splitmix64, the usual way to seed a xoshiro generator."""
    z = seeds + np.uint64(step * 0x9E3779B97F4A7C15 % 2**64)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


# ---- thresholds --------------------------------------------------------------------------------

LN2 = np.float32(np.log(2.0))
HOTTEST = 1e30  # in units of energy; float32 must hold some 200 times this
# A minimax polynomial for m - 1 - log2(m), m in [1, 2), accurate to 1.3e-5. Its constant also
# holds 158, for the float's exponent (127) and the 31 bits of a draw, and 3e-5 so that rounding
# makes no threshold negative: a change of energy of 0 is always accepted.
C0, C1, C2, C3, C4, C5 = (
    np.float32(value)
    for value in (159.80040, -4.0917108, 3.5507929, -1.6311488, 0.41656369, -0.044873610)
)


@inlined
def threshold_scale(temperature):
    """Return T ln 2, the scale of `threshold`, as float32."""
    return np.float32(temperature if temperature < HOTTEST else HOTTEST) * LN2


@inlined
def threshold(draw, scale):
    """Return -T ln(u), u = odd / 2**31, for 31 random bits a lane.

    Acceptance probabilities are within 5e-5 of exp(-dE/T). The bits of a float, read as an integer,
    are a piecewise linear logarithm; a polynomial in the mantissa m corrects it.
    """
    bits = as_bits(to_float((draw >> 1) | 1))
    m = as_float((bits & 0x007FFFFF) | 0x3F800000)
    bend = fused(m, C5 * scale, C4 * scale)
    bend = fused(m, bend, C3 * scale)
    bend = fused(m, bend, C2 * scale)
    bend = fused(m, bend, C1 * scale)
    bend = fused(m, bend, C0 * scale)
    return fused(to_float(bits), np.float32(-(2.0**-23)) * scale, bend)


@inlined
def next_random(stream):
    """Return 32 random bits a lane and the next state of xoshiro128+ (Blackman and Vigna)."""
    a, b, c, d = stream
    draw = a + d
    shifted = b << 9
    c = c ^ a
    d = d ^ b
    b = b ^ c
    a = a ^ d
    c = c ^ shifted
    d = (d << 11) | (d >> 21)
    return draw, (a, b, c, d)


@inlined
def accept(change, stream, scale):
    """Return a mask of the lanes that accept a change of energy (Metropolis), and the new stream.

    A lane accepts if the change is at most a threshold -T ln(u), u uniform.
    """
    draw, stream = next_random(stream)
    return at_most(to_float(change), threshold(draw, scale)), stream


@inlined
def load_generator(generator, states):
    """Return the four words of every lane's stream."""
    return (
        load(generator, 0, states),
        load(generator, 1, states),
        load(generator, 2, states),
        load(generator, 3, states),
    )


@inlined
def store_generator(generator, stream):
    """Write the four words of every lane's stream."""
    for word in range(4):
        store(generator, word, stream[word])


@part
def next_thresholds(thresholds, count, states, generator, temperature):
    """Fill a flat array with `count` of the next thresholds of a block's streams, float32.

    Whole rows of lanes are drawn. Only the type of `states` matters. The generator advances.
    """
    stream = load_generator(generator, states)
    scale = threshold_scale(temperature)
    for first in range(0, count, generator.shape[1]):
        draw, stream = next_random(stream)
        store_at(thresholds, first, threshold(draw, scale))
    store_generator(generator, stream)


@kernel
def draw_thresholds(thresholds, states, generator, temperature):
    """Fill a matrix, rows x lanes, with the next thresholds of a block's streams."""
    for row in range(len(thresholds)):
        next_thresholds(thresholds[row], generator.shape[1], states, generator, temperature)
