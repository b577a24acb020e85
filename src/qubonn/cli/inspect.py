"""``qubonn inspect``: any file of ours -> what it is, and a picture."""

from pathlib import Path

import click

from qubonn.cli.options import EXISTING, file_to_write, screen_options
from qubonn.cli.screen import Screen


@click.command(
    epilog="""Examples:

\b
  qubonn inspect model.qubonn
  qubonn inspect model.qubonn --picture network.png
  qubonn inspect problem.qubo --picture couplings.png --json"""
)
@click.argument("file", type=EXISTING)
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=file_to_write(".png", ".svg", ".pdf"),
    help="Draw the network, or the couplings of a QUBO: .png, .svg or .pdf.",
)
@click.option(
    "--member",
    type=click.IntRange(1),
    default=1,
    show_default=True,
    help="Which network of a committee to draw.",
)
@screen_options
def command(file: Path, picture: Path | None, member: int, screen: Screen) -> None:
    """Say what FILE is: a model (.qubonn), a QUBO (.qubo, .bqm, .json, .npz) or a problem.

    Nothing in the file is run, and nothing is changed.
    """
    from qubonn.cli.inspection import inspect_file

    facts, document, draw = inspect_file(file, member)
    screen.facts(facts)
    if picture is not None:
        draw(picture)
        screen.note(f"{picture}: {picture.stat().st_size:,} bytes")
    screen.document({"file": str(file), **document})
