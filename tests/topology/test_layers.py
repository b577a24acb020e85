"""Layers become arcs; how nodes, arcs and weights are numbered is part of the interface."""

from itertools import product
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from qubonn import checks
from qubonn.errors import AlphabetError, RangeError, ShapeError, TopologyError
from qubonn.network import BinaryNetwork
from qubonn.topology import Topology
from qubonn.topology.layers import Convolution, Dense, Layer, Pool, Shape, Stack, layered_arcs
from topology.random_graphs import arcs_of

TwinArcs = list[tuple[int, int, int]]


def dense_twin(before: Shape, layer: Dense) -> TwinArcs:
    arcs: TwinArcs = []
    for target in range(layer.size):
        for source in range(prod(before)):
            for _ in range(layer.levels - 1):
                arcs.append((source, target, len(arcs)))
        for _ in range(layer.thresholds - 2):
            arcs.append((-1, target, len(arcs)))
    return arcs


def convolution_twin(before: Shape, layer: Convolution) -> TwinArcs:
    channels, rows, columns = before
    node = {place: number for number, place in enumerate(product(*map(range, before)))}
    weight: dict[tuple[int, ...], int] = {}
    axes = (layer.filters, channels, layer.rows, layer.columns, layer.levels - 1)
    for place in product(*map(range, axes)):
        weight[place] = len(weight)
    arcs = []
    target = 0
    own = len(weight)
    first, step = -layer.padding, layer.stride
    for out_filter in range(layer.filters):
        for top in range(first, rows + layer.padding - layer.rows + 1, step):
            for left in range(first, columns + layer.padding - layer.columns + 1, step):
                for channel, row, column, arc in product(*map(range, axes[1:])):
                    shared = weight[out_filter, channel, row, column, arc]
                    if (channel, top + row, left + column) in node:
                        arcs.append((node[channel, top + row, left + column], target, shared))
                for _ in range(layer.thresholds - 2):
                    arcs.append((-1, target, own))
                    own += 1
                target += 1
    return arcs


def pool_twin(before: Shape, layer: Pool) -> TwinArcs:
    channels, rows, columns = before
    node = {place: number for number, place in enumerate(product(*map(range, before)))}
    places = list(product(range(layer.rows), range(layer.columns)))
    corners = product(
        range(channels),
        range(0, rows - layer.rows + 1, layer.rows),
        range(0, columns - layer.columns + 1, layer.columns),
    )
    return [
        (node[channel, top + row, left + column], target, weight)
        for target, (channel, top, left) in enumerate(corners)
        for weight, (row, column) in enumerate(places)
    ]


def layer_twin(before: Shape, layer: Layer) -> TwinArcs:
    if isinstance(layer, Dense):
        return dense_twin(before, layer)
    if isinstance(layer, Pool):
        return pool_twin(before, layer)
    return convolution_twin(before, layer)


def stack_twin(before: Shape, layers: list[Layer]) -> TwinArcs:
    constant = prod(before)
    first_source = first_weight = 0
    first_target = constant + any(layer.thresholds > 2 for layer in layers)
    arcs = []
    for layer in layers:
        local = layer_twin(before, layer)
        for source, target, weight in local:
            place = constant if source == -1 else first_source + source
            arcs.append((place, first_target + target, first_weight + weight))
        first_weight += len({w for _, _, w in local})
        before = layer.shape_after(before)
        first_source, first_target = first_target, first_target + prod(before)
    return arcs


@st.composite
def stacks(draw: st.DrawFn, most: int = 4) -> Stack:
    """Inputs, up to two convolutions with pools, dense layers; small, of up to `most` levels."""
    small, many = st.integers(1, 3), st.integers(2, most)
    shape: Shape = (draw(small), draw(st.integers(1, 6)), draw(st.integers(1, 6)))
    inputs = shape
    layers: list[Layer] = []
    for _ in range(draw(st.integers(0, 2))):
        rows = draw(st.integers(1, min(shape[1], 3)))
        columns = draw(st.integers(1, min(shape[2], 3)))
        steps = draw(small), draw(st.integers(0, min(rows, columns) - 1))
        layer = Convolution(rows, columns, draw(small), draw(many), draw(many), *steps)
        assume(layer.reads_all(shape))
        layers.append(layer)
        shape = layer.shape_after(shape)
        if draw(st.booleans()):
            rows, columns = (draw(st.integers(1, min(size, 3))) for size in shape[1:])
            layers.append(Pool(rows, columns))
            shape = layers[-1].shape_after(shape)
    sizes = draw(st.lists(small, min_size=1, max_size=3))
    return inputs, [*layers, *(Dense(size, draw(many), draw(many)) for size in sizes)]


