"""``qubonn report``: a store, or a model and labelled examples -> one HTML page.

A store also becomes Markdown with figures, and CSV.
"""

import os
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import qubonn as qn
from qubonn.cli import options
from qubonn.cli.inspect import made_facts
from qubonn.cli.predict import LoadedModel, load_model
from qubonn.cli.screen import Screen
from qubonn.errors import FileFormatError

if TYPE_CHECKING:
    from qubonn.estimator.scores import ModelScores

MOST_CLASSES = 40  # of a confusion matrix
MOST_ERRORS = 20  # pairs of classes, where there are more
MOST_COLUMNS = 25  # shown by importance
FILE = click.Path(exists=True, allow_dash=True, path_type=Path)


@click.command(
    epilog="""Examples:

\b
  qubonn report iris.qubonn iris.csv --target species -o iris.html
  qubonn report digits.qubonn t10k-images-idx3-ubyte.gz --labels t10k-labels-idx1-ubyte.gz
  qubonn report reproduction -o report.html"""
)
@click.argument("files", type=FILE, nargs=-1, required=True, metavar="MODEL DATA | STORE...")
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File to write.  [default: report.html, or report.md]",
)
@click.option("--markdown", "is_markdown", is_flag=True, help="Write Markdown instead of HTML.")
@click.option(
    "--template",
    type=options.EXISTING,
    help="Text with placeholders for tables and figures; only with --markdown.",
)
@click.option(
    "--files",
    "figure_folder",
    type=options.FOLDER,
    help="Folder for the figures of --markdown.  [default: OUT without its suffix]",
)
@click.option(
    "--csv",
    "csv_folder",
    type=options.FOLDER,
    help="Also write every run and every comparison as CSV into this folder.",
)
@options.reading
@options.seed
@options.screen
def command(
    files: tuple[Path, ...],
    out: Path | None,
    is_markdown: bool,
    template: Path | None,
    figure_folder: Path | None,
    csv_folder: Path | None,
    reading: options.Reading,
    seed: int,
    screen: Screen,
) -> None:
    """Write a page about a model, or with the results of reproduce.

    MODEL is a .qubonn file and DATA a file of labelled examples (CSV, IDX or npz): the page has
    scores, a confusion matrix, calibration, the columns that matter, margins, size, and how the
    model was made. STORE is the folder of reproduce, or some of its files; --markdown, --template,
    --files and --csv are for stores, --seed and the options of reading for models. The page is one
    file and loads nothing from elsewhere.
    """
    if files[0].suffix.lower() == ".qubonn":
        if is_markdown or template or figure_folder or csv_folder:
            raise click.UsageError("--markdown, --template, --files and --csv need a store")
        if len(files) != 2:
            raise click.UsageError("a model needs one file of examples: qubonn report MODEL DATA")
        _report_model(*files, reading, seed, out or Path("report.html"), screen)
        return
    if (template or figure_folder) and not is_markdown:
        raise click.UsageError("--template and --files need --markdown")
    out = out or Path("report.md" if is_markdown else "report.html")
    _report_stores(files, out, is_markdown, template, figure_folder, csv_folder, screen)


# ---- stores ----


def _report_stores(
    places: tuple[Path, ...],
    out: Path,
    is_markdown: bool,
    template: Path | None,
    figure_folder: Path | None,
    csv_folder: Path | None,
    screen: Screen,
) -> None:
    from qubonn.experiments import Store
    from qubonn.experiments.tables import ResultTable, runs_csv
    from qubonn.paper.comparison import comparisons_csv
    from qubonn.paper.results import report_of
    from qubonn.storage import guard, read_limited, write_whole

    contents: dict[Path, str] = {}
    figures: list[Path] = []
    with ExitStack() as stack, guard(", ".join(map(str, places))):
        stores = [stack.enter_context(Store.read(path)) for path in stores_in(places)]
        report = report_of(stores)
        if is_markdown:
            folder = figure_folder or out.with_suffix("")
            prose = None if template is None else read_limited(template).decode("utf-8")
            place = Path(os.path.relpath(folder, out.parent)).as_posix()
            contents[out] = report.markdown(place, prose)
            figures = report.write_figures(folder, contents[out])
        else:
            contents[out] = report.html()
        if csv_folder is not None:
            for one in stores:
                contents[csv_folder / f"{one.path.stem}.csv"] = runs_csv(one.path.stem, one.rows())
            contents[csv_folder / "comparisons.csv"] = comparisons_csv(stores)
    for path, text in contents.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text.encode())
    written = [*figures, *contents]
    screen.facts(*((str(path), f"{path.stat().st_size:,} bytes") for path in written))
    tables = [part.document() for part in report.parts() if isinstance(part, ResultTable)]
    screen.document(written=[str(path) for path in written], tables=tables)


