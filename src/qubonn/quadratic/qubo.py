"""Qubo: an energy over bits, as flat arrays.

COO arrays, matrices, dicts, dimod -> Qubo -> energies, Ising form, the same forms, files.
Coefficients are int64 while they can be.
"""

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import require_bits
from qubonn.drawing.cards import card, qubo_facts
from qubonn.errors import AlphabetError, RangeError, ShapeError

if TYPE_CHECKING:
    import dimod

    from qubonn.quadratic.ising import Ising

CHUNK_BYTES = 64 << 20  # of states widened at once

Merged = tuple[NDArray[Any], NDArray[np.int32], NDArray[np.int32], NDArray[Any]]
NeighbourLists = tuple[NDArray[Any], NDArray[np.int64], NDArray[np.int32], NDArray[Any]]


@dataclass(frozen=True, eq=False, repr=False)
class Qubo:
    """The energy ``offset + sum linear[i] b[i] + sum couplings[m] b[rows[m]] b[columns[m]]``.

    Each coupling occurs once, with row < column, sorted by row, then column, and none is zero:
    `Qubo.of` brings any list of terms into this form. Label i is the meaning of variable i.

    >>> qubo = Qubo.of([0, 0, 1], [0, 1, 0], [-3, 1, 1], variable_count=2, offset=5)
    >>> qubo
    Qubo(2 variables, 1 couplings, int64)
    >>> qubo.energy([1, 1])
    4
    >>> qubo.energy([[0, 0], [1, 0]])
    array([5, 2])
    """

    linear: NDArray[Any]
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    couplings: NDArray[Any]
    offset: int | float
    labels: Sequence[Hashable]

    def __post_init__(self) -> None:
        if not self.rows.shape == self.columns.shape == self.couplings.shape:
            raise ShapeError(
                "rows, columns and couplings must have one entry per coupling; got "
                f"{self.rows.shape}, {self.columns.shape} and {self.couplings.shape}"
            )
        if len(self.labels) != self.variable_count:
            raise ShapeError(
                f"labels must have {self.variable_count} entries, one per variable; "
                f"got {len(self.labels)}"
            )
        for array in (self.linear, self.rows, self.columns, self.couplings):
            array.setflags(write=False)

    @classmethod
    def of(
        cls,
        rows: ArrayLike,
        columns: ArrayLike,
        values: ArrayLike,
        *,
        variable_count: int,
        offset: float = 0,
        labels: Sequence[Hashable] | None = None,
    ) -> "Qubo":
        """Sum terms ``values[m] * b[rows[m]] * b[columns[m]]`` in any order, with repeats.

        Terms with row == column are linear, as b * b = b. Values stay int64 if they are whole
        numbers and `offset` is one too.
        """
        if not 0 <= variable_count < 2**31:
            raise RangeError(f"variable_count must lie in 0..{2**31 - 1}; got {variable_count}")
        row = _indices("rows", rows, variable_count)
        column = _indices("columns", columns, variable_count)
        value = _coefficients(values, offset)
        if not row.shape == column.shape == value.shape == (value.size,):
            raise ShapeError(
                "rows, columns and values must be vectors with one entry per term; got "
                f"{row.shape}, {column.shape} and {value.shape}"
            )
        linear, low, high, couplings = _merged(row, column, value, variable_count)
        exact = int(offset) if linear.dtype.kind == "i" else float(offset)
        names = range(variable_count) if labels is None else labels
        return cls(linear, low, high, couplings, exact, names)

    @property
    def variable_count(self) -> int:
        """Number of bits."""
        return len(self.linear)

    @property
    def coupling_count(self) -> int:
        """Number of nonzero couplings."""
        return len(self.couplings)

    @property
    def is_exact(self) -> bool:
        """Whether all coefficients are whole numbers kept as int64."""
        return self.linear.dtype.kind == "i"

    def energy(self, bits: ArrayLike) -> Any:
        """Return the energy of one assignment, or of each row of a matrix of assignments."""
        states = require_bits("bits", bits, count=self.variable_count)
        if states.ndim == 1:
            both = states[self.rows] & states[self.columns]
            total = states @ self.linear + both @ self.couplings + self.offset
            return total.item()
        rows = max(1, CHUNK_BYTES // (8 * max(self.variable_count, 1)))
        energies = []
        for first in range(0, max(len(states), 1), rows):
            wide = states[first : first + rows].astype(self.linear.dtype)
            pairs = ((wide @ self._triangle) * wide).sum(axis=1)
            energies.append(wide @ self.linear + pairs + self.offset)
        return np.concatenate(energies)

    def neighbour_lists(self) -> NeighbourLists:
        """Return (linear, starts, columns, couplings) for kernels, each coupling both ways.

        The neighbours of variable i are ``columns[starts[i]:starts[i + 1]]``, in increasing order,
        and ``couplings`` at the same places their couplings.
        """
        both = (self._triangle + self._triangle.T).tocsr()
        both.sort_indices()
        starts, columns = both.indptr.astype(np.int64), both.indices.astype(np.int32, copy=False)
        return self.linear, starts, columns, both.data

    def to_ising(self) -> "Ising":
        """Return the same energy over spins s = 2 b - 1."""
        from qubonn.quadratic.ising import Ising

        return Ising.of(self)

    def to_dimod(self, labels: Sequence[Hashable] | None = None) -> "dimod.BinaryQuadraticModel":
        """Return the same energy as a dimod model whose variables are `labels`, else our labels.

        dimod has float64 only; whole numbers up to 2**53 stay exact.
        """
        import dimod

        return dimod.BinaryQuadraticModel.from_numpy_vectors(
            self.linear.astype(np.float64),
            (self.rows, self.columns, self.couplings.astype(np.float64)),
            float(self.offset),
            dimod.BINARY,
            variable_order=list(self.labels if labels is None else labels),
        )

    @classmethod
    def from_dimod(cls, model: "dimod.BinaryQuadraticModel") -> "Qubo":
        """Convert a dimod model, binary or spin; its variables become the labels, in its order.

        Coefficients become int64 if all are whole numbers. A .bqm file is read by dimod:

        >>> import dimod
        >>> with Qubo.of([0], [1], [2], variable_count=2).to_dimod().to_file() as stream:
        ...     Qubo.from_dimod(dimod.BinaryQuadraticModel.from_file(stream))
        Qubo(2 variables, 1 couplings, int64)
        """
        binary = model.change_vartype("BINARY", inplace=False)
        labels: list[Hashable] = list(binary.variables)
        vectors = binary.to_numpy_vectors(variable_order=labels)
        linear, offset = vectors.linear_biases, float(vectors.offset)
        rows, columns, couplings = vectors.quadratic
        return cls.of_parts(
            linear.astype(np.float64), rows, columns, couplings.astype(np.float64), offset, labels
        )

    @classmethod
    def of_parts(
        cls,
        linear: NDArray[np.float64],
        rows: NDArray[Any],
        columns: NDArray[Any],
        couplings: NDArray[np.float64],
        offset: float,
        labels: Sequence[Hashable],
    ) -> "Qubo":
        """Join linear terms and couplings of another form; int64 if all numbers are whole."""
        everyone, values = np.arange(len(linear)), np.concatenate([linear, couplings])
        is_whole = float(offset).is_integer() and (values == np.rint(values)).all()
        return cls.of(
            np.concatenate([everyone, rows]),
            np.concatenate([everyone, columns]),
            values.astype(np.int64) if is_whole and magnitude(values, offset) < 2**63 else values,
            variable_count=len(linear),
            offset=offset,
            labels=labels,
        )

    @classmethod
    def from_matrix(
        cls, matrix: Any, *, offset: float = 0, labels: Sequence[Hashable] | None = None
    ) -> "Qubo":
        """Convert a square matrix Q, dense or of scipy: the energy is b'Qb, any triangle counts.

        >>> Qubo.from_matrix([[-3, 1], [1, 0]]).to_dict()
        {(0, 0): -3, (1, 1): 0, (0, 1): 2}
        """
        given: Any = matrix.tocoo() if hasattr(matrix, "tocoo") else np.asarray(matrix)
        if given.ndim != 2 or given.shape[0] != given.shape[1]:
            raise ShapeError(
                "matrix must be square, a row and a column for each variable; "
                f"got shape {given.shape}"
            )
        if hasattr(matrix, "tocoo"):
            rows, columns, values = given.row, given.col, given.data
        else:
            rows, columns = np.nonzero(given)
            values = given[rows, columns]
        size = given.shape[0]
        return cls.of(rows, columns, values, variable_count=size, offset=offset, labels=labels)

    def to_scipy(self) -> Any:
        """Return the upper triangle as a sparse matrix, linear terms on its diagonal; no offset."""
        from scipy.sparse import coo_array

        everyone = np.arange(self.variable_count, dtype=np.int32)
        ends = np.concatenate([everyone, self.rows]), np.concatenate([everyone, self.columns])
        values = np.concatenate([self.linear, self.couplings])
        return coo_array((values, ends), shape=(self.variable_count,) * 2).tocsr()

    @classmethod
    def from_dict(
        cls, terms: Mapping[tuple[Hashable, Hashable], float], *, offset: float = 0
    ) -> "Qubo":
        """Convert ``{(i, j): value}``, linear terms at (i, i), as dimod and OpenJij have it.

        Labels are the names in the order in which they occur; 0, 1, 2 ... in their own order.
        """
        names = dict.fromkeys(name for pair in terms for name in pair)
        labels: Sequence[Hashable] = list(names)
        if set(names) == set(range(len(names))):
            labels = range(len(names))
        number_of = {name: number for number, name in enumerate(labels)}
        ends = np.array([[number_of[one], number_of[other]] for one, other in terms], dtype=int)
        rows, columns = ends.reshape(-1, 2).T
        size, values = len(names), np.array(list(terms.values()))
        return cls.of(rows, columns, values, variable_count=size, offset=offset, labels=labels)

    def to_dict(self) -> dict[tuple[Hashable, Hashable], int | float]:
        """Return ``{(label, label): value}``, a linear term for each variable; no offset."""
        names = list(self.labels)
        terms: dict[tuple[Hashable, Hashable], int | float] = {
            (name, name): value for name, value in zip(names, self.linear.tolist(), strict=True)
        }
        ends = self.rows.tolist(), self.columns.tolist(), self.couplings.tolist()
        return terms | {(names[one], names[two]): v for one, two, v in zip(*ends, strict=True)}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the QUBO in the format that the suffix names, see `qubonn.quadratic.files`."""
        from qubonn.quadratic.files import save_qubo

        save_qubo(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Qubo":
        """Read a QUBO, written by `save` or by another program, in the format of the suffix."""
        from qubonn.quadratic.files import load_qubo

        return load_qubo(path)

    @cached_property
    def _triangle(self) -> Any:
        from scipy.sparse import csr_array

        starts = np.searchsorted(self.rows, np.arange(self.variable_count + 1))
        shape = (self.variable_count, self.variable_count)
        return csr_array((self.couplings, self.columns, starts), shape=shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Qubo):
            return NotImplemented
        arrays = ("linear", "rows", "columns", "couplings")
        return (
            (self.offset, self.is_exact) == (other.offset, other.is_exact)
            and all(np.array_equal(getattr(self, name), getattr(other, name)) for name in arrays)
            and list(self.labels) == list(other.labels)
        )

    def __hash__(self) -> int:
        return hash((self.variable_count, self.coupling_count, self.offset))

    def __repr__(self) -> str:
        size = f"{self.variable_count} variables, {self.coupling_count} couplings"
        return f"Qubo({size}, {self.linear.dtype})"

    def _repr_html_(self) -> str:
        return card("Qubo", qubo_facts(self))


def _indices(name: str, values: ArrayLike, variable_count: int) -> NDArray[np.int32]:
    array = np.asarray(values)
    if array.size and array.dtype.kind not in "iu":
        raise RangeError(f"{name} must be variable numbers; got {array.dtype}")
    if array.size and (array.min() < 0 or array.max() >= variable_count):
        raise RangeError(
            f"{name} must be variable numbers in 0..{variable_count - 1}; "
            f"got {array.min()} to {array.max()}"
        )
    return array.astype(np.int32, copy=False)


def _coefficients(values: ArrayLike, offset: float) -> NDArray[Any]:
    array = np.asarray(values)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.dtype.kind not in "iuf":
        raise AlphabetError(f"values must be numbers; got {array.dtype}")
    if not np.isfinite(offset) or (array.dtype.kind == "f" and not np.isfinite(array).all()):
        raise AlphabetError("values and offset must be finite; got NaN or infinity among them")
    total = magnitude(array, offset)
    if not np.isfinite(total):
        raise RangeError("values and offset must have finite sums; they exceed what float64 holds")
    if array.dtype.kind == "f" or not float(offset).is_integer() or abs(offset) >= 2**63:
        return array.astype(np.float64, copy=False)
    if total >= 2**63:
        raise RangeError(
            "whole values and offset must sum to less than 2**63 in magnitude, so that energies "
            f"are exact; got about {total:.3g}: give the values as floats"
        )
    return array.astype(np.int64, copy=False)


def magnitude(values: NDArray[Any], offset: float = 0) -> float:
    """Return a bound on the magnitude of every energy, and of every sum on the way to it."""
    with np.errstate(over="ignore"):
        return float(np.abs(values, dtype=np.float64).sum()) + abs(float(offset))


def _merged(
    rows: NDArray[np.int32], columns: NDArray[np.int32], values: NDArray[Any], variable_count: int
) -> Merged:
    """Return linear, rows, columns, couplings with each pair once, row < column, no zeros."""
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    is_crowded = variable_count**2 <= 32 * len(values)
    fits_float = values.dtype.kind == "f" or magnitude(values) < 2**53
    merge = _merged_in_a_square if is_crowded and fits_float else _merged_by_rows
    return merge(low, high, values, variable_count)


def _merged_in_a_square(
    low: NDArray[np.int32], high: NDArray[np.int32], values: NDArray[Any], variable_count: int
) -> Merged:
    """Add up in a full matrix: fastest while that is not much larger than the list of terms."""
    place = low.astype(np.int64) * variable_count + high
    square = np.bincount(place, weights=values, minlength=variable_count**2)
    diagonal = slice(None, None, variable_count + 1)
    linear = square[diagonal].astype(values.dtype)
    square[diagonal] = 0
    kept = np.flatnonzero(square != 0)  # much faster on booleans
    rows, columns = np.divmod(kept, max(variable_count, 1))  # places can exceed int32
    couplings = square[kept].astype(values.dtype)
    return linear, rows.astype(np.int32), columns.astype(np.int32), couplings


def _merged_by_rows(
    low: NDArray[np.int32], high: NDArray[np.int32], values: NDArray[Any], variable_count: int
) -> Merged:
    """Add up row by row: time and memory linear in the list of terms."""
    from scipy.sparse import coo_array

    matrix = coo_array((values, (low, high)), shape=(variable_count, variable_count)).tocsr()
    matrix.sum_duplicates()
    linear = matrix.diagonal()
    row = np.repeat(np.arange(variable_count, dtype=np.int32), np.diff(matrix.indptr))
    column = matrix.indices.astype(np.int32, copy=False)
    keep = (row != column) & (matrix.data != 0)
    return linear, row[keep], column[keep], matrix.data[keep]
