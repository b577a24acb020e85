"""Scores of a model equal those of scikit-learn, or counts by hand."""

from functools import cache

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, log_loss, recall_score

import qubonn as qn
from qubonn.errors import ShapeError
from qubonn.estimator import scores as module
from qubonn.estimator.scores import ModelScores, with_classes


@cache
def fitted(classes: tuple[object, ...] = ("low", "middle", "high")) -> ModelScores:
    """A weak model of three classes that one column of three tells apart."""
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(150, 3))
    labels = np.array(classes)[np.digitize(inputs[:, 1], [-0.5, 0.5])]
    classifier = qn.QuboClassifier(hidden=2, committee_size=2, random_state=0)
    classifier.fit(inputs[:50], labels[:50])
    return ModelScores(classifier, inputs[50:], labels[50:])


def test_scores_equal_those_of_scikit_learn() -> None:
    scores = fitted()
    predicted = scores.classifier.predict(scores.inputs)
    shares = scores.classifier.predict_proba(scores.inputs)
    assert scores.predicted.tolist() == predicted.tolist()
    assert 0.5 < scores.accuracy < 1
    assert scores.accuracy == pytest.approx(scores.classifier.score(scores.inputs, scores.labels))
    balanced = balanced_accuracy_score(scores.labels, predicted)
    assert scores.balanced_accuracy == pytest.approx(balanced)
    assert scores.log_loss == pytest.approx(log_loss(scores.labels, shares))
    recalls = recall_score(scores.labels, predicted, average=None)
    assert [row[2] for row in scores.by_class] == pytest.approx(recalls.tolist())
    assert sum(row[4] for row in scores.by_class) == scores.confusion.sum() == 100


def test_bins_of_probabilities_hold_all_examples() -> None:
    shares, accuracies, counts = fitted().calibration
    assert counts.sum() == 100
    is_full = counts > 0
    places = np.floor(shares[is_full] * 10).clip(max=9)
    assert places.tolist() == np.flatnonzero(is_full).tolist()
    assert np.isnan(shares[~is_full]).all()
    assert (accuracies[is_full] @ counts[is_full]) / 100 == pytest.approx(fitted().accuracy)
    assert 0 <= fitted().calibration_error < 1


def test_a_lead_is_negative_exactly_for_wrong_predictions() -> None:
    scores = fitted()
    assert ((scores.leads < 0) <= (scores.predicted != scores.labels)).all()
    assert ((scores.leads > 0) <= (scores.predicted == scores.labels)).all()


def test_the_column_that_decides_is_the_most_important() -> None:
    means, deviations = fitted().importance or (np.zeros(3), np.zeros(3))
    assert means.argmax() == 1
    assert means[1] > 0.2
    assert (deviations >= 0).all()


def test_importance_is_the_same_for_the_same_seed() -> None:
    scores = fitted()
    again = ModelScores(scores.classifier, scores.inputs, scores.labels)
    np.testing.assert_array_equal(scores.importance, again.importance)


def test_importance_is_measured_on_a_bounded_number_of_predictions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert fitted().importance_size == (100, 5)
    monkeypatch.setattr(module, "IMPORTANCE_PREDICTIONS", 150)
    assert fitted().importance_size == (50, 1)
    monkeypatch.setattr(module, "MOST_COLUMNS", 2)
    scores = fitted()
    assert ModelScores(scores.classifier, scores.inputs, scores.labels).importance is None


def test_margins_are_those_of_hidden_neurons_and_outputs() -> None:
    margins = fitted().margins
    assert {name: len(values) for name, values in margins.items()} == {
        "hidden neurons": 200,
        "outputs": 300,
    }
    assert min(values.min() for values in margins.values()) >= 0


def test_labels_that_are_no_class_count_as_wrong() -> None:
    scores = fitted()
    labels = np.where(np.arange(100) < 10, "unheard", scores.labels)
    with_unknown = ModelScores(scores.classifier, scores.inputs, labels)
    assert with_unknown.names.tolist() == ["high", "low", "middle", "unheard"]
    assert with_unknown.confusion[3].sum() == 10
    assert with_unknown.accuracy <= 0.9
    assert len(with_unknown.leads) == 90
    assert np.isfinite(with_unknown.log_loss)
    assert np.isnan(with_unknown.by_class[3][1])


def test_a_network_without_classes_gets_the_sorted_labels() -> None:
    inputs = np.array([[1, 1], [-1, 1], [-1, -1]])
    labels = np.array(["b", "a", "a"])
    one = qn.BinaryNetwork(qn.Topology.dense(2, 1), [1, 1], [-1])
    classifier = with_classes(one, inputs, labels)
    assert classifier.classes_.tolist() == ["a", "b"]
    assert ModelScores(classifier, inputs, labels).accuracy == 1.0
    two = qn.BinaryNetwork(qn.Topology.dense(2, 2), [-1, -1, 1, 1], [1, -1])
    committee = with_classes(qn.Committee([two, two]), inputs, labels)
    assert committee.committee_.reading == "largest"
    assert ModelScores(committee, inputs, labels).accuracy == 1.0


def test_labels_that_do_not_fit_the_outputs_are_refused() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 4), seed=0)
    with pytest.raises(ShapeError, match="an output for each of the 2 labels, or 1 for their Gray"):
        with_classes(network, np.ones((2, 2)), np.array(["a", "b"]))
