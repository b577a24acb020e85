"""What onnxruntime says is what NumPy says, bit for bit, in both forms."""

import itertools
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from export.compiled import Case, expected
from export.models import BORDERS, committee, models, odd_wirings
from export.running import run_onnx
from qubonn.encoding import Reading
from qubonn.errors import RangeError, TopologyError
from qubonn.export import onnx_graph
from qubonn.export.model import float32_levels
from qubonn.export.onnx_graph import Form

onnx = pytest.importorskip("onnx")

FORMS: tuple[Form, ...] = ("float", "int8")
every_form = pytest.mark.parametrize("form", FORMS)


def check(case: Case, form: Form) -> None:
    wanted = expected(case)
    outputs, sums = run_onnx(qn.to_onnx(case.model, form=form), case.inputs)
    assert outputs.dtype == (np.float32 if form == "float" else np.int8)
    assert sums.dtype == (np.float32 if form == "float" else np.int32)
    assert outputs.tolist() == wanted.outputs
    assert sums.tolist() == wanted.votes


@settings(max_examples=60, deadline=None)
@given(models(), st.sampled_from(FORMS), st.integers(0, 2**32))
def test_onnx_answers_as_numpy_whatever_the_wiring(
    model: qn.BinaryNetwork | qn.Committee, form: Form, seed: int
) -> None:
    check(Case.random(model, seed=seed), form)


@every_form
@pytest.mark.parametrize("name", odd_wirings())
def test_wirings_that_chance_seldom_makes_run_in_onnx(form: Form, name: str) -> None:
    check(Case.random(committee(odd_wirings()[name], 3, "largest"), rows=50), form)


@every_form
def test_the_networks_of_the_paper_run_in_onnx(form: Form) -> None:
    letters = qn.datasets.letters(seed=0)
    for number in range(18):
        network = qn.BinaryNetwork.random(qn.paper.topology(number), seed=number)
        check(Case(network, letters.test_inputs, {}), form)


@every_form
def test_ties_go_to_minus_one_in_onnx(form: Form) -> None:
    spins = np.array(list(itertools.product((-1, 1), repeat=5)))
    network = qn.BinaryNetwork.random(qn.Topology.dense(5, 3, 4), seed=0)
    check(Case(network, spins, {}), form)
    outputs, sums = run_onnx(qn.to_onnx(network, form=form), spins)
    assert (sums == 0).sum() > 10
    assert (outputs[sums == 0] == -1).all()


@every_form
@pytest.mark.parametrize("reading", ["signs", "largest"])
@pytest.mark.parametrize("size", [1, 2, 6])
def test_committees_vote_in_onnx_as_in_numpy(form: Form, reading: Reading, size: int) -> None:
    spins = np.array(list(itertools.product((-1, 1), repeat=5)))
    for topology in (
        qn.Topology.dense(5, 3, 4),
        qn.Topology.parse("conv(1x2x3)", inputs=(1, 5), outputs=3),
    ):
        check(Case(committee(topology, size, reading), spins, {}), form)


@every_form
def test_a_committee_has_as_many_nodes_as_its_networks_and_a_vote(form: Form) -> None:
    small, large = (qn.to_onnx(committee(qn.paper.topology(7), size), form=form) for size in (2, 9))
    assert len(small.graph.node) == len(large.graph.node)


@every_form
def test_a_filter_is_stored_once(form: Form) -> None:
    topology = qn.Topology.parse("conv(3x3x2)", inputs=(28, 28), outputs=1)
    model = qn.to_onnx(qn.BinaryNetwork.random(topology, seed=0), form=form)
    shapes = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    assert shapes["weights"] == [9, 2]


@every_form
def test_parallel_arcs_are_one_number_of_a_matrix(form: Form) -> None:
    topology = qn.Topology.dense(20, 9, 3, weight_levels=3, threshold_levels=5)
    network = qn.BinaryNetwork.random(topology, seed=0)
    check(Case.random(network, rows=200), form)
    model = qn.to_onnx(network, form=form)
    shapes = {tensor.name: list(tensor.dims) for tensor in model.graph.initializer}
    assert shapes["weights"] == [20, 9]


