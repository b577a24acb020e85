"""A posed problem: examples written down for a solver elsewhere, and back to a classifier."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_array

import qubonn as qn
from qubonn.errors import AlphabetError, FileFormatError, QubonnError, RangeError
from qubonn.estimator import PosedProblem
from qubonn.estimator.posed import STRENGTHS
from qubonn.storage import read_arrays, write_arrays
from qubonn.testing.engine_contract import WeightPrice

X = np.array([[0.0, 1.0], [0.1, 0.9], [1.0, 0.2], [0.9, 0.1]])
Y = ["low", "low", "high", "high"]


def posed(**design: Any) -> PosedProblem:
    return qn.pose(X, Y, **({"hidden": 2} | design), names=["a", "b"], target="kind")


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


def test_a_problem_with_levels_and_thresholds_comes_back(tmp_path: Path) -> None:
    made = posed(binariser="threshold")
    topology = qn.Topology.dense(2, 2, 1, weight_levels=3, threshold_levels=5)
    problem = qn.TrainingProblem(topology, made.problem.inputs, made.problem.outputs)
    changed = replace(made, problem=problem, encoding=replace(made.encoding, topology=topology))
    changed.save(tmp_path / "levels.problem.npz")
    loaded = PosedProblem.load(tmp_path / "levels.problem.npz")
    assert loaded.problem.topology == loaded.encoding.topology == topology
    networks = qn.train(loaded.problem, seed=0).feasible_networks[:2]
    assert loaded.classifier(networks).predict(X).tolist() == Y


def test_images_keep_their_shape() -> None:
    images = np.arange(2 * 9).reshape(2, 3, 3)
    made = qn.pose(images, [0, 1], topology="conv(2x2)")
    assert made.problem.topology.layer_shapes is not None
    assert made.column_count == 9


@pytest.mark.parametrize(
    ("inputs", "labels"),
    [
        ([[1.0, np.inf], [0, 1]], ["a", "b"]),
        ([["x", np.inf], ["y", 0]], ["a", "b"]),
        (X, ["a"] * 4),
        (X, [0.5, 1.5, 2.5, 3.5]),
    ],
)
def test_examples_that_cannot_be_learned_are_refused(inputs: Any, labels: Any) -> None:
    with pytest.raises(AlphabetError):
        qn.pose(inputs, labels)


def test_words_missing_cells_and_sparse_matrices_are_posed(tmp_path: Path) -> None:
    rows: Any = [["red", 1.0], ["blue", None], ["green", 3.0]]
    made = qn.pose(rows, ["a", "b", "a"])
    made.save(tmp_path / "p.problem.npz")
    loaded = PosedProblem.load(tmp_path / "p.problem.npz")
    assert loaded.encoding.binariser.encode(rows).tolist() == made.problem.input_spins.tolist()
    stored = qn.pose(csr_array(np.eye(3)), [0, 1, 1]).problem
    assert np.array_equal(stored.input_spins, qn.pose(np.eye(3), [0, 1, 1]).problem.input_spins)


def test_errors_of_the_design_are_ours() -> None:
    with pytest.raises(QubonnError):
        posed(binariser="magic")
    with pytest.raises(RangeError, match="at least one network"):
        posed().classifier([])


# ---- files ----


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
    made.save(tmp_path / "p.problem.npz")
    back = PosedProblem.load(tmp_path / "p.problem.npz")
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


def test_a_problem_with_terms_that_its_file_cannot_hold_is_not_saved(tmp_path: Path) -> None:
    made = posed()
    odd = replace(made, problem=replace(made.problem, extra_terms=[WeightPrice()]))
    with pytest.raises(RangeError, match=r"holds the terms .*; this one also has weight_price"):
        odd.save(tmp_path / "p.problem.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "labels", [[3, 3, 5, 5], [True, True, False, False], ["é", "é", "\n", "\n"]]
)
def test_a_file_keeps_labels_of_every_kind(tmp_path: Path, labels: list[Any]) -> None:
    made = qn.pose(X, labels, hidden=1)
    made.save(tmp_path / "p.problem.npz")
    back = PosedProblem.load(tmp_path / "p.problem.npz").encoding.book.classes
    assert back.tolist() == made.encoding.book.classes.tolist()
    assert back.dtype == made.encoding.book.classes.dtype


def described(arrays: dict[str, Any], **changes: Any) -> NDArray[np.uint8]:
    description = json.loads(arrays["problem"].tobytes()) | changes
    return np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("problem", {"format": "other"}, "format"),
        ("problem", {"version": 9}, "a newer qubonn"),
        ("problem", {"n_features_in": 99}, "must turn 99 columns into"),
        ("problem", {"n_features_in": "x"}, "n_features_in must be a positive number"),
        ("problem", {"strengths": {}}, "strengths"),
        ("problem", {"strengths": dict.fromkeys(STRENGTHS, -1)}, "at least 0"),
        ("feature_names", np.array(["a"]), "feature_names must be 2 texts"),
        ("feature_names", np.array([1, 2]), "feature_names must be 2 texts"),
        ("problem", {"target": 3}, "target"),
        ("inputs", np.ones((4, 1)), "inputs must have 2 columns"),
        ("inputs", np.array([["x"]]), "inputs must hold numbers"),
        ("outputs", np.zeros((4, 1)), "outputs must be -1 or"),
        ("outputs", np.ones((3, 1)), "outputs must have 4 rows"),
        ("classes", np.array(["low", "low"]), "distinct"),
        ("codewords", np.ones((2, 1)), "distinct"),
        ("source_of", np.zeros(1), "vector of whole numbers"),
        ("target_of", np.full(6, 1 << 30), "target_of must lie in"),
        ("binariser_levels", np.array(["x"]), "levels must be numbers"),
    ],
)
def test_a_problem_that_was_changed_gives_one_sentence(
    tmp_path: Path, part: str, value: Any, words: str
) -> None:
    path = tmp_path / "p.problem.npz"
    posed(binariser=qn.Threshold(0.5)).save(path)
    arrays = read_arrays(path)
    arrays[part] = described(arrays, **value) if isinstance(value, dict) else value
    write_arrays(path, arrays)
    with pytest.raises(FileFormatError, match=words) as caught:
        PosedProblem.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("part", ["problem", "classes", "codewords", "inputs", "source_of"])
def test_a_problem_with_a_part_missing_says_which(tmp_path: Path, part: str) -> None:
    path = tmp_path / "p.problem.npz"
    posed().save(path)
    write_arrays(path, {name: array for name, array in read_arrays(path).items() if name != part})
    with pytest.raises(FileFormatError, match=f"must have a part named '{part}'"):
        PosedProblem.load(path)


def test_a_problem_with_cycles_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.problem.npz"
    posed(hidden=(2, 2)).save(path)
    arrays = read_arrays(path)
    arrays["source_of"][0] = 5  # the second hidden layer feeds the first
    write_arrays(path, arrays)
    with pytest.raises(FileFormatError, match="no cycles"):
        PosedProblem.load(path)


@pytest.mark.parametrize(("encoding", "share"), [("binary", False), ("unary", True), (2, True)])
def test_a_file_keeps_how_the_problem_becomes_bits(
    tmp_path: Path, encoding: str | int, share: bool
) -> None:
    made = posed(encoding=encoding, share=share)
    made.save(tmp_path / "p.problem.npz")
    back = PosedProblem.load(tmp_path / "p.problem.npz").problem
    assert (back.encoding, back.share) == (encoding, share)
    assert back.qubo() == made.problem.qubo()
