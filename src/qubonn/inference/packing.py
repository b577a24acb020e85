"""Pack inputs and parameters into words, one bit each; a bit is set for +1.

Numbers -> PackedInputs; parameters -> words in the order of a program.
"""

from dataclasses import dataclass
from importlib import import_module
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import (
    SpinMatrix,
    require_count,
    require_matrix,
    require_real_matrix,
)
from qubonn.inference.program import CHUNK, Program
from qubonn.topology import Topology
from qubonn.topology.blocks import plane_bits, threshold_digits

Words = NDArray[np.uint64]
NUMBERS_PER_THREAD = 1_000_000  # fewer are packed before a thread has started
CACHE_LINE = 64  # bytes; vectors that straddle two of them are slow
READABLE = frozenset("bBilqfd")  # NumPy's codes of the types that the kernel reads; else signs


@dataclass(frozen=True, eq=False, repr=False)
class PackedInputs:
    """Inputs at one bit each: packed once, for any number of networks.

    >>> PackedInputs.of([[0.5, -2.0, 0.0], [1, 1, -1]])
    PackedInputs(2 examples, 3 inputs)
    """

    words: Words  # chunks of 32 examples x words of 64 inputs x examples
    example_count: int
    input_count: int

    @classmethod
    def of(cls, inputs: ArrayLike, *, thread_count: int | None = None) -> "PackedInputs":
        """Binarise real inputs by the sign rule, f(0) = -1, and pack them."""
        matrix = require_matrix("inputs", inputs, columns=None, of="input neuron")
        if thread_count is not None:
            require_count("thread_count", thread_count)
        unpacked = UnpackedInputs(matrix)
        words = aligned_zeros(-(-len(matrix) // CHUNK), -(-matrix.shape[1] // 64), CHUNK)
        share: Any = import_module("qubonn.simd.threads").share
        share(
            lambda first, end, thread: unpacked.pack(first, words[first:end]),
            len(words),
            threads_for(matrix.size, NUMBERS_PER_THREAD, thread_count),
        )
        return cls(words, *matrix.shape)

    def words_of(self, first_chunk: int, end_chunk: int) -> Words:
        """Return the words of some chunks of 32 examples."""
        return self.words[first_chunk:end_chunk]

    def __repr__(self) -> str:
        return f"PackedInputs({self.example_count:,} examples, {self.input_count:,} inputs)"


class UnpackedInputs:
    """Inputs that are packed piece by piece, as they are read."""

    def __init__(self, matrix: NDArray[Any]) -> None:
        """Accept a matrix of numbers, one row per example."""
        self.example_count, self.input_count = matrix.shape
        self._matrix = matrix
        flags, dtype = matrix.flags, matrix.dtype
        if flags.c_contiguous and flags.aligned and dtype.isnative and dtype.char in READABLE:
            self._numbers = matrix.view().reshape(-1)
        else:
            self._numbers = np.ascontiguousarray(matrix > 0).view(np.int8).reshape(-1)
        self._numbers.setflags(write=False)  # so that Numba compiles once, for read-only arrays
        self._kernel: Any = import_module("qubonn.inference._word_kernels").pack_chunks

    def words_of(self, first_chunk: int, end_chunk: int) -> Words:
        """Return the words of some chunks of 32 examples."""
        words = aligned_zeros(end_chunk - first_chunk, -(-self.input_count // 64), CHUNK)
        self.pack(first_chunk, words)
        return words

    def pack(self, first_chunk: int, words: Words) -> None:
        """Fill chunks of words; numbers that are not finite are refused."""
        if not self._kernel(self._numbers, self.input_count, first_chunk, words):
            require_real_matrix("inputs", self._matrix, columns=self.input_count, of="input neuron")


def pack_parameters(
    topology: Topology, program: Program, weight_spins: SpinMatrix, bias_spins: SpinMatrix
) -> Words:
    """Pack the parameters of networks, one row each, in the order of the program."""
    words = aligned_zeros(len(weight_spins), len(program.parameter_of) // 64)
    thresholds = threshold_digits(topology, weight_spins, bias_spins)
    for row, *bits_of in zip(words, weight_spins > 0, bias_spins > 0, thresholds, strict=True):
        planes = [plane_bits(weights, bits_of[0][None])[0] for weights in program.levelled]
        bits = np.concatenate([*bits_of, *planes, [False]])[program.parameter_of]
        row[:] = np.packbits(bits, bitorder="little").view("<u8")
    words.setflags(write=False)
    return words


def threads_for(work: int, least: int, thread_count: int | None) -> int | None:
    """Return fewer threads than allowed where each would have less than `least` to do."""
    useful = 1 + work // least
    return useful if thread_count is None else min(useful, thread_count)


def aligned_zeros(*shape: int) -> Words:
    """Return words of zero that start at a cache line."""
    room = np.zeros(prod(shape) + CACHE_LINE // 8, dtype=np.uint64)
    first = -room.ctypes.data % CACHE_LINE // 8
    return room[first : first + prod(shape)].reshape(shape)
