"""What the kernels read: steps on words and on planes, level by level.

Topology -> Program, by `qubonn.inference.builder`. A word holds 64 nodes of one example, a plane
one node of 512 examples. Neurons that listen to the same sources read words: XNOR and popcount. All
others, the shared filters of convolutions among them, read planes, which full adders count. Two
more kinds of step turn words into planes and back.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector

CHUNK, BLOCK = 32, 512  # examples: those of one instruction on words; those of a plane
DENSE, SLIDE, SPREAD, GATHER = range(4)

STEP = np.dtype(
    [
        ("kind", "i4"),
        ("reads_inputs", "i4"),  # whether `row` counts words of inputs or of neurons
        ("row", "i4"),  # of words to read; to write for GATHER
        ("first", "i4"),  # in `strips` or `spans`
        ("count", "i4"),  # of strips, spans or neurons
        # of DENSE only
        ("fan_in", "i4"),
        ("target_row", "i4"),
        ("first_column", "i4"),  # in `columns`; -1 for hidden neurons
        ("weight_word", "i8"),  # of the parameters; the biases follow the weights
    ]
)
STRIP = np.dtype(
    [
        ("first_offset", "i4"),
        ("fan_in", "i4"),
        ("base", "i4"),
        ("target", "i4"),
        ("length", "i4"),  # neurons in a row
        ("rows", "i4"),
        ("step", "i4"),  # from the sources of a row to those of the next
        ("column", "i4"),  # of the first neuron; -1 for hidden neurons
        ("weight_bit", "i8"),  # of the parameters
        ("bias_bit", "i8"),
    ]
)


class Tables(NamedTuple):
    """What the kernels read of a program."""

    steps: NDArray[Any]
    strips: NDArray[Any]
    offsets: NDArray[np.int32]  # sources of a strip, counted from its base
    spans: NDArray[np.int32]  # first node and length: nodes of SPREAD and GATHER in order
    columns: NDArray[np.int32]  # the output that each neuron of a DENSE step is
    opening: int  # so many steps depend on the inputs only, whatever the parameters
    node_count: int
    output_count: int
    input_row_count: int
    row_count: int  # words of neurons
    plane_count: int  # 0 where there are no planes; zeros at the end
    longest: int  # most neurons in a row of a strip
    widest: int  # largest fan-in of a strip


class Chunk(NamedTuple):
    """Words of 32 examples: the flat array that holds them, and where they begin."""

    words: NDArray[np.uint64]
    first: int


class Scratch(NamedTuple):
    """What one thread writes for a block of examples."""

    words: NDArray[np.uint64]  # of neurons
    votes: NDArray[np.uint64]  # of outputs


@dataclass(frozen=True, eq=False)
class Program:
    """Tables for the kernels, and which parameter is which bit."""

    tables: Tables
    parameter_of: IntVector  # by bit: weights by number, then biases by neuron; -1 for no parameter

    @property
    def byte_count(self) -> int:
        """Bytes of the tables."""
        return sum(part.nbytes for part in self.tables if isinstance(part, np.ndarray))