@given(st.data())
def test_every_weight_of_a_filter_that_reads_all_has_an_arc(data: st.DataObject) -> None:
    rows, columns = data.draw(st.tuples(*[st.integers(1, 5)] * 2))
    stride, padding = (
        data.draw(st.integers(1, 6)),
        data.draw(st.integers(0, min(rows, columns) - 1)),
    )
    sides = st.tuples(*(st.integers(max(1, own - 2 * padding), 7) for own in (rows, columns)))
    layer = Convolution(rows, columns, stride=stride, padding=padding)
    before = (1, *data.draw(sides))
    weights = layer.arcs_from(before)[2]
    assert layer.reads_all(before) == (len(np.unique(weights)) == rows * columns)
    assert layer.arc_count_from(before) == len(weights)


def test_dense_arcs_go_target_by_target_and_source_by_source_each_with_its_own_weight() -> None:
    assert arcs_of(Topology.dense(3, 2, 1)) == [
        (0, 3, 0),
        (1, 3, 1),
        (2, 3, 2),
        (0, 4, 3),
        (1, 4, 4),
        (2, 4, 5),
        (3, 5, 6),
        (4, 5, 7),
    ]


def test_convolution_arcs_go_position_by_position_and_share_the_weights_of_the_filter() -> None:
    topology = Topology.parse("conv(2x2)", inputs=(3, 3), outputs=1)
    weights = (0, 1, 2, 3)
    patches = {9: (0, 1, 3, 4), 10: (1, 2, 4, 5), 11: (3, 4, 6, 7), 12: (4, 5, 7, 8)}
    into_hidden = [
        (source, target, weight)
        for target, patch in patches.items()
        for source, weight in zip(patch, weights, strict=True)
    ]
    assert arcs_of(topology) == [*into_hidden, (9, 13, 4), (10, 13, 5), (11, 13, 6), (12, 13, 7)]


def test_convolution_neurons_and_weights_go_filter_by_filter() -> None:
    topology = Topology.parse("conv(1x2x2)", inputs=(2, 2), outputs=1)
    assert arcs_of(topology)[:8] == [
        (0, 4, 0),
        (1, 4, 1),
        (2, 5, 0),
        (3, 5, 1),
        (0, 6, 2),
        (1, 6, 3),
        (2, 7, 2),
        (3, 7, 3),
    ]


def test_the_weights_of_a_filter_go_channel_by_channel() -> None:
    topology = Topology.parse("conv(1x2)", inputs=(2, 1, 3), outputs=1)
    assert arcs_of(topology)[:8] == [
        (0, 6, 0),
        (1, 6, 1),
        (3, 6, 2),
        (4, 6, 3),
        (1, 7, 0),
        (2, 7, 1),
        (4, 7, 2),
        (5, 7, 3),
    ]


def test_a_convolution_after_a_convolution_reads_all_filters_of_the_first() -> None:
    topology = Topology.parse("conv(1x1x2)+conv(1x2)", inputs=(1, 2), outputs=1)
    assert arcs_of(topology) == [
        (0, 2, 0),
        (1, 3, 0),
        (0, 4, 1),
        (1, 5, 1),
        (2, 6, 2),
        (3, 6, 3),
        (4, 6, 4),
        (5, 6, 5),
        (6, 7, 6),
    ]


@given(st.lists(st.integers(1, 5), min_size=2, max_size=5))
def test_dense_networks_are_numbered_like_their_twin(sizes: list[int]) -> None:
    twin = stack_twin((sizes[0],), [Dense(size) for size in sizes[1:]])
    assert arcs_of(Topology.dense(*sizes)) == twin


@given(stacks())
@settings(max_examples=60)
def test_stacks_of_layers_are_numbered_like_their_twin(stack: Stack) -> None:
    (source_of, target_of, weight_of), shapes = layered_arcs(*stack)
    columns = (source_of.tolist(), target_of.tolist(), weight_of.tolist())
    assert list(zip(*columns, strict=True)) == stack_twin(*stack)
    assert len(shapes) == 1 + len(stack[1])


@given(stacks(most=2))
@settings(max_examples=60)
def test_arcs_are_ordered_by_target_and_then_by_source(stack: Stack) -> None:
    (source_of, target_of, _), _ = layered_arcs(*stack)
    pairs = list(zip(target_of.tolist(), source_of.tolist(), strict=True))
    assert pairs == sorted(set(pairs))


