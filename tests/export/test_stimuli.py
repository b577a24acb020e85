"""Vectors of test benches are what the model says."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import qubonn as qn
from export.models import committee
from qubonn.encoding import Reading
from qubonn.export.features import features_of
from qubonn.export.model import exported
from qubonn.export.stimuli import vectors_of

READINGS: tuple[Reading, ...] = ("signs", "largest")


@pytest.mark.parametrize("reading", READINGS)
def test_results_are_those_of_the_committee(reading: Reading) -> None:
    members = committee(qn.Topology.dense(30, 5, 4), 3, reading)
    found = vectors_of(exported(members), None, 100, seed=0)
    spins = 2 * found.words - 1
    assert found.outputs.tolist() == (members.predict_outputs(spins) > 0).tolist()
    assert found.classes.tolist() == members.votes(spins).argmax(axis=1).tolist()


def test_results_are_those_of_the_network() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(30, 5, 4), seed=0)
    found = vectors_of(exported(network), None, 100, seed=0)
    assert found.outputs.tolist() == (network.predict_outputs(2 * found.words - 1) > 0).tolist()


@pytest.mark.parametrize("code", ["one_hot", "gray_code"])
def test_classes_are_those_of_the_classifier(code: str) -> None:
    X, y = load_iris(return_X_y=True)
    classifier = qn.QuboClassifier((6,), label_code=code, committee_size=3, random_state=0)
    parts = exported(classifier.fit(X, y))
    found = vectors_of(parts, features_of(parts, "uint8", 10), 200, seed=0)
    assert found.classes.tolist() == classifier.predict(found.words / 10).tolist()
    assert len(set(found.classes.tolist())) == 3


def test_half_of_the_vectors_are_ties_if_there_are_any() -> None:
    members = committee(qn.Topology.dense(21, 3, 4), 4, "signs")
    found = vectors_of(exported(members), None, 100, seed=0)
    votes = members.votes(2 * found.words - 1)
    assert found.ties == (votes == 0).any(axis=1).sum() >= 50


def test_all_inputs_are_tried_up_to_sixteen() -> None:
    for width, count in ((6, 64), (16, 65_536), (17, 5)):
        network = qn.BinaryNetwork.random(qn.Topology.dense(width, 2), seed=0)
        found = vectors_of(exported(network), None, 5, seed=0)
        assert len(np.unique(found.words, axis=0)) == count
