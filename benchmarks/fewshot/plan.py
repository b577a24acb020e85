"""Which trainings there are: what was asked for -> Jobs, and from the store their Scores.

First those that tune the straight-through networks, then those that count.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING

import numba

from fewshot import methods, tuning
from fewshot.data import Mnist, Split, digits_split, digits_tuning_split
from fewshot.store import Key, Result, Setting, Store

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
SINGLE, COMMITTEE = KINDS = ("single", "committee")


@dataclass(frozen=True)
class Case:
    """Examples that all methods are trained on."""

    part: str
    per_class: int  # images; 0 for digits
    seed: int
    is_tuning: bool = False


@dataclass(frozen=True)
class Job:
    """A training, and where its result belongs."""

    key: Key
    title: str
    work: Callable[[], Result]


@dataclass(frozen=True)
class Score:
    """A result, as the tables need it."""

    case: Case
    method: str
    kind: str
    share: float
    seconds: float
    byte_count: int


class Plan:
    """All trainings of some cases."""

    def __init__(
        self, cases: list[Case], member_count: int, mnist: Mnist | None, *, has_torch: bool
    ) -> None:
        self.cases, self.member_count, self.has_torch = cases, member_count, has_torch
        self._split = lru_cache(maxsize=1)(partial(_split, mnist))  # one case after the other
        self._digest = lru_cache(maxsize=None)(
            lambda case, method: _shown(self._split(case), method).digest
        )
        self._grid = lru_cache(maxsize=None)(self._new_grid)

    def tuning_jobs(self) -> list[Job]:
        """The grid on examples that are not tested, few members each; none without torch."""
        cases = dict.fromkeys(other for case in self.cases for other in _tuning_cases(case))
        if not self.has_torch:
            return []
        count = min(tuning.MEMBERS, self.member_count)
        return [
            self._straight_job(case, method, settings, count)
            for case in cases
            for method in by_gradients(case)
            for settings in self._grid(case, method)
        ]

    def final_tuning_jobs(self, store: Store) -> list[Job]:
        """The best of the grid on the same examples, all members each."""
        if not self.has_torch:
            return []
        wanted = dict.fromkeys(
            (other, method, settings)
            for case in self.cases
            for method in by_gradients(case)
            for settings in self._finalists(case, method, store)
            for other in _tuning_cases(case)
        )
        return [self._straight_job(*one, self.member_count) for one in wanted]

    def jobs(self, store: Store) -> list[Job]:
        """All others, with settings that the store knows to be best."""
        return [job for case in self.cases for job in self._jobs_of(case, store)]

    def chosen(self, case: Case, method: str, store: Store) -> "tuple[Settings, Settings]":
        """Return the tuned settings for single networks, and for committees."""
        last = self._finalists(case, method, store)
        return tuning.best(self._tuned(case, method, last, self.member_count, store))

    def scores(self, store: Store) -> Iterator[Score]:
        """Yield all scores that are in the store."""
        for case in self.cases:
            by_kind = {kind: self._jobs_without_straight(case) for kind in KINDS}
            for method in by_gradients(case) if self.has_torch else ():
                for kind, settings in zip(KINDS, self.chosen(case, method, store), strict=True):
                    job = self._straight_job(case, method, settings, self.member_count)
                    by_kind[kind].append(job)
            for kind, jobs in by_kind.items():
                for job in jobs:
                    yield from _scores(case, job.key, kind, store)

    def thread_counts(self) -> str:
        """Say how many threads there may be."""
        ours = f"{_numba_threads()} for qubonn"
        return f"{ours}, {_torch_threads()} for straight-through" if self.has_torch else ours

    def _jobs_of(self, case: Case, store: Store) -> list[Job]:
        jobs = self._jobs_without_straight(case)
        for method in by_gradients(case) if self.has_torch else ():
            wanted = dict.fromkeys(self.chosen(case, method, store))  # often one for both
            jobs += [self._straight_job(case, method, one, self.member_count) for one in wanted]
        return jobs

    def _new_grid(self, case: Case, method: str) -> "list[Settings]":
        split = _shown(self._split(case), method)
        return tuning.grid(len(split.train_classes), is_shifted=method == STRAIGHT_SHIFTED)

    def _finalists(self, case: Case, method: str, store: Store) -> "list[Settings]":
        count = min(tuning.MEMBERS, self.member_count)
        everyone = self._grid(_tuning_cases(case)[0], method)
        return tuning.finalists(self._tuned(case, method, everyone, count, store))

    def _tuned(
        self, case: Case, method: str, tried: "list[Settings]", member_count: int, store: Store
    ) -> "dict[Settings, list[Result]]":
        """Return what the store knows of these settings on a case's tuning examples."""
        results: dict[Settings, list[Result]] = {settings: [] for settings in tried}
        for other in _tuning_cases(case):
            for settings in tried:
                found = store.get(self._straight_job(other, method, settings, member_count).key)
                assert found is not None, "tuning comes first"
                results[settings].append(found)
        return results

    def _jobs_without_straight(self, case: Case) -> list[Job]:
        jobs = [self._job(case, LOGISTIC, {}, methods.train_logistic)]
        settings: dict[str, Setting] = {
            "members": self.member_count,
            "threads": _numba_threads(),
            "code": methods.code_of_ours(),
        }
        for method in (OURS, GREY, OURS_IMAGES) if case.part == IMAGES else (OURS,):
            train = partial(
                methods.train_ours,
                member_count=self.member_count,
                seed=case.seed,
                is_grey=method == GREY,
                is_image=method == OURS_IMAGES,
            )
            jobs.append(self._job(case, method, settings, train))
        return jobs

    def _straight_job(
        self, case: Case, method: str, settings: "Settings", member_count: int
    ) -> Job:
        named = asdict(settings) | {
            "members": member_count,
            "threads": _torch_threads(),
            "code": methods.code_of_straight_through(),
        }

        def train(split: Split) -> Result:
            shown = _shown(split, method)
            return methods.train_straight_through(shown, member_count, case.seed, settings)

        return self._job(case, method, named, train, tuning.worded(settings))

    def _job(
        self,
        case: Case,
        method: str,
        settings: dict[str, Setting],
        train: Callable[[Split], Result],
        details: str = "",
    ) -> Job:
        part = f"{case.part} tuning" if case.is_tuning else case.part
        size = f"{case.per_class} a class, " if case.per_class else ""
        title = f"{part}, {size}seed {case.seed}, {method}{details and f' ({details})'}"
        settings = settings | {"data": self._digest(case, method), "hidden": methods.HIDDEN}
        key = Key.of(part, case.per_class, case.seed, method, settings)
        return Job(key, title, lambda: train(self._split(case)))


