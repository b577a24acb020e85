"""A team: threads that run one kernel together, each on its own part of the examples.

Sums over parts -> sums over all examples, the same in every thread.

All members make the same decisions from the same sums of integers, so the result does not depend on
their number. They wait for each other at every sum, for less than a microsecond if each of them has
a core.
"""

import sys
import time
from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numpy.typing import NDArray

from qubonn.simd.compiling import inlined, part
from qubonn.simd.vectors import define

MOST_SUMS = 39  # that are added up together
LINE = 40  # numbers in whole cache lines: the sums of a member, then its turn
WORDS = 8  # in a cache line
PATIENCE = 1_000_000  # looks at another member's turn, about 1 ms, before the thread sleeps


class Team(NamedTuple):
    """One member of a team, and what it shares with the others."""

    first: int  # its blocks of examples
    last: int
    rank: int
    sums: NDArray[np.int64]  # its own
    turn: NDArray[np.int64]  # its own: how often sums were added up
    lines: NDArray[np.int64]  # (turn even or odd, member) x line


def team_of(block_count: int, size: int) -> list[Team]:
    """Return the members of a team that share blocks evenly, in whole cache lines if possible.

    >>> [(member.first, member.last) for member in team_of(40, 2)]
    [(0, 16), (16, 40)]
    """
    room = np.zeros(2 * size * LINE + WORDS, dtype=np.int64)
    start = -room.ctypes.data % (8 * WORDS) // 8
    lines = room[start : start + 2 * size * LINE].reshape(-1, LINE)
    parts = block_count // WORDS
    ends = [parts * rank // size * WORDS for rank in range(size)] + [block_count]
    return [
        Team(
            ends[rank], ends[rank + 1], rank, np.zeros(LINE, np.int64), np.zeros(1, np.int64), lines
        )
        for rank in range(size)
    ]


@part
def add_up(team, count):
    """Add the first `count` sums of all members, in each of them.

    There are two lines for what a member gives: it comes back to the first when all others have
    read the second.
    """
    lines, sums, size = team.lines, team.sums, len(team.lines) // 2
    if size > 1:
        turn = team.turn[0] + 1
        team.turn[0] = turn
        first = (turn & 1) * size
        for number in range(count):
            lines[first + team.rank, number] = sums[number]
        publish(lines, first + team.rank, turn)
        for rank in range(size):
            if rank != team.rank:
                looks = 0
                while looked_up(lines, first + rank) != turn:
                    looks += 1
                    if looks > PATIENCE:
                        make_room()
                for number in range(count):
                    sums[number] += lines[first + rank, number]


@inlined
def in_all(team, one):
    """Return the sum of a number over all members."""
    if len(team.lines) > 2:
        team.sums[0] = one
        add_up(team, 1)
        one = team.sums[0]
    return one


# ---- without the compiler ----------------------------------------------------------------------


def publish(lines, row, turn):
    """Set the turn of a line, after all that was written to it before."""
    lines[row, MOST_SUMS] = turn


def looked_up(lines, row):
    """Return the turn of a line; what was written to it before can then be read."""
    return int(lines[row, MOST_SUMS])


def make_room():
    """Sleep for a moment: the thread that is waited for may need this core."""
    time.sleep(1e-5)


# ---- for the compiler --------------------------------------------------------------------------


def _pointer(context, builder, signature, values):
    matrix = context.make_array(signature.args[0])(context, builder, values[0])
    row = context.cast(builder, values[1], signature.args[1], types.intp)
    first = builder.mul(row, ir.Constant(row.type, LINE))
    return builder.gep(matrix.data, [builder.add(first, ir.Constant(row.type, MOST_SUMS))])


@define(publish, lambda lines, row, turn: types.none, types.Array, types.Integer, types.Integer)
def _(context, builder, signature, values):
    turn = context.cast(builder, values[2], signature.args[2], types.int64)
    builder.store_atomic(turn, _pointer(context, builder, signature, values), "release", 8)
    return context.get_dummy_value()


@define(looked_up, lambda lines, row: types.int64, types.Array, types.Integer)
def _(context, builder, signature, values):
    return builder.load_atomic(_pointer(context, builder, signature, values), "acquire", 8)


@define(make_room, lambda: types.none)
def _(context, builder, signature, values):
    name, arguments = "usleep", [ir.Constant(ir.IntType(32), 10)]
    if sys.platform == "win32":
        name, arguments = "SwitchToThread", []
    kind = ir.FunctionType(ir.IntType(32), [value.type for value in arguments])
    builder.call(cgutils.get_or_insert_function(builder.module, kind, name), arguments)
