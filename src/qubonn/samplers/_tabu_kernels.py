"""Tabu search: flip the best variable that was not flipped lately, and remember the best state.

Neighbour lists, one state -> the lowest state on its way, in place.  Glover 1989.

Annealing by single flips stops moving where penalties are large, as in one-hot problems: at a
temperature that breaks a penalty, small costs do not count. Here the search leaves a minimum by the
cheapest flip and comes back by the best of the others, however high the penalty is.
"""

import numpy as np

from qubonn.simd.compiling import njit
from qubonn.simd.vectors import is_negative, larger
from qubonn.simd.words import load_at, store_at

WIDTH, LIKE = 16, np.zeros(1, dtype=np.uint16)  # variables that are compared at once
LOWEST = -(1 << 30)  # below every gain
MOST_BITS = 29  # of a gain


def narrowed(lists):
    """Return linear, starts, columns, couplings in int32, halved until gains have MOST_BITS."""
    sums = np.add.reduceat(np.abs(np.append(lists.couplings, 0)), lists.starts[:-1], dtype=np.int64)
    fields = np.abs(lists.linear.astype(np.int64)) + sums if len(lists.linear) else np.zeros(1)
    shift = max(int(fields.max()).bit_length() - MOST_BITS, 0)
    parts = (lists.linear >> shift, lists.couplings >> shift)
    linear, couplings = (np.ascontiguousarray(part, dtype=np.int32) for part in parts)
    return linear, lists.starts, lists.columns, couplings


@njit(nogil=True, cache=True)
def search(state, lists, step_count, tenure, seed):
    """Leave in `state` the lowest state of `step_count` steps; return by how much it is lower.

    A variable that was flipped stays for `tenure` steps and then for a random number of steps, also
    `tenure` on average, unless its flip leads below the best so far.
    """
    gains, signs, free = start_search(state, lists)
    best, last = state.copy(), np.full((2, tenure), -1)
    lowered, lowest = np.int64(0), np.int64(0)  # below the energy at the start: now, at best
    for step in range(step_count):
        seed = seed * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        top, top_free = highest(gains, free)
        if lowered + top > lowest:
            chosen = find(gains, free, top, True, seed)
        else:
            chosen = find(gains, free, top_free, False, seed)
        release(last, step, free, seed)
        lowered += gains[chosen]
        flip(chosen, state, gains, signs, lists)
        free[chosen] = 0
        last[0, step % tenure] = chosen
        if lowered > lowest:
            lowest = lowered
            best[:] = state
    state[:] = best
    return lowest


@njit
def start_search(state, lists):
    """Return gains (energy lost by each flip), signs (+1 for bit 0) and masks of free variables."""
    linear, starts, columns, couplings = lists
    count = len(state)
    size = -(-count // WIDTH) * WIDTH
    gains, free = np.full(size, LOWEST, np.int32), np.zeros(size, np.int32)
    signs = np.ones(size, np.int32)
    for i in range(count):
        field = linear[i]
        for k in range(starts[i], starts[i + 1]):
            field += couplings[k] * state[columns[k]]
        signs[i] = 1 - 2 * state[i]
        gains[i] = -signs[i] * field
        free[i] = -1
    return gains, signs, free


@njit
def release(last, step, free, seed):
    """Free a variable: the oldest takes a random place in the second row, whose owner is freed."""
    tenure = last.shape[1]
    place = np.int64(seed >> np.uint64(33)) % tenure
    owner, last[1, place] = last[1, place], last[0, step % tenure]
    last[0, step % tenure] = -1
    if owner >= 0:
        free[owner] = -1


@njit
def highest(gains, free):
    """Return the highest gain of all variables, and of the free ones."""
    top = load_at(gains, 0, LIKE)
    top_free = top * 0 + LOWEST
    for place in range(0, len(gains), WIDTH):
        gain, mask = load_at(gains, place, LIKE), load_at(free, place, LIKE)
        top = larger(top, gain)
        top_free = larger(top_free, (gain & mask) | ((mask ^ -1) & LOWEST))
    found = np.empty(2 * WIDTH, np.int32)
    store_at(found, 0, top)
    store_at(found, WIDTH, top_free)
    return found[:WIDTH].max(), found[WIDTH:].max()


@njit
def find(gains, free, top, is_any, seed):
    """Return a variable with this gain; of several the first after a random place."""
    chunks = len(gains) // WIDTH
    chunk = np.int64(seed >> np.uint64(33)) % chunks
    for _ in range(chunks):
        gain = load_at(gains, chunk * WIDTH, LIKE)
        if is_negative((gain * 0 + (top - 1)) - gain):
            for i in range(chunk * WIDTH, chunk * WIDTH + WIDTH):
                if gains[i] == top and (is_any or free[i]):
                    return i
        chunk = chunk + 1 if chunk + 1 < chunks else 0
    return 0  # all variables were flipped lately, which a short tenure excludes


@njit
def flip(chosen, state, gains, signs, lists):
    """Flip a variable and bring the gains of its neighbours up to date."""
    _, starts, columns, couplings = lists
    sign = signs[chosen]
    for entry in range(starts[chosen], starts[chosen + 1]):
        k = np.uint64(entry)
        j = np.uint64(columns[k])
        gains[j] -= signs[j] * sign * couplings[k]
    gains[chosen] = -gains[chosen]
    signs[chosen] = -sign
    state[chosen] = 1 - state[chosen]
