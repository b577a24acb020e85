"""The paper as tests: its theorem, its tables, its counts."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qubonn as qn
from qubonn.formulation import CountCode
from qubonn.paper import topology as paper_topology

# tab:networks: neurons, connections, binary and integer variables, constraints
PAPER_COUNTS = {
    0: (43, 96, 246, 72, 200),
    1: (47, 136, 466, 88, 376),
    2: (36, 99, 146, 44, 116),
    3: (45, 198, 290, 80, 224),
    4: (40, 125, 296, 60, 236),
    5: (31, 72, 78, 24, 56),
    6: (35, 144, 154, 40, 104),
    # printed as conv(4x4)+fc(4), which would have 35 neurons; the counts are those of two filters
    7: (39, 168, 294, 56, 216),
    8: (28, 27, 42, 12, 20),
    9: (29, 54, 82, 16, 32),
    10: (30, 81, 122, 20, 44),
    11: (31, 108, 162, 24, 56),
    12: (32, 135, 202, 28, 68),
    13: (33, 162, 242, 32, 80),
    14: (34, 189, 282, 36, 92),
    15: (35, 216, 322, 40, 104),
    16: (36, 243, 362, 44, 116),
    17: (37, 270, 402, 48, 128),
}

# tbl-activation-example: x1, x2, b3, y1, y2, d3, pi, rho, s1 s0, y3, x3
ACTIVATION_TABLE = [
    (-1, -1, -1, 0, 0, 0, -3, 0, (0, 0), 0, -1),
    (-1, -1, +1, 0, 0, 1, -1, 1, (0, 1), 0, -1),
    (-1, +1, -1, 0, 1, 0, -1, 1, (0, 1), 0, -1),
    (-1, +1, +1, 0, 1, 1, +1, 2, (1, 0), 1, +1),
    (+1, -1, -1, 1, 0, 0, -1, 1, (0, 1), 0, -1),
    (+1, -1, +1, 1, 0, 1, +1, 2, (1, 0), 1, +1),
    (+1, +1, -1, 1, 1, 0, +1, 2, (1, 0), 1, +1),
    (+1, +1, +1, 1, 1, 1, +3, 3, (1, 1), 1, +1),
]

# tbl:binary-substitution-logic: x, y, psi, value
PENALTY_TABLE = [
    (0, 0, 0, 0),
    (0, 0, 1, 3),
    (0, 1, 0, 0),
    (0, 1, 1, 1),
    (1, 0, 0, 0),
    (1, 0, 1, 1),
    (1, 1, 0, 1),
    (1, 1, 1, 0),
]


@pytest.mark.parametrize("term_count", range(1, 17))
def test_theorem_1_holds_for_every_choice_of_up_to_16_spins(term_count: int) -> None:
    code = CountCode.for_inputs(term_count)
    numbers = np.arange(2**term_count)
    positive = np.sum([numbers >> place & 1 for place in range(term_count)], axis=0)
    count = positive + code.shift
    assert count.min() >= 0
    assert count.max() < 2 ** (code.top_bit + 1)
    assert np.array_equal(count >> code.top_bit == 1, 2 * positive - term_count >= 1)


@given(st.lists(st.sampled_from([-1, +1]), min_size=17, max_size=5000))
def test_the_top_bit_is_set_exactly_when_the_sum_is_positive(spins: list[int]) -> None:
    code = CountCode.for_inputs(len(spins))
    count = spins.count(+1) + code.shift
    assert 0 <= count < 2 ** (code.top_bit + 1)
    assert (count >> code.top_bit == 1) == (sum(spins) > 0)


@given(st.integers(1, 2**62))
def test_slack_and_top_bit_are_the_papers_for_any_number_of_terms(term_count: int) -> None:
    code = CountCode.for_inputs(term_count)
    assert 2**code.top_bit <= term_count < 2 ** (code.top_bit + 1)
    assert code.slack == 2 ** (code.top_bit + 1) - (term_count + 1)


@pytest.mark.parametrize("row", ACTIVATION_TABLE)
def test_the_activation_table_is_reproduced_row_by_row(row: tuple[Any, ...]) -> None:
    x1, x2, b3, y1, y2, d3, pi, rho, (s1, s0), y3, x3 = row
    network = qn.BinaryNetwork(qn.Topology.dense(2, 1), [1, 1], [b3])
    code = CountCode.for_inputs(3)
    assert (code.top_bit, code.slack) == (1, 0)
    assert ((x1 + 1) // 2, (x2 + 1) // 2, (b3 + 1) // 2) == (y1, y2, d3)
    assert network.pre_activations([[x1, x2]]).item() == pi
    assert y1 + y2 + d3 == rho == 2 * s1 + s0
    assert network.predict_outputs([[x1, x2]]).item() == x3
    assert s1 == y3 == (x3 + 1) // 2
    # and the same row as an assignment of the training problem: the count is s0
    problem = qn.TrainingProblem(network.topology, [[x1, x2]], [[x3]])
    assert problem.encode(network).tolist() == [1, 1, d3, s0]
    assert problem.certify(network).is_feasible


@pytest.mark.parametrize(("v", "y", "p", "value"), PENALTY_TABLE)
def test_the_penalty_table_is_reproduced_row_by_row(v: int, y: int, p: int, value: int) -> None:
    chain = qn.Topology.from_arcs([(0, 1), (1, 2)], inputs=1, outputs=1)
    problem = qn.TrainingProblem(chain, [[1]], [[1]])
    qubo = problem.qubo("product")
    number = {label: index for index, label in enumerate(qubo.labels)}
    bits = np.zeros(qubo.variable_count, dtype=np.int8)
    bits[number["weight", 1]] = v
    bits[number["activation", 0, 1]] = y
    bits[number["product", 0, 1]] = p
    assert qubo.energy(bits) == value
    assert problem.terms(bits).product == value


@pytest.mark.parametrize("number", PAPER_COUNTS)
def test_all_five_counts_of_every_network_are_the_papers(number: int) -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(
        paper_topology(number), letters.train_inputs, letters.train_outputs
    )
    size = problem.size
    counts = (size.nodes, size.arcs, size.binary, size.integer, size.constraints)
    assert counts == PAPER_COUNTS[number]
    assert problem.qubo().variable_count == size.qubo_variables


def test_network_7_as_printed_does_not_have_the_printed_counts() -> None:
    printed = qn.Topology.parse("conv(4x4)+fc(4)", inputs=(5, 5), outputs=2)
    assert (printed.node_count, printed.arc_count) != PAPER_COUNTS[7][:2]


def test_the_letters_use_the_two_output_codes_that_the_paper_gives() -> None:
    letters = qn.datasets.letters(seed=0)
    code = dict(zip(letters.train_labels.tolist(), letters.train_outputs.tolist(), strict=True))
    assert code["O"] == [-1, -1]
    assert code["X"] == [1, -1]
    assert sorted(code.values()) == sorted(map(list, product((-1, 1), repeat=2)))


@pytest.mark.parametrize("number", [-1, 18, 1.5, "10"])
def test_a_network_the_paper_does_not_have_is_refused(number: object) -> None:
    with pytest.raises(qn.QubonnError, match="number"):
        paper_topology(number)  # type: ignore[arg-type]
