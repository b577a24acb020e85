"""Samples: the states that a solver returned for a QUBO, best first.

States or a file of states, QUBO -> Samples with exact energies.
"""

import json
import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import BitMatrix, BitVector, require_bits, require_count
from qubonn.drawing.cards import card, samples_facts
from qubonn.errors import AlphabetError, EnergiesDiffer, FileFormatError, QubonnError, ShapeError
from qubonn.quadratic.file_labels import plain_labels
from qubonn.quadratic.ising import as_qubo
from qubonn.quadratic.qubo import Qubo
from qubonn.stopping import Stop
from qubonn.storage import reader

if TYPE_CHECKING:
    import dimod

STRANGE = 99  # no value of a state
SAME = 1e-6  # relative difference of energies that machines round


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
        energy = as_qubo(qubo)
        count = energy.variable_count
        bits = require_bits("states", np.atleast_2d(np.asarray(states)), count=count)
        energies = energy.energy(bits)
        order = np.argsort(energies, kind="stable")
        return cls(np.ascontiguousarray(bits[order]), energies[order], stop, dict(info or {}))

    @classmethod
    def load(cls, path: str | os.PathLike[str], qubo: Qubo) -> "Samples":
        """Read what another solver found for `qubo`; energies are computed anew.

        - .csv, .txt: one row per sample; a header of variables, or none and all variables in order;
          columns of ``numpy.savetxt``; strings of bits
        - .npz, .npy: a matrix, one row per sample; in .npz the array is called bits, samples,
          states or spins, or is the only one
        - .json: a list of samples (lists, or objects by variable); the serialised samples of dimod
          and OpenJij; answers of Amplify (spins) and of the Digital Annealer (solutions)

        A variable is named by its number, or by its label as JSON or as Python writes it. Values
        are 0 and 1, or all are -1 and +1. Other columns (num_occurrences ...) are ignored. Energies
        in the file that differ from ours, by more than the offset, give a warning
        `EnergiesDiffer`: the samples may belong to another QUBO.
        """
        energy = as_qubo(qubo)
        bits, energies = _read(path, energy)
        _compare(os.fspath(path), energy, bits, energies)
        return cls.of(energy, bits)

    @classmethod
    def from_dimod(cls, found: "dimod.SampleSet", qubo: Qubo) -> "Samples":
        """Convert a sample set of dimod or OpenJij, each sample as often as it occurred.

        Its variables are the labels of `qubo`, or their numbers.
        """
        energy, record = as_qubo(qubo), found.record
        bits = _bits(_in_order(np.asarray(record.sample), list(found.variables), energy))
        _compare("the sample set", energy, bits, np.asarray(record.energy))
        return cls.of(energy, np.repeat(bits, record.num_occurrences, axis=0), info=found.info)

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


@reader
def _read(path: str | os.PathLike[str], qubo: Qubo) -> tuple[BitMatrix, NDArray[Any] | None]:
    """Return the states of a file in the order of the variables, and the energies it claims."""
    from qubonn.quadratic.sample_files import read_states

    name = os.fspath(path)
    try:
        states = read_states(name, qubo.variable_count)
        return _bits(_in_order(states.values, states.variables, qubo)), states.energies
    except FileFormatError:
        raise
    except QubonnError as error:
        raise FileFormatError(f"{name} does not hold samples of this QUBO: {error}") from error


def _compare(name: str, qubo: Qubo, bits: BitMatrix, claimed: NDArray[Any] | None) -> None:
    """Warn if energies that came with samples are not theirs; they may lack the offset."""
    if claimed is None or len(claimed) != len(bits):
        return
    ours, given = qubo.energy(bits).astype(np.float64), claimed.astype(np.float64)
    slack = SAME * max(np.abs(ours).max(initial=1), np.abs(given).max(initial=1))
    differs = ~(np.abs(given - ours) <= slack) & ~(np.abs(given + qubo.offset - ours) <= slack)
    if differs.any():
        first = int(differs.argmax())
        warnings.warn(
            f"{name}: {int(differs.sum()):,} of {len(bits):,} samples have an energy that is not "
            f"that of this QUBO; sample {first + 1} says {given[first]:g} and has {ours[first]:g}: "
            "they may be samples of another problem, of rounded coefficients, or have their "
            "variables in another order",
            EnergiesDiffer,
            stacklevel=3,
        )


def _in_order(
    values: NDArray[Any], variables: Sequence[Hashable] | None, qubo: Qubo
) -> NDArray[Any]:
    """Return the columns of the QUBO's variables, in its order."""
    values, count = np.atleast_2d(values), qubo.variable_count
    if values.ndim != 2 or not len(values):
        raise ShapeError(f"samples must be a matrix, a row each; got shape {values.shape}")
    width, named = (count, "") if variables is None else (len(variables), " that is named")
    require_width(values.shape[1], width, named)
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


def require_width(found: int, width: int, named: str = "") -> None:
    """Raise unless each sample has a value for each variable."""
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
