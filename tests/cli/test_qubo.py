import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from sklearn.datasets import load_iris

import qubonn as qn
from qubonn.estimator import PosedProblem

Call = Callable[..., Result]
CallJson = Callable[..., dict[str, Any]]


@pytest.mark.parametrize("suffix", [".npz", ".qubo", ".coo", ".json", ".mtx", ".rudy"])
def test_every_format_holds_the_same_qubo(gates: Path, call: Call, suffix: str) -> None:
    call("qubo", gates, "-t", "gate", "--hidden", "2", "--margin", 0.125, "-o", f"p{suffix}")
    posed = PosedProblem.load(f"p{suffix}.problem.npz")
    assert qn.Qubo.load(f"p{suffix}") == posed.problem.qubo()
    assert posed.problem.margin_strength == 0.125
    assert (posed.names, posed.target) == (("a", "b"), "gate")


def test_equal_examples_share_variables_if_asked(
    tmp_path: Path, call: Call, call_json: CallJson
) -> None:
    (tmp_path / "two.csv").write_text("a,b,k\n1,0,x\n0,1,y\n1,0,x\n")
    arguments = ("qubo", "two.csv", "-t", "k", "--hidden", "1", "-o", "p.qubo")
    assert "shared between examples" in call(*arguments, "--share").stdout
    sizes = [call_json(*arguments, *more)["variables"] for more in ((), ("--share",))]
    assert sizes[0] > sizes[1] == PosedProblem.load("p.qubo.problem.npz").problem.variables.count


def test_the_command_that_comes_next_can_be_pasted(gates: Path, call: Call) -> None:
    said = call("qubo", gates, "-t", "gate", "--hidden", 0, "-o", "my gates.qubo").stdout
    assert "qubonn decode 'my gates.qubo' SAMPLES" in said


def test_the_documented_example_has_a_solution(
    tmp_path: Path, call: Call, call_json: CallJson
) -> None:
    X, y = load_iris(return_X_y=True)
    rows = [f"{','.join(map(str, row))},{name}" for row, name in zip(X, y, strict=True)]
    (tmp_path / "iris.csv").write_text("\n".join(["a,b,c,d,species", *rows]))
    page = (Path(__file__).parents[2] / "docs" / "ising_machines.md").read_text()
    example = re.search(r"^qubonn (qubo iris.csv .*)$", page, re.MULTILINE)
    assert example
    said = call_json(*shlex.split(example[1]))
    assert (said["contradictions"], said["least_penalty"]) == ([], 0)
    assert qn.train(PosedProblem.load("iris.qubo.problem.npz").problem).is_feasible


def test_contradicting_examples_are_named_with_their_cost(
    tmp_path: Path, call: Call, call_json: CallJson
) -> None:
    (tmp_path / "torn.csv").write_text("a,b,k\n1,0,x\n0,1,x\n1,0,y\n1,0,y\n")
    arguments = ("qubo", "torn.csv", "-t", "k", "--hidden", "1", "-o", "p.qubo")
    said = call(*arguments)
    assert "Note: examples 0, 2 and 3 have the same input spins and different" in said.stderr
    assert "the energy without rewards is at least 1" in said.stdout
    assert call_json(*arguments)["contradictions"] == [[0, 2, 3]]
    assert call_json("inspect", "p.qubo.problem.npz")["least_penalty"] == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "p.txt"], "must end in .qubo or .npz or"),
        ([], "Missing option '-o'"),
        (["-o", "p.qubo", "--alpha", "-1"], "-1"),
        (["-o", "p.qubo", "--topology", "conv(9x9)", "--image", "1x2"], "9x9"),
    ],
)
def test_wrong_usage_of_qubo_ends_with_2(
    gates: Path, call: Call, arguments: list[str], words: str
) -> None:
    result = call("qubo", gates, "-t", "gate", *arguments, code=2)
    assert words in result.stderr
    assert sorted(path.name for path in gates.parent.iterdir()) == ["gates.csv"]


def test_text_and_missing_cells_become_a_qubo(tmp_path: Path, call: Call) -> None:
    (tmp_path / "t.csv").write_text("colour;size;k\nred;1,5;a\nblue;;b\ngreen;2;b\n")
    result = call("qubo", "t.csv", "-t", "k", "--decimal", ",", "--hidden", 2, "-o", "t.qubo")
    assert "TableEncoder" in result.stdout
    assert "TableEncoder" in call("inspect", "t.qubo.problem.npz").stdout
