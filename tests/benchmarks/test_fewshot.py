"""benchmarks/fewshot on a small set: what is done is kept, and what changed is done again."""

import gzip
import os
import signal
import sqlite3
import struct
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"
CLASSES = 3


@pytest.fixture(autouse=True)
def _benchmarks_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Images of 6 x 6 pixels of three classes, in files like MNIST's."""
    path = tmp_path_factory.mktemp("images")
    generator = np.random.default_rng(0)
    ideal = generator.integers(0, 2, (CLASSES, 36)) * 200
    for name, count in (("train", 60), ("t10k", 30)):
        labels = np.arange(count) % CLASSES
        images = ideal[labels] + generator.integers(0, 20, (count, 36))
        write_idx(path / f"{name}-images-idx3-ubyte.gz", images.reshape(count, 6, 6))
        write_idx(path / f"{name}-labels-idx1-ubyte.gz", labels)
    return path


def write_idx(path: Path, values: NDArray[np.int64]) -> None:
    head = bytes([0, 0, 8, values.ndim]) + struct.pack(f">{values.ndim}I", *values.shape)
    path.write_bytes(gzip.compress(head + values.astype(np.uint8).tobytes()))


Run = Callable[..., int]


@pytest.fixture
def run(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command without torch on two images per class; return the number of stored rows."""
    from fewshot import command

    monkeypatch.setattr(command, "find_spec", lambda name: None)

    def work(*words: str) -> int:
        store = tmp_path / "results.sqlite"
        options = ["--parts", "images", "--counts", "2", "--seeds", "0", "--members", "2"]
        command.main(["--mnist", str(folder), *options, "--store", str(store), *words])
        return row_count(store)

    return work


def row_count(store: Path) -> int:
    connection = sqlite3.connect(store)
    count = connection.execute("SELECT count(*) FROM runs").fetchone()[0]
    connection.close()
    return int(count)


def forbid(monkeypatch: pytest.MonkeyPatch, name: str, error: type[BaseException]) -> None:
    from fewshot import methods

    def refuse(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(methods, name, refuse)


class TestTheCommand:
    def test_prints_every_method_and_whether_targets_are_met(
        self, run: Run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert run("--markdown", str(tmp_path / "tables.md")) == 4
        text = capsys.readouterr().out
        assert "qubonn on grey pixels, committee of 2" in text
        assert "MNIST, 2 per class, committee" in text
        assert "| qubonn, single |" in (tmp_path / "tables.md").read_text("utf-8")

    def test_repeats_nothing_that_is_done(self, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        run()
        for name in ("train_logistic", "train_ours"):
            forbid(monkeypatch, name, AssertionError)
        assert run() == 4

    def test_goes_on_where_it_was_stopped(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
    ) -> None:
        with monkeypatch.context() as broken:
            forbid(broken, "train_ours", KeyboardInterrupt)
            with pytest.raises(SystemExit):
                run()
        assert row_count(tmp_path / "results.sqlite") == 1
        forbid(monkeypatch, "train_logistic", AssertionError)
        assert run() == 4

    def test_trains_ours_again_when_its_code_changed(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from fewshot import methods

        run()
        monkeypatch.setattr(methods, "code_of_ours", lambda: "other")
        forbid(monkeypatch, "train_logistic", AssertionError)
        assert run() == 7

    def test_trains_again_what_it_is_told_to(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert run() == 4
        with monkeypatch.context() as broken:
            forbid(broken, "train_ours", KeyboardInterrupt)
            with pytest.raises(SystemExit):
                run("--again", "ours")
        forbid(monkeypatch, "train_logistic", AssertionError)
        assert run("--again", "ours") == 5  # the old row is kept
        assert run() == 5

    def test_wants_a_folder_for_images(self, capsys: pytest.CaptureFixture[str]) -> None:
        from fewshot.command import main

        with pytest.raises(SystemExit):
            main(["--parts", "images"])
        assert "--mnist FOLDER" in capsys.readouterr().err


def test_an_interrupted_committee_is_no_result(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import qubonn as qn
    from fewshot.data import Mnist
    from fewshot.methods import train_ours

    monkeypatch.setattr(qn.QuboClassifier, "fit", lambda self, X, y: self)
    monkeypatch.setattr(qn.QuboClassifier, "is_interrupted_", True, raising=False)
    with pytest.raises(KeyboardInterrupt):
        train_ours(Mnist.read(folder).split(2, 0), 2, 0)


def test_tuning_is_scored_on_training_images_that_were_not_drawn(folder: Path) -> None:
    from fewshot.data import Mnist

    mnist = Mnist.read(folder)
    split = mnist.tuning_split(2, 100)
    drawn, held_out = (
        {row.tobytes() for row in part} for part in (split.train_pixels, split.test_pixels)
    )
    assert len(drawn) == 2 * CLASSES
    assert drawn | held_out == {row.tobytes() for row in mnist.train_pixels}
    assert not drawn & held_out


def test_moved_images_are_for_learning_only(folder: Path) -> None:
    from fewshot.data import Mnist

    split = Mnist.read(folder).split(2, 0)
    moved = split.shifted()
    count = len(split.train_pixels)
    assert np.array_equal(moved.train_pixels[:count], split.train_pixels)
    assert np.array_equal(moved.train_classes.reshape(9, count), [split.train_classes] * 9)
    assert moved.test_pixels is split.test_pixels


def test_digits_are_tuned_on_training_examples_only() -> None:
    from fewshot.data import digits_split, digits_tuning_split

    whole, inner = digits_split(0), digits_tuning_split(0)
    assert (len(whole.train_classes), len(whole.test_classes)) == (1297, 500)
    seen = {row.tobytes() for row in whole.train_pixels}
    assert {row.tobytes() for row in inner.test_pixels} <= seen


def test_targets_are_judged_by_means_over_seeds() -> None:
    from fewshot.report import Score, targets
    from fewshot.study import (
        COMMITTEE,
        IMAGES,
        OURS,
        OURS_IMAGES,
        SINGLE,
        STRAIGHT,
        STRAIGHT_SHIFTED,
    )

    def score(seed: int, method: str, kind: str, share: float, seconds: float) -> Score:
        return Score(IMAGES, 10, method, kind, share, seconds, 1)

    scores = [
        score(0, OURS, COMMITTEE, 0.78, 1),
        score(1, OURS, COMMITTEE, 0.80, 1),
        score(0, OURS, SINGLE, 0.70, 1),
        score(0, STRAIGHT, SINGLE, 0.71, 2),
        score(0, OURS_IMAGES, SINGLE, 0.70, 3),  # of images it is asked what moved images reach
        score(0, STRAIGHT_SHIFTED, SINGLE, 0.69, 2),
    ]
    assert [target.is_met for target in targets(scores)] == [True, False, True, True, False]


class TestStraightThrough:
    @pytest.fixture(autouse=True)
    def _torch(self) -> None:
        pytest.importorskip("torch", reason="straight-through networks need torch")

    def test_networks_are_ours_and_learn_in_batches(self, folder: Path) -> None:
        import qubonn as qn
        from fewshot.data import Mnist
        from straight_through import Settings, train_network

        split = Mnist.read(folder).split(4, 0)
        examples = split.train_spins, split.train_classes
        settings = Settings(learning_rate=0.03, batch_size=5, epoch_count=30)
        first, second = (
            train_network(*examples, 8, CLASSES, settings=settings, seed=1) for _ in range(2)
        )
        assert first == second
        votes = qn.Committee([first], "largest").votes(split.test_spins)
        assert (votes.argmax(axis=1) == split.test_classes).mean() > 0.7  # a guess: 0.33

    def test_slopes_are_those_of_autograd(self) -> None:
        import torch

        from straight_through import slopes

        generator = torch.Generator().manual_seed(0)
        inputs = torch.cat([_signs(torch.randn(7, 9, generator=generator)), torch.ones(7, 1)], 1)
        wanted = torch.eye(3)[torch.arange(7) % 3]
        latent = [torch.randn(shape, generator=generator) for shape in ((10, 4), (5, 3))]
        first, second = (_signs(layer).requires_grad_() for layer in latent)
        sums = inputs @ first / 10**0.5
        passing = sums.clamp(-1, 1)  # has the straight-through slope
        hidden = passing + (_signs(sums) - passing).detach()
        outputs = 0.5 * (hidden @ second[:-1] + second[-1]) / 5**0.5
        torch.nn.functional.cross_entropy(outputs, wanted).backward()
        for ours, theirs in zip(slopes(inputs, wanted, latent, 0.5), (first, second), strict=True):
            torch.testing.assert_close(ours, theirs.grad)

    def test_settings_are_tuned_first_and_kept(
        self, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from fewshot import command, study

        monkeypatch.setattr(study, "LEARNING_RATES", (0.001, 0.1))
        monkeypatch.setattr(study, "OUTPUT_SCALES", (1.0,))
        monkeypatch.setattr(study, "EPOCHS", 3)
        store = tmp_path / "results.sqlite"
        words = ["--mnist", str(folder), "--parts", "images", "--counts", "2", "--seeds", "0"]
        command.main([*words, "--members", "2", "--store", str(store)])
        # two draws of two settings, of images as they are and moved (the finals are the same: two
        # members); then logistic regression, ours three times and one or two settings of each
        assert row_count(store) in (14, 15, 16)
        for name in ("train_logistic", "train_ours", "train_straight_through"):
            forbid(monkeypatch, name, AssertionError)
        command.main([*words, "--members", "2", "--store", str(store)])

    def test_singles_and_committees_get_what_is_best_for_them(self) -> None:
        from fewshot.methods import record_of
        from fewshot.study import best, finalists
        from straight_through import Settings

        slow, quick = (Settings(learning_rate=rate) for rate in (0.01, 0.1))
        found = {slow: [record_of(0.7, 0.8, 1, 1, 1)], quick: [record_of(0.6, 0.9, 1, 1, 1)]}
        assert best(found) == (slow, quick)
        assert finalists(found) == [slow, quick]

    def test_the_grid_has_no_batch_of_all_examples_and_none_too_small(self) -> None:
        from fewshot.study import grid

        assert {settings.batch_size for settings in grid(64)} == {16, None}
        assert {settings.batch_size for settings in grid(1297)} == {64, 256, None}
        assert {settings.batch_size for settings in grid(3600, is_shifted=True)} == {64, 256}
        assert {settings.batch_size for settings in grid(54, is_shifted=True)} == {None}


def _signs(values: Any) -> Any:
    return 2.0 * (values > 0) - 1


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="there is no kill -9")
def test_a_killed_run_loses_the_training_in_flight_only(folder: Path, tmp_path: Path) -> None:
    store = tmp_path / "results.sqlite"
    words = ["--mnist", str(folder), "--parts", "images", "--counts", "2", "--seeds", "0"]
    command = [sys.executable, str(BENCHMARKS / "fewshot"), *words, "--members", "2"]
    command += ["--store", str(store)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and (not store.exists() or finished(store) < 3):
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    kept = row_count(store)
    assert kept >= 3
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    assert f"{kept} of" in again.stderr
    assert row_count(store) > kept


def finished(store: Path) -> int:
    try:
        return row_count(store)
    except sqlite3.OperationalError:  # not filled yet
        return 0
