"""Files are written whole, and read only if they are files."""

import errno
import gzip
import os
import resource
import signal
import stat
import subprocess
import sys
import threading
import time
import tracemalloc
from pathlib import Path
from typing import NoReturn

import pytest

from qubonn import files
from qubonn.errors import FileFormatError
from qubonn.files import guard, open_bytes, read_limited, reader, write_whole

POSIX = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


def fail(*_: object, **__: object) -> NoReturn:
    raise OSError("no space left")


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
        monkeypatch.setattr(files, "MOST_BYTES", 10)
        (tmp_path / "file").write_bytes(b"x" * size)
        assert read_limited(tmp_path / "file") == b"x" * size

    def test_refuses_a_larger_one(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(files, "MOST_BYTES", 10)
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

    @POSIX
    def test_waits_for_a_writer_who_is_slow(self, tmp_path: Path) -> None:
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)

        def write() -> None:
            time.sleep(0.3)
            with open(pipe, "wb") as stream:
                time.sleep(0.3)
                stream.write(b"late")

        writer = threading.Thread(target=write)
        writer.start()
        assert read_limited(pipe) == b"late"
        writer.join()

    @POSIX
    def test_does_not_wait_for_a_pipe_without_a_writer(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(files, "PIPE_SECONDS", 0.1)
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FileFormatError, match="is a pipe without a writer: nothing to read"):
            read_limited(tmp_path / "pipe")

    @POSIX
    @pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/full"])
    def test_refuses_a_device(self, device: str) -> None:
        with pytest.raises(FileFormatError, match=f"^{device} must be a file; it is a device"):
            read_limited(device)

    def test_refuses_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(IsADirectoryError, match=tmp_path.name):
            read_limited(tmp_path)

    def test_refuses_a_file_that_does_not_fit_the_memory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("qubonn.checks.free_memory", lambda: 0)
        with open(tmp_path / "file", "wb") as stream:
            stream.truncate(1 << 30)  # a hole, which takes no space
        with pytest.raises(ValueError, match=r"file needs about 1\.0 GiB and 0\.0 GiB are free"):
            read_limited(tmp_path / "file")


class TestLeftOvers:
    def left_over(self, folder: Path, age: float, name: str = "file") -> Path:
        path = folder / f".{name}.0123456789abcdef.qubonn-part"
        path.touch()
        os.utime(path, (time.time() - age,) * 2)
        return path

    def test_of_killed_processes_are_removed_by_the_next_write(self, tmp_path: Path) -> None:
        old = self.left_over(tmp_path, files.OLD_SECONDS + 60, "other")
        write_whole(tmp_path / "file", b"")
        assert not old.exists()

    def test_of_processes_that_may_be_running_stay(self, tmp_path: Path) -> None:
        young = self.left_over(tmp_path, 60)
        write_whole(tmp_path / "file", b"")
        assert young.exists()

    def test_are_only_our_own(self, tmp_path: Path) -> None:
        names = (".file.0123456789abcdef", "file.0123456789abcdef.qubonn-part", ".file.qubonn-part")
        for name in names:
            (tmp_path / name).touch()
            os.utime(tmp_path / name, (0, 0))
        write_whole(tmp_path / "file", b"")
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(("file", *names))

    @POSIX
    def test_a_killed_process_leaves_what_a_later_write_recognises(self, tmp_path: Path) -> None:
        program = (
            "import os, sys; from qubonn import files\n"
            "os.fsync = lambda handle: os.kill(os.getpid(), 9)\n"
            "files.write_whole(sys.argv[1], b'new')\n"
        )
        subprocess.run(
            [sys.executable, "-c", program, tmp_path / "file"], check=False, env=environment()
        )
        (left,) = tmp_path.iterdir()
        os.utime(left, (0, 0))
        write_whole(tmp_path / "file", b"whole")
        assert [path.name for path in tmp_path.iterdir()] == ["file"]


@POSIX
def test_an_error_of_a_full_disk_names_the_file(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError, match=r"file'$") as caught:
            write_whole(target, b"x" * 100_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert caught.value.errno == errno.EFBIG
    assert caught.value.filename == str(target)
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


@POSIX
def test_a_pipe_without_a_reader_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "PIPE_SECONDS", 0.1)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match=r"pipe'$"):
        write_whole(tmp_path / "pipe", b"")


class TestTheGuard:
    @pytest.mark.parametrize("error", [KeyError("x"), RecursionError("deep"), TypeError("None")])
    def test_turns_what_no_check_foresaw_into_one_sentence(self, error: Exception) -> None:
        sentence = r"^f\.csv cannot be read \(\w+: .*: it may be truncated or corrupted$"
        with pytest.raises(FileFormatError, match=sentence), guard("f.csv"):
            raise error

    def test_says_that_memory_is_lacking(self) -> None:
        with pytest.raises(FileFormatError, match="needs more memory than is free"), guard("f"):
            raise MemoryError

    @pytest.mark.parametrize("error", [FileNotFoundError("f"), FileFormatError("f is bad")])
    def test_lets_through_what_is_clear_already(self, error: Exception) -> None:
        with pytest.raises(type(error)) as caught, guard("f"):
            raise error
        assert caught.value is error

    def test_never_stops_ctrl_c(self) -> None:
        with pytest.raises(KeyboardInterrupt), guard("f"):
            raise KeyboardInterrupt

    def test_finds_the_path_among_the_arguments(self) -> None:
        @reader
        def read(owner: object, path: str) -> None:
            raise KeyError(owner)

        with pytest.raises(FileFormatError, match=r"^f\.csv cannot be read"):
            read(1, "f.csv")
        with pytest.raises(FileFormatError, match=r"^f\.csv cannot be read"):
            read(1, path="f.csv")


def test_gzipped_bytes_are_unpacked(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(gzip.compress(b"text"))
    with open_bytes(tmp_path / "file") as stream:
        assert stream.read() == b"text"
