"""``qubonn predict``: a model and new examples -> a CSV of answers."""

import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

import qubonn as qn
from qubonn.cli.options import (
    DATA,
    EXISTING,
    TableOptions,
    file_to_write,
    reading_options,
    screen_options,
)
from qubonn.cli.screen import Screen
from qubonn.cli.train import labels_among, options_of
from qubonn.datasets import Table, read_table
from qubonn.datasets.files import kind_of
from qubonn.errors import ShapeError
from qubonn.storage import write_whole


@click.command(
    epilog="""Examples:

\b
  qubonn predict iris.qubonn flowers.csv
  qubonn predict iris.qubonn flowers.csv --proba -o answers.csv
  qubonn predict iris.qubonn iris.csv --target species --json
  cat flowers.csv | qubonn predict iris.qubonn - > answers.csv"""
)
@click.argument("model", type=EXISTING)
@click.argument("data", type=DATA)
@reading_options
@click.option("--proba", is_flag=True, help="Also the probability of each class.")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=file_to_write(".csv", ".tsv", ".txt"),
    help="File for the answers.  [default: standard output]",
)
@screen_options
def command(
    model: Path,
    data: Path,
    table_options: TableOptions,
    proba: bool,
    out: Path | None,
    screen: Screen,
) -> None:
    """Say what MODEL sees in each example of DATA: CSV, IDX or npz.

    A model that was trained on a CSV file finds its columns by their names; others are not looked
    at. With --target (or --labels) it also says how often it is right.
    """
    trained = load_model(model)
    table = questions(trained, data, table_options)
    answers = answers_of(trained, table, with_probabilities=proba)
    write_answers(screen, answers, out)
    if answers.right_count is not None:
        score = f"{answers.right_count:,} of {len(table):,}"
        screen.note(f"Right: {score}, accuracy {answers.right_count / len(table):.4f}")
    if out is not None:
        screen.note(f"{out}: {len(table):,} answers")


@dataclass(frozen=True, eq=False)
class Answers:
    """A row for each example: the answer first, then what else was asked for."""

    heads: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    right_count: int | None  # None where nobody said what is right


def questions(model: "Model", path: Path, table_options: TableOptions) -> Table:
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


def answers_of(model: "Model", table: Table, *, with_probabilities: bool) -> Answers:
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


@dataclass(frozen=True)
class Model:
    """A network, a committee or a classifier, and the names of the columns it learned from."""

    path: Path
    trained: Any  # BinaryNetwork, Committee or QuboClassifier
    names: tuple[str, ...] | None

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        if self.is_classifier:
            return "classifier"
        return "committee" if isinstance(self.trained, qn.Committee) else "network"

    @property
    def is_classifier(self) -> bool:
        """Whether it answers with classes; otherwise with output spins."""
        return hasattr(self.trained, "committee_")

    @property
    def members(self) -> tuple["qn.BinaryNetwork", ...]:
        """Its networks."""
        committee = self.trained.committee_ if self.is_classifier else self.trained
        return committee.members if isinstance(committee, qn.Committee) else (committee,)

    @property
    def column_count(self) -> int:
        """Numbers that it wants for each example."""
        if self.is_classifier:
            return int(self.trained.n_features_in_)
        return self.members[0].topology.input_count


def load_model(path: Path) -> Model:
    """Read a .qubonn file."""
    trained: Any = qn.load(path)
    names = getattr(trained, "feature_names_in_", None)
    if names is None:
        return Model(path, trained, None)
    del trained.feature_names_in_  # columns are matched by us, before scikit-learn sees them
    return Model(path, trained, tuple(str(name) for name in names))
