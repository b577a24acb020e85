"""Networks as circuits: lookup tables, registers, memory and speed on three families of chips.

    python benchmarks/circuits.py [--mnist FOLDER] [--only WORD ...] [--minutes 10]

Each model is trained, exported as Verilog in each style, encoders of its inputs included, and
synthesised by yosys for iCE40, ECP5 and Xilinx 7; nextpnr-ice40 and nextpnr-ecp5 (or that of
YoWASP) place and route what has pins for its ports. The path is the largest number of cells in a
row without a register or block RAM between them. Parallel circuits of MNIST are synthesised with
their counters kept apart: every counter is mapped, but not merged with its neighbours. With
--quick, counters and registers of these circuits are counted, and yosys synthesises the rest:
seconds instead of minutes. Lookup tables differ by less than 1 %; paths lead through the rest and
through counters, each of which is a cell. The serial style has one lane, four, or one for each
neuron and words of one bit. Models and results are kept in the folder: the same command goes on
where it was stopped. Settings for MNIST are chosen with 50,000 of the training images on the other
10,000; accuracy is of the 10,000 test images, on which nothing is chosen.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from graphlib import TopologicalSorter
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import qubonn as qn
from printing import head, show

STYLES: dict[str, dict[str, Any]] = {
    "combinational": {"style": "combinational"},
    "pipelined": {"style": "pipelined"},
    "serial": {"style": "serial"},
    "serial, 4 lanes": {"style": "serial", "lanes": 4},
    "serial, all lanes": {"style": "serial", "lanes": 1024, "word": 1},  # a counter per neuron
}
FAMILIES = {
    "iCE40": "synth_ice40 -abc9 -device {device} -top net",
    "ECP5": "synth_ecp5 -top net",
    "Xilinx 7": "synth_xilinx -flatten -nosrl -nowidelut -noiopad -noclkbuf -top net",
}
LUT_INPUTS = {"iCE40": 4, "ECP5": 4, "Xilinx 7": 6}
CHIPS = {
    "HX1K": "nextpnr-ice40 --hx1k --package vq100 --pcf-allow-unconstrained",
    "UP5K": "nextpnr-ice40 --up5k --package sg48 --pcf-allow-unconstrained",
    "LFE5U-25": "nextpnr-ecp5 --25k --package CABGA381 --lpf-allow-unconstrained",
}
APART = "hierarchy -top net; setattr -mod -set keep_hierarchy 1 *net_count*"
COUNTED = re.compile(r"wire .*net_count|reg .*\bn\d|    n\d|always .*begin$|end$")  # lines
WIRE = re.compile(r"^wire (\[\d+:0\] )?(n\d+)(?=[ ;])", re.M)
NAME = re.compile(r"\bn\d+(?:_\d+)?\b")  # of a result, or of a register after it
DELAYED = re.compile(r"\b(n\d+)_(\d+)(?:\[(\d+)\])?")  # a register, a bit of it
TABLES = {"3": 2, "5": 3, "6": 3}  # lookup tables of a counter
COUNTER = re.compile(r"(n\d+); net_count\d #\(\d+\) \w+ \(\{(.*)\}, ")  # result, arguments
TOGETHER = "setattr -mod -unset keep_hierarchy *net_count*; flatten"  # for the longest path
REGISTERS = r"SB_DFF.*|TRELLIS_FF|FD[A-Z]+"
BLOCK_RAMS = r"SB_RAM40_4K|DP16KD|RAMB\d+E1"
WRITTEN = re.compile(r"(RAM\d|TRELLIS_DPR).* (DI?[A-D]?|W.*)")  # at a clock: cells and ports
HELD_OUT = 10_000
ENOUGH = 0.96  # of the held-out images, for a small circuit
PLAIN = [{"hidden": 128, "random_state": seed} for seed in range(3)]
SPARSE = [  # hidden weights of -1, 0 and +1
    {"hidden": hidden, "weight_decay": decay, "binariser": 3}
    | {"weight_levels": (3, 2), "threshold_levels": (9, 2), "random_state": 0}
    for hidden in (192, 256, 320)
    for decay in (0.1, 0.15)
]
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
    has_pins: bool = True  # for the ports of the parallel styles
    is_large: bool = False  # counters are kept apart


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mnist", type=Path, help="folder with the four .gz files")
    parser.add_argument("--only", nargs="+", default=[], help="words that rows must contain")
    parser.add_argument("--folder", type=Path, default=Path("circuits"), help="models, results")
    parser.add_argument("--minutes", type=float, default=10, help="most of a synthesis")
    parser.add_argument("--quick", action="store_true", help="count counters, do not map")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    head(
        "model", "accuracy", "style", "family", "LUTs", "registers", "RAM", "path", "chip", "speed"
    )
    for model in models(arguments.mnist, arguments.folder):
        for style, family in product(STYLES, FAMILIES):
            if all(word in f"{model.name} {style} {family}" for word in arguments.only):
                show(model.name, *measured(model, style, family, arguments))
    print("\nPublished for MNIST:\n")
    head("circuit", "accuracy", "LUTs")
    for row in PUBLISHED:
        show(*row)


# ---- models ----


def models(mnist: Path | None, folder: Path) -> list[Model]:
    tenths: dict[str, Any] = {"inputs": "uint8", "scale": 10}
    pixels: dict[str, Any] = {"inputs": "uint8"}
    found = [
        Model("letters, 5 x 25-3-2", letters, {}, "HX1K"),
        Model("iris, 16-8-3", iris, tenths, "HX1K"),
        Model("digits, 64-64-10", digits, pixels, "HX1K", has_pins=False),
    ]
    if mnist is not None:
        found += [
            Model(name, partial(mnist_digits, mnist, folder, some), pixels, chip, False, True)
            for name, chip, some in (
                ("MNIST, 784-128-10", "UP5K", PLAIN),
                ("MNIST, sparse", "", SPARSE),
                ("MNIST, 784-512-10", "", [{"hidden": 512, "random_state": 0}]),
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


def mnist_digits(data: Path, folder: Path, candidates: list[dict[str, Any]]) -> tuple[Any, float]:
    """Train the chosen candidate on all training images."""
    X, y, test_images, test_labels = mnist_arrays(data)
    options = chosen(data, folder, candidates) if len(candidates) > 1 else candidates[0]
    classifier = fitted(X, y, options)
    return classifier, classifier.score(test_images, test_labels)


def chosen(data: Path, folder: Path, candidates: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the best, or of those that are good enough the one with the fewest connections."""
    tried = []
    for options in candidates:
        stored = folder / f"{key_of(json.dumps(options))}.json"
        result = remembered(stored, lambda own=options: held_out(data, own))  # type: ignore[misc]
        print(options, result, file=sys.stderr, flush=True)
        tried.append((result["accuracy"] < ENOUGH, result["connections"], result["accuracy"]))
    best = max(range(len(tried)), key=lambda n: tried[n][2])
    small = min(range(len(tried)), key=lambda n: tried[n])
    return candidates[best if tried[small][0] else small]


