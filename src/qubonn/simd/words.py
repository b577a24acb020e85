"""Bits in lanes: popcounts, full adders, transposes, and the signs of 64 numbers as one word.

Any part of a flat array <-> lanes; words -> counts; numbers -> a word. Without the compiler lanes
are NumPy arrays, as in `qubonn.simd.vectors`.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils

from qubonn.simd.compiling import njit
from qubonn.simd.vectors import Lanes, _vectors, call_llvm, define, define_access, define_unary

EIGHT = np.zeros(1, dtype=np.uint8)  # as `like`: eight lanes
HALVES = np.array([((1 << 64) - 1) // ((1 << n) + 1) for n in (32, 16, 8, 4, 2, 1)], np.uint64)


@njit(inline="always")
def full_adder(a, b, c):
    """Add three bits in every place: return the sum's low bit and the carry, (a + b + c) >> 1.

    The carry is written so that LLVM shares work with the sum and finds three-operand logic.
    """
    return a ^ b ^ c, ((a ^ c) & (b ^ c)) ^ c


# ---- without the compiler ----------------------------------------------------------------------


def load_at(array, place, like):
    """Return the lanes of a flat array from `place` on; an element of `like` has a bit for each."""
    return array[place : place + like.dtype.itemsize * 8].copy()


def store_at(array, place, lanes):
    """Write lanes to a flat array from `place` on."""
    array[place : place + len(lanes)] = lanes


def repeated(word, like):
    """Return lanes that all hold a uint64; an element of `like` has a bit for each lane."""
    return np.full(like.dtype.itemsize * 8, word, dtype=np.uint64)


def ones_of(lanes):
    """Return the number of set bits in each uint64 lane."""
    return np.bitwise_count(lanes).astype(np.uint64)


def positive(lanes):
    """Return a uint64 whose bits are set where one of 64 lanes is positive."""
    return np.packbits(lanes > 0, bitorder="little").view("<u8")[0]


def finite(lanes):
    """Return whether no lane is infinite or NaN."""
    return bool(np.isfinite(lanes).all())


# ---- for the compiler --------------------------------------------------------------------------


define_access(load_at, store_at, is_by_row=False)


@define(
    repeated,
    lambda word, like: Lanes(types.uint64, like.dtype.bitwidth),
    types.Integer,
    types.Array,
)
def _(context, builder, signature, values):
    lanes = signature.return_type
    return _vectors(context, builder, lanes, signature.args[:1], values[:1])[0]


@define_unary(ones_of, lambda lanes: lanes)
def _(builder, lanes, vector):
    return call_llvm(builder, f"llvm.ctpop.v{lanes.count}i64", vector.type, [vector])


@define_unary(positive, lambda lanes: types.uint64)
def _(builder, lanes, vector):
    zero = ir.Constant(vector.type, None)
    if isinstance(lanes.element, types.Float):
        flags = builder.fcmp_ordered(">", vector, zero)
    elif lanes.element.signed:
        flags = builder.icmp_signed(">", vector, zero)
    else:
        flags = builder.icmp_unsigned(">", vector, zero)
    return builder.bitcast(flags, ir.IntType(64))


@define_unary(finite, lambda lanes: types.boolean)
def _(builder, lanes, vector):
    if not isinstance(lanes.element, types.Float):
        return cgutils.true_bit
    difference = builder.fsub(vector, vector)  # NaN unless finite
    flags = builder.fcmp_unordered("uno", difference, difference)
    bits = builder.bitcast(flags, ir.IntType(lanes.count))
    return builder.icmp_unsigned("==", bits, ir.Constant(bits.type, 0))


# ---- squares of bits ----------------------------------------------------------------------------


@njit(cache=True)
def transpose(square):
    """Transpose eight squares of 64 x 64 bits in place: row r of square n is word 8 * r + n."""
    width = 32
    for half in HALVES:
        for row in range(64):
            if row & width == 0:
                upper = load_at(square, 8 * row, EIGHT)
                lower = load_at(square, 8 * (row + width), EIGHT)
                swap = ((upper >> np.uint64(width)) ^ lower) & half
                store_at(square, 8 * row, upper ^ (swap << np.uint64(width)))
                store_at(square, 8 * (row + width), lower ^ swap)
        width >>= 1
