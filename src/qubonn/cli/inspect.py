"""``qubonn inspect``: a model, a QUBO or a problem -> what it holds, and a picture."""

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

import qubonn as qn
from qubonn import estimator
from qubonn.cli import options
from qubonn.cli.predict import LoadedModel, load_model
from qubonn.cli.qubo import contradictions_document, problem_facts, qubo_document
from qubonn.cli.screen import Screen
from qubonn.errors import FileFormatError, RangeError

Facts = list[tuple[str, str]]
Inspected = tuple[Facts, dict[str, Any], Callable[[Path], None]]
SHOWN = 12  # classes, columns
MODEL = {"weight_bits", "committee_weight_bits"}  # one of them is in each model's file


@click.command(
    epilog="""Examples:

\b
  qubonn inspect model.qubonn
  qubonn inspect model.qubonn --picture network.png
  qubonn inspect problem.qubo --picture couplings.png --json
  qubonn inspect problem.qubo.problem.npz --precision --embed"""
)
@click.argument("file", type=options.EXISTING)
@click.option(
    "--picture",
    type=options.NewFile(".png", ".svg", ".pdf"),
    help="Draw the network, or the couplings of a QUBO: .png, .svg or .pdf.",
)
@click.option("--member", type=click.IntRange(1), default=1, help="Network of a committee to draw.")
@click.option(
    "--precision",
    is_flag=True,
    help="Of a problem: anneal its QUBO rounded to fewer and fewer bits.",
)
@click.option(
    "--embed",
    is_flag=True,
    help="Of a problem or QUBO: embed it with minorminer, up to 60 s a graph.",
)
@options.screen
def command(
    file: Path, picture: Path | None, member: int, precision: bool, embed: bool, screen: Screen
) -> None:
    """Describe a model, a QUBO or a problem, and draw it.

    FILE is a model (.qubonn), a QUBO (.qubo, .npz, .coo, .json, .mtx, .rudy) or a problem
    (.problem.npz).
    """
    if precision and not file.name.endswith(estimator.SIDECAR):
        raise RangeError(f"--precision needs a problem (*{estimator.SIDECAR}); got {file}")
    with screen.working("Looking for embeddings ...") if embed else nullcontext():
        facts, document, draw = _inspected(file, member, embed)
    screen.facts(*facts)
    if precision:
        document["precision"] = _precision(file, screen)
    if picture is not None:
        draw(picture)
        screen.note(f"{picture}: {picture.stat().st_size:,} bytes")
    screen.document(file=str(file), **document)


def _inspected(path: Path, member: int, embed: bool) -> Inspected:
    """Return facts, JSON and a function that draws, for any file that qubonn writes."""
    from qubonn.quadratic.files import READERS, WRITERS, suffix_of
    from qubonn.storage import read_names

    if path.name.endswith(estimator.SIDECAR):
        return _problem(path, embed)
    if path.suffix.lower() == ".qubonn" or MODEL & set(read_names(path)):
        return _model(load_model(path), member)
    if suffix_of(path) in WRITERS:
        return _qubo(path, embed)
    raise FileFormatError(
        f"{path} must be a model (.qubonn), a QUBO ({', '.join(READERS)}) or a problem "
        f"(*{estimator.SIDECAR}), by its name"
    )


def _model(model: LoadedModel, member: int) -> Inspected:
    from qubonn.drawing.pictures import draw_network
    from qubonn.export import device_bytes
    from qubonn.network.summary import DEVICE

    if member > len(model.members):
        raise RangeError(f"{model.path} has {len(model.members)} networks; got --member {member}")
    network, size = model.members[member - 1], model.path.stat().st_size
    topology, card = network.topology, getattr(model.trained, "committee_", model.trained).summary()
    facts = [("kind", f"{model.kind}: {card.title}"), *card.rows()]
    # a classifier has thresholds too
    stored = device_bytes(model.trained) if model.kind == "classifier" else card.byte_count
    facts = [(name, f"{stored:,}" if name == DEVICE else value) for name, value in facts]
    document = {
        "kind": model.kind,
        "members": len(model.members),
        "inputs": topology.column_count,
        "outputs": topology.output_count,
        "weights": topology.weight_count,
        "biases": topology.neuron_count,
        "device_bytes": stored,
        "bytes": size,
    }
    if model.kind == "classifier":
        more, learned = _classifier(model)
        facts, document = facts + more, document | learned
    facts += [("file", f"{model.path}, {size:,} bytes")]
    return facts, document, lambda out: draw_network(network, out)


def _classifier(model: LoadedModel) -> tuple[Facts, dict[str, Any]]:
    trained = model.trained
    accuracies = [member.accuracy for member in trained.members_]
    document = {
        "classes": trained.classes_.tolist(),
        "columns": model.column_count,
        "names": None if model.names is None else list(model.names),
        "categories": {
            str(column) if model.names is None else model.names[column]: list(words)
            for column, words in model.categories.items()
        },
        "member_accuracies": accuracies,
        "violation_count": int(trained.violation_count_),
        "is_interrupted": bool(trained.is_interrupted_),
    }
    return made_facts(model), document


