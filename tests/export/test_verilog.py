"""Verilog gives the results of the model, bit for bit, in every style."""

import itertools
import os
import re
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import qubonn as qn
from export.compiled import Case, answers, needs_gcc
from export.models import FittedClassifier, committee, models, odd_wirings
from export.simulated import (
    STYLES,
    latency_in,
    needs_iverilog,
    needs_verilator,
    needs_yosys,
    obvious,
    prove,
    run_bench,
    run_verilated,
    simulate,
)
from export.test_classifier import (
    BINARISERS,
    CODES,
    ONE_WEIGHT,
    TABLE_ENCODER,
    with_binariser,
)
from qubonn.errors import FileFormatError, RangeError, TopologyError
from qubonn.export.model import exported
from qubonn.export.stimuli import Vectors, vectors_of
from qubonn.export.verilog import Style
from qubonn.training.calibration import Calibration

ALL_STYLES = pytest.mark.parametrize("style", STYLES)


def networks_with_ties() -> list[Any]:
    """Networks of few inputs, all of which are tried; many of their sums are 0."""
    levels: dict[str, Any] = {"weight_levels": [17, 7], "threshold_levels": 5}
    parsed = "conv(2x2x3, levels=4, thresholds=9)"
    return [
        qn.BinaryNetwork.random(qn.Topology.dense(5, 3, 2), seed=1),
        qn.BinaryNetwork.random(qn.Topology.dense(5, 3, 2, **levels), seed=2),
        qn.BinaryNetwork.random(qn.Topology.parse(parsed, inputs=(2, 3), outputs=2), seed=3),
        qn.BinaryNetwork.random(
            qn.Topology.dense(9, 4, 2, input_groups=[0, 1, 1, 1, 1, 2, 2, 2, 0], **levels), seed=4
        ),
        committee(qn.Topology.dense(5, 3, 4), 4, "signs"),
        committee(qn.Topology.dense(5, 3, 3, weight_levels=3), 3, "largest"),
    ]


@needs_iverilog
@ALL_STYLES
def test_all_inputs_of_small_networks_give_the_same_results(style: Style, tmp_path: Path) -> None:
    for number, model in enumerate(networks_with_ties()):
        options = {"lut_inputs": 4 + 2 * (number % 2), "word": 1 + 3 * (number % 3)}
        last = simulate(model, tmp_path / str(number), style=style, **options)
        count = 2 ** exported(model).topology.column_count
        assert last == f"PASS: {count} examples"


@needs_iverilog
@pytest.mark.parametrize(("word", "lanes"), [(1, 2), (4, 3), (16, 99)])
def test_all_inputs_give_the_same_results_with_several_lanes(
    word: int, lanes: int, tmp_path: Path
) -> None:
    for number, model in enumerate(networks_with_ties()):
        options = {"style": "serial", "word": word, "lanes": lanes}
        last = simulate(model, tmp_path / str(number), **options)
        count = 2 ** exported(model).topology.column_count
        assert last == f"PASS: {count} examples"


@needs_iverilog
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(models(), st.sampled_from(STYLES), st.sampled_from((4, 6)), st.sampled_from((7, 16, 40)))
def test_any_wiring_gives_the_same_results(
    model: Any, style: Style, lut_inputs: int, word: int
) -> None:
    options = {"style": style, "lut_inputs": lut_inputs, "word": word, "vectors": 6}
    with TemporaryDirectory() as folder:
        assert simulate(model, Path(folder), **options).startswith("PASS")


@needs_iverilog
@settings(max_examples=5, deadline=None, suppress_health_check=list(HealthCheck))
@given(models(), st.sampled_from((1, 7, 16)), st.sampled_from((2, 5, 1000)))
def test_any_wiring_gives_the_same_results_with_several_lanes(
    model: Any, word: int, lanes: int
) -> None:
    options = {"style": "serial", "word": word, "lanes": lanes, "vectors": 6}
    with TemporaryDirectory() as folder:
        assert simulate(model, Path(folder), **options).startswith("PASS")


@needs_iverilog
@ALL_STYLES
def test_wirings_that_chance_seldom_makes_are_circuits_too(style: Style, tmp_path: Path) -> None:
    for name, topology in odd_wirings().items():
        network = qn.BinaryNetwork.random(topology, seed=1)
        assert simulate(network, tmp_path / name, style=style, vectors=20).startswith("PASS")


