"""Studies of many runs: a study is one class; store, runner and tables serve all of them."""

from qubonn.experiments.runner import Status, complete, watching, workers
from qubonn.experiments.store import Row, Store
from qubonn.experiments.study import PREPARATION, Record, Run, Setting, Study, runs_of
from qubonn.experiments.tables import Cell, ResultTable

__all__ = [
    "PREPARATION",
    "Cell",
    "Record",
    "ResultTable",
    "Row",
    "Run",
    "Setting",
    "Status",
    "Store",
    "Study",
    "complete",
    "runs_of",
    "watching",
    "workers",
]
