"""A lower bound on input flips, from margins alone: no search, a few matrix products.

Jury, inputs -> for each example fewer flips than these cannot change its class.  Paper, section
"Maximising sum of margins": a margin is how far a neuron is from changing its mind. A neuron that
must lose `need` changes only if enough of its sources do. With t input flips it loses at most the t
largest gains among the inputs it listens to, plus the gains of all neurons that t flips may change;
the fewest t for which that is enough is the neuron's own bound, and so on from level to level.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix
from qubonn.network.forward import chunks, sign
from qubonn.network.robustness.jury import Hearing, Jury, needs_of

Counts = list[tuple[int, NDArray[np.int64]]]  # largest gain first: how many inputs have it


def lower_bounds(jury: Jury, input_spins: SpinMatrix) -> IntVector:
    """Return how many input flips each way to change the class needs at least: examples x outputs.

    The class needs the least of them. One more than there are inputs where no flips are enough.
    """
    parts = [
        _bounds(jury, jury.hear(input_spins[rows]))
        for rows in chunks(len(input_spins), 4 * jury.network.topology.node_count)
    ]
    return np.concatenate(parts)


def _bounds(jury: Jury, hearing: Hearing) -> IntVector:
    spins, first, never = hearing.activation_spins, jury.input_count, jury.input_count + 1
    reach = np.ones(spins.shape, dtype=np.int64)  # input flips needed to change a node, at least
    for level in jury.plan:
        sums = hearing.pre_activations[:, level.nodes - first]
        place = _Place(spins[:, level.sources], reach[:, level.sources], level.sources, never)
        reach[:, level.nodes] = place.flips_for(level.matrix, sign(sums), needs_of(sums))
    bounds, sources = np.empty(hearing.votes.shape, dtype=np.int64), jury.ballot.sources
    for asked in jury.thresholds(hearing.votes, jury.decide(hearing.votes)):
        here = np.ix_(asked.rows, sources)
        place = _Place(spins[here], reach[here], sources, never)
        bounds[asked.rows] = place.flips_for(asked.matrix, asked.directions, asked.needs)
    return bounds


class _Place:
    """The sources of a level: their spins, and how many input flips each needs to change."""

    def __init__(self, spins: SpinMatrix, reach: IntVector, sources: IntVector, never: int) -> None:
        self.never = never
        self.cut = int(np.searchsorted(sources, never - 1))  # inputs come first
        self.input_spins = spins[:, : self.cut].astype(np.float32)
        self.spins = spins[:, self.cut :].astype(np.float32)
        self.reach = reach[:, self.cut :]

    def flips_for(
        self, matrix: Any, directions: SpinMatrix, needs: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the fewest input flips after which `directions` times sums may lose `needs`.

        Either t flips suffice through inputs alone, or some neurons help: then t is at least the
        reach of one of them, and only neurons of at most that reach need to be counted.
        """
        counts = self._input_counts(matrix[: self.cut], directions)
        fewest = self._through_inputs(needs, counts)
        inner = matrix[self.cut :]
        size = _with_values(inner, np.abs)
        for value in np.unique(self.reach[self.reach < self.never]):
            if value >= fewest.max(initial=0):
                break
            near = (self.reach <= value).astype(np.float32)
            # a neuron's gain is 2 * |c| where c * spin * direction > 0, else 0
            gains = near @ size + directions * ((near * self.spins) @ inner)
            rest = self._through_inputs(needs - gains.astype(np.int64), counts)
            fewest = np.minimum(fewest, np.maximum(value, rest))
        return fewest

    def _input_counts(self, matrix: Any, directions: SpinMatrix) -> Counts:
        """Count the inputs that help, by what a flip gains: 2, or 2 for each parallel arc."""
        counts = []
        values = matrix if isinstance(matrix, np.ndarray) else matrix.data
        for size in np.unique(np.abs(values))[::-1].tolist():
            if size > 0:
                signs = _with_values(matrix, _signs_of_size(size))
                arcs = np.asarray(_with_values(signs, np.abs).sum(axis=0)).ravel()
                helping = (arcs + directions * (self.input_spins @ signs)) / 2
                counts.append((2 * int(size), helping.astype(np.int64)))
        return counts

    def _through_inputs(self, needs: NDArray[np.int64], counts: Counts) -> NDArray[np.int64]:
        """Return the fewest flips whose gains reach `needs`, the largest gains first."""
        left, flips = needs, np.zeros(needs.shape, dtype=np.int64)
        for gain, count in counts:
            taken = np.clip(-(-left // gain), 0, count)
            left, flips = left - gain * taken, flips + taken
        return np.where(left > 0, self.never, flips)


def _signs_of_size(size: float) -> Callable[[NDArray[Any]], NDArray[Any]]:
    return lambda values: np.where(np.abs(values) == size, np.sign(values), np.float32(0))


def _with_values(matrix: Any, change: Callable[[NDArray[Any]], NDArray[Any]]) -> Any:
    """Change the values of a dense or a sparse matrix."""
    if isinstance(matrix, np.ndarray):
        return change(matrix)
    changed = matrix.copy()
    changed.data = change(changed.data)
    return changed
