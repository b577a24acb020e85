"""Fewer lookup tables by weight decay: accuracy against the size of a circuit.

    python benchmarks/circuit_decay.py [--mnist FOLDER] [--seeds 0 1 2] [--picture FILE]

Networks with one hidden layer, whose weights have three or five levels, with more and more decay,
beside plain ones of several widths: for the digits of scikit-learn, 64-64-10, or with --mnist for
MNIST, 784-320-10. A weight of zero is no wire. Accuracy is of a quarter of the digits, or of 10,000
of the training images of MNIST, that were left out. Lookup tables are those of the combinational
circuit for Xilinx 7 by yosys, counters kept apart, encoders included. Results are kept in the
folder: the same command goes on where it was stopped.
"""

import argparse
import json
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import qubonn as qn
from circuits import (
    FAMILIES,
    HELD_OUT,
    connections,
    fitted,
    key_of,
    mnist_arrays,
    remembered,
    synthesised,
)
from printing import head, show

DECAYS = {"digits": (0.0, 0.03, 0.1, 0.2, 0.4, 0.8), "MNIST": (0.03, 0.07, 0.1, 0.15, 0.2, 0.3)}
WIDTHS = {"digits": (8, 16, 32, 64), "MNIST": (16, 32)}
LEVELS = {"digits": (3, 5), "MNIST": (3,)}
HIDDEN = {"digits": 64, "MNIST": 320}
TICKS = (500, 700, 1000, 1500, 2000, 3000, 5000)  # of the picture
WIDE_TICKS = (10_000, 15_000, 20_000, 30_000, 50_000, 100_000)
Point = tuple[float, float]  # lookup tables, accuracy


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, help="folder with the four .gz files")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--folder", type=Path, default=Path("circuits"), help="results")
    parser.add_argument("--picture", type=Path, help="draw accuracy against lookup tables here")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    data = "MNIST" if arguments.mnist else "digits"
    head("hidden weights", "neurons", "decay", "zeros", "LUTs", "accuracy")
    curves: dict[str, list[Point]] = {}
    for name, options in settings(data):
        rows = []
        for seed in arguments.seeds:
            key = key_of(json.dumps([data, seed, options]))
            run = partial(measured, arguments.mnist, {**options, "random_state": seed})
            rows.append(remembered(arguments.folder / f"{key}.json", run))
        zeros, luts, accuracy = np.mean(rows, axis=0)
        cells = name, options["hidden"], options.get("weight_decay", "")
        show(*cells, f"{100 * zeros:.0f} %", f"{luts:,.0f}", f"{100 * accuracy:.1f} %")
        curves.setdefault(name, []).append((float(luts), float(100 * accuracy)))
    if arguments.picture:
        draw(data, curves, arguments.picture)


def settings(data: str) -> list[tuple[str, dict[str, Any]]]:
    level = {"digits": 7, "MNIST": 3}[data]  # that few gates compare with
    found: list[tuple[str, dict[str, Any]]] = []
    for levels in LEVELS[data]:
        own = {"hidden": HIDDEN[data], "weight_levels": (levels, 2), "threshold_levels": (9, 2)}
        found += [(f"{levels} levels", {**own, "weight_decay": decay}) for decay in DECAYS[data]]
    found += [("-1 and +1", {"hidden": width}) for width in WIDTHS[data]]
    return [(name, {**options, "binariser": level}) for name, options in found]


def measured(mnist: Path | None, options: dict[str, Any]) -> tuple[float, float, float]:
    """Return the share of zeros among hidden weights, lookup tables and accuracy."""
    X, y = mnist_arrays(mnist)[:2] if mnist else load_digits(return_X_y=True)
    held_out = HELD_OUT if mnist else 0.25
    seed = options["random_state"]
    known, new, labels, wanted = train_test_split(
        X, y, test_size=held_out, random_state=seed, stratify=y
    )
    classifier = fitted(known, labels, options)
    source = qn.to_verilog(classifier, name="net", inputs="uint8", lut_inputs=6)
    with TemporaryDirectory() as folder:
        result = synthesised(source, FAMILIES["Xilinx 7"], Path(folder), is_apart=True)
    zeros = float((connections(classifier.committee_.members[0]) == 0).mean())
    return zeros, result["luts"], classifier.score(new, wanted)


def draw(data: str, curves: dict[str, list[Point]], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for (name, points), mark in zip(curves.items(), "osv", strict=False):
        axes.plot(*np.transpose(points), marker=mark, label=f"hidden weights: {name}")
    axes.set(
        xscale="log",
        xlabel="lookup tables of six inputs, combinational, encoders included",
        ylabel="accuracy on images left out, %",
        title=f"{data}: weight decay against width",
    )
    low, high = axes.get_xlim()
    ticks = [tick for tick in TICKS + WIDE_TICKS if low <= tick <= high]
    axes.set_xticks(ticks, labels=[f"{tick:,}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
