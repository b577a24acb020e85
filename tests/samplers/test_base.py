import numpy as np

import qubonn as qn
from qubonn.samplers.base import descend
from qubonn.testing.sampler_contract import random_qubo


def test_refined_states_are_local_minima_and_distinct_and_lowest_keep_rows() -> None:
    qubo = random_qubo(30, 0)
    plain = qn.SimulatedAnnealing(replica_count=40, sweep_count=3, polish=False)
    before = plain.sample(qubo, seed=1)
    refined = qn.Refined(plain).sample(qubo, seed=1)
    assert refined.energies.sum() < before.energies.sum()
    flips = refined.best ^ np.eye(30, dtype=np.int8)
    assert (qubo.energy(flips) >= refined.best_energy).all()
    repeated = qn.SimulatedAnnealing(replica_count=40, sweep_count=500)
    distinct = repeated.sample(random_qubo(5, 0), seed=1).distinct()
    assert len({row.tobytes() for row in distinct.bits}) == len(distinct) < 40
    assert len(plain.sample(qubo, seed=1).lowest(7)) == 7
    start = np.zeros((40, 30), dtype=np.int8)
    frozen = qn.SimulatedAnnealing(replica_count=40, sweep_count=1, hottest=1e-9, coldest=1e-9)
    assert len(qn.Refined(frozen).sample(qubo, initial_states=start).distinct()) == 1


def test_descent_ends_where_no_flip_lowers_the_energy_and_equals_its_twin() -> None:
    qubo = random_qubo(25, 3)
    starts = np.random.default_rng(0).integers(0, 2, (20, 25), dtype=np.int8)
    found = descend(qubo, starts)
    for start, end in zip(starts, found, strict=True):
        state = start.copy()
        while True:
            flips = state ^ np.eye(25, dtype=np.int8)
            energies = qubo.energy(flips)
            if energies.min() >= qubo.energy(state):
                break
            state = flips[np.argmin(energies)]
        assert np.array_equal(end, state)
