"""Files that are whole or absent, and archives that cannot run code or exhaust memory.

Bytes, or named arrays <-> one file; JSON -> values.  A file is written to a temporary neighbour,
flushed to disk, then renamed over the target.  Archives are .npz files that numpy reads too; they
hold plain numbers and text only, and the same arrays always give the same bytes.

Threat model: a file may come from anyone.  Reading it must not run code (no pickle, no object
types), and must not allocate more than the file justifies: a limit on the file, a limit on what the
zip directory declares, no member unpacked beyond its declared size, and no array created before its
header's shape and type agree with the bytes that are there.  Anything else is one FileFormatError.
Not covered: files that change while they are read, and bugs in zlib or in numpy's header parser.
"""

import gzip
import io
import json
import os
import reprlib
import secrets
import stat
import sys
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from math import prod
from pathlib import Path
from typing import Any, BinaryIO, NoReturn

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError

Source = str | os.PathLike[str]

MOST_BYTES = 4 << 30  # of one file, and of what it unpacks to
MOST_CODE_POINT = 0x10FFFF  # of Unicode

GZIP = b"\x1f\x8b"  # the first bytes of a gzipped file
PLAIN_KINDS = "biufSU"  # of numpy types: no objects, no records


def write_whole(path: Source, data: bytes) -> None:
    """Replace the file at `path` by `data`: readers see the old file or the new one, never half.

    A link stays a link, and permissions stay as they were; a device or pipe is written straight.
    """
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        target.write_bytes(data)
        return
    temporary = target.with_name(f".{target.name[:50]}.{secrets.token_hex(8)}")
    try:
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
        if isinstance(error, OSError) and error.filename == os.fspath(temporary):
            error.filename = os.fspath(path)  # the caller named this file, not its neighbour
        raise
    _sync_directory(target.parent)


def read_limited(path: Source) -> bytes:
    """Return the bytes of a file, unless it is larger than any file of ours."""
    with open(path, "rb") as stream:
        return io.BufferedReader(_Limited(stream, os.fspath(path))).read()


@contextmanager
def open_bytes(path: Source) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacked if it is gzipped; "-" is standard input.

    Reading beyond MOST_BYTES, packed or unpacked, is refused.
    """
    name, is_standard_input = shown_source(path), os.fspath(path) == "-"
    with nullcontext(sys.stdin.buffer) if is_standard_input else open(path, "rb") as raw:
        peekable = io.BufferedReader(_Limited(raw, name))
        try:
            if peekable.peek(2)[:2] == GZIP:
                with gzip.GzipFile(fileobj=peekable) as unpacked:
                    yield io.BufferedReader(_Limited(unpacked, name))
            else:
                yield peekable
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise FileFormatError(
                f"{name} is not whole gzip data ({error}): it may be truncated or corrupted"
            ) from error


def shown_source(path: Source) -> str:
    """Return a path as messages name it."""
    return "standard input" if os.fspath(path) == "-" else os.fspath(path)


def parse_json(name: str, data: bytes | str) -> Any:
    """Decode JSON as the standard has it: no NaN, no Infinity, no key twice.

    `name` says in the error what was read.

    >>> parse_json("p.json", b'{"offset": 5}')
    {'offset': 5}
    >>> parse_json("p.json", b"[1, NaN]")
    Traceback (most recent call last):
    qubonn.errors.FileFormatError: p.json must be strict JSON; got the constant NaN
    """
    try:
        return json.loads(data, parse_constant=_refuse_constant, object_pairs_hook=_object)
    except json.JSONDecodeError as error:
        raise FileFormatError(
            f"{name} must be strict JSON; line {error.lineno}, column {error.colno}: {error.msg}"
        ) from None
    except RecursionError:
        raise FileFormatError(f"{name} must be strict JSON; got lists nested too deeply") from None
    except ValueError as error:  # not text, a number of thousands of digits, or ours below
        raise FileFormatError(f"{name} must be strict JSON; {error}") from None


def shown(value: object) -> str:
    """Return any value in a few words for an error, however large or deep it is.

    >>> shown([[[[[[[["deep"]]]]]]]])
    '[[[[[[[...]]]]]]]'
    """
    try:
        return reprlib.repr(value)
    except Exception:  # such as a number with more digits than Python prints
        return f"a value of type {type(value).__name__}"


def write_arrays(path: Source, arrays: dict[str, NDArray[Any]]) -> None:
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


def read_names(path: Source) -> list[str]:
    """Return the names of the arrays of an .npz archive without reading them.

    Empty for a file of another kind: `read_arrays` says what is wrong with it.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return [name.removesuffix(".npy") for name in archive.namelist()]
    except OSError:
        raise
    except Exception:  # zipfile raises several kinds on broken bytes
        return []