@needs_iverilog
def test_features_become_classes_in_each_style(tmp_path: Path) -> None:
    for number, (kind, _, scale, binariser, spin_count) in enumerate(BINARISERS):
        classifier = with_binariser(binariser, spin_count, seed=number)
        options = {"style": STYLES[number % 3], "inputs": kind, "scale": scale, "vectors": 12}
        assert simulate(classifier, tmp_path / str(number), **options) == "PASS: 12 examples"


@needs_iverilog
def test_features_become_classes_with_several_lanes(tmp_path: Path) -> None:
    classifier = with_binariser(TABLE_ENCODER, TABLE_ENCODER.spin_count)
    for word, lanes in ((1, 1000), (16, 2)):
        options = {"style": "serial", "inputs": "int16", "scale": 4, "vectors": 40}
        folder = tmp_path / str(word)
        last = simulate(classifier, folder, word=word, lanes=lanes, **options)
        assert last == "PASS: 40 examples"


@needs_iverilog
@ALL_STYLES
@pytest.mark.parametrize("lut_inputs", [4, 6])
def test_columns_with_one_weight_become_classes(
    style: Style, lut_inputs: int, tmp_path: Path
) -> None:
    for number, binariser in enumerate(ONE_WEIGHT):
        classifier = with_binariser(binariser, binariser.spin_count, seed=number)
        options: dict[str, Any] = {"style": style, "lut_inputs": lut_inputs, "vectors": 40}
        for inputs in ("bits", "int16"):
            folder = tmp_path / f"{number} {inputs}"
            assert simulate(classifier, folder, inputs=inputs, **options) == "PASS: 40 examples"


@needs_iverilog
@ALL_STYLES
def test_words_and_missing_cells_become_classes(style: Style, tmp_path: Path) -> None:
    classifier = with_binariser(TABLE_ENCODER, TABLE_ENCODER.spin_count)
    options = {"style": style, "inputs": "int16", "scale": 4, "vectors": 40}
    assert simulate(classifier, tmp_path, **options) == "PASS: 40 examples"


@needs_iverilog
def test_codes_of_bits_and_pulls_decide_on_the_class(tmp_path: Path) -> None:
    cases: list[FittedClassifier] = []
    for book, size in itertools.product(CODES, (1, 3, 6)):
        members = committee(qn.Topology.dense(6, 5, book.spin_count), size, seed=size)
        cases.append(FittedClassifier(members, book))
    members = committee(qn.Topology.dense(6, 5, 3), 3, "largest")
    pulled = Calibration(0.5, (0.0, -1.0, -0.5))
    cases.append(FittedClassifier(members, qn.CodeBook.one_hot(list("abc")), None, pulled))
    for number, case in enumerate(cases):
        last = simulate(case, tmp_path / str(number), style=STYLES[number % 3])
        assert last == "PASS: 64 examples"


@needs_iverilog
@ALL_STYLES
def test_the_test_bench_finds_an_error(style: Style, tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(5, 3, 2), seed=0)
    qn.to_verilog(network, tmp_path, style=style, name="net")
    path = tmp_path / "net_vectors.hex"
    lines = path.read_text().splitlines()
    lines[7] = f"{int(lines[7], 16) ^ 1 << 5:x}"  # the first output
    path.write_text("\n".join(lines))
    assert run_bench(tmp_path) == "FAIL: 1 errors in 32 of 32 examples"


@needs_verilator
@pytest.mark.parametrize(
    "style", [*(pytest.param(style, marks=pytest.mark.slow) for style in STYLES[:2]), STYLES[2]]
)
def test_verilator_gives_the_same_results(style: Style, tmp_path: Path) -> None:
    model = committee(qn.Topology.dense(40, 9, 4, weight_levels=3), 3, "largest")
    qn.to_verilog(model, tmp_path, style=style, name="net", vectors=60)
    assert run_verilated(tmp_path) == "PASS: 60 examples"


MNIST = os.environ.get("QUBONN_MNIST", "")


