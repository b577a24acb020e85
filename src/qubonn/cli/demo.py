"""``qubonn demo``: letters -> network -> energy -> committee -> files and a page to look at."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from qubonn.cli.options import screen_options, seed_option
from qubonn.cli.screen import Screen

if TYPE_CHECKING:
    from qubonn.cli.demonstration import Demonstration

ACROSS = 10  # test images in a row: those of one letter


@click.command(epilog="Example:  qubonn demo --network 5 -o pictures")
@click.option(
    "--network",
    type=click.IntRange(0, 17),
    default=10,
    show_default=True,
    help="Which network of the paper.",
)
@seed_option
@click.option(
    "-o",
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the page, the model, its C code, the QUBO and the data.",
)
@screen_options
def command(network: int, seed: int, out: Path, screen: Screen) -> None:
    """Show the whole road on the paper's letters, in seconds.

    Trains a network of -1 and +1 as the paper does, with margins and as a committee; certifies it
    against its QUBO; reads the test images; and leaves a page with pictures, the model, C code for
    a device, and files for the other commands.
    """
    from qubonn.cli.demo_files import write_demo
    from qubonn.cli.demonstration import compile_engine, demonstrate

    with screen.working("Compiling the annealer; only the first run on a machine does this ..."):
        compiling = compile_engine()
    with screen.working("Training ..."):
        shown = demonstrate(network, seed)
    _show_letters(screen, shown)
    _show_problem(screen, shown)
    _show_training(screen, shown, compiling)
    _show_test(screen, shown)
    out.mkdir(parents=True, exist_ok=True)
    with screen.working("Drawing ..."):
        written = write_demo(shown, out)
    screen.heading("Written")
    screen.facts((str(path), f"{path.stat().st_size:,} bytes, {what}") for path, what in written)
    screen.heading("Next")
    screen.say("\n".join(next_steps(out)))
    screen.document(_document(shown, [str(path) for path, _ in written]))


def next_steps(out: Path) -> tuple[str, ...]:
    """Return what to try after the demo, as commands for a shell."""
    import shlex

    def at(name: str) -> str:
        return shlex.quote(str(out / name))

    return (
        f"open {at('index.html')} in a browser",
        f"qubonn predict {at('model.qubonn')} {at('letters-test.csv')} --target letter --proba",
        f"qubonn train {at('letters-test.csv')} --target letter --image 5x5",
        f"qubonn inspect {at('problem.qubo')} --picture couplings.png",
        "qubonn train YOUR.csv --target COLUMN     qubonn --help",
    )


def _show_letters(screen: Screen, shown: "Demonstration") -> None:
    letters = shown.letters
    screen.heading("Four letters, one training image each")
    titles = [
        f"{label} {' '.join(f'{spin:+d}' for spin in output)}"
        for label, output in zip(letters.train_labels, letters.train_outputs, strict=True)
    ]
    screen.say(_side_by_side(screen, letters.train_inputs, titles))


def _show_problem(screen: Screen, shown: "Demonstration") -> None:
    import qubonn as qn

    size, qubo = shown.margin.posed.problem.size, shown.qubo
    screen.heading(f"Network {shown.number} of the paper: {qn.paper.NOTATIONS[shown.number]}")
    screen.facts(
        [
            ("neurons, connections", f"{size.nodes}, {size.arcs}"),
            ("weights and biases", f"{shown.topology.weight_count + shown.topology.neuron_count}, "
                                   "all -1 or +1"),
            ("constraints to satisfy", f"{size.constraints}"),
            ("as a QUBO", f"{qubo.variable_count} bits, {qubo.coupling_count:,} couplings"),
        ]
    )  # fmt: skip


def _show_training(screen: Screen, shown: "Demonstration", compiling: float) -> None:
    plain, margin = shown.plain, shown.margin
    certificate = plain.result.certificate()
    energy = plain.posed.problem.qubo().energy(plain.posed.problem.encode(plain.result.network))
    count = plain.posed.problem.size.constraints
    verdict = "satisfies" if certificate.is_feasible else "does not satisfy"
    screen.heading("Annealing weights, biases and activations")
    screen.say(
        f"{len(plain.result.networks)} networks in {1e3 * plain.seconds:.0f} ms, with margins in "
        f"{1e3 * margin.seconds:.0f} ms (compiling or loading took {compiling:.1f} s)\n"
        f"The best one {verdict} all {count} constraints: H1 = {certificate.terms.activation}, "
        f"H2 = {certificate.terms.product}, and the QUBO gives it energy {energy:g}"
    )
    for violation in list(certificate.violations)[:3]:
        screen.say(f"   {violation}")


def _show_test(screen: Screen, shown: "Demonstration") -> None:
    import numpy as np

    letters = shown.letters
    screen.heading("The 40 test images, two pixels inverted each")
    said = shown.predicted(letters.test_inputs, shown.voters)
    titles = [
        f"  {one}" if one == wanted else f"{one} not {wanted}"
        for one, wanted in zip(said, letters.test_labels, strict=True)
    ]
    for start in range(0, len(titles), ACROSS):
        part = slice(start, start + ACROSS)
        screen.say(_side_by_side(screen, letters.test_inputs[part], titles[part], wide=False))
    right = int((np.array(said) == letters.test_labels).sum())
    screen.say(f"The committee reads {right} of {len(said)} right.\n")
    screen.table(
        ["on the test images", "accuracy"],
        [(way.name, f"{way.accuracy:.3f}") for way in shown.ways],
    )


def _side_by_side(screen: Screen, images: Any, titles: list[str], *, wide: bool = True) -> str:
    """Return images beside each other, each with a line below it."""
    from qubonn.datasets import as_text

    marks = ("██", "··") if wide else ("█", "·")
    if not screen.has_blocks:
        marks = ("##", "..") if wide else ("#", ".")
    drawn = [as_text(image).replace("#", marks[0]).replace(".", marks[1]) for image in images]
    width = max(5 * len(marks[0]), *map(len, titles)) + 2
    lines = [
        "".join(line.ljust(width) for line in parts).rstrip()
        for parts in zip(*(image.split("\n") for image in drawn), strict=True)
    ]
    return "\n".join([*lines, "".join(title.ljust(width) for title in titles).rstrip(), ""])


def _document(shown: "Demonstration", written: list[str]) -> dict[str, Any]:
    certificate = shown.plain.result.certificate()
    return {
        "network": shown.number,
        "is_feasible": certificate.is_feasible,
        "violation_count": certificate.violations.count,
        "test_accuracies": {way.name: way.accuracy for way in shown.ways},
        "written": written,
    }