def stores_in(places: tuple[Path, ...]) -> list[Path]:
    """Return the store files among files and folders, in order."""
    paths: list[Path] = []
    for place in places:
        paths += sorted(place.glob("*.sqlite")) if place.is_dir() else [place]
    if not paths:
        names = ", ".join(str(place) for place in places)
        raise FileFormatError(f"{names} must hold stores made by qubonn reproduce; there are none")
    return paths


# ---- models ----


def _report_model(
    path: Path, data: Path, reading: options.Reading, seed: int, out: Path, screen: Screen
) -> None:
    from qubonn.storage import write_whole

    model = load_model(path)
    reading = replace(reading, target=reading.target or _target(model, data, reading))
    table = model.read(data, reading)
    if table.labels is None:
        raise click.UsageError(f"{data} needs labels: pass --labels for IDX, --target for npz")
    with screen.working("Evaluating the model ..."):
        scores = _scores(model, table, seed)
        page = model_page(model, table, scores)
    out.parent.mkdir(parents=True, exist_ok=True)
    write_whole(out, page.encode())
    screen.facts(
        ("accuracy", f"{scores.accuracy:.4f}  ({_right_count(scores):,} of {len(table):,})"),
        ("balanced accuracy", f"{scores.balanced_accuracy:.4f}"),
        ("log loss", f"{scores.log_loss:.4f}"),
        (str(out), f"{out.stat().st_size:,} bytes"),
    )
    screen.document(
        accuracy=scores.accuracy,
        balanced_accuracy=scores.balanced_accuracy,
        log_loss=scores.log_loss,
        written=[str(out)],
    )


def _target(model: LoadedModel, data: Path, reading: options.Reading) -> str | None:
    """Return the only column of a CSV file that is no column of the model; None for other files."""
    from qubonn.datasets.table import open_rows

    if qn.datasets.kind_of(data) != "csv":
        return None
    others: list[str] = []
    if model.names is not None and str(data) != "-":
        known = {*model.names, *reading.drop}
        with open_rows(data, has_header=reading.has_header, separator=reading.separator) as rows:
            others = [title for title in rows.titles if title not in known]
    if len(others) != 1:
        raise click.UsageError(f"{data} needs --target, the column of labels")
    return others[0]


def _scores(model: LoadedModel, table: "qn.datasets.Table", seed: int) -> "ModelScores":
    from qubonn.estimator.scores import ModelScores, with_classes

    inputs = table.inputs.reshape(len(table), -1)
    if model.kind == "classifier":
        labels = table.labels_among(model.trained.classes_, model.path)
        return ModelScores(model.trained, inputs, labels, seed)
    classifier = with_classes(model.trained, inputs, table.known_labels)
    return ModelScores(classifier, inputs, table.known_labels, seed)