@needs_verilator
@pytest.mark.slow
@pytest.mark.skipif(not MNIST, reason="QUBONN_MNIST does not name the folder of the MNIST files")
@pytest.mark.parametrize(
    ("style", "lanes", "word"),
    [*((style, 1, 16) for style in STYLES), ("serial", 4, 16), ("serial", 128, 1)],
)
def test_all_test_images_of_mnist_give_the_same_classes(
    style: Style, lanes: int, word: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    classifier, images = mnist_classifier(), mnist_images("t10k")[0]
    classes, outputs = classifier.predict(images), np.zeros((len(images), 10), dtype=bool)
    vectors = Vectors(images.astype(np.int64), outputs, classes.astype(np.int64), 0)
    monkeypatch.setattr("qubonn.export.verilog.vectors_of", lambda *_, **__: vectors)
    options: dict[str, Any] = {"inputs": "uint8", "lut_inputs": 6, "lanes": lanes, "word": word}
    qn.to_verilog(classifier, tmp_path, style=style, name="net", **options)
    optimise = "-O2" if style == "serial" else "-O0"  # many clocks, or much to compile
    assert run_verilated(tmp_path, optimise=optimise) == "PASS: 10000 examples"


@cache
def mnist_classifier() -> Any:
    """784-128-10, hidden weights -1, 0 and +1."""
    levels: dict[str, Any] = {"weight_levels": (3, 2), "threshold_levels": (9, 2)}
    options = {"committee_size": 1, "weight_decay": 0.15, "random_state": 0, **levels}
    images, labels = (part[:20_000] for part in mnist_images("train"))
    return qn.QuboClassifier(128, binariser=qn.Threshold(3), **options).fit(images, labels)


def mnist_images(part: str) -> tuple[Any, Any]:
    images, labels = (
        Path(MNIST) / f"{part}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1")
    )
    table = qn.datasets.read_table(images, labels=labels)
    return np.asarray(table.inputs).reshape(len(table.inputs), -1), table.labels


@needs_gcc
def test_vectors_are_what_c_answers(tmp_path: Path) -> None:
    some = [committee(qn.Topology.dense(40, 9, 4), 3, reading) for reading in ("signs", "largest")]
    found = [vectors_of(exported(model), None, 50, seed=0) for model in some]
    cases = [Case(model, 2 * v.words - 1, {}) for model, v in zip(some, found, strict=True)]
    for answer, vectors in zip(answers(cases, tmp_path), found, strict=True):
        assert (np.array(answer.outputs) > 0).tolist() == vectors.outputs.tolist()
        assert answer.classes == vectors.classes.tolist()


# ---- proofs ----


