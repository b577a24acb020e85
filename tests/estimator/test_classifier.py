import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qubonn as qn
from qubonn.encoding.shifts import MOST_IMAGES
from qubonn.engines import InputShifts
from qubonn.errors import AlphabetError, RangeError, ShapeError, TopologyError
from qubonn.estimator.default_engine import engine_for
from qubonn.estimator.members import dropout_for, member_seeds
from qubonn.training.calibration import Calibration

Examples = tuple[NDArray[Any], NDArray[Any]]


@pytest.fixture(scope="module")
def iris() -> Examples:
    X, y = load_iris(return_X_y=True)
    return X, y


@pytest.fixture(scope="module")
def two(iris: Examples) -> Examples:
    X, y = iris
    return X[:100], np.array(["setosa", "versicolor"])[y[:100]]


def quick(**arguments: Any) -> qn.QuboClassifier:
    return qn.QuboClassifier(**({"hidden": 8, "committee_size": 3, "random_state": 0} | arguments))


# ---- how good the defaults are ----


@pytest.mark.parametrize(
    ("load", "least"),
    [(load_iris, 0.9), (load_wine, 0.9), (load_breast_cancer, 0.93), (load_digits, 0.9)],
    ids=["iris", "wine", "breast_cancer", "digits"],
)
def test_the_defaults_beat_a_majority_guess_by_far(load: Any, least: float) -> None:
    X, y = load(return_X_y=True)
    parts = train_test_split(X, y, train_size=min(600, len(X) // 2), stratify=y, random_state=0)
    train_X, test_X, train_y, test_y = parts
    majority = np.unique(test_y, return_counts=True)[1].max() / len(test_y)
    score = qn.QuboClassifier(random_state=0).fit(train_X, train_y).score(test_X, test_y)
    assert score >= least > majority + 0.2


# ---- what comes in ----


@pytest.mark.parametrize(
    "names",
    [["b", "a", "c"], [30, 10, 20], [5.0, -1.0, 2.0], np.array(["x", "yy", "z"], dtype=object)],
    ids=["text", "whole", "real", "objects"],
)
def test_classes_come_back_as_they_were_given(iris: Examples, names: Any) -> None:
    X, y = iris
    labels = np.asarray(names)[y]
    classifier = quick().fit(X, labels)
    assert classifier.classes_.tolist() == sorted(names)
    assert classifier.predict(X).dtype == labels.dtype
    assert (classifier.predict(X) == labels).mean() > 0.8


def test_two_classes_may_be_booleans(iris: Examples) -> None:
    X, y = iris
    classifier = quick().fit(X, y == 0)
    assert classifier.classes_.tolist() == [False, True]
    assert classifier.score(X, y == 0) > 0.95


@pytest.mark.parametrize("code", [lambda bits: bits, lambda bits: 2 * bits - 1, lambda b: b > 0])
def test_bits_spins_and_booleans_are_the_same_inputs(code: Any) -> None:
    generator = np.random.default_rng(0)
    bits = generator.integers(0, 2, (60, 9))
    y = bits[:, 0] + bits[:, 1]
    spins = quick().fit(2 * bits - 1, y)
    other = quick().fit(code(bits), y)
    assert other.committee_ == spins.committee_
    assert np.array_equal(other.predict(code(bits)), spins.predict(2 * bits - 1))


def test_images_are_flattened_and_convolutions_know_their_shape() -> None:
    digits = load_digits(n_class=3)
    flat = quick(image_shape=(8, 8), topology="conv(3x3x2)+fc(6)", committee_size=1)
    cubes = clone(flat).set_params(image_shape=None)
    rows, images, y = digits.data[::4], digits.images[::4], digits.target[::4]
    assert cubes.fit(images, y).committee_ == flat.fit(rows, y).committee_
    assert cubes.n_features_in_ == 64
    assert np.array_equal(cubes.predict(images), cubes.predict(rows))
    assert cubes.score(digits.images, digits.target) > 0.8
    assert cubes.committee_.members[0].topology.layer_shapes == ((1, 8, 8), (2, 6, 6), (6,), (3,))


def test_many_images_are_shifted_in_each_sweep_and_not_copied() -> None:
    generator = np.random.default_rng(0)
    classes = generator.integers(2, size=MOST_IMAGES + 1)
    shares = 0.3 + 0.4 * classes[:, None, None]
    images = (generator.random((len(classes), 4, 4)) < shares).astype(int)
    shifted, few = (
        qn.QuboClassifier(4, committee_size=1, shifts=1, random_state=0) for _ in range(2)
    )
    shifted.fit(images, classes)
    assert (shifted.shift_, shifted.example_count_) == (1, len(classes))
    network = shifted.committee_.members[0]
    spins = shifted.binariser_.encode(images.reshape(len(images), -1))
    problem = qn.TrainingProblem(network.topology, spins, shifted.code_book_.encode(classes))
    shifts = InputShifts(shape=(4, 4))
    engine = engine_for(problem, "largest", is_alone=True, noise=shifts)
    assert engine.solve(problem, seed=member_seeds(0, 1)[0]).network() == network
    assert few.fit(images[1:], classes[1:]).example_count_ == MOST_IMAGES


def test_bit_planes_are_channels_of_an_image() -> None:
    digits = load_digits(n_class=2)
    classifier = quick(binariser=qn.BitPlanes(5), topology="conv(4x4)+fc(8)", committee_size=3).fit(
        digits.images[::2], digits.target[::2]
    )
    shapes = classifier.committee_.members[0].topology.layer_shapes
    assert shapes is not None
    assert shapes[0] == (5, 8, 8)
    assert classifier.score(digits.images, digits.target) > 0.7  # a guess: 0.5


def test_any_acyclic_topology_is_trained(two: Examples) -> None:
    X, y = two
    arcs = [(0, 4), (1, 4), (2, 5), (3, 5), (4, 6), (5, 6), (0, 6), (4, 7), (5, 7), (1, 7)]
    skipping = qn.Topology.from_arcs(arcs, inputs=4, outputs=2)
    classifier = quick(topology=skipping, binariser="threshold").fit(X, y)
    assert classifier.committee_.members[0].topology == skipping
    assert classifier.score(X, y) > 0.9
    deep = quick(hidden=(6, 5)).fit(X, y)
    width = deep.binariser_.encode(X).shape[1]
    assert deep.committee_.members[0].topology == qn.Topology.dense(width, 6, 5, 2)
    assert deep.score(X, y) > 0.9
    assert quick(hidden=()).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize(
    "solver",
    [
        qn.LiftedAnnealing(replica_count=32),
        qn.SimulatedAnnealing(replica_count=256, sweep_count=500),
        qn.CpSat(),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_any_solver_of_either_view_trains(two: Examples, solver: Any) -> None:
    X, y = two
    classifier = quick(
        solver=solver, hidden=2, binariser="threshold", committee_size=2, margin_strength=0
    ).fit(X[::20], y[::20])
    assert {member.solver for member in classifier.members_} == {type(solver).__name__}
    assert classifier.violation_count_ == 0
    assert classifier.score(X[::20], y[::20]) == 1


@pytest.mark.parametrize(
    "dropout", [0.25, qn.Dropout(dropped_inputs=9, iteration_count=2, violation_decay=1)]
)
def test_members_are_trained_with_dropout(iris: Examples, dropout: Any) -> None:
    X, y = iris
    classifier = quick(dropout=dropout, committee_size=2).fit(X, y)
    assert classifier.score(X, y) > 0.9
    assert classifier.committee_ != quick(committee_size=2).fit(X, y).committee_
    again = quick(dropout=dropout, committee_size=2, time_limit=600).fit(X, y)
    assert again.committee_ == classifier.committee_


def test_a_share_is_dropped_of_inputs_and_hidden_neurons_alike() -> None:
    topology = qn.Topology.dense(40, 8, 4, 2)
    assert dropout_for(0.25, topology) == qn.Dropout(
        dropped_inputs=10, dropped_hidden=3, violation_decay=1
    )
    assert dropout_for(0, topology) is None
    assert dropout_for(None, topology) is None


# ---- what comes out ----


@pytest.mark.parametrize("label_code", ["one_hot", "gray_code"])
@pytest.mark.parametrize("committee_size", [1, 4])
def test_probabilities_scores_and_predictions_agree(
    iris: Examples, label_code: str, committee_size: int
) -> None:
    X, y = iris
    classifier = quick(label_code=label_code, committee_size=committee_size).fit(X, y)
    shares, scores = classifier.predict_proba(X), classifier.decision_function(X)
    assert shares.shape == scores.shape == (150, 3)
    assert np.allclose(shares.sum(axis=1), 1)
    assert (shares > 0).all()
    assert np.allclose(np.log(shares) - scores, (np.log(shares) - scores)[:, :1])
    predicted = classifier.predict(X)
    assert np.array_equal(predicted, classifier.classes_[shares.argmax(axis=1)])
    assert np.array_equal(predicted, classifier.classes_[scores.argmax(axis=1)])


@pytest.mark.parametrize("label_code", ["one_hot", "gray_code"])
def test_two_classes_have_one_score_positive_for_the_second(two: Examples, label_code: str) -> None:
    X, y = two
    classifier = quick(label_code=label_code).fit(X, y)
    scores, shares = classifier.decision_function(X), classifier.predict_proba(X)
    assert scores.shape == (100,)
    assert np.allclose(scores, np.log(shares[:, 1] / shares[:, 0]))
    assert np.array_equal(classifier.predict(X), classifier.classes_[(scores > 0).astype(int)])


def test_probabilities_are_the_geometric_mean_of_the_members_softmax(iris: Examples) -> None:
    X, y = iris
    classifier = quick().fit(X, y)
    classifier.calibration_ = Calibration()
    spins, product = classifier.binariser_.encode(X), np.ones((150, 3))
    for network in classifier.committee_.members:
        sums = network.pre_activations(spins)[:, 8:]
        powers = np.exp(sums / (0.6 * 9**0.5))  # 8 hidden neurons and a bias
        product *= powers / powers.sum(axis=1, keepdims=True)
    mean = product ** (1 / 3)
    expected = mean / mean.sum(axis=1, keepdims=True)
    assert np.allclose(classifier.predict_proba(X), expected)


def test_probabilities_of_a_gray_code_are_shares_of_votes(two: Examples) -> None:
    X, y = two
    classifier = quick(label_code="gray_code", hidden=1, committee_size=6).fit(X[::9], y[::9])
    spins = classifier.binariser_.encode(X)
    votes = sum((m.predict_outputs(spins) > 0).astype(int) for m in classifier.committee_.members)
    assert np.allclose(classifier.predict_proba(X)[:, [1]], (votes + 0.5) / 7)


@pytest.mark.parametrize("label_code", ["one_hot", "gray_code"])
def test_the_committee_alone_says_the_same(two: Examples, label_code: str) -> None:
    X, y = two
    classifier = quick(label_code=label_code, hidden=2, committee_size=4).fit(X[::9], y[::9])
    spins = classifier.committee_.predict_outputs(classifier.binariser_.encode(X))
    assert np.array_equal(classifier.code_book_.decode(spins), classifier.predict(X))


def test_members_say_how_their_training_went(iris: Examples) -> None:
    X, y = iris
    classifier = quick().fit(X, y)
    outputs = classifier.code_book_.encode(y)
    spins = classifier.binariser_.encode(X)
    problem = qn.TrainingProblem(classifier.committee_.members[0].topology, spins, outputs)
    for number, member in enumerate(classifier.members_):
        assert member.number == number
        assert member.violation_count == problem.certify(member.network).violations.count
        sums = member.network.pre_activations(spins)[:, 8:]
        assert member.accuracy == (sums.argmax(axis=1) == y).mean()
        assert member.sweep_count == 45
    assert classifier.violation_count_ == min(m.violation_count for m in classifier.members_)
    assert not classifier.is_interrupted_
    assert "training accuracy" in repr(classifier.members_[0])


def test_a_code_book_of_ones_own_is_used_in_the_order_of_the_classes(iris: Examples) -> None:
    X, y = iris
    book = qn.CodeBook([2, 0, 1], [[1, 1, 1], [-1, -1, 1], [1, -1, -1]])
    classifier = quick(label_code=book).fit(X, y)
    assert classifier.code_book_.classes.tolist() == [0, 1, 2]
    assert np.array_equal(classifier.code_book_.encode([0, 1, 2]), book.encode([0, 1, 2]))
    assert classifier.score(X, y) > 0.8


# ---- scikit-learn's tools ----


def test_it_works_in_a_pipeline_a_grid_search_and_cross_validation(iris: Examples) -> None:
    X, y = iris
    pipeline = make_pipeline(StandardScaler(), quick())
    grid = {"quboclassifier__margin_strength": [0, 0.03], "quboclassifier__hidden": [4, (8,)]}
    search = GridSearchCV(pipeline, grid, cv=3).fit(X, y)
    assert search.best_score_ > 0.9
    assert len(search.cv_results_["params"]) == 4
    assert np.mean(cross_val_score(quick(), X, y, cv=3)) > 0.9
    copy = clone(search.best_estimator_[-1])
    assert not hasattr(copy, "committee_")
    assert copy.get_params() == search.best_estimator_[-1].get_params()


def test_column_names_are_kept_and_compared(iris: Examples) -> None:
    pandas = pytest.importorskip("pandas")
    X, y = iris
    frame = pandas.DataFrame(X, columns=list("abcd"))
    classifier = quick(committee_size=1).fit(frame, y)
    assert classifier.feature_names_in_.tolist() == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[list("badc")])


def test_pickle_and_joblib_keep_the_estimator(iris: Examples, tmp_path: Path) -> None:
    X, y = iris
    classifier = quick().fit(X, y)
    joblib.dump(classifier, tmp_path / "c.joblib")
    for copy in (pickle.loads(pickle.dumps(classifier)), joblib.load(tmp_path / "c.joblib")):
        assert np.array_equal(copy.predict_proba(X), classifier.predict_proba(X))
        assert copy.get_params() == classifier.get_params()


# ---- what is refused ----


def test_wrong_examples_are_refused(iris: Examples) -> None:
    X, y = iris
    classifier = quick(committee_size=1).fit(X, y)
    holed = X.copy()
    holed[3, 1] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        classifier.predict(holed)
    with pytest.raises(ValueError, match="expecting 4 features"):
        classifier.predict(X[:, :3])
    with pytest.raises(AlphabetError, match="at least two classes; got one class, 1"):
        classifier.fit(X, np.ones(150, dtype=int))
    with pytest.raises(ShapeError, match=r"X must have 9 columns, one per pixel of \(3, 3\)"):
        quick(image_shape=(3, 3)).fit(X, y)
    with pytest.raises(NotFittedError):
        quick().predict(X)


CYCLE = qn.Topology.from_arcs([(0, 4), (4, 5), (5, 4), (5, 6)], inputs=4, outputs=3, nodes=9)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"hidden": 0}, RangeError, "hidden must be at least 1"),
        ({"hidden": "many"}, RangeError, "hidden must be 'auto', a number of neurons"),
        ({"hidden": 2.5}, RangeError, "hidden must be 'auto', a number of neurons"),
        ({"topology": 7}, TopologyError, "topology must be a Topology, or a text"),
        ({"topology": qn.Topology.dense(4, 2)}, TopologyError, "must have 9. inputs"),
        ({"topology": CYCLE, "binariser": "threshold"}, TopologyError, "no cycles"),
        ({"topology": "conv(2x2)"}, ValueError, "rows and columns"),
        ({"image_shape": (2,)}, ShapeError, "image_shape must be"),
        ({"image_shape": 4}, ShapeError, "image_shape must be"),
        ({"binariser": "best"}, RangeError, "binariser must be 'auto'"),
        ({"binariser": 0}, RangeError, "binariser must be at least 1"),
        ({"binariser": None}, RangeError, "binariser must be 'auto'"),
        ({"binariser": qn.Threshold([1, 2])}, ShapeError, "binariser must encode 4 columns"),
        ({"label_code": "morse"}, RangeError, "label_code must be 'auto'"),
        ({"label_code": qn.CodeBook.one_hot("ab")}, AlphabetError, "must have the 3 classes"),
        ({"label_code": qn.CodeBook.one_hot("abc")}, AlphabetError, "must be among the 3 classes"),
        ({"margin_strength": -1}, RangeError, "margin_strength must be"),
        ({"dropout": 1.0}, RangeError, "dropout must be None, a share"),
        ({"dropout": "some"}, RangeError, "dropout must be None, a share"),
        ({"dropout": qn.Dropout(dropped_hidden=8)}, TopologyError, "dropped_hidden must leave"),
        ({"solver": "fastest"}, RangeError, "solver must be 'auto'"),
        ({"solver": 3}, RangeError, "solver must be 'auto'"),
        ({"committee_size": 0}, RangeError, "committee_size must be at least 1"),
        ({"time_limit": 0}, RangeError, "time_limit must be a positive number"),
        ({"random_state": "luck"}, RangeError, "random_state must be None"),
        ({"random_state": -1}, RangeError, "random_state must be at least 0"),
    ],
    ids=lambda value: str(value)[:40] if isinstance(value, dict) else "",
)
def test_wrong_arguments_are_refused_in_fit(
    iris: Examples, arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    classifier = quick(**arguments)
    with pytest.raises(error, match=words):
        classifier.fit(*iris)
    assert not hasattr(classifier, "committee_")


def test_a_verbose_fit_reports_the_comparison_and_the_members(
    iris: Examples, capsys: pytest.CaptureFixture[str]
) -> None:
    classifier = qn.QuboClassifier(committee_size=1, random_state=0, verbose=True).fit(*iris)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "comparing 11 designs ..."
    assert any(line.startswith("comparing 11 designs: done, ") for line in lines)
    assert "members of the committee ..." in lines
    assert classifier.example_count_ == len(iris[1])
    assert classifier.version_ == qn.__version__