def made_facts(model: LoadedModel) -> Facts:
    """Return what the file of a classifier says about its data and its training."""
    trained, members = model.trained, model.trained.members_
    names = "" if model.names is None else f": {_listed(model.names)}"
    spins = model.members[0].topology.column_count
    accuracy = sum(member.accuracy for member in members) / len(members)
    solvers = sorted({member.solver for member in members})
    seconds = sum(member.seconds for member in members)
    count, version = trained.example_count_, trained.version_
    return [
        ("classes", _listed(trained.classes_)),
        ("columns", f"{model.column_count}{names}"),
        ("binariser", f"{type(trained.binariser_).__name__}, {spins} spins"),
        *_words(model),
        ("training examples", "not in this file" if count is None else f"{count:,}"),
        ("design", _design(trained)),
        ("engine", f"{', '.join(solvers)}, {seconds:.2f} s"),
        ("seed", "none" if trained.random_state is None else str(trained.random_state)),
        ("training accuracy", f"{accuracy:.4f}, mean network"),
        ("violations", f"{trained.violation_count_:,} in the best network"),
        ("interrupted", "yes" if trained.is_interrupted_ else "no"),
        ("trained by", "not in this file" if version is None else f"qubonn {version}"),
    ]


def _design(trained: Any) -> str:
    design = trained.design_
    if design is None:
        return "a given topology"
    hidden = "no hidden layer" if not design.hidden else f"hidden {_listed(design.hidden)}"
    settings = {name: value for name, value in vars(design).items() if name != "hidden" and value}
    return ", ".join(
        [hidden, *(f"{name.replace('_', ' ')} {value}" for name, value in settings.items())]
    )


def _words(model: LoadedModel) -> Facts:
    """Return the words of each column of text, and whether others have a spin."""
    from qubonn.encoding.table_encoder import ABOVE

    facts = []
    for column, words in model.categories.items():
        name = f"column {column + 1}" if model.names is None else model.names[column]
        encoder = model.trained.binariser_
        has_other = (encoder.rule_of[encoder.column_of == column] == ABOVE).any()
        shown = [_listed(words)] * bool(words) + ["any other word"] * bool(has_other)
        facts.append((f"words of {name}", "; ".join(shown) or "none"))
    return facts


def _qubo(path: Path, embed: bool) -> Inspected:
    from qubonn.drawing.cards import qubo_facts
    from qubonn.drawing.pictures import draw_couplings
    from qubonn.quadratic.hardware import hardware_of

    qubo = qn.Qubo.load(path)
    hardware = hardware_of(qubo, embed=embed)
    facts = [("kind", "QUBO"), *qubo_facts(qubo), *hardware.facts()]
    if Path(sidecar := estimator.sidecar_of(path)).exists():
        facts += [("description", sidecar)]
    document = {"kind": "qubo", **qubo_document(qubo), "bytes": path.stat().st_size}
    document["hardware"] = asdict(hardware)
    return facts, document, lambda out: draw_couplings(qubo, out)


def _problem(path: Path, embed: bool) -> Inspected:
    from qubonn.drawing.pictures import draw_couplings

    posed = estimator.PosedProblem.load(path)
    hardware = posed.problem.hardware(embed=embed)
    problem, classes = posed.problem, posed.encoding.book.classes
    facts = [
        ("kind", "training problem"),
        ("examples", f"{problem.example_count:,}"),
        ("classes", _listed(classes)),
        *problem_facts(posed),
        ("variables", f"{problem.size.qubo_variables:,} in its QUBO"),
        ("couplings", f"{hardware.coupling_count:,}"),
        *hardware.facts(),
    ]
    document = {
        "kind": "problem",
        "examples": problem.example_count,
        "classes": classes.tolist(),
        "constraints": problem.size.constraints,
        "variables": problem.size.qubo_variables,
        "hardware": asdict(hardware),
        **contradictions_document(problem),
    }
    return facts, document, lambda out: draw_couplings(problem.qubo(), out)


def _precision(path: Path, screen: Screen) -> list[dict[str, Any]]:
    """Write how many of 100 samples are feasible at each precision."""
    from qubonn.training import precision_curve

    problem = estimator.PosedProblem.load(path).problem
    with screen.working("Annealing the rounded QUBO ..."):
        found = list(precision_curve(problem))
    screen.say(f"\nFeasible samples of {found[0].sample_count}, by bits of the Ising coefficients:")
    screen.table(
        ["bits", "lowest energy", "as sampled", "after repair"],
        [
            ["exact" if one.bit_count is None else one.bit_count, f"{one.lowest_energy:g}",
             one.feasible_as_sampled, one.feasible_after_repair]
            for one in found
        ],
    )  # fmt: skip
    return [asdict(one) for one in found]


def _listed(values: Any) -> str:
    shown = ", ".join(str(value) for value in values[:SHOWN])
    return shown + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")
