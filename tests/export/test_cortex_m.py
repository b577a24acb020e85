"""The C runs on the processors it is for: Cortex-M0, M3 and M4 under qemu."""

from pathlib import Path

import pytest

import qubonn as qn
from export.compiled import Case, expected
from export.cortex_m import BOARDS, Board, answers_on, require_tools
from export.models import committee


@pytest.mark.cortex_m
@pytest.mark.parametrize("board", BOARDS, ids=lambda board: board.processor)
def test_c_answers_on_a_cortex_m_as_numpy_does(board: Board, tmp_path: Path) -> None:
    require_tools()
    letters = qn.datasets.letters(seed=0)
    cases = [
        Case(committee(qn.paper.topology(7), 5), letters.test_inputs, {}),
        Case(committee(qn.paper.topology(10), 4, "largest"), letters.test_inputs, {}),
        *(
            Case.random(qn.BinaryNetwork.random(qn.Topology.dense(count, 65, 3), seed=0), rows=5)
            for count in (31, 32, 33, 64, 784)
        ),
    ]
    assert answers_on(board, cases, tmp_path) == [expected(case) for case in cases]
