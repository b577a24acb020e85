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
    for arc in np.setdiff1d(np.arange(topology.arc_count), topology.constant_arcs).tolist():
        listens[int(topology.target_of[arc])].append(
            (int(topology.source_of[arc]), int(topology.weight_of[arc]))
        )
    return listens


def arcs_by_strips(topology: qn.Topology) -> dict[int, Arcs]:
    listens: dict[int, Arcs] = {}
    for nodes in topology.levels():
        for strips in strips_of(topology, nodes):
            for strip in strips.table:
                fan_in = strip["fan_in"]
                pattern = strips.patterns.reshape(-1)[strip["first_offset"] :][:fan_in]
                weights = strips.filters.reshape(-1)[strip["weight_bit"] :][:fan_in].tolist()
                for row in range(int(strip["rows"])):
                    for place in range(int(strip["length"])):
                        node = int(strip["target"] + row * strip["length"] + place)
                        base = strip["base"] + row * strip["step"] + place
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
    chosen = strips.table["weight_bit"] // 25
    assert strips.filters[chosen].tolist() == np.arange(200).reshape(8, 25).tolist()
    assert strips.table["rows"].tolist() == [24] * 8
    assert strips.table["length"].tolist() == [24] * 8
    assert strips.table["step"].tolist() == [28] * 8