def cases_of(parts: list[str], counts: list[int], seeds: list[int]) -> list[Case]:
    """Return what is asked for, in order."""
    images = [Case(IMAGES, count, seed) for count in counts for seed in seeds]
    digits = [Case(DIGITS, 0, seed) for seed in seeds]
    return (images if IMAGES in parts else []) + (digits if DIGITS in parts else [])


def by_gradients(case: Case) -> tuple[str, ...]:
    """Return the methods that train by gradients; small digits are not moved."""
    return (STRAIGHT, STRAIGHT_SHIFTED) if case.part == IMAGES else (STRAIGHT,)


def _shown(split: Split, method: str) -> Split:
    """Return the examples that a method sees."""
    return split.shifted() if method == STRAIGHT_SHIFTED else split


def _tuning_cases(case: Case) -> list[Case]:
    if case.part == DIGITS:
        return [Case(DIGITS, 0, case.seed, is_tuning=True)]
    return [Case(IMAGES, case.per_class, seed, is_tuning=True) for seed in tuning.SEEDS]


def _split(mnist: Mnist | None, case: Case) -> Split:
    if case.part == DIGITS:
        return digits_tuning_split(case.seed) if case.is_tuning else digits_split(case.seed)
    assert mnist is not None, "images are asked for with a folder"
    if case.is_tuning:
        return mnist.tuning_split(case.per_class, case.seed)
    return mnist.split(case.per_class, case.seed)


def _numba_threads() -> int:
    return int(numba.config.NUMBA_NUM_THREADS)


def _torch_threads() -> int:
    import torch

    return int(torch.get_num_threads())


def _scores(case: Case, key: Key, kind: str, store: Store) -> Iterator[Score]:
    found = store.get(key)
    if found is None:
        return
    if kind == SINGLE:
        yield Score(case, key.method, kind, found.single, found.seconds, found.byte_count)
    elif found.committee is not None:
        yield Score(case, key.method, kind, found.committee, found.seconds, found.all_byte_count)