def model_page(model: LoadedModel, table: "qn.datasets.Table", scores: "ModelScores") -> str:
    """Return the page of a model on a table of labelled examples."""
    from qubonn.drawing.pages import render
    from qubonn.drawing.pictures import histogram_svg, reliability_svg
    from qubonn.estimator import scores as limits

    lead = "log odds of the actual class"
    size = [*scores.classifier.committee_.summary().rows()]
    return render(
        "model.html",
        title=f"{model.path.name} on {Path(table.source).name}",
        subtitle=_subtitle(model, table, scores),
        scores=scores,
        right_count=_right_count(scores),
        unknown=_unknown(scores),
        confusion=scores.confusion.tolist() if len(scores.names) <= MOST_CLASSES else [],
        errors=_errors(scores) if len(scores.names) > MOST_CLASSES else [],
        calibration_chart=reliability_svg("accuracy by probability", *scores.calibration),
        lead_chart=histogram_svg(lead, lead, {"examples": scores.leads}),
        margin_chart=histogram_svg("margins of neurons", "margin", scores.margins),
        margin_examples=min(len(table), limits.MARGIN_EXAMPLES),
        most_columns=limits.MOST_COLUMNS,
        size=[*size, ("file", f"{model.path.stat().st_size:,} bytes")],
        made=made_facts(model) if model.kind == "classifier" else _bare_facts(scores),
        **_importance(model, table, scores),
    )


def _right_count(scores: "ModelScores") -> int:
    return int(scores.confusion.trace())


def _subtitle(model: LoadedModel, table: "qn.datasets.Table", scores: "ModelScores") -> str:
    voters = f"{len(model.members)} networks vote" if len(model.members) > 1 else "One network"
    verb = "and predict" if len(model.members) > 1 else "predicts"
    return (
        f"{voters} {verb} {_right_count(scores):,} of {len(table):,} examples correctly, in "
        f"{len(scores.classifier.classes_)} classes. Every weight, bias and activation is -1 or "
        f"+1. Made by qubonn {qn.__version__}."
    )


def _unknown(scores: "ModelScores") -> str:
    count = int(scores.confusion[len(scores.classifier.classes_) :].sum())
    if not count:
        return ""
    return (
        f"{count:,} examples have labels that the model does not know. They count as wrong; log "
        "loss and log odds leave them out."
    )


def _errors(scores: "ModelScores") -> list[tuple[str, str, int]]:
    """Return the most frequent pairs of actual and predicted class, and their numbers."""
    counts = scores.confusion.copy()
    counts[range(len(counts)), range(len(counts))] = 0
    order = counts.ravel().argsort(kind="stable")[::-1][:MOST_ERRORS]
    pairs = [divmod(int(place), len(counts)) for place in order]
    names = scores.names.tolist()
    return [(names[a], names[p], int(counts[a, p])) for a, p in pairs if counts[a, p]]


def _importance(
    model: LoadedModel, table: "qn.datasets.Table", scores: "ModelScores"
) -> dict[str, Any]:
    """Return the importance of pixels as an image, or the columns of largest importance."""
    import numpy as np

    from qubonn.drawing.pictures import heat_svg

    fields: dict[str, Any] = {"importance_image": None, "columns": [], "left_out": 0}
    if scores.importance is None:
        return fields
    means, deviations = scores.importance
    shape = table.inputs.shape[1:]
    if len(shape) == 1:
        shape = getattr(model.trained, "image_shape", None) or shape
    if len(shape) > 1:
        pixels = means.reshape(-1, *shape[-2:]).sum(axis=0)  # of all channels
        return fields | {"importance_image": heat_svg("fall of the accuracy", pixels)}
    names = model.names or [f"column {number}" for number in range(1, len(means) + 1)]
    order = np.argsort(-means, kind="stable")[:MOST_COLUMNS]
    most = max(float(np.abs(means).max()), 1e-12)
    columns = [(names[n], means[n], deviations[n], abs(means[n]) / most) for n in order]
    return fields | {"columns": columns, "left_out": len(means) - len(columns)}


def _bare_facts(scores: "ModelScores") -> list[tuple[str, str]]:
    book = scores.classifier.code_book_
    code = "one-hot" if book.reading == "largest" else "Gray"
    classes = ", ".join(
        f"{name} ({' '.join(f'{spin:+d}' for spin in word)})"
        for name, word in zip(book.classes.tolist()[:12], book.codewords.tolist(), strict=False)
    )
    return [
        ("origin", "the file holds networks only: no classes, columns or settings of the training"),
        ("classes", f"the sorted labels of the data in a {code} code: {classes}"),
        ("inputs", "numbers above 0 are +1, others -1"),
    ]