PROVED = [
    qn.BinaryNetwork.random(qn.Topology.dense(11, 3, 2), seed=0),
    qn.BinaryNetwork.random(
        qn.Topology.dense(9, 4, 2, weight_levels=3, threshold_levels=5), seed=1
    ),
    qn.BinaryNetwork.random(qn.Topology.parse("conv(2x2x2)", inputs=(3, 3), outputs=2), seed=2),
    qn.BinaryNetwork.random(
        qn.Topology.dense(10, 3, 2, weight_levels=5, input_groups=np.arange(10) // 5), seed=3
    ),
]


@needs_yosys
@pytest.mark.parametrize("number", range(len(PROVED)))
@pytest.mark.parametrize("lut_inputs", [4, 6])
def test_the_combinational_circuit_equals_plain_sums(
    number: int, lut_inputs: int, tmp_path: Path
) -> None:
    network = PROVED[number]
    source = qn.to_verilog(network, name="net", lut_inputs=lut_inputs)
    (tmp_path / "net.v").write_text(source + obvious(network) + miter(network.topology))
    prove(f"read_verilog net.v\n{PREPARED}sat -verify -prove ok 1 miter\n", tmp_path)


@needs_yosys
def test_a_circuit_that_differs_is_refuted(tmp_path: Path) -> None:
    network, other = PROVED[1], qn.BinaryNetwork.random(PROVED[1].topology, seed=7)
    source = qn.to_verilog(network, name="net") + obvious(other) + miter(network.topology)
    (tmp_path / "net.v").write_text(source)
    with pytest.raises(AssertionError, match="proof did fail"):
        prove(f"read_verilog net.v\n{PREPARED}sat -verify -prove ok 1 miter\n", tmp_path)


@needs_yosys
@pytest.mark.parametrize("number", range(len(PROVED)))
def test_the_pipelined_circuit_equals_the_combinational_one(number: int, tmp_path: Path) -> None:
    network = PROVED[number]
    source = qn.to_verilog(network, name="fast", style="pipelined")
    clocks = latency_in(source)
    source += qn.to_verilog(network, name="net") + pipelined_miter(network.topology, clocks)
    (tmp_path / "net.v").write_text(source)
    # results depend on the last inputs only, so that this many steps from any state are a proof
    steps = f"-seq {clocks + 1} -prove-skip {clocks} -set rst 0"
    script = f"read_verilog net.v\n{PREPARED}sat -verify {steps} -prove ok 1 miter\n"
    prove(script, tmp_path)


@needs_yosys
@pytest.mark.parametrize("lanes", [1, 2])
def test_the_serial_circuit_equals_the_combinational_one(lanes: int, tmp_path: Path) -> None:
    topology = qn.Topology.dense(5, 2, 2, weight_levels=3)
    network = qn.BinaryNetwork.random(topology, seed=4)
    source = qn.to_verilog(network, name="slow", style="serial", word=5, lanes=lanes)
    clocks = latency_in(source)
    source += qn.to_verilog(network, name="net") + SERIAL_MITER
    (tmp_path / "net.v").write_text(source)
    prepared = "prep -top miter -flatten\nmemory_map\nopt -full\nasync2sync\n"
    steps = f"-seq {clocks + 3} -set-at 1 rst 1 -set-init-zero"
    after = " ".join(f"-set-at {step} rst 0" for step in range(2, clocks + 4))
    checked = f"sat -verify {steps} {after} -prove-skip 1 -prove ok 1 miter\n"
    ends = f"sat -verify {steps} {after} -prove-skip {clocks + 2} -prove out_valid 1 miter\n"
    prove(f"read_verilog net.v\n{prepared}{checked}{ends}", tmp_path)


PREPARED = "prep -top miter -flatten\nopt -full\n"
SERIAL_MITER = """
module miter(input clk, input rst, input [4:0] x, output out_valid, output ok);
wire in_ready;
wire [1:0] found, wanted;
reg [4:0] held;
always @(posedge clk) if (in_ready) held <= x;
slow slow (.clk(clk), .rst(rst), .in_valid(1'b1), .in_ready(in_ready), .in_word(x),
    .out_ready(1'b0), .out_valid(out_valid), .outputs(found));
net net (.inputs(held), .outputs(wanted));
assign ok = !out_valid || found == wanted;
endmodule
"""


def miter(topology: qn.Topology) -> str:
    width, outputs = topology.column_count, topology.output_count
    return f"""
module miter(input [{width - 1}:0] x, output ok);
wire [{outputs - 1}:0] found, wanted;
net net (.inputs(x), .outputs(found));
obvious obvious (.x(x), .y(wanted));
assign ok = found == wanted;
endmodule
"""


def pipelined_miter(topology: qn.Topology, clocks: int) -> str:
    width, outputs = topology.column_count, topology.output_count
    late = width * clocks
    return f"""
module miter(input clk, input rst, input valid, input [{width - 1}:0] x, output ok);
wire [{outputs - 1}:0] found, wanted;
wire out_valid;
reg [{late - 1}:0] inputs;
reg [{clocks - 1}:0] valids;
always @(posedge clk) begin inputs <= {{inputs, x}}; valids <= {{valids, valid}}; end
fast fast (.clk(clk), .rst(rst), .in_valid(valid), .inputs(x), .out_valid(out_valid),
    .outputs(found));
net net (.inputs(inputs[{late - 1}:{late - width}]), .outputs(wanted));
assign ok = found == wanted && out_valid == valids[{clocks - 1}];
endmodule
"""


# ---- files and names ----

HOSTILE = ["*/ `include", "a\\", 'quote"', "line\nendmodule", "$finish;", "ünï", "//", "x" * 500]


@needs_iverilog
@ALL_STYLES
def test_names_cannot_leave_their_place(style: Style, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({word: HOSTILE for word in HOSTILE})
    classifier = qn.QuboClassifier((2,), committee_size=1, random_state=0)
    classifier.fit(X, [f"{word}\n`error $finish endmodule" for word in HOSTILE])
    name = "net\nendmodule initial $finish; `include"
    source = qn.to_verilog(classifier, tmp_path, name=name, style=style, inputs="int8", vectors=20)
    module = "net_endmodule_initial_finish_in"
    assert run_bench(tmp_path, module) == "PASS: 20 examples"
    code = [line for line in source.splitlines() if not line.startswith("//")]
    strange = {line for line in code if "endmodule" in line.split() or "$" in line}
    assert strange == {"endmodule"}
    assert next(line for line in code if line.startswith("module")) == f"module {module} ("
    assert "`" not in source


def test_a_name_that_verilog_reserves_is_changed() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    assert "module model_reg (" in qn.to_verilog(network, name="reg")


def test_the_readme_states_ports_latency_and_size(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(20, 3, 2), seed=0)
    source = qn.to_verilog(network, tmp_path, style="serial", name="net", vectors=10)
    text = (tmp_path / "README.md").read_text()
    assert f"{latency_in(source)} clocks after the last one `out_valid` is 1" in text
    assert "| `in_word` | 16 | input |" in text
    assert "- 20 inputs, 3 neurons and 2 votes" in text
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "README.md",
        "net.v",
        "net_tb.v",
        "net_vectors.hex",
    ]


def test_the_readme_states_tables_and_registers(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(20, 3, 2), seed=0)
    qn.to_verilog(network, tmp_path, style="pipelined", name="net", vectors=10)
    text = (tmp_path / "README.md").read_text()
    (estimate,) = re.findall(r"lookup tables of 4 inputs, an estimate .*: (\d+)", text)
    assert 30 < int(estimate) < 200
    assert re.search(r"- registers: \d+ bits", text)


@needs_yosys
def test_the_readme_states_few_more_registers_than_synthesis_needs(tmp_path: Path) -> None:
    stated, needed = 0, 0
    for number, network in enumerate(PROVED):
        folder = tmp_path / str(number)
        qn.to_verilog(network, folder, style="pipelined", name="net")
        (bits,) = re.findall(r"registers: (\d+) bits", (folder / "README.md").read_text())
        prove("read_verilog net.v\nsynth -flatten -top net\ntee -o cells.txt stat\n", folder)
        cells = re.findall(r"DFF\w* +(\d+)", (folder / "cells.txt").read_text())
        stated, needed = stated + int(bits), needed + sum(map(int, cells))
    assert needed <= stated <= 1.2 * needed


@ALL_STYLES
def test_the_readme_states_the_type_and_the_scale_of_features(style: Style, tmp_path: Path) -> None:
    classifier = with_binariser(qn.Threshold(0.5), 12)
    qn.to_verilog(classifier, tmp_path, style=style, inputs="int16", scale=10, vectors=4)
    assert "int16, 10 times its column |" in (tmp_path / "README.md").read_text()


def test_nothing_is_written_for_a_model_that_cannot_be_expressed(tmp_path: Path) -> None:
    cyclic = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    with pytest.raises(TopologyError, match="an exported network must have no cycles"):
        qn.to_verilog(qn.BinaryNetwork.random(cyclic, seed=0), tmp_path / "new")
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(RangeError, match="inputs must be 'bits' or one of uint8"):
        qn.to_verilog(network, tmp_path / "new", inputs="float")  # type: ignore[arg-type]
    with pytest.raises(RangeError, match="style must be one of combinational, pipelined, serial"):
        qn.to_verilog(network, tmp_path / "new", style="fast")  # type: ignore[arg-type]
    with pytest.raises(RangeError, match="lut_inputs must be 4 or 6"):
        qn.to_verilog(network, tmp_path / "new", lut_inputs=5)
    assert not (tmp_path / "new").exists()


def test_files_are_written_all_or_none(tmp_path: Path) -> None:
    (tmp_path / "README.md").mkdir()  # the last one cannot be written
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(OSError, match=r"README\.md"):
        qn.to_verilog(network, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_an_earlier_export_stays_if_a_file_cannot_be_written(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    earlier = qn.to_verilog(network, tmp_path)
    (tmp_path / "README.md").unlink()
    (tmp_path / "README.md").mkdir()
    with pytest.raises(OSError, match=r"README\.md"):
        qn.to_verilog(network, tmp_path, style="serial")
    assert (tmp_path / "model.v").read_text() == earlier
    assert "clk" not in (tmp_path / "model_tb.v").read_text()


def test_a_readme_of_somebody_else_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(FileFormatError, match=r"README\.md was not written by to_verilog"):
        qn.to_verilog(network, tmp_path)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]
