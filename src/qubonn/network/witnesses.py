"""Near inputs of another class, found by flipping one input after another.

JointNetwork, inputs, bounds -> for each example an input of another class, as near as a greedy
search gets.  From the votes back to the inputs, every node gets a priority: the sum over its
targets of what its change gains for each, divided by what that target still needs. The input of
highest priority is flipped until the class changes; then needless flips are undone, and pairs of
flips are exchanged for one.
"""

from collections.abc import Callable
from dataclasses import dataclass, fields
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix
from qubonn.network.forward import ForwardPass, chunks
from qubonn.network.joint_network import JointNetwork, needs_of

SHARPNESSES = (1.0, 2.0, 4.0)  # preference for neurons that need little; each is tried
LOOK_AHEAD = 16  # inputs of highest priority that are tried first: one may change the class
MOST_EXCHANGED = 40  # flips of a walk whose pairs are tried


def find_witnesses(
    joint: JointNetwork,
    input_spins: SpinMatrix,
    classes: SpinMatrix,
    bounds: IntVector,
    is_late: Callable[[], bool],
) -> SpinMatrix:
    """Return the nearest input of another class that was found; the input itself where none was.

    `bounds` (examples x outputs) are lower bounds on the flips of each way to change the class.
    Stops early when `is_late` returns True.
    """
    found = input_spins.copy()
    rows_each = LOOK_AHEAD * len(SHARPNESSES) * joint.output_count
    for rows in chunks(len(found), rows_each * joint.topology.node_count):
        starts, own, needed = input_spins[rows], classes[rows], bounds[rows]
        walks = _nearest(joint, starts, own, needed.argmin(axis=1)[:, np.newaxis], is_late)
        least = needed.min(axis=1)
        left = np.flatnonzero(walks.flips() > least)  # these try every other way too
        columns = np.tile(np.arange(joint.output_count), (len(left), 1))
        others = _nearest(joint, starts[left], own[left], columns, is_late)
        walks.take_shorter(left, others)
        walks.exchange(least, is_late)
        found[rows][walks.has_arrived] = walks.spins[walks.has_arrived]
    return found


def _nearest(
    joint: JointNetwork,
    starts: SpinMatrix,
    classes: SpinMatrix,
    columns: IntVector,
    is_late: Callable[[], bool],
) -> "_Walks":
    """Walk from each example to each of its `columns`, with each sharpness; keep the shortest."""
    walks_each = columns.shape[1] * len(SHARPNESSES)
    spins = np.repeat(starts, walks_each, axis=0)
    walks = _Walks(
        joint,
        starts=spins,
        classes=np.repeat(classes, walks_each, axis=0),
        columns=np.repeat(columns.ravel(), len(SHARPNESSES)),
        sharpness=np.tile(SHARPNESSES, columns.size),
        spins=spins.copy(),
        has_arrived=np.zeros(len(spins), dtype=bool),
    )
    walks.go(walks_each, is_late)
    walks.undo_needless()
    shortest = walks.flips().reshape(-1, walks_each).argmin(axis=1)
    return walks.pick(np.arange(len(shortest)) * walks_each + shortest)


@dataclass(frozen=True, eq=False)
class _Walks:
    """Sequences of flips that start at examples, each towards one way to change the class."""

    joint: JointNetwork
    starts: SpinMatrix  # walks x inputs
    classes: SpinMatrix  # of the starts
    columns: IntVector  # the threshold to cross
    sharpness: NDArray[np.float64]
    spins: SpinMatrix  # the inputs after the flips so far
    has_arrived: NDArray[np.bool_]

    def pick(self, walks: IntVector) -> "_Walks":
        """Copy some walks."""
        arrays = (getattr(self, field.name) for field in fields(self)[1:])
        return _Walks(self.joint, *(array[walks] for array in arrays))

    def flips(self) -> IntVector:
        """Return the length of each walk; the number of inputs plus 1 if it has not arrived."""
        lengths = (self.spins != self.starts).sum(axis=1)
        return np.where(self.has_arrived, lengths, self.joint.column_count + 1)

    def go(self, walks_each: int, is_late: Callable[[], bool]) -> None:
        """Flip one input of each walk at a time until one walk of each example has arrived."""
        is_winner = self.classes[np.arange(len(self.classes)), self.columns] > 0
        # with "largest" the winner has no threshold to cross
        active = np.flatnonzero(~is_winner | (self.joint.reading == "signs"))
        for _ in range(self.joint.column_count):
            if not len(active) or is_late():
                break
            chosen, is_there = self.pick(active).choose()
            self.spins[active, chosen] *= -1
            self.has_arrived[active] = is_there
            is_done = np.isin(active // walks_each, active[is_there] // walks_each)
            active = active[~is_done]

    def undo_needless(self) -> None:
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
        """Replace each of `walks` by the one in `others` where that is shorter."""
        is_shorter = others.flips() < self.flips()[walks]
        places = walks[is_shorter]
        for name in ("columns", "sharpness", "spins", "has_arrived"):
            getattr(self, name)[places] = getattr(others, name)[is_shorter]

    def exchange(self, bounds: IntVector, is_late: Callable[[], bool]) -> None:
        """Replace two flips by one while the class stays changed."""
        for walk in np.flatnonzero(self.has_arrived):
            while self.flips()[walk] > bounds[walk] and not is_late():
                if not self._exchange_two(int(walk)):
                    break

    def choose(self) -> tuple[IntVector, NDArray[np.bool_]]:
        """Return the input of highest priority, or one of high priority that changes the class."""
        count = min(LOOK_AHEAD, self.joint.column_count)
        first_inputs = np.argsort(-self._priorities(), axis=1, kind="stable")[:, :count]
        walks = np.repeat(np.arange(len(self.spins)), count)
        tried = self.spins[walks]
        tried[np.arange(len(tried)), first_inputs.ravel()] *= -1
        changes = self._is_changed(tried, walks).reshape(-1, count)
        chosen = np.arange(len(self.spins)), changes.argmax(axis=1)  # 0 where none does
        return first_inputs[chosen], changes[chosen]

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

    def _is_changed(self, input_spins: SpinMatrix, walks: IntVector) -> NDArray[np.bool_]:
        return np.asarray((self.joint.classes(input_spins) != self.classes[walks]).any(axis=1))

    def _priorities(self) -> NDArray[np.float64]:
        """Return the priorities of the inputs: walks x inputs, -inf where one has been flipped."""
        joint = self.joint
        done = joint.run(self.spins)
        priorities, spins = self._vote_priorities(done), done.activation_spins
        for level in reversed(joint.plan):
            sums = done.pre_activations[:, level.nodes - joint.topology.input_count]
            needs = needs_of(sums) ** self.sharpness[:, np.newaxis]
            weighted = priorities[:, level.nodes] * spins[:, level.nodes] / needs
            priorities[:, level.sources] += spins[:, level.sources] * (weighted @ level.matrix.T)
        priorities = priorities[:, : joint.column_count]
        priorities[self.spins != self.starts] = -np.inf
        return priorities

    def _vote_priorities(self, done: ForwardPass) -> NDArray[np.float64]:
        """Return the priorities of the nodes that are sources of the votes."""
        joint = self.joint
        priorities = np.zeros(done.activation_spins.shape)
        for part in joint.thresholds(joint.votes(done), self.classes):
            columns = self.columns[part.rows]
            directions = part.directions[np.arange(len(columns)), columns]
            here = np.ix_(part.rows, part.sources)
            gains = part.matrix.T[columns] * directions[:, np.newaxis]
            priorities[here] = done.activation_spins[here] * gains
        return priorities
