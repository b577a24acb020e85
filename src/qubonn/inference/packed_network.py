"""PackedNetwork: prediction in bits, by XNOR and popcount.

Topology + parameters of one network or several -> outputs and their pre-activations, equal to the
reference forward pass in every bit.  Paper, eq:activation.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import SpinMatrix, require_count, require_matrix, require_spin_matrix
from qubonn.errors import ShapeError
from qubonn.inference.packing import (
    PackedInputs,
    UnpackedInputs,
    Words,
    aligned_zeros,
    pack_parameters,
    threads_for,
)
from qubonn.inference.program import BLOCK, CHUNK, Buffers, Program, Tables, program_of
from qubonn.topology import Topology

ARCS_PER_THREAD = 10**8  # times examples; fewer are counted before a thread has started
BLOCKS_AT_ONCE = 4  # of inputs that are still in the cache when they are read
CHUNKS = BLOCK // CHUNK
has_run: set[bool] = set()  # whether kernels with planes and without are loaded


@dataclass(frozen=True, eq=False, repr=False)
class PackedNetwork:
    """A network at one bit a weight, or several networks of one topology that vote.

    Made by ``network.packed()`` and ``committee.packed()``. Inputs are numbers, binarised by the
    sign rule, or `PackedInputs`. Uses all cores unless `thread_count` is given.

    >>> topology = Topology.dense(3, 1)
    >>> packed = PackedNetwork.of(topology, np.array([[1, 1, -1]]), np.array([[-1]]))
    >>> packed.predict_outputs([[0.5, 2.0, -1.0], [1, -1, 1]])
    array([[ 1],
           [-1]], dtype=int8)
    >>> packed.output_sums([[0.5, 2.0, -1.0], [1, -1, 1]])
    array([[ 2],
           [-2]])
    """

    topology: Topology
    program: Program
    words: Words  # members x words, in the order of the program
    thread_count: int | None = None

    @classmethod
    def of(
        cls,
        topology: Topology,
        weight_spins: ArrayLike,
        bias_spins: ArrayLike,
        *,
        thread_count: int | None = None,
    ) -> "PackedNetwork":
        """Pack networks, a row of weights and a row of biases for each."""
        if thread_count is not None:
            require_count("thread_count", thread_count)
        count = topology.weight_count
        weights = require_spin_matrix("weight_spins", weight_spins, columns=count, of="weight")
        size = {"columns": topology.neuron_count, "rows": len(weights)}
        biases = require_spin_matrix("bias_spins", bias_spins, of="non-input node", **size)
        program = program_of(topology)
        words = pack_parameters(topology, program, weights, biases)
        return cls(topology, program, words, thread_count)

    @property
    def member_count(self) -> int:
        """Number of networks."""
        return len(self.words)

    @property
    def byte_count(self) -> int:
        """Bytes of memory: the bits of all parameters, up to full words, and the wiring."""
        tables = [table for table in self.program.tables if isinstance(table, np.ndarray)]
        return self.words.nbytes + sum(table.nbytes for table in tables)

    def predict_outputs(self, inputs: ArrayLike | PackedInputs) -> SpinMatrix:
        """Return output activations, one row per example: the majority of members, ties to -1."""
        return self._run(inputs, are_spins=True)[1]

    def votes(self, inputs: ArrayLike | PackedInputs) -> NDArray[np.int64]:
        """Return the sum over members of output activations, one row per example."""
        return self._run(inputs)[0]

    def output_sums(self, inputs: ArrayLike | PackedInputs) -> NDArray[np.int64]:
        """Return the sum over members of output pre-activations, one row per example."""
        return self._run(inputs, is_sums=True)[0]

    def __repr__(self) -> str:
        times = f"{self.member_count} x " if self.member_count != 1 else ""
        return f"PackedNetwork({times}{self.topology!r}, {self.byte_count:,} bytes)"

    # ---- helpers ----

    def _checked(self, inputs: ArrayLike | PackedInputs) -> PackedInputs | UnpackedInputs:
        count = self.topology.column_count
        if not isinstance(inputs, PackedInputs):
            matrix = require_matrix("inputs", inputs, columns=count, of="input neuron")
            return UnpackedInputs(matrix)
        if inputs.input_count != count:
            raise ShapeError(
                f"inputs must have {count} columns, one per input neuron; got {inputs!r}"
            )
        return inputs

    def _run(
        self,
        unchecked: ArrayLike | PackedInputs,
        *,
        is_sums: bool = False,
        are_spins: bool = False,
    ) -> tuple[NDArray[np.int64], SpinMatrix]:
        """Return votes and spins, one of them without rows; threads run a few blocks at a time."""
        inputs, columns = self._checked(unchecked), self.topology.output_count
        votes = np.empty((0 if are_spins else inputs.example_count, columns), dtype=np.int64)
        spins = np.empty((inputs.example_count if are_spins else 0, columns), dtype=np.int8)
        run_blocks: Any = import_module("qubonn.inference._word_kernels").run_blocks
        share: Any = import_module("qubonn.simd.threads").share
        tables, chunk_count = self.program.tables, -(-inputs.example_count // CHUNK)
        buffers_of: dict[int, Any] = {}

        def run(first: int, end: int, thread: int) -> None:
            if thread not in buffers_of:
                buffers_of[thread] = _new_buffers(tables)
            chunks = first * CHUNKS, min(end * CHUNKS, chunk_count)
            rows = slice(first * BLOCK, end * BLOCK)
            words, results = inputs.words_of(*chunks).reshape(-1), (votes[rows], spins[rows])
            run_blocks(tables, words, self.words, *buffers_of[thread], is_sums, *results)

        work = self.topology.arc_count * self.member_count * inputs.example_count
        threads = threads_for(work, ARCS_PER_THREAD, self.thread_count)
        share(run, -(-chunk_count // CHUNKS), threads, most_at_once=BLOCKS_AT_ONCE)
        has_run.add(bool(tables.plane_count))
        return votes, spins


def _new_buffers(tables: Tables) -> tuple[Buffers, Any]:
    """Return what one thread works with: words and votes, and planes where there are any."""
    words, votes = (aligned_zeros(rows * BLOCK) for rows in (tables.row_count, tables.output_count))
    buffers = Buffers(words, votes)
    if not tables.plane_count:
        return buffers, None
    planes: Any = import_module("qubonn.inference._plane_kernels").Planes
    return buffers, planes(
        nodes=aligned_zeros(8 * tables.plane_count),
        order=np.zeros(tables.widest + 16, dtype=np.int64),
        counters=aligned_zeros(16 * 40),
        square=aligned_zeros(64 * 8),
    )
