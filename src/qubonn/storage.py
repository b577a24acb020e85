"""Archives that cannot run code or exhaust memory, and strict JSON.

Named arrays <-> one file; JSON -> values.  Archives are .npz files that numpy reads too; they hold
plain numbers and text only, and the same arrays always give the same bytes.

Threat model: a file may come from anyone.  Reading it must not run code (no pickle, no object
types), and must not allocate more than the file justifies: a limit on the file, a limit on what the
zip directory declares, no member unpacked beyond its declared size, no array created before its
header's shape and type agree with the bytes that are there and with the memory that is free, and no
JSON decoded whose values need far more memory than its text.  Anything else is one FileFormatError.
Not covered: files that change while they are read, and bugs in zlib or in numpy's header parser.
"""

import io
import json
import os
import reprlib
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from math import prod
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from qubonn import files
from qubonn.checks import HARMLESS_BYTES, require_memory
from qubonn.errors import FileFormatError, QubonnError
from qubonn.files import (
    Source,
    guard,
    open_bytes,
    open_file,
    read_limited,
    reader,
    shown_source,
    write_whole,
)

__all__ = [
    "Archive",
    "Source",
    "fill",
    "guard",
    "open_arrays",
    "open_bytes",
    "parse_json",
    "read_array",
    "read_arrays",
    "read_limited",
    "read_names",
    "reader",
    "shown",
    "shown_source",
    "write_arrays",
    "write_whole",
]

MOST_CODE_POINT = 0x10FFFF  # of Unicode
MOST_GROWTH = 256  # times that what we wrote is larger unpacked; bytes that repeat do not count
PLAIN_KINDS = "biufSU"  # of numpy types: no objects, no records
BYTES_AT_ONCE = 1 << 20
JSON_COSTS = {b"[": 72, b"{": 360, b",": 32, b'"': 30}  # bytes of memory, about, for each
JSON_GROWTH = 20  # times that decoded JSON is larger than its text, at most


def parse_json(name: str, data: bytes | str) -> Any:
    """Decode JSON as the standard has it: no NaN, no Infinity, no key twice.

    `name` says in the error what was read.

    >>> parse_json("p.json", b'{"offset": 5}')
    {'offset': 5}
    >>> parse_json("p.json", b"[1, NaN]")
    Traceback (most recent call last):
    qubonn.errors.FileFormatError: p.json must be strict JSON; got the constant NaN
    """
    _require_moderate_json(name, data if isinstance(data, bytes) else data.encode())
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
        with open_arrays(path) as archive:
            return archive.names
    except FileFormatError:
        return []


def read_arrays(path: Source, *, is_ours: bool = False) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an .npz archive; objects (pickle) and oversized ones are refused.

    Memory stays in proportion to what the members hold, whatever their headers claim; a file that
    `is_ours` is refused if it is much larger unpacked than what we write.
    """
    with open_arrays(path, is_ours=is_ours) as archive:
        return {name: archive.read(name) for name in archive.names}


def read_array(path: Source) -> NDArray[Any]:
    """Return the array of an .npy file; objects (pickle) are refused."""
    with open_file(path) as stream, guard(path):
        size = os.fstat(stream.fileno()).st_size
        return _array(os.fspath(path), stream, size)


@contextmanager
def open_arrays(path: Source, *, is_ours: bool = False) -> Iterator["Archive"]:
    """Open an .npz archive whose arrays are read one by one; `is_ours` as in `read_arrays`."""
    with open_file(path) as stream, guard(path):
        data = stream if stream.seekable() else io.BytesIO(stream.read())
        try:
            with zipfile.ZipFile(data) as archive:
                size = data.seek(0, os.SEEK_END)
                _require_plain_members(path, archive.infolist(), size if is_ours else None)
                yield Archive(os.fspath(path), archive)
        except (QubonnError, MemoryError):
            raise
        except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds on broken bytes
            raise FileFormatError(
                f"{path} is not a readable .npz archive ({type(error).__name__}): "
                "it may be truncated or corrupted"
            ) from error


class Archive:
    """An open .npz archive of plain arrays."""

    def __init__(self, path: str, archive: zipfile.ZipFile) -> None:
        self._path, self._archive = path, archive
        self._members = {one.filename.removesuffix(".npy"): one for one in archive.infolist()}

    @property
    def names(self) -> list[str]:
        """The names of the arrays, in the order of the file."""
        return list(self._members)

    def header(self, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return shape and type of an array without reading it."""
        with self._archive.open(self._members[name]) as stream:
            shape, _, dtype = _header(f"{self._path}: {name}.npy", stream)
            return shape, dtype

    def read(self, name: str) -> NDArray[Any]:
        """Return an array."""
        member = self._members[name]
        with self._archive.open(member) as stream:
            return _array(f"{self._path}: {member.filename}", stream, member.file_size)


