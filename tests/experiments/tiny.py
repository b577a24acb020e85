"""Studies small enough to run in a test, and ways to look at their rows."""

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from qubonn.experiments import Record, Row, Run, Setting, Store, Study
from qubonn.experiments.study import canonical
from qubonn.paper.studies import PaperStudy

VERSIONS = "{}"


@dataclass(frozen=True, kw_only=True)
class Dice(Study):
    """Runs that do no work but take a moment, so that there is time to be killed in."""

    seconds: float = 0.0
    watched = "eyes"

    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        time.sleep(self.seconds)
        return {"eyes": int(np.random.default_rng(seed).integers(1, setting["faces"] + 1))}


def dice(**changes: Any) -> Dice:
    return Dice(**{"name": "dice", "settings": ({"faces": 6}, {"faces": 20}), **changes})


def setting(network: int, gamma: float = 0.0, rate: float = 0.0, dropped: int | None = None) -> Any:
    keys = ("network", "margin_strength", "learning_rate", "dropped")
    return dict(zip(keys, (network, gamma, rate, dropped), strict=True))


def native(**changes: Any) -> PaperStudy:
    settings = (setting(8), setting(9))
    given: dict[str, Any] = {"settings": settings, "replica_count": 16, "sweep_count": 5}
    return PaperStudy(**{"name": "tiny", "engine": "native", **given, **changes})


def paper(**changes: Any) -> PaperStudy:
    given: dict[str, Any] = {
        "settings": (setting(8), setting(8, 0.02)),
        "replica_count": 16,
        "sweep_count": 20,
        "evaluation_count": 4,
    }
    return PaperStudy(**{"name": "tiny", "engine": "paper", **given, **changes})


def record(**changes: Any) -> Record:
    """Numbers of no meaning."""
    draws = (0.5, 0.525, 0.475, 0.55, 0.45)
    made = {
        "training_accuracy": 1.0, "test_accuracy": 0.5, "all_accuracy": 0.51, "energy": 0.0,
        "activation_penalty": 0, "product_penalty": 0, "margin_reward": 4, "field_reward": 0.0,
        "violation_count": 0, "constraint_count": 44, "s1": 2, "s2": 52, "state_s1": 2,
        "state_s2": 52, "network_count": 16, "feasible_count": 3, "feasible_accuracy": 0.5,
        "committee_size": 3, "committee_accuracy": 0.75, "committee_training_accuracy": 1.0,
        "small_committee_accuracy": 0.75, "hottest": None, "coldest": None,
    }  # fmt: skip
    return made | with_draws(draws) | with_draws(draws, "committee_") | changes


def with_draws(values: Any, before: str = "") -> Record:
    return {f"{before}draw_accuracy_seed_{n}": float(value) for n, value in enumerate(values)}


def some_records(count: int, seed: int = 0) -> list[Record]:
    """Runs that differ in everything that tables print."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        draws = generator.integers(10, 35, 5) / 40
        made.append(
            record(
                **with_draws(draws),
                test_accuracy=float(draws[0]),
                training_accuracy=float(generator.choice([0.75, 1.0])),
                violation_count=int(generator.integers(0, 3)),
                s1=int(generator.integers(0, 9)),
                s2=int(generator.integers(40, 90)),
            )
        )
    return made


def row(setting: Setting, number: int, found: Record, seed: int = 0, **changes: Any) -> Row:
    given = {"seconds": 0.25, "versions": VERSIONS, **changes}
    return Row(Run(setting, number), seed, found, **given)


def rows_of(setting: Setting, records: list[Record]) -> list[Row]:
    return [row(setting, number, found) for number, found in enumerate(records)]


def results(path: Path) -> dict[tuple[str, int], Record]:
    """All rows of a store without what depends on the clock."""
    with Store.read(path) as store:
        return {
            (canonical(one.run.setting), one.run.number): {"seed": one.seed, **one.record}
            for one in store.rows()
        }
