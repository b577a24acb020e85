"""What is in a header, without compiling it."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings

import qubonn as qn
from export.models import committee, models
from qubonn.errors import RangeError
from qubonn.export import device_bytes


def words_in(header: str, table: str) -> int:
    found = re.search(rf"model_{table}\[\] = {{ /\*.*?\*/\n(.*?)\n}};", header, re.DOTALL)
    assert found is not None
    return len(found[1].split(","))


def test_a_filter_is_stored_once() -> None:
    network = qn.BinaryNetwork.random(
        qn.Topology.parse("conv(3x3x2)", inputs=(28, 28), outputs=1), seed=0
    )
    neurons = 2 * 26 * 26
    assert words_in(qn.to_c(network), "weights") == 2 + -(-neurons // 32)


def test_a_weight_or_a_bias_is_one_bit() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(784, 64, 10), seed=0)
    header = qn.to_c(network)
    assert words_in(header, "weights") == 64 * 25 + 10 * 2
    assert words_in(header, "biases") == 2 + 1


def test_a_weight_of_17_levels_is_five_bits() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(64, 3, weight_levels=17), seed=0)
    assert words_in(qn.to_c(network), "weights") == 3 * 5 * 2


@settings(deadline=None)
@given(models())
def test_the_bytes_of_a_model_are_one_number(model: qn.BinaryNetwork | qn.Committee) -> None:
    stated = re.search(r"MODEL_TABLE_BYTES (\d+)", qn.to_c(model))
    assert stated is not None
    assert int(stated[1]) == device_bytes(model) == model.summary().byte_count


def test_members_share_all_but_their_parameters() -> None:
    one, three = (qn.to_c(committee(qn.paper.topology(3), size)) for size in (1, 3))
    for table in ("weights", "biases"):
        assert words_in(three, table) == 3 * words_in(one, table)
    assert _steps(one) == _steps(three)


def _steps(header: str) -> str:
    return header[header.index("_steps[]") : header.index("_weights[]")]


def test_the_comment_at_the_top_says_what_goes_in_and_what_it_costs() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(40, 2), seed=0)
    top = qn.to_c(network).split("*/")[0]
    assert "40 bits in 2 words: input i is bit i % 32 of word i / 32" in top
    assert "82 weights and biases of -1 and +1" in top
    # one step of 12 numbers, an unused run, two outputs; two words a neuron, one of biases
    assert f"{2 * (12 + 2 + 2) + 4 * (4 + 1)} bytes of tables" in top
    assert f"{4 * (2 + 1 + 1 + 2)} bytes of arrays on the stack" in top


def test_the_same_model_gives_the_same_text_and_the_file_holds_it(tmp_path: Path) -> None:
    network = qn.BinaryNetwork.random(qn.paper.topology(7), seed=0)
    text = qn.to_c(network, tmp_path / "model.h")
    assert (tmp_path / "model.h").read_text() == text == qn.to_c(network)
    assert [path.name for path in tmp_path.iterdir()] == ["model.h"]


def test_arguments_out_of_range_are_refused() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(RangeError, match="inputs must be 'bits' or one of uint8, int8"):
        qn.to_c(network, inputs="double")  # type: ignore[arg-type]
    with pytest.raises(RangeError, match="inputs='uint8' needs a QuboClassifier"):
        qn.to_c(network, inputs="uint8")
    with pytest.raises(RangeError, match="scale must be at least 1"):
        qn.to_c(network, scale=0)
    with pytest.raises(RangeError, match="name must be text"):
        qn.to_c(network, name=3)  # type: ignore[arg-type]
