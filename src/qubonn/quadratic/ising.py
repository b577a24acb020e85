"""Ising: the energy of a QUBO over spins.

Qubo <-> Ising -> energies, dimod, files.
"""

import os
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import require_spin_matrix, require_spins
from qubonn.errors import RangeError
from qubonn.quadratic.qubo import Qubo

if TYPE_CHECKING:
    import dimod


@dataclass(frozen=True, eq=False, repr=False)
class Ising:
    """The energy ``offset + sum fields[i] s[i] + sum couplings[m] s[rows[m]] s[columns[m]]``.

    Spins are s = 2 b - 1. Whole QUBO coefficients become exact quarters, so nothing is lost in
    float64. We minimise, as dimod does; the paper's introduction reverses both signs.

    >>> ising = Qubo.of([0, 0], [0, 1], [-3, 2], variable_count=2).to_ising()
    >>> ising.fields, ising.couplings, ising.offset
    (array([-1. ,  0.5]), array([0.5]), -1.0)
    >>> ising.energy([1, -1])
    -3.0
    """

    fields: NDArray[np.float64]
    rows: NDArray[np.int32]
    columns: NDArray[np.int32]
    couplings: NDArray[np.float64]
    offset: float
    labels: Sequence[Hashable]

    @classmethod
    def of(cls, qubo: Qubo) -> "Ising":
        """Substitute b = (1 + s) / 2."""
        quarter = qubo.couplings / 4
        fields = qubo.linear / 2
        np.add.at(fields, qubo.rows, quarter)
        np.add.at(fields, qubo.columns, quarter)
        offset = float(qubo.offset + qubo.linear.sum() / 2 + quarter.sum())
        return cls(fields, qubo.rows, qubo.columns, quarter, offset, qubo.labels)

    def energy(self, spins: ArrayLike) -> Any:
        """Return the energy of one state, or of each row of a matrix of states."""
        count, of = len(self.fields), "variable"
        if np.ndim(spins) == 1:
            states = require_spins("spins", spins, count=count, of=of)
        else:
            states = require_spin_matrix("spins", spins, columns=count, of=of)
        pairs = states[..., self.rows] * states[..., self.columns]
        energies = states @ self.fields + pairs @ self.couplings + self.offset
        return energies.item() if states.ndim == 1 else energies

    def to_qubo(self) -> Qubo:
        """Return the same energy over bits b = (s + 1) / 2, whole numbers where it can be."""
        linear = 2 * self.fields
        np.subtract.at(linear, self.rows, 2 * self.couplings)
        np.subtract.at(linear, self.columns, 2 * self.couplings)
        offset = float(self.offset - self.fields.sum() + self.couplings.sum())
        return Qubo.of_parts(
            linear, self.rows, self.columns, 4 * self.couplings, offset, self.labels
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write fields and couplings over spins: .coo, .json (bqpjson) or .bqm (dimod)."""
        from qubonn.quadratic.files import save_ising

        save_ising(self, path)

    def to_dimod(self, labels: Sequence[Hashable] | None = None) -> "dimod.BinaryQuadraticModel":
        """Return the same energy as a dimod model of spins, named as in `Qubo.to_dimod`."""
        import dimod

        return dimod.BinaryQuadraticModel.from_numpy_vectors(
            self.fields,
            (self.rows, self.columns, self.couplings),
            self.offset,
            dimod.SPIN,
            variable_order=list(self.labels if labels is None else labels),
        )

    def __repr__(self) -> str:
        return f"Ising({len(self.fields)} spins, {len(self.couplings)} couplings)"


def as_qubo(given: Any) -> Qubo:
    """Return any form of a QUBO as a `Qubo`, or say what to call.

    >>> as_qubo({("a", "a"): -1, ("a", "b"): 2})
    Qubo(2 variables, 1 couplings, int64)
    >>> as_qubo("problem.qubo")
    Traceback (most recent call last):
    qubonn.errors.RangeError: a QUBO must be a Qubo, an Ising, a dimod model, a dict of pairs or a
    square matrix; got str: read a file with Qubo.load(path)
    """
    if isinstance(given, Qubo):
        return given
    if isinstance(given, Ising):
        return given.to_qubo()
    if hasattr(given, "change_vartype"):
        return Qubo.from_dimod(given)
    if isinstance(given, Mapping) and all(type(pair) is tuple and len(pair) == 2 for pair in given):
        return Qubo.from_dict(given)
    if isinstance(given, (np.ndarray, list)) or hasattr(given, "tocoo"):
        return Qubo.from_matrix(given)
    hint = ""
    if isinstance(given, (str, os.PathLike)):
        hint = ": read a file with Qubo.load(path)"
    elif hasattr(given, "qubo"):
        hint = ": give its QUBO, problem.qubo()"
    raise RangeError(
        "a QUBO must be a Qubo, an Ising, a dimod model, a dict of pairs or a square matrix; got "
        f"{type(given).__name__}{hint}"
    )
