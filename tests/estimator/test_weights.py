"""Weights of examples and classes, believable probabilities, and further training."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_digits, make_classification
from sklearn.metrics import log_loss, recall_score

import qubonn as qn
from qubonn.errors import AlphabetError, RangeError, Underfitted
from qubonn.estimator import members
from qubonn.estimator.examples import example_weights, repeated
from qubonn.training.calibration import Calibration


def quick(**arguments: Any) -> qn.QuboClassifier:
    return qn.QuboClassifier(**{"committee_size": 2, "random_state": 0, "hidden": 8} | arguments)


def rare(count: int = 1_500) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return examples of which a twentieth are of the second class."""
    examples: tuple[NDArray[Any], NDArray[Any]] = make_classification(
        count, 8, n_informative=4, weights=[0.95], random_state=0
    )
    return examples


# ---- weights ----


def test_an_example_of_weight_three_is_the_same_as_the_example_three_times() -> None:
    X, y = rare(300)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    weighed = quick(hidden=8).fit(X, y, sample_weight=weights)
    repeated_rows = quick(hidden=8).fit(X[rows], y[rows])
    left, right = (one.committee_.members[0] for one in (weighed, repeated_rows))
    assert np.array_equal(left.weight_spins, right.weight_spins)


def test_balanced_classes_raise_the_recall_of_a_rare_class() -> None:
    X, y = rare()
    plain, balanced = (
        quick(class_weight=weight).fit(X[:1_000], y[:1_000]).predict(X[1_000:])
        for weight in (None, "balanced")
    )
    recalls = [recall_score(y[1_000:], found) for found in (plain, balanced)]
    assert recalls[1] > recalls[0] + 0.2


def test_weights_of_classes_and_of_examples_are_multiplied() -> None:
    labels = np.array(["a", "a", "b"])
    found = example_weights({"a": 2, "b": 1}, labels, [1, 2, 3])
    assert found is not None
    assert found.tolist() == [2, 4, 3]
    assert example_weights(None, labels, [1, 1, 1]) is None


@pytest.mark.parametrize("weights", [[-1.0, 1.0, 1.0], [0.0, 0.0, 0.0]])
def test_weights_that_are_negative_or_all_zero_are_refused(weights: list[float]) -> None:
    with pytest.raises(RangeError, match="not be negative, and not all weights may be zero"):
        quick().fit([[0], [1], [2]], [0, 1, 1], sample_weight=weights)


def test_rows_stand_for_weights_that_are_not_whole() -> None:
    rows = repeated(np.array([0.5, 1.0, 2.5]))
    assert np.bincount(rows).tolist() == [2, 3, 8]


# ---- probabilities ----


def test_probabilities_on_noise_are_the_shares_of_the_classes() -> None:
    generator = np.random.default_rng(0)
    X, y = generator.normal(size=(900, 5)), generator.binomial(1, 0.3, 900)
    with pytest.warns(Underfitted):
        classifier = quick(hidden="auto").fit(X[:600], y[:600])
    shares = classifier.predict_proba(X[600:])
    assert np.abs(shares[:, 1] - 0.3).mean() < 0.1
    base = log_loss(y[600:], np.tile([0.7, 0.3], (300, 1)))
    assert log_loss(y[600:], shares) < 1.1 * base


def test_the_class_of_the_largest_probability_is_predicted() -> None:
    X, y = rare()
    classifier = quick().fit(X, y)
    classifier.calibration_ = Calibration(0.5, (0.0, -3.0))
    found = classifier.predict(X)
    assert np.array_equal(classifier.predict_proba(X).argmax(axis=1), found)
    assert found.sum() < quick().fit(X, y).predict(X).sum()


def test_few_examples_are_not_calibrated() -> None:
    X, y = rare(59)
    assert quick().fit(X, y).calibration_ == Calibration()
    X, y = rare(300)
    assert quick().fit(X, y).calibration_ != Calibration()


def test_a_calibration_is_kept_in_files(tmp_path: Path) -> None:
    X, y = rare(300)
    classifier = quick().fit(X, y)
    classifier.calibration_ = Calibration(0.5, (0.0, -1.5))
    classifier.save(tmp_path / "m.qubonn")
    loaded = qn.load(tmp_path / "m.qubonn")
    assert isinstance(loaded, qn.QuboClassifier)
    assert loaded.calibration_ == classifier.calibration_
    assert np.array_equal(loaded.predict_proba(X), classifier.predict_proba(X))


# ---- further training ----


def test_further_examples_make_a_classifier_better() -> None:
    X, y = load_digits(return_X_y=True)
    classifier = quick(hidden=32).partial_fit(X[:150], y[:150], classes=range(10))
    first = classifier.score(X[1_200:], y[1_200:])
    for start in range(150, 1_200, 150):
        classifier.partial_fit(X[start : start + 150], y[start : start + 150])
    assert classifier.score(X[1_200:], y[1_200:]) > first + 0.02
    assert classifier.example_count_ == 1_200


def test_classes_may_be_missing_in_the_first_examples() -> None:
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    classifier = quick().partial_fit(X[:2], [0, 1], classes=[0, 1, 2])
    assert classifier.classes_.tolist() == [0, 1, 2]
    assert classifier.partial_fit(X, [0, 1, 2, 2]).score(X, [0, 1, 2, 2]) > 0.5


def test_other_classes_and_solvers_are_refused_in_later_calls() -> None:
    X, y = np.array([[0.0], [1.0]]), [0, 1]
    classifier = quick().partial_fit(X, y)
    with pytest.raises(RangeError, match="classes must be those of the first call"):
        classifier.partial_fit(X, y, classes=[0, 2])
    other = quick(solver=qn.LiftedAnnealing(replica_count=4, sweep_count=5)).partial_fit(X, y)
    with pytest.raises(RangeError, match="partial_fit needs solver='auto' or a ForwardAnnealing"):
        other.partial_fit(X, y)


def test_ctrl_c_leaves_the_classifier_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = rare(100)
    classifier = quick().partial_fit(X, y)
    before = classifier.committee_

    def interrupted(*given: Any, **options: Any) -> qn.TrainingResult:
        return replace(qn.train(*given, **options), stop=qn.Stop.INTERRUPTED)

    monkeypatch.setattr(members, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        classifier.partial_fit(X, y)
    assert classifier.committee_ is before
    assert classifier.example_count_ == 100


def test_labels_that_are_no_class_of_the_first_call_are_named() -> None:
    classifier = quick().partial_fit([[0.0], [1.0]], ["a", "b"])
    with pytest.raises(AlphabetError, match=r"must be among the 2 classes .* got 'c' as label 1"):
        classifier.partial_fit([[0.0], [1.0]], ["a", "c"])
