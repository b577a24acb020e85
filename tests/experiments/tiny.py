"""Studies small enough to run in a test, and ways to look at their rows."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from qubonn.experiments.outcome import Outcome
from qubonn.experiments.spec import Run, Setting, Study
from qubonn.experiments.store import Store


def native(**changes: Any) -> Study:
    settings = (Setting(8), Setting(9))
    given: dict[str, Any] = {"settings": settings, "replica_count": 16, "sweep_count": 5}
    return Study(name="tiny", engine="native", **{**given, **changes})


def paper(**changes: Any) -> Study:
    given: dict[str, Any] = {
        "settings": (Setting(8), Setting(8, margin_strength=0.02)),
        "replica_count": 16,
        "sweep_count": 20,
        "evaluation_count": 4,
    }
    return Study(name="tiny", engine="paper", **{**given, **changes})


def outcome(seed: int = 0, **changes: Any) -> Outcome:
    """Numbers of no meaning."""
    draws = (0.5, 0.525, 0.475, 0.55, 0.45)
    made = Outcome(
        seed=seed, training_accuracy=1.0, test_accuracy=0.5, draw_accuracies=draws,
        all_accuracy=0.51, energy=0.0, activation_penalty=0, product_penalty=0, margin_reward=4,
        field_reward=0.0, violation_count=0, constraint_count=44, s1=2, s2=52, state_s1=2,
        state_s2=52, network_count=16, feasible_count=3, feasible_accuracy=0.5, committee_size=3,
        committee_accuracy=0.75, committee_training_accuracy=1.0, committee_draw_accuracies=draws,
        small_committee_accuracy=0.75, hottest=None, coldest=None, seconds=0.25,
    )  # fmt: skip
    return dataclasses.replace(made, **changes)


def some_outcomes(count: int, seed: int = 0) -> list[Outcome]:
    """Runs that differ in everything that tables print."""
    generator = np.random.default_rng(seed)
    made = []
    for number in range(count):
        draws = tuple(generator.integers(10, 35, 5) / 40)
        made.append(
            outcome(
                seed=number,
                test_accuracy=draws[0],
                draw_accuracies=draws,
                training_accuracy=float(generator.choice([0.75, 1.0])),
                violation_count=int(generator.integers(0, 3)),
                s1=int(generator.integers(0, 9)),
                s2=int(generator.integers(40, 90)),
            )
        )
    return made


def results(path: Path) -> dict[Run, dict[str, Any]]:
    """All rows of a store without what depends on the clock."""
    with Store.read(path) as store:
        found = {row.run: dataclasses.asdict(row.outcome) for row in store.rows()}
    for record in found.values():
        del record["seconds"]
    return found
