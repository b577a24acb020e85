import time

import numpy as np
import pytest

import qubonn as qn
from qubonn.testing.sampler_contract import random_qubo


def one_hot(size: int, seed: int) -> qn.Qubo:
    """A permutation with penalties a hundred times its costs: where penalties hide small costs."""
    generator, count = np.random.default_rng(seed), size * size
    cell = np.arange(count).reshape(size, size)
    rows, columns, values = [np.arange(count)], [np.arange(count)], [np.full(count, -2000)]
    for line in (*cell, *cell.T):
        one, other = np.triu_indices(size, 1)
        rows, columns = [*rows, line[one]], [*columns, line[other]]
        values = [*values, np.full(len(one), 2000)]
    one, other = np.triu_indices(count, 1)
    rows, columns = [*rows, one], [*columns, other]
    values = [*values, generator.integers(0, 20, len(one))]
    return qn.Qubo.of(
        np.concatenate(rows), np.concatenate(columns), np.concatenate(values), variable_count=count
    )


def sparse(variable_count: int) -> qn.Qubo:
    generator = np.random.default_rng(0)
    rows, columns = generator.integers(0, variable_count, (2, 2 * variable_count))
    values = generator.choice([-1, 1], 2 * variable_count)
    return qn.Qubo.of(rows, columns, values, variable_count=variable_count)


def test_samples_are_local_minima_by_default_and_never_worse_than_without_polish() -> None:
    qubo = random_qubo(30, 0)
    plain, polished = (
        qn.SimulatedAnnealing(replica_count=40, sweep_count=3, polish=polish).sample(qubo, seed=1)
        for polish in (False, None)
    )
    assert (polished.energies <= plain.energies).all()
    for state, energy in zip(polished.bits, polished.energies, strict=True):
        assert (qubo.energy(state ^ np.eye(30, dtype=np.int8)) >= energy).all()


def test_given_temperatures_are_not_polished_unless_asked_for() -> None:
    given = {"replica_count": 20, "sweep_count": 2, "hottest": 50.0, "coldest": 50.0}
    assert not qn.SimulatedAnnealing(**given).is_polishing  # type: ignore[arg-type]
    assert qn.SimulatedAnnealing(**given, polish=True).is_polishing  # type: ignore[arg-type]
    assert qn.SimulatedAnnealing(hottest=50.0).is_polishing


def test_costs_below_penalties_are_minimised_by_default() -> None:
    qubo = one_hot(7, 0)
    best = qn.SimulatedAnnealing().sample(qubo, seed=0)
    alone = qn.SimulatedAnnealing(polish=False).sample(qubo, seed=0)
    assert best.best_energy < alone.best_energy
    assert best.best.reshape(7, 7).sum(axis=0).tolist() == [1] * 7
    assert best.best.reshape(7, 7).sum(axis=1).tolist() == [1] * 7


@pytest.mark.parametrize("sampler", [qn.SimulatedAnnealing, qn.PopulationAnnealing])
def test_what_a_time_limit_returns_has_been_cooled_and_descended(
    sampler: type[qn.SimulatedAnnealing],
) -> None:
    qubo = sparse(1000)
    sampler(sweep_count=2).sample(qubo, time_limit=0.1)
    start = time.perf_counter()
    samples = sampler(replica_count=70, sweep_count=10**6).sample(qubo, time_limit=0.5)
    assert time.perf_counter() - start < 0.55 + 1
    assert samples.stop is qn.Stop.TIME_LIMIT
    assert len(samples) == 70
    hot = sampler(replica_count=70, sweep_count=20, hottest=9.0, coldest=9.0).sample(qubo)
    assert samples.best_energy < 2 * hot.best_energy < 0
    changes = qubo.energy(samples.bits[-1] ^ np.eye(1000, dtype=np.int8)) - samples.energies[-1]
    assert (changes >= 0).all()


def test_a_limit_that_is_long_enough_changes_nothing() -> None:
    qubo = random_qubo(40, 2)
    annealer = qn.SimulatedAnnealing(replica_count=20, sweep_count=30)
    limited, free = (annealer.sample(qubo, seed=4, time_limit=limit) for limit in (60, None))
    assert np.array_equal(limited.bits, free.bits)
    assert limited.stop is free.stop is qn.Stop.FINISHED


@pytest.mark.parametrize(
    ("size", "slack"), [(50_000, 2.0), pytest.param(200_000, 1.0, marks=pytest.mark.slow)]
)
def test_limits_hold_on_large_problems_and_all_rows_come_back(size: int, slack: float) -> None:
    qubo = sparse(size)
    annealer = qn.SimulatedAnnealing(replica_count=100)
    annealer.sample(sparse(30_000), time_limit=0.1)  # compile
    start = time.perf_counter()
    samples = annealer.sample(qubo, time_limit=1)
    assert time.perf_counter() - start < 1.1 + slack
    assert samples.bits.shape == (100, size)
    assert samples.best_energy < -0.45 * size
    assert np.array_equal(samples.energies[:2], qubo.energy(samples.bits[:2]))
