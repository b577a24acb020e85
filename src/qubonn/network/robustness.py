"""Robustness: how many input flips change the class of an example, with a witness and a proof.

Networks that decide together, inputs -> Robustness.  First a cheap lower bound and a witness; then
CP-SAT for the examples where the two differ.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn import ortools
from qubonn.checks import IntVector, SpinMatrix, SpinVector, require_count
from qubonn.encoding import Reading
from qubonn.network.flip_model import FlipModel
from qubonn.network.joint_network import JointNetwork
from qubonn.network.witnesses import find_witnesses
from qubonn.stopping import Watch, require_seed

if TYPE_CHECKING:
    from qubonn.network.binary_network import BinaryNetwork

_log = logging.getLogger(__name__)


@dataclass(frozen=True, eq=False, repr=False)
class Robustness:
    """The number of input flips that changes each class; read-only arrays, one row per example.

    ``lower_bound <= bound <= (the smallest number of flips) <= flips``. ``lower_bound`` is the
    cheap one, from margins; ``bound`` is the best that was proved. ``flips`` is the distance to
    ``adversarial_inputs``, the witness. Where none is known it is one more than the number of
    inputs, and the witness is the input itself; if ``bound`` is equal, no input has another class.
    """

    input_spins: SpinMatrix
    classes: SpinMatrix  # of the inputs, as output spins
    lower_bound: IntVector
    bound: IntVector
    flips: IntVector
    adversarial_inputs: SpinMatrix
    adversarial_classes: SpinMatrix  # of the witnesses, from a forward pass
    reading: Reading
    seconds: float
    notice: str = ""  # why some examples are not exact, if so

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    @property
    def is_exact(self) -> NDArray[np.bool_]:
        """Whether `flips` is proved to be the smallest number, example by example."""
        return np.asarray(self.bound == self.flips)

    @property
    def is_found(self) -> NDArray[np.bool_]:
        """Whether an input of another class is known, example by example."""
        return np.asarray(self.flips <= self.input_spins.shape[1])

    @property
    def mean_flips(self) -> float:
        """Mean of `flips`: of the smallest numbers where all are exact, else an upper bound."""
        return float(self.flips.mean())

    def __len__(self) -> int:
        return len(self.flips)

    def __repr__(self) -> str:
        return f"Robustness({len(self)} example{'s' * (len(self) != 1)}: {self._findings()})"

    def __str__(self) -> str:
        values, counts = np.unique(self.flips, return_counts=True)
        never = self.input_spins.shape[1] + 1
        names = np.where(values == never, "none", values.astype(str))
        rows = [f"{name:>5}  {count:>8}" for name, count in zip(names, counts, strict=True)]
        return "\n".join(["flips  examples", *rows, self._findings(), *filter(None, [self.notice])])

    def _findings(self) -> str:
        exact, least, most = int(self.is_exact.sum()), self.flips.min(), self.flips.max()
        span = f"{least}" if least == most else f"{least} to {most}"
        mean = f"{self.bound.mean():.2f}"
        if exact < len(self):
            mean = f"between {mean} and {self.mean_flips:.2f}"
        return f"flips {span}, mean {mean}; {exact} of {len(self)} exact, {self.seconds:.2g} s"


def robustness_of(
    members: Sequence["BinaryNetwork"],
    inputs: ArrayLike,
    reading: Reading,
    *,
    exact: bool = True,
    time_limit: float | None = None,
    seed: int = 0,
    worker_count: int = 1,
) -> Robustness:
    """Return for each example the smallest number of input flips that changes the class.

    `time_limit` is in seconds for all examples together. With one worker the same seed gives the
    same result unless that limit is reached. Ctrl-C keeps what is done. Without ortools, some
    results may be bounds only.
    """
    watch = Watch(time_limit=time_limit)
    require_seed(seed)
    require_count("worker_count", worker_count)
    search = _FlipSearch(JointNetwork(members, reading), members[0].input_spins(inputs), watch)
    notice = ""
    try:
        search.find_witnesses()
        if exact:
            notice = search.prove(seed=seed, worker_count=worker_count)
    except KeyboardInterrupt:
        notice = "interrupted: what was known until then"
    return search.result(notice)


class _FlipSearch:
    """What is known so far about every example."""

    def __init__(self, joint: JointNetwork, input_spins: SpinMatrix, watch: Watch) -> None:
        self.joint, self.input_spins, self.watch = joint, input_spins, watch
        self.classes = joint.classes(input_spins)
        self.bounds = joint.lower_bounds(input_spins)
        self.lower = self.bounds.min(axis=1)
        self.bound = self.lower.copy()
        self.witnesses = input_spins.copy()
        self.flips = np.full(len(input_spins), joint.column_count + 1)

    def is_late(self) -> bool:
        """Whether the time is up."""
        return self.watch.seconds_left <= 0

    def find_witnesses(self) -> None:
        """Search greedily for near inputs of another class, wherever one may exist."""
        rows = np.flatnonzero(self.bound < self.flips)
        known = self.input_spins[rows], self.classes[rows], self.bounds[rows]
        found = find_witnesses(self.joint, *known, self.is_late)
        for row, witness in zip(rows.tolist(), found, strict=True):
            self._keep(row, witness)

    def prove(self, **options: Any) -> str:
        """Run CP-SAT on every example whose bounds differ; return a notice if some are left."""
        open_rows = np.flatnonzero(self.bound < self.flips)
        if not len(open_rows):
            return ""
        if not ortools.is_installed():
            notice = (
                f"ortools is not installed: {len(open_rows)} of {len(self.flips)} examples have "
                "bounds only; install it with  pip install 'qubonn[exact]'"
            )
            _log.warning("robustness: %s", notice)
            return notice
        model = FlipModel(self.joint)
        is_complete = model.complete(self.is_late)
        for done, row in enumerate(open_rows.tolist()):
            if self.is_late() or not is_complete:
                break
            self._improve(model, row, len(open_rows) - done, **options)
        left = int((self.bound < self.flips).sum())
        return f"the time was up before {left} examples were exact" if left else ""

    def result(self, notice: str) -> Robustness:
        """Return what is known; every witness is run through the network once more."""
        other_classes = self.joint.classes(self.witnesses)
        is_found = self.flips <= self.joint.column_count
        assert np.array_equal((other_classes != self.classes).any(axis=1), is_found)
        assert (self.lower <= self.bound).all()
        assert (self.bound <= self.flips).all()
        known = self.input_spins, self.classes, self.lower, self.bound, self.flips, self.witnesses
        reason = notice if (self.bound < self.flips).any() else ""
        reading, seconds = self.joint.reading, self.watch.seconds
        return Robustness(*known, other_classes, reading, seconds, reason)

    def _improve(self, model: FlipModel, row: int, waiting: int, **options: Any) -> None:
        known = self.input_spins[row], int(self.bound[row]), int(self.flips[row])
        seconds = self.watch.seconds_left / waiting
        witness, self.bound[row], is_interrupted = model.improve(*known, seconds=seconds, **options)
        if witness is not None:
            self._keep(row, witness)
        if is_interrupted:
            raise KeyboardInterrupt

    def _keep(self, row: int, witness: SpinVector) -> None:
        flips = int((witness != self.input_spins[row]).sum())
        if flips:
            self.witnesses[row], self.flips[row] = witness, flips
