"""``qubonn demo``: letters -> network -> energy -> committee -> files and an HTML page."""

import shlex
import time
from base64 import b64encode
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import click

import qubonn as qn
from qubonn import estimator
from qubonn.cli import options
from qubonn.cli.screen import Screen
from qubonn.cli.train import save_model

MARGIN = 0.02  # gamma
COMMITTEE = 25  # networks
NO_TARGET = -1e6  # below every energy: the engine then reports every ten sweeps
ACROSS = 10  # test images in a row: those of one letter
SHOWN_NEURONS = 20  # in the table of sums


@click.command(epilog="Example:  qubonn demo --network 5 -o pictures")
@click.option("--network", type=click.IntRange(0, 17), default=10, help="Network of the paper.")
@options.seed
@click.option(
    "-o",
    "--out",
    type=options.FOLDER,
    default=Path("demo"),
    help="Folder for the page, the model, its C code, the QUBO and the data.",
)
@options.screen
def command(network: int, seed: int, out: Path, screen: Screen) -> None:
    """Train on the paper's letters and show every step, in seconds.

    Trains a network of -1 and +1 as in the paper, then with margins and as a committee; certifies
    it against its QUBO; predicts the test images; and writes a page with pictures, the model, C
    code for a device, and files for the other commands.
    """
    from qubonn.stopping import uninterrupted

    start = time.perf_counter()
    with screen.working("Compiling the annealer; only the first run on a machine does this ..."):
        tiny = qn.TrainingProblem(qn.Topology.dense(2, 1, 1), [[1, 1], [1, -1]], [[1], [-1]])
        uninterrupted(qn.LiftedAnnealing(sweep_count=1).solve(tiny))
    compiling = time.perf_counter() - start
    with screen.working("Training ..."):
        demo = demonstrate(network, seed)
    _show_problem(screen, demo)
    _show_training(screen, demo, compiling)
    _show_test(screen, demo)
    out.mkdir(parents=True, exist_ok=True)
    with screen.working("Drawing ..."):
        written = _write(demo, out)
    screen.heading("Written")
    screen.facts(*((str(path), f"{path.stat().st_size:,} bytes, {what}") for path, what in written))
    screen.heading("Next")
    screen.say("\n".join((f"open {shlex.quote(str(out / 'index.html'))}", *_next_steps(out))))
    screen.document(
        network=demo.number,
        is_feasible=demo.certificate.is_feasible,
        violation_count=demo.certificate.violations.count,
        test_accuracies=demo.accuracies,
        written=[str(path) for path, _ in written],
    )


@dataclass(frozen=True, eq=False)
class DemoRun:
    """One training of all replicas: its result, and the energy as it fell."""

    posed: "estimator.PosedProblem"
    result: "qn.TrainingResult"
    sweeps: list[int]
    energies: list[float]  # the lowest of all replicas, after each count of `sweeps`
    seconds: float

    @cached_property
    def voters(self) -> "qn.Committee":
        """The best feasible networks, or the best ones if none is feasible."""
        return self.result.committee(COMMITTEE)

    def predictions(self, voter: "qn.BinaryNetwork | qn.Committee", inputs: Any) -> list[str]:
        """Return the letters that a network or a committee predicts."""
        return [
            str(name) for name in self.posed.encoding.book.decode(voter.predict_outputs(inputs))
        ]


@dataclass(frozen=True, eq=False)
class Demonstration:
    """A network of the paper trained on the letters, without and with margins."""

    number: int
    notation: str  # of the layers, as in the paper
    letters: "qn.datasets.Letters"
    plain: DemoRun  # the paper's training, gamma 0
    margin: DemoRun  # its committee becomes the model
    qubo: "qn.Qubo"  # of the training with margins
    certificate: Any  # of the best network without margins
    certified_energy: float  # of this network, in its QUBO
    accuracies: dict[str, float]  # of single networks and committees, on the test images
    predicted: list[str]  # by the committee, for the test images
    right_count: int  # of the test images


def demonstrate(number: int, seed: int) -> Demonstration:
    """Train a network of the paper on the letters, without and with margins."""
    letters = qn.datasets.letters(seed=seed)
    plain, margin = (_run(letters, number, strength, seed) for strength in (0, MARGIN))
    problem, best = plain.posed.problem, plain.result.network
    predicted = margin.predictions(margin.voters, letters.test_inputs)
    return Demonstration(
        number,
        qn.paper.NOTATIONS[number],
        letters,
        plain,
        margin,
        qubo=margin.posed.problem.qubo(),
        certificate=plain.result.certificate(),
        certified_energy=float(problem.qubo().energy(problem.encode(best))),
        accuracies=accuracies_of(letters, plain, margin),
        predicted=predicted,
        right_count=int((letters.test_labels == predicted).sum()),
    )