def held_out(data: Path, options: dict[str, Any]) -> dict[str, Any]:
    X, y, _, _ = mnist_arrays(data)
    order = np.random.default_rng(0).permutation(len(X))
    new, known = order[:HELD_OUT], order[HELD_OUT:]
    classifier = fitted(X[known], y[known], options)
    weights = connections(classifier.committee_.members[0])
    return {"accuracy": classifier.score(X[new], y[new]), "connections": int((weights != 0).sum())}


def fitted(X: Any, y: Any, options: dict[str, Any]) -> qn.QuboClassifier:
    own = {**options, "committee_size": 1}
    if "binariser" in own:
        own["binariser"] = qn.Threshold(own["binariser"])
    return qn.QuboClassifier(**own).fit(X, y)


def connections(network: qn.BinaryNetwork) -> Any:
    """Return the weight of each connection to a hidden neuron: the sum of its parallel arcs."""
    topology = network.topology
    is_own = topology.source_of < topology.column_count
    pairs = topology.source_of[is_own] * topology.node_count + topology.target_of[is_own]
    spins = network.weight_spins[topology.weight_of[is_own]]
    _, place = np.unique(pairs, return_inverse=True)
    return np.bincount(place, spins)


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
    path = folder / f"{stem}.qubonn"

    def train() -> float:
        found, accuracy = model.train()
        found.save(path)
        return accuracy

    accuracy = remembered(folder / f"{stem}.json", train)
    return qn.load(path), accuracy


