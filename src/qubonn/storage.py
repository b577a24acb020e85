"""Files that are whole or absent, and archives that cannot run code or fill the memory.

Written to a temporary neighbour, flushed to disk, then renamed over the target.
"""

import io
import os
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError

__all__ = ["read_arrays", "read_limited", "write_arrays", "write_whole"]

MOST_BYTES = 4 << 30  # of one file, and of what it unpacks to


def write_whole(path: str | os.PathLike[str], data: bytes) -> None:
    """Replace the file at `path` by `data`: readers see the old file or the new one, never half."""
    target = Path(path)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    _sync_directory(target.parent)


def read_limited(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file, unless it is larger than any file of ours."""
    with open(path, "rb") as stream:
        data = stream.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise FileFormatError(f"{path} is larger than {MOST_BYTES >> 30} GiB: not read")
    return data


def write_arrays(path: str | os.PathLike[str], arrays: dict[str, NDArray[Any]]) -> None:
    """Write named arrays as a compressed .npz archive."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **arrays)
    write_whole(path, buffer.getvalue())


def read_arrays(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Return the named arrays of an .npz archive; objects (pickle) and oversized ones are refused."""
    data = read_limited(path)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            unpacked = sum(member.file_size for member in archive.infolist())
        if unpacked > MOST_BYTES:
            raise FileFormatError(
                f"{path} unpacks to {unpacked} bytes, more than {MOST_BYTES >> 30} GiB: not read"
            )
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: archive[name] for name in archive.files}
    except FileFormatError:
        raise
    except Exception as error:  # zipfile, zlib and numpy raise a dozen kinds on broken bytes
        raise FileFormatError(
            f"{path} is not a readable .npz archive ({type(error).__name__}): "
            "it may be truncated or corrupted"
        ) from error


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _sync_directory(directory: Path) -> None:
    if os.name != "posix":
        return
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
