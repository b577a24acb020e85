"""Tables of the forward kernels: cones, own and shared weights, groups of parameters."""

import numpy as np

from qubonn.engines.forward_tables import NEURON, PARAMETER, tables_of, temperature_groups
from qubonn.topology import Topology


def cone_of(topology: Topology, neuron: int) -> list[int]:
    cones = tables_of(topology)[1]
    rows = slice(cones.starts[neuron], cones.starts[neuron + 1])
    return [int(row) for row in cones.table[rows, NEURON]]


def test_the_cone_of_a_neuron_is_all_neurons_behind_it() -> None:
    topology = Topology.dense(3, 2, 2, 1)
    cones = [cone_of(topology, neuron) for neuron in range(5)]
    assert cones == [[2, 3, 4], [2, 3, 4], [4], [4], []]


def test_weights_are_shared_or_a_neuron_s_own() -> None:
    wiring = tables_of(Topology.parse("conv(2x2)", inputs=(3, 3), outputs=1))[0]
    assert wiring.shared.tolist() == [0, 1, 2, 3]
    assert len(wiring.own) == 4 + 4 + 1  # weights into the output, and all biases


def test_own_arcs_have_a_fixed_shuffled_order() -> None:
    one, again = (tables_of.__wrapped__(Topology.dense(50, 1))[0].own for _ in range(2))
    assert np.array_equal(one, again)
    assert sorted(one[:, PARAMETER].tolist()) == list(range(51))
    assert one.tolist() != sorted(one.tolist())


def test_parallel_arcs_are_one_number_and_threshold_arcs_join_the_bias() -> None:
    topology = Topology.dense(2, 1, weight_levels=4, threshold_levels=4)
    wiring = tables_of(topology)[0]
    numbers = sorted(wiring.parallel[first:last].tolist() for *_, first, last in wiring.own)
    assert numbers == [[0, 1, 2], [3, 4, 5], [6, 7, topology.weight_count]]


def test_each_layer_and_its_shared_weights_are_groups() -> None:
    assert temperature_groups(Topology.dense(3, 2, 1)).count == 2
    convolution = Topology.parse("conv(2x2)", inputs=(3, 3), outputs=1)
    assert temperature_groups(convolution).count == 3


def test_a_neuron_s_weights_of_several_inputs_are_tied_and_all_others_its_own() -> None:
    topology = Topology.dense(
        5, 2, 1, threshold_levels=[4, 2], input_groups=[0, 0, 1, 1, 1], threshold_step=2
    )
    wiring = tables_of(topology)[0]
    assert wiring.tied_starts.tolist() == [0, 4, 8, 8]  # two groups, threshold and bias
    assert len(wiring.own) == 2 + 1
    assert not len(wiring.shared)
    bundles = np.split(wiring.bundle_sources, wiring.bundle_starts[1:-1])
    assert [bundle.tolist() for bundle in bundles[: wiring.first_constant]] == [[0, 1], [2, 3, 4]]
    constant = topology.node_count
    assert sorted(map(len, bundles[wiring.first_constant :])) == [1, 2]
    assert all((bundle == constant).all() for bundle in bundles[wiring.first_constant :])


def test_known_weights_are_not_tied() -> None:
    topology = Topology.from_arcs(
        [(0, 2, 0), (1, 2, 0), (2, 3, 1)], inputs=2, outputs=1, known_weights=[1, 0]
    )
    wiring = tables_of(topology)[0]
    assert len(wiring.tied) == 0
    assert sorted(wiring.own[:, PARAMETER].tolist()) == [1, 2, 3]  # biases are 2 and 3
