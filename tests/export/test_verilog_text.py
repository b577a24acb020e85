"""Names and registers of Verilog."""

import re

from hypothesis import given
from hypothesis import strategies as st

import qubonn as qn
from qubonn.export.verilog_text import BLOCK, RESERVED, module_name


@given(st.text(max_size=40))
def test_a_module_has_a_plain_name_whatever_the_model_is_called(name: str) -> None:
    found = module_name(name)
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", found)
    assert found.lower() not in RESERVED.split()


def test_reserved_words_get_a_prefix() -> None:
    assert {module_name(word) for word in ("module", "Reg", "logic")} == {
        "model_module",
        "model_Reg",
        "model_logic",
    }


def test_a_pipeline_has_registers_and_a_combinational_circuit_has_none() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(30, 3, 2), seed=0)
    assert "reg" not in qn.to_verilog(network)
    source = qn.to_verilog(network, style="pipelined")
    registers = set(re.findall(r"(n\d+_\d+) <=", source))
    assert registers
    used = set(re.findall(r"\bn\d+_\d+", source))
    assert used == registers


def test_registers_are_assigned_in_short_blocks() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(300, 6, 2), seed=0)
    source = qn.to_verilog(network, style="pipelined")
    blocks = re.findall(r"^always @\(posedge clk\) begin\n(.*?)^end$", source, re.M | re.S)
    sizes = [len(block.splitlines()) for block in blocks]
    assert len(sizes) > 1
    assert set(sizes[:-1]) == {BLOCK}
    assert 0 < sizes[-1] <= BLOCK
