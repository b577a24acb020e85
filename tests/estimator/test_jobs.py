"""Ctrl-C while several jobs run: their best so far is kept."""

import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numba
import pytest
from joblib import effective_n_jobs
from sklearn.datasets import load_iris

import qubonn as qn
from qubonn.engines import Solutions
from qubonn.errors import FitInterrupted
from qubonn.estimator import jobs
from qubonn.estimator.jobs import Interruption, in_threads, interruption
from qubonn.stopping import Progress

SWEEPS = 10**7
ENDLESS = qn.ForwardAnnealing(
    replica_count=1, sweep_count=SWEEPS, quench_sweeps=0, reading="largest", thread_count=1
)


@dataclass
class Pressing:
    """An engine without end; Ctrl-C is pressed in the main process once it has made a sweep."""

    process: int
    thread_count: int = 1

    def solve(self, problem: qn.TrainingProblem, *, report: Any, **options: Any) -> Solutions:
        presses: list[Progress] = []

        def press(step: Progress) -> bool:
            if step.part * SWEEPS > 2 and not presses:
                presses.append(step)
                os.kill(self.process, signal.SIGINT)
            return bool(report(step))

        return ENDLESS.solve(problem, report=press, **options)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_the_best_so_far_of_a_job_is_kept(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "PATIENCE_SECONDS", 60)
    X, y = load_iris(return_X_y=True)
    solver = Pressing(os.getpid())
    classifier = qn.QuboClassifier(8, committee_size=1, solver=solver, random_state=0, n_jobs=2)
    with (
        joblib.parallel_config(backend=backend),
        pytest.warns(FitInterrupted, match="no member was complete; the best network"),
    ):
        classifier.fit(X, y)
    assert classifier.is_interrupted_
    assert len(classifier.committee_) == 1
    assert classifier.score(X, y) > 0.5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class TestThreads:
    def test_are_used_where_nothing_else_is_asked_for(self) -> None:
        with in_threads(None):
            assert effective_n_jobs(None) == numba.config.NUMBA_NUM_THREADS
        for given in (1, 2):
            with in_threads(given):
                assert effective_n_jobs(None) == 1
        with joblib.parallel_config(backend="loky", n_jobs=3), in_threads(None):
            assert effective_n_jobs(None) == 3

    def test_give_the_same_members_in_order(self) -> None:
        X, y = load_iris(return_X_y=True)
        one, several = (
            qn.QuboClassifier(8, committee_size=5, random_state=0, n_jobs=jobs).fit(X, y)
            for jobs in (1, None)
        )
        assert several.committee_ == one.committee_
        assert [member.number for member in several.members_] == [0, 1, 2, 3, 4]


class TestAnInterruption:
    def test_of_one_job_is_left_to_python(self) -> None:
        with interruption(1) as stop, pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert stop.path is None
        assert not stop.is_set

    def test_of_several_raises_nothing_at_first(self) -> None:
        with interruption(2) as stop:
            assert not stop.is_set
            signal.raise_signal(signal.SIGINT)
            assert stop.is_set
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)

    def test_does_not_wait_for_workers_that_do_not_answer(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(jobs, "PATIENCE_SECONDS", 0.1)
        with interruption(2):
            signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                time.sleep(5)

    def test_leaves_no_file(self) -> None:
        with interruption(2) as stop:
            signal.raise_signal(signal.SIGINT)
            assert stop.path is not None
        assert not Path(stop.path).parent.exists()

    def test_in_another_thread_is_left_to_the_main_one(self) -> None:
        seen: list[Interruption] = []

        def work() -> None:
            with interruption(2) as stop:
                seen.append(stop)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert seen[0].path is None
