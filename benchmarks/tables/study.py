"""Classifiers on tables as a study: each setting is a method on a split of a table.

Setting -> record.  Splits are stratified, and the same for all methods.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numba
import numpy as np
from sklearn.model_selection import train_test_split

from qubonn.experiments import Record, ResultTable, Row, Run, Setting, Study
from tables.data import Examples, load
from tables.methods import METHODS, Split
from when_to_use import TRAIN_SHARE


@dataclass(frozen=True, kw_only=True)
class Tables(Study):
    """Methods on splits. A setting holds all that decides its record, also code and examples."""

    name: str = "tables"
    settings: tuple[Setting, ...] = ()
    names: tuple[str, ...] = ()
    methods: tuple[str, ...] = tuple(METHODS)
    split_count: int = 5
    watched = "accuracy"

    def __post_init__(self) -> None:
        found = (s for name in self.names for s in self._of_table(name))
        object.__setattr__(self, "settings", tuple(found))
        super().__post_init__()

    @property
    def spec(self) -> dict[str, Any]:
        """Everything else is part of the settings: one store serves any choice of tables."""
        return {"name": self.name, "train_share": TRAIN_SHARE}

    def perform(self, setting: Setting, seed: int, prepared: Record) -> Record:
        """Train one method; the number of its split is its seed, so `seed` is not used."""
        name, method, number = setting["table"], setting["method"], setting["split"]
        _warm_up(method, name if METHODS[method].is_ours else "iris")
        return METHODS[method].train(_split(name, number), number)

    def tables(self, rows: Sequence[Row]) -> list[ResultTable]:
        """Accuracies, log losses, seconds, bytes, and more where a class is rare."""
        from tables.report import Results, tables

        known = {row.run.key: row.record for row in rows}
        records: dict[tuple[str, str], list[Record]] = {}
        for setting in self.settings:
            cell = records.setdefault((setting["table"], setting["method"]), [])
            cell.append(known[Run(setting, 0).key])
        shapes = {setting["table"]: setting for setting in self.settings}
        return tables(Results(shapes, self.methods, records))

    def _of_table(self, name: str) -> list[Setting]:
        pairs = ((number, method) for number in range(self.split_count) for method in self.methods)
        return [_setting(name, number, method) for number, method in pairs]


def _setting(name: str, number: int, method: str) -> Setting:
    setting = {"table": name, "split": number, "method": method, "code": METHODS[method].code}
    if METHODS[method].is_ours:
        setting["threads"] = int(numba.config.NUMBA_NUM_THREADS)
    return setting | _described(name)


@cache
def _described(name: str) -> dict[str, Any]:
    """Return the shape of a table and a digest of its numbers."""
    inputs, classes = _loaded(name)
    digest = 0
    for part in (inputs, classes):
        digest = zlib.crc32(np.ascontiguousarray(part).tobytes(), digest)
    rows, columns = inputs.shape
    shape = {"rows": rows, "columns": columns, "classes": len(np.unique(classes))}
    return shape | {"data": f"{digest:08x}"}


@lru_cache(maxsize=1)  # one table after the other
def _loaded(name: str) -> Examples:
    return load(name)


@lru_cache(maxsize=1)
def _split(name: str, number: int) -> Split:
    inputs, classes = _loaded(name)
    return Split(
        *train_test_split(
            inputs, classes, train_size=TRAIN_SHARE, stratify=classes, random_state=number
        )
    )


@cache
def _warm_up(method: str, name: str) -> None:
    METHODS[method].warm_up(_split(name, 0))
