"""Annealing of dense QUBOs: the sweeps of `_kernels` with couplings as a full matrix.

Full matrix, packed states, fields, random streams, temperatures -> the same, advanced, in place.

The fields of a replica lie side by side, and so do the couplings of a variable: a flip adds one row
to another, many numbers in an instruction, and costs nothing for the replicas that do not flip. A
block is 16 replicas, whose thresholds are drawn together. Draws, order and arithmetic are those of
`_kernels`, so the same states come out, bit for bit.
"""

import numpy as np

from qubonn.simd.compiling import njit
from qubonn.simd.streams import accept, load_generator, store_generator, threshold_scale
from qubonn.simd.vectors import choose, load_column
from qubonn.simd.words import load_at, store_at

LANES = 16  # more would leave the fastest cache
WIDTH, LIKE = 32, np.zeros(1, dtype=np.uint32)  # numbers of a row that are added at once


def full_matrix(lists):
    """Return the couplings of neighbour lists as a full matrix, rows padded to whole vectors."""
    count = len(lists.linear)
    matrix = np.zeros((count, -(-count // WIDTH) * WIDTH), lists.couplings.dtype)
    rows = np.repeat(np.arange(count), np.diff(lists.starts))
    matrix[rows, lists.columns] = lists.couplings
    return matrix


@njit(nogil=True, cache=True)
def anneal_dense(fields, states, energies, generators, order, linear, matrix, temperatures):
    """Advance all blocks by one sweep a temperature, as `_kernels.anneal_all` does.

    `fields` (blocks x lanes x variables) are those of the states before and after.
    """
    for block in range(len(states)):
        sweep_dense(fields[block], states[block], generators[block], order, matrix, temperatures)
        for lane in range(LANES):
            energies[block, lane] = energy_of(fields[block, lane], states[block], linear, lane)


@njit
def sweep_dense(fields, states, generator, order, matrix, temperatures):
    """Propose each variable once a temperature; keep fields, lanes x variables, up to date."""
    stream = load_generator(generator, states)
    for temperature in temperatures:
        scale = threshold_scale(temperature)
        for variable in order:
            i = np.uint64(variable)
            state = states[i]
            field = load_column(fields, i, states)
            step = choose(state, field * 0 - 1, field * 0 + 1)
            accepted, stream = accept(step * field, stream, scale)
            if accepted:
                states[i] = state ^ accepted
                for lane in range(LANES):
                    if (accepted >> lane) & 1:
                        add_row(fields[lane], matrix[i], (state >> lane) & 1)
    store_generator(generator, stream)


@njit
def add_row(field, row, is_falling):
    """Add the couplings of a bit that rose, or subtract those of one that fell."""
    if is_falling:
        for place in range(0, len(row), WIDTH):
            store_at(field, place, load_at(field, place, LIKE) - load_at(row, place, LIKE))
    else:
        for place in range(0, len(row), WIDTH):
            store_at(field, place, load_at(field, place, LIKE) + load_at(row, place, LIKE))


@njit(nogil=True, cache=True)
def set_dense_fields(fields, states, linear, matrix):
    """Set the fields of all blocks from their states."""
    for block in range(len(states)):
        for lane in range(LANES):
            fields[block, lane, : len(linear)] = linear
            for i in range(len(linear)):
                if (states[block, i] >> lane) & 1:
                    add_row(fields[block, lane], matrix[i], 0)


@njit
def energy_of(field, states, linear, lane):
    """Return a lane's energy: a set bit counts its linear term and half of its couplings."""
    twice = np.int64(0)
    for i in range(len(linear)):
        if (states[i] >> lane) & 1:
            twice += np.int64(field[i]) + np.int64(linear[i])
    return twice // 2
