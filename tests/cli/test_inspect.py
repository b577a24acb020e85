from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

import qubonn as qn
from qubonn.export import device_bytes

Call = Callable[..., Result]
CallJson = Callable[..., dict[str, Any]]


def test_a_model_says_its_size_classes_and_columns(
    model: Path, call: Call, call_json: CallJson
) -> None:
    output = call("inspect", model).stdout
    for words in (
        "classifier",
        "large, middle, small",
        "length, width, height",
        "bytes on a device",
    ):
        assert words in output
    said = call_json("inspect", model)
    assert (said["kind"], said["members"], said["columns"]) == ("classifier", 3, 3)
    assert said["device_bytes"] == device_bytes(qn.load(model))
    assert f"{said['device_bytes']:,}" in output


def test_bare_networks_and_committees_are_told_apart(tmp_path: Path, call_json: CallJson) -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(3, 2), seed=0)
    network.save(tmp_path / "a.qubonn")
    qn.Committee([network]).save(tmp_path / "b.qubonn")
    assert call_json("inspect", "a.qubonn")["kind"] == "network"
    assert call_json("inspect", "b.qubonn")["kind"] == "committee"


@pytest.mark.parametrize("suffix", [".qubo", ".npz"])
def test_qubos_say_their_size_and_what_their_variables_are(
    flowers: Path, call: Call, call_json: CallJson, suffix: str
) -> None:
    call("qubo", flowers, "-t", "kind", "--per-class", 1, "--binariser", 1, "-o", f"p{suffix}")
    output = call("inspect", f"p{suffix}").stdout
    assert "weight" in output
    assert "product" in output
    qubo = qn.Qubo.load(f"p{suffix}")
    said = call_json("inspect", f"p{suffix}")
    assert (said["variables"], said["couplings"]) == (qubo.variable_count, qubo.coupling_count)
    assert call_json("inspect", f"p{suffix}.problem.npz")["variables"] == qubo.variable_count


@pytest.mark.parametrize(
    ("suffix", "magic"), [(".png", b"\x89PNG"), (".svg", b"<?xml"), (".pdf", b"%PDF")]
)
def test_pictures_are_drawn_in_the_format_of_their_name(
    flowers: Path, model: Path, call: Call, suffix: str, magic: bytes
) -> None:
    call("inspect", model, "--picture", f"network{suffix}", "--member", 2)
    call("qubo", flowers, "-t", "kind", "--per-class", 1, "--binariser", 1, "-o", "p.qubo")
    call("inspect", "p.qubo", "--picture", f"couplings{suffix}")
    for name in ("network", "couplings"):
        data = Path(f"{name}{suffix}").read_bytes()
        assert data.startswith(magic)
        assert len(data) > 5000


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.qubonn", b"junk", "a.qubonn"),
        ("a.qubo", b"junk", "a.qubo"),
        ("a.problem.npz", b"{}", "is not a readable .npz archive"),
        ("a.jpg", b"", "must be a model (.qubonn)"),
    ],
)
def test_other_files_get_one_sentence(
    tmp_path: Path, call: Call, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    result = call("inspect", name, code=2)
    assert words in result.stderr
    assert result.stderr.startswith("Error: ")


def test_a_member_that_is_not_there_is_refused(model: Path, call: Call) -> None:
    assert "has 3 networks" in call("inspect", model, "--member", 4, code=2).stderr


def test_a_problem_says_what_it_asks_of_a_machine(gates: Path, call: Call) -> None:
    call("qubo", gates, "-t", "gate", "--hidden", "2", "-o", "p.qubo")
    for file in ("p.qubo", "p.qubo.problem.npz"):
        said = call("inspect", file).stdout
        for words in ("degree", "Ising range", "bits with sign", "Zephyr 12", "chain strength"):
            assert words in said
    said = call("inspect", "p.qubo.problem.npz", "--precision").stdout
    assert "suggested alpha" in said
    assert "after repair" in said
    assert "exact" in said
    assert "--precision needs a problem" in call("inspect", "p.qubo", "--precision", code=2).stderr
