"""Strips say exactly what the arcs of a topology say."""

import numpy as np
import pytest
from hypothesis import given, settings

import qubonn as qn
from inference.graphs import GRAPHS, convolutions, sharing_strips
from network.random_networks import topologies
from qubonn.inference.strips import strips_of

Arcs = list[tuple[int, int]]  # source and weight


def arcs_by_neuron(topology: qn.Topology) -> dict[int, Arcs]:
    """What every neuron listens to, in order."""
    listens: dict[int, Arcs] = {
        node: [] for node in range(topology.input_count, topology.node_count)
    }
    for arc in range(topology.arc_count):
        listens[int(topology.target_of[arc])].append(
            (int(topology.source_of[arc]), int(topology.weight_of[arc]))
        )
    return listens


def arcs_by_strips(topology: qn.Topology) -> dict[int, Arcs]:
    listens: dict[int, Arcs] = {}
    for nodes in topology.levels():
        for strips in strips_of(topology, nodes):
            for number in range(len(strips.first_of)):
                pattern = strips.patterns[strips.pattern_of[number]]
                weights = strips.filters[strips.filter_of[number]].tolist()
                for row in range(int(strips.rows_of[number])):
                    for place in range(int(strips.length_of[number])):
                        length, step = strips.length_of[number], strips.step_of[number]
                        node = int(strips.first_of[number] + row * length + place)
                        base = strips.base_of[number] + row * step + place
                        assert node not in listens
                        listens[node] = list(zip((pattern + base).tolist(), weights, strict=True))
    return listens


@pytest.mark.parametrize("name", GRAPHS)
def test_strips_say_what_the_arcs_say(name: str) -> None:
    assert arcs_by_strips(GRAPHS[name]) == arcs_by_neuron(GRAPHS[name])


@settings(max_examples=60, deadline=None)
@given(topologies(is_acyclic=True, most_hidden=6) | sharing_strips() | convolutions())
def test_strips_say_what_the_arcs_of_any_graph_say(topology: qn.Topology) -> None:
    assert arcs_by_strips(topology) == arcs_by_neuron(topology)


def test_a_filter_of_a_convolution_is_one_strip() -> None:
    topology = qn.Topology.parse("conv(5x5x8)", inputs=(28, 28), outputs=1)
    (strips,) = strips_of(topology, topology.levels()[0])
    assert strips.patterns.shape == (1, 25)
    assert strips.filters[strips.filter_of].tolist() == np.arange(200).reshape(8, 25).tolist()
    assert strips.rows_of.tolist() == [24] * 8
    assert strips.length_of.tolist() == [24] * 8
    assert strips.step_of.tolist() == [28] * 8
