"""Tables with words and missing cells, and sparse matrices, as scikit-learn's users pass them."""

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.model_selection import cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline

import qubonn as qn
from qubonn.encoding import TableEncoder
from qubonn.encoding.automatic import encoded, fit_binariser
from qubonn.errors import AlphabetError, ShapeError

Labelled = tuple[NDArray[Any], NDArray[Any]]


def quick(**arguments: Any) -> qn.QuboClassifier:
    return qn.QuboClassifier(**({"hidden": 6, "committee_size": 2, "random_state": 0} | arguments))


def coloured(count: int = 120, seed: int = 0) -> Labelled:
    """Colour, a truth value and a size; an example is of class 1 if it is red or has no size."""
    generator = np.random.default_rng(seed)
    X = np.empty((count, 3), dtype=object)
    X[:, 0] = generator.choice(["red", "green", "blue"], count)
    X[:, 1] = generator.choice([True, False], count)
    X[:, 2] = generator.normal(size=count)
    X[generator.random(count) < 0.2, 2] = None
    y = (X[:, 0] == "red") | np.array([size is None for size in X[:, 2]])
    return X, y.astype(int)


def frame_of(X: NDArray[Any]) -> Any:
    pandas = pytest.importorskip("pandas")
    colour, truth, size = X.T
    columns = {"colour": pandas.Categorical(colour), "truth": truth.astype(bool)}
    return pandas.DataFrame(columns | {"size": pandas.array(size.tolist(), dtype="Float64")})


def test_words_and_missing_cells_are_learned() -> None:
    X, y = coloured()
    classifier = quick(hidden="auto").fit(X, y)
    assert isinstance(classifier.binariser_, TableEncoder)
    assert classifier.binariser_.categories == (("blue", "green", "red"), None, None)
    assert classifier.score(*coloured(seed=1)) > 0.95


def test_frames_lists_and_object_arrays_give_the_same_networks() -> None:
    X, y = coloured()
    frame = frame_of(X)
    fitted = [quick().fit(table, y) for table in (X, X.tolist(), frame)]
    assert fitted[0].committee_ == fitted[1].committee_ == fitted[2].committee_
    assert fitted[2].feature_names_in_.tolist() == ["colour", "truth", "size"]
    wanted = fitted[0].predict_proba(X)
    assert np.array_equal(fitted[2].predict_proba(frame), wanted)


def test_names_of_columns_are_checked_as_scikit_learn_does() -> None:
    X, y = coloured()
    frame = frame_of(X)
    classifier = quick(committee_size=1).fit(frame, y)
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[["truth", "colour", "size"]])
    with pytest.raises(ValueError, match="feature names"):
        classifier.predict(frame[["colour", "truth"]])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        classifier.fit(frame, y[:-1])
    nothing: Any = None
    with pytest.raises(ValueError, match="requires y"):
        classifier.fit(frame, nothing)
    with pytest.raises(ValueError, match="0 sample"):
        classifier.predict(frame[:0])


def test_missing_cells_in_columns_that_had_none_are_predicted() -> None:
    X, y = load_iris(return_X_y=True)
    classifier = quick().fit(X, y)
    holed = X.copy()
    holed[:, 1] = np.nan
    lowest = X.copy()
    lowest[:, 1] = X.min() - 1
    assert np.array_equal(classifier.predict_proba(holed), classifier.predict_proba(lowest))


def test_plain_arrays_may_have_gaps() -> None:
    X, y = load_iris(return_X_y=True)
    X[::7, 2] = np.nan
    classifier = quick().fit(X, y)
    assert isinstance(classifier.binariser_, TableEncoder)
    assert classifier.score(X, y) > 0.9
    assert np.array_equal(quick().fit(X.astype(object), y).predict(X), classifier.predict(X))


def test_text_where_numbers_were_is_refused_by_column() -> None:
    X, y = coloured()
    classifier = quick(committee_size=1).fit(frame_of(X), y)
    wrong = frame_of(X).astype({"size": object})
    wrong.loc[3, "size"] = "large"
    with pytest.raises(AlphabetError, match="column 'size' of X must hold numbers"):
        classifier.predict(wrong)
    numbers, labels = load_iris(return_X_y=True)
    with pytest.raises(
        AlphabetError, match="column 0 of X must hold numbers, as Thermometer needs"
    ):
        quick(committee_size=1).fit(numbers, labels).predict(np.full((2, 4), "a", dtype=object))


def test_tables_go_through_pipelines_and_cross_validation() -> None:
    X, y = coloured(200)
    chosen = make_column_transformer(("passthrough", ["colour", "size"]))
    pipeline = make_pipeline(chosen.set_output(transform="pandas"), quick(hidden="auto"))
    assert cross_val_score(pipeline, frame_of(X), y, cv=3).mean() > 0.9


