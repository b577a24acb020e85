"""Metropolis annealing of many replicas side by side, one in each lane of a vector register.

Neighbour lists, packed states, random streams, temperatures -> states and energies, in place.

A block is 16, 32 or 64 replicas that walk through the variables together, in one fixed order. For
variable i the kernel loads the local fields of all lanes at once, draws a threshold for each lane
and gets a mask of the lanes that accept. If any does, it adds to each neighbour's fields in one go.
Every lane is a plain sequential Metropolis chain with its own random stream: the result of a
replica depends on its own start and seed only, not on its block, the block size or the threads.

Everything but the thresholds is an integer, so nothing drifts and slices of sweeps may be cut
anywhere. The vector type is that of `qubonn.simd`; without the compiler (NUMBA_DISABLE_JIT=1)
lanes are NumPy arrays and the same kernels run unchanged, with the same results.
"""

from typing import NamedTuple

import numpy as np

from qubonn.simd.compiling import njit
from qubonn.simd.streams import accept, load_generator, store_generator, threshold_scale
from qubonn.simd.vectors import choose, load, store

DESCENT = -1e-3  # in units: thresholds lie between -1 and 0, where no change of energy is

LARGE, WINDOW = 20_000, 4096  # variables

# ---- between QUBOs and kernels -----------------------------------------------------------------


class WholeLists(NamedTuple):
    """Neighbour lists in whole multiples of `unit`, in the narrowest integers that hold all fields.

    Divide temperatures for the kernels by `unit`, multiply energies from the kernels by it.
    """

    linear: np.ndarray
    starts: np.ndarray
    columns: np.ndarray
    couplings: np.ndarray
    unit: float


def whole_lists(linear, starts, columns, couplings):
    """Return the lists of `Qubo.neighbour_lists` as int16 if that keeps them exactly, else int32.

    The unit is the finest power of two for which all fields fit; for whole numbers, also those kept
    as floats, it is at least 1. So whole numbers are kept exactly while fields stay below 2**31;
    others are rounded to about 2**-31 of the largest field, finer than float32 would.
    """
    for dtype in (np.int16, np.int32):
        *whole, unit = _in_units(linear, starts, couplings, dtype)
        if (whole[0] * unit == linear).all() and (whole[1] * unit == couplings).all():
            break
    return WholeLists(whole[0], starts, columns, whole[1], unit)


def _in_units(linear, starts, couplings, dtype):
    """Return linear and couplings as multiples of the finest power of two that fits, and that."""
    sums = np.concatenate([[0.0], np.cumsum(np.abs(couplings, dtype=np.float64))])
    fields = np.abs(linear, dtype=np.float64) + sums[starts[1:]] - sums[starts[:-1]]
    largest = float(fields.max(initial=0.0))
    term_count = 1 + np.diff(starts).max(initial=0)
    room = max(1, np.iinfo(dtype).max - term_count)  # each term of a field may be rounded up
    unit = 2.0 ** np.ceil(np.log2(largest / room)) if largest > 0 else 1.0
    is_whole = linear.dtype.kind == "i" or all(
        (values == np.rint(values)).all() for values in (linear, couplings)
    )
    finest = 1.0 if is_whole else 2.0**-900  # 2**-1074 is the smallest float64
    unit = max(float(unit), finest)
    return *(np.rint(values / unit).astype(dtype) for values in (linear, couplings)), unit


def sweep_order(variable_count):
    """Return a fixed, shuffled order in which to propose variables.

    On the paper's networks mean final energies are 3 % lower than in the order of the variables and
    6 % lower than with a fresh order each sweep; going back and forth is far worse than either.
    Many variables are shuffled in windows, so that their fields are in the cache together.
    """
    generator = np.random.default_rng(0)
    if variable_count < LARGE:
        return generator.permutation(variable_count).astype(np.uint32)
    order = np.arange(variable_count, dtype=np.uint32)
    for first in range(0, variable_count, WINDOW):
        generator.shuffle(order[first : first + WINDOW])
    return order


# ---- kernels -----------------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def anneal_all(states, energies, generators, order, lists, temperatures):
    """Advance all blocks by one sweep a temperature; states, energies and generators in place.

    Each row of `states` (blocks x variables) is a block; `energies` (blocks x lanes, int64) are set
    to the energies at the end, without offset. A sweep proposes the variables in the given `order`.
    Cutting `temperatures` into slices changes nothing, but each call costs one or two sweeps more.
    At the temperature `DESCENT` a replica accepts what lowers its energy, and nothing else.
    """
    for block in range(len(states)):
        anneal_block(states[block], energies[block], generators[block], order, lists, temperatures)


