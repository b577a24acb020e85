import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.stopping import Progress
from qubonn.testing.sampler_contract import random_qubo


def letters_qubo(number: int) -> qn.Qubo:
    letters = qn.datasets.letters(seed=0)
    return qn.TrainingProblem(
        qn.paper.topology(number), letters.train_inputs, letters.train_outputs
    ).qubo()


@pytest.mark.parametrize("replica_count", [1, 33, 130])
def test_the_result_does_not_depend_on_the_number_of_threads(replica_count: int) -> None:
    qubo = letters_qubo(10)
    runs = [
        qn.SimulatedAnnealing(
            replica_count=replica_count, sweep_count=30, thread_count=threads
        ).sample(qubo, seed=9)
        for threads in (1, 2)
    ]
    assert np.array_equal(runs[0].bits, runs[1].bits)


def test_other_seeds_give_other_samples() -> None:
    annealer = qn.SimulatedAnnealing(replica_count=10, sweep_count=5)
    qubo = random_qubo(40, 1)
    zero, one = (annealer.sample(qubo, seed=seed) for seed in (0, 1))
    assert not np.array_equal(zero.bits, one.bits)


def test_a_frozen_anneal_stays_at_its_initial_states_if_they_are_minima() -> None:
    qubo = random_qubo(15, 3)
    lowest = qn.Exhaustive().sample(qubo).best
    annealer = qn.SimulatedAnnealing(replica_count=4, sweep_count=50, hottest=1e-3, coldest=1e-3)
    samples = annealer.sample(qubo, initial_states=np.tile(lowest, (4, 1)))
    assert (samples.energies == qubo.energy(lowest)).all()


def test_one_variable_is_visited_as_often_as_boltzmann_says() -> None:
    # energy 1 for bit 1 at temperature 1: the chance of bit 1 is 1 / (1 + e)
    annealer = qn.SimulatedAnnealing(replica_count=40_000, sweep_count=20, hottest=1.0, coldest=1.0)
    samples = annealer.sample(qn.Qubo.of([0], [0], [1], variable_count=1), seed=0)
    chance = 1 / (1 + np.e)
    # five standard errors: a false alarm once in a million; the seed is fixed anyway
    assert abs(samples.bits.mean() - chance) < 5 * np.sqrt(chance * (1 - chance) / 40_000)


def test_three_coupled_variables_reach_the_boltzmann_distribution() -> None:
    qubo = qn.Qubo.of([0, 0, 1, 1, 2], [0, 1, 1, 2, 2], [1, -2, 1, 1, -1], variable_count=3)
    annealer = qn.SimulatedAnnealing(replica_count=40_000, sweep_count=60, hottest=1.5, coldest=1.5)
    samples = annealer.sample(qubo, seed=1)
    states = np.arange(8)[:, None] >> np.arange(3) & 1
    weights = np.exp(-qubo.energy(states) / 1.5)
    expected = weights / weights.sum()
    found = np.bincount(samples.bits @ [1, 2, 4], minlength=8) / len(samples)
    # six standard errors at eight places: a false alarm once in ten million
    assert (np.abs(found - expected) < 6 * np.sqrt(expected / len(samples))).all()


def test_a_time_limit_returns_the_best_so_far() -> None:
    annealer = qn.SimulatedAnnealing(replica_count=500, sweep_count=10**6)
    qubo = letters_qubo(10)
    samples = annealer.sample(qubo, time_limit=0.3)
    assert samples.stop is qn.Stop.TIME_LIMIT
    assert 0 < samples.info["sweeps"] < 10**6
    assert samples.info["seconds"] < 1.5


def test_the_same_seed_and_target_stop_at_the_same_sweep() -> None:
    annealer = qn.SimulatedAnnealing(replica_count=100, sweep_count=2000)
    runs = [annealer.sample(letters_qubo(10), seed=1, target_energy=1) for _ in range(3)]
    assert len({run.info["sweeps"] for run in runs}) == 1
    assert all(np.array_equal(run.bits, runs[0].bits) for run in runs)


def test_a_target_on_fractions_is_met_exactly_when_it_is_claimed() -> None:
    for seed in range(10):
        qubo = random_qubo(12, seed, whole=False)
        lowest = qn.Exhaustive().sample(qubo).best_energy
        annealer = qn.SimulatedAnnealing(replica_count=40, sweep_count=400)
        samples = annealer.sample(qubo, seed=seed, target_energy=lowest)
        assert samples.stop is qn.Stop.TARGET
        assert samples.best_energy == pytest.approx(lowest, abs=1e-8)


def test_a_target_stops_the_run_as_soon_as_it_is_reached() -> None:
    annealer = qn.SimulatedAnnealing(replica_count=200, sweep_count=100_000)
    samples = annealer.sample(random_qubo(20, 0), target_energy=0)
    assert samples.stop is qn.Stop.TARGET
    assert samples.best_energy <= 0
    assert samples.info["sweeps"] < 100_000


