"""Weights as cells: a panel for each layer, a row for each neuron or filter."""

import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import qubonn as qn


def images(axes: Axes) -> list[list[list[float]]]:
    return [
        np.ma.filled(np.ma.asarray(image.get_array()), np.nan).tolist() for image in axes.images
    ]


def key(axes: Axes) -> list[str]:
    legend = axes.get_legend()
    assert legend is not None
    return [text.get_text() for text in legend.get_texts()]


def test_a_cell_is_the_weight_between_a_source_and_a_neuron() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(2, 2, 1), [1, -1, -1, -1, 1, 1], [1, 1, 1])
    axes = network.draw(Figure().subplots(), as_cells=True)
    assert images(axes) == [[[1, -1], [-1, -1]], [[1, 1]]]
    assert key(axes) == ["weight -1", "weight +1"]


def test_parallel_arcs_add_up_and_zero_is_in_the_legend() -> None:
    topology = qn.Topology.dense(2, 1, weight_levels=3, threshold_levels=4)
    network = qn.BinaryNetwork(topology, [1, -1, 1, 1, -1, -1], [1])
    axes = network.draw(Figure().subplots(), as_cells=True)
    assert images(axes) == [[[0, 2]]]
    assert key(axes) == ["weight 0", "weight +2"]


def test_a_filter_of_a_convolution_is_one_row() -> None:
    topology = qn.Topology.parse("conv(2x2x3)", inputs=(4, 4), outputs=2)
    network = qn.BinaryNetwork.random(topology, seed=0)
    axes = network.draw(Figure().subplots(), as_cells=True)
    np.testing.assert_array_equal(images(axes)[0], network.weight_spins[:12].reshape(3, 4))
    texts = [text.get_text() for text in axes.texts]
    assert texts == ["3 filters x 4 sources", "2 neurons x 27 sources"]


def test_cells_without_an_arc_are_empty() -> None:
    topology = qn.Topology.from_arcs([(0, 2), (1, 3), (0, 3)], inputs=2, outputs=2)
    axes = qn.BinaryNetwork(topology, [1, -1, 1], [1, 1]).draw(Figure().subplots(), as_cells=True)
    np.testing.assert_array_equal(images(axes), [[[1, np.nan], [1, -1]]])


def test_a_committee_shows_the_mean_of_its_members() -> None:
    topology = qn.Topology.dense(2, 1)
    members = [qn.BinaryNetwork(topology, spins, [1]) for spins in ([1, 1], [1, -1])]
    axes = qn.Committee(members).draw(Figure().subplots())
    assert images(axes) == [[[1, 0]]]


def test_the_legend_of_many_levels_has_zero_and_both_ends() -> None:
    topology = qn.Topology.dense(40, 3, weight_levels=17)
    axes = qn.BinaryNetwork.random(topology, seed=0).draw(Figure().subplots(), as_cells=True)
    low, zero, high = key(axes)
    assert zero == "weight 0"
    assert low.removeprefix("weight -") == high.removeprefix("weight +")


def test_a_network_without_arcs_is_an_empty_picture() -> None:
    topology = qn.Topology.from_arcs([], inputs=1, outputs=1)
    assert (
        images(qn.BinaryNetwork(topology, [], [1]).draw(Figure().subplots(), as_cells=True)) == []
    )


def test_options_of_the_graph_are_refused_for_cells() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(TypeError, match="node_numbers"):
        network.draw(Figure().subplots(), as_cells=True, node_numbers=True)
