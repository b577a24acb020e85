"""``qubonn predict``: a model and new examples -> a CSV of predictions."""

import csv
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

import qubonn as qn
from qubonn.cli import options
from qubonn.cli.screen import Screen, printable_lines
from qubonn.errors import ShapeError

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # how formulas begin


@click.command(
    epilog="""Examples:

\b
  qubonn predict iris.qubonn flowers.csv
  qubonn predict iris.qubonn flowers.csv --proba -o predictions.csv
  qubonn predict iris.qubonn iris.csv --target species --json
  cat flowers.csv | qubonn predict iris.qubonn - > predictions.csv"""
)
@click.argument("model", type=options.EXISTING)
@click.argument("data", type=options.DATA)
@options.reading
@click.option("--proba", is_flag=True, help="Add the probability of each class.")
@click.option(
    "--spreadsheet",
    is_flag=True,
    help="Write ' before labels that a spreadsheet would read as a formula.",
)
@options.out("File for the predictions.  [default: standard output]", ".csv", ".tsv", ".txt")
@options.screen
def command(
    model: Path,
    data: Path,
    reading: options.Reading,
    proba: bool,
    spreadsheet: bool,
    out: Path | None,
    screen: Screen,
) -> None:
    """Predict the classes of new examples.

    DATA is CSV, IDX or npz. A MODEL trained on a CSV file finds its columns by name and ignores
    the others. With --target (or --labels) the accuracy is printed too. Missing cells are treated
    as in training; with --skip-missing, rows that have some get an empty prediction instead.
    Labels are written as they are in the training data; on a terminal, control characters are
    escaped.
    """
    trained = load_model(model)
    table = trained.read(data, reading)
    columns = trained.predict(table, with_probabilities=proba)
    scores = {}
    if table.labels is not None and trained.kind == "classifier":
        actual = table.labels_among(trained.trained.classes_, model)
        scores["accuracy"] = float((actual == columns["prediction"]).mean())
    if table.skipped:
        columns = {name: _with_gaps(cells, table.skipped) for name, cells in columns.items()}
        screen.note(f"{table.source}: {len(table.skipped)} rows with missing values skipped")
    _write(screen, columns, out, is_for_spreadsheets=spreadsheet)
    for accuracy in scores.values():
        right = round(accuracy * len(table))
        screen.note(f"Accuracy {accuracy:.4f}  ({right:,} of {len(table):,})")
    if out is not None:
        screen.note(f"{out}: {len(table):,} predictions")
        if scores:
            screen.confusion("Examples", trained.trained.classes_, actual, columns["prediction"])
    screen.document(predictions=columns, **scores)


@dataclass(frozen=True)
class LoadedModel:
    """A network, a committee or a classifier, and the names of the columns it learned from."""

    path: Path
    trained: Any  # BinaryNetwork, Committee or QuboClassifier
    kind: str  # network, committee or classifier
    members: tuple["qn.BinaryNetwork", ...]
    column_count: int  # numbers in each example
    names: tuple[str, ...] | None

    def read(self, path: Path, reading: options.Reading) -> "qn.datasets.Table":
        """Read examples with the columns of this model, in its order."""
        is_named = qn.datasets.kind_of(path) == "csv" and reading.has_header is not False
        keep = self.names if is_named else None
        table = reading.read(path, is_test=True, keep=keep, text=self.text_columns(is_named))
        if table.column_count != self.column_count:
            raise ShapeError(
                f"{table.source} must have {self.column_count} numbers for each example, as "
                f"{self.path} needs; got {table.column_count}: "
                "drop other columns with --drop, or name the labels with --target"
            )
        return table

    @property
    def categories(self) -> dict[int, tuple[str, ...]]:
        """The words of each column of text, by its index."""
        found = getattr(getattr(self.trained, "binariser_", None), "categories", ())
        return {column: words for column, words in enumerate(found) if words is not None}

    def text_columns(self, is_named: bool) -> list[str]:
        """Return the columns of text, by name, or by number from 1."""
        if is_named and self.names is not None:
            return [self.names[column] for column in self.categories]
        return [str(column + 1) for column in self.categories]

    def predict(
        self, table: "qn.datasets.Table", *, with_probabilities: bool
    ) -> dict[str, list[Any]]:
        """Return columns of predictions: classes, and probabilities if wanted, or outputs."""
        rows = table.inputs.reshape(len(table), -1)
        if self.kind != "classifier":
            if with_probabilities or table.target is not None:
                raise ShapeError(f"{self.path} is a bare {self.kind}: it has outputs, no classes")
            outputs = self.trained.predict_outputs(rows).T
            return {f"output {n}": output.tolist() for n, output in enumerate(outputs, start=1)}
        columns = {"prediction": self.trained.predict(rows).tolist()}
        if with_probabilities:
            shares = self.trained.predict_proba(rows).T
            for name, share in zip(self.trained.classes_, shares, strict=True):
                columns[f"probability of {name}"] = share.tolist()
        return columns


def load_model(path: Path) -> LoadedModel:
    """Read a .qubonn file."""
    trained: Any = qn.load(path)
    is_network = isinstance(trained, qn.BinaryNetwork)
    if is_network or isinstance(trained, qn.Committee):
        kind, members = ("network", (trained,)) if is_network else ("committee", trained.members)
        return LoadedModel(path, trained, kind, members, members[0].topology.column_count, None)
    # columns are matched by `read`; scikit-learn sees arrays
    found = vars(trained).pop("feature_names_in_", None)
    names = None if found is None else tuple(map(str, found))
    members, columns = trained.committee_.members, int(trained.n_features_in_)
    return LoadedModel(path, trained, "classifier", members, columns, names)


def _with_gaps(cells: list[Any], skipped: tuple[int, ...]) -> list[Any]:
    """Return the cells of all rows, None for rows that were skipped."""
    left_out, found = set(skipped), iter(cells)
    return [None if row in left_out else next(found) for row in range(len(cells) + len(skipped))]


def _write(
    screen: Screen, columns: dict[str, list[Any]], out: Path | None, *, is_for_spreadsheets: bool
) -> None:
    """Write the columns as CSV to a file, or to standard output without --json."""
    from qubonn.storage import write_whole

    text, separator = io.StringIO(), "\t" if out is not None and out.suffix == ".tsv" else ","
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        cells = [f"{cell:.6f}" if isinstance(cell, float) else cell for cell in row]
        if is_for_spreadsheets:
            cells = [f"'{cell}" if _is_formula(cell) else cell for cell in cells]
        writer.writerow(cells)
    if out is not None:
        write_whole(out, text.getvalue().encode())
    elif not screen.as_json:
        shown = text.getvalue()
        click.echo(printable_lines(shown) if sys.stdout.isatty() else shown, nl=False)
    odd = next((cell for cells in columns.values() for cell in cells if _is_formula(cell)), None)
    if odd is not None and not is_for_spreadsheets:
        screen.note(
            f"Note: the label {odd!r:.60} is written as it is; a spreadsheet may read it as a "
            "formula: --spreadsheet writes ' before such labels"
        )


def _is_formula(cell: Any) -> bool:
    """Whether a spreadsheet may read a label as a formula; a number is none.

    >>> [_is_formula(cell) for cell in ("=1+1", "@SUM(A1)", "-x", "-1.5", "a=b", 7)]
    [True, True, True, False, False, False]
    """
    from qubonn.datasets.csv_columns import number_in

    return isinstance(cell, str) and cell.startswith(FORMULA) and number_in(cell) is None