def read_arrays(path: Source) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an .npz archive; objects (pickle) and oversized ones are refused.

    Memory stays in proportion to what the members hold, whatever their headers claim.
    """
    data = read_limited(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            _require_plain_members(path, archive.infolist())
            arrays = {}
            for member in archive.infolist():
                content = archive.open(member).read(member.file_size)  # not more than declared
                name = member.filename
                arrays[name.removesuffix(".npy")] = _array(f"{path}: {name}", content)
            return arrays
    except FileFormatError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds on broken bytes
        raise FileFormatError(
            f"{path} is not a readable .npz archive ({type(error).__name__}): "
            "it may be truncated or corrupted"
        ) from error


def read_array(path: Source) -> NDArray[Any]:
    """Return the array of an .npy file; objects (pickle) are refused."""
    return _array(os.fspath(path), read_limited(path))


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"got the constant {constant}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        raise ValueError(
            f"an object must have each key once; got {shown([key for key, _ in pairs])}"
        )
    return decoded


def _require_plain_members(path: Source, members: list[zipfile.ZipInfo]) -> None:
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


def _array(name: str, data: bytes) -> NDArray[Any]:
    """Read one .npy member as numpy writes it: version 1.0, plain type, all bytes there."""
    stream = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(stream)
        shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception:  # numpy parses the header as a Python literal, which fails in many ways
        version, shape, dtype = (0, 0), (), np.dtype(object)
    if version != (1, 0) or dtype.kind not in PLAIN_KINDS or not dtype.itemsize:
        raise FileFormatError(
            f"{name} must be a .npy array of plain numbers or text (no objects, no pickle)"
        )
    promise = f"{name} must hold {dtype} of shape {shape}, as its header says"
    byte_count = len(data) - stream.tell()
    if prod(shape) * dtype.itemsize != byte_count:
        raise FileFormatError(f"{promise}; got {byte_count:,} bytes of data")
    stream.seek(0)
    try:
        array: NDArray[Any] = np.load(stream, allow_pickle=False)
    except (ValueError, OverflowError) as error:  # such as a hundred axes
        raise FileFormatError(f"{promise}; numpy refuses it: {error}") from error
    _require_values(name, array)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _require_values(name: str, array: NDArray[Any]) -> None:
    """Refuse bit patterns that numpy accepts but that are no bool, or no character."""
    if array.dtype.kind == "b" and (array.view(np.uint8) > 1).any():
        raise FileFormatError(f"{name} must hold booleans stored as 0 or 1")
    if array.dtype.kind == "U":
        flat = array.ravel("K")
        code_points = flat.view(np.dtype(np.uint32).newbyteorder(flat.dtype.byteorder))
        if (code_points > MOST_CODE_POINT).any():
            raise FileFormatError(f"{name} must hold Unicode text")


def _sync_directory(directory: Path) -> None:
    """Make the renaming last through a power cut, where the system lets us."""
    with suppress(OSError):  # Windows opens no directories
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


class _Limited(io.RawIOBase):
    """Passes bytes on, up to MOST_BYTES."""

    def __init__(self, stream: Any, name: str) -> None:
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
