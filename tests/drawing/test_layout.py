"""Where nodes stand: groups from left to right, long sides shortened."""

import numpy as np

from qubonn.drawing.layout import NetworkLayout
from qubonn.topology import Topology

CONVOLUTION = Topology.parse("conv(3x3x2) + fc(4)", inputs=(5, 5), outputs=2)
CYCLIC = Topology.from_arcs([(0, 1), (1, 2), (2, 1), (2, 3), (4, 3)], inputs=1, outputs=2)


def test_layers_are_groups_with_their_shapes() -> None:
    layout = NetworkLayout(CONVOLUTION, 25)
    assert [group.shape for group in layout.groups] == [(1, 5, 5), (2, 3, 3), (4,), (2,)]
    assert (np.diff(layout.middles) > 0).all()
    assert layout.column_of.tolist() == [0] * 25 + [1] * 18 + [2] * 4 + [3] * 2


def test_a_convolution_marks_the_patches_of_its_first_and_last_neuron() -> None:
    hidden = NetworkLayout(CONVOLUTION, 25).groups[1]
    assert hidden.singled_out.tolist() == [25, 33]
    assert hidden.field_corners.tolist() == [[0, 2, 12, 10], [12, 14, 24, 22]]
    assert hidden.sheet_corners.tolist() == [[25, 27, 33, 31], [34, 36, 42, 40]]


def test_columns_of_a_cyclic_graph_go_by_distance_and_outputs_come_last() -> None:
    layout = NetworkLayout(CYCLIC, 25)
    assert layout.column_of.tolist() == [0, 1, 2, 3, 3]
    assert layout.is_small_graph


def test_arcs_of_nodes_that_are_left_out_are_left_out() -> None:
    layout = NetworkLayout(Topology.dense(784, 128, 10), 25)
    assert len(layout.visible) == 16 + 16 + 10
    assert len(layout.arcs) == 16 * 16 + 16 * 10
    assert [ellipsis.text for ellipsis in layout.ellipses] == ["768 more", "112 more"]
    assert not layout.is_small_graph
