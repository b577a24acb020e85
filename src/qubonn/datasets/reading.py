"""Any file of examples -> Table, by the kind that its name tells.

CSV with a column of labels; IDX with a second file of labels; .npz with an array of labels.
"""

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.datasets.csv_file import read_csv
from qubonn.datasets.idx_file import read_idx
from qubonn.datasets.opening import Source, shown_source
from qubonn.datasets.table import Table, label_array, listed
from qubonn.errors import AlphabetError, FileFormatError, ShapeError
from qubonn.storage import read_arrays

Kind = Literal["csv", "idx", "npz"]
CSV_SUFFIXES = (".csv", ".tsv", ".txt", ".data")
IDX_NAME = re.compile(r"(.*[.-])?idx[1-9]?(-[a-z]+)?$|.*-ubyte$")

INPUT_NAMES = ("X", "x", "inputs", "images", "data", "X_train", "x_train", "train_inputs")
LABEL_NAMES = ("y", "labels", "label", "target", "targets", "y_train", "train_labels")
TEST_INPUT_NAMES = ("X_test", "x_test", "test_inputs")
TEST_LABEL_NAMES = ("y_test", "test_labels")


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
    skip_missing: bool = False,
) -> Table:
    """Read examples from a file, in the format that its name tells.

    .csv, .tsv and "-": see `read_csv`. IDX: `labels` is a second IDX file. .npz: `inputs` and
    `target` name arrays; see `read_npz`. Any of them may be gzipped, apart from .npz.
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
            skip_missing=skip_missing,
        )
    if drop or has_header is not None or separator is not None:
        raise FileFormatError(
            f"{shown_source(path)} is no CSV file: it has no columns to leave out, no header and "
            "no separator"
        )
    if kind == "idx":
        return _idx_table(path, labels, target)
    return read_npz(path, inputs=inputs, target=target, is_test=is_test)


def kind_of(path: Source) -> Kind:
    """Return which format a name tells.

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
        f"{shown_source(path)} must be named as what it is: .csv or .tsv, .npz, or IDX such as "
        "train-images-idx3-ubyte; .gz may follow"
    )


def read_npz(
    path: Source, *, inputs: str | None = None, target: str | None = None, is_test: bool = False
) -> Table:
    """Read examples from an .npz archive of plain arrays; objects (pickle) are refused.

    Without names, the inputs are called X, inputs, images or data, and the labels y, labels or
    target, with _train behind, or _test where `is_test` says so. Labels may be missing.
    """
    source = shown_source(path)
    arrays = read_arrays(path)
    input_names = (*TEST_INPUT_NAMES, *INPUT_NAMES) if is_test else INPUT_NAMES
    input_name = _named(source, arrays, inputs, input_names)
    if input_name is None:
        raise ShapeError(
            f"{source} must hold the inputs as an array named X; it has {listed(sorted(arrays))}: "
            "name another one"
        )
    label_names = (*TEST_LABEL_NAMES, *LABEL_NAMES) if is_test else LABEL_NAMES
    label_name = _named(source, arrays, target, label_names)
    found = None if label_name is None else _labels(source, arrays[label_name])
    numbers = _numbers(f"{source}: {input_name}", arrays[input_name])
    return _checked(Table(source, numbers, found, target=label_name))


def _idx_table(path: Source, labels: Source | None, target: str | None) -> Table:
    if target is not None:
        raise FileFormatError(
            f"{shown_source(path)} is an IDX file, which has no column {target!r:.60}: "
            "its labels are in a second file (--labels)"
        )
    numbers = _numbers(shown_source(path), read_idx(path))
    found = None if labels is None else _labels(shown_source(labels), read_idx(labels))
    return _checked(Table(shown_source(path), numbers, found))


def _named(
    source: str, arrays: dict[str, NDArray[Any]], wanted: str | None, usual: Sequence[str]
) -> str | None:
    if wanted is None:
        return next((name for name in usual if name in arrays), None)
    if wanted not in arrays:
        raise ShapeError(
            f"{source} must hold an array {wanted!r:.60}; it has {listed(sorted(arrays))}"
        )
    return wanted


def _numbers(name: str, values: NDArray[Any]) -> NDArray[Any]:
    if values.dtype.kind not in "biuf" or values.ndim not in (2, 3, 4):
        raise ShapeError(
            f"{name} must be numbers, with a row or an image for each example; "
            f"got {values.dtype} of shape {values.shape}"
        )
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        place = tuple(np.argwhere(~np.isfinite(values))[0].tolist())
        raise AlphabetError(
            f"{name} must be finite; got {values[place]} at row {place[0]}, place {place[1:]}"
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


def _checked(table: Table) -> Table:
    if not len(table) or not table.column_count:
        raise ShapeError(f"{table.source} must hold at least one example; it holds none")
    if table.labels is not None and len(table.labels) != len(table):
        raise ShapeError(
            f"{table.source} must have a label for each of its {len(table)} examples; "
            f"got {len(table.labels)} labels"
        )
    return table