def remembered(path: Path, compute: Callable[[], Any]) -> Any:
    """Return what a file says, after computing it if there is none."""
    if not path.exists():
        path.write_text(json.dumps(compute()))
    return json.loads(path.read_text())


def key_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# ---- synthesis ----


def measured(model: Model, style: str, family: str, arguments: argparse.Namespace) -> list[str]:
    """Return the cells of a row after the name of the model."""
    found, accuracy = trained(model, arguments.folder)
    is_serial = style.startswith("serial")
    chip = {"iCE40": model.chip, "ECP5": "LFE5U-25"}.get(family, "")
    chip = chip if is_serial or model.has_pins else ""
    is_apart = model.is_large and not is_serial
    options = {**STYLES[style], "lut_inputs": LUT_INPUTS[family], **model.options}
    source = qn.to_verilog(found, name="net", **options)
    script = FAMILIES[family].format(device="u" if model.chip == "UP5K" else "hx")
    added: dict[str, int] = {}
    counters: dict[str, list[str]] = {}
    if is_apart and arguments.quick:
        is_apart = False
        source, counters, added = without_counters(source)
    key = key_of(f"{source}{added or ''}{script}{chip}{is_apart}{arguments.minutes}")

    def run() -> dict[str, Any]:
        own = arguments.folder / key
        result = synthesised(source, script, own, is_apart, arguments.minutes, counters)
        if chip and "luts" in result:
            result |= placed(own, chip)
        shutil.rmtree(own)
        return result | {name: result[name] + count for name, count in added.items() if result}

    result = remembered(arguments.folder / f"{key}.json", run)
    style += ", quick" if added else ""
    shown = [f"{100 * accuracy:.1f} %", style, family]
    if "luts" not in result:
        return [*shown, f"not finished in {arguments.minutes:g} minutes", *[""] * 5]
    counts = [f"{result[name]:,}" for name in ("luts", "registers", "rams", "path")]
    return [*shown, *counts, chip, result.get("speed", "")]


def synthesised(
    source: str,
    script: str,
    folder: Path,
    is_apart: bool = False,
    minutes: float | None = None,
    counters: dict[str, list[str]] | None = None,
) -> dict[str, Any]:
    """Return counts of cells and the longest path, nothing if there is no result in time."""
    folder.mkdir(exist_ok=True)
    (folder / "net.v").write_text(source)
    before, after = (f"{APART}; ", f"{TOGETHER}; ") if is_apart else ("", "")
    steps = f"read_verilog net.v; {before}{script}; tee -o stat.json stat -json"
    steps += f"; {after}write_json net.json"
    command = ["yosys", "-q", "-p", steps]
    limit = None if minutes is None else 60 * minutes
    try:
        subprocess.run(command, check=True, cwd=folder, capture_output=True, timeout=limit)
    except subprocess.TimeoutExpired:
        return {}
    cells = json.loads((folder / "stat.json").read_text())["design"]["num_cells_by_type"]
    module = json.loads((folder / "net.json").read_text())["modules"]["net"]
    return {
        "luts": counted(cells, r"(SB_)?LUT\d?|INV") + 2 * counted(cells, "CCU2C"),
        "registers": counted(cells, REGISTERS),
        "rams": counted(cells, BLOCK_RAMS),
        "path": longest_path(module, counters or {}),
        "cells": cells,
    }


