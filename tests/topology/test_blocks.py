"""Blocks hold every neuron once, with the arcs that the topology gives it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from export.models import convolutions, dense_layers, odd_wirings, wirings
from qubonn.checks import IntVector
from qubonn.topology.blocks import (
    MOST_PARALLEL,
    blocks_by_level,
    distinct_rows,
    plane_bits,
    plane_values,
    threshold_digits,
    threshold_sums,
)

any_topology = st.one_of(
    wirings(), dense_layers(), convolutions(), st.sampled_from(list(odd_wirings().values()))
)


@settings(deadline=None)
@given(any_topology)
def test_each_neuron_is_in_one_block_with_its_own_arcs(topology: qn.Topology) -> None:
    blocks = [block for level in blocks_by_level(topology) for block in level]
    nodes = np.concatenate([block.nodes.reshape(-1) for block in blocks])
    assert sorted(nodes.tolist()) == list(range(topology.input_count, topology.node_count))
    for block in blocks:
        assert block.nodes.shape == (len(block.sources), len(block.weights))
        for (position, number), node in np.ndenumerate(block.nodes):
            into = topology.arcs_into(int(node))
            own = np.setdiff1d(into, topology.constant_arcs)
            wanted = pairs(topology.source_of[own], topology.weight_of[own])
            sources = np.broadcast_to(block.sources[position], block.weights[number].shape)
            assert pairs(sources.reshape(-1), block.weights[number].reshape(-1)) == wanted
            assert block.fan_in == len(own)
            assert block.constant_count == len(into) - len(own)


def pairs(sources: IntVector, weights: IntVector) -> list[tuple[int, int]]:
    return sorted(zip(sources.tolist(), weights.tolist(), strict=True))


@settings(deadline=None)
@given(any_topology)
def test_a_block_reads_earlier_levels_only(topology: qn.Topology) -> None:
    done = set(topology.inputs)
    for level in blocks_by_level(topology):
        assert all(set(block.sources.ravel().tolist()) <= done for block in level)
        done |= {node for block in level for node in block.nodes.ravel().tolist()}


def test_dense_layers_and_convolutions_are_one_block_each() -> None:
    topology = qn.Topology.parse("conv(3x3x4) + conv(2x2x3) + fc(7)", inputs=(2, 8, 9), outputs=3)
    assert [len(level) for level in blocks_by_level(topology)] == [1, 1, 1, 1]


def test_parallel_arcs_of_a_layer_are_planes_over_one_source_each() -> None:
    topology = qn.Topology.dense(3, 2, 1, weight_levels=[4, 2], threshold_levels=[3, 2])
    ((hidden,), (output,)) = blocks_by_level(topology)
    assert hidden.sources.tolist() == [[0, 1, 2]]
    assert hidden.weights.tolist() == [
        [[0, 3, 6], [1, 4, 7], [2, 5, 8]],
        [[10, 13, 16], [11, 14, 17], [12, 15, 18]],
    ]
    assert (hidden.constant_count, output.constant_count) == (1, 0)


@settings(deadline=None)
@given(any_topology, st.integers(0, 2**32))
def test_digits_of_thresholds_count_what_is_positive(topology: qn.Topology, seed: int) -> None:
    network = qn.BinaryNetwork.random(topology, seed=seed)
    weights, biases = network.weight_spins[np.newaxis], network.bias_spins[np.newaxis]
    (sums,) = threshold_sums(topology, weights, biases).tolist()
    digits = threshold_digits(topology, weights, biases).reshape(-1, topology.neuron_count)
    counts = (digits * 2 ** np.arange(len(digits))[:, np.newaxis]).sum(axis=0).tolist()
    for neuron, node in enumerate(range(topology.input_count, topology.node_count)):
        arcs = np.intersect1d(topology.arcs_into(node), topology.constant_arcs)
        terms = [network.bias_spins[neuron], *network.weight_spins[topology.weight_of[arcs]]]
        assert sums[neuron] == sum(terms)
        assert counts[neuron] == terms.count(1)


def test_planes_are_as_few_as_can_hold_all_levels() -> None:
    for parallel_count in range(1, MOST_PARALLEL + 1):
        values = plane_values(parallel_count)
        assert sum(values) == parallel_count
        assert 2 ** (len(values) - 1) < parallel_count + 1 <= 2 ** len(values)


@settings(deadline=None)
@given(st.integers(1, MOST_PARALLEL), st.integers(1, 3), st.integers(0, 3), st.integers(0, 2**32))
def test_spins_of_planes_times_their_values_are_the_sums_of_parallel_arcs(
    parallel_count: int, filter_count: int, source_count: int, seed: int
) -> None:
    shape, generator = (filter_count, parallel_count, source_count), np.random.default_rng(seed)
    weights = generator.integers(9, size=shape)  # some of them shared
    spins = generator.choice([-1, 1], (2, 9))
    values = np.array(plane_values(parallel_count))[:, np.newaxis]
    bits = plane_bits(weights, spins > 0).reshape(2, filter_count, len(values), source_count)
    found = (values * (2 * bits.astype(int) - 1)).sum(axis=2)
    assert found.tolist() == spins[:, weights].sum(axis=2).tolist()


def test_equal_rows_have_one_number() -> None:
    numbers, rows = distinct_rows(np.array([[2, 1], [1, 2], [2, 1], [0, 3]]))
    assert numbers.tolist() == [0, 1, 0, 2]
    assert rows.tolist() == [[2, 1], [1, 2], [0, 3]]
