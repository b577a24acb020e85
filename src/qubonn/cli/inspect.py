"""``qubonn inspect``: any file of ours -> what it is, and a picture."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import numpy as np

import qubonn as qn
from qubonn.cli.options import EXISTING, file_to_write, screen_options
from qubonn.cli.predict import Model, load_model
from qubonn.cli.qubo import problem_facts, qubo_document, qubo_facts
from qubonn.cli.screen import Screen
from qubonn.drawing.figures import draw_couplings, draw_network
from qubonn.errors import FileFormatError, RangeError
from qubonn.estimator.files import SIDECAR, load_problem, sidecar_of
from qubonn.quadratic.files import READERS, WRITERS
from qubonn.storage import read_names


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
    """Say what FILE is: a model (.qubonn), a QUBO (.qubo, .npz) or a problem.

    Nothing in the file is run, and nothing is changed.
    """
    facts, document, draw = inspect_file(file, member)
    screen.facts(facts)
    if picture is not None:
        draw(picture)
        screen.note(f"{picture}: {picture.stat().st_size:,} bytes")
    screen.document({"file": str(file), **document})


Facts = list[tuple[str, str]]
Inspected = tuple[Facts, dict[str, Any], Callable[[Path], None]]
SHOWN = 12  # classes, columns


def inspect_file(path: Path, member: int) -> Inspected:
    """Find out what a file is by its name and its parts, and describe it."""
    if path.name.endswith(SIDECAR):
        return _problem(path)
    if path.suffix.lower() == ".qubonn" or "weight_bits" in read_names(path):
        return _model(path, member)
    if path.suffix.lower() in WRITERS:
        return _qubo(path)
    raise FileFormatError(
        f"{path} must be a model (.qubonn), a QUBO ({', '.join(READERS)}) or a problem "
        f"(*{SIDECAR}), by its name"
    )


def _model(path: Path, member: int) -> Inspected:
    model = load_model(path)
    if member > len(model.members):
        raise RangeError(f"{path} has {len(model.members)} networks; got --member {member}")
    network, trained = model.members[member - 1], model.trained
    card = (trained.committee_ if model.is_classifier else trained).summary()
    facts = [("what", f"{model.kind}: {card.title}"), *card.rows()]
    document: dict[str, Any] = {
        "kind": model.kind,
        "members": len(model.members),
        "inputs": network.topology.input_count,
        "outputs": network.topology.output_count,
        "weights": network.topology.weight_count,
        "biases": network.topology.neuron_count,
        "bytes": path.stat().st_size,
    }
    if model.is_classifier:
        more, details = _classifier(model)
        facts += more
        document |= details
    facts += [("file", f"{path}, {path.stat().st_size:,} bytes")]
    return facts, document, lambda out: draw_network(network, out)


def _classifier(model: Model) -> tuple[Facts, dict[str, Any]]:
    trained = model.trained
    accuracies = [member.accuracy for member in trained.members_]
    facts = [
        ("classes", _listed(trained.classes_)),
        ("columns", f"{model.column_count}" + ("" if model.names is None else ": ")
                    + ("" if model.names is None else _listed(model.names))),
        ("binariser", f"{type(trained.binariser_).__name__}, "
                      f"{model.members[0].topology.input_count} spins"),
        ("training accuracy", f"{np.mean(accuracies):.4f}, mean network"),
        ("violations", f"{trained.violation_count_:,} in the best network"),
        ("interrupted", "yes" if trained.is_interrupted_ else "no"),
    ]  # fmt: skip
    document = {
        "classes": trained.classes_.tolist(),
        "columns": model.column_count,
        "names": None if model.names is None else list(model.names),
        "member_accuracies": accuracies,
        "violation_count": int(trained.violation_count_),
        "is_interrupted": bool(trained.is_interrupted_),
    }
    return facts, document


def _qubo(path: Path) -> Inspected:
    qubo = qn.Qubo.load(path)
    facts = [("what", "QUBO"), *qubo_facts(qubo)]
    if Path(sidecar_of(path)).exists():
        facts += [("description", sidecar_of(path))]
    document = {"kind": "qubo", **qubo_document(qubo), "bytes": path.stat().st_size}
    return facts, document, lambda out: draw_couplings(qubo, out)


def _problem(path: Path) -> Inspected:
    posed = load_problem(path)
    size = posed.problem.size
    facts = [
        ("what", "training problem"),
        ("examples", f"{posed.problem.example_count:,}"),
        ("classes", _listed(posed.encoding.book.classes)),
        *problem_facts(posed),
        ("variables", f"{size.qubo_variables:,} in its QUBO"),
    ]
    document = {
        "kind": "problem",
        "examples": posed.problem.example_count,
        "classes": posed.encoding.book.classes.tolist(),
        "constraints": size.constraints,
        "variables": size.qubo_variables,
    }
    return facts, document, lambda out: draw_couplings(posed.problem.qubo(), out)


def _listed(values: Any) -> str:
    shown = [str(value) for value in values[:SHOWN]]
    return ", ".join(shown) + (f" and {len(values) - SHOWN} more" if len(values) > SHOWN else "")
