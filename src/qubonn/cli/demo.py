"""``qubonn demo``: letters -> network -> QUBO -> certificate, and a picture to look at."""

from pathlib import Path

import click
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import qubonn as qn
from qubonn.datasets import Letters, as_text

__all__ = ["command"]


@click.command(epilog="Example:  qubonn demo --network 5 --out pictures")
@click.option(
    "--network", "number", default=10, show_default=True, help="Network 0 to 17 of the paper."
)
@click.option(
    "--seed", default=0, show_default=True, help="Seed of the test images and the network."
)
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the pictures and files.",
)
def command(number: int, seed: int, out: Path) -> None:
    """Show the whole road on the paper's letters, in seconds.

    Shows the training images, draws a network, builds the QUBO that trains it, and certifies
    networks against that QUBO.
    """
    console = Console()
    letters = qn.datasets.letters(seed=seed)
    topology = qn.paper.topology(number)
    problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
    out.mkdir(parents=True, exist_ok=True)

    _show_letters(console, letters)
    _show_problem(console, problem, number)
    _certify(console, problem, qn.BinaryNetwork.random(topology, seed=seed))
    _write_files(console, problem, out)


def _show_letters(console: Console, letters: Letters) -> None:
    console.rule("[bold]1  Four letters, one training image each")
    panels = [
        Panel(_blocks(image), title=str(label), subtitle=" ".join(f"{spin:+d}" for spin in output))
        for image, label, output in zip(
            letters.train_inputs, letters.train_labels, letters.train_outputs, strict=True
        )
    ]
    console.print(Columns(panels))
    console.print(
        "A test image is one of these with two pixels inverted; there are ten a letter.\n"
    )


def _blocks(image: object) -> str:
    return as_text(image).replace("#", "██").replace(".", "··")  # type: ignore[arg-type]


def _show_problem(console: Console, problem: qn.TrainingProblem, number: int) -> None:
    console.rule("[bold]2  A network and its training problem as a QUBO")
    size, qubo = problem.size, problem.qubo()
    table = Table("", "count", box=None, pad_edge=False)
    table.add_row("neurons, connections", f"{size.nodes}, {size.arcs}")
    table.add_row(
        "binary and integer variables in the paper's count", f"{size.binary}, {size.integer}"
    )
    table.add_row("constraints", f"{size.constraints}")
    table.add_row("bits and couplings of the QUBO", f"{qubo.variable_count}, {qubo.coupling_count}")
    console.print(f"Network {number} of the paper: {qn.paper.NOTATIONS[number]}")
    console.print(table, "\n")


def _certify(console: Console, problem: qn.TrainingProblem, network: qn.BinaryNetwork) -> None:
    console.rule("[bold]3  A certificate")
    certificate = problem.certify(network)
    energy = problem.qubo().energy(problem.encode(network))
    console.print(f"A network drawn from fair coins:  {certificate!r}")
    console.print(f"The QUBO gives its full assignment the same energy: {energy}")
    for violation in list(certificate.violations)[:3]:
        console.print(f"   {violation}", highlight=False)
    own = qn.TrainingProblem(
        problem.topology, problem.input_spins, network.predict_outputs(problem.input_spins)
    )
    console.print(f"The same network, asked for its own outputs:  {own.certify(network)!r}\n")


def _write_files(console: Console, problem: qn.TrainingProblem, out: Path) -> None:
    from matplotlib import pyplot

    figure = problem.topology.draw().get_figure(root=True)
    assert figure is not None
    figure.savefig(out / "network.png", dpi=150)
    pyplot.close(figure)
    problem.qubo().save(out / "problem.qubo")
    console.print(
        f"Written: {out / 'network.png'} (a picture), {out / 'problem.qubo'} (for solvers)"
    )