def fill(name: str, stream: Any, dtype: np.dtype[Any], count: int) -> NDArray[Any]:
    """Read `count` values to the end of a stream into one new vector.

    The memory is checked before, and grows with the bytes that come, not with what was declared.
    """
    byte_count = count * dtype.itemsize
    require_memory(f"reading {name}", byte_count, hint="use fewer examples")
    data = bytearray()
    while piece := stream.read(min(byte_count - len(data), BYTES_AT_ONCE)):
        data += piece
    if len(data) < byte_count or stream.read(1):
        found = "more" if len(data) == byte_count else f"{len(data):,}"
        raise FileFormatError(
            f"{name} must hold {byte_count:,} bytes of values, as its header says; got {found}: "
            "it may be truncated or corrupted"
        )
    return np.frombuffer(data, dtype)


def _require_moderate_json(name: str, data: bytes) -> None:
    """Refuse text whose values would need far more memory than it has bytes."""
    needed = len(data) + sum(cost * data.count(sign) for sign, cost in JSON_COSTS.items())
    require_memory(f"reading {name}", needed, hint="use a smaller file, or .npz")
    if needed > HARMLESS_BYTES and needed > JSON_GROWTH * len(data):
        raise FileFormatError(
            f"{name} has {len(data):,} bytes of JSON that would need {needed:,} bytes of memory: "
            "it must hold numbers rather than many small lists and objects; use .npz"
        )


def _refuse_constant(constant: str) -> NoReturn:
    raise ValueError(f"got the constant {constant}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    decoded = dict(pairs)
    if len(decoded) != len(pairs):
        raise ValueError(
            f"an object must have each key once; got {shown([key for key, _ in pairs])}"
        )
    return decoded


def _require_plain_members(path: Source, members: list[zipfile.ZipInfo], size: int | None) -> None:
    """Refuse members that repeat, are too large, or could grow beyond what they declare."""
    unpacked = sum(member.file_size for member in members)
    most = files.MOST_BYTES
    if size is not None:
        most = min(most, HARMLESS_BYTES + MOST_GROWTH * size)
    if unpacked > most:
        raise FileFormatError(f"{path} unpacks to {unpacked:,} bytes, more than {most:,}: not read")
    names = [member.filename for member in members]
    if len({name.removesuffix(".npy") for name in names}) != len(names):
        raise FileFormatError(f"{path} must hold each array once; got names {shown(sorted(names))}")
    for member in members:
        # bzip2 and lzma members unpack without a limit that zipfile could set
        if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise FileFormatError(
                f"{path}: {member.filename} must be stored or deflated; "
                f"got compression method {member.compress_type}"
            )


def _header(name: str, stream: Any) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Return shape, whether columns come first, and type; only what numpy writes as version 1.0."""
    try:
        version = np.lib.format.read_magic(stream)
        shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(stream)
    except Exception:  # numpy parses the header as a Python literal, which fails in many ways
        version, shape, is_fortran, dtype = (0, 0), (), False, np.dtype(object)
    if version != (1, 0) or dtype.kind not in PLAIN_KINDS or not dtype.itemsize:
        raise FileFormatError(
            f"{name} must be a .npy array of plain numbers or text (no objects, no pickle)"
        )
    return shape, is_fortran, dtype


def _array(name: str, stream: Any, size: int) -> NDArray[Any]:
    """Read an .npy file of `size` bytes; 0 for a pipe, which must have all that are declared."""
    shape, is_fortran, dtype = _header(name, stream)
    promise = f"{name} must hold {dtype} of shape {shape}, as its header says"
    byte_count = size - stream.tell() if size else prod(shape) * dtype.itemsize
    if prod(shape) * dtype.itemsize != byte_count or min(shape, default=0) < 0:
        raise FileFormatError(f"{promise}; got {byte_count:,} bytes of data")
    values = fill(name, stream, dtype, prod(shape))
    try:
        array = values.reshape(shape, order="F" if is_fortran else "C")
    except ValueError as error:  # such as a hundred axes
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
