"""What is known, what needs variables, and neurons of one shape."""

import numpy as np
import pytest

import qubonn as qn
from qubonn.formulation.structure import (
    CountCode,
    count_weights,
    shifts_of,
    structure_of,
    top_bits_of,
)


@pytest.mark.parametrize("term_count", range(1, 70))
def test_codes_of_many_neurons_are_those_of_each(term_count: int) -> None:
    code, fan_in = CountCode.for_inputs(term_count), np.array([term_count - 1])
    assert top_bits_of(fan_in).tolist() == [code.top_bit]
    assert shifts_of(fan_in, top_bits_of(fan_in)).tolist() == [code.shift]


def test_fixed_outputs_need_no_activations_and_free_ones_do() -> None:
    topology = qn.Topology.dense(3, 2, 1)
    assert structure_of(topology, True).free_nodes.tolist() == [3, 4]
    assert structure_of(topology, False).free_nodes.tolist() == [3, 4, 5]


def test_every_neuron_is_in_one_group_of_its_shape() -> None:
    structure = structure_of(qn.Topology.dense(3, 2, 2, 1), True)
    groups = [alike.neurons.tolist() for alike in structure.alike]
    assert sorted(groups) == [[0, 1], [2, 3], [4]]
    assert all(a.known_count + a.free_count == len(a.parameters[0]) - 1 for a in structure.alike)


@pytest.mark.parametrize("top_bit", range(1, 7))
@pytest.mark.parametrize("bound", [None, 1, 2, 3, 4, 5, 6, 7, 9, 100])
def test_weights_of_count_bits_have_exactly_the_counts_as_sums(
    top_bit: int, bound: int | None
) -> None:
    weights = count_weights(top_bit, bound)
    sums = {0}
    for smaller, weight in enumerate(weights):
        assert weight <= 1 + sum(weights[:smaller])  # so that the largest may come first
        sums |= {total + weight for total in sums}
    assert sums == set(range(2**top_bit))
    assert bound is None or max(weights) <= bound