def test_a_classifier_of_words_is_saved_and_goes_on_with_a_warm_start(tmp_path: Path) -> None:
    X, y = coloured()
    classifier = quick().fit(frame_of(X), y)
    classifier.save(tmp_path / "c.qubonn")
    copy: Any = qn.load(tmp_path / "c.qubonn")
    assert copy.binariser_.categories == classifier.binariser_.categories
    assert np.array_equal(copy.predict_proba(frame_of(X)), classifier.predict_proba(frame_of(X)))
    copy.set_params(warm_start=True, committee_size=3).fit(frame_of(X), y)
    assert copy.committee_ == quick(committee_size=3).fit(X, y).committee_


def test_several_labels_are_refused_with_the_way_to_learn_them() -> None:
    X, y = load_iris(return_X_y=True)
    both = np.stack([y == 0, y == 1], axis=1)
    for labels in (both, both.tolist()):
        with pytest.raises(ShapeError, match=r"sklearn\.multioutput\.MultiOutputClassifier"):
            quick().fit(X, labels)
    wrapped = MultiOutputClassifier(quick(committee_size=1)).fit(X, both)
    assert wrapped.predict(X).shape == both.shape


# ---- sparse matrices ----


def counts(rows: int = 90, columns: int = 30, density: float = 0.2) -> tuple[Any, NDArray[Any]]:
    """Small counts, mostly zeros, and whether one of the first three is there."""
    X = sparse.random(rows, columns, density=density, random_state=0)
    X.data = np.ceil(4 * X.data)
    return X, (X.toarray()[:, :3] > 0).any(axis=1).astype(int)


FORMATS = ["csr_matrix", "csc_matrix", "coo_matrix", "csr_array", "csc_array", "coo_array"]


@pytest.mark.parametrize("binariser", ["auto", "threshold", 2, qn.BitPlanes(3)])
@pytest.mark.parametrize("form", FORMATS)
def test_a_sparse_matrix_gives_the_networks_of_the_dense_one(form: str, binariser: Any) -> None:
    X, y = counts()
    arguments = {"binariser": binariser, "committee_size": 1}
    stored = getattr(sparse, form)(X)
    classifier, twin = quick(**arguments).fit(stored, y), quick(**arguments).fit(X.toarray(), y)
    assert classifier.committee_ == twin.committee_
    assert np.array_equal(classifier.predict_proba(stored), twin.predict_proba(X.toarray()))


@pytest.mark.parametrize("kind", ["bits", "spins", "many columns", "gaps", "images", "no zeros"])
def test_the_binariser_of_a_sparse_matrix_is_that_of_the_dense_one(kind: str) -> None:
    X, y = counts(columns=200 if kind == "many columns" else 16)
    dense = X.toarray()
    if kind in ("bits", "spins"):
        dense = np.where(dense > 0, 1.0, 0.0 if kind == "bits" else -1.0)
    if kind == "no zeros":
        dense += 1
    if kind == "gaps":
        dense[3:9, 2] = np.nan
    arguments = {"image_shape": (4, 4)} if kind == "images" else {}
    spins = [
        quick(**arguments).fit(table, y).binariser_.encode(dense)
        for table in (dense, sparse.csc_array(dense))
    ]
    assert np.array_equal(*spins)


def test_entries_that_are_stored_twice_are_added_up() -> None:
    X, y = counts()
    twice = sparse.coo_array(
        (np.tile(X.data / 2, 2), (np.tile(X.row, 2), np.tile(X.col, 2))), X.shape
    )
    assert quick().fit(twice, y).committee_ == quick().fit(X.toarray(), y).committee_
    csr = sparse.csr_array((np.ones(4), np.zeros(4, dtype=int), [0, 2, 4]), shape=(2, 3))
    doubled = quick(binariser=qn.BitPlanes(2)).fit(csr, [0, 1])
    assert np.array_equal(doubled.predict_proba(csr), doubled.predict_proba(csr.toarray()))
    assert csr.nnz == 4  # the caller's matrix is not changed


@pytest.mark.filterwarnings("ignore::qubonn.errors.Underfitted")  # one sweep, few examples
def test_a_wide_sparse_matrix_is_never_a_dense_matrix_of_floats() -> None:
    X, y = counts(rows=2000, columns=20_000, density=0.001)
    X = X.tocsr()
    solver = qn.ForwardAnnealing(replica_count=1, sweep_count=1)
    classifier = quick(hidden=(), committee_size=1, solver=solver).fit(
        X[:100], y[:100] | [0, 1] * 50
    )
    tracemalloc.start()
    try:
        spins = encoded(fit_binariser("auto", X), X)
        _, encoding_peak = tracemalloc.get_traced_memory()
        del spins
        tracemalloc.reset_peak()
        classifier.predict_proba(X)
        _, predicting_peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    cells = X.shape[0] * X.shape[1]
    assert encoding_peak < 1.5 * cells  # a byte for each spin; floats have eight
    assert predicting_peak < cells
