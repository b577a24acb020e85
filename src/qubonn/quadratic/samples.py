"""Samples: the states that a solver returned for a QUBO, best first.

States or a file of states, QUBO -> Samples with exact energies.
"""

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, BitVector, require_bits, require_count
from qubonn.datasets.table import open_rows
from qubonn.drawing.cards import card, samples_facts
from qubonn.errors import AlphabetError, FileFormatError, QubonnError, ShapeError
from qubonn.quadratic.file_labels import plain_labels, read_labels
from qubonn.quadratic.qubo import Qubo
from qubonn.stopping import Stop
from qubonn.storage import (
    Archive,
    open_arrays,
    parse_json,
    read_array,
    read_limited,
    reader,
    shown,
)

ARRAY_NAMES = ("bits", "samples", "states", "spins", "solutions")
CELLS = {"0": 0, "1": 1, "-1": -1, "+1": 1, "0.0": 0, "1.0": 1, "-1.0": -1} | {
    "True": 1, "False": 0, "true": 1, "false": 0
}  # fmt: skip
STRANGE = 99  # no value of a state
WORD = 32  # bits in which dimod packs samples


# a matrix of values, and the variables of its columns; None: all variables, in order
States = tuple[NDArray[Any], Sequence[Hashable] | None]


@dataclass(frozen=True, eq=False, repr=False)
class Samples:
    """States of a QUBO with their energies, lowest energy first.

    ``bits`` has a row per state and a column per variable; ``info`` holds the solver's own
    records (temperatures, sweeps, seconds ...).

    >>> qubo = Qubo.of([0, 1], [0, 1], [-1, 2], variable_count=2)
    >>> samples = Samples.of(qubo, [[0, 0], [1, 0], [1, 1], [1, 0]])
    >>> samples.energies
    array([-1, -1,  0,  1])
    >>> samples.distinct().bits.tolist()
    [[1, 0], [0, 0], [1, 1]]
    """

    bits: BitMatrix
    energies: NDArray[Any]
    stop: Stop = Stop.FINISHED
    info: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        qubo: Qubo,
        states: ArrayLike,
        *,
        stop: Stop = Stop.FINISHED,
        info: Mapping[str, Any] | None = None,
    ) -> "Samples":
        """Sort states by their energy, computed anew from the QUBO; equal ones keep their order."""
        bits = require_bits("states", np.atleast_2d(np.asarray(states)), count=qubo.variable_count)
        energies = qubo.energy(bits)
        order = np.argsort(energies, kind="stable")
        return cls(np.ascontiguousarray(bits[order]), energies[order], stop, dict(info or {}))

    @classmethod
    @reader
    def load(cls, path: str | os.PathLike[str], qubo: Qubo) -> "Samples":
        """Read what another solver found for `qubo`; energies in the file are ignored.

        - .csv: one row per sample; a header of variables, or none and all variables in order
        - .npz, .npy: a matrix, one row per sample; in .npz the array is called bits, samples,
          states or spins, or is the only one
        - .json: a list of samples (lists, or objects by variable), or dimod's serialised SampleSet

        A variable is named by its number, or by its label as JSON or as Python writes it. Values
        are 0 and 1, or all are -1 and +1. Other columns (energy, num_occurrences ...) are ignored.
        """
        name = os.fspath(path)
        try:
            return cls.of(qubo, _bits(_in_order(*_states(name, qubo.variable_count), qubo)))
        except FileFormatError:
            raise
        except QubonnError as error:
            raise FileFormatError(f"{name} does not hold samples of this QUBO: {error}") from error

    @property
    def best(self) -> BitVector:
        """The state of lowest energy."""
        return np.asarray(self.bits[0])

    @property
    def best_energy(self) -> Any:
        """The lowest energy, as a plain number."""
        return self.energies[0].item()

    def __len__(self) -> int:
        return len(self.bits)

    def distinct(self) -> "Samples":
        """Keep each state once, best first."""
        packed = np.packbits(self.bits, axis=1)
        _, first = np.unique(packed, axis=0, return_index=True)
        return self._rows(np.sort(first))

    def lowest(self, count: int) -> "Samples":
        """Keep the `count` best states, or all where there are fewer."""
        return self._rows(np.arange(min(require_count("count", count), len(self))))

    def _rows(self, rows: NDArray[np.int64]) -> "Samples":
        return Samples(self.bits[rows], self.energies[rows], self.stop, self.info)

    def __repr__(self) -> str:
        best = self.best_energy if len(self) else "none"
        return f"Samples({len(self)} states, best energy {best}, {self.stop.name})"

    def _repr_html_(self) -> str:
        return card("Samples", samples_facts(self))


def _states(name: str, count: int) -> States:
    match PurePath(name.lower().removesuffix(".gz")).suffix:
        case ".csv" | ".tsv" | ".txt":
            return _csv_states(name)
        case ".json":
            return _json_states(name)
        case ".npy":
            return read_array(name), None
        case ".npz":
            with open_arrays(name) as archive:
                return _chosen(name, archive, count), None
    raise FileFormatError(f"{name} must end in .csv, .json, .npz or .npy, which names the format")


def _csv_states(name: str) -> States:
    with open_rows(name, has_header=False) as rows:
        _, head = next(rows.lines)
        is_headed = not all(cell in CELLS for cell in head)
        values = [] if is_headed else [_cells(head)]
        values += [_cells(cells) for _, cells in rows.lines]
    matrix = np.array(values, dtype=np.int8).reshape(len(values), len(head))
    return matrix, [cell.strip() for cell in head] if is_headed else None


