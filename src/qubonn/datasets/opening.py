"""A file as a stream of bytes: plain or gzipped, or standard input; never more than we can take.

Path -> binary stream.  Broken or endless data become one FileFormatError with the file's name.
"""

import gzip
import io
import os
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from qubonn.errors import FileFormatError
from qubonn.storage import MOST_BYTES

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