def longest_path(module: dict[str, Any], counters: dict[str, list[str]]) -> int:
    """Return the largest number of cells in a row between ports, registers and block RAM.

    `counters` are what each counter that is no cell of the module reads: its ports and counters.
    """
    ports = {name: port["bits"] for name, port in module["ports"].items()}

    def bits_of(text: str) -> list[Any]:
        name, _, bit = text.strip("]").partition("[")
        bits = ports.get(name, [name])
        return [bits[int(bit)]] if bit and name in ports else bits

    reads: dict[str, list[Any]] = {}
    made_by: dict[Any, str] = {}
    for counter, arguments in counters.items():
        reads[counter] = [bit for text in arguments for bit in bits_of(text)]
        made_by |= dict.fromkeys(bits_of(counter), counter)
    for name, cell in module["cells"].items():
        if re.fullmatch(f"{REGISTERS}|{BLOCK_RAMS}", cell["type"]):
            continue
        reads[name] = []
        for port, bits in cell["connections"].items():
            if cell["port_directions"][port] == "output":
                made_by |= dict.fromkeys(bits, name)
            elif not WRITTEN.fullmatch(f"{cell['type']} {port}"):
                reads[name] += bits
    before = {
        name: {made_by[bit] for bit in bits if bit in made_by} for name, bits in reads.items()
    }
    length: dict[str, int] = {}
    for name in TopologicalSorter(before).static_order():
        length[name] = 1 + max((length[other] for other in before[name]), default=0)
    return max(length.values(), default=0)


def without_counters(source: str) -> tuple[str, dict[str, list[str]], dict[str, int]]:
    """Return a parallel circuit without counters and registers of results.

    Results of counters and of registers become inputs, and what they read outputs. Also return what
    each counter reads, and the cells of counters and registers.
    """
    start = source.index(");\n", source.index("module net ("))
    lines = source[start + 2 : source.index("\nendmodule")].splitlines()
    kept = "\n".join(line for line in lines if not COUNTED.match(line))
    gone = "\n".join(line for line in lines if COUNTED.match(line))
    width_of = {name: bounds for bounds, name in WIRE.findall("\n".join(lines))}
    made = {name for _, name in WIRE.findall(kept)}
    read = made & set(NAME.findall(gone))
    given = set(NAME.findall(kept)) - made
    ports = [f"output wire {width_of[name]}{name}" for name in sorted(read)]
    ports += [f"input wire {width_of[name.split('_')[0]]}{name}" for name in sorted(given)]
    kept = WIRE.sub(lambda wire: f"assign {wire[2]}" if wire[2] in read else wire[0], kept)
    joined = ",\n    ".join([source[:start].rstrip(), *ports])
    delays: dict[tuple[str, int], int] = {}  # of each bit that is read
    for name, delay, bit in DELAYED.findall("\n".join(line for line in lines if line[:1] in "wa")):
        for place in [int(bit)] if bit else range(int(f"0{width_of[name][1:-4]}") + 1):
            delays[name, place] = max(delays.get((name, place), 0), int(delay))
    tables = sum(TABLES[size] for size in re.findall(r"net_count(\d)", gone))
    added = {"luts": tables, "registers": sum(delays.values())}
    counters = {name: arguments.split(", ") for name, arguments in COUNTER.findall(gone)}
    return f"{joined}\n);\n{kept}\nendmodule\n", counters, added


def counted(cells: dict[str, int], pattern: str) -> int:
    return sum(count for name, count in cells.items() if re.fullmatch(pattern, name))


def placed(folder: Path, chip: str) -> dict[str, str]:
    """Place and route; return the speed, or why there is none."""
    name, *options = CHIPS[chip].split()
    program = shutil.which(name) or shutil.which(f"yowasp-{name}")
    if program is None:
        return {"speed": f"{name} is not installed"}
    command = [program, *options, "--json", "net.json", "--seed", "1"]
    run = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if run.returncode:
        return {"speed": "does not fit"}
    clocked = re.findall(r"Max frequency for clock .*: ([\d.]+) MHz", run.stderr)
    through = re.findall(r"Max delay <async> +-> <async> *: ([\d.]+) ns", run.stderr)
    if clocked:
        return {"speed": f"{clocked[-1]} MHz"}
    return {"speed": f"{through[-1]} ns" if through else "fits"}  # nextpnr-ecp5 states no delay


if __name__ == "__main__":
    main()
