"""``qubonn decode``: a problem and an Ising machine's samples -> model.qubonn."""

from pathlib import Path

import click

from qubonn.cli.options import EXISTING, model_option, screen_options
from qubonn.cli.screen import Screen


@click.command(
    epilog="""Examples:

\b
  qubonn decode iris.qubo samples.csv -o iris.qubonn
  qubonn decode iris.bqm sampleset.json --committee 1 --require-feasible -o iris.qubonn

A sample is a row of 0 and 1, or of -1 and +1: CSV with or without a header, an npz or npy matrix,
JSON lists or objects, or a SampleSet that dimod serialised. Variables go by their number in the
QUBO or by their label; other columns are not looked at, energies are computed anew."""
)
@click.argument("problem", type=EXISTING)
@click.argument("samples", type=EXISTING)
@click.option(
    "--committee",
    type=click.IntRange(1),
    default=25,
    show_default=True,
    help="Let at most so many networks vote.",
)
@click.option(
    "--require-feasible",
    is_flag=True,
    help="End with 3 unless a network satisfies every constraint.",
)
@model_option
@screen_options
def command(
    problem: Path,
    samples: Path,
    committee: int,
    require_feasible: bool,
    out: Path,
    screen: Screen,
) -> None:
    """Turn SAMPLES of the QUBO file PROBLEM into a model.

    Every sample is read as a network. Where its bits contradict each other, two repairs are tried:
    run the network forward, or first lower the energy greedily, bit by bit. The better one is kept,
    and the report says which. Feasible networks vote; if there are none, the best one is alone.
    """
    from qubonn.cli.decoding import decode_files

    decode_files(screen, problem, samples, committee, out, is_feasible_required=require_feasible)
