import numpy as np

import qubonn as qn


def ferromagnet(size: int) -> qn.Qubo:
    """All spins want to be equal; a small field prefers +1; the way between is hard to cross."""
    rows, columns = np.triu_indices(size, 1)
    everyone = np.arange(size)
    # -J s s - h s with s = 2 b - 1, J = 1 / 4, h = 1 / 8
    linear = np.full(size, 2 * 0.25 * (size - 1) - 2 * 0.125)
    return qn.Qubo.of(
        np.concatenate([everyone, rows]),
        np.concatenate([everyone, columns]),
        np.concatenate([linear, np.full(len(rows), -4 * 0.25)]),
        variable_count=size,
    )


def test_the_population_ends_in_the_boltzmann_distribution() -> None:
    qubo, coldest = ferromagnet(10), 1.0
    states = np.arange(1024)[:, None] >> np.arange(10) & 1
    weights = np.exp(-qubo.energy(states) / coldest)
    exact = float(weights[states.sum(axis=1) > 5].sum() / weights.sum())
    population = qn.PopulationAnnealing(
        replica_count=20_000, sweep_count=200, hottest=10.0, coldest=coldest
    )
    samples = population.sample(qubo, seed=0)
    found = float((samples.bits.sum(axis=1) > 5).mean())
    # replicas are related, so the error is several times that of 20,000 independent ones (0.002)
    assert abs(found - exact) < 0.015
    alone = qn.SimulatedAnnealing(
        replica_count=20_000, sweep_count=200, hottest=10.0, coldest=coldest
    ).sample(qubo, seed=0)
    assert abs(float((alone.bits.sum(axis=1) > 5).mean()) - exact) > 0.03  # it froze on the way


def test_families_die_out_and_the_best_of_the_population_is_better() -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(qn.paper.topology(2), letters.train_inputs, letters.train_outputs)
    qubo = problem.qubo()
    population = qn.PopulationAnnealing(replica_count=500, sweep_count=500).sample(qubo, seed=0)
    alone = qn.SimulatedAnnealing(replica_count=500, sweep_count=500).sample(qubo, seed=0)
    assert 1 <= population.info["families"] < 100
    assert population.energies.mean() < alone.energies.mean() / 2
    assert population.best_energy <= alone.best_energy


def test_the_result_does_not_depend_on_the_number_of_threads() -> None:
    qubo = ferromagnet(12)
    one, two = (
        qn.PopulationAnnealing(replica_count=70, sweep_count=40, thread_count=threads).sample(
            qubo, seed=3
        )
        for threads in (1, 2)
    )
    assert np.array_equal(one.bits, two.bits)
