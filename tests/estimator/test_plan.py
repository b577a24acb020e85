"""A posed problem: examples written down for a solver elsewhere, and back to a classifier."""

from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import AlphabetError, QubonnError, RangeError
from qubonn.estimator import PosedProblem

X = np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.2], [0.9, 0.1]])
Y = ["low", "low", "high", "high"]


def posed(**design: Any) -> PosedProblem:
    return qn.pose(X, Y, hidden=2, **design, names=["a", "b"], target="kind")


def test_the_problem_is_that_of_the_binariser_and_the_code_book() -> None:
    made = posed(binariser="threshold", margin_strength=0.25, output_strength=3)
    problem, encoding = made.problem, made.encoding
    assert np.array_equal(problem.input_spins, encoding.binariser.encode(X))
    assert np.array_equal(problem.output_spins, encoding.book.encode(Y))
    assert (problem.margin_strength, problem.output_strength) == (0.25, 3)
    assert problem.topology == qn.Topology.dense(2, 2, 1)


def test_networks_become_a_classifier_that_answers_with_labels() -> None:
    made = posed()
    networks = qn.train(made.problem, seed=0).feasible_networks[:3]
    classifier = made.classifier(networks)
    assert classifier.predict(X).tolist() == Y
    assert classifier.violation_count_ == 0
    assert [member.accuracy for member in classifier.members_] == [1, 1, 1]
    assert classifier.committee_.members == networks


def test_images_keep_their_shape() -> None:
    images = np.arange(2 * 9).reshape(2, 3, 3)
    made = qn.pose(images, [0, 1], topology="conv(2x2)")
    assert made.problem.topology.layer_shapes is not None
    assert made.column_count == 9


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [([[1.0, np.nan]], ["a"]), ([["x"]], ["a"]), (X, ["a"] * 4), (X, [0.5, 1.5, 2.5, 3.5])],
)
def test_examples_that_cannot_be_learned_are_refused(inputs: Any, labels: Any) -> None:
    with pytest.raises(AlphabetError):
        qn.pose(inputs, labels)


def test_errors_of_the_design_are_ours() -> None:
    with pytest.raises(QubonnError):
        posed(binariser="magic")
    with pytest.raises(RangeError, match="at least one network"):
        posed().classifier([])
