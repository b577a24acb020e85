"""Files that are whole or absent, and read only if they are files.

Bytes <-> file.  A file is written to a temporary neighbour, flushed to disk, then renamed over the
target; neighbours that a killed process left are removed on a later write.  Devices and folders are
not read, a pipe only if it has a writer, and of anything at most MOST_BYTES.
"""

import errno
import gzip
import io
import os
import re
import secrets
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import wraps
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

from qubonn.checks import require_memory
from qubonn.errors import FileFormatError, QubonnError

Source = str | os.PathLike[str]
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

MOST_BYTES = 4 << 30  # of one file, and of what it unpacks to
GZIP = b"\x1f\x8b"  # the first bytes of a gzipped file
PIPE_SECONDS = 2.0  # to wait for the other end of a pipe
OLD_SECONDS = 3600.0  # a temporary file that was not touched for so long was left by a dead process
TEMPORARY = re.compile(r"\..*\.[0-9a-f]{16}\.qubonn-part")


# ---- writing ----


def write_whole(path: Source, data: bytes) -> None:
    """Replace the file at `path` by `data`: readers see the old file or the new one, never half.

    A link stays a link, and permissions stay as they were; a device or pipe is written straight.
    """
    target = Path(os.path.realpath(path))
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}.qubonn-part")
    try:
        if target.exists() and not target.is_file():
            _write_straight(target, data)
            return
        with open(temporary, "xb") as stream:
            stream.write(data)
            stream.flush()
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException as error:
        with suppress(OSError):  # it may not exist
            temporary.unlink()
        if isinstance(error, OSError) and error.errno is not None:
            # the caller named this file, not its neighbour; a full disk names none
            error.filename = os.fspath(path)
            if error.filename2 is not None:
                del error.filename2
        raise
    _remove_old(target.parent)
    _sync_directory(target.parent)


def write_folder(folder: Source, files: dict[str, str]) -> None:
    """Write all texts into a folder, or none: files that were there before stay as they were."""
    own = Path(folder)
    new_folders = [path for path in (own, *own.parents) if not path.exists()]
    before: dict[Path, bytes | None] = {}
    try:
        own.mkdir(parents=True, exist_ok=True)
        for path in (own / name for name in files):
            before[path] = path.read_bytes() if path.is_file() else None
            write_whole(path, files[path.name].encode("utf-8"))
    except BaseException:
        for path, data in before.items():
            with suppress(OSError):
                path.unlink() if data is None else write_whole(path, data)
        for path in new_folders:
            with suppress(OSError):
                path.rmdir()
        raise


def _write_straight(target: Path, data: bytes) -> None:
    """Write to a device, or to a pipe that has a reader."""
    deadline = time.monotonic() + PIPE_SECONDS
    while True:
        try:
            handle = os.open(target, os.O_WRONLY | getattr(os, "O_NONBLOCK", 0))
            break
        except OSError as error:  # ENXIO: a pipe without a reader
            if error.errno != errno.ENXIO or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
    os.set_blocking(handle, True)
    with open(handle, "wb") as stream:
        stream.write(data)


def _remove_old(folder: Path) -> None:
    """Remove the temporary files that killed processes of this user left in a folder."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if TEMPORARY.fullmatch(entry.name):
                state = entry.stat(follow_symlinks=False)
                is_ours = not hasattr(os, "geteuid") or state.st_uid == os.geteuid()
                if is_ours and time.time() - state.st_mtime > OLD_SECONDS:
                    os.unlink(entry.path)


def _sync_directory(directory: Path) -> None:
    """Make the renaming last through a power cut, where the system lets us."""
    with suppress(OSError):  # Windows opens no directories
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# ---- reading ----


def reader(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """Decorate a function that reads a file, its first argument that is a path; see `guard`."""

    @wraps(function)
    def read(*arguments: Arguments.args, **options: Arguments.kwargs) -> Result:
        given = [*arguments, options.get("path")]
        path = next((one for one in given if isinstance(one, str | os.PathLike)), "the file")
        with guard(path):
            return function(*arguments, **options)

    return read


@contextmanager
def guard(path: Source) -> Iterator[None]:
    """Let through what the system says of a file and our own errors; all else is one of ours.

    Readers check what they read; this is for what no check foresaw, and for a lack of memory.
    """
    try:
        yield
    except (QubonnError, OSError):
        raise
    except MemoryError as error:
        raise FileFormatError(f"{shown_source(path)} needs more memory than is free") from error
    except Exception as error:
        raise FileFormatError(
            f"{shown_source(path)} cannot be read ({type(error).__name__}: {error!s:.200}): it may "
            "be truncated or corrupted"
        ) from error


def shown_source(path: Source) -> str:
    """Return a path as messages name it."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


