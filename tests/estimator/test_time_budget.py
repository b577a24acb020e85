"""How long a training takes is measured on what its usual sweep sees."""

from dataclasses import replace

import numpy as np
import pytest

from qubonn.engines import ForwardAnnealing, GrowingBatches
from qubonn.estimator.time_budget import _pilot, measured_pace
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

ENGINE = ForwardAnnealing(replica_count=1, sweep_count=40, thread_count=1)


def random_problem(example_count: int) -> TrainingProblem:
    generator = np.random.default_rng(0)
    inputs, outputs = (generator.normal(size=(example_count, size)) for size in (6, 2))
    return TrainingProblem(Topology.dense(6, 4, 2), inputs, np.sign(outputs))


def test_a_pilot_sees_all_examples_unless_there_are_batches() -> None:
    problem = random_problem(300)
    assert _pilot(ENGINE, problem) == (replace(ENGINE, sweep_count=1), problem, 1.0)


def test_a_pilot_sees_batches_of_their_mean_size() -> None:
    engine = replace(ENGINE, sweep_count=3, batches=GrowingBatches(first=20, last=80))
    pilot, batch, share = _pilot(engine, random_problem(300))
    assert batch.example_count == round((20 + 40 + 80) / 3)
    assert pilot.batches == GrowingBatches(first=47, last=47)
    assert share == pytest.approx(47 / 300)


@pytest.mark.parametrize("batches", [None, GrowingBatches(first=20)], ids=["all", "batches"])
@pytest.mark.parametrize("seconds", [1e-6, 1.0])
def test_a_pace_is_found_in_any_time(batches: GrowingBatches | None, seconds: float) -> None:
    pace = measured_pace(replace(ENGINE, batches=batches), random_problem(300), seconds)
    assert 0 < pace.per_sweep < pace.setting_up < 10
