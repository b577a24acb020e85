"""``qubonn qubo``: labelled examples -> the QUBO of a training problem, for an Ising machine."""

from pathlib import Path

import click

from qubonn.cli.options import (
    DATA,
    Networks,
    TableOptions,
    file_to_write,
    network_options,
    reading_options,
    screen_options,
    seed_option,
)
from qubonn.cli.screen import Screen


@click.command(
    epilog="""Examples:

\b
  qubonn qubo iris.csv --target species --per-class 3 --binariser threshold -o iris.qubo
  qubonn qubo letters.csv -t letter --image 5x5 --topology 'fc(3)' --margin 0.02 -o letters.bqm
  ... solve iris.qubo anywhere, write a row of 0 and 1 for each sample ...
  qubonn decode iris.qubo samples.csv -o iris.qubonn"""
)
@click.argument("data", type=DATA)
@reading_options
@network_options(hidden="3", margin=0.0, code="gray_code")
@click.option(
    "--alpha",
    type=click.FloatRange(0),
    default=1.0,
    show_default=True,
    help="Strength of the product penalty H2.",
)
@click.option(
    "--free-outputs",
    type=click.FloatRange(0, min_open=True),
    metavar="STRENGTH",
    help="Leave outputs free, with this penalty for each wrong one.  [default: fixed]",
)
@seed_option
@click.option(
    "-o",
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    required=True,
    callback=file_to_write(".qubo", ".npz", ".json", ".bqm"),
    help="File for the QUBO: .qubo (qbsolv's text), .bqm (dimod), .json or .npz.",
)
@screen_options
def command(
    data: Path,
    table_options: TableOptions,
    networks: Networks,
    alpha: float,
    free_outputs: float | None,
    seed: int,
    out: Path,
    screen: Screen,
) -> None:
    """Write the QUBO that trains a network on DATA, and beside it what its bits mean.

    Its ground states are the networks that get every example right. Solve it with any machine or
    program, then hand the samples to  qubonn decode.  The second file, OUT.problem.json, is needed
    for that; keep the two together.
    """
    from qubonn.cli.examples import learning_table, some_per_class
    from qubonn.cli.posing import write_problem

    table = some_per_class(learning_table(data, table_options, screen), networks.per_class, seed)
    write_problem(screen, table, networks, (alpha, free_outputs), out)