def accuracies_of(
    letters: "qn.datasets.Letters", plain: DemoRun, margin: DemoRun
) -> dict[str, float]:
    """Return the accuracies on the test images, by a name of what predicts."""
    test = letters.test_inputs, letters.test_outputs
    each = [one.accuracy(*test) for one in plain.result.feasible_networks or plain.result.networks]
    return {
        "one network, as in the paper": sum(each) / len(each),
        f"one network, margins {MARGIN:g}": margin.result.network.accuracy(*test),
        f"{len(plain.voters)} networks vote": plain.voters.accuracy(*test),
        f"{len(margin.voters)} vote, margins {MARGIN:g}": margin.voters.accuracy(*test),
    }


def _run(letters: "qn.datasets.Letters", number: int, margin_strength: float, seed: int) -> DemoRun:
    from qubonn.stopping import uninterrupted

    rows, columns = letters.image_shape
    posed = qn.pose(
        letters.train_inputs,
        letters.train_labels,
        topology=qn.paper.NOTATIONS[number],
        image_shape=letters.image_shape,
        binariser=qn.Threshold(0),
        label_code=qn.CodeBook(letters.train_labels, letters.train_outputs),
        margin_strength=margin_strength,
        names=[f"row {r + 1} column {c + 1}" for r in range(rows) for c in range(columns)],
        target="letter",
    )
    steps: list[Any] = []
    watched: dict[str, Any] = {"target_energy": NO_TARGET, "progress": steps.append}
    start = time.perf_counter()
    result = uninterrupted(qn.train(posed.problem, qn.LiftedAnnealing(), seed=seed, **watched))
    seconds = time.perf_counter() - start
    sweeps = [round(step.part * result.info["sweeps"]) for step in steps]
    return DemoRun(posed, result, sweeps, [step.best_energy for step in steps], seconds)


def _show_problem(screen: Screen, demo: Demonstration) -> None:
    letters, problem = demo.letters, demo.margin.posed.problem
    topology, size = problem.topology, problem.size
    screen.heading("Four letters, one training image each")
    titles = [
        f"{label} {' '.join(f'{spin:+d}' for spin in output)}"
        for label, output in zip(letters.train_labels, letters.train_outputs, strict=True)
    ]
    screen.say(_side_by_side(screen, letters.train_inputs, titles, width=2))
    screen.heading(f"Network {demo.number} of the paper: {demo.notation}")
    parameters = topology.weight_count + topology.neuron_count
    screen.facts(
        ("neurons, connections", f"{size.nodes}, {size.arcs}"),
        ("weights and biases", f"{parameters}, all -1 or +1"),
        ("constraints", f"{size.constraints}"),
        ("QUBO", f"{size.qubo_variables} bits, {demo.qubo.coupling_count:,} couplings"),
    )


def _show_training(screen: Screen, demo: Demonstration, compiling: float) -> None:
    plain, terms = demo.plain, demo.certificate.terms
    constraints = plain.posed.problem.size.constraints
    screen.heading("Annealing weights, biases and activations")
    verdict = "satisfies" if demo.certificate.is_feasible else "does not satisfy"
    screen.say(
        f"{len(plain.result.networks)} networks in {1e3 * plain.seconds:.0f} ms, with margins in "
        f"{1e3 * demo.margin.seconds:.0f} ms (compiling or loading took {compiling:.1f} s)\n"
        f"The best network {verdict} all {constraints} constraints: H1 = {terms.activation}, "
        f"H2 = {terms.product}; its energy in the QUBO is {demo.certified_energy:g}"
    )
    for violation in list(demo.certificate.violations)[:3]:
        screen.say(f"   {violation}")


def _show_test(screen: Screen, demo: Demonstration) -> None:
    letters = demo.letters
    screen.heading("The 40 test images, two pixels inverted each")
    titles = [
        f"  {predicted}" if predicted == actual else f"{predicted} not {actual}"
        for predicted, actual in zip(demo.predicted, letters.test_labels, strict=True)
    ]
    for start in range(0, len(titles), ACROSS):
        part = slice(start, start + ACROSS)
        screen.say(_side_by_side(screen, letters.test_inputs[part], titles[part], width=1))
    screen.say(f"The committee predicts {demo.right_count} of {len(titles)} correctly.")
    screen.confusion("Test images", letters.classes, letters.test_labels, demo.predicted)
    screen.say("")
    rows = [(name, f"{accuracy:.3f}") for name, accuracy in demo.accuracies.items()]
    screen.table(["on the test images", "accuracy"], rows)


