"""Results -> tables: mean ± standard deviation over seeds, targets, and how all was trained.

Targets are fixed numbers, or the straight-through networks of the same run.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import qubonn as qn
from fewshot import methods
from fewshot.data import DIGITS_LEVEL, MNIST_LEVEL
from fewshot.study import (
    COMMITTEE,
    DIGITS,
    GREY,
    IMAGES,
    KINDS,
    LOGISTIC,
    OURS,
    OURS_IMAGES,
    SINGLE,
    STRAIGHT,
    STRAIGHT_SHIFTED,
    FewShot,
    Results,
)
from qubonn.experiments import ResultTable
from qubonn.experiments.tables import mean_and_spread

# Bernardelli, Gualandi, Milanesi, Lau, Yorke-Smith: Multiobjective Linear Ensembles for Robust and
# Sparse Training of Few-Bit Neural Networks. INFORMS Journal on Computing 37 (2025), 623-643
BEMI = {2: 49.5, 6: 63.7, 10: 68.4, 20: 75.7, 30: 81.0, 40: 81.8}  # per cent

NAMES = {
    (LOGISTIC, SINGLE): "logistic regression, float32",
    (STRAIGHT, SINGLE): "straight-through, single",
    (STRAIGHT, COMMITTEE): "straight-through, committee of {}",
    (OURS, SINGLE): "qubonn, single",
    (OURS, COMMITTEE): "qubonn, committee of {}",
    (GREY, SINGLE): "qubonn on grey pixels, single",
    (GREY, COMMITTEE): "qubonn on grey pixels, committee of {}",
    (STRAIGHT_SHIFTED, SINGLE): "straight-through on shifted images, single",
    (STRAIGHT_SHIFTED, COMMITTEE): "straight-through on shifted images, committee of {}",
    (OURS_IMAGES, SINGLE): "qubonn on images, single",
    (OURS_IMAGES, COMMITTEE): "qubonn on images, committee of {}",
}
TOGETHER = {2: 56, 6: 72, 10: 78.5, 20: 83, 40: 86.5}  # per cent, 25 networks
ON_DIGITS = {SINGLE: 91.7, COMMITTEE: 94.5}
TIMED_COUNTS = (10, 40)
PAIRS = {  # both with the same knowledge: pixels only, or which of them are neighbours
    (OURS, STRAIGHT): "",
    (OURS_IMAGES, STRAIGHT_SHIFTED): ", images",
}


@dataclass(frozen=True)
class Score:
    """A record, as the tables need it."""

    part: str
    per_class: int
    method: str
    kind: str
    share: float
    seconds: float
    byte_count: int


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
    def cells(self) -> tuple[str, ...]:
        """A row of a table."""
        found, wanted = f"{self.found:.2f} {self.unit}", f"{self.wanted:.2f} {self.unit}"
        sign = "at most" if self.is_limit else "at least"
        return self.what, found, f"{sign} {wanted}", "yes" if self.is_met else "NO"


def tables(study: FewShot, results: Results) -> list[ResultTable]:
    """Return all tables for which there are results."""
    scores = list(_scores(study, results))
    found = []
    if any(score.part == IMAGES for score in scores):
        found += [_accuracies(scores, study.member_count), _seconds(scores, study.member_count)]
    if any(score.part == DIGITS for score in scores):
        found.append(_digits(scores, study.member_count))
    heads = ("what", "found", "wanted", "met")
    rows = [target.cells for target in targets(scores)]
    return [*found, _table("Targets, by means over seeds", heads, rows), _how(study, results)]


def targets(scores: Sequence[Score]) -> list[Target]:
    """Return all targets for which there are scores."""
    found = [target for count in _counts(scores) for target in _of_images(scores, count)]
    for kind, wanted in ON_DIGITS.items():
        share = _percent(scores, DIGITS, 0, OURS, kind)
        if share is not None:
            found.append(Target(f"digits, {kind}", share, wanted, "%"))
    return [*found, *_against_gradients(scores, DIGITS, 0, "digits", (OURS, STRAIGHT))]


def _scores(study: FewShot, results: Results) -> Iterator[Score]:
    both = [(setting, kind) for setting in study.settings for kind in KINDS]
    both += [(setting, kind) for _, kind, setting in study.by_gradients(results)]
    for setting, kind in both:
        record = results.get(setting)
        if record is not None and record[kind] is not None:
            size = record["byte_count" if kind == SINGLE else "all_byte_count"]
            where = setting["part"], setting["per_class"], setting["method"]
            yield Score(*where, kind, record[kind], record["training_seconds"], size)


def _accuracies(scores: Sequence[Score], member_count: int) -> ResultTable:
    counts = _counts(scores)
    rows = []
    for (method, kind), name in _lines(scores, IMAGES):
        cells = [_chosen(scores, IMAGES, count, method, kind) for count in counts]
        percents = [mean_and_spread([100 * one.share for one in cell], 1) for cell in cells]
        rows.append((name.format(member_count), _bytes(cells), *percents))
    published = [str(BEMI.get(count, "")) for count in counts]
    rows.append(("BeMi, 45 networks (Gurobi), published", "", *published))
    title = "MNIST: per cent of the test images, mean ± standard deviation of seeds"
    return _table(title, ("images per class", "bytes", *map(str, counts)), rows)


def _seconds(scores: Sequence[Score], member_count: int) -> ResultTable:
    counts = _counts(scores)
    rows = []
    for (method, kind), name in _lines(scores, IMAGES):
        if kind == SINGLE:
            cells = [_chosen(scores, IMAGES, count, method, kind) for count in counts]
            each = [mean_and_spread([one.seconds for one in cell], 2) for cell in cells]
            rows.append((name.format(member_count), *each))
    line = "logistic regression: with the search for C; the others: one network of many"
    return _table("MNIST: seconds to train", ("images per class", *map(str, counts)), rows, line)


def _digits(scores: Sequence[Score], member_count: int) -> ResultTable:
    rows = []
    for (method, kind), name in _lines(scores, DIGITS):
        cell = _chosen(scores, DIGITS, 0, method, kind)
        percent = mean_and_spread([100 * one.share for one in cell], 1)
        seconds = mean_and_spread([one.seconds for one in cell], 2)
        rows.append((name.format(member_count), _bytes([cell]), percent, seconds))
    heads = ("classifier", "bytes", "per cent", "seconds to train one")
    return _table("Digits: per cent of the test examples, mean ± standard deviation", heads, rows)


def _how(study: FewShot, results: Results) -> ResultTable:
    """The settings of the straight-through networks, and what holds for all."""
    found: dict[str, tuple[str, ...]] = {}
    for case in study.cases if study.has_torch else ():
        for method in case.by_gradients:
            moved = ", shifted" if method == STRAIGHT_SHIFTED else ""
            digits = f"digits, seed {case.seed}"
            title = digits if case.part == DIGITS else f"{case.per_class} per class{moved}"
            chosen = study.chosen(case, method, results)
            found[title] = tuple(
                f"rate {one.learning_rate}, batches of {one.batch_size or 'all'}, "
                f"scale {one.output_scale}"
                for one in chosen
            )
    seeds = sorted({case.seed for case in study.cases})
    lines = (
        f"{study.member_count} members, seeds {', '.join(map(str, seeds))}",
        f"+1 is a pixel above {MNIST_LEVEL} of 255 in MNIST, above {DIGITS_LEVEL} of 16 in digits",
        f"one process; threads: {study.settings[-1]['threads']} for qubonn",
        f"qubonn {qn.__version__}, defaults as of {methods.code_of_ours()}",
    )
    rows = [(title, *both) for title, both in found.items()]
    return _table("How", ("straight-through", *KINDS), rows, "; ".join(lines))


def _of_images(scores: Sequence[Score], count: int) -> Iterator[Target]:
    where = f"MNIST, {count} per class"
    share = _percent(scores, IMAGES, count, OURS, COMMITTEE)
    if share is not None and count in TOGETHER:
        yield Target(f"{where}, committee", share, TOGETHER[count], "%")
    for both, what in PAIRS.items():
        yield from _against_gradients(scores, IMAGES, count, f"{where}{what}", both)
        ours, theirs = (
            [score.seconds for score in _chosen(scores, IMAGES, count, method, SINGLE)]
            for method in both
        )
        if count in TIMED_COUNTS and ours and theirs:
            name = f"{where}{what}, one network, against straight-through"
            yield Target(name, float(np.mean(ours)), float(np.mean(theirs)), "s", is_limit=True)


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
    cell = _chosen(scores, part, count, method, kind)
    return 100 * float(np.mean([score.share for score in cell])) if cell else None


def _chosen(
    scores: Sequence[Score], part: str, per_class: int, method: str, kind: str
) -> list[Score]:
    """Return the scores of one cell, one a seed."""
    wanted = (part, per_class, method, kind)
    return [one for one in scores if (one.part, one.per_class, one.method, one.kind) == wanted]


def _lines(scores: Sequence[Score], part: str) -> list[tuple[tuple[str, str], str]]:
    present = {(score.method, score.kind) for score in scores if score.part == part}
    return [(both, name) for both, name in NAMES.items() if both in present]


def _counts(scores: Sequence[Score]) -> list[int]:
    return sorted({score.per_class for score in scores if score.part == IMAGES})


def _bytes(cells: Sequence[Sequence[Score]]) -> str:
    sizes = {score.byte_count for cell in cells for score in cell}
    return " to ".join(f"{size:,}" for size in sorted({min(sizes), max(sizes)})) if sizes else ""


def _table(
    title: str, heads: tuple[str, ...], rows: Sequence[Sequence[str]], caption: str = ""
) -> ResultTable:
    return ResultTable(title, title, heads, rows, caption)