@given(stacks())
@settings(max_examples=60)
def test_layers_know_how_many_arcs_they_will_have(stack: Stack) -> None:
    _, shapes = layered_arcs(*stack)
    counts = [
        layer.arc_count_from(before) == len(layer.arcs_from(before)[0])
        for layer, before in zip(stack[1], shapes[:-1], strict=True)
    ]
    assert all(counts)


def test_inputs_of_three_sizes_are_channels_rows_and_columns() -> None:
    topology = Topology.parse("conv(2x3x4)", inputs=(2, 5, 6), outputs=3)
    assert topology.layer_shapes == ((2, 5, 6), (4, 4, 4), (3,))
    assert topology.input_count == 2 * 5 * 6
    assert topology.arcs_into(60).tolist() == list(range(2 * 2 * 3))
    assert topology.predecessors(60).tolist() == [0, 1, 2, 6, 7, 8, 30, 31, 32, 36, 37, 38]


def test_inputs_of_two_sizes_are_one_channel() -> None:
    flat = Topology.parse("conv(2x2)", inputs=(4, 3), outputs=1)
    assert flat == Topology.parse("conv(2x2)", inputs=(1, 4, 3), outputs=1)
    assert flat.layer_shapes == ((1, 4, 3), (1, 3, 2), (1,))


def test_a_convolution_has_a_neuron_for_every_position_and_few_weights() -> None:
    topology = Topology.parse("conv(3x3x2)", inputs=(5, 5), outputs=2)
    assert topology.neuron_count == 2 * 9 + 2
    assert topology.weight_count == 2 * 9 + 18 * 2
    assert (topology.fan_in[25:43] == 9).all()


def test_a_dense_network_may_have_no_hidden_layer() -> None:
    assert arcs_of(Topology.dense(2, 1)) == [(0, 2, 0), (1, 2, 1)]
    assert Topology.dense(2, 1).hidden_count == 0


@pytest.mark.parametrize("sizes", [(), (3,)])
def test_a_dense_network_needs_two_sizes(sizes: tuple[int, ...]) -> None:
    with pytest.raises(TopologyError, match="dense needs at least two layer sizes, inputs and"):
        Topology.dense(*sizes)


@pytest.mark.parametrize("size", [0, -1, 2.0, "3", True, None])
def test_layer_sizes_are_whole_and_positive(size: int) -> None:
    with pytest.raises(RangeError, match=r"a layer size must be .*at least 1; got"):
        Topology.dense(3, size, 1)


def test_sizes_of_numpy_do_not_overflow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "free_memory", lambda: 1 << 30)
    many = np.int32(2**31 - 1)
    with pytest.raises(RangeError, match="a network of 4611686014132420609 arcs needs about"):
        Topology.dense(many, many)  # type: ignore[arg-type]


def test_networks_that_do_not_fit_into_memory_are_refused_before_they_are_built(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checks, "free_memory", lambda: 1 << 30)
    with pytest.raises(RangeError, match=r"a network of 100000000 arcs needs about 6\.7 GiB"):
        Topology.dense(10_000, 10_000)


# ---- levels and thresholds ----


def test_levels_are_parallel_arcs_and_thresholds_are_arcs_from_a_constant() -> None:
    arcs = [(0, 3), (0, 3), (1, 3), (1, 3), (2, 3)]
    arcs += [(0, 4), (0, 4), (1, 4), (1, 4), (2, 4)]
    arcs += [(3, 5), (3, 5), (3, 5), (4, 5), (4, 5), (4, 5), (2, 5), (2, 5)]
    by_hand = Topology.from_arcs(arcs, inputs=3, outputs=1, has_constant=True)
    topology = Topology.dense(2, 2, 1, weight_levels=[3, 4], threshold_levels=(3, 4))
    assert topology == by_hand
    notation = "fc(2, levels=3, thresholds=3) + out(levels=4, thresholds=4)"
    assert Topology.parse(notation, inputs=2, outputs=1) == by_hand


def test_the_weights_of_a_filter_have_levels_and_its_neurons_thresholds_of_their_own() -> None:
    arcs = [(0, 3, 0), (0, 3, 1), (2, 3, 2), (1, 4, 0), (1, 4, 1), (2, 4, 3), (3, 5, 4), (4, 5, 5)]
    by_hand = Topology.from_arcs(arcs, inputs=3, outputs=1, has_constant=True)
    notation = "conv(1x1, levels=3, thresholds=3)"
    assert Topology.parse(notation, inputs=(1, 2), outputs=1) == by_hand


