"""What qubonn should reach, and whether it does: scores -> Targets.

Against fixed numbers, and against straight-through networks of the same run: means over seeds.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fewshot.plan import (
    COMMITTEE,
    DIGITS,
    IMAGES,
    KINDS,
    OURS,
    OURS_IMAGES,
    SINGLE,
    STRAIGHT,
    STRAIGHT_SHIFTED,
    Score,
)
from fewshot.report import chosen

TOGETHER = {2: 56, 6: 72, 10: 78.5, 20: 83, 40: 86.5}  # per cent, 25 networks
ON_DIGITS = {SINGLE: 91.7, COMMITTEE: 94.5}
TIMED_COUNTS = (10, 40)
PAIRS = {  # both with the same knowledge: pixels only, or which of them are neighbours
    (OURS, STRAIGHT): "",
    (OURS_IMAGES, STRAIGHT_SHIFTED): ", images",
}


@dataclass(frozen=True)
class Target:
    """A number that should be reached, or not passed where less is better."""

    what: str
    found: float
    wanted: float
    unit: str
    is_limit: bool = False

    @property
    def is_met(self) -> bool:
        """Whether it is reached, or not passed."""
        return self.found <= self.wanted if self.is_limit else self.found >= self.wanted

    @property
    def row(self) -> list[str]:
        """Cells of a table."""
        numbers = (f"{self.found:.2f} {self.unit}", f"{self.wanted:.2f} {self.unit}")
        sign = "at most" if self.is_limit else "at least"
        return [self.what, numbers[0], f"{sign} {numbers[1]}", "yes" if self.is_met else "NO"]


def targets(scores: Sequence[Score]) -> list[Target]:
    """Return all targets for which there are scores."""
    counts = sorted({score.case.per_class for score in scores if score.case.part == IMAGES})
    found = [target for count in counts for target in _of_images(scores, count)]
    if any(score.case.part == DIGITS for score in scores):
        found += _of_digits(scores)
    return found


def _of_images(scores: Sequence[Score], count: int) -> Iterator[Target]:
    where = f"MNIST, {count} a class"
    share = _percent(scores, IMAGES, count, OURS, COMMITTEE)
    if share is not None and count in TOGETHER:
        yield Target(f"{where}, committee", share, TOGETHER[count], "%")
    for both, what in PAIRS.items():
        yield from _against_gradients(scores, IMAGES, count, f"{where}{what}", both)
        ours, theirs = (
            [score.seconds for score in chosen(scores, IMAGES, count, method, SINGLE)]
            for method in both
        )
        if count in TIMED_COUNTS and ours and theirs:
            name = f"{where}{what}, one network, against straight-through"
            yield Target(name, float(np.mean(ours)), float(np.mean(theirs)), "s", is_limit=True)


def _of_digits(scores: Sequence[Score]) -> Iterator[Target]:
    for kind, wanted in ON_DIGITS.items():
        share = _percent(scores, DIGITS, 0, OURS, kind)
        if share is not None:
            yield Target(f"digits, {kind}", share, wanted, "%")
    yield from _against_gradients(scores, DIGITS, 0, "digits", (OURS, STRAIGHT))


def _against_gradients(
    scores: Sequence[Score], part: str, count: int, where: str, both: tuple[str, str]
) -> Iterator[Target]:
    for kind in KINDS:
        ours, theirs = (_percent(scores, part, count, method, kind) for method in both)
        if ours is not None and theirs is not None:
            yield Target(f"{where}, {kind}, against straight-through", ours, theirs, "%")


def _percent(
    scores: Sequence[Score], part: str, count: int, method: str, kind: str
) -> float | None:
    cell = chosen(scores, part, count, method, kind)
    return 100 * float(np.mean([score.share for score in cell])) if cell else None
