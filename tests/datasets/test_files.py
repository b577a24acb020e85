from pathlib import Path
from typing import Any

import numpy as np
import pytest

from datasets.test_idx import idx
from qubonn.datasets import read_npz, read_table
from qubonn.datasets.files import kind_of
from qubonn.errors import FileFormatError, QubonnError, ShapeError


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.csv", "csv"),
        ("A.CSV.GZ", "csv"),
        ("a.tsv", "csv"),
        ("-", "csv"),
        ("train-images-idx3-ubyte", "idx"),
        ("train-images.idx3-ubyte.gz", "idx"),
        ("letters.idx", "idx"),
        ("a.npz", "npz"),
    ],
)
def test_a_name_tells_the_kind(name: str, kind: str) -> None:
    assert kind_of(f"some/folder/{name}") == kind


@pytest.mark.parametrize("name", ["a", "a.xlsx", "a.gz", "a.parquet", "a.pkl"])
def test_other_names_are_refused_with_those_that_are_known(name: str) -> None:
    with pytest.raises(FileFormatError, match=r"\.csv or \.tsv, \.npz, or IDX"):
        kind_of(name)


def test_idx_images_and_labels_make_a_table(tmp_path: Path) -> None:
    images = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
    (tmp_path / "images-idx3-ubyte").write_bytes(idx(images))
    (tmp_path / "labels-idx1-ubyte").write_bytes(idx(np.array([1, 0, 1, 2], dtype=np.uint8)))
    table = read_table(tmp_path / "images-idx3-ubyte", labels=tmp_path / "labels-idx1-ubyte")
    assert np.array_equal(table.inputs, images)
    assert table.known_labels.tolist() == [1, 0, 1, 2]
    assert table.column_count == 6


def test_as_many_labels_as_images_are_needed(tmp_path: Path) -> None:
    (tmp_path / "images-idx3-ubyte").write_bytes(idx(np.zeros((4, 2, 3), dtype=np.uint8)))
    (tmp_path / "labels-idx1-ubyte").write_bytes(idx(np.zeros(3, dtype=np.uint8)))
    with pytest.raises(ShapeError, match="each of its 4 examples; got 3"):
        read_table(tmp_path / "images-idx3-ubyte", labels=tmp_path / "labels-idx1-ubyte")


@pytest.mark.parametrize(
    ("names", "is_test", "expected"),
    [
        (("X", "y"), False, 1),
        (("x_train", "y_train", "x_test", "y_test"), False, 1),
        (("x_train", "y_train", "x_test", "y_test"), True, 2),
        (("images", "labels"), False, 1),
    ],
)
def test_npz_arrays_are_found_by_their_usual_names(
    tmp_path: Path, names: tuple[str, ...], is_test: bool, expected: int
) -> None:
    arrays: dict[str, Any] = {}
    for number, (inputs, labels) in enumerate(zip(names[::2], names[1::2], strict=True), start=1):
        arrays |= {inputs: np.full((2, 3), number), labels: np.array(["a", "b"])}
    np.savez(tmp_path / "d.npz", **arrays)
    table = read_npz(tmp_path / "d.npz", is_test=is_test)
    assert np.array_equal(table.inputs, np.full((2, 3), expected))
    assert table.known_labels.tolist() == ["a", "b"]


def test_npz_arrays_can_be_named(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "d.npz", X=np.zeros((2, 3)), other=np.ones((2, 3)), kind=np.array([2.0, 1.0])
    )
    table = read_npz(tmp_path / "d.npz", inputs="other", target="kind")
    assert table.inputs.tolist() == [[1, 1, 1], [1, 1, 1]]
    assert table.known_labels.tolist() == [2, 1]


@pytest.mark.parametrize(
    ("arrays", "options", "words"),
    [
        ({"a": np.zeros((2, 2))}, {}, "an array named X; it has 'a'"),
        ({"X": np.zeros((2, 2))}, {"target": "kind"}, "an array 'kind'; it has 'X'"),
        ({"X": np.zeros(2)}, {}, "a row or an image for each example"),
        ({"X": np.array([["a"]])}, {}, "must be numbers"),
        ({"X": np.array([[1.0, np.nan]])}, {}, "must be finite; got nan at row 0"),
        ({"X": np.zeros((2, 2)), "y": np.zeros(3, dtype=int)}, {}, "each of its 2 examples; got 3"),
        ({"X": np.zeros((2, 2)), "y": np.array([0.5, 1])}, {}, "whole numbers or text"),
        ({"X": np.zeros((0, 2))}, {}, "at least one example"),
    ],
)
def test_what_is_wrong_in_an_archive_gets_one_sentence(
    tmp_path: Path, arrays: dict[str, Any], options: dict[str, Any], words: str
) -> None:
    np.savez(tmp_path / "d.npz", **arrays)
    with pytest.raises(QubonnError, match=words):
        read_npz(tmp_path / "d.npz", **options)


def test_objects_are_refused_because_they_need_pickle(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.array([[object()]], dtype=object))
    with pytest.raises(FileFormatError, match="no pickle"):
        read_npz(tmp_path / "d.npz")


def test_options_of_csv_are_refused_for_other_files(tmp_path: Path) -> None:
    np.savez(tmp_path / "d.npz", X=np.zeros((2, 2)))
    with pytest.raises(FileFormatError, match="is no CSV file"):
        read_table(tmp_path / "d.npz", drop=["a"])
    with pytest.raises(FileFormatError, match="is a CSV file"):
        read_table(tmp_path / "d.csv", labels=tmp_path / "d.npz")