def read_limited(path: Source) -> bytes:
    """Return the bytes of a file, unless it is larger than any file of ours."""
    with open_file(path) as stream:
        size = os.fstat(stream.fileno()).st_size  # 0 for a pipe
        require_memory(f"reading {os.fspath(path)}", size, hint="use a smaller file")
        return stream.read()


@contextmanager
def open_bytes(path: Source) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked if it is gzipped; "-" is standard input.

    Reading beyond MOST_BYTES, packed or unpacked, is refused.
    """
    name, is_standard_input = shown_source(path), os.fspath(path) == "-"
    opened = nullcontext(_limited(sys.stdin.buffer, name)) if is_standard_input else open_file(path)
    with opened as stream:
        try:
            if stream.peek(2)[:2] == GZIP:
                with gzip.GzipFile(fileobj=stream) as unpacked:
                    yield _limited(unpacked, name)
            else:
                yield stream
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"{name} is not whole gzip data ({error}): it may be truncated or corrupted"
            ) from error


@contextmanager
def open_file(path: Source) -> Iterator[io.BufferedReader]:
    """Open a regular file, or a pipe with a writer, for at most MOST_BYTES."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    mode = os.fstat(handle).st_mode
    if stat.S_ISDIR(mode):
        os.close(handle)
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
    with open(handle, "rb", buffering=0) as raw:
        if not stat.S_ISREG(mode) and not stat.S_ISFIFO(mode):
            raise FileFormatError(f"{os.fspath(path)} must be a file; it is a device or a socket")
        if stat.S_ISREG(mode):
            if os.fstat(handle).st_size > MOST_BYTES:
                raise _too_large(os.fspath(path))
            yield io.BufferedReader(raw)
        else:
            start = _start_of_pipe(path, handle)
            os.set_blocking(handle, True)
            yield _limited(raw, os.fspath(path), start)


def _start_of_pipe(path: Source, handle: int) -> bytes:
    """Return the first byte of a pipe if it is there already; wait a little for a writer."""
    deadline = time.monotonic() + PIPE_SECONDS
    while time.monotonic() < deadline:
        try:
            if start := os.read(handle, 1):
                return start
        except BlockingIOError:  # there is a writer, and nothing is written yet
            return b""
        time.sleep(0.01)
    raise FileFormatError(f"{os.fspath(path)} is a pipe without a writer: nothing to read")


def _too_large(name: str) -> FileFormatError:
    return FileFormatError(f"{name} is larger than {MOST_BYTES:,} bytes: not read")


def _limited(stream: Any, name: str, start: bytes = b"") -> io.BufferedReader:
    return io.BufferedReader(_Limited(stream, name, start))


class _Limited(io.RawIOBase):
    """Passes bytes on, up to MOST_BYTES; `start` was read before."""

    def __init__(self, stream: Any, name: str, start: bytes) -> None:
        self._read = getattr(stream, "read1", stream.read)
        self._stream, self._name, self._start, self._total = stream, name, start, 0

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return int(self._stream.fileno())

    def readinto(self, buffer: object) -> int:
        target = memoryview(buffer)  # type: ignore[arg-type]
        data, self._start = self._start or self._read(len(target)), b""
        self._total += len(data)
        if self._total > MOST_BYTES:
            raise _too_large(self._name)
        target[: len(data)] = data
        return len(data)
