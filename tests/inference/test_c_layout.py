"""The layout has one record for each block whose positions form a grid."""

import qubonn as qn
from qubonn.inference.c_layout import BitLayout


def test_dense_layers_and_convolutions_are_one_record_each() -> None:
    topology = qn.Topology.parse("conv(3x3x4) + conv(2x2x3) + fc(7)", inputs=(2, 8, 9), outputs=3)
    assert len(BitLayout(topology).records) == 4


def test_a_filter_on_many_channels_reads_one_run_for_each_of_its_rows() -> None:
    topology = qn.Topology.parse("conv(1x1x8) + conv(3x3)", inputs=(9, 9), outputs=1)
    assert BitLayout(topology).runs[-3:] == [(0, 24), (72, 24), (144, 24)]
