import time
from dataclasses import replace
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, load_iris

import qubonn as qn
from qubonn.engines import GrowingBatches
from qubonn.errors import AlphabetError, RangeError, TopologyError
from qubonn.estimator.members import _pilot, measured_pace, member_seeds, root_seed

Examples = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(scope="module")
def iris() -> Examples:
    X, y = load_iris(return_X_y=True)
    return X, y


def quick(**arguments: Any) -> qn.QuboClassifier:
    return qn.QuboClassifier(**({"hidden": 8, "committee_size": 4, "random_state": 0} | arguments))


# ---- seeds ----


def test_the_committee_is_the_same_whatever_the_number_of_jobs(iris: Examples) -> None:
    alone = quick().fit(*iris)
    assert quick().fit(*iris).committee_ == alone.committee_
    assert quick(n_jobs=2).fit(*iris).committee_ == alone.committee_
    with joblib.parallel_config(backend="threading", n_jobs=3):
        assert quick().fit(*iris).committee_ == alone.committee_
    assert quick(random_state=1).fit(*iris).committee_ != alone.committee_


def test_members_do_not_share_a_seed_and_do_not_depend_on_how_many_there_are() -> None:
    seeds = member_seeds(7, 100)
    assert len(set(seeds.values())) == 100
    assert member_seeds(7, 3) == {number: seeds[number] for number in range(3)}
    assert member_seeds(8, 3) != member_seeds(7, 3)


def test_random_states_are_drawn_from_as_scikit_learn_does() -> None:
    assert root_seed(5) == root_seed(np.int64(5)) == 5
    assert root_seed(np.random.RandomState(3)) == root_seed(np.random.RandomState(3))
    generator = np.random.default_rng(3)
    assert root_seed(generator) != root_seed(generator)
    np.random.seed(0)  # noqa: NPY002 - the global state is what None means
    first, second = root_seed(None), root_seed(None)
    np.random.seed(0)  # noqa: NPY002
    assert root_seed(np.random) == first != second


def test_a_fit_draws_from_a_random_state_once(iris: Examples) -> None:
    state = np.random.RandomState(1)
    first, second = (quick(random_state=state).fit(*iris).committee_ for _ in range(2))
    assert first != second
    assert quick(random_state=np.random.RandomState(1)).fit(*iris).committee_ == first


def test_a_solver_is_kept_to_one_thread_where_there_are_several_jobs(iris: Examples) -> None:
    seen: list[int | None] = []

    class Spying(qn.ForwardAnnealing):
        def solve(self, problem: qn.TrainingProblem, **options: Any) -> Any:
            seen.append(self.thread_count)
            return super().solve(problem, **options)

    spying = Spying(replica_count=2, sweep_count=3)
    quick(solver=spying, committee_size=2).fit(*iris)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        quick(solver=spying, committee_size=2).fit(*iris)
    assert seen == [None, None, 1, 1]


# ---- warm starts ----


def test_a_committee_that_grows_equals_one_trained_at_once(iris: Examples) -> None:
    growing = quick(committee_size=2, warm_start=True).fit(*iris)
    first = growing.committee_.members
    growing.set_params(committee_size=5).fit(*iris)
    assert growing.committee_.members[:2] == first
    assert growing.committee_ == quick(committee_size=5).fit(*iris).committee_


def test_a_warm_start_refuses_what_does_not_fit_its_members(iris: Examples) -> None:
    X, y = iris
    warm = quick(committee_size=2, warm_start=True).fit(X, y)
    with pytest.warns(UserWarning, match="nothing is trained"):
        warm.fit(X, y)
    warm.set_params(committee_size=3)
    with pytest.raises(AlphabetError, match="must hold the classes of the first fit"):
        warm.fit(X, y + 1)
    with pytest.raises(ValueError, match="expecting 4 features"):
        warm.fit(X[:, :3], y)
    with pytest.raises(TopologyError, match="the topology of the members that it keeps"):
        warm.set_params(hidden=9).fit(X, y)
    with pytest.raises(RangeError, match="committee_size must be at least 2 with warm_start"):
        warm.set_params(committee_size=1, hidden=8).fit(X, y)
    assert len(warm.set_params(warm_start=False).fit(X, y).committee_) == 1


# ---- time ----

ENGINE = qn.ForwardAnnealing(replica_count=1, sweep_count=40, thread_count=1)


def random_problem(example_count: int) -> qn.TrainingProblem:
    generator = np.random.default_rng(0)
    inputs, outputs = (generator.normal(size=(example_count, size)) for size in (6, 2))
    return qn.TrainingProblem(qn.Topology.dense(6, 4, 2), inputs, np.sign(outputs))


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


def test_a_time_limit_is_kept_and_still_gives_an_annealed_committee() -> None:
    X, y = load_digits(return_X_y=True)
    classifier = qn.QuboClassifier(hidden=32, committee_size=200, random_state=0, time_limit=2)
    classifier.fit(X[:50], y[:50])  # compile
    start = time.perf_counter()
    classifier.fit(X[:600], y[:600])
    assert time.perf_counter() - start < 2 + 2  # two seconds of patience with a busy machine
    assert 1 <= len(classifier.committee_) < 200
    assert max(member.accuracy for member in classifier.members_) > 0.8
    assert not classifier.is_interrupted_


def test_a_time_limit_that_is_long_enough_changes_nothing(iris: Examples) -> None:
    assert quick(time_limit=600).fit(*iris).committee_ == quick().fit(*iris).committee_


def test_the_time_limit_is_shared_by_solvers_of_ones_own(iris: Examples) -> None:
    endless = qn.ForwardAnnealing(replica_count=1, sweep_count=1_000_000)
    start = time.perf_counter()
    classifier = quick(solver=endless, committee_size=3, time_limit=0.6).fit(*iris)
    assert time.perf_counter() - start < 0.6 + 2
    assert {member.stop.name for member in classifier.members_} == {"TIME_LIMIT"}
    assert 1 <= len(classifier.members_) <= 3


def test_a_bar_is_shown_if_asked_for(iris: Examples, capsys: pytest.CaptureFixture[str]) -> None:
    quick(committee_size=1).fit(*iris)
    assert capsys.readouterr().out == ""
    assert len(quick(committee_size=2, verbose=True).fit(*iris).committee_) == 2
