from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import qubonn as qn
from qubonn.drawing.figures import MOST_CELLS, coupling_blocks, input_images

Call = Callable[..., Result]
CallJson = Callable[..., dict[str, Any]]


def test_a_model_says_its_size_classes_and_columns(
    model: Path, call: Call, call_json: CallJson
) -> None:
    output = call("inspect", model).stdout
    for words in ("classifier", "large, middle, small", "length, width, height", "bytes, packed"):
        assert words in output
    said = call_json("inspect", model)
    assert (said["kind"], said["members"], said["columns"]) == ("classifier", 3, 3)


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
    assert call_json("inspect", f"p{suffix}.problem.json")["variables"] == qubo.variable_count


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


def test_an_image_shows_the_weights_of_each_neuron() -> None:
    network = qn.BinaryNetwork.random(qn.paper.topology(10), seed=0)
    images = input_images(network)
    assert images is not None
    assert np.array_equal(images.ravel(), network.weight_spins[:75])
    filters = input_images(qn.BinaryNetwork.random(qn.paper.topology(3), seed=0))
    assert filters is not None
    assert [int(np.abs(image).sum()) for image in filters] == [9, 9]
    assert input_images(qn.BinaryNetwork.random(qn.Topology.dense(4, 2), seed=0)) is None


def test_the_picture_of_a_small_qubo_is_its_matrix() -> None:
    qubo = qn.Qubo.of([0, 0, 1], [0, 1, 2], [5, -2, 3], variable_count=3)
    blocks, step = coupling_blocks(qubo)
    assert step == 1
    assert blocks.tolist() == [[5, -2, 0], [-2, 0, 3], [0, 3, 0]]


def test_the_picture_of_a_large_qubo_stays_small_and_keeps_the_extremes() -> None:
    count = 100 * MOST_CELLS
    qubo = qn.Qubo.of([0, 1, 5], [1, 2, count - 1], [1, -7, 2], variable_count=count)
    blocks, step = coupling_blocks(qubo)
    assert blocks.shape == (MOST_CELLS, MOST_CELLS)
    assert step == 100
    assert blocks[0, 0] == -7
    assert blocks[0, -1] == blocks[-1, 0] == 2


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.qubonn", b"junk", "a.qubonn"),
        ("a.qubo", b"junk", "a.qubo"),
        ("a.problem.json", b"{}", "does not describe a problem"),
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
