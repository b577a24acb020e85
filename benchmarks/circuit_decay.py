"""Fewer lookup tables by weight decay: accuracy of digits against the size of their circuit.

    python benchmarks/circuit_decay.py [--seeds 0 1 2] [--picture FILE]

Networks 64-64-10 whose hidden weights have three or five levels, with more and more decay, beside
plain ones of several widths. A weight of zero is no wire. Accuracy is of a quarter of the images;
lookup tables are those of the combinational circuit for Xilinx 7 by yosys, encoders included.
"""

import argparse
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import qubonn as qn
from circuits import FAMILIES, connections, synthesised
from printing import head, show

DECAYS = (0.0, 0.03, 0.1, 0.2, 0.4, 0.8)
WIDTHS = (8, 16, 32, 64)
Point = tuple[float, float]  # lookup tables, accuracy


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--picture", type=Path, help="draw accuracy against lookup tables here")
    arguments = parser.parse_args()
    head("hidden weights", "neurons", "decay", "zeros", "LUTs", "accuracy")
    curves: dict[str, list[Point]] = {}
    for name, options in settings():
        rows = [measured(seed, options) for seed in arguments.seeds]
        zeros, luts, accuracy = np.mean(rows, axis=0)
        cells = name, options["hidden"], options.get("weight_decay", "")
        show(*cells, f"{100 * zeros:.0f} %", f"{luts:,.0f}", f"{100 * accuracy:.1f} %")
        curves.setdefault(name, []).append((float(luts), float(100 * accuracy)))
    if arguments.picture:
        draw(curves, arguments.picture)


def settings() -> list[tuple[str, dict[str, Any]]]:
    found: list[tuple[str, dict[str, Any]]] = []
    for levels in (3, 5):
        own = {"hidden": 64, "weight_levels": (levels, 2), "threshold_levels": (17, 2)}
        found += [(f"{levels} levels", {**own, "weight_decay": decay}) for decay in DECAYS]
    return found + [("-1 and +1", {"hidden": width}) for width in WIDTHS]


def measured(seed: int, options: dict[str, Any]) -> tuple[float, float, float]:
    """Return the share of zeros among hidden weights, lookup tables and accuracy."""
    X, y = load_digits(return_X_y=True)
    known, new, labels, wanted = train_test_split(X, y, random_state=seed, stratify=y)
    classifier = qn.QuboClassifier(
        binariser="threshold", committee_size=1, random_state=seed, **options
    ).fit(known, labels)
    network = classifier.committee_.members[0]
    source = qn.to_verilog(classifier, name="net", inputs="uint8", lut_inputs=6)
    with TemporaryDirectory() as folder:
        result = synthesised(source, FAMILIES["Xilinx 7"], Path(folder))
    zeros = float((connections(network) == 0).mean())
    return zeros, result["luts"], classifier.score(new, wanted)


def draw(curves: dict[str, list[Point]], path: Path) -> None:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4), layout="constrained")
    for (name, points), mark in zip(curves.items(), "osv", strict=True):
        axes.plot(*np.transpose(points), marker=mark, label=f"hidden weights: {name}")
    axes.set(
        xscale="log",
        xlabel="lookup tables of six inputs, combinational, encoders included",
        ylabel="per cent of held-out digits",
        title="Weight decay makes smaller circuits",
    )
    axes.grid(alpha=0.3, which="both")
    axes.legend()
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
