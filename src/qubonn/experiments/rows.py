"""Finished runs as rows of a file, and back; what cannot be a run is refused.

Outcome <-> values that SQLite keeps.
"""

import json
from dataclasses import dataclass, fields
from typing import Any, get_args

from qubonn.experiments.outcome import Outcome
from qubonn.experiments.spec import Run

COLUMNS = tuple(field.name for field in fields(Outcome))
LISTS = ("draw_accuracies", "committee_draw_accuracies")  # JSON in the file
_KINDS = {field.name: field.type for field in fields(Outcome)}


@dataclass(frozen=True)
class Row:
    """A finished run as it stands in the store."""

    run: Run
    outcome: Outcome
    versions: str
    finished: float


def values_of(outcome: Outcome) -> list[Any]:
    """The values of COLUMNS."""
    values = (getattr(outcome, name) for name in COLUMNS)
    return [json.dumps(value) if isinstance(value, tuple) else value for value in values]


def row_of(values: tuple[Any, ...], setting_count: int) -> Row:
    """Read a row: setting, number, COLUMNS, versions, time. Raises ValueError or TypeError."""
    setting, number, *rest, packages, finished = values
    if not (_is(int, setting) and 0 <= setting < setting_count and _is(int, number)):
        raise ValueError(f"there is no setting {setting!r:.20} or run {number!r:.20}")
    record = {name: _read(name, value) for name, value in zip(COLUMNS, rest, strict=True)}
    return Row(Run(setting, number), Outcome(**record), str(packages), float(finished))


def trials_of(text: str) -> tuple[tuple[float, float, float, float], ...]:
    """Read the anneals of a tuning."""
    return tuple(
        (float(hot), float(cold), float(value), float(energy))
        for hot, cold, value, energy in json.loads(text)
    )


def _read(name: str, value: Any) -> Any:
    if name in LISTS:
        return tuple(float(one) for one in json.loads(value))
    kind = _KINDS[name]
    if value is None and type(None) in get_args(kind):
        return None
    if not _is(int if kind is int else (int, float), value):
        raise ValueError(f"{name} must be a number; got {value!r:.20}")
    return value if kind is int else float(value)


def _is(kinds: Any, value: Any) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool)
