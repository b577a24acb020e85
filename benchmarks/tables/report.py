"""Results -> tables: a row for each table of data, a column for each method."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from qubonn.experiments import Record, ResultTable, Setting
from qubonn.experiments.tables import mean_and_spread
from tables.data import RARE
from tables.methods import METHODS

Text = Callable[[Sequence[float]], str]  # of the values of all splits


@dataclass(frozen=True)
class Results:
    """The records of all splits by table and method; a setting of each table has its shape."""

    shapes: Mapping[str, Setting]
    methods: Sequence[str]
    records: Mapping[tuple[str, str], Sequence[Record]]

    def values(self, name: str, method: str, value: str) -> list[float]:
        """Return one number for each split that has it."""
        found = (record[value] for record in self.records[name, method])
        return [one for one in found if one is not None]

    def overall(self, method: str, value: str) -> list[float]:
        """Return the mean over all tables, as a list of one, or none if a table has none."""
        each = [self.values(name, method, value) for name in self.shapes]
        return [float(np.mean([np.mean(values) for values in each]))] if all(each) else []


def tables(results: Results) -> list[ResultTable]:
    """Return all tables."""
    rare = [name for name in results.shapes if name in RARE]
    parts = [("mean recall", "balanced_accuracy"), ("AUC", "auc")]
    of_rare = [
        _line(results, f"{name}, {what}", name, value, mean_and_spread)
        for name in rare
        for what, value in parts
    ]
    return [
        _shapes(results.shapes),
        _means("Accuracy, mean ± standard deviation", results, "accuracy", mean_and_spread),
        _means("Log loss", results, "log_loss", _mean("{:.3f}")),
        _means("Seconds to fit", results, "fit_seconds", _mean("{:.3f}")),
        _means("Bytes", results, "byte_count", _mean("{:,.0f}")),
        *([_table("Rare classes", results.methods, of_rare)] if rare else []),
    ]


def _shapes(shapes: Mapping[str, Setting]) -> ResultTable:
    counts = ("rows", "columns", "classes")
    lines = [(name, *(f"{shape[one]:,}" for one in counts)) for name, shape in shapes.items()]
    return ResultTable("tables", "Tables", ("table", *counts), lines)


def _means(title: str, results: Results, value: str, text: Text) -> ResultTable:
    lines = [_line(results, name, name, value, text) for name in results.shapes]
    mean = ["mean", *(text(results.overall(method, value)) for method in results.methods)]
    return _table(title, results.methods, [*lines, mean])


def _line(results: Results, head: str, name: str, value: str, text: Text) -> list[str]:
    return [head, *(text(results.values(name, method, value)) for method in results.methods)]


def _table(title: str, methods: Sequence[str], lines: Sequence[Sequence[str]]) -> ResultTable:
    heads = ("table", *(METHODS[method].title for method in methods))
    return ResultTable(title, title, heads, lines)


def _mean(form: str) -> Text:
    return lambda values: form.format(np.mean(values)) if values else ""
