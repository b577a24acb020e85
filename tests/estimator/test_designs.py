"""Designs of networks: their topologies and engines, and the choice by examples left out."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.datasets import load_iris

import qubonn as qn
from qubonn.encoding import CodeBook
from qubonn.errors import QubonnError, RangeError, Underfitted
from qubonn.estimator import designs, files
from qubonn.estimator.designs import (
    CANDIDATES,
    GROUPED,
    PLAIN,
    Design,
    Examples,
    _folds,
    candidates,
    choose,
)
from qubonn.estimator.plan import Encoding
from qubonn.formulation import TrainingProblem
from qubonn.training.calibration import Calibration

LEVELS = Design(hidden=(4,), weight_levels=(3, 4), threshold_levels=(9, 2), softness=0.5, decay=0.1)


def parity(count: int, columns: int, seed: int = 0) -> tuple[NDArray[np.int8], NDArray[np.int64]]:
    """Return random spins, and whether the first two differ."""
    spins = np.random.default_rng(seed).choice(np.array([-1, 1], dtype=np.int8), (count, columns))
    return spins, (spins[:, 0] != spins[:, 1]).astype(np.int64)


def examples_of(spins: NDArray[np.int8], class_of: NDArray[np.int64], **more: Any) -> Examples:
    """Return examples whose spins are the same for all designs."""

    def topology_for(design: Design) -> qn.Topology:
        return topology_of(design, spins.shape[1])

    parts = more.pop("topology_for", topology_for), class_of, CodeBook.one_hot([0, 1])
    return Examples(lambda design: spins, *parts, **more)


def topology_of(design: Design, input_count: int) -> qn.Topology:
    thresholds = design.threshold_levels
    return qn.Topology.dense(
        input_count,
        *design.hidden,
        2,
        weight_levels=design.weight_levels,
        threshold_levels=2 * input_count + 1 if thresholds is None else thresholds,
    )


def problem_of(design: Design, count: int = 100) -> TrainingProblem:
    spins, class_of = parity(count, 6)
    outputs = CodeBook.one_hot([0, 1]).codewords[class_of]
    return TrainingProblem(topology_of(design, 6), spins, outputs)


def test_many_classes_have_more_hidden_neurons_and_words_no_shared_weights() -> None:
    assert candidates(class_count=10, is_numeric=True) == list(CANDIDATES)
    many = candidates(class_count=11, is_numeric=True)
    changed = [pair for pair in zip(CANDIDATES, many, strict=True) if pair[0] != pair[1]]
    assert changed == [(GROUPED, replace(GROUPED, hidden=(256,), decay=0.1))]
    for class_count in (2, 25):
        words = candidates(class_count=class_count, is_numeric=False)
        assert words == [one for one in CANDIDATES if one.segments is None]


def test_softness_is_that_of_the_design_or_depends_on_the_examples() -> None:
    found = [d.engine(problem_of(d), "largest", is_alone=False).softness for d in (LEVELS, PLAIN)]
    assert found == [0.5, pytest.approx(3.0 * 100**-0.2)]


def test_decay_grows_with_the_number_of_examples() -> None:
    few, many = (problem_of(LEVELS, count) for count in (64, 1024))
    strengths = [
        LEVELS.with_decay(one, LEVELS.engine(one, "largest", is_alone=False)).decay_strength
        for one in (few, many)
    ]
    assert 0 < strengths[0] < strengths[1]
    plain = problem_of(PLAIN)
    assert PLAIN.with_decay(plain, PLAIN.engine(plain, "largest", is_alone=False)) is plain


def test_every_example_is_left_out_once_where_they_are_few() -> None:
    _, class_of = parity(200, 3)
    folds = list(_folds(class_of, np.random.default_rng(0)))
    left_out = np.concatenate([rows for _, rows in folds])
    assert sorted(left_out.tolist()) == list(range(200))
    assert all(not set(shown) & set(rows) for shown, rows in folds)


def test_many_examples_are_cut_to_a_fixed_number_with_a_third_left_out() -> None:
    _, class_of = parity(50_000, 3)
    [(shown, left_out)] = _folds(class_of, np.random.default_rng(0))
    assert (len(shown), len(left_out)) == (2_000, 1_000)


def test_levels_are_chosen_where_columns_interact() -> None:
    spins, class_of = parity(400, 10)
    found = choose(CANDIDATES, examples_of(spins, class_of), seed=0)
    assert found.design.weight_levels != 2
    again = choose(CANDIDATES, examples_of(spins, class_of), seed=0)
    assert (again.design, again.calibration) == (found.design, found.calibration)


def test_the_first_design_is_kept_where_examples_are_few_or_time_is_short() -> None:
    spins, class_of = parity(400, 10)
    few, all_of_them = examples_of(spins[:50], class_of[:50]), examples_of(spins, class_of)
    for found in (
        choose(CANDIDATES, few, seed=0),
        choose(CANDIDATES, all_of_them, seed=0, seconds=1e-3),
    ):
        assert (found.design, found.calibration) == (PLAIN, Calibration())


def test_designs_that_are_clearly_behind_are_left_out_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    trained: list[Design] = []

    def networks(design: Design, problem: TrainingProblem, *_: Any) -> list[qn.BinaryNetwork]:
        trained.append(design)
        first = 1 if design == LEVELS else -1  # follows the first input, or its opposite
        weights = np.where(problem.topology.source_of == 0, first, 1)
        weights = np.where(
            problem.topology.target_of == problem.topology.outputs[0], -weights, weights
        )
        return [qn.BinaryNetwork(problem.topology, weights, np.ones(2, dtype=int))]

    monkeypatch.setattr(designs, "_networks", networks)
    spins = parity(300, 2)[0][:, :1]
    topology = qn.Topology.dense(1, 2)
    classes = (spins[:, 0] > 0).astype(np.int64)
    examples = examples_of(spins, classes, topology_for=lambda design: topology)
    assert choose([PLAIN, LEVELS], examples, seed=0).design == LEVELS
    assert trained == [PLAIN, LEVELS, LEVELS, LEVELS]


def test_examples_of_large_weight_decide_between_designs() -> None:
    scores = {PLAIN: np.array([[1.0, 0.0]] * 3), LEVELS: np.array([[0.0, 1.0]] * 3)}
    rows, class_of = np.arange(3), np.array([0, 0, 1])
    spins = np.ones((3, 1), dtype=np.int8)
    for weights, best in ((None, PLAIN), (np.array([1.0, 1.0, 9.0]), LEVELS)):
        examples = examples_of(spins, class_of, weights=weights)
        assert designs._chosen(scores, rows, [PLAIN, LEVELS], examples).design == best


def test_ctrl_c_ends_the_comparison(monkeypatch: pytest.MonkeyPatch) -> None:
    spins, class_of = parity(100, 3)
    results: list[qn.TrainingResult] = []

    def interrupted(problem: TrainingProblem, engine: Any, **options: Any) -> qn.TrainingResult:
        results.append(replace(qn.train(problem, engine, **options), stop=qn.Stop.INTERRUPTED))
        return results[-1]

    monkeypatch.setattr(designs, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        choose(CANDIDATES, examples_of(spins, class_of), seed=0)
    assert len(results) <= 2


# ---- in the classifier ----


def fitted(X: Any, y: Any, **arguments: Any) -> qn.QuboClassifier:
    arguments = {"committee_size": 2, "random_state": 0} | arguments
    return qn.QuboClassifier(**arguments).fit(X, y)


def test_xor_of_two_of_ten_columns_is_learned() -> None:
    X, y = parity(600, 10)
    classifier = fitted(X[:400], y[:400])
    assert classifier.score(X[400:], y[400:]) > 0.99
    assert classifier.design_ in CANDIDATES[1:]


@pytest.mark.parametrize("named", [{"hidden": 8}, {"weight_levels": 3}, {"threshold_levels": 5}])
def test_named_values_are_used_and_nothing_is_compared(named: dict[str, Any]) -> None:
    X, y = parity(100, 3)
    design = fitted(X, y, **named).design_
    expected = {"hidden": (8,)} if "hidden" in named else named
    assert design == Design(**expected)


def test_a_sum_of_squares_is_learned_without_hidden_neurons() -> None:
    X = np.random.default_rng(0).normal(size=(2_000, 4))
    y = (X**2).sum(axis=1) > 3.36  # the median
    levels = {"hidden": (), "weight_levels": 16, "threshold_levels": 513}
    classifier = fitted(X[:1_400], y[:1_400], committee_size=1, **levels)
    assert classifier.score(X[1_400:], y[1_400:]) > 0.88


def test_images_and_topologies_are_not_compared() -> None:
    X, y = parity(100, 9)
    assert fitted(X.reshape(-1, 3, 3), y, shifts=0).design_ == PLAIN
    assert fitted(X, y, topology="fc(4)").design_ is None


@pytest.mark.parametrize("wrong", [{"solver": "fastest"}, {"margin_strength": -1}])
def test_wrong_arguments_are_refused_before_designs_are_compared(
    wrong: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(designs, "train", None)
    X, y = parity(100, 3)
    with pytest.raises(RangeError, match=next(iter(wrong))):
        fitted(X, y, **wrong)


def test_a_warm_start_keeps_the_design() -> None:
    X, y = parity(400, 10)
    once = fitted(X, y, committee_size=3)
    twice = fitted(X, y, committee_size=2, warm_start=True).set_params(committee_size=3).fit(X, y)
    assert twice.design_ == once.design_
    assert np.array_equal(twice.decision_function(X), once.decision_function(X))


def test_a_file_holds_the_design(tmp_path: Any) -> None:
    X, y = parity(400, 10)
    classifier = fitted(X, y)
    classifier.save(tmp_path / "model.qubonn")
    loaded: Any = qn.load(tmp_path / "model.qubonn")
    assert loaded.design_ == classifier.design_
    assert np.array_equal(loaded.predict_proba(X), classifier.predict_proba(X))


@pytest.mark.parametrize(("is_grouped", "segments"), [(True, 1), (False, None)])
def test_designs_of_older_files_may_be_grouped(is_grouped: bool, segments: int | None) -> None:
    found = files._design({"hidden": [8], "is_grouped": is_grouped})
    assert found == Design(hidden=(8,), segments=segments)


def test_a_network_that_learns_nothing_is_reported() -> None:
    X, y = parity(300, 10)
    with pytest.warns(Underfitted, match="weight_levels=5, threshold_levels=33"):
        fitted(X, y, hidden=1, committee_size=1)


def test_levels_may_be_given_as_a_list() -> None:
    X, _ = parity(100, 3)
    design = fitted(X, X[:, 0], hidden=4, weight_levels=[3, 2], threshold_levels=[5, 2]).design_
    assert (design.weight_levels, design.threshold_levels) == ((3, 2), (5, 2))


def test_weight_decay_gives_zeros() -> None:
    X, y = load_iris(return_X_y=True)
    shares = []
    for decay in (0.0, 0.3):
        options: dict[str, Any] = {"weight_levels": 3, "committee_size": 1, "random_state": 0}
        classifier = qn.QuboClassifier((8,), weight_decay=decay, **options).fit(X, y)
        network = classifier.committee_.members[0]
        pairs = network.weight_spins.reshape(-1, 2).sum(axis=1)  # two parallel arcs each
        shares.append((pairs == 0).mean())
        assert classifier.design_ is not None
        assert classifier.design_.decay == decay
    assert shares[1] > shares[0] + 0.2


@pytest.mark.parametrize("decay", ["strong", -1, float("nan"), None])
def test_a_weight_decay_that_is_no_strength_is_refused(decay: object) -> None:
    with pytest.raises(QubonnError, match="weight_decay must be"):
        qn.QuboClassifier((2,), weight_levels=3, weight_decay=decay).fit([[0], [1]], [0, 1])


def test_columns_of_numbers_may_have_one_weight_for_all_their_thresholds() -> None:
    generator = np.random.default_rng(0)
    X = generator.normal(size=(400, 12))
    y = (X @ generator.normal(size=12) > 0).astype(int)
    classifier = qn.QuboClassifier(random_state=0).fit(X, y)
    assert classifier.design_.segments == 1
    topology = classifier.committee_.members[0].topology
    assert topology.dense_layers()[0].groups == tuple(np.repeat(np.arange(12), 31))
    assert classifier.score(X, y) > 0.95


def test_parts_of_a_column_may_have_weights_of_their_own() -> None:
    X = np.random.default_rng(0).normal(size=(900, 5))
    y = (X**2).sum(axis=1) > 4.35
    classifier = qn.QuboClassifier(random_state=0).fit(X[:600], y[:600])
    assert classifier.design_.segments == 8
    assert len(groups_of(classifier.committee_.members[0].topology)) == 40
    assert classifier.score(X[600:], y[600:]) > 0.9


def test_many_columns_have_fewer_parts() -> None:
    X = np.random.default_rng(0).normal(size=(300, 60))
    given: dict[str, Any] = {"topology": None, "binariser": "auto", "label_code": "auto"}
    encoding = Encoding.fit(X, np.arange(2), None, (), **given, segments=8, all_spins=2_048)
    assert len(groups_of(encoding.topology)) == 60 * 4


def groups_of(topology: qn.Topology) -> set[int]:
    layers = topology.dense_layers()
    assert layers is not None
    assert layers[0].groups is not None
    return set(layers[0].groups)
