"""A QUBO as a file, in the format that the suffix names.

Qubo <-> .npz (ours: compact and fast), .qubo (text of qbsolv and many others), .json (for people
and their diffs), .bqm (dimod's own).  All four keep every coefficient, its type, the offset and
the labels exactly; a file is written whole or not at all, and reading one runs no code of its.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from qubonn.errors import FileFormatError, QubonnError
from qubonn.quadratic.bqm_file import read_bqm, write_bqm
from qubonn.quadratic.canonical import require_canonical
from qubonn.quadratic.json_file import read_json, write_json
from qubonn.quadratic.npz_file import read_npz, write_npz
from qubonn.quadratic.qbsolv_file import read_qbsolv, write_qbsolv
from qubonn.quadratic.qubo import Qubo


class Format(NamedTuple):
    """How to write a QUBO that keeps its promises, and how to read any bytes at all."""

    write: Callable[[Qubo, str], None]
    read: Callable[[str], Qubo]


FORMATS = {
    ".npz": Format(write_npz, read_npz),
    ".qubo": Format(write_qbsolv, read_qbsolv),
    ".json": Format(write_json, read_json),
    ".bqm": Format(write_bqm, read_bqm),
}
SUFFIXES = tuple(FORMATS)


def save_qubo(qubo: Qubo, path: str | os.PathLike[str]) -> None:
    """Write `qubo` to `path`; labels must be text, whole numbers, or tuples of those.

    >>> save_qubo(Qubo.of([0], [1], [2], variable_count=2), "problem.txt")
    Traceback (most recent call last):
    qubonn.errors.FileFormatError: problem.txt must end in .npz, .qubo, .json or .bqm,
    which names the format
    """
    form = _format_of(path)
    form.write(require_canonical(os.fspath(path), qubo), os.fspath(path))


def load_qubo(path: str | os.PathLike[str]) -> Qubo:
    """Read a QUBO; whatever the bytes, the result keeps all promises of `Qubo`."""
    form, name = _format_of(path), os.fspath(path)
    try:
        return require_canonical(name, form.read(name))
    except FileFormatError:
        raise
    except QubonnError as error:
        raise FileFormatError(f"{name}: {error}") from error
    except MemoryError as error:
        raise FileFormatError(f"{name} needs more memory than there is") from error


def _format_of(path: str | os.PathLike[str]) -> Format:
    form = FORMATS.get(Path(path).suffix.lower())
    if form is None:
        *most, last = SUFFIXES
        raise FileFormatError(
            f"{os.fspath(path)} must end in {', '.join(most)} or {last}, which names the format"
        )
    return form
