"""Samples that somebody else's machine made, as a file -> states of our QUBO.

.csv, .npz, .npy or .json -> Samples, with energies computed anew.

| file | what it must hold |
|---|---|
| .csv | a row a sample; a header of variables, or none and all variables in order |
| .npz, .npy | a matrix, a row a sample: the array bits, samples, states or spins, or the only one |
| .json | a list of samples (lists, or objects by variable), or dimod's serialised SampleSet |

A variable is named by its number, or by its label as JSON or as Python writes it. Values are 0 and
1, or -1 and +1 all over. Other columns of a table (energy, num_occurrences ...) are left out.
"""

import os
from collections.abc import Hashable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix
from qubonn.datasets.csv import open_rows
from qubonn.errors import AlphabetError, FileFormatError, QubonnError, ShapeError
from qubonn.quadratic.file_labels import label_text, plain_labels
from qubonn.quadratic.qubo import Qubo
from qubonn.quadratic.samples import Samples
from qubonn.quadratic.serialised_samples import json_states
from qubonn.storage import read_array, read_arrays

ARRAY_NAMES = ("bits", "samples", "states", "spins", "solutions")
CELLS = {"0": 0, "1": 1, "-1": -1, "+1": 1, "0.0": 0, "1.0": 1, "-1.0": -1} | {
    "True": 1, "False": 0, "true": 1, "false": 0
}  # fmt: skip
STRANGE = 99  # no value of a state


class States(NamedTuple):
    """A matrix of values, and which variables its columns are; None: all of them, in order."""

    values: NDArray[Any]
    variables: Sequence[Hashable] | None


def load_samples(path: str | os.PathLike[str], qubo: Qubo) -> Samples:
    """Read states of `qubo`, best first; what a file says about energies is not believed."""
    name = os.fspath(path)
    try:
        states = _states(name)
        return Samples.of(qubo, _bits(_in_order(states, qubo)))
    except FileFormatError:
        raise
    except QubonnError as error:
        raise FileFormatError(f"{name} does not hold samples of this QUBO: {error}") from error


def _states(name: str) -> States:
    suffixes = PurePath(name.lower().removesuffix(".gz")).suffix
    match suffixes:
        case ".csv" | ".tsv" | ".txt":
            return _csv_states(name)
        case ".json":
            return States(*json_states(name))
        case ".npy":
            return States(read_array(name), None)
        case ".npz":
            return States(_chosen(name, read_arrays(name)), None)
    raise FileFormatError(f"{name} must end in .csv, .json, .npz or .npy, which names the format")


def _csv_states(name: str) -> States:
    with open_rows(name, has_header=False) as rows:
        lines = iter(rows)
        _, head = next(lines)
        is_headed = not all(cell in CELLS for cell in head)
        values = [] if is_headed else [_cells(head)]
        values += [_cells(cells) for _, cells in lines]
    matrix = np.array(values, dtype=np.int8).reshape(len(values), len(head))
    return States(matrix, [cell.strip() for cell in head] if is_headed else None)


def _cells(cells: list[str]) -> list[int]:
    return [CELLS.get(cell.strip(), STRANGE) for cell in cells]


def _chosen(name: str, arrays: dict[str, NDArray[Any]]) -> NDArray[Any]:
    known = [array for key in ARRAY_NAMES if (array := arrays.get(key)) is not None]
    if not known and len(arrays) == 1:
        known = list(arrays.values())
    if not known:
        raise FileFormatError(
            f"{name} must hold the samples as an array named bits; got {sorted(arrays)!r:.100}"
        )
    return known[0]


def _in_order(states: States, qubo: Qubo) -> NDArray[Any]:
    """Return the columns of the QUBO's variables, in its order."""
    values, count = np.atleast_2d(states.values), qubo.variable_count
    if values.ndim != 2 or not len(values):
        raise ShapeError(f"samples must be a matrix, a row each; got shape {values.shape}")
    if states.variables is None:
        if values.shape[1] != count:
            raise ShapeError(
                f"each sample must have {count} values, one per variable; got {values.shape[1]}"
            )
        return values
    if len(states.variables) != values.shape[1]:
        raise ShapeError(
            f"each sample must have {len(states.variables)} values, one per variable that is "
            f"named; got {values.shape[1]}"
        )
    column_of = _columns(states.variables, qubo)
    missing = np.flatnonzero(column_of < 0)
    if len(missing):
        first = int(missing[0])
        raise ShapeError(
            f"samples must have a value for each of {count} variables; {len(missing)} are missing, "
            f"the first is {first}, {label_text(plain_labels('', [qubo.labels[first]])[0])}"
        )
    return values[:, column_of]


def _columns(variables: Sequence[Hashable], qubo: Qubo) -> NDArray[np.int64]:
    """Return for each variable of the QUBO its column, or -1."""
    number_of: dict[Hashable, int] = {}
    for number in range(qubo.variable_count):
        number_of |= {number: number, str(number): number}
    for number, label in enumerate(plain_labels("labels", qubo.labels)):
        number_of |= {label: number, str(label): number, label_text(label): number}
    column_of = np.full(qubo.variable_count, -1, dtype=np.int64)
    for column, variable in enumerate(variables):
        number = number_of.get(variable, -1)
        if number >= 0:
            if column_of[number] >= 0:
                raise ShapeError(f"variable {number} must have one column; it has two")
            column_of[number] = column
    return column_of


def _bits(values: NDArray[Any]) -> BitMatrix:
    """Return 0 and 1 as they are, -1 and +1 as 0 and 1."""
    if values.dtype.kind not in "biuf":
        raise AlphabetError(f"samples must hold 0 and 1, or -1 and +1; got {values.dtype}")
    numbers = values.astype(np.int8) if values.dtype.kind == "b" else values
    low = -1 if (numbers == -1).any() else 0
    is_known = (numbers == low) | (numbers == 1)
    if not is_known.all():
        row, column = np.argwhere(~is_known)[0]
        got = numbers[row, column]
        shown = "something else" if got == STRANGE else got
        raise AlphabetError(
            f"samples must hold 0 and 1, or -1 and +1 all over; got {shown} in sample {row + 1}, "
            f"variable {column}" + (", and -1 elsewhere" if low < 0 else "")
        )
    bits: BitMatrix = (numbers == 1).astype(np.int8)
    return bits
