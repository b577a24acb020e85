import time
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import qubonn as qn
from qubonn.samplers import _kernels, _tabu_kernels
from qubonn.samplers.polishing import TabuSearch
from qubonn.samplers.replicas import PackedQubo, random_states
from qubonn.stopping import Watch
from qubonn.testing.sampler_contract import random_qubo

tabu: Any = _tabu_kernels
kernels: Any = _kernels


@pytest.mark.parametrize("whole", [True, False])
def test_gains_stay_those_of_the_state_after_flips(whole: bool) -> None:
    qubo = random_qubo(30, 3, whole=whole)
    packed = kernels.whole_lists(*qubo.neighbour_lists())
    lists = tabu.narrowed(packed)
    state = random_states(qubo, 1, seed=0)[0]
    gains, signs, free = tabu.start_search(state, lists)
    for chosen in (3, 17, 3, 29):
        tabu.flip(chosen, state, gains, signs, lists)
    fresh: NDArray[np.int32] = tabu.start_search(state, lists)[0]
    assert np.array_equal(gains, fresh)
    assert np.abs(gains[:30]).max() < 1 << 30
    if whole:
        changes = qubo.energy(state ^ np.eye(30, dtype=np.int8)) - qubo.energy(state)
        assert np.array_equal(-gains[:30] * packed.unit, changes)
    assert tabu.highest(gains, free) == (gains[:30].max(), gains[:30].max())


def test_a_search_returns_the_lowest_state_of_its_way_and_by_how_much() -> None:
    qubo = random_qubo(60, 2)
    lists = tabu.narrowed(kernels.whole_lists(*qubo.neighbour_lists()))
    for seed, start in enumerate(random_states(qubo, 20, seed=1)):
        state = start.copy()
        lowered = tabu.search(state, lists, 200, 5, np.uint64(seed))
        assert qubo.energy(state) == qubo.energy(start) - lowered
        assert lowered >= 0


@pytest.mark.parametrize("size", [1, 2, 18])
def test_searches_find_the_minimum_of_small_problems(size: int) -> None:
    qubo = random_qubo(size, 5)
    search = TabuSearch(PackedQubo(qubo), seed=0)
    found = search.improved(random_states(qubo, 8, seed=0), 2000)
    assert qubo.energy(found).min() == qn.Exhaustive().sample(qubo).best_energy


def test_a_search_ends_in_time_and_repeats_itself_without_a_clock() -> None:
    qubo = random_qubo(100, 0)
    problem, states = PackedQubo(qubo), random_states(qubo, 4, seed=0)
    first, second = (TabuSearch(problem, seed=3).improved(states, 500) for _ in range(2))
    assert np.array_equal(first, second)
    start = time.perf_counter()
    found, stop = TabuSearch(problem, 0).improved_until(states, start + 0.3, Watch(time_limit=9))
    assert time.perf_counter() - start < 0.3 + 0.5
    assert stop is None
    assert (qubo.energy(found) <= qubo.energy(states)).all()
