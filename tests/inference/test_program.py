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
def test_every_bias_has_one_bit_and_every_weight_at_least_one(name: str) -> None:
    topology = GRAPHS[name]
    numbers = program_of(topology).parameter_of
    uses = np.bincount(
        numbers[numbers >= 0], minlength=topology.weight_count + topology.neuron_count
    )
    assert len(numbers) % 64 == 0
    assert uses[topology.weight_count :].tolist() == [1] * topology.neuron_count
    assert uses[: topology.weight_count].min(initial=1) >= 1


def test_a_shared_filter_is_stored_once() -> None:
    topology = qn.Topology.parse("conv(5x5x8) + fc(10)", inputs=(28, 28), outputs=10)
    numbers = program_of(topology).parameter_of
    assert np.bincount(numbers[numbers >= 0]).tolist() == [1] * (
        topology.weight_count + topology.neuron_count
    )
