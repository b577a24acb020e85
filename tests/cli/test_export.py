import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import qubonn as qn

Call = Callable[..., Result]


def test_c_is_written_beside_the_model_with_its_name(
    model: Path, call_json: Callable[..., dict[str, Any]]
) -> None:
    said = call_json("export", model, "--to", "c")
    assert Path(said["written"]).name == "flowers.h"
    assert "FLOWERS_INPUT_COUNT" in Path("flowers.h").read_text()


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
def test_the_c_program_answers_as_the_network(tmp_path: Path, call: Call) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(6, 4, 2), seed=3)
    network.save(tmp_path / "net.qubonn")
    call("export", "net.qubonn", "--to", "c", "--main", "-o", "net.h")
    flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-x", "c", "-DNET_MAIN"]
    subprocess.run(["gcc", *flags, "net.h", "-o", "net"], check=True, cwd=tmp_path)
    bits = np.random.default_rng(0).integers(0, 2, (20, 6))
    text = "\n".join("".join(map(str, row)) for row in bits.tolist())
    run = subprocess.run(
        [str(tmp_path / "net")], input=text, capture_output=True, text=True, check=True
    )
    said = [[int(bit) for bit in line.split()[0]] for line in run.stdout.splitlines()]
    assert said == (network.predict_outputs(2 * bits - 1) > 0).astype(int).tolist()


def test_onnx_is_written(model: Path, call: Call) -> None:
    onnx = pytest.importorskip("onnx")
    call("export", model, "--to", "onnx", "--form", "int8", "-o", "m.onnx")
    onnx.checker.check_model(onnx.load("m.onnx"))


@pytest.mark.parametrize("style", ["combinational", "pipelined", "serial"])
def test_verilog_is_a_folder_whose_test_bench_passes(
    style: str, model: Path, call_json: Callable[..., dict[str, Any]]
) -> None:
    options = ["--to", "verilog", "--style", style, "--numbers", "uint8", "--scale", "10"]
    said = call_json("export", model, *options)
    folder = Path(said["written"])
    assert {path.name for path in folder.iterdir()} == {
        "README.md",
        "flowers.v",
        "flowers_tb.v",
        "flowers_vectors.hex",
    }
    if shutil.which("iverilog") is None:
        pytest.skip("iverilog is not installed")
    command = ["iverilog", "-g2001", "-o", "tb", "flowers.v", "flowers_tb.v"]
    subprocess.run(command, check=True, cwd=folder)
    run = subprocess.run(["vvp", "tb"], cwd=folder, capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1].startswith("PASS: 500")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--to", "c", "-o", "m.onnx"], "ends in .h"),
        (["--to", "c", "--form", "int8"], "--form does not go with --to c"),
        (["--to", "onnx", "--scale", "2"], "--scale does not go with --to onnx"),
        (["--to", "c", "--style", "serial"], "--style does not go with --to c"),
        (["--to", "onnx", "--lanes", "2"], "--lanes does not go with --to onnx"),
        (["--to", "verilog", "--lanes", "0"], "--lanes"),
        (["--to", "verilog", "--lanes", "2"], "--lanes does not go with --style combinational"),
        (["--to", "verilog", "--scale", "2"], "scale is for whole numbers; got scale=2"),
        (["--to", "verilog", "--main"], "--main does not go with --to verilog"),
        (["--to", "verilog", "--numbers", "float"], "inputs must be 'bits' or one"),
        (["--to", "rust"], "rust"),
        ([], "--to"),
    ],
)
def test_wrong_usage_ends_with_2(model: Path, call: Call, arguments: list[str], words: str) -> None:
    assert words in call("export", model, *arguments, code=2).stderr


def test_micropython_is_one_file_beside_the_model(
    model: Path, call_json: Callable[..., dict[str, Any]]
) -> None:
    options = ["--to", "micropython", "--numbers", "uint8", "--scale", "10"]
    said = call_json("export", model, *options)
    assert Path(said["written"]).name == "flowers.py"
    module: dict[str, Any] = {}
    exec(Path(said["written"]).read_text(), module)
    assert module["class_index"](module["binarise"]([51, 35, 14, 2])) in range(3)


def test_a_sketch_is_a_folder_with_its_header(
    model: Path, call_json: Callable[..., dict[str, Any]]
) -> None:
    said = call_json("export", model, "--to", "arduino", "--numbers", "int16", "-o", "blink")
    names = {path.name for path in Path(said["written"]).iterdir()}
    assert names == {"blink.ino", "blink.h"}
