"""Networks as circuits: lookup tables, registers, memory and speed on three families of chips.

    python benchmarks/circuits.py [--mnist FOLDER] [--only WORD ...] [--folder FOLDER]

Each model is trained, exported as Verilog in each style, encoders of its inputs included, and
synthesised by yosys for iCE40, ECP5 and Xilinx 7; nextpnr-ice40 places and routes what has pins for
its ports. The path of a combinational circuit is the largest number of cells in a row.
Models and results are kept in the folder: the same command goes on where it was stopped. With
MNIST, accuracy is of the 10,000 test images; parallel circuits of 784-128-10 take an hour and some
gigabytes of memory, and those of 784-512-10 are left out.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np

import qubonn as qn
from printing import head, show

STYLES = ("combinational", "pipelined", "serial")
FAMILIES = {
    "iCE40": "synth_ice40 -abc9 -device {device} -json placed.json -top {top}",
    "ECP5": "synth_ecp5 -top {top}",
    "Xilinx 7": "synth_xilinx -flatten -noiopad -noclkbuf -top {top}",
}
LUT_INPUTS = {"iCE40": 4, "ECP5": 4, "Xilinx 7": 6}
CHIPS = {"HX1K": ("--hx1k", "vq100"), "UP5K": ("--up5k", "sg48"), "HX8K": ("--hx8k", "ct256")}
SPARSE = {  # most hidden weights are 0
    "hidden": 128,
    "weight_levels": (3, 2),
    "threshold_levels": (9, 2),
    "weight_decay": 0.1,
    "random_state": 0,
}
PUBLISHED = (  # on MNIST
    ("FINN, SFC-max", "95.8 %", "91,131"),
    ("hls4ml, ternary", "95 %", "260,092"),
    ("NeuraLUT", "96 %", "54,798"),
    ("DWN", "97.8 %", "3,464"),
)


@dataclass(frozen=True)
class Model:
    """A model to train, how its circuit reads inputs, and which styles and chips are tried."""

    name: str
    train: Callable[[], tuple[Any, float]]
    options: dict[str, Any]
    chip: str
    parallel: tuple[str, ...] = tuple(FAMILIES)
    has_pins: bool = True  # for the ports of the parallel styles


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, help="folder with the four .gz files")
    parser.add_argument("--only", nargs="+", default=[], help="words that rows must contain")
    parser.add_argument("--folder", type=Path, default=Path("circuits"), help="models, results")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    head(
        "model", "accuracy", "style", "family", "LUTs", "registers", "RAM", "path", "chip", "speed"
    )
    for model in models(arguments.mnist):
        for style, family in rows_of(model):
            if all(word in f"{model.name} {style} {family}" for word in arguments.only):
                show(model.name, *measured(model, style, family, arguments.folder))
    print("\nPublished for MNIST:\n")
    head("circuit", "accuracy", "LUTs")
    for row in PUBLISHED:
        show(*row)


def rows_of(model: Model) -> Iterator[tuple[str, str]]:
    for style in STYLES:
        yield from ((style, f) for f in (FAMILIES if style == "serial" else model.parallel))


# ---- models ----


def models(mnist: Path | None) -> list[Model]:
    tenths: dict[str, Any] = {"inputs": "uint8", "scale": 10}
    pixels: dict[str, Any] = {"inputs": "uint8"}
    found = [
        Model("letters, 5 x 25-3-2", letters, {}, "HX1K"),
        Model("iris", iris, tenths, "HX1K"),
        Model("digits, 64-64-10", digits, pixels, "HX1K", has_pins=False),
    ]
    if mnist is not None:
        found += [
            Model(name, partial(mnist_digits, mnist, **options), pixels, chip, families, False)
            for name, chip, families, options in (
                ("MNIST, 784-128-10", "UP5K", ("Xilinx 7",), {"hidden": 128, "random_state": 2}),
                ("MNIST, 784-128-10, decay", "", ("Xilinx 7",), SPARSE),
                ("MNIST, 784-512-10", "", (), {"hidden": 512, "random_state": 0}),
            )
        ]
    return found


def letters() -> tuple[Any, float]:
    data = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(qn.paper.topology(10), data.train_inputs, data.train_outputs)
    committee = qn.train(problem, seed=0).committee(5)
    return committee, committee.accuracy(data.test_inputs, data.test_outputs)


def iris() -> tuple[Any, float]:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return split_score(X, y, hidden=8, committee_size=1, binariser=4)


def digits() -> tuple[Any, float]:
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    return split_score(X, y, hidden=64, committee_size=1, binariser="threshold")


def split_score(X: Any, y: Any, **options: Any) -> tuple[Any, float]:
    """Train on three quarters, and count right answers on the rest."""
    from sklearn.model_selection import train_test_split

    known, new, labels, wanted = train_test_split(X, y, random_state=0, stratify=y)
    classifier = qn.QuboClassifier(random_state=0, **options).fit(known, labels)
    return classifier, classifier.score(new, wanted)


def mnist_digits(folder: Path, **options: Any) -> tuple[Any, float]:
    train_images, train_labels, test_images, test_labels = mnist_arrays(folder)
    classifier = qn.QuboClassifier(committee_size=1, **options).fit(train_images, train_labels)
    return classifier, classifier.score(test_images, test_labels)


@cache
def mnist_arrays(folder: Path) -> tuple[Any, ...]:
    found: list[Any] = []
    for part in ("train", "t10k"):
        table = qn.datasets.read_table(
            folder / f"{part}-images-idx3-ubyte.gz",
            labels=folder / f"{part}-labels-idx1-ubyte.gz",
        )
        found += [np.asarray(table.inputs).reshape(len(table.inputs), -1), table.labels]
    return tuple(found)


def trained(model: Model, folder: Path) -> tuple[Any, float]:
    """Return a model and its accuracy, from the folder if it is there."""
    stem = re.sub(r"\W+", "_", model.name)
    path, score = folder / f"{stem}.qubonn", folder / f"{stem}.json"
    if not score.exists():
        found, accuracy = model.train()
        found.save(path)
        score.write_text(json.dumps(accuracy))
    return qn.load(path), json.loads(score.read_text())


# ---- synthesis ----


def measured(model: Model, style: str, family: str, folder: Path) -> list[str]:
    """Return the cells of a row after the name of the model."""
    found, accuracy = trained(model, folder)
    is_placed = family == "iCE40" and model.chip and (style == "serial" or model.has_pins)
    options: dict[str, Any] = {"style": style, "lut_inputs": LUT_INPUTS[family], **model.options}
    source = qn.to_verilog(found, name="net", **options)
    script = FAMILIES[family].format(top="net", device="u" if model.chip == "UP5K" else "hx")
    key = hashlib.sha256(f"{source}{script}{model.chip}".encode()).hexdigest()[:16]
    stored = folder / f"{key}.json"
    if not stored.exists():
        result = synthesised(source, script, folder / key)
        if is_placed:
            result |= placed(folder / key, model.chip)
        shutil.rmtree(folder / key)
        stored.write_text(json.dumps(result))
    result = json.loads(stored.read_text())
    counts = [f"{result[name]:,}" for name in ("luts", "registers", "rams")]
    counts.append(str(result["path"]) if style == "combinational" else "")
    chip = model.chip if is_placed else ""
    return [f"{100 * accuracy:.1f} %", style, family, *counts, chip, result.get("speed", "")]


def synthesised(source: str, script: str, folder: Path) -> dict[str, Any]:
    folder.mkdir(exist_ok=True)
    (folder / "net.v").write_text(source)
    steps = f"read_verilog net.v; {script}; tee -o stat.json stat -json; tee -o ltp.txt ltp -noff"
    subprocess.run(["yosys", "-q", "-p", steps], check=True, cwd=folder, capture_output=True)
    cells = json.loads((folder / "stat.json").read_text())["design"]["num_cells_by_type"]
    path = re.findall(r"length=(\d+)", (folder / "ltp.txt").read_text())
    return {
        "luts": counted(cells, r"(SB_)?LUT\d?") + 2 * counted(cells, "CCU2C"),
        "registers": counted(cells, r"SB_DFF.*|TRELLIS_FF|FD[A-Z]+"),
        "rams": counted(cells, r"SB_RAM40_4K|DP16KD|RAMB\d+E1"),
        "path": max(map(int, path), default=0),
        "cells": cells,
    }


def counted(cells: dict[str, int], pattern: str) -> int:
    return sum(count for name, count in cells.items() if re.fullmatch(pattern, name))


def placed(folder: Path, chip: str) -> dict[str, str]:
    """Place and route; return the speed, or why there is none."""
    if shutil.which("nextpnr-ice40") is None:
        return {"speed": "nextpnr-ice40 is not installed"}
    device, package = CHIPS[chip]
    command = ["nextpnr-ice40", device, "--package", package, "--json", "placed.json"]
    command += ["--pcf-allow-unconstrained", "--seed", "1"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if run.returncode:
        return {"speed": "does not fit"}
    clocked = re.findall(r"Max frequency for clock .*: ([\d.]+) MHz", run.stderr)
    through = re.findall(r"Max delay <async> +-> <async> *: ([\d.]+) ns", run.stderr)
    return {"speed": f"{clocked[-1]} MHz" if clocked else f"{through[-1]} ns"}


if __name__ == "__main__":
    main()
