"""S1 and S2 are the paper's sums of margins, loop by loop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from network.random_networks import networks, random_inputs, slow_sum
from qubonn.network import Margins
from reference import f


def slow_magnitudes(network: qn.BinaryNetwork, row: list[float]) -> dict[int, int]:
    """|b_j + sum of w_ij x_i| by neuron, for one example."""
    topology = network.topology
    spins = {node: f(row[node]) for node in topology.inputs}
    sums: dict[int, int] = {}
    for level in topology.levels():
        sums |= {node: slow_sum(network, spins, node) for node in level.tolist()}
        spins |= {node: f(sums[node]) for node in level.tolist()}
    return {node: abs(value) for node, value in sums.items()}


@settings(max_examples=100, deadline=None)
@given(networks(is_acyclic=True), st.integers(0, 2**32), st.integers(1, 5))
def test_s1_and_s2_equal_the_formulas_of_the_paper(
    network: qn.BinaryNetwork, seed: int, example_count: int
) -> None:
    inputs = random_inputs(network, example_count, seed)
    examples = [slow_magnitudes(network, row) for row in inputs]
    neurons = range(network.topology.input_count, network.topology.node_count)
    margins = network.margins(inputs)
    assert margins.s1 == sum(min(found[j] for found in examples) for j in neurons)
    assert margins.s2 == sum(found[j] for found in examples for j in neurons)
    assert margins.per_neuron.tolist() == [min(found[j] for found in examples) for j in neurons]
    assert margins.magnitudes.tolist() == [[found[j] for j in neurons] for found in examples]


@pytest.mark.parametrize("number", [2, 7, 10])
def test_one_example_has_equal_s1_and_s2(number: int) -> None:
    network = qn.BinaryNetwork.random(qn.paper.topology(number), seed=0)
    inputs = qn.datasets.letters(seed=0).train_inputs[:1]
    assert network.margins(inputs).s1 == network.margins(inputs).s2


def test_margins_say_what_they_are() -> None:
    margins = Margins(np.array([[3, 1], [1, 5]], dtype=np.int32))
    assert repr(margins) == "Margins(s1=2, s2=10)"
    assert margins.per_neuron.tolist() == [1, 1]
    assert (type(margins.s1), type(margins.s2)) == (int, int)


def test_large_sums_do_not_wrap_around() -> None:
    margins = Margins(np.full((3, 2), 2**31 - 1, dtype=np.int32))
    assert margins.s1 == 2 * (2**31 - 1)
    assert margins.s2 == 6 * (2**31 - 1)
