"""Files that are whole or absent, and archives that cannot run code or fill the memory.

Bytes, or named arrays <-> one file.  Written to a temporary neighbour, flushed to disk, then
renamed over the target.  The archives are .npz files that numpy reads too; ours hold plain
numbers and text only, and the same arrays always give the same bytes.
"""

import contextlib
import gzip
import io
import os
import re
import secrets
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError

MOST_BYTES = 4 << 30  # of one file, and of what it unpacks to
MOST_CODE_POINT = 0x10FFFF  # of Unicode

PLAIN_KINDS = "biufSU"  # of numpy types: no objects, no records
NPY_HEADER = re.compile(  # exactly what numpy writes; never evaluated
    rb"\{'descr': '([<>|][biufSU][0-9]{1,9})', 'fortran_order': (True|False), "
    rb"'shape': \(([0-9, ]*)\), \} *\n"
)


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at `path` by `data`: readers see the old file or the new one, never half.

    A link stays a link, and permissions stay as they were; a device or pipe is written straight.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}")
    try:
        stream = open(temporary, "xb")  # noqa: SIM115 - closed below, whatever happens
    except OSError as error:
        error.filename = os.fspath(path)  # people know the file they named, not its neighbour
        raise
    try:
        with stream:
            stream.write(data)
            stream.flush()
            if target.exists():
                os.chmod(temporary, stat.S_IMODE(target.stat().st_mode))
            os.fsync(stream.fileno())
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def read_limited(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, unless it is larger than any file of ours."""
    pieces, total = [], 0
    with open(path, "rb") as stream:
        # Python allocates what it is asked to read: ask for no more than there seems to be
        expected = min(os.fstat(stream.fileno()).st_size, MOST_BYTES)
        while piece := stream.read(max(expected - total, 1 << 16)):
            pieces.append(piece)
            total += len(piece)
            if total > MOST_BYTES:
                raise FileFormatError(f"{path} is larger than {MOST_BYTES:,} bytes: not read")
    return b"".join(pieces)


def write_arrays(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> None:
    """Write named arrays as a compressed .npz archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            assert array.dtype.kind in PLAIN_KINDS, f"{name} must hold numbers or text"
            member = io.BytesIO()
            np.lib.format.write_array(member, array, version=(1, 0), allow_pickle=False)
            undated = zipfile.ZipInfo(f"{name}.npy")
            archive.writestr(undated, member.getbuffer(), zipfile.ZIP_DEFLATED, compresslevel=4)
    write_whole(path, buffer.getvalue())


def read_names(path: str | os.PathLike[str]) -> list[str]:
    """Return the names of the arrays of an .npz archive, without reading them; none if it is none.

    What is wrong with a file is for `read_arrays` to say.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except OSError:
        raise
    except Exception:  # zipfile raises several kinds on broken bytes
        return []


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an .npz archive; objects (pickle) and oversized ones are refused.

    Memory stays in proportion to what the members really hold, whatever their headers claim.
    """
    data = read_limited(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _require_plain_members(path, archive.infolist())
            return {
                member.filename.removesuffix(".npy"): _array(
                    f"{path}: {member.filename}", _unpacked(archive, member)
                )
                for member in archive.infolist()
            }
    except FileFormatError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds on broken bytes
        raise FileFormatError(
            f"{path} is not a readable .npz archive ({type(error).__name__}): "
            "it may be truncated or corrupted"
        ) from error


def read_array(path: str | os.PathLike[str]) -> NDArray[Any]:
    """Return the array of an .npy file; objects (pickle) are refused."""
    return _array(os.fspath(path), read_limited(path))


def _require_plain_members(path: str | os.PathLike[str], members: list[zipfile.ZipInfo]) -> None:
    unpacked = sum(member.file_size for member in members)
    if unpacked > MOST_BYTES:
        raise FileFormatError(
            f"{path} unpacks to {unpacked:,} bytes, more than {MOST_BYTES:,}: not read"
        )
    names = [member.filename for member in members]
    if len(set(names)) != len(names):
        raise FileFormatError(f"{path} must hold each array once; got names {sorted(names)}")
    for member in members:
        # bzip2 and lzma members unpack without a limit that zipfile could set
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileFormatError(
                f"{path}: {member.filename} must be stored or deflated; "
                f"got compression method {member.compress_type}"
            )


def _unpacked(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bytes:
    with archive.open(member) as stream:
        return stream.read(member.file_size)  # no more than was declared; the checksum is tested


def _array(name: str, data: bytes) -> NDArray[Any]:
    """Read one .npy member as numpy writes it: version 1.0, plain type, all bytes there."""
    start = 10 + int.from_bytes(data[8:10], "little")
    header = NPY_HEADER.fullmatch(data[10:start])
    if data[:8] != b"\x93NUMPY\x01\x00" or header is None:
        raise FileFormatError(
            f"{name} must be a .npy array of plain numbers or text (no objects, no pickle)"
        )
    dtype = np.dtype(header[1].decode())
    shape = tuple(int(number) for number in re.findall(rb"[0-9]+", header[3]))
    if prod(shape) * dtype.itemsize != len(data) - start:
        raise FileFormatError(
            f"{name} must hold {dtype} of shape {shape}, as its header says; "
            f"got {len(data) - start:,} bytes of data"
        )
    flat = np.frombuffer(data, dtype, offset=start)
    _require_values(name, flat)
    array = flat.reshape(shape, order="F" if header[2] == b"True" else "C")
    return array.astype(dtype.newbyteorder("="))


def _require_values(name: str, flat: NDArray[Any]) -> None:
    """Refuse bit patterns that numpy takes but that are no bool, or no character."""
    if flat.dtype.kind == "b" and (flat.view(np.uint8) > 1).any():
        raise FileFormatError(f"{name} must hold booleans stored as 0 or 1")
    if flat.dtype.kind == "U":
        code_points = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
        if (code_points > MOST_CODE_POINT).any():
            raise FileFormatError(f"{name} must hold Unicode text")


def _sync_directory(directory: Path) -> None:
    """Make the renaming last through a power cut, where the system lets us."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


Source = str | os.PathLike[str]
GZIP = b"\x1f\x8b"


@contextmanager
def open_bytes(path: Source) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked if it is gzipped; "-" is standard input.

    Reading beyond `qubonn.storage.MOST_BYTES`, packed or unpacked, is refused.
    """
    name = shown_source(path)
    with _raw(path) as raw:
        peekable = io.BufferedReader(_Limited(raw, name))
        is_packed = peekable.peek(2)[:2] == GZIP
        try:
            if is_packed:
                with gzip.GzipFile(fileobj=peekable) as unpacked:
                    yield io.BufferedReader(_Limited(unpacked, name))
            else:
                yield peekable
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"{name} is not whole gzip data ({error}): it may be truncated or corrupted"
            ) from error


def shown_source(path: Source) -> str:
    """Return a path as people know it."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


@contextmanager
def _raw(path: Source) -> Iterator[io.BufferedReader]:
    if os.fspath(path) == "-":
        yield sys.stdin.buffer  # type: ignore[misc]  # it is one, and tests have another
        return
    with open(path, "rb") as stream:
        yield stream


class _Limited(io.RawIOBase):
    """Hands bytes on until there are too many of them."""

    def __init__(self, stream: io.BufferedReader | gzip.GzipFile, name: str) -> None:
        self._stream, self._name, self._total = stream, name, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        data = self._stream.read1(len(memoryview(buffer)))  # type: ignore[arg-type]
        self._total += len(data)
        if self._total > MOST_BYTES:
            raise FileFormatError(f"{self._name} is larger than {MOST_BYTES:,} bytes: not read")
        memoryview(buffer)[: len(data)] = data  # type: ignore[arg-type]
        return len(data)
