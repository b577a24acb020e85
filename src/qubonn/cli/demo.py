"""``qubonn demo``: letters -> network -> QUBO -> anneal -> certificate, and files to look at."""

from pathlib import Path

import click
from rich.columns import Columns
from rich.console import Console
from rich.panel import Panel
from rich.table import Table

import qubonn as qn
from qubonn.checks import SpinVector
from qubonn.datasets import Letters, as_text

__all__ = ["command"]


@click.command(epilog="Example:  qubonn demo --network 5 --out pictures")
@click.option("--network", default=10, show_default=True, help="Network 0 to 17 of the paper.")
@click.option("--seed", default=0, show_default=True, help="Seed of test images and annealing.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the picture, the QUBO and the model.",
)
def command(network: int, seed: int, out: Path) -> None:
    """Show the whole road on the paper's letters, in seconds.

    Shows the training images, draws a network, builds the QUBO that trains it, anneals it, and
    certifies the network that was found against the QUBO.
    """
    console = Console()
    topology = qn.paper.topology(network)
    letters = qn.datasets.letters(seed=seed)
    problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
    out.mkdir(parents=True, exist_ok=True)

    console.rule("[bold]1  Four letters, one training image each")
    _show_letters(console, letters)
    console.rule("[bold]2  A network and its training problem as a QUBO")
    qubo = _show_problem(console, problem, network)
    console.rule("[bold]3  Annealing")
    samples = _anneal(console, qubo, seed)
    console.rule("[bold]4  The network that was found, and its certificate")
    found = problem.decode(samples.best)
    _certify(console, problem, qubo, found)
    _show_accuracy(console, letters, found)
    _write_files(console, problem, qubo, found, out)


def _show_letters(console: Console, letters: Letters) -> None:
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


def _blocks(image: SpinVector) -> str:
    return as_text(image).replace("#", "██").replace(".", "··")


def _show_problem(console: Console, problem: qn.TrainingProblem, number: int) -> qn.Qubo:
    size, qubo = problem.size, problem.qubo()
    table = Table("", "count", box=None, pad_edge=False)
    table.add_row("neurons, connections", f"{size.nodes}, {size.arcs}")
    table.add_row("binary, integer variables (paper)", f"{size.binary}, {size.integer}")
    table.add_row("constraints", f"{size.constraints}")
    table.add_row("bits, couplings of the QUBO", f"{qubo.variable_count}, {qubo.coupling_count}")
    console.print(f"Network {number} of the paper: {qn.paper.NOTATIONS[number]}")
    console.print(table)
    console.print()
    return qubo


def _anneal(console: Console, qubo: qn.Qubo, seed: int) -> qn.Samples:
    annealer = qn.SimulatedAnnealing()
    with console.status("Compiling the annealer; only the first run on a machine does this ..."):
        qn.SimulatedAnnealing(replica_count=100, sweep_count=1).sample(qubo)
    with console.status("Annealing ..."):
        samples = annealer.sample(qubo, seed=seed)
    zero_count = int((samples.energies == 0).sum())
    console.print(
        f"{len(samples):,} replicas x {samples.info['sweeps']:,} sweeps in "
        f"{samples.info['seconds']:.2f} s, temperatures {samples.info['hottest']:.3g} to "
        f"{samples.info['coldest']:.3g} from the QUBO"
    )
    console.print(
        f"lowest energy {samples.best_energy}, mean {samples.energies.mean():.2f}; "
        f"{zero_count} replicas at energy 0 are networks that satisfy every constraint\n"
    )
    return samples


def _certify(
    console: Console, problem: qn.TrainingProblem, qubo: qn.Qubo, network: qn.BinaryNetwork
) -> None:
    certificate = problem.certify(network)
    energy = qubo.energy(problem.encode(network))
    terms = certificate.terms
    verdict = "satisfies" if certificate.is_feasible else "does not satisfy"
    console.print(f"The network {verdict} all {problem.size.constraints} constraints.")
    console.print(
        f"H1 = {terms.activation}, H2 = {terms.product} from its forward pass; the QUBO gives the "
        f"same assignment energy {energy}."
    )
    for violation in list(certificate.violations)[:3]:
        console.print(f"   {violation}", highlight=False)
    margins = certificate.margins
    console.print(f"Margins: S1 = {margins.s1}, S2 = {margins.s2}")


def _show_accuracy(console: Console, letters: Letters, network: qn.BinaryNetwork) -> None:
    training = network.accuracy(letters.train_inputs, letters.train_outputs)
    test = network.accuracy(letters.test_inputs, letters.test_outputs)
    console.print(f"Training accuracy {training:.3f}, on the 40 test images {test:.3f}")
    console.print("(one network without margins; see docs/engines.md for margins and committees)\n")


def _write_files(
    console: Console,
    problem: qn.TrainingProblem,
    qubo: qn.Qubo,
    network: qn.BinaryNetwork,
    out: Path,
) -> None:
    import matplotlib

    matplotlib.use("Agg")  # a file, whatever screen there is
    from matplotlib import pyplot

    figure = problem.topology.draw(weight_spins=network.weight_spins).get_figure(root=True)
    assert figure is not None
    figure.savefig(out / "network.png", dpi=150)
    pyplot.close(figure)
    qubo.save(out / "problem.qubo")
    network.save(out / "model.qubonn")
    console.print(f"Written to {out}: network.png, problem.qubo for any solver, model.qubonn.")
    console.print("Next: qubonn demo --network 5, or the example in the README.")
