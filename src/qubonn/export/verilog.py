"""to_verilog: a model as a circuit in Verilog-2001, with a test bench and a description.

BinaryNetwork, Committee or QuboClassifier -> files.  One circuit, three styles: combinational,
pipelined and serial.
"""

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

import numpy as np

from qubonn import __version__
from qubonn.checks import require_count
from qubonn.errors import FileFormatError, RangeError
from qubonn.export.c_text import template
from qubonn.export.circuit import Circuit, circuit_of
from qubonn.export.features import Features, Numbers, features_of
from qubonn.export.model import Exported, exported
from qubonn.export.netlist import COUNT, netlist_of
from qubonn.export.serial import SerialMachine, serial_machine
from qubonn.export.stimuli import Vectors, vectors_of
from qubonn.export.verilog_text import Port, combinational, module_name, pipelined
from qubonn.files import write_folder

Style = Literal["combinational", "pipelined", "serial"]
COUNTERS = {4: 3, 6: 6}  # bits that are counted together, by the inputs of a lookup table
VECTORS = 500  # of a test bench
README = "README.md"


def to_verilog(
    model: object,
    folder: str | os.PathLike[str] | None = None,
    *,
    style: Style = "combinational",
    name: str = "model",
    inputs: Literal["bits"] | Numbers = "bits",
    scale: int = 1,
    word: int = 16,
    lanes: int = 1,
    lut_inputs: int = 4,
    vectors: int = VECTORS,
) -> str:
    """Return a model as a Verilog module; write it, a test bench and a README to `folder` if given.

    The model is a `BinaryNetwork`, a `Committee` or a fitted `QuboClassifier` without cycles.
    `style` is "combinational" (no clock), "pipelined" (an example a clock) or "serial" (`word` bits
    a clock, weights in ROM, for small chips; `lanes` neurons of a layer are counted at once, all
    of them if there are fewer). The circuit reads bits, or with `inputs` features of
    that type, `scale` times those that the classifier was fitted to, as in `to_c`. `lut_inputs` is
    4 or 6, the inputs of a lookup table of the chip. The test bench compares `vectors` examples
    with the results of the model, or all 2**n of n inputs if n is at most 16.

    >>> import qubonn as qn
    >>> network = qn.BinaryNetwork.random(qn.Topology.dense(25, 3, 2), seed=0)
    >>> print(qn.to_verilog(network, name="letters").splitlines()[0])
    // letters
    """
    parts = exported(model)
    if style not in get_args(Style):
        raise RangeError(f"style must be one of {', '.join(get_args(Style))}; got {style!r}")
    if lut_inputs not in COUNTERS:
        raise RangeError(f"lut_inputs must be 4 or 6; got {lut_inputs!r}")
    features = features_of(parts, inputs, require_count("scale", scale))
    sizes = require_count("word", word), require_count("lanes", lanes), lut_inputs
    design = _design(circuit_of(parts), features, style, module_name(name), *sizes)
    files = _files(design, parts, name, require_count("vectors", vectors), folder is not None)
    if folder is not None:
        _require_own(Path(folder) / README)
        write_folder(folder, files)
    return files[f"{module_name(name)}.v"]


def _require_own(readme: Path) -> None:
    """Refuse to replace a README that the caller did not name and that is not of an export."""
    if readme.is_file() and "written by qubonn" not in readme.read_text("utf-8", "replace"):
        raise FileFormatError(
            f"{readme} was not written by to_verilog, which would replace it: choose another folder"
        )


