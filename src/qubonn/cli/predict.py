"""``qubonn predict``: a model and new examples -> a CSV of answers."""

from pathlib import Path

import click

from qubonn.cli.options import (
    DATA,
    EXISTING,
    TableOptions,
    file_to_write,
    reading_options,
    screen_options,
)
from qubonn.cli.screen import Screen


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
    from qubonn.cli.answers import answers_of, questions, write_answers
    from qubonn.cli.models import load_model

    trained = load_model(model)
    table = questions(trained, data, table_options)
    answers = answers_of(trained, table, with_probabilities=proba)
    write_answers(screen, answers, out)
    if answers.right_count is not None:
        score = f"{answers.right_count:,} of {len(table):,}"
        screen.note(f"Right: {score}, accuracy {answers.right_count / len(table):.4f}")
    if out is not None:
        screen.note(f"{out}: {len(table):,} answers")
