"""Operations come in order, and neurons share counters."""

import numpy as np
import pytest

import qubonn as qn
from export.test_classifier import ONE_WEIGHT, with_binariser
from qubonn.export.circuit import circuit_of
from qubonn.export.features import features_of
from qubonn.export.model import exported
from qubonn.export.netlist import COUNT, Netlist, netlist_of
from qubonn.export.verilog_text import pipelined


def netlist(*sizes: int, counter: int = 3, **levels: int) -> Netlist:
    network = qn.BinaryNetwork.random(qn.Topology.dense(*sizes, **levels), seed=0)
    return netlist_of(circuit_of(exported(network)), None, counter)


@pytest.mark.parametrize("counter", [3, 6])
def test_arguments_come_before_results(counter: int) -> None:
    for number, operation in enumerate(netlist(40, 9, 3, counter=counter).operations):
        assert all(bits.operation < number for bits in operation.arguments)


def test_three_inputs_are_counted_in_four_ways_at_most() -> None:
    found = netlist(12, 64, 2)
    first = [
        operation
        for operation in found.operations
        if operation.text == COUNT and all(bits.operation == 0 for bits in operation.arguments)
    ]
    assert len(first) == 4 * 4  # groups x ways; 64 neurons would have 4 * 64
    inverted = [[bits.is_inverted for bits in operation.arguments] for operation in first]
    assert all(sorted(own, reverse=True) == own for own in inverted)  # the first ones


def test_counters_of_six_need_fewer_stages_than_counters_of_three() -> None:
    of_three, of_six = (
        pipelined(netlist(784, 9, 2, counter=c), "inputs", "net")[1] for c in (3, 6)
    )
    assert of_six < of_three


def test_sources_with_one_weight_are_counted_once() -> None:
    topology = qn.Topology.dense(31, 8, 2, weight_levels=5, input_groups=[0] * 31)
    circuit = circuit_of(exported(qn.BinaryNetwork.random(topology, seed=0)))
    assert circuit.equal_sources(3) == [tuple(range(31))]
    found = netlist_of(circuit, None, 3).operations
    (number,) = (n for n, operation in enumerate(found) if operation.about == "inputs 0 to 30")
    assert found[number].width == 5
    readers = [operation for operation in found if operation.about.startswith("level 1")]
    assert readers
    assert all(bits.operation >= number for one in readers for bits in one.arguments)


def test_the_rank_of_a_column_needs_no_counters() -> None:
    binariser = ONE_WEIGHT[0]
    model = exported(with_binariser(binariser, binariser.spin_count))
    found = netlist_of(circuit_of(model), features_of(model, "uint8", 1), 3).operations
    sources = [{bits.operation for bits in operation.arguments} for operation in found]
    tests = [n for n, own in enumerate(sources) if own == {0}]
    counters = [
        own for own, operation in zip(sources, found, strict=True) if operation.text == COUNT
    ]
    assert set.union(*counters) & set(tests) == set(tests[3::7])  # the highest bit of each rank


def test_weights_of_zero_cost_nothing() -> None:
    topology = qn.Topology.dense(30, 1, weight_levels=3)
    sizes = []
    for zeros in (0, 15, 27):
        spins = np.ones((2, 30), dtype=int)
        spins[1, :zeros] = -1  # both arcs of an input cancel
        network = qn.BinaryNetwork(topology, spins.T.reshape(-1), [1])
        sizes.append(len(netlist_of(circuit_of(exported(network)), None, 3).operations))
    assert sizes[0] > sizes[1] > sizes[2]
