import gzip
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from qubonn.datasets import read_idx, read_npz, read_table
from qubonn.datasets.files import TYPES, kind_of
from qubonn.errors import FileFormatError, QubonnError, ShapeError

CODE_OF = {np.dtype(text): code for code, text in TYPES.items()}


def idx(values: np.ndarray[Any, Any]) -> bytes:
    big = values.astype(values.dtype.newbyteorder(">"))
    head = bytes([0, 0, CODE_OF[big.dtype], values.ndim])
    return head + np.array(values.shape, dtype=">u4").tobytes() + big.tobytes()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("idx")


@given(data=st.data(), code=st.sampled_from(sorted(TYPES)), is_packed=st.booleans())
@settings(max_examples=60)
def test_every_type_and_shape_is_read_back(
    folder: Path, data: st.DataObject, code: int, is_packed: bool
) -> None:
    dtype = np.dtype(TYPES[code]).newbyteorder("=")
    values = data.draw(arrays(dtype, array_shapes(max_dims=4, max_side=4)))
    path = folder / "values-idx"
    path.write_bytes(gzip.compress(idx(values)) if is_packed else idx(values))
    back = read_idx(path)
    assert back.dtype == dtype
    assert back.tobytes() == values.tobytes()
    assert back.shape == values.shape


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "begins with nothing"),
        (b"\x00\x00\x08", "begins with 00 00 08"),
        (b"\x89PNG....", "begins with 89 50 4e 47"),
        (b"\x00\x00\x07\x01\x00\x00\x00\x00", "two zero bytes and a type"),
        (b"\x00\x00\x08\x00", "1 to 8 axes; got 0"),
        (b"\x00\x00\x08\x03\x00\x00", "ends within its header"),
        (b"\x00\x00\x08\x01\x00\x00\x00\x03ab", "3 bytes of values, as its header says; got 2"),
        (b"\x00\x00\x08\x01\x00\x00\x00\x03abcd", "got more"),
        (b"\x00\x00\x08\x03" + b"\xff" * 12, "not read"),
    ],
)
def test_what_is_wrong_in_an_idx_file_gets_one_sentence(
    tmp_path: Path, data: bytes, words: str
) -> None:
    path = tmp_path / "x-idx1-ubyte"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=words) as caught:
        read_idx(path)
    assert str(path) in str(caught.value)


def test_a_head_that_promises_much_costs_no_memory(tmp_path: Path) -> None:
    path = tmp_path / "x-idx1-ubyte"
    path.write_bytes(b"\x00\x00\x08\x01" + (1 << 29).to_bytes(4, "big") + b"few")
    tracemalloc.start()
    with pytest.raises(FileFormatError, match="got 3"):
        read_idx(path)
    assert tracemalloc.get_traced_memory()[1] < 16 << 20
    tracemalloc.stop()


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
        ({"X": np.array([[1.0, np.inf]])}, {}, "must be finite, or NaN .*; got inf at row 0"),
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
    for options in ({"drop": ["a"]}, {"has_header": False}, {"separator": ";"}):
        with pytest.raises(FileFormatError, match="is not a CSV file"):
            read_table(tmp_path / "d.npz", **options)
    assert len(read_table(tmp_path / "d.npz", drop=[], skip_missing=True)) == 2
    with pytest.raises(FileFormatError, match="is a CSV file"):
        read_table(tmp_path / "d.csv", labels=tmp_path / "d.npz")
