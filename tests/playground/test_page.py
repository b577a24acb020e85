"""The built page, and the files that it saves, read by this package."""

import ctypes
import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from playground.vectors import topology_of
from qubonn.cli.playground import page_path

SAVED = Path(__file__).parents[2] / "playground" / "tests" / "saved"
VECTORS = json.loads((SAVED.parent / "vectors.json").read_text("utf-8"))
NUMBERS = [0, 1, 3, 6]  # of the networks that are saved

needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
needs_iverilog = pytest.mark.skipif(shutil.which("iverilog") is None, reason="needs iverilog")


def member(number: int, place: int = 0) -> qn.BinaryNetwork:
    case = VECTORS["networks"][number]
    topology, spins = topology_of(case), case["spins"][place]
    return qn.BinaryNetwork(topology, *np.split(spins, [topology.weight_count]))


def all_or_some_inputs(network: qn.BinaryNetwork) -> np.ndarray[Any, Any]:
    spins = 2 * np.random.default_rng(1).integers(2, size=(300, network.topology.column_count)) - 1
    return spins.astype(np.int8)


def test_the_page_is_one_small_file_that_asks_no_other_host() -> None:
    page = page_path().read_text("utf-8")
    assert len(page.encode()) < 300_000
    assert "default-src 'none'" in page
    addresses = set(re.findall(r"https?://[\w./-]+", page))
    assert addresses <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<(?:script|link|img)[^>]+(?:src|href)=['\"](?!data:)", page)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_saved_network_is_loaded_as_it_was(number: int) -> None:
    loaded = qn.load(SAVED / f"network-{number}.qubonn")
    assert loaded == member(number)


@pytest.mark.parametrize("number", NUMBERS)
def test_a_saved_committee_is_loaded_as_it_was(number: int) -> None:
    loaded = qn.load(SAVED / f"committee-{number}.qubonn")
    assert isinstance(loaded, qn.Committee)
    assert loaded.members == tuple(member(number, place) for place in range(5))
    assert loaded.reading == "signs"


@needs_gcc
@pytest.mark.parametrize("number", NUMBERS)
def test_c_answers_as_the_network(number: int, tmp_path: Path) -> None:
    library, network = tmp_path / "network.so", member(number)
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, SAVED / f"network-{number}.c", "-o", library], check=True)
    function = ctypes.CDLL(str(library)).network
    inputs = all_or_some_inputs(network)
    answers = np.zeros((len(inputs), network.topology.output_count), dtype=np.int8)
    for row, answer in zip(inputs, answers, strict=True):
        function(row.ctypes.data_as(ctypes.c_void_p), answer.ctypes.data_as(ctypes.c_void_p))
    assert np.array_equal(answers, network.predict_outputs(inputs))


@needs_iverilog
@pytest.mark.parametrize("number", NUMBERS)
def test_verilog_answers_as_the_network(number: int, tmp_path: Path) -> None:
    network = member(number)
    inputs = all_or_some_inputs(network)
    columns, outputs = network.topology.column_count, network.topology.output_count
    words = ["".join("1" if spin > 0 else "0" for spin in row[::-1]) for row in inputs]
    steps = "\n".join(f'x = {columns}\'b{word}; #1 $display("%b", y);' for word in words)
    bench = tmp_path / "bench.v"
    bench.write_text(
        f"module bench; reg [{columns - 1}:0] x; wire [{outputs - 1}:0] y; network n(x, y);\n"
        f"initial begin\n{steps}\nend endmodule\n"
    )
    files = [bench, SAVED / f"network-{number}.v"]
    subprocess.run(["iverilog", "-Wall", "-o", tmp_path / "sim", *files], check=True)
    run = subprocess.run([tmp_path / "sim"], capture_output=True, text=True, check=True)
    answers = [[2 * int(bit) - 1 for bit in line[::-1]] for line in run.stdout.split()]
    assert answers == network.predict_outputs(inputs).tolist()


def problem_in(name: str) -> tuple[dict[str, Any], str]:
    """Run the saved Python up to its replay; return its names and the line it must print."""
    text = (SAVED / f"{name}.py.txt").read_text("utf-8")
    program, expected = text.split("result = qn.train")[0], text.splitlines()[-1]
    names: dict[str, Any] = {}
    exec(program.replace("print(", "printed = ("), names)
    return names, expected.removeprefix("# ")


@pytest.mark.parametrize("name", ["plain", "wide", "points", "small"])
def test_saved_python_repeats_the_run_of_the_page(name: str) -> None:
    names, expected = problem_in(name)
    assert names["printed"] == expected


@pytest.mark.parametrize("name", ["plain", "small"])
def test_a_saved_qubo_is_that_of_the_problem(name: str) -> None:
    saved, own = qn.Qubo.load(SAVED / f"{name}.qubo"), problem_in(name)[0]["problem"].qubo()
    assert list(saved.labels) == list(own.labels)
    for part in ("rows", "columns"):
        assert np.array_equal(getattr(saved, part), getattr(own, part))
    for part in ("linear", "couplings", "offset"):
        assert getattr(saved, part) == pytest.approx(getattr(own, part), abs=1e-9)
    if name == "plain":
        assert saved.couplings.dtype == np.int64
