"""Training from few examples as a study: each setting is a method on a split of MNIST or of digits.

Setting -> record.  First the straight-through networks are tuned: a grid for each number of images
a class, on draws of other seeds than those that are tested, scored on other training images; for
digits on a quarter of each split's training examples.  The best few are tried again with all
members, because small committees say little about large ones.  Single networks and committees each
get the settings that are best for them.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from fewshot import methods
from fewshot.data import Mnist, Split, digits_split, digits_tuning_split
from qubonn.experiments import Record, ResultTable, Row, Run, Setting, Study

if TYPE_CHECKING:
    from straight_through import Settings

IMAGES, DIGITS = PARTS = ("images", "digits")
METHODS = LOGISTIC, STRAIGHT, STRAIGHT_SHIFTED, OURS, GREY, OURS_IMAGES = (
    "logistic",
    "straight-through",
    "straight-through-shifted",
    "ours",
    "ours-grey",
    "ours-images",
)
SINGLE, COMMITTEE = KINDS = ("single", "committee")  # as records name them

LEARNING_RATES = (0.01, 0.03, 0.1)
BATCH_SIZES: Sequence[int | None] = (16, 64, 256, None)
MOST_STEPS = 25  # in an epoch, to bound the time
OUTPUT_SCALES = (0.3, 1.0, 2.0)
EPOCHS = 100
SHIFTED_BATCH_SIZES: Sequence[int | None] = (64, 256)  # where each image is there nine times
SHIFTED_MOST_STEPS, SHIFTED_EPOCHS = 60, 30
TUNING_SEEDS = (100, 101)  # of draws for tuning
TUNING_MEMBERS = 5  # networks a setting and draw, at first
FINALISTS = 2  # for single networks, and for committees


@dataclass(frozen=True)
class Case:
    """Examples that all methods are trained on."""

    part: str
    per_class: int  # images; 0 for digits
    seed: int
    is_tuning: bool = False

    @property
    def by_gradients(self) -> tuple[str, ...]:
        """The methods that train by gradients; small digits are not moved."""
        return (STRAIGHT, STRAIGHT_SHIFTED) if self.part == IMAGES else (STRAIGHT,)

    @property
    def tuning_cases(self) -> "list[Case]":
        """The examples on which settings for this case are chosen."""
        if self.part == DIGITS:
            return [Case(DIGITS, 0, self.seed, is_tuning=True)]
        return [Case(IMAGES, self.per_class, seed, is_tuning=True) for seed in TUNING_SEEDS]


@dataclass(frozen=True, kw_only=True)
class FewShot(Study):
    """Methods on splits. A setting holds all that decides its record, also code and examples."""

    name: str = "fewshot"
    settings: tuple[Setting, ...] = ()
    folder: Path | None = None  # of MNIST
    cases: tuple[Case, ...] = ()
    member_count: int = 25
    has_torch: bool = True
    watched = SINGLE

    def __post_init__(self) -> None:
        object.__setattr__(self, "settings", tuple(self.without_gradients()))
        super().__post_init__()

    @property
    def spec(self) -> dict[str, Any]:
        """Everything else is part of the settings: one store serves any choice of cases."""
        return {"name": self.name, "hidden": methods.HIDDEN}

    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        """Train one method; its seed is the one of its case, so `seed` is not used."""
        names = ("part", "per_class", "seed", "is_tuning")
        method, members = setting["method"], setting["members"]
        split = _shown(_split(self.folder, Case(*(setting[name] for name in names))), method)
        if method == LOGISTIC:
            return methods.train_logistic(split)
        if method in (STRAIGHT, STRAIGHT_SHIFTED):
            settings = settings_of(setting)
            return methods.train_straight_through(split, members, setting["seed"], settings)
        kind = {"is_grey": method == GREY, "is_image": method == OURS_IMAGES}
        return methods.train_ours(split, members, setting["seed"], **kind)

    def tables(self, rows: Sequence[Row]) -> list[ResultTable]:
        """Accuracies, seconds, targets, and how all was trained."""
        from fewshot.report import tables

        return tables(self, Results(rows))

    def without_gradients(self) -> Iterable[Setting]:
        """Settings of all methods that are not tuned."""
        for case in self.cases:
            yield self._setting(case, LOGISTIC, 1, {})
            threads, code = int(numba.config.NUMBA_NUM_THREADS), methods.code_of_ours()
            known = {"threads": threads, "code": code}
            for method in (OURS, GREY, OURS_IMAGES) if case.part == IMAGES else (OURS,):
                yield self._setting(case, method, self.member_count, known)

    def tuning(self) -> list[Setting]:
        """The grid on examples that are not tested, few members each."""
        cases = dict.fromkeys(other for case in self.cases for other in case.tuning_cases)
        return [
            self._straight(case, method, settings, self._few)
            for case in cases
            for method in self._by_gradients(case)
            for settings in self._grid(case, method)
        ]

    def finals(self, results: "Results") -> list[Setting]:
        """The best of the grid on the same examples, all members each."""
        return [
            self._straight(other, method, settings, self.member_count)
            for case in self.cases
            for method in self._by_gradients(case)
            for settings in self._finalists(case, method, results)
            for other in case.tuning_cases
        ]

    def chosen(self, case: Case, method: str, results: "Results") -> "tuple[Settings, Settings]":
        """Return the tuned settings for single networks, and for committees."""
        tried = self._finalists(case, method, results)
        return best(self._tuned(case, method, tried, self.member_count, results))

    def by_gradients(self, results: "Results") -> list[tuple[Case, str, Setting]]:
        """The straight-through networks that count: case, kind, setting."""
        return [
            (case, kind, self._straight(case, method, settings, self.member_count))
            for case in self.cases
            for method in self._by_gradients(case)
            for kind, settings in zip(KINDS, self.chosen(case, method, results), strict=True)
        ]

    @property
    def _few(self) -> int:
        return min(TUNING_MEMBERS, self.member_count)

    def _by_gradients(self, case: Case) -> tuple[str, ...]:
        return case.by_gradients if self.has_torch else ()

    def _finalists(self, case: Case, method: str, results: "Results") -> "list[Settings]":
        tried = self._grid(case.tuning_cases[0], method)
        return finalists(self._tuned(case, method, tried, self._few, results))

    def _tuned(
        self,
        case: Case,
        method: str,
        tried: "list[Settings]",
        member_count: int,
        results: "Results",
    ) -> "dict[Settings, list[Record]]":
        """Return the records of these settings on a case's tuning examples."""
        return {
            settings: [
                results[self._straight(other, method, settings, member_count)]
                for other in case.tuning_cases
            ]
            for settings in tried
        }

    def _grid(self, case: Case, method: str) -> "list[Settings]":
        split = _shown(_split(self.folder, case), method)
        return grid(len(split.train_classes), is_shifted=method == STRAIGHT_SHIFTED)

    def _straight(
        self, case: Case, method: str, settings: "Settings", member_count: int
    ) -> Setting:
        import torch

        threads, code = int(torch.get_num_threads()), methods.code_of_straight_through()
        known = asdict(settings) | {"threads": threads, "code": code}
        return self._setting(case, method, member_count, known)

    def _setting(
        self, case: Case, method: str, member_count: int, known: Mapping[str, Any]
    ) -> Setting:
        digest = _digest(self.folder, case, method)
        return {**asdict(case), "method": method, "members": member_count, **known, "data": digest}


