"""A posed problem: examples written down for a solver elsewhere, and back to a classifier."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import AlphabetError, FileFormatError, QubonnError, RangeError
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
    "design",
    [
        {},
        {"binariser": 3, "label_code": "one_hot", "margin_strength": 0.125},
        {"binariser": "thermometer", "output_strength": 2, "product_strength": 0.1},
        {"binariser": qn.BitPlanes(2)},
    ],
)
def test_a_file_gives_the_same_problem_back(tmp_path: Path, design: dict[str, Any]) -> None:
    numbers = np.array([[0, 3], [1, 2], [3, 0], [2, 1]])
    made = qn.pose(numbers, Y, **design, names=["a", "b"], target="kind")
    made.save(tmp_path / "p.problem.json")
    back = PosedProblem.load(tmp_path / "p.problem.json")
    assert back.problem.topology == made.problem.topology
    assert back.problem.qubo() == made.problem.qubo()
    assert np.array_equal(
        back.encoding.binariser.encode(numbers), made.encoding.binariser.encode(numbers)
    )
    assert back.encoding.book.classes.tolist() == made.encoding.book.classes.tolist()
    assert (back.names, back.target, back.column_count) == (("a", "b"), "kind", 2)
    networks = qn.train(made.problem, seed=1).networks[:2]
    assert np.array_equal(
        back.classifier(networks).predict(numbers), made.classifier(networks).predict(numbers)
    )


@pytest.mark.parametrize(
    "labels", [[3, 3, 5, 5], [True, False, True, False], ["é", "é", "\n", "ß"]]
)
def test_a_file_keeps_labels_of_every_kind(tmp_path: Path, labels: list[Any]) -> None:
    made = qn.pose(X, labels, hidden=1)
    made.save(tmp_path / "p.problem.json")
    back = PosedProblem.load(tmp_path / "p.problem.json").encoding.book.classes
    assert back.tolist() == made.encoding.book.classes.tolist()
    assert back.dtype == made.encoding.book.classes.dtype


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format": "other"}, "format"),
        ({"version": 9}, "a newer qubonn"),
        ({"inputs": ["++", "+"]}, r"inputs\[1\]"),
        ({"inputs": ["+x"]}, r"inputs\[0\]"),
        ({"outputs": []}, "outputs"),
        ({"columns": 99}, "columns must lie in"),
        ({"classes": ["low", 1]}, "one kind"),
        ({"classes": ["low", "low"]}, "distinct"),
        ({"codewords": ["+", "+"]}, "distinct"),
        ({"strengths": {}}, "strengths"),
        ({"strengths": {"product_strength": -1, "margin_strength": 0, "output_strength": None}},
         "at least 0"),
        ({"arcs": {}}, "arcs"),
        ({"arcs": {"source_of": [0], "target_of": [1 << 30], "weight_of": [0]}}, "without a gap"),
        ({"binariser": {}}, "binariser"),
        ({"binariser": {"binariser_levels": ["x"]}}, "must be numbers"),
        ({"names": ["a", "a"]}, "different texts"),
        ({"target": 3}, "target"),
    ],
)  # fmt: skip
def test_a_file_that_was_changed_gives_one_sentence(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = tmp_path / "p.problem.json"
    posed().save(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(FileFormatError, match=words) as caught:
        PosedProblem.load(path)
    assert str(path) in str(caught.value)


def test_a_file_with_a_part_missing_says_which(tmp_path: Path) -> None:
    path = tmp_path / "p.problem.json"
    posed().save(path)
    document = json.loads(path.read_text())
    del document["arcs"]
    path.write_text(json.dumps(document))
    with pytest.raises(FileFormatError, match="'arcs' is missing"):
        PosedProblem.load(path)


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
