"""IDX, the format of MNIST -> array.

Two zero bytes, a type, the number of axes, their sizes as big-endian 32-bit numbers, the values.
"""

from math import prod
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_memory
from qubonn.datasets.opening import Source, open_bytes, shown_source
from qubonn.errors import FileFormatError
from qubonn.storage import MOST_BYTES

TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_AXES = 8
BYTES_AT_ONCE = 1 << 22


def read_idx(path: Source) -> NDArray[Any]:
    """Read an IDX file, gzipped or not, such as MNIST's ``train-images-idx3-ubyte.gz``.

    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "labels-idx1-ubyte")
    >>> _ = path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 7, 2, 1]))
    >>> read_idx(path)
    array([7, 2, 1], dtype=uint8)
    >>> folder.cleanup()
    """
    name = shown_source(path)
    with open_bytes(path) as stream:
        dtype, shape = _head(name, stream)
        count = prod(shape) * dtype.itemsize
        if count > MOST_BYTES:
            raise FileFormatError(
                f"{name} says that it holds {count:,} bytes, more than {MOST_BYTES:,}: not read"
            )
        require_memory(f"reading {name}", 2 * count, hint="use fewer examples")
        data = _exactly(name, stream, count)
    values = np.frombuffer(data, dtype).reshape(shape)
    return values.astype(dtype.newbyteorder("="))


def _head(name: str, stream: BinaryIO) -> tuple[np.dtype[Any], tuple[int, ...]]:
    magic = stream.read(4)
    if len(magic) < 4 or magic[:2] != b"\0\0" or magic[2] not in TYPES:
        raise FileFormatError(
            f"{name} must be an IDX file, which begins with two zero bytes and a type; "
            f"it begins with {magic.hex(' ') or 'nothing'}"
        )
    if not 1 <= magic[3] <= MOST_AXES:
        raise FileFormatError(f"{name} must have 1 to {MOST_AXES} axes; got {magic[3]}")
    sizes = stream.read(4 * magic[3])
    if len(sizes) < 4 * magic[3]:
        raise FileFormatError(f"{name} ends within its head: it may be truncated")
    shape = tuple(np.frombuffer(sizes, ">u4").tolist())
    return np.dtype(TYPES[magic[2]]), shape


def _exactly(name: str, stream: BinaryIO, count: int) -> bytes:
    """Read what the head promised, piece by piece: a short file never asks for much memory."""
    pieces, left = [], count
    while left and (piece := stream.read(min(left, BYTES_AT_ONCE))):
        pieces.append(piece)
        left -= len(piece)
    if left or stream.read(1):
        found = "more" if not left else f"{count - left:,}"
        raise FileFormatError(
            f"{name} must hold {count:,} bytes of values, as its head says; got {found}: "
            "it may be truncated or corrupted"
        )
    return b"".join(pieces)
