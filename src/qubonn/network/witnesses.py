"""Near inputs of another class, found by flipping one input after another.

Jury, inputs, bounds -> for each example an input of another class, as near as a greedy search gets.
From the votes back to the inputs, every node gets an urge to change: its gain for what listens to
it, divided by what that still needs. The input with the strongest urge is flipped, until the class
changes; then flips that turn out needless are taken back, and pairs of flips are exchanged for one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix
from qubonn.network.forward import chunks
from qubonn.network.joint_network import Hearing, Jury, needs_of

SHARPNESSES = (1.0, 2.0, 4.0)  # how much neurons that need little are preferred; each is tried
LOOK_AHEAD = 16  # strongest inputs of which one may change the class at once
MOST_EXCHANGED = 40  # flips of a walk whose pairs are tried


def find_witnesses(
    jury: Jury,
    input_spins: SpinMatrix,
    classes: SpinMatrix,
    bounds: IntVector,
    is_late: Callable[[], bool],
) -> SpinMatrix:
    """Return the nearest input of another class that was found; the input itself where none was.

    `bounds` (examples x outputs) say how many flips each way to change the class needs at least.
    Stops where it is when `is_late` says so.
    """
    found = input_spins.copy()
    rows_each = LOOK_AHEAD * len(SHARPNESSES) * jury.output_count
    for rows in chunks(len(found), rows_each * jury.network.topology.node_count):
        starts, own, needed = input_spins[rows], classes[rows], bounds[rows]
        walks = _nearest(jury, starts, own, needed.argmin(axis=1)[:, np.newaxis], is_late)
        least = needed.min(axis=1)
        left = np.flatnonzero(walks.flips() > least)  # then every other way is tried too
        columns = np.tile(np.arange(jury.output_count), (len(left), 1))
        others = _nearest(jury, starts[left], own[left], columns, is_late)
        walks.take_shorter(left, others)
        walks.exchange(least, is_late)
        found[rows][walks.has_arrived] = walks.spins[walks.has_arrived]
    return found


def _nearest(
    jury: Jury,
    starts: SpinMatrix,
    classes: SpinMatrix,
    columns: IntVector,
    is_late: Callable[[], bool],
) -> "_Walks":
    """Walk from each example to each of its `columns`; return the shortest walk of each."""
    walks = _Walks.away_from(jury, starts, classes, columns)
    walks_each = columns.shape[1] * len(SHARPNESSES)
    walks.go(walks_each, is_late)
    walks.take_back()
    shortest = walks.flips().reshape(-1, walks_each).argmin(axis=1)
    return walks.pick(np.arange(len(shortest)) * walks_each + shortest)


@dataclass(frozen=True, eq=False)
class _Walks:
    """Walks away from examples, each towards one way to change the class."""

    jury: Jury
    starts: SpinMatrix  # walks x inputs
    classes: SpinMatrix  # of the starts
    columns: IntVector  # which threshold is to be crossed
    sharpness: NDArray[np.float64]
    spins: SpinMatrix  # where each walk is
    has_arrived: NDArray[np.bool_]

    @classmethod
    def away_from(
        cls, jury: Jury, starts: SpinMatrix, classes: SpinMatrix, columns: IntVector
    ) -> "_Walks":
        """Begin a walk from each example to each of its columns with each sharpness."""
        count = columns.shape[1] * len(SHARPNESSES)
        spins = np.repeat(starts, count, axis=0)
        return cls(
            jury,
            spins,
            np.repeat(classes, count, axis=0),
            np.repeat(columns.ravel(), len(SHARPNESSES)),
            np.tile(SHARPNESSES, columns.size),
            spins.copy(),
            np.zeros(len(spins), dtype=bool),
        )

    def pick(self, walks: IntVector) -> "_Walks":
        """Copy some walks."""
        return _Walks(
            self.jury,
            self.starts[walks],
            self.classes[walks],
            self.columns[walks],
            self.sharpness[walks],
            self.spins[walks],
            self.has_arrived[walks],
        )

    def flips(self) -> IntVector:
        """Return the length of each walk; one more than there are inputs if it leads nowhere."""
        lengths = (self.spins != self.starts).sum(axis=1)
        return np.where(self.has_arrived, lengths, self.jury.input_count + 1)

    def go(self, walks_each: int, is_late: Callable[[], bool]) -> None:
        """Flip one input of each walk at a time, until one walk of each example has arrived."""
        active = np.flatnonzero(self._leads_somewhere())
        for _ in range(self.jury.input_count):
            if not len(active) or is_late():
                break
            chosen, is_there = self.pick(active).choose()
            self.spins[active, chosen] *= -1
            self.has_arrived[active] = is_there
            is_done = np.isin(active // walks_each, active[is_there] // walks_each)
            active = active[~is_done]

    def take_back(self) -> None:
        """Undo flips one at a time while the class stays changed."""
        active = np.flatnonzero(self.has_arrived)
        while len(active):
            walk, flip = np.nonzero(self.spins[active] != self.starts[active])
            tried = self.spins[active[walk]]
            tried[np.arange(len(tried)), flip] *= -1
            works = np.flatnonzero(self._is_changed(tried, active[walk]))
            shorter, first = np.unique(walk[works], return_index=True)
            active = active[shorter]
            self.spins[active] = tried[works[first]]

    def take_shorter(self, walks: IntVector, others: "_Walks") -> None:
        """Put each of `others` in the place of one of `walks` where it is shorter."""
        is_shorter = others.flips() < self.flips()[walks]
        places = walks[is_shorter]
        for name in ("columns", "sharpness", "spins", "has_arrived"):
            getattr(self, name)[places] = getattr(others, name)[is_shorter]

    def exchange(self, bounds: IntVector, is_late: Callable[[], bool]) -> None:
        """Put one flip in place of two while that changes the class too."""
        for walk in np.flatnonzero(self.has_arrived):
            while self.flips()[walk] > bounds[walk] and not is_late():
                if not self._exchange_two(int(walk)):
                    break

    def choose(self) -> tuple[IntVector, NDArray[np.bool_]]:
        """Pick the input of strongest urge, or a strong one that changes the class at once."""
        count = min(LOOK_AHEAD, self.jury.input_count)
        strongest = np.argsort(-self._urges(), axis=1, kind="stable")[:, :count]
        walks = np.repeat(np.arange(len(self.spins)), count)
        tried = self.spins[walks]
        tried[np.arange(len(tried)), strongest.ravel()] *= -1
        changes = self._is_changed(tried, walks).reshape(-1, count)
        along = np.arange(len(self.spins)), changes.argmax(axis=1)  # the first where none does
        return strongest[along], changes[along]

    def _exchange_two(self, walk: int) -> bool:
        flipped = np.flatnonzero(self.spins[walk] != self.starts[walk])[:MOST_EXCHANGED]
        pairs = np.array(list(combinations(flipped, 2)))
        if not len(pairs):
            return False
        tries = self.pick(np.full(len(pairs), walk))
        tries.spins[np.arange(len(pairs))[:, np.newaxis], pairs] *= -1
        chosen, is_there = tries.choose()
        first = int(is_there.argmax())
        if is_there[first]:
            self.spins[walk] = tries.spins[first]
            self.spins[walk, chosen[first]] *= -1
        return bool(is_there[first])

    def _leads_somewhere(self) -> NDArray[np.bool_]:
        """With "largest" no lead of the winner over itself can fall."""
        is_winner = self.classes[np.arange(len(self.classes)), self.columns] > 0
        return ~is_winner if self.jury.reading == "largest" else np.full(len(self.spins), True)

    def _is_changed(self, input_spins: SpinMatrix, walks: IntVector) -> NDArray[np.bool_]:
        return np.asarray((self.jury.classes(input_spins) != self.classes[walks]).any(axis=1))

    def _urges(self) -> NDArray[np.float64]:
        """Return how much each input wants to flip: walks x inputs, -inf where it has flipped."""
        jury = self.jury
        hearing = jury.hear(self.spins)
        urges, spins = self._wishes(hearing), hearing.activation_spins
        for level in reversed(jury.plan):
            sums = hearing.pre_activations[:, level.nodes - jury.input_count]
            needs = needs_of(sums) ** self.sharpness[:, np.newaxis]
            push = urges[:, level.nodes] * spins[:, level.nodes] / needs
            urges[:, level.sources] += spins[:, level.sources] * (push @ level.matrix.T)
        urges = urges[:, : jury.input_count]
        urges[self.spins != self.starts] = -np.inf
        return urges

    def _wishes(self, hearing: Hearing) -> NDArray[np.float64]:
        """Return the urges of the nodes that are voted with."""
        jury, sources = self.jury, self.jury.ballot.sources
        urges = np.zeros(hearing.activation_spins.shape)
        for asked in jury.thresholds(hearing.votes, self.classes):
            columns = self.columns[asked.rows]
            directions = asked.directions[np.arange(len(columns)), columns]
            here = np.ix_(asked.rows, sources)
            pull = asked.matrix.T[columns] * directions[:, np.newaxis]
            urges[here] = hearing.activation_spins[here] * pull
        return urges
