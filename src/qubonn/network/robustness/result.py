"""Robustness: for each example, how many input flips change its class, with a witness."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinMatrix
from qubonn.encoding import Reading


@dataclass(frozen=True, eq=False, repr=False)
class Robustness:
    """What is known of each example; all arrays are read-only and have one row per example.

    ``lower_bound <= bound <= (the smallest number of flips) <= flips``. ``lower_bound`` is the
    cheap one, from margins; ``bound`` is the best that was proved. ``flips`` is the distance of
    ``adversarial_inputs``, the witness; where none is known it is one more than there are inputs,
    and the row is the input itself. If then ``bound`` says the same, no input has another class.
    """

    input_spins: SpinMatrix
    classes: SpinMatrix  # what is decided for the inputs, as output spins
    lower_bound: IntVector
    bound: IntVector
    flips: IntVector
    adversarial_inputs: SpinMatrix
    adversarial_classes: SpinMatrix  # what is decided for those, from a forward pass
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
        return f"Robustness({_some(len(self), 'example')}: {self._findings()})"

    def __str__(self) -> str:
        values, counts = np.unique(self.flips, return_counts=True)
        never = self.input_spins.shape[1] + 1
        rows = [("flips", "examples")]
        rows += [
            ("none" if value == never else str(value), str(count))
            for value, count in zip(values.tolist(), counts.tolist(), strict=True)
        ]
        table = [f"{left:>5}  {right:>8}" for left, right in rows]
        return "\n".join([*table, self._findings(), *filter(None, [self.notice])])

    def _findings(self) -> str:
        exact, least, most = int(self.is_exact.sum()), self.flips.min(), self.flips.max()
        span = f"{least}" if least == most else f"{least} to {most}"
        mean = f"{self.bound.mean():.2f}"
        if exact < len(self):
            mean = f"between {mean} and {self.mean_flips:.2f}"
        return f"flips {span}, mean {mean}; {exact} of {len(self)} exact, {self.seconds:.2g} s"


def _some(count: Any, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
