"""benchmarks/circuits: the longest path of a circuit, whole or without its counters."""

import importlib
from pathlib import Path
from typing import Any

import pytest

import qubonn as qn
from export.simulated import needs_yosys
from export.test_classifier import PIXELS, with_binariser

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture
def circuits(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module("circuits")


def cell(kind: str, inputs: dict[str, list[int]], outputs: dict[str, list[int]]) -> dict[str, Any]:
    directions = dict.fromkeys(inputs, "input") | dict.fromkeys(outputs, "output")
    return {"type": kind, "port_directions": directions, "connections": inputs | outputs}


def test_paths_end_at_registers_and_where_memory_is_written(circuits: Any) -> None:
    cells = {
        "first": cell("LUT2", {"I0": [2], "I1": [3]}, {"O": [4]}),
        "second": cell("LUT1", {"I0": [4]}, {"O": [5]}),
        "register": cell("FDRE", {"C": [1], "D": [5]}, {"Q": [6]}),
        "memory": cell("RAM32M", {"DIA": [5], "ADDRA": [6]}, {"DOA": [7]}),
    }
    assert circuits.longest_path({"ports": {}, "cells": cells}, {}) == 2


def test_paths_lead_through_counters_that_are_no_cells(circuits: Any) -> None:
    ports = {"n1": {"bits": [4]}, "n3": {"bits": [5, 6]}}
    cells = {"before": cell("LUT1", {"I0": [2]}, {"O": [4]})}
    cells["after"] = cell("LUT1", {"I0": [6]}, {"O": [7]})
    counters = {"n2": ["n1", "n9_1[0]"], "n3": ["n2[0]", "n2[1]"]}
    assert circuits.longest_path({"ports": ports, "cells": cells}, counters) == 4


@needs_yosys
@pytest.mark.parametrize("style", ["combinational", "pipelined"])
def test_the_longest_path_is_about_the_same_without_counters(
    style: Any, circuits: Any, tmp_path: Path
) -> None:
    model = with_binariser(qn.Thermometer.fit(PIXELS, 5), 60)
    circuit = qn.to_verilog(model, name="net", style=style, inputs="uint8")
    script = circuits.FAMILIES["iCE40"].format(device="hx")
    whole = circuits.synthesised(circuit, script, tmp_path, is_apart=True)["path"]
    rest, counters, _ = circuits.without_counters(circuit)
    quick = circuits.synthesised(rest, script, tmp_path, counters=counters)["path"]
    assert abs(quick - whole) <= 2 < whole


@needs_yosys
def test_the_longest_path_is_that_of_yosys(circuits: Any, tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(60, 4, 3), seed=0)
    script = f"{circuits.FAMILIES['ECP5']}; tee -o ltp.txt ltp -noff"
    found = circuits.synthesised(qn.to_verilog(network, name="net"), script, tmp_path)
    assert f"length={found['path']})" in (tmp_path / "ltp.txt").read_text()
