"""Groups and strips say exactly what the arcs of a topology say."""

import numpy as np
import pytest
from hypothesis import given, settings
from numpy.typing import NDArray

import qubonn as qn
from inference.graphs import GRAPHS, convolutions, sharing_strips
from network.random_networks import topologies
from qubonn.inference.builder import program_of
from qubonn.inference.program import DENSE, GATHER, SLIDE, SPREAD
from qubonn.inference.wiring import _labels, alike_neurons, strips_of

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


@settings(max_examples=60, deadline=None)
@given(topologies(is_acyclic=True, most_hidden=6))
def test_alike_neurons_have_their_own_weights_and_the_same_sources(topology: qn.Topology) -> None:
    listens = arcs_by_neuron(topology)
    uses = np.bincount(topology.weight_of, minlength=topology.weight_count)
    for nodes in topology.levels():
        groups, others = alike_neurons(topology, nodes, uses)
        for group in groups:
            for node, weights in zip(group.nodes.tolist(), group.weights.tolist(), strict=True):
                assert listens[node] == list(zip(group.sources.tolist(), weights, strict=True))
                assert all(uses[weight] == 1 for weight in weights)
        assert sorted([*others, *(node for group in groups for node in group.nodes)]) == sorted(
            nodes
        )


def test_a_filter_of_a_convolution_is_one_strip() -> None:
    topology = qn.Topology.parse("conv(5x5x8)", inputs=(28, 28), outputs=1)
    (strips,) = strips_of(topology, topology.levels()[0])
    assert strips.patterns.shape == (1, 25)
    assert strips.filters[strips.filter_of].tolist() == np.arange(200).reshape(8, 25).tolist()
    assert strips.rows_of.tolist() == [24] * 8
    assert strips.length_of.tolist() == [24] * 8
    assert strips.step_of.tolist() == [28] * 8


def test_rows_are_told_apart_even_where_their_sums_are_equal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Constant:
        def integers(self, *_: object, size: int, dtype: type) -> NDArray[np.uint64]:
            return np.ones(size, dtype)

    monkeypatch.setattr("numpy.random.default_rng", lambda _: Constant())
    label, unique = _labels(np.array([[1, 2], [2, 1], [1, 2], [0, 3]]))
    assert unique[label].tolist() == [[1, 2], [2, 1], [1, 2], [0, 3]]
    assert len(unique) == 3


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