class Results:
    """The newest record of each setting. A method that is trained again gets a new run number."""

    def __init__(self, rows: Sequence[Row], again: Sequence[str] = ()) -> None:
        self._records = {row.run.key: row.record for row in rows}
        numbers = {method: 0 for method in METHODS}
        for row in rows:
            method = row.run.setting["method"]
            numbers[method] = max(numbers[method], row.run.number)
        trained = {row.run.setting["method"] for row in rows}
        self._numbers = {m: n + (m in again and m in trained) for m, n in numbers.items()}

    def run(self, setting: Setting) -> Run:
        """The run of a setting that counts."""
        return Run(setting, self._numbers[setting["method"]])

    def get(self, setting: Setting) -> Record | None:
        """The record of a setting, if it is finished."""
        return self._records.get(self.run(setting).key)

    def __getitem__(self, setting: Setting) -> Record:
        return self._records[self.run(setting).key]


def cases_of(parts: Sequence[str], counts: Sequence[int], seeds: Sequence[int]) -> tuple[Case, ...]:
    """Return the cases in order."""
    images = [Case(IMAGES, count, seed) for count in counts for seed in seeds]
    digits = [Case(DIGITS, 0, seed) for seed in seeds]
    return (*(images if IMAGES in parts else ()), *(digits if DIGITS in parts else ()))


def grid(example_count: int, *, is_shifted: bool = False) -> "list[Settings]":
    """Return the settings to try."""
    from straight_through import Settings

    sizes, most_steps, epochs = BATCH_SIZES, MOST_STEPS, EPOCHS
    if is_shifted:
        sizes, most_steps, epochs = SHIFTED_BATCH_SIZES, SHIFTED_MOST_STEPS, SHIFTED_EPOCHS
    sensible = [size for size in sizes if size is None or size < example_count <= most_steps * size]
    return [
        Settings(learning_rate=rate, batch_size=size, epoch_count=epochs, output_scale=scale)
        for rate, size, scale in product(LEARNING_RATES, sensible or [None], OUTPUT_SCALES)
    ]


def finalists(results: "Mapping[Settings, Sequence[Record]]") -> "list[Settings]":
    """Return the settings to try again: the best few of both kinds."""
    return list(dict.fromkeys(one for kind in KINDS for one in _ranked(results, kind)[:FINALISTS]))


def best(results: "Mapping[Settings, Sequence[Record]]") -> "tuple[Settings, Settings]":
    """Return the best settings for single networks, and for committees; of equals the first."""
    return _ranked(results, SINGLE)[0], _ranked(results, COMMITTEE)[0]


def settings_of(setting: Setting) -> "Settings":
    """Return the part of a setting that says how to train by gradients."""
    from straight_through import Settings

    names = ("learning_rate", "batch_size", "epoch_count", "last_rate", "output_scale")
    return Settings(**{name: setting[name] for name in names})


def _ranked(results: "Mapping[Settings, Sequence[Record]]", kind: str) -> "list[Settings]":
    def mean(settings: "Settings") -> float:
        return float(np.mean([record[kind] for record in results[settings]]))

    return sorted(results, key=mean, reverse=True)


@cache
def _mnist(folder: Path) -> Mnist:
    return Mnist.read(folder)


@lru_cache(maxsize=1)  # one case after the other
def _split(folder: Path | None, case: Case) -> Split:
    if case.part == DIGITS:
        return digits_tuning_split(case.seed) if case.is_tuning else digits_split(case.seed)
    assert folder is not None, "the part images needs a folder"
    mnist = _mnist(folder)
    split = mnist.tuning_split if case.is_tuning else mnist.split
    return split(case.per_class, case.seed)


@cache
def _digest(folder: Path | None, case: Case, method: str) -> str:
    return _shown(_split(folder, case), method).digest


def _shown(split: Split, method: str) -> Split:
    """Return the examples that a method sees."""
    return split.shifted() if method == STRAIGHT_SHIFTED else split
