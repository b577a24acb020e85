"""Steps hold every neuron once, with the arcs that the topology gives it."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from export.models import convolutions, dense_layers, odd_wirings, wirings
from qubonn.checks import IntVector
from qubonn.topology.blocks import levels_of_steps

any_topology = st.one_of(
    wirings(), dense_layers(), convolutions(), st.sampled_from(list(odd_wirings().values()))
)


@settings(deadline=None)
@given(any_topology)
def test_each_neuron_is_in_one_step_with_its_own_arcs(topology: qn.Topology) -> None:
    steps = [step for level in levels_of_steps(topology) for step in level]
    nodes = np.concatenate([step.nodes.reshape(-1) for step in steps])
    assert sorted(nodes.tolist()) == list(range(topology.input_count, topology.node_count))
    for step in steps:
        assert step.nodes.shape == (len(step.sources), len(step.weights))
        for (position, number), node in np.ndenumerate(step.nodes):
            into = topology.arcs_into(int(node))
            wanted = pairs(topology.source_of[into], topology.weight_of[into])
            assert pairs(step.sources[position], step.weights[number]) == wanted


def pairs(sources: IntVector, weights: IntVector) -> list[tuple[int, int]]:
    return sorted(zip(sources.tolist(), weights.tolist(), strict=True))


@settings(deadline=None)
@given(any_topology)
def test_a_step_reads_earlier_levels_only(topology: qn.Topology) -> None:
    done = set(topology.inputs)
    for level in levels_of_steps(topology):
        assert all(set(step.sources.ravel().tolist()) <= done for step in level)
        done |= {node for step in level for node in step.nodes.ravel().tolist()}


def test_dense_layers_and_convolutions_are_one_step_each() -> None:
    topology = qn.Topology.parse("conv(3x3x4) + conv(2x2x3) + fc(7)", inputs=(2, 8, 9), outputs=3)
    assert [len(level) for level in levels_of_steps(topology)] == [1, 1, 1, 1]
