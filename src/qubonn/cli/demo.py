"""``qubonn demo``: letters -> network -> energy -> committee -> files and a page to look at."""

import csv
import io
import time
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

import qubonn as qn
from qubonn.checks import SpinMatrix
from qubonn.cli.options import screen_options, seed_option
from qubonn.cli.screen import Screen
from qubonn.cli.train import save_model
from qubonn.datasets import Letters
from qubonn.drawing.figures import draw_network
from qubonn.estimator.files import save_problem, sidecar_of
from qubonn.estimator.plan import PosedProblem, pose
from qubonn.storage import write_whole
from qubonn.training import TrainingResult

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


MARGIN = 0.02  # gamma
COMMITTEE = 25  # networks
NO_TARGET = -1e6  # below every energy: asks for reports every ten sweeps


@dataclass(frozen=True, eq=False)
class Run:
    """One training of all replicas: what it found, how the energy fell, how long it took."""

    posed: PosedProblem
    result: TrainingResult
    sweeps: tuple[int, ...]
    energies: tuple[float, ...]  # the lowest of all replicas, after so many sweeps
    seconds: float

    def committee(self, size: int) -> "qn.Committee":
        """Let the feasible networks of lowest energy vote; all, where none is feasible."""
        return self.result.committee(size)


@dataclass(frozen=True)
class Way:
    """A way to train, and what it reaches on the test images."""

    name: str
    accuracy: float
    explanation: str


@dataclass(frozen=True, eq=False)
class Demonstration:
    """Everything that a terminal or a page shows."""

    number: int
    letters: Letters
    plain: Run  # the paper's training, gamma 0
    margin: Run

    @property
    def topology(self) -> "qn.Topology":
        """The network's graph."""
        return self.plain.posed.problem.topology

    @cached_property
    def qubo(self) -> "qn.Qubo":
        """The QUBO of the training with margins."""
        return self.margin.posed.problem.qubo()

    @cached_property
    def voters(self) -> "qn.Committee":
        """The committee that is kept as the model."""
        return self.margin.committee(COMMITTEE)

    @cached_property
    def plain_voters(self) -> "qn.Committee":
        """The same without margins; smaller where fewer networks are feasible."""
        return self.plain.committee(COMMITTEE)

    def predicted(self, inputs: SpinMatrix, voter: "qn.BinaryNetwork | qn.Committee") -> list[str]:
        """Return the letters that somebody sees in images."""
        book = self.plain.posed.encoding.book
        return [str(name) for name in book.decode(voter.predict_outputs(inputs))]

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """Single networks and committees, without and with margins, on the test images."""
        plain, margin = self.plain.result, self.margin.result
        typical = plain.feasible_networks or plain.networks
        return (
            Way(
                "one network, as in the paper",
                float(np.mean([self._accuracy(network) for network in typical])),
                f"mean of {len(typical)} networks without margins; "
                f"{len(plain.feasible_networks)} satisfy every constraint",
            ),
            Way(
                f"one network, margins {MARGIN:g}",
                self._accuracy(margin.network),
                "the network of lowest energy with the margin reward",
            ),
            Way(
                f"{len(self.plain_voters)} networks vote",
                self._accuracy(self.plain_voters),
                "networks of one run without margins: they cost nothing more",
            ),
            Way(
                f"{len(self.voters)} vote, margins {MARGIN:g}",
                self._accuracy(self.voters),
                "networks of one run with the margin reward: this is the model that is kept",
            ),
        )

    def _accuracy(self, voter: "qn.BinaryNetwork | qn.Committee") -> float:
        return voter.accuracy(self.letters.test_inputs, self.letters.test_outputs)


def demonstrate(number: int, seed: int) -> Demonstration:
    """Train a network of the paper on the letters in all ways."""
    qn.paper.topology(number)  # refuses numbers that the paper does not have
    letters = qn.datasets.letters(seed=seed)
    return Demonstration(
        number, letters, _run(letters, number, 0, seed), _run(letters, number, MARGIN, seed)
    )


def compile_engine() -> float:
    """Have the kernels compiled on a tiny problem; return the seconds that took."""
    start = time.perf_counter()
    tiny = qn.TrainingProblem(qn.Topology.dense(2, 1, 1), [[1, 1], [1, -1]], [[1], [-1]])
    qn.LiftedAnnealing(sweep_count=1).solve(tiny)
    return time.perf_counter() - start


def _run(letters: Letters, number: int, margin_strength: float, seed: int) -> Run:
    posed = _posed(letters, number, margin_strength)
    steps: list[tuple[float, float]] = []
    engine = qn.LiftedAnnealing()
    start = time.perf_counter()
    result = qn.train(
        posed.problem,
        engine,
        seed=seed,
        target_energy=NO_TARGET,
        progress=lambda step: steps.append((step.part, step.best_energy)),
    )
    seconds = time.perf_counter() - start
    sweeps = tuple(round(part * result.info["sweeps"]) for part, _ in steps)
    return Run(posed, result, sweeps, tuple(energy for _, energy in steps), seconds)


def _posed(letters: Letters, number: int, margin_strength: float) -> PosedProblem:
    book = qn.CodeBook(letters.train_labels, letters.train_outputs)
    rows, columns = letters.image_shape
    names = [
        f"row {row + 1} column {column + 1}" for row in range(rows) for column in range(columns)
    ]
    return pose(
        letters.train_inputs,
        letters.train_labels,
        topology=qn.paper.NOTATIONS[number],
        image_shape=letters.image_shape,
        binariser=qn.Threshold(0),
        label_code=book,
        margin_strength=margin_strength,
        names=names,
        target="letter",
    )


def write_demo(shown: Demonstration, out: Path) -> list[tuple[Path, str]]:
    """Write everything into a folder; return the files and what they are."""
    from qubonn.cli.demo_page import demo_page

    posed, letters = shown.margin.posed, shown.letters
    classifier = posed.classifier(shown.voters.members)
    save_model(classifier, posed.names, out / "model.qubonn")
    qn.to_c(classifier, out / "model.h", name="letters", with_main=True)
    draw_network(shown.margin.result.network, out / "network.png")
    shown.qubo.save(out / "problem.qubo")
    save_problem(posed, sidecar_of(out / "problem.qubo"))
    for part in ("train", "test"):
        rows = (getattr(letters, f"{part}_inputs"), getattr(letters, f"{part}_labels"))
        write_whole(out / f"letters-{part}.csv", _csv(posed.names or (), *rows))
    picture = (out / "network.png").read_bytes()
    write_whole(out / "index.html", demo_page(shown, out, picture).encode())
    return [
        (out / "index.html", "all of this as a page"),
        (out / "model.qubonn", f"{len(shown.voters)} networks that vote"),
        (out / "model.h", "the same as C, for a device"),
        (out / "network.png", "the network"),
        (out / "problem.qubo", "the training problem for an Ising machine"),
        (Path(sidecar_of(out / "problem.qubo")), "what its bits mean, for qubonn decode"),
        (out / "letters-train.csv", "4 images"),
        (out / "letters-test.csv", "40 images"),
    ]


def _csv(names: tuple[str, ...], inputs: Any, labels: Any) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*names, "letter"])
    writer.writerows([*row, label] for row, label in zip(inputs.tolist(), labels, strict=True))
    return text.getvalue().encode()