@njit(cache=True)
def anneal_block(states, energies, generator, order, lists, temperatures):
    """Advance one block by one sweep a temperature: the sequential core of `anneal_all`."""
    fields = aligned_fields(lists.linear, len(energies))
    set_fields(fields, states, lists)
    sweep_block(fields, states, generator, order, lists, temperatures)
    set_energies(energies, fields, states, lists.linear)


@njit(cache=True)
def sweep_block(fields, states, generator, order, lists, temperatures):
    """Propose each variable once a temperature; keep fields, variables x lanes, up to date."""
    starts, columns, couplings = lists.starts, lists.columns, lists.couplings
    stream = load_generator(generator, states)
    for temperature in temperatures:
        scale = threshold_scale(temperature)
        for variable in order:
            i = np.uint64(variable)  # unsigned: no check for indices from the end
            state = states[i]
            field = load(fields, i, states)
            step = choose(state, field * 0 - 1, field * 0 + 1)
            accepted, stream = accept(step * field, stream, scale)
            if accepted:
                states[i] = state ^ accepted
                move = choose(accepted, step, step * 0)
                add_to_neighbours(fields, i, move, states, starts, columns, couplings)
    store_generator(generator, stream)


@njit(inline="always")
def add_to_neighbours(fields, i, move, states, starts, columns, couplings):
    """Add each neighbour's coupling to its fields where bit i rose, subtract it where it fell."""
    for entry in range(starts[i], starts[i + np.uint64(1)]):
        k = np.uint64(entry)
        j = np.uint64(columns[k])
        store(fields, j, load(fields, j, states) + move * couplings[k])


@njit
def set_fields(fields, states, lists):
    """Set the local field of every variable and lane: linear plus the couplings to set bits."""
    starts, columns, couplings = lists.starts, lists.columns, lists.couplings
    for variable in range(len(states)):
        fields[variable, :] = lists.linear[variable]
    for variable in range(len(states)):
        i = np.uint64(variable)
        zero = load(fields, i, states) * 0
        risen = choose(states[i], zero + 1, zero)
        add_to_neighbours(fields, i, risen, states, starts, columns, couplings)


@njit
def set_energies(energies, fields, states, linear):
    """Set each lane's energy: a set bit counts its linear term and half of its couplings."""
    energies[:] = 0
    for variable in range(len(states)):
        for lane in range(len(energies)):
            bit = (np.uint64(states[variable]) >> np.uint64(lane)) & np.uint64(1)
            twice = np.int64(fields[variable, lane]) + np.int64(linear[variable])
            energies[lane] += np.int64(bit) * twice
    for lane in range(len(energies)):
        energies[lane] //= 2


@njit
def aligned_fields(linear, lane_count):
    """Return memory for fields, variables x lanes, that starts at a cache line.

    A row that straddles two lines costs up to twice the time.
    """
    spare = 64 // linear.itemsize
    raw = np.empty(len(linear) * lane_count + spare, linear.dtype)
    first = (-raw.ctypes.data % 64) // linear.itemsize
    return raw[first : first + len(linear) * lane_count].reshape(len(linear), lane_count)


# ---- steepest descent --------------------------------------------------------------------------


@njit(nogil=True, cache=True)
def descend_all(states, linear, starts, columns, couplings):
    """Descend from each row of `states` in place."""
    for replica in range(len(states)):
        descend_one(states[replica], linear, starts, columns, couplings)


@njit(cache=True)
def descend_one(state, linear, starts, columns, couplings):
    """Flip the bit that lowers the energy most, until none does; the lowest number wins ties."""
    count = len(state)
    field = linear.copy()  # energy of bit = 1 minus bit = 0, the others as they are
    for row in range(count):
        for place in range(starts[row], starts[row + 1]):
            if state[columns[place]]:
                field[row] += couplings[place]
    while True:
        chosen = -1
        lowest = field.dtype.type(0)
        for row in range(count):
            change = -field[row] if state[row] else field[row]
            if change < lowest:
                lowest = change
                chosen = row
        if chosen < 0:
            return
        state[chosen] = 1 - state[chosen]
        sign = 1 if state[chosen] else -1
        for place in range(starts[chosen], starts[chosen + 1]):
            field[columns[place]] += sign * couplings[place]
