"""What the demo leaves behind: page, model, C code, QUBO, pictures and data.

Demonstration, folder -> files, each written whole.
"""

import csv
import io
from pathlib import Path
from typing import Any

import qubonn as qn
from qubonn.cli.demo_page import demo_page
from qubonn.cli.demonstration import Demonstration
from qubonn.cli.pictures import draw_network
from qubonn.cli.scores import save_model
from qubonn.estimator.problem_file import save_problem, sidecar_of
from qubonn.storage import write_whole


def write_demo(shown: Demonstration, out: Path) -> list[tuple[Path, str]]:
    """Write everything into a folder; return the files and what they are."""
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
