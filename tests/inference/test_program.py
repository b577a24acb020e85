"""Programs read words where that is quicker, and hold every parameter."""

import numpy as np
import pytest

import qubonn as qn
from inference.graphs import GRAPHS
from qubonn.inference.program import DENSE, GATHER, SLIDE, SPREAD, program_of


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("dense", [DENSE, DENSE]),
        ("deep", [DENSE, DENSE, DENSE, DENSE]),
        ("convolution", [SPREAD, SLIDE, GATHER, DENSE, DENSE]),
        ("deep convolution", [SPREAD, SLIDE, SLIDE, GATHER, DENSE, DENSE]),
        ("gathered", [SPREAD, DENSE, SPREAD, GATHER, DENSE, SPREAD, SLIDE, DENSE]),
        ("no arcs", [SLIDE]),
    ],
)
def test_words_are_read_where_that_is_quicker(name: str, kinds: list[int]) -> None:
    assert program_of(GRAPHS[name]).tables.steps["kind"].tolist() == kinds


def test_what_depends_on_the_inputs_only_comes_first_and_once() -> None:
    tables = program_of(GRAPHS["gathered"]).tables
    assert tables.opening == 1
    assert tables.steps["reads_inputs"][:2].tolist() == [1, 1]


@pytest.mark.parametrize("name", GRAPHS)
def test_every_threshold_has_its_bits_and_every_other_weight_at_least_one(name: str) -> None:
    topology, program = GRAPHS[name], program_of(GRAPHS[name])
    numbers, digits = program.parameter_of, program.tables.digit_count
    size = topology.weight_count + (1 + digits) * topology.neuron_count
    uses = np.bincount(numbers[numbers >= 0], minlength=size)
    own = np.delete(topology.weight_of, topology.constant_arcs)
    biases, *by_digit = uses[topology.weight_count : size].reshape(-1, topology.neuron_count)
    for weights in program.levelled:
        uses[weights] += 1
    assert len(numbers) % 64 == 0
    assert all((biases + uses_of_digit == 1).all() for uses_of_digit in by_digit)
    assert uses[np.unique(own)].min(initial=1) >= 1


def test_parallel_arcs_are_planes_of_weights_over_the_same_words() -> None:
    topology = qn.Topology.dense(784, 100, 10, weight_levels=[17, 4], threshold_levels=9)
    program = program_of(topology)
    steps = program.tables.steps
    assert steps["kind"].tolist() == [DENSE, DENSE]
    assert steps["parallel_count"].tolist() == [16, 3]
    assert steps["plane_count"].tolist() == [5, 2]
    assert steps["single_count"].tolist() == [2, 1]
    assert steps["constant_count"].tolist() == [7, 7]
    assert program.tables.digit_count == 4
    assert len(program.parameter_of) // 64 == 5 * 100 * 13 + 2 * 10 * 2 + 4 * (2 + 1)


def test_a_shared_filter_is_stored_once() -> None:
    topology = qn.Topology.parse("conv(5x5x8) + fc(10)", inputs=(28, 28), outputs=10)
    numbers = program_of(topology).parameter_of
    uses = np.bincount(numbers[numbers >= 0])
    hidden, outputs = topology.hidden_count, topology.output_count
    assert uses[: topology.weight_count].tolist() == [1] * topology.weight_count
    assert uses.sum() == topology.weight_count + hidden + outputs