def _cells(cells: list[str]) -> list[int]:
    return [CELLS.get(cell.strip(), STRANGE) for cell in cells]


def _json_states(path: str) -> States:
    document = parse_json(path, read_limited(path))
    if isinstance(document, dict):
        if document.get("type") == "SampleSet":
            return _sample_set(path, document)
        document = next((document[key] for key in ARRAY_NAMES if key in document), document)
    if not isinstance(document, list) or not document:
        raise FileFormatError(
            f"{path} must be a list of samples, an object with a list named samples, or a "
            f"serialised SampleSet of dimod; got {shown(document)}"
        )
    if isinstance(document[0], dict):
        return _objects(path, document)
    rows = document if isinstance(document[0], list) else [document]  # or a single sample
    return _matrix(path, rows, len(rows[0])), None


def _objects(path: str, samples: list[Any]) -> States:
    variables = list(samples[0])
    for number, sample in enumerate(samples, start=1):
        if not isinstance(sample, dict) or sample.keys() != samples[0].keys():
            raise FileFormatError(
                f"{path}: sample {number} must name the same variables as the first"
            )
    rows = [[sample[key] for key in variables] for sample in samples]
    return _matrix(path, rows, len(variables)), variables


def _sample_set(path: str, document: dict[str, Any]) -> States:
    """Read what ``dimod.SampleSet.to_serializable`` writes, packed into words or not."""
    labels, data = document.get("variable_labels"), document.get("sample_data")
    rows = data.get("data") if isinstance(data, dict) else None
    if not isinstance(labels, list) or not isinstance(rows, list) or not rows:
        raise FileFormatError(
            f"{path} must have variable_labels and sample_data with lists, as dimod writes"
        )
    variables, count = read_labels(path, labels, len(labels)), len(labels)
    if document.get("sample_packed") is not True:
        return _matrix(path, rows, count), variables
    packed = _matrix(path, rows, -(-count // WORD))
    if packed.dtype.kind not in "iu" or not ((packed >= 0) & (packed < 1 << WORD)).all():
        raise FileFormatError(f"{path}: samples must be words of {WORD} bits, as dimod packs them")
    octets = packed.astype("<u4").view(np.uint8).reshape(len(rows), -1)
    return np.unpackbits(octets, axis=1, bitorder="little", count=count), variables


def _matrix(path: str, rows: list[Any], width: int) -> NDArray[Any]:
    for number, row in enumerate(rows, start=1):
        is_list = isinstance(row, list) and len(row) == width
        if not is_list or not all(type(value) in (int, bool, float) for value in row):
            raise FileFormatError(
                f"{path}: sample {number} must be a list of {width} numbers; got {shown(row)}"
            )
    return np.array(rows).reshape(len(rows), width)


def _chosen(name: str, archive: Archive, count: int) -> NDArray[Any]:
    names = archive.names
    known = [key for key in ARRAY_NAMES if key in names]
    if not known and len(names) != 1:
        raise FileFormatError(
            f"{name} must hold the samples as an array named bits; got {sorted(names)!r:.100}"
        )
    chosen = (known or names)[0]
    shape, _ = archive.header(chosen)
    _require_width(shape[-1] if shape else 1, count)  # before it takes memory
    return archive.read(chosen)


def _in_order(
    values: NDArray[Any], variables: Sequence[Hashable] | None, qubo: Qubo
) -> NDArray[Any]:
    """Return the columns of the QUBO's variables, in its order."""
    values, count = np.atleast_2d(values), qubo.variable_count
    if values.ndim != 2 or not len(values):
        raise ShapeError(f"samples must be a matrix, a row each; got shape {values.shape}")
    width, named = (count, "") if variables is None else (len(variables), " that is named")
    _require_width(values.shape[1], width, named)
    if variables is None:
        return values
    column_of = _columns(variables, qubo)
    missing = np.flatnonzero(column_of < 0)
    if len(missing):
        first = int(missing[0])
        raise ShapeError(
            f"samples must have a value for each of {count} variables; {len(missing)} are missing, "
            f"the first is {first}, {json.dumps(plain_labels('', [qubo.labels[first]])[0])}"
        )
    return values[:, column_of]


def _require_width(found: int, width: int, named: str = "") -> None:
    if found != width:
        raise ShapeError(
            f"each sample must have {width} values, one per variable{named}; got {found}"
        )


def _columns(variables: Sequence[Hashable], qubo: Qubo) -> NDArray[np.int64]:
    """Return for each variable of the QUBO its column, or -1."""
    number_of: dict[Hashable, int] = {}
    for number in range(qubo.variable_count):
        number_of |= {number: number, str(number): number}
    for number, label in enumerate(plain_labels("labels", qubo.labels)):
        number_of |= {label: number, str(label): number, json.dumps(label): number}
    column_of = np.full(qubo.variable_count, -1, dtype=np.int64)
    known = [(column, number_of[v]) for column, v in enumerate(variables) if v in number_of]
    for column, number in known:
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
        value = "something else" if got == STRANGE else got
        raise AlphabetError(
            f"samples must hold only 0 and 1, or only -1 and +1; got {value} in sample {row + 1}, "
            f"variable {column}" + (", and -1 elsewhere" if low < 0 else "")
        )
    return np.asarray(numbers == 1, dtype=np.int8)
