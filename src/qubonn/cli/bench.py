"""``qubonn bench``: how fast this machine anneals, trains and predicts."""

import click

from qubonn.cli.options import screen_options, seed_option
from qubonn.cli.screen import Screen


@click.command(
    epilog="""Examples:

\b
  qubonn bench
  qubonn bench --repeats 10 --json > machine.json"""
)
@click.option(
    "--repeats",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Measure each so often; the median is shown, and the range.",
)
@seed_option
@screen_options
def command(repeats: int, seed: int, screen: Screen) -> None:
    """Measure this machine, in seconds; compilation is not counted.

    Annealing: network 10 of the paper as a QUBO, 1,000 replicas, in spin updates a second, and the
    same by dwave-samplers where it is installed. Training: the time until our engine has found
    H = 0. Prediction: images a second through a network of 784 inputs, float32 beside bits.
    """
    from qubonn.cli.measuring import measure_machine

    rows, document = measure_machine(repeats, seed, screen)
    screen.table(["what", "median", "least", "most", "unit"], rows)
    screen.document(document)
    screen.facts([("", ""), *document["machine"].items()])
