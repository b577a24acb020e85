"""Study: what is run, written down so that two people mean the same.

Name, engine, settings, seeds -> a frozen record with one canonical text.  How many runs, where
they run and with which versions is no part of it: runs can be added later, anywhere.
"""

import hashlib
import json
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

import numpy as np

from qubonn.checks import require_count
from qubonn.errors import FileFormatError, RangeError

TUNING = -1  # the number of the run that tunes the temperatures of a setting

EngineName = Literal["paper", "native"]
Tune = Literal["once", "each"]


@dataclass(frozen=True)
class Setting:
    """One row of a table: a network of the paper and what is varied.

    `dropped` is how many hidden neurons an iteration of dropout removes; None is no dropout.
    """

    network: int
    margin_strength: float = 0.0
    learning_rate: float = 0.0
    dropped: int | None = None

    def __str__(self) -> str:
        parts = [f"network {self.network}"]
        if self.margin_strength:
            parts.append(f"gamma {self.margin_strength:g}")
        if self.dropped is not None:
            parts.append(f"eta {self.learning_rate:g}, {self.dropped} dropped")
        return ", ".join(parts)


@dataclass(frozen=True)
class Run:
    """One run of a study: which setting, and the how-manieth."""

    setting: int  # place in Study.settings
    number: int  # from 0; TUNING for the temperatures


@dataclass(frozen=True, kw_only=True)
class Study:
    """Settings that are each run many times by one engine.

    Engine "paper" anneals the QUBO; temperatures are tuned "once" for each setting, or in "each"
    run. Engine "native" is `LiftedAnnealing`. Tests are made on the images of the first of
    `data_seeds`; the others show how much that draw matters.

    >>> study = Study(name="example", engine="native", settings=(Setting(10),))
    >>> Study.parse(study.canonical) == study
    True
    """

    name: str
    engine: EngineName
    settings: tuple[Setting, ...]
    seed: int = 0
    data_seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    replica_count: int = 1000
    sweep_count: int = 1000
    tune: Tune = "once"
    evaluation_count: int = 30  # anneals of a tuning

    def __post_init__(self) -> None:
        for name in ("seed", "replica_count", "sweep_count", "evaluation_count"):
            require_count(name, getattr(self, name), least=int(name != "seed"))
        if self.engine not in ("paper", "native") or self.tune not in ("once", "each"):
            raise RangeError(
                "engine must be 'paper' or 'native' and tune 'once' or 'each'; "
                f"got {self.engine!r} and {self.tune!r}"
            )
        if not self.settings or len(set(self.settings)) != len(self.settings):
            raise RangeError("a study needs settings, each of them once")
        if not self.data_seeds:
            raise RangeError("data_seeds must name at least one draw of test images")

    @property
    def label(self) -> str:
        """Name, engine and reading in one word, for files and people."""
        reading = "-each" if self.engine == "paper" and self.tune == "each" else ""
        return f"{self.name}-{self.engine}{reading}"

    @property
    def canonical(self) -> str:
        """The study as one line of JSON, the same for equal studies."""
        return _canonical(asdict(self))

    @property
    def digest(self) -> str:
        """A hash of the canonical text."""
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    @classmethod
    def parse(cls, text: str) -> "Study":
        """Read the canonical text."""
        try:
            record = json.loads(text)
            settings = tuple(Setting(**setting) for setting in record.pop("settings"))
            seeds = tuple(record.pop("data_seeds"))
            return cls(**record, settings=settings, data_seeds=seeds)
        except (TypeError, KeyError, ValueError, AttributeError, RecursionError) as error:
            raise FileFormatError(f"a study must be written as JSON by qubonn: {error}") from error

    def seed_of(self, run: Run) -> int:
        """The seed of a run: the same wherever, whenever and beside whatever else it runs."""
        setting = _canonical(asdict(self.settings[run.setting]))
        words = hashlib.sha256(f"{self.name}\n{setting}".encode()).digest()[:16]
        key = np.frombuffer(words, dtype="<u4").tolist()
        stream = np.random.SeedSequence(self.seed, spawn_key=(*key, run.number + 1))
        return int(stream.generate_state(1, np.uint64)[0] >> np.uint64(1))  # SQLite's are signed

    def needs_tuning(self, run: Run) -> bool:
        """Whether a run waits for the temperatures of its setting."""
        return self.engine == "paper" and self.tune == "once" and run.number != TUNING

    def differences(self, other: "Study") -> list[str]:
        """What another study has otherwise, one line each."""
        lines = [
            f"{field.name}: {getattr(self, field.name)!s:.60} here, "
            f"{getattr(other, field.name)!s:.60} there"
            for field in fields(self)
            if field.name != "settings" and getattr(self, field.name) != getattr(other, field.name)
        ]
        sides = (self.settings, other.settings, "here"), (other.settings, self.settings, "there")
        for mine, theirs, where in sides:
            only = [str(setting) for setting in mine if setting not in theirs]
            if only:
                more = f" and {len(only) - 3} more" if len(only) > 3 else ""
                lines.append(f"settings only {where}: {'; '.join(only[:3])}{more}")
        if not lines and self != other:
            lines.append("settings: the same in another order")
        return lines


def _canonical(record: dict[str, Any]) -> str:
    return json.dumps(record, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