def test_one_number_of_levels_is_for_all_layers() -> None:
    each = Topology.dense(3, 2, 2, weight_levels=[3, 3], threshold_levels=[5, 5])
    assert Topology.dense(3, 2, 2, weight_levels=3, threshold_levels=5) == each


def test_two_levels_are_single_arcs_without_a_constant() -> None:
    topology = Topology.dense(3, 2, 1, weight_levels=2, threshold_levels=[2, 2])
    assert topology == Topology.dense(3, 2, 1)
    assert not Topology.dense(3, 2, 1, weight_levels=4).has_constant


def test_shapes_of_layers_leave_out_the_constant() -> None:
    topology = Topology.dense(3, 2, 1, threshold_levels=3)
    assert topology.layer_shapes == ((3,), (2,), (1,))
    assert (topology.input_count, topology.column_count, topology.node_count) == (4, 3, 7)


@pytest.mark.parametrize("name", ["weight_levels", "threshold_levels"])
@pytest.mark.parametrize("levels", [1, 0, 2.5, None, True, [3, 1], [3, "3"], "33"])
def test_levels_are_whole_numbers_from_two(name: str, levels: Any) -> None:
    with pytest.raises(RangeError, match=rf"{name} must be .*at least 2; got"):
        Topology.dense(3, 2, 1, **{name: levels})


@pytest.mark.parametrize("levels", [[3], [3, 3, 3], []])
def test_levels_are_one_number_or_one_for_each_layer(levels: list[int]) -> None:
    with pytest.raises(ShapeError, match="must be a number, or 2 of them, one for each layer"):
        Topology.dense(3, 2, 1, weight_levels=levels)


# ---- known weights ----


@pytest.mark.parametrize("size", [(2, 2), (1, 3), (3, 3), (1, 1), (2, 3)])
def test_a_pool_is_the_sign_of_its_sum_so_ties_go_to_minus_one(size: tuple[int, int]) -> None:
    rows, columns = size
    topology = Topology.parse(f"pool({rows}x{columns})", inputs=(rows, columns), outputs=1)
    inputs = np.array(list(product((-1, 1), repeat=rows * columns)))
    forward = BinaryNetwork.random(topology, seed=0).forward(inputs)
    majority = np.where(inputs.sum(axis=1) > 0, 1, -1)
    np.testing.assert_array_equal(forward.activation_spins[:, rows * columns], majority)


def test_pools_of_all_channels_share_their_known_weights() -> None:
    topology = Topology.parse("conv(2x2x3) + pool(2x2)", inputs=(5, 6), outputs=2)
    assert topology.layer_shapes == ((1, 5, 6), (3, 4, 5), (3, 2, 2), (2,))
    assert topology.known_weights.tolist() == [0] * 12 + [1] * 4 + [0] * 24
    assert topology.known_biases.tolist() == [0] * 60 + [-1] * 12 + [0] * 2


def test_known_weights_are_written_in_the_order_of_their_numbers() -> None:
    topology = Topology.parse(
        "conv(1x2x2, known=#./.#, thresholds=3) + out(known=...#....)", inputs=(1, 3), outputs=2
    )
    assert topology.known_weights.tolist() == [1, -1, -1, 1, *[0] * 4, -1, -1, -1, 1, *[-1] * 4]
    assert not topology.known_biases.any()


def test_a_seed_draws_the_same_known_weights_again_and_leaves_thresholds_free() -> None:
    one, two, other = (
        Topology.parse(f"fc(9, levels=3, thresholds=4, known={seed})", inputs=4, outputs=1)
        for seed in (1, 1, 2)
    )
    assert one == two
    assert one != other
    known = one.known_weights[: 9 * 10].reshape(9, 10)
    assert (known[:, :8] != 0).all()
    assert not known[:, 8:].any()


@pytest.mark.parametrize("known", [[1], [1, 2], [[1, 0]], ["a", "b"], [0.5, 1]])
def test_known_weights_must_be_spins_or_zero_for_each_weight(known: Any) -> None:
    with pytest.raises(ShapeError, match="known_weights must be 2 values, one per weight: -1 or"):
        Topology.from_arcs([(0, 1), (0, 1)], inputs=1, outputs=1, known_weights=known)


def test_a_network_must_agree_with_what_is_known() -> None:
    topology = Topology.from_arcs([(0, 1), (0, 1)], inputs=1, outputs=1, known_weights=[0, 1])
    with pytest.raises(AlphabetError, match=r"weight_spins must agree .*; got -1 at 1, where \+1"):
        BinaryNetwork(topology, [1, -1], [1])