def test_more_than_127_parallel_arcs_still_fit_into_int8() -> None:
    topology = qn.Topology.from_arcs([(0, 1)] * 300, inputs=1, outputs=1)
    network = qn.BinaryNetwork(topology, np.ones(300), [-1])
    _, sums = run_onnx(qn.to_onnx(network, form="int8"), np.array([[1], [-1]]))
    assert sums.tolist() == [[299], [-301]]


@every_form
@pytest.mark.parametrize("inputs", BORDERS)
def test_any_number_of_examples_goes_in(form: Form, inputs: int) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(inputs, 2, 1), seed=0)
    for rows in (1, 3, 100):
        check(Case.random(network, rows=rows), form)


@every_form
def test_models_are_what_the_checker_and_old_runtimes_take(form: Form) -> None:
    model = qn.to_onnx(committee(qn.paper.topology(7), 3), form=form, name="l*/etters")
    onnx.checker.check_model(model, full_check=True)
    assert model.ir_version == 8
    assert [(opset.domain, opset.version) for opset in model.opset_import] == [("", 17)]
    assert model.graph.name == "l*/etters"
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "examples"


def test_the_file_holds_the_model(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.paper.topology(10), seed=0)
    model = qn.to_onnx(network, tmp_path / "model.onnx")
    assert onnx.load(tmp_path / "model.onnx") == model
    assert [path.name for path in tmp_path.iterdir()] == ["model.onnx"]


def test_the_graph_has_no_unused_values() -> None:
    model = qn.to_onnx(committee(qn.paper.topology(10), 3, "largest"))
    read = {name for node in model.graph.node for name in node.input}
    made = {name for node in model.graph.node for name in node.output}
    assert made - read == {"outputs"}  # sums are read to make outputs
    assert {tensor.name for tensor in model.graph.initializer} <= read


def test_the_whole_road_from_four_examples_to_onnx() -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(qn.paper.topology(10), letters.train_inputs, letters.train_outputs)
    result = qn.train(problem, seed=0)
    for form in FORMS:
        check(Case(result.network, letters.test_inputs, {}), form)
        outputs, _ = run_onnx(qn.to_onnx(result.network, form=form), letters.train_inputs)
        assert outputs.tolist() == letters.train_outputs.tolist()


def test_what_cannot_be_exported_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    loop = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    with pytest.raises(TopologyError, match="must have no cycles"):
        qn.to_onnx(qn.BinaryNetwork.random(loop, seed=0))
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    bad: Any = "double"
    with pytest.raises(RangeError, match="form must be 'float' or 'int8'; got 'double'"):
        qn.to_onnx(network, form=bad)
    with pytest.raises(RangeError, match="inputs must be 'spins' or 'numbers'; got 'double'"):
        qn.to_onnx(network, inputs=bad)
    monkeypatch.setattr(onnx_graph, "MOST_BYTES", 10)
    with pytest.raises(RangeError, match="an ONNX file holds at most 10 bytes of weights"):
        qn.to_onnx(network)


def test_without_onnx_the_error_says_what_to_install() -> None:
    code = (
        "import sys; sys.modules['onnx'] = None\n"
        "import qubonn as qn\n"
        "network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)\n"
        "assert 'onnx' not in str(type(qn.to_c(network)))\n"
        "try:\n    qn.to_onnx(network)\n"
        "except qn.errors.MissingExtra as error:\n    print(error)\n"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "to_onnx needs onnx; install it with  pip install 'qubonn[onnx]'\n"


def test_float32_levels_split_float32_as_thresholds_do() -> None:
    thresholds = np.concatenate([np.random.default_rng(0).normal(size=1000), [0.1, 1e300, -1e300]])
    levels = float32_levels(thresholds)
    up = np.float32(np.inf)
    near = thresholds.clip(-1e38, 1e38).astype(np.float32)
    for numbers in (near, np.nextafter(near, up), np.nextafter(near, -up)):
        assert ((numbers > levels) == (numbers.astype(np.float64) > thresholds)).all()