@dataclass(frozen=True, eq=False)
class Design:
    """A circuit in a style: ports, and lines between them and the end of the module."""

    style: Style
    circuit: Circuit
    features: Features | None
    lines: list[str]
    latency: int = 0  # clocks
    machine: SerialMachine | None = None
    facts: list[tuple[str, str]] = field(default_factory=list)
    counters: list[int] = field(default_factory=list)  # sizes of modules that count bits

    @property
    def source(self) -> Port:
        """The port of inputs or features."""
        if self.machine is not None:
            inputs = f"inputs, {self.machine.word} at a time"
            about = f"a feature, {self._number}" if self.features else inputs
            return Port("input", "in_word", self.machine.source_width, about)
        if self.features is None:
            return Port("input", "inputs", self.width, "input i is bit i, 1 for +1, 0 for -1")
        size = self.features.width
        about = f"feature i is bits {size} * i to {size} * i + {size - 1}, {self._number}"
        return Port("input", "features", self.width, about)

    @property
    def width(self) -> int:
        """Bits of an example."""
        if self.features is None:
            return self.circuit.input_count
        return self.features.count * self.features.width

    @property
    def _number(self) -> str:
        """What a feature is."""
        assert self.features is not None
        times = f", {self.features.scale} times its column" if self.features.scale > 1 else ""
        return f"{self.features.kind}{times}"

    @property
    def results(self) -> list[Port]:
        """The ports of results."""
        found = []
        if self.circuit.has_outputs:
            about = "output i is bit i, 1 for +1, 0 for -1"
            found.append(Port("output", "outputs", len(self.circuit.votes), about))
        if self.circuit.has_class:
            about = "index of the class, of the first one at a tie"
            found.append(Port("output", "class_index", self.circuit.index_width, about))
        return found

    @property
    def ports(self) -> list[Port]:
        """All ports in order."""
        if self.style == "combinational":
            return [self.source, *self.results]
        before = [
            Port("input", "clk"),
            Port("input", "rst", about="1: forget all examples, at a rising edge of clk"),
            Port("input", "in_valid", about=f"{self.source.name} is to be read"),
        ]
        after = [Port("output", "out_valid", about="the results are those of an example")]
        if self.style == "serial":
            before.append(Port("output", "in_ready", about="in_word is read if in_valid is 1"))
            after.insert(0, Port("input", "out_ready", about="1: the results have been read"))
        return [*before, self.source, *after, *self.results]


def _design(
    circuit: Circuit,
    features: Features | None,
    style: Style,
    module: str,
    word: int,
    lanes: int,
    lut_inputs: int,
) -> Design:
    if style == "serial":
        machine = serial_machine(circuit, features, word, lanes)
        return Design(style, circuit, features, machine.lines, machine.latency, machine)
    netlist = netlist_of(circuit, features, COUNTERS[lut_inputs])
    source = "inputs" if features is None else "features"
    facts = [
        ("counters and sums", f"{len(netlist.operations):,}, shared {netlist.uses:,} times"),
        (
            f"lookup tables of {lut_inputs} inputs, an estimate before synthesis merges them",
            f"{netlist.table_estimate(lut_inputs):,}",
        ),
    ]
    counts = [operation for operation in netlist.operations if operation.text == COUNT]
    parts = facts, sorted({len(operation.arguments) for operation in counts})
    if style == "combinational":
        lines = combinational(netlist, source, module)
        return Design(style, circuit, features, lines, 0, None, *parts)
    lines, latency, register_bits = pipelined(netlist, source, module)
    facts.append(("registers", f"{register_bits + latency:,} bits"))
    shift = f"{{valid[{latency - 2}:0], in_valid}}" if latency > 1 else "in_valid"
    lines += [
        f"reg [{latency - 1}:0] valid = {latency}'d0;",
        f"always @(posedge clk) valid <= rst ? {latency}'d0 : {shift};",
        f"assign out_valid = valid[{latency - 1}];",
    ]
    return Design(style, circuit, features, lines, latency, None, *parts)


def _files(
    design: Design, model: Exported, name: str, count: int, has_bench: bool
) -> dict[str, str]:
    """Return the text of each file; only that of the module without `has_bench`."""
    module = module_name(name)
    known = {
        "title": name,
        "name": module,
        "design": design,
        "model": model,
        "version": __version__,
        "source_width": design.width,
    }
    files = {f"{module}.v": template("circuit.v.in").render(known)}
    if has_bench:
        checked = vectors_of(model, design.features, count, seed=0)
        known |= {"vectors": checked, "result_width": sum(port.width for port in design.results)}
        files[f"{module}_tb.v"] = template("circuit_tb.v.in").render(known)
        files[f"{module}_vectors.hex"] = _hex_lines(design, checked)
        files[README] = template("circuit.md.in").render(known)
    return files


def _hex_lines(design: Design, vectors: Vectors) -> str:
    """Return a line for each example: results, then inputs, the most significant digit first."""
    size = 1 if design.features is None else design.features.width
    results = []
    if design.circuit.has_outputs:
        results.append((vectors.outputs.astype(np.int64), 1))
    if design.circuit.has_class:
        results.append((vectors.classes[:, np.newaxis], design.circuit.index_width))
    lines = []
    for row in range(len(vectors)):
        number, place = 0, 0
        for columns, width in [(vectors.words, size), *results]:
            for value in columns[row].tolist():
                number |= value << place
                place += width
        lines.append(f"{number:0{-(-place // 4)}x}\n")
    return "".join(lines)
