"""Files that earlier versions wrote are read, and predict what they predicted then.

`versions/` has files of each format: 0.1.0-first lists the arcs of networks (format 1), 0.1.0 lists
dense layers (format 2); 0.1.0-settings has the names that settings of engines had at first. A
release that changes a format adds its own.
"""

from pathlib import Path

import numpy as np
import pytest

import qubonn as qn

FOLDER = Path(__file__).parent / "versions"
VERSIONS = sorted(path.name.removesuffix("-expected.npz") for path in FOLDER.glob("*.npz"))


def spins(seed: int, columns: int) -> "np.ndarray[tuple[int, int], np.dtype[np.int64]]":
    return np.where(np.random.default_rng(seed).random((16, columns)) > 0.5, 1, -1)


@pytest.mark.parametrize("version", VERSIONS)
class TestFilesOf:
    @pytest.mark.parametrize(
        ("name", "seed", "columns"), [("network", 0, 5), ("convolution", 1, 25)]
    )
    def test_networks_are_read(self, version: str, name: str, seed: int, columns: int) -> None:
        network = qn.load(FOLDER / f"{version}-{name}.qubonn")
        assert isinstance(network, qn.BinaryNetwork)
        with np.load(FOLDER / f"{version}-expected.npz") as expected:
            assert (network.predict_outputs(spins(seed, columns)) == expected[name]).all()

    def test_classifiers_are_read(self, version: str) -> None:
        classifier = qn.load(FOLDER / f"{version}-classifier.qubonn")
        assert isinstance(classifier, qn.QuboClassifier)
        rows = [[n % 2, (n // 2) % 2, (n * 7) % 5, n] for n in range(24)]
        with np.load(FOLDER / f"{version}-expected.npz") as expected:
            assert (classifier.predict(np.array(rows, float)) == expected["classifier"]).all()


def test_there_are_files_of_every_format() -> None:
    assert VERSIONS == ["0.1.0", "0.1.0-first", "0.1.0-settings"]


def test_settings_are_read_by_the_names_that_they_had() -> None:
    classifier = qn.load(FOLDER / "0.1.0-settings-classifier.qubonn")
    assert isinstance(classifier, qn.QuboClassifier)
    assert classifier.solver == qn.ForwardAnnealing(
        replica_count=2,
        sweep_count=20,
        reading="largest",
        target_margin=2,
    )
