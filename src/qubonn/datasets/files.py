"""A file of examples -> Table, in the format that its name indicates.

CSV with a column of labels; IDX, the format of MNIST, with a second file of labels; .npz with an
array of labels.
"""

import re
from collections.abc import Sequence
from math import prod
from pathlib import PurePath
from typing import Any, BinaryIO, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.datasets.table import Table, label_array, listed, read_csv
from qubonn.errors import AlphabetError, FileFormatError, ShapeError
from qubonn.files import MOST_BYTES
from qubonn.storage import Archive, Source, fill, open_arrays, open_bytes, reader, shown_source

Kind = Literal["csv", "idx", "npz"]
CSV_SUFFIXES = (".csv", ".tsv", ".txt", ".data")
IDX_NAME = re.compile(r"(.*[.-])?idx[1-9]?(-[a-z]+)?$|.*-ubyte$")

INPUT_NAMES = ("X", "x", "inputs", "images", "data", "X_train", "x_train", "train_inputs")
LABEL_NAMES = ("y", "labels", "label", "target", "targets", "y_train", "train_labels")
TEST_INPUT_NAMES = ("X_test", "x_test", "test_inputs")
TEST_LABEL_NAMES = ("y_test", "test_labels")


@reader
def read_table(
    path: Source,
    *,
    target: str | None = None,
    labels: Source | None = None,
    inputs: str | None = None,
    is_test: bool = False,
    drop: Sequence[str] = (),
    keep: Sequence[str] | None = None,
    has_header: bool | None = None,
    separator: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    text: Sequence[str] | None = None,
    skip_missing: bool = False,
) -> Table:
    """Read examples from a file, in the format that its name indicates.

    .csv, .tsv and "-": see `read_csv`. IDX: `labels` is a second IDX file. .npz: `inputs` and
    `target` name arrays; see `read_npz`. All but .npz may be gzipped.
    """
    kind = kind_of(path)
    if kind == "csv":
        if labels is not None or inputs is not None:
            raise FileFormatError(
                f"{shown_source(path)} is a CSV file: its labels are a column, named as target; "
                "a second file or an array is for IDX and .npz"
            )
        return read_csv(
            path,
            target=target,
            drop=drop,
            keep=keep,
            has_header=has_header,
            separator=separator,
            decimal=decimal,
            encoding=encoding,
            text=text,
            skip_missing=skip_missing,
        )
    if drop or has_header is not None or separator is not None:
        raise FileFormatError(
            f"{shown_source(path)} is not a CSV file: it has no columns to drop, no header and "
            "no separator"
        )
    if kind == "idx":
        return _idx_table(path, labels, target)
    return read_npz(path, inputs=inputs, target=target, is_test=is_test)


def kind_of(path: Source) -> Kind:
    """Return the format that a name indicates.

    >>> kind_of("a.csv.gz"), kind_of("train-images-idx3-ubyte.gz"), kind_of("data.npz")
    ('csv', 'idx', 'npz')
    """
    name = PurePath(path).name.lower().removesuffix(".gz")
    if name.endswith(CSV_SUFFIXES) or name == "-":
        return "csv"
    if name.endswith(".npz"):
        return "npz"
    if IDX_NAME.fullmatch(name):
        return "idx"
    raise FileFormatError(
        f"{shown_source(path)} must have a name that shows its format: .csv or .tsv, .npz, or "
        "IDX such as train-images-idx3-ubyte; .gz may follow"
    )


@reader
def read_npz(
    path: Source, *, inputs: str | None = None, target: str | None = None, is_test: bool = False
) -> Table:
    """Read examples from an .npz archive of plain arrays; objects (pickle) are refused.

    By default the inputs are X, inputs, images or data, and the labels y, labels or target, also
    with _train appended, or _test if `is_test` is set. Labels may be missing.
    """
    source = shown_source(path)
    with open_arrays(path) as archive:
        return _npz_table(source, archive, inputs, target, is_test)


