from pathlib import Path

import pytest

import qubonn as qn
from qubonn.errors import FileFormatError
from qubonn.samplers import Tuning
from qubonn.samplers.tuning import mean_of_best_percent
from qubonn.testing.sampler_contract import random_qubo

ANNEALER = qn.SimulatedAnnealing(replica_count=40, sweep_count=30)


def test_tuning_records_budget_objective_and_every_trial() -> None:
    tuning = qn.tune(random_qubo(30, 0), ANNEALER, evaluation_count=9, seed=4)
    assert len(tuning.trials) == tuning.evaluation_count == 9
    assert tuning.objective == "mean_of_best_percent"
    best = min(tuning.trials, key=lambda trial: trial.value)
    assert (tuning.hottest, tuning.coldest) == (best.hottest, best.coldest)
    assert all(0 < trial.coldest <= trial.hottest for trial in tuning.trials)


def test_tuning_repeats_itself() -> None:
    qubo = random_qubo(30, 0)
    first, second = (qn.tune(qubo, ANNEALER, evaluation_count=6) for _ in range(2))
    assert first == second


def test_tuning_mends_a_start_that_ends_too_hot() -> None:
    qubo = random_qubo(60, 1)
    hot = qn.SimulatedAnnealing(replica_count=100, sweep_count=30, hottest=100.0, coldest=30.0)
    tuned = qn.tune(qubo, hot, evaluation_count=25).apply(hot)
    before, after = hot.sample(qubo, seed=99), tuned.sample(qubo, seed=99)
    assert mean_of_best_percent(after) < mean_of_best_percent(before)


def test_a_tuning_is_saved_and_used_again(tmp_path: Path) -> None:
    tuning = qn.tune(random_qubo(20, 0), ANNEALER, evaluation_count=4)
    tuning.save(tmp_path / "tuning.json")
    again = Tuning.load(tmp_path / "tuning.json")
    assert again == tuning
    assert again.apply(ANNEALER).hottest == tuning.hottest


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"format": "qubonn-tuning"}', '{"format": 1}'])
def test_a_file_that_is_no_tuning_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.json").write_text(text)
    with pytest.raises(FileFormatError, match=r"bad\.json must be a tuning"):
        Tuning.load(tmp_path / "bad.json")


def test_tuned_annealing_keeps_the_best_state_of_all_its_anneals() -> None:
    qubo = random_qubo(60, 2)
    sampler = qn.TunedAnnealing(annealer=ANNEALER, evaluation_count=8)
    samples = sampler.sample(qubo, seed=3)
    trials = samples.info["tuning"].trials
    assert len(trials) == 8
    assert samples.best_energy == min(trial.best_energy for trial in trials)
    assert len(samples) == 40 + 8


def test_tuned_annealing_stops_at_the_target_and_at_the_time_limit() -> None:
    qubo = random_qubo(20, 3)
    sampler = qn.TunedAnnealing(annealer=ANNEALER, evaluation_count=50)
    early = sampler.sample(qubo, target_energy=qubo.offset)
    assert early.stop is qn.Stop.TARGET
    assert len(early.info["tuning"].trials) < 50
    slow = qn.SimulatedAnnealing(replica_count=200, sweep_count=10**6)
    limited = qn.TunedAnnealing(annealer=slow, evaluation_count=50).sample(qubo, time_limit=0.3)
    assert limited.stop is qn.Stop.TIME_LIMIT
    assert len(limited.info["tuning"].trials) <= 2
