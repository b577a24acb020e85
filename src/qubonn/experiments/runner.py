"""Do the runs of a study that are not done yet, with any workers, and commit each as it ends.

Store, workers -> a full store.  Several processes may work on one store.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from itertools import chain
from typing import Any

from qubonn.checks import require_count
from qubonn.errors import QubonnError, RangeError
from qubonn.experiments.outcome import Outcome, Temperatures
from qubonn.experiments.performing import Tuned, perform
from qubonn.experiments.spec import TUNING, Run, Study
from qubonn.experiments.store import Store
from qubonn.experiments.versions import versions
from qubonn.experiments.workers import Workers, WorkersLost

LOOK_SECONDS = 2.0  # between two signs of life
WAIT_SECONDS = 0.3  # for runs that another process does
TELL_SECONDS = 0.2  # between two reports of progress
MOST_LOSSES = 5  # of workers, with no run finished in between


@dataclass(frozen=True)
class Status:
    """How far a study is: runs done and wanted, test accuracy so far, settings still to tune."""

    study: Study
    done: int
    total: int
    best: float | None
    mean: float | None
    untuned: int = 0


def complete(
    store: Store,
    run_count: int,
    workers: Workers,
    *,
    settings: Sequence[int] | None = None,
    report: Callable[[Status], None] = lambda status: None,
) -> int:
    """Do what is missing of the first `run_count` runs of each setting; return how many it did.

    `settings` are places in the study; all by default. Whatever ends this early, rows that are
    committed stay, and the next call goes on from there.
    """
    work = _Work(store, require_count("runs", run_count), workers, settings, report)
    try:
        work.go()
    finally:
        store.release(work.flying.values())
    return work.finished


def runs_of(settings: Sequence[int], run_count: int) -> list[Run]:
    """Runs in the order in which they start: all settings advance together.

    An early look at a store then shows all of them.
    """
    return [Run(place, number) for number in range(run_count) for place in settings]


class _Work:
    """The runs of one call: what is wanted, what is flying, what is finished."""

    def __init__(
        self,
        store: Store,
        run_count: int,
        workers: Workers,
        settings: Sequence[int] | None,
        report: Callable[[Status], None],
    ) -> None:
        self.store, self.workers, self.report = store, workers, report
        places = _checked(store.study, settings)
        self.wanted = runs_of(places, run_count)
        self.tunings = [
            Run(place, TUNING) for place in places if store.study.needs_tuning(Run(place, 0))
        ]
        self.pending = dict.fromkeys(self.wanted)  # not known to be finished, in order
        self.temperatures: dict[int, Temperatures] = {}
        self.flying: dict[Future[Any], Run] = {}
        self.finished = self.losses = 0
        self.told = -TELL_SECONDS  # when progress was last told
        self.accuracies = {
            (row.run.setting, row.run.number): row.outcome.test_accuracy
            for row in store.rows()
            if row.run.setting in places
        }

    def go(self) -> None:
        """Claim, submit, commit, until everything wanted is in the store."""
        self._tell()
        while True:
            self._start_more()
            if self.flying:
                self._commit_what_ended()
            elif not self._look():
                break
            else:
                time.sleep(WAIT_SECONDS)  # the rest is another process's
            self._tell()
        self.told = -TELL_SECONDS
        self._tell()

    def _start_more(self) -> None:
        room = self.workers.capacity() - len(self.flying)
        if room <= 0:
            return
        claimed = self.store.claim(self._ready(), room)
        for number, run in enumerate(claimed):
            known = self.temperatures.get(run.setting)
            try:
                future = self.workers.submit(task, self.store.study, run, known)
            except BaseException as error:
                self.store.release(claimed[number:])
                if not isinstance(error, WorkersLost):
                    raise
                self._lost(error)
                return
            self.flying[future] = run

    def _look(self) -> int:
        """Leave out what is finished by now, by whomever; return how many runs are left."""
        for run in self.store.done():
            self.pending.pop(run, None)
        return len(self.pending)

    def _ready(self) -> Iterable[Run]:
        """Runs that may start: tunings first, and runs whose temperatures are known."""
        if not self.tunings:
            return self.pending
        for run in self.tunings:
            if run.setting not in self.temperatures:
                known = self.store.temperatures(run.setting)
                if known is not None:
                    self.temperatures[run.setting] = known
        untuned = (run for run in self.tunings if run.setting not in self.temperatures)
        return chain(untuned, (run for run in self.pending if run.setting in self.temperatures))

    def _commit_what_ended(self) -> None:
        ended, _ = wait(self.flying, timeout=LOOK_SECONDS, return_when=FIRST_COMPLETED)
        if not ended:
            self.store.sign_of_life()
        lost: WorkersLost | None = None
        for future in ended:
            try:
                result, made_with = future.result()
            except WorkersLost as error:
                lost = error
                continue
            self._commit(self.flying[future], result, made_with)
            del self.flying[future]
        if lost is not None:
            self._lost(lost)

    def _commit(self, run: Run, result: Outcome | Tuned, made_with: str) -> None:
        self.store.commit(run, result, made_with)
        self.losses = 0
        if isinstance(result, Outcome):
            self.finished += 1
            self.accuracies[run.setting, run.number] = result.test_accuracy

    def _lost(self, error: WorkersLost) -> None:
        """Give everything in flight back and start new workers."""
        self.store.release(self.flying.values())
        self.flying = {}
        self.losses += 1
        if self.losses > MOST_LOSSES:
            raise QubonnError(
                f"workers died {self.losses} times in a row ({error}); is there too little memory? "
                "What is finished is kept: the same command goes on from there"
            ) from error
        self.workers.restart()

    def _tell(self) -> None:
        if time.monotonic() - self.told < TELL_SECONDS:
            return
        self.told = time.monotonic()
        found = self.accuracies.values()
        self.report(
            Status(
                self.store.study,
                len(self.wanted) - self._look(),
                len(self.wanted),
                max(found, default=None),
                sum(found) / len(found) if found else None,
                sum(run.setting not in self.temperatures for run in self.tunings),
            )
        )


def task(study: Study, run: Run, temperatures: Temperatures | None) -> tuple[Any, str]:
    """What a worker does."""
    return perform(study, run, temperatures), versions()


def _checked(study: Study, settings: Sequence[int] | None) -> list[int]:
    places = list(range(len(study.settings)) if settings is None else settings)
    if not places or not set(places) <= set(range(len(study.settings))):
        raise RangeError(
            f"settings must be places 0 to {len(study.settings) - 1} of the study; got {settings}"
        )
    return places