def test_progress_is_reported_and_may_stop_the_run() -> None:
    seen: list[Progress] = []

    def report(progress: Progress) -> bool:
        seen.append(progress)
        return len(seen) == 3

    annealer = qn.SimulatedAnnealing(replica_count=10, sweep_count=10**6)
    samples = annealer.sample(letters_qubo(8), report=report)
    assert samples.stop is qn.Stop.INTERRUPTED
    assert len(seen) == 3
    assert 0 < seen[0].part < seen[1].part < 1
    assert seen[0].best_energy >= 0


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
def test_ctrl_c_returns_the_best_so_far() -> None:
    program = textwrap.dedent("""
        import qubonn as qn
        from qubonn.testing.sampler_contract import random_qubo
        annealer = qn.SimulatedAnnealing(replica_count=100, sweep_count=10**6)
        qn.SimulatedAnnealing(replica_count=100, sweep_count=1).sample(random_qubo(60, 0))
        say = lambda progress: print("on", flush=True)
        samples = annealer.sample(random_qubo(60, 0), report=say)
        print(samples.stop.name, len(samples))
    """)
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=60)
    assert output.splitlines()[-1] == "INTERRUPTED 100"
    assert process.returncode == 0


def test_fractional_coefficients_reach_the_minimum_and_have_exact_energies() -> None:
    qubo = random_qubo(14, 5, whole=False)
    samples = qn.SimulatedAnnealing(replica_count=50, sweep_count=300).sample(qubo)
    assert samples.best_energy == qn.Exhaustive().sample(qubo).best_energy
    assert np.array_equal(samples.energies, qubo.energy(samples.bits))


def test_huge_and_tiny_coefficients_are_annealed_too() -> None:
    for scale in (1e-12, 1e12):
        base = random_qubo(12, 6)
        values = np.concatenate([base.linear, base.couplings]) * scale
        everyone = np.arange(12)
        qubo = qn.Qubo.of(
            np.concatenate([everyone, base.rows]),
            np.concatenate([everyone, base.columns]),
            values,
            variable_count=12,
        )
        samples = qn.SimulatedAnnealing(replica_count=50, sweep_count=300).sample(qubo)
        assert np.array_equal(samples.best, qn.Exhaustive().sample(qubo).best)


@pytest.mark.parametrize("number", [5, 10, 11, 12, 13, 14, 15])
def test_networks_that_the_paper_always_trained_are_trained_to_energy_zero(number: int) -> None:
    samples = qn.PopulationAnnealing().sample(letters_qubo(number), seed=0, target_energy=0)
    assert samples.best_energy == 0
    assert samples.stop is qn.Stop.TARGET


@pytest.mark.parametrize(("number", "optimum"), [(8, 2), (9, 1)])
def test_infeasible_networks_reach_their_proved_optimum(number: int, optimum: int) -> None:
    assert qn.SimulatedAnnealing().sample(letters_qubo(number), seed=0).best_energy == optimum


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"replica_count": 0}, "replica_count must be at least 1; got 0"),
        ({"sweep_count": 2.5}, "sweep_count must be a whole number"),
        ({"hottest": 1.0, "coldest": 2.0}, "0 < coldest <= hottest; got hottest=1.0, coldest=2.0"),
        ({"hottest": float("nan")}, "temperatures must be finite"),
        ({"coldest": 0.0}, "0 < coldest"),
        ({"coldest": -1.0}, "0 < coldest"),
        ({"thread_count": 0}, "thread_count must be at least 1"),
    ],
)
def test_bad_settings_are_refused_before_work_starts(
    settings: dict[str, float], message: str
) -> None:
    with pytest.raises(RangeError, match=message):
        qn.SimulatedAnnealing(**settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"seed": -1}, RangeError, "seed must be at least 0"),
        ({"time_limit": 0}, RangeError, "time_limit must be a positive number of seconds; got 0"),
        ({"time_limit": float("nan")}, RangeError, "time_limit must be"),
        ({"target_energy": float("nan")}, RangeError, "target_energy must be a finite number"),
        ({"initial_states": [[0, 1]]}, ShapeError, "initial_states must have 3 rows"),
        ({"initial_states": [[0, 1, 1]] * 3}, ShapeError, "initial_states must"),
        ({"initial_states": [[0, 2]] * 3}, AlphabetError, "initial_states must be 0 or 1"),
    ],
)
def test_bad_options_are_refused_before_work_starts(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    annealer = qn.SimulatedAnnealing(replica_count=3)
    with pytest.raises(error, match=message):
        annealer.sample(random_qubo(2, 0), **options)  # type: ignore[arg-type]


def test_more_memory_than_the_machine_has_is_refused_with_the_amount() -> None:
    annealer = qn.SimulatedAnnealing(replica_count=10**9)
    with pytest.raises(RangeError, match=r"needs about [\d.,]+ GiB"):
        annealer.sample(letters_qubo(10))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_coefficients_that_are_not_finite_never_become_a_qubo(bad: float) -> None:
    with pytest.raises(AlphabetError, match="finite"):
        qn.Qubo.of([0], [1], [bad], variable_count=2)
