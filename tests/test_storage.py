import io
import os
import pickle
import signal
import stat
import subprocess
import sys
import threading
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from qubonn import storage
from qubonn.errors import FileFormatError
from qubonn.storage import read_arrays, read_limited, read_names, write_arrays, write_whole

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


class TestWritingWhole:
    def test_replaces_the_old_file(self, tmp_path: Path) -> None:
        target = tmp_path / "file"
        write_whole(target, b"old")
        write_whole(target, b"new")
        assert target.read_bytes() == b"new"
        assert list(tmp_path.iterdir()) == [target]

    @pytest.mark.parametrize("step", ["fsync", "replace"])
    def test_keeps_the_old_file_and_no_other_if_it_fails(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
    ) -> None:
        target = tmp_path / "file"
        write_whole(target, b"old")
        monkeypatch.setattr(os, step, fail)
        with pytest.raises(OSError, match="no space left"):
            write_whole(target, b"new")
        assert target.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [target]

    def test_leaves_nothing_behind_if_it_is_interrupted(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def interrupt(_: int) -> NoReturn:
            raise KeyboardInterrupt

        monkeypatch.setattr(os, "fsync", interrupt)
        with pytest.raises(KeyboardInterrupt):
            write_whole(tmp_path / "file", b"new")
        assert list(tmp_path.iterdir()) == []

    def test_names_the_wanted_file_if_there_is_no_such_folder(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"missing/file'$"):
            write_whole(tmp_path / "missing" / "file", b"")

    def test_refuses_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(OSError, match="directory"):
            write_whole(tmp_path, b"")

    def test_takes_names_as_long_as_the_system_does(self, tmp_path: Path) -> None:
        target = tmp_path / ("n" * 255)
        write_whole(target, b"new")
        assert target.read_bytes() == b"new"

    @POSIX
    def test_gives_a_new_file_the_usual_permissions(self, tmp_path: Path) -> None:
        (tmp_path / "usual").touch()
        write_whole(tmp_path / "file", b"")
        assert (tmp_path / "file").stat().st_mode == (tmp_path / "usual").stat().st_mode

    @POSIX
    def test_keeps_the_permissions_of_the_old_file(self, tmp_path: Path) -> None:
        target = tmp_path / "file"
        target.touch(mode=0o600)
        write_whole(target, b"new")
        assert stat.S_IMODE(target.stat().st_mode) == 0o600

    @POSIX
    def test_writes_through_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "link").symlink_to("file")
        write_whole(tmp_path / "link", b"new")
        assert (tmp_path / "link").is_symlink()
        assert (tmp_path / "file").read_bytes() == b"new"

    @POSIX
    def test_writes_straight_into_a_pipe(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=write_whole, args=(pipe, b"new"))
        writer.start()
        assert pipe.read_bytes() == b"new"
        writer.join()
        assert pipe.is_fifo()

    @POSIX
    @pytest.mark.parametrize("delay", [0.0, 0.003, 0.01, 0.02, 0.05])
    def test_killed_at_any_time_leaves_the_old_file_or_the_new_one_whole(
        self, tmp_path: Path, delay: float
    ) -> None:
        size, target = 4 << 20, tmp_path / "file"
        program = (
            "import sys; from qubonn.storage import write_whole\n"
            f"for turn in range(10**6): write_whole(sys.argv[1], b'%x' % (turn % 2) * {size})\n"
        )
        process = subprocess.Popen([sys.executable, "-c", program, target], env=environment())
        while not target.exists():
            assert process.poll() is None
        threading.Event().wait(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert target.read_bytes() in (b"0" * size, b"1" * size)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


class TestReadingWithALimit:
    def test_gives_the_bytes(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"bytes")
        assert read_limited(tmp_path / "file") == b"bytes"

    @pytest.mark.parametrize("size", [0, 9, 10])
    def test_accepts_a_file_up_to_the_limit(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
    ) -> None:
        monkeypatch.setattr(storage, "MOST_BYTES", 10)
        (tmp_path / "file").write_bytes(b"x" * size)
        assert read_limited(tmp_path / "file") == b"x" * size

    def test_refuses_a_larger_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storage, "MOST_BYTES", 10)
        (tmp_path / "file").write_bytes(b"x" * 11)
        with pytest.raises(FileFormatError, match="file is larger than 10 bytes: not read"):
            read_limited(tmp_path / "file")

    def test_asks_for_no_more_memory_than_the_file_needs(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_bytes(b"small")
        tracemalloc.start()
        read_limited(tmp_path / "file")
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert peak < 1 << 20

    @POSIX
    def test_reads_a_pipe_to_its_end(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        writer = threading.Thread(target=pipe.write_bytes, args=(b"x" * 300_000,))
        writer.start()
        assert len(read_limited(pipe)) == 300_000
        writer.join()

    def test_lets_the_system_say_that_there_is_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError):
            read_limited(tmp_path / "file")


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
            npy(header(shape="(1L,)"), bytes(8)),
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
        monkeypatch.setattr(storage, "MOST_BYTES", 100_000)
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
