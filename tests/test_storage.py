import gzip
import io
import os
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import qubonn as qn
from qubonn import files
from qubonn.datasets import read_table
from qubonn.errors import FileFormatError, QubonnError
from qubonn.storage import parse_json, read_arrays, read_names, write_arrays, write_whole

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


def fail(*_: object, **__: object) -> NoReturn:
    raise OSError("no space left")


def npy(header: bytes, data: bytes = b"", *, version: bytes = b"\x01\x00") -> bytes:
    padded = header + b"\n"
    return b"\x93NUMPY" + version + len(padded).to_bytes(2, "little") + padded + data


def header(descr: str = "'<i8'", order: str = "False", shape: str = "(1,)") -> bytes:
    return f"{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}".encode()


def archive_of(path: Path, *members: tuple[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return path


PLAIN_TYPES = st.sampled_from(["?", "i1", "u1", "i4", ">i4", "i8", "f4", "f8", "U3", "S3"])


class TestArchives:
    @given(
        array=arrays(PLAIN_TYPES, array_shapes(min_dims=0, max_dims=3, min_side=0)),
        order=st.sampled_from("CF"),
    )
    @settings(max_examples=60, deadline=None, derandomize=True)
    def test_give_back_every_array(
        self, tmp_path_factory: pytest.TempPathFactory, array: Any, order: Any
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "arrays.npz"
        write_arrays(path, {"one": np.asarray(array, order=order), "other": np.array("text")})
        back = read_arrays(path)
        assert list(back) == ["one", "other"]
        assert back["one"].dtype == array.dtype.newbyteorder("=")
        assert back["one"].shape == array.shape
        assert back["one"].tobytes() == array.astype(back["one"].dtype).tobytes()

    def test_are_read_by_numpy_and_written_by_numpy(self, tmp_path: Path) -> None:
        write_arrays(tmp_path / "ours.npz", {"a": np.arange(3)})
        with np.load(tmp_path / "ours.npz") as archive:
            assert archive["a"].tolist() == [0, 1, 2]
        np.savez(tmp_path / "theirs.npz", a=np.arange(3))
        assert read_arrays(tmp_path / "theirs.npz")["a"].tolist() == [0, 1, 2]

    def test_are_the_same_bytes_for_the_same_arrays(self, tmp_path: Path) -> None:
        for name in ("one", "other"):
            write_arrays(tmp_path / name, {"a": np.arange(3), "file": np.zeros(2)})
        assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()

    def test_refuse_objects_without_unpickling_them(self, tmp_path: Path) -> None:
        class Bomb:
            def __reduce__(self) -> tuple[Any, ...]:
                return Path.touch, (tmp_path / "exploded",)

        payload = npy(header("'|O'", shape="()"), pickle.dumps(np.array(Bomb(), dtype=object)))
        path = archive_of(tmp_path / "a.npz", ("a.npy", payload))
        with pytest.raises(FileFormatError, match=r"a\.npz: a\.npy must be .* no pickle"):
            read_arrays(path)
        assert not (tmp_path / "exploded").exists()

    @pytest.mark.parametrize(
        "payload",
        [
            npy(header(shape="(1000000000000,)"), bytes(8)),
            npy(header(shape="(1000000000, 1000000000, 1000000000)"), bytes(8)),
            npy(header("'<U900000000'"), bytes(8)),
            npy(header(shape="(0, 1000000000000000000000)")),
            npy(header("'<U0'", shape="(1000000000000,)")),
            npy(header("'|b1'"), b"\x02"),
            npy(header("'<U1'"), b"\xff\xff\xff\xff"),
            npy(header("[('a', '<i8')]"), bytes(8)),
            npy(header("'<M8'"), bytes(8)),
            npy(header("'<i3'"), bytes(3)),
            npy(header(shape="(-1,)"), bytes(8)),
            npy(header(shape="(" + "9" * 5000 + ",)"), bytes(8)),
            npy(header(shape="(" + "1, " * 100 + ")"), bytes(8)),
            npy(b"__import__('os').abort()"),
            npy(b"(" * 9000),
            npy(header(), bytes(7)),
            npy(header(), bytes(9)),
            npy(header(), bytes(8), version=b"\x02\x00"),
            b"\x93NUMPY\x01\x00\xff\xff",
            b"not an array",
            b"",
        ],
    )
    def test_refuse_members_that_lie_without_allocating_for_them(
        self, tmp_path: Path, payload: bytes
    ) -> None:
        path = archive_of(tmp_path / "a.npz", ("a.npy", payload))
        tracemalloc.start()
        with pytest.raises(FileFormatError, match=r"a\.npz"):
            read_arrays(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 << 20

    def test_refuse_a_member_that_unpacks_to_more_than_it_declares(self, tmp_path: Path) -> None:
        path = archive_of(tmp_path / "a.npz", ("a.npy", bytes(64 << 20)))
        size = (64 << 20).to_bytes(4, "little")
        path.write_bytes(path.read_bytes().replace(size, (100).to_bytes(4, "little")))
        tracemalloc.start()
        with pytest.raises(FileFormatError, match=r"a\.npz"):
            read_arrays(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 4 << 20

    def test_refuse_to_unpack_more_than_the_limit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "MOST_BYTES", 100_000)
        path = archive_of(tmp_path / "a.npz", ("a.npy", bytes(60_000)), ("b.npy", bytes(60_000)))
        with pytest.raises(FileFormatError, match="unpacks to 120,000 bytes, more than 100,000"):
            read_arrays(path)

    @pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
    def test_refuse_compression_without_a_limit(self, tmp_path: Path, method: int) -> None:
        path = archive_of(tmp_path / "a.npz", ("a.npy", bytes(100)), method=method)
        with pytest.raises(FileFormatError, match=r"a\.npy must be stored or deflated"):
            read_arrays(path)

    @pytest.mark.filterwarnings("ignore:Duplicate name")
    def test_refuse_two_members_of_one_name(self, tmp_path: Path) -> None:
        path = archive_of(tmp_path / "a.npz", ("a.npy", b"1"), ("a.npy", b"2"))
        with pytest.raises(FileFormatError, match="must hold each array once"):
            read_arrays(path)

    def test_tell_the_names_of_their_arrays_without_being_read(self, tmp_path: Path) -> None:
        path = tmp_path / "a.npz"
        write_arrays(path, {"one": np.zeros(1), "two": np.array("text")})
        assert read_names(path) == ["one", "two"]
        path.write_bytes(b"no archive")
        assert read_names(path) == []
        with pytest.raises(FileNotFoundError):
            read_names(tmp_path / "none.npz")

    @given(data=st.data())
    @settings(max_examples=150, deadline=None, derandomize=True)
    def test_that_are_damaged_are_refused_or_read(
        self, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
    ) -> None:
        path = tmp_path_factory.getbasetemp() / "damaged.npz"
        buffer = io.BytesIO()
        np.savez(buffer, a=np.arange(3), b=np.array("text"))
        damaged = bytearray(buffer.getvalue())
        for _ in range(data.draw(st.integers(1, 3))):
            damaged[data.draw(st.integers(0, len(damaged) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(damaged[: data.draw(st.none() | st.integers(0, len(damaged)))])
        try:
            assert all(isinstance(array, np.ndarray) for array in read_arrays(path).values())
        except FileFormatError as error:
            assert str(path) in str(error)  # noqa: PT017 - either outcome is right


def test_an_error_names_the_file_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(NotADirectoryError) as caught:
        write_whole(tmp_path / "file" / "x.npz", b"1")
    assert caught.value.filename == str(tmp_path / "file" / "x.npz")


class TestBombs:
    """Small files that would need much memory."""

    def zeros(self, path: Path, name: str, shape: tuple[int, ...]) -> Path:
        """Write an archive of zeros: a thousandth of their size."""
        start = npy(header("'|u1'", shape=str(shape)))
        with (
            zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive,
            archive.open(f"{name}.npy", "w") as stream,
        ):
            stream.write(start)
            for _ in range(prod(shape) >> 20):
                stream.write(bytes(1 << 20))
        return path

    def peak(self, read: Callable[[], object], message: str) -> int:
        tracemalloc.start()
        with pytest.raises(QubonnError, match=message):
            read()
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return peak

    def test_a_model_of_zeros_is_refused_by_its_directory(self, tmp_path: Path) -> None:
        path = self.zeros(tmp_path / "m.qubonn", "weight_bits", (128, 1 << 20))
        assert path.stat().st_size < 1 << 19
        assert self.peak(lambda: qn.load(path), "unpacks to 134,217,") < 16 << 20

    def test_arrays_that_are_not_asked_for_are_not_read(self, tmp_path: Path) -> None:
        path = self.zeros(tmp_path / "d.npz", "other", (128, 1 << 20))
        assert self.peak(lambda: read_table(path), "as an array named X") < 16 << 20

    def test_samples_of_another_width_are_not_read(self, tmp_path: Path) -> None:
        path = self.zeros(tmp_path / "s.npz", "bits", (128, 1 << 20))
        qubo = qn.Qubo.of([0], [1], [1], variable_count=2)
        assert self.peak(lambda: qn.Samples.load(path, qubo), "must have 2 values") < 16 << 20

    def test_what_does_not_fit_the_free_memory_is_not_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("qubonn.checks.free_memory", lambda: 100 << 20)
        path = self.zeros(tmp_path / "d.npz", "X", (128, 1 << 20))
        assert self.peak(lambda: read_table(path), "0.1 GiB are free") < 16 << 20

    def test_data_take_little_more_than_their_own_size(self, tmp_path: Path) -> None:
        path = self.zeros(tmp_path / "d.npz", "X", (64, 1 << 20))
        tracemalloc.start()
        read_table(path)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 2 * (64 << 20)

    def test_json_of_many_small_lists_is_refused_before_it_is_decoded(self) -> None:
        text = b"[" + b"[]," * (3 << 20) + b"[]]"
        peak = self.peak(lambda: parse_json("p.json", text), "many small lists and objects")
        assert peak < 16 << 20

    def test_json_of_bits_without_spaces_is_read(self) -> None:
        text = b"[" + b"[0,1,1,0,1,0,0,1,0,1],[1,1,0,0,1,0,1,1,0,0]," * 100_000 + b"[]]"
        assert len(parse_json("samples.json", text)) == 200_001

    @pytest.mark.parametrize("piece", [b"1" * 1024, b'"\n",' * 256])
    def test_a_row_without_end_is_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, piece: bytes
    ) -> None:
        monkeypatch.setattr("qubonn.datasets.table.MOST_CHARACTERS", 1 << 20)
        path = tmp_path / "d.csv.gz"
        path.write_bytes(gzip.compress(b"a,b\n" + piece * (48 << 10), 1))
        peak = self.peak(lambda: read_table(path), "must have rows of fewer than 1,048,576 charac")
        assert peak < 40 << 20
