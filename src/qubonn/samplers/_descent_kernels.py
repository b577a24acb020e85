"""Numba kernels of steepest descent; the typed face is `qubonn.samplers.refining`.

Arguments are `Qubo.neighbour_lists`: linear, starts, columns, couplings.
"""

from numba import njit, prange


@njit(parallel=True, cache=True)
def descend_all(states, linear, starts, columns, couplings):
    """Descend from each row of `states` in place."""
    for replica in prange(len(states)):
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
