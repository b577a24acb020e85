"""Questions to a model and its answers as a table.

Model, file -> Table; Model, Table -> Answers -> CSV or JSON.
"""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from qubonn.cli.examples import labels_among, options_of
from qubonn.cli.models import Model
from qubonn.cli.options import TableOptions
from qubonn.cli.screen import Screen
from qubonn.datasets import Table, read_table
from qubonn.datasets.files import kind_of
from qubonn.errors import ShapeError
from qubonn.storage import write_whole


@dataclass(frozen=True, eq=False)
class Answers:
    """A row for each example: the answer first, then what else was asked for."""

    heads: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    right_count: int | None  # None where nobody said what is right


def questions(model: Model, path: Path, table_options: TableOptions) -> Table:
    """Read what a model is asked about: its columns, in its order."""
    options = options_of(table_options) | {"is_test": True}
    if kind_of(path) == "csv" and model.names is not None and table_options.has_header is not False:
        options |= {"keep": model.names}
    table = read_table(path, **options)
    if table.column_count != model.column_count:
        raise ShapeError(
            f"{table.source} must have {model.column_count} numbers for each example, as "
            f"{model.path} wants; got {table.column_count}: "
            "leave other columns out with --drop, or name the labels with --target"
        )
    return table


def answers_of(model: Model, table: Table, *, with_probabilities: bool) -> Answers:
    """Ask a model about all examples."""
    rows = table.inputs.reshape(len(table), -1)
    if not model.is_classifier:
        if with_probabilities or table.target is not None:
            raise ShapeError(f"{model.path} is a bare {model.kind}: it knows outputs, no classes")
        outputs = model.trained.predict_outputs(rows)
        heads = tuple(f"output {number + 1}" for number in range(outputs.shape[1]))
        return Answers(heads, tuple(outputs.T), None)
    labels = None
    if table.labels is not None:
        labels = labels_among(model.trained.classes_, table, model.path)
    predicted = model.trained.predict(rows)
    heads, columns = ("prediction",), (predicted,)
    if with_probabilities:
        shares = model.trained.predict_proba(rows)
        heads += tuple(f"probability of {name}" for name in model.trained.classes_)
        columns += tuple(shares.T)
    right = None if labels is None else int((predicted == labels).sum())
    return Answers(heads, columns, right)


def write_answers(screen: Screen, answers: Answers, out: Path | None) -> None:
    """Write CSV to a file or to standard output, or JSON to standard output."""
    if out is not None:
        write_whole(out, _csv(answers, "\t" if out.suffix == ".tsv" else ",").encode())
    if screen.as_json:
        content: dict[str, Any] = {
            head: [_plain(value) for value in column]
            for head, column in zip(answers.heads, answers.columns, strict=True)
        }
        accuracy = {}
        if answers.right_count is not None:
            accuracy = {"accuracy": answers.right_count / len(answers.columns[0])}
        screen.document({"answers": content, **accuracy})
    elif out is None:
        click.echo(_csv(answers, ","), nl=False)


def _csv(answers: Answers, separator: str) -> str:
    text = io.StringIO()
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(answers.heads)
    columns = [[_cell(value) for value in column.tolist()] for column in answers.columns]
    writer.writerows(zip(*columns, strict=True))
    return text.getvalue()


def _cell(value: Any) -> Any:
    return f"{value:.6f}" if isinstance(value, float) else value


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