def _side_by_side(screen: Screen, images: Any, titles: list[str], width: int) -> str:
    """Return images beside each other, each with a line below it, a pixel `width` characters."""
    full, empty = ("█", "·") if screen.has_blocks else ("#", ".")
    pixels = str.maketrans({"#": full * width, ".": empty * width})
    drawn = [qn.datasets.as_text(image).translate(pixels).split("\n") for image in images]
    step = max(5 * width, *map(len, titles)) + 2
    lines = [*zip(*drawn, strict=True), titles, ""]
    return "\n".join("".join(part.ljust(step) for part in line).rstrip() for line in lines)


def _next_steps(out: Path) -> tuple[str, ...]:
    """Return commands to try after the demo."""
    files = ("model.qubonn", "letters-test.csv", "problem.qubo")
    model, letters, problem = (shlex.quote(str(out / name)) for name in files)
    return (
        f"qubonn predict {model} {letters} --target letter --proba",
        f"qubonn train {letters} --target letter --image 5x5",
        f"qubonn inspect {problem} --picture couplings.png",
        "qubonn train YOUR.csv --target COLUMN     qubonn --help",
    )


def _write(demo: Demonstration, out: Path) -> list[tuple[Path, str]]:
    """Write everything into a folder; return the files and what they are."""
    from qubonn.drawing.pictures import draw_network
    from qubonn.experiments.tables import csv_text
    from qubonn.storage import write_whole

    posed, letters = demo.margin.posed, demo.letters
    sidecar = Path(estimator.sidecar_of(out / "problem.qubo"))
    classifier = posed.classifier(demo.margin.voters.members)
    save_model(classifier, posed.names, out / "model.qubonn")
    qn.to_c(classifier, out / "model.h", name="letters", with_main=True)
    draw_network(demo.margin.result.network, out / "network.png")
    demo.qubo.save(out / "problem.qubo")
    posed.save(sidecar)
    for part in ("train", "test"):
        inputs, labels = getattr(letters, f"{part}_inputs"), getattr(letters, f"{part}_labels")
        lines = [[*row, label] for row, label in zip(inputs.tolist(), labels, strict=True)]
        text = csv_text([*(posed.names or ()), "letter"], lines)
        write_whole(out / f"letters-{part}.csv", text.encode())
    page = demo_page(demo, out, (out / "network.png").read_bytes())
    write_whole(out / "index.html", page.encode())
    return [
        (out / "index.html", "this demo as a page"),
        (out / "model.qubonn", f"{len(demo.margin.voters)} networks that vote"),
        (out / "model.h", "the same as C, for a device"),
        (out / "network.png", "the network"),
        (out / "problem.qubo", "the training problem for an Ising machine"),
        (sidecar, "what its bits mean, for qubonn decode"),
        (out / "letters-train.csv", "4 images"),
        (out / "letters-test.csv", "40 images"),
    ]


def demo_page(demo: Demonstration, out: Path, picture: bytes) -> str:
    """Return the demo as an HTML page; `picture` is a PNG of the network."""
    from sklearn.metrics import confusion_matrix

    from qubonn.drawing.pages import render
    from qubonn.drawing.pictures import bars_svg, curves_svg, input_images

    letters, network = demo.letters, demo.margin.result.network
    topology = network.topology
    weights = input_images(network)
    neurons = [f"hidden {n + 1}" for n in range(topology.hidden_count)]
    neurons += [f"output {n + 1}" for n in range(topology.output_count)]
    energies = {
        "without margins": (demo.plain.sweeps, demo.plain.energies),
        f"margins {MARGIN:g}": (demo.margin.sweeps, demo.margin.energies),
    }
    by_one = demo.plain.predictions(demo.plain.result.network, letters.test_inputs)
    predictions = {
        "One network, as in the paper": by_one,
        f"{len(demo.margin.voters)} networks vote": demo.predicted,
    }
    confusions = {
        name: confusion_matrix(letters.test_labels, predicted, labels=letters.classes)
        for name, predicted in predictions.items()
    }
    return render(
        "demo.html",
        title=f"Network {demo.number} learns four letters",
        demo=demo,
        parameter_count=topology.weight_count + topology.neuron_count,
        picture=b64encode(picture).decode("ascii"),
        weights=[] if weights is None else weights.tolist(),
        neurons=neurons[-SHOWN_NEURONS:],
        sums=network.forward(letters.train_inputs).pre_activations[:, -SHOWN_NEURONS:].tolist(),
        energy_chart=curves_svg("lowest energy of all replicas", "sweeps", energies),
        accuracy_chart=bars_svg("accuracy on the test images", demo.accuracies),
        confusions=confusions,
        steps=_next_steps(out),
    )
