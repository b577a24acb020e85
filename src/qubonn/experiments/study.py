"""Study: what is run, in one class.

A subclass of `Study` names its settings (the rows of its table) and performs one run of a setting:
setting, seed -> record.  `runner.complete` does the runs, `store.Store` keeps them, and
`Study.tables` summarises them.  The number of runs and where they run are not part of a study.
"""

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from qubonn.checks import require_count
from qubonn.errors import RangeError

if TYPE_CHECKING:
    from qubonn.experiments.store import Row
    from qubonn.experiments.tables import ResultTable

Setting = Mapping[str, Any]  # flat: names -> numbers, texts, None
Record = dict[str, Any]  # flat too
PREPARATION = -1  # the number of the run that prepares a setting


@dataclass(frozen=True)
class Run:
    """One run: a setting and a number, from 0."""

    setting: Setting
    number: int

    @property
    def key(self) -> tuple[str, int]:
        """The same for equal runs, and hashable."""
        return canonical(self.setting), self.number


@dataclass(frozen=True, kw_only=True)
class Study(ABC):
    """Settings that are each run many times.

    The fields of a subclass belong to its `spec`: a store of other values is another study.

    >>> class Dice(Study):
    ...     def perform(self, setting, seed, prepared):
    ...         eyes = np.random.default_rng(seed).integers(1, setting["faces"] + 1)
    ...         return {"eyes": int(eyes)}
    >>> study = Dice(name="dice", settings=({"faces": 6}, {"faces": 20}))
    >>> study.perform({"faces": 6}, study.seed_of(Run({"faces": 6}, 0)), {})
    {'eyes': 4}
    """

    name: str
    settings: tuple[Setting, ...]
    seed: int = 0

    watched: ClassVar[str] = ""  # the value of a record that progress reports show

    def __post_init__(self) -> None:
        require_count("seed", self.seed, least=0)
        texts = [canonical(setting) for setting in self.settings]
        if not texts or len(set(texts)) != len(texts):
            raise RangeError(f"a study needs settings, each of them once; got {texts!s:.200}")

    @abstractmethod
    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        """Do one run, on one thread; return what was measured, as plain values by name.

        `prepared` is the record of `prepare` for this setting, or empty. The seed decides every
        value. An interrupted run raises KeyboardInterrupt: partial results are not stored.
        """

    @property
    def needs_preparation(self) -> bool:
        """Whether `prepare` is to be called, once for each setting."""
        return False

    def prepare(self, setting: Setting, seed: int) -> Record:
        """Do once what all runs of a setting need, such as tuning; return it as a record."""
        raise NotImplementedError

    def tables(self, rows: "Sequence[Row]") -> "list[ResultTable]":
        """Summarise the finished runs; by default the mean of each number, a row a setting."""
        from qubonn.experiments.tables import means_table

        return [means_table(self.label, self.name, rows)]

    @property
    def label(self) -> str:
        """A short name for files and progress, different for each study of a folder."""
        return self.name

    @property
    def spec(self) -> dict[str, Any]:
        """The fields by name: with setting and run number they determine a record."""
        return {name: value for name, value in asdict(self).items() if name != "settings"}

    @property
    def digest(self) -> str:
        """A hash of the study with its settings."""
        whole = self.spec | {"settings": [dict(setting) for setting in self.settings]}
        return hashlib.sha256(canonical(whole).encode()).hexdigest()

    def seed_of(self, run: Run) -> int:
        """The seed of a run; it does not depend on where, when or with which others it runs."""
        text = f"{self.name}\n{canonical(run.setting)}"
        key = np.frombuffer(hashlib.sha256(text.encode()).digest()[:16], dtype="<u4").tolist()
        stream = np.random.SeedSequence(self.seed, spawn_key=(*key, run.number + 1))
        return int(stream.generate_state(1, np.uint64)[0] >> np.uint64(1))  # signed in SQLite


def canonical(record: Mapping[str, Any]) -> str:
    """Return a record as one line of JSON, the same for equal records."""
    return json.dumps(dict(record), sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def runs_of(settings: Sequence[Setting], run_count: int) -> list[Run]:
    """Return the runs in the order in which they start: all settings advance together."""
    count = require_count("run_count", run_count)
    return [Run(setting, number) for number in range(count) for setting in settings]