def _npz_table(
    source: str, archive: Archive, inputs: str | None, target: str | None, is_test: bool
) -> Table:
    input_names = (*TEST_INPUT_NAMES, *INPUT_NAMES) if is_test else INPUT_NAMES
    input_name = _named(source, archive.names, inputs, input_names)
    if input_name is None:
        raise ShapeError(
            f"{source} must hold the inputs as an array named X; it has "
            f"{listed(sorted(archive.names))}: name the array (--inputs)"
        )
    label_names = (*TEST_LABEL_NAMES, *LABEL_NAMES) if is_test else LABEL_NAMES
    label_name = _named(source, archive.names, target, label_names)
    name = f"{source}: {input_name}"
    _require_table(name, *archive.header(input_name))
    found = None if label_name is None else _labels(source, archive.read(label_name))
    numbers = _numbers(name, archive.read(input_name))
    return Table(source, numbers, found, target=label_name)


def _idx_table(path: Source, labels: Source | None, target: str | None) -> Table:
    if target is not None:
        raise FileFormatError(
            f"{shown_source(path)} is an IDX file, which has no column {target!r:.60}: "
            "its labels are in a second file (--labels)"
        )
    numbers = _numbers(shown_source(path), read_idx(path))
    found = None if labels is None else _labels(shown_source(labels), read_idx(labels))
    return Table(shown_source(path), numbers, found)


def _named(
    source: str, names: Sequence[str], wanted: str | None, usual: Sequence[str]
) -> str | None:
    if wanted is None:
        return next((name for name in usual if name in names), None)
    if wanted not in names:
        raise ShapeError(
            f"{source} must hold an array {wanted!r:.60}; it has {listed(sorted(names))}"
        )
    return wanted


def _require_table(name: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    if dtype.kind not in "biuf" or len(shape) not in (2, 3, 4):
        raise ShapeError(
            f"{name} must be numbers, with a row or an image for each example; "
            f"got {dtype} of shape {shape}"
        )


def _numbers(name: str, values: NDArray[Any]) -> NDArray[Any]:
    _require_table(name, values.shape, values.dtype)
    if values.dtype.kind == "f" and np.isinf(values).any():
        place = tuple(np.argwhere(np.isinf(values))[0].tolist())
        raise AlphabetError(
            f"{name} must be finite, or NaN where it is missing; got {values[place]} at row "
            f"{place[0]}, place {place[1:]}"
        )
    return values.astype(np.uint8) if values.dtype.kind == "b" else values


def _labels(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.dtype.kind == "f" and (np.abs(values) < 2**53).all() and (values % 1 == 0).all():
        values = values.astype(np.int64)
    if values.ndim != 1 or values.dtype.kind not in "biuSU":
        raise ShapeError(
            f"{name} must be whole numbers or text, one label for each example; "
            f"got {values.dtype} of shape {values.shape}"
        )
    if values.dtype.kind == "S":
        values = np.char.decode(values, "utf-8", "replace")
    if values.dtype.kind == "U":
        return label_array(name, values.tolist())
    return values.astype(np.int64)


TYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
MOST_AXES = 8


@reader
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
        dtype, shape = _header(name, stream)
        count = prod(shape) * dtype.itemsize
        if count > MOST_BYTES:
            raise FileFormatError(
                f"{name} declares {count:,} bytes of values, more than {MOST_BYTES:,}: not read"
            )
        values = fill(name, stream, dtype, prod(shape)).reshape(shape)
    return values.astype(dtype.newbyteorder("="), copy=False)


def _header(name: str, stream: BinaryIO) -> tuple[np.dtype[Any], tuple[int, ...]]:
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
        raise FileFormatError(f"{name} ends within its header: it may be truncated")
    shape = tuple(np.frombuffer(sizes, ">u4").tolist())
    return np.dtype(TYPES[magic[2]]), shape
