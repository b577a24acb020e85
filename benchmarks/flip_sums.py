"""Four implementations of ForwardAnnealing's innermost loop: add up gains where bits differ.

    python benchmarks/flip_sums.py

Every proposal sums, over the examples whose count would increase (source and weight differ: an XOR
of packed words), the cost of a step up minus that of a step down. The gains are in lanes of
float32, int32 or int16, selected by the packed word as a mask; or they are eight bit planes of
packed words (AND and popcount, each worth 2**plane). Nanoseconds of one sum on one core, best of
interleaved rounds; all four give the same sums.
"""

import time

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from printing import head, show
from qubonn.simd.vectors import choose, load, store, sum_of

SIZES = [64, 128, 512, 2_048, 10_240, 60_032]
SOURCES, ROUNDS, SPAN = 64, 7, 200


def main() -> None:
    head("examples", "float32 lanes", "int32 lanes", "int16 lanes", "8 bit planes", "int16 / best")
    for size in SIZES:
        times = measure(size)
        cells = [f"{1e9 * seconds:.0f} ns" for seconds in times]
        show(f"{size:,}", *cells, f"{times[2] / min(times):.2f}")


def measure(size: int) -> list[float]:
    generator = np.random.default_rng(0)
    blocks = size // 64
    spins = generator.integers(0, 2**63, (SOURCES, blocks), dtype=np.uint64)
    gains = generator.integers(-127, 128, (blocks, 64)).astype(np.int16)
    ways = [
        (add_floats, (spins, gains.astype(np.float32))),
        (add_integers, (spins, gains.astype(np.int32), blocks)),
        (add_integers, (spins, gains, SPAN)),
        (add_planes, (spins, planes_of(gains))),
    ]
    repeats = max(1, 2_000_000 // (SOURCES * size))
    sums = [round(way(*arguments, 1)) for way, arguments in ways]  # compiles
    assert len(set(sums)) == 1, sums
    best = [np.inf] * len(ways)
    for _ in range(ROUNDS):
        for number, (way, arguments) in enumerate(ways):
            start = time.perf_counter()
            way(*arguments, repeats)
            seconds = (time.perf_counter() - start) / (repeats * SOURCES)
            best[number] = min(best[number], seconds)
    return [float(seconds) for seconds in best]


def planes_of(gains: NDArray[np.int16]) -> NDArray[np.uint64]:
    """Gains + 128 as bit planes, planes x blocks."""
    shifted = (gains + 128).astype(np.uint8)
    planes = [np.packbits(shifted >> plane & 1, axis=1, bitorder="little") for plane in range(8)]
    return np.stack([plane.view(np.uint64)[:, 0] for plane in planes])


@njit(fastmath=True)
def add_floats(spins, gains, repeats):
    """Sum of all sums, float32 lanes."""
    zero = load(gains, 0, spins) * np.float32(0)
    lanes = np.zeros((1, gains.shape[1]), dtype=np.float32)
    grand = 0.0
    for _ in range(repeats):
        for source in range(len(spins)):
            total = zero
            for b in range(len(gains)):
                total = total + choose(spins[source, b], load(gains, b, spins), zero)
            store(lanes, 0, total)
            part = np.float32(0)
            for lane in range(lanes.shape[1]):
                part += lanes[0, lane]
            grand += part
    return grand


@njit
def add_integers(spins, gains, span, repeats):
    """Sum of all sums; after `span` blocks a lane may be full."""
    zero = load(gains, 0, spins) * 0
    grand = 0
    for _ in range(repeats):
        for source in range(len(spins)):
            for first in range(0, len(gains), span):
                part = zero
                for b in range(first, min(first + span, len(gains))):
                    part = part + choose(spins[source, b], load(gains, b, spins), zero)
                grand += sum_of(part)
    return grand


@njit
def add_planes(spins, planes, repeats):
    """Sum of all sums; the gains are 128 too large."""
    grand = 0
    for _ in range(repeats):
        for source in range(len(spins)):
            for plane in range(len(planes)):
                ones = 0
                for b in range(spins.shape[1]):
                    ones += popcount(spins[source, b] & planes[plane, b])
                grand += ones << plane
            ones = 0
            for b in range(spins.shape[1]):
                ones += popcount(spins[source, b])
            grand -= 128 * ones
    return grand


@intrinsic
def popcount(typing_context, word):
    """The number of bits set in a uint64, as int64."""

    def emit(context, builder, signature, values):
        kind = ir.FunctionType(ir.IntType(64), [ir.IntType(64)])
        count = cgutils.get_or_insert_function(builder.module, kind, "llvm.ctpop.i64")
        return builder.call(count, values)

    return types.int64(types.uint64), emit


if __name__ == "__main__":
    main()
