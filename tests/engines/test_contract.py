"""Every engine in one file passes one contract. A new engine adds one class."""

from typing import Any

import pytest

import qubonn as qn
from qubonn.engines import Engine
from qubonn.stopping import Progress, Stop
from qubonn.testing import EngineContract

LONG, MANY = 10**6, 256  # sweeps and replicas: minutes of work, but few temperatures to list


class TestLiftedAnnealing(EngineContract):
    def make_engine(self) -> Engine:
        return qn.LiftedAnnealing(replica_count=64, sweep_count=200)

    def make_long_engine(self) -> Engine:
        return qn.LiftedAnnealing(replica_count=MANY, sweep_count=LONG)


class TestForwardAnnealing(EngineContract):
    has_own_energies = True

    def make_engine(self) -> Engine:
        return qn.ForwardAnnealing(replica_count=16, sweep_count=200)

    def make_long_engine(self) -> Engine:
        return qn.ForwardAnnealing(replica_count=MANY, sweep_count=LONG)


@pytest.mark.parametrize("kind", [qn.LiftedAnnealing, qn.ForwardAnnealing])
def test_a_stopped_run_returns_the_best_network_it_reported(kind: Any) -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(qn.paper.topology(10), letters.train_inputs, letters.train_outputs)
    engine = kind(replica_count=3, sweep_count=1000, hottest=100)  # too hot to keep what it finds
    seen: list[float] = []

    def report(step: Progress) -> bool:
        seen.append(step.best_energy)
        return len(seen) > 5 and step.best_energy > min(seen)

    found = engine.solve(problem, seed=0, target_energy=-1e6, report=report)
    assert found.stop is Stop.INTERRUPTED
    assert found.energies[0] == min(seen) < seen[-1]
    assert len(found) == 3
    if kind is qn.LiftedAnnealing:
        terms = problem.certify(found.network(), found.activation_spins[0]).terms
        assert terms.total == found.energies[0]
