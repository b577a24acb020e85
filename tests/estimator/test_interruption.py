"""Ctrl-C in the middle of fit: real signals, sent when a certain member is being trained."""

import os
import signal
import time
from dataclasses import dataclass, field, replace
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris

import qubonn as qn
from qubonn.engines import Solutions
from qubonn.errors import FitInterrupted
from qubonn.stopping import Progress

Examples = tuple[NDArray[Any], NDArray[Any]]
ENGINE = qn.ForwardAnnealing(replica_count=1, sweep_count=40, reading="largest", thread_count=1)


@pytest.fixture(scope="module")
def iris() -> Examples:
    X, y = load_iris(return_X_y=True)
    return X, y


@dataclass
class Interrupting:
    """An engine that gets Ctrl-C in its run number `at`, after `report_count` reports.

    Without a count, Ctrl-C comes before the engine can catch it.
    """

    at: int
    report_count: int | None = None
    engine: qn.ForwardAnnealing = ENGINE
    run_count: int = field(default=0)

    def solve(self, problem: qn.TrainingProblem, **options: Any) -> Solutions:
        self.run_count += 1
        if self.run_count == self.at:
            if self.report_count is None:
                press_and_wait()
            seen: list[Progress] = []

            def report(step: Progress) -> None:
                seen.append(step)
                if len(seen) == self.report_count:
                    press_and_wait()

            options["report"] = report
        return self.engine.solve(problem, **options)


def press_and_wait() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(0.3)  # until the main thread has heard it


def classifier_with(solver: Any, size: int = 5) -> qn.QuboClassifier:
    return qn.QuboClassifier(8, committee_size=size, solver=solver, random_state=0)


@pytest.mark.parametrize("report_count", [None, 1], ids=["between", "during"])
def test_members_that_are_complete_are_kept(iris: Examples, report_count: int | None) -> None:
    X, y = iris
    classifier = classifier_with(Interrupting(at=3, report_count=report_count))
    with pytest.warns(FitInterrupted, match="2 of 5 members are complete and vote"):
        classifier.fit(X, y)
    assert classifier.is_interrupted_
    assert classifier.committee_ == classifier_with(ENGINE, 2).fit(X, y).committee_
    assert classifier.score(X, y) > 0.8


def test_if_no_member_is_complete_the_running_one_is_used(iris: Examples) -> None:
    X, y = iris
    endless = replace(ENGINE, sweep_count=10**6)
    classifier = classifier_with(Interrupting(at=1, report_count=30, engine=endless))
    with pytest.warns(FitInterrupted, match="no member was complete"):
        classifier.fit(X, y)
    assert len(classifier.committee_) == 1
    assert classifier.members_[0].stop.name == "INTERRUPTED"
    assert (classifier.members_[0].sweep_count or 0) > 0
    assert classifier.predict(X).shape == y.shape


def test_if_nothing_was_found_the_interrupt_goes_on_and_nothing_is_fitted(iris: Examples) -> None:
    classifier = classifier_with(Interrupting(at=1))
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(*iris)
    assert not hasattr(classifier, "committee_")


@pytest.mark.parametrize("dropout", [None, 0.2])
def test_progress_is_not_said_to_be_done_if_nothing_was_found(
    iris: Examples, dropout: float | None, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier = classifier_with(Interrupting(at=1)).set_params(dropout=dropout, verbose=True)
    with pytest.raises(KeyboardInterrupt):
        classifier.fit(*iris)
    assert capsys.readouterr().err == "members of the committee ...\n"


def test_a_fitted_classifier_stays_as_it_was_if_nothing_new_was_found(iris: Examples) -> None:
    X, y = iris
    classifier = classifier_with(ENGINE, 1).fit(X, y)
    committee = classifier.committee_
    with pytest.raises(KeyboardInterrupt):
        classifier.set_params(solver=Interrupting(at=1), random_state=9).fit(X, y)
    assert classifier.committee_ is committee


def test_a_warm_start_after_ctrl_c_trains_what_is_missing(iris: Examples) -> None:
    X, y = iris
    classifier = classifier_with(Interrupting(at=3))
    with pytest.warns(FitInterrupted):
        classifier.fit(X, y)
    classifier.set_params(solver=ENGINE, warm_start=True).fit(X, y)
    assert not classifier.is_interrupted_
    assert classifier.committee_ == classifier_with(ENGINE).fit(X, y).committee_


def test_several_jobs_keep_what_is_complete_too(iris: Examples) -> None:
    X, y = iris
    classifier = classifier_with(Interrupting(at=6), 12)
    with (
        joblib.parallel_config(backend="threading", n_jobs=2),
        pytest.warns(FitInterrupted, match="of 12 members are complete"),
    ):
        classifier.fit(X, y)
    everyone = classifier_with(ENGINE, 12).fit(X, y).committee_.members
    kept = [member.number for member in classifier.members_]
    assert 1 <= len(kept) < 12
    assert np.all([classifier.members_[i].network == everyone[n] for i, n in enumerate(kept)])
