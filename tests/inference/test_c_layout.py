"""The layout has one record for each block whose positions form a grid."""

import numpy as np
import pytest

import qubonn as qn
from qubonn.inference.c_layout import BitLayout, _group_size


def test_dense_layers_and_convolutions_are_one_record_each() -> None:
    topology = qn.Topology.parse("conv(3x3x4) + conv(2x2x3) + fc(7)", inputs=(2, 8, 9), outputs=3)
    assert len(BitLayout(topology).records) == 4


def test_a_filter_on_many_channels_reads_one_run_for_each_of_its_rows() -> None:
    topology = qn.Topology.parse("conv(1x1x8) + conv(3x3)", inputs=(9, 9), outputs=1)
    assert BitLayout(topology).runs[-3:] == [(0, 24), (72, 24), (144, 24)]


def test_a_weight_of_a_group_is_stored_once() -> None:
    grouped = qn.Topology.dense(620, 256, 2, weight_levels=5, input_groups=np.arange(620) // 31)
    plain = qn.Topology.dense(20, 256, 2, weight_levels=5)
    assert BitLayout(grouped).records[0].group == 31
    assert BitLayout(grouped).weight_words == BitLayout(plain).weight_words


@pytest.mark.parametrize(
    ("weights", "size"),
    [([0, 0, 1, 1], 2), ([0, 0, 1], 1), ([0, 0, 0], 3), ([0, 1, 1, 2], 1), ([0, 0, 1, 2, 2, 2], 1)],
)
def test_groups_have_one_size_and_follow_each_other(weights: list[int], size: int) -> None:
    assert _group_size(np.array([[weights]])) == size
