"""A topology is built from arcs, refuses what is no graph, never changes, and knows its order."""

import time
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, replace
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from qubonn import checks
from qubonn.errors import QubonnError, RangeError, ShapeError, TopologyError
from qubonn.topology import Topology
from qubonn.topology.layers import Dense
from topology.random_graphs import arcs_of, plain_graph, topologies

DENSE = Topology.dense(3, 2, 1)
CYCLIC = Topology.from_arcs([(0, 2), (1, 2), (2, 3), (3, 2)], inputs=2, outputs=1)
TWO_CYCLES = Topology.from_arcs(
    [(0, 1), (1, 2), (2, 1), (2, 3), (3, 4), (4, 3), (4, 5)], inputs=1, outputs=1
)


def from_arcs(arcs: Any, inputs: Any = 1, outputs: Any = 1, nodes: Any = None) -> Topology:
    return Topology.from_arcs(arcs, inputs=inputs, outputs=outputs, nodes=nodes)


# ---- building ----


@pytest.mark.parametrize("levels", [(2, 2), (5, 33), (2, 3)])
def test_dense_layers_are_recognised_and_only_these(levels: tuple[int, int]) -> None:
    weight, threshold = levels
    options: dict[str, Any] = {
        "weight_levels": [weight, 2],
        "threshold_levels": [2, threshold],
    }
    dense = Topology.dense(4, 3, 2, **options)
    assert dense.dense_layers() == [Dense(3, weight, 2), Dense(2, 2, threshold)]
    assert Topology.of_layers((4,), dense.dense_layers() or []) == dense
    flat = replace(dense, layer_shapes=None)
    assert flat.dense_layers() is None
    assert Topology.parse("conv(2x2)", inputs=(3, 3), outputs=1).dense_layers() is None


def test_inputs_of_a_group_share_one_weight_for_each_neuron() -> None:
    topology = Topology.dense(
        3, 2, weight_levels=3, threshold_levels=4, input_groups=[1, 0, 0], threshold_step=2
    )
    into = [sorted(zip(*(of[topology.arcs_into(node)].tolist() for of in (topology.source_of,
            topology.weight_of)), strict=True)) for node in (4, 5)]  # fmt: skip
    first = [(0, 2), (0, 3), (1, 0), (1, 1), (2, 0), (2, 1), (3, 4), (3, 4), (3, 5), (3, 5)]
    assert into == [first, [(source, weight + 6) for source, weight in first]]


@pytest.mark.parametrize("groups", [[0, 0], [0, 0, 2], [0, 1, 2, 2], [0, -1, 1], [0.0, 1, 1]])
def test_groups_must_be_one_for_each_input_without_gaps(groups: list[Any]) -> None:
    with pytest.raises(QubonnError, match="input_groups"):
        Topology.dense(3, 2, input_groups=groups)


def test_groups_of_inputs_are_recognised() -> None:
    topology = Topology.dense(4, 3, 2, threshold_levels=5, input_groups=[0, 0, 1, 1])
    stepped = Topology.dense(4, 3, 2, threshold_levels=[5, 3], threshold_step=7)
    assert topology.dense_layers() == [Dense(3, 2, 5, (0, 0, 1, 1)), Dense(2, 2, 5)]
    assert stepped.dense_layers() == [Dense(3, 2, 5, None, 7), Dense(2, 2, 3)]


@pytest.mark.parametrize("shapes", [((2,), (1,)), ((0,), (3,)), ((1,), (1,), (1,)), ((3,),)])
def test_layers_that_do_not_hold_the_arcs_are_not_believed(shapes: tuple[Any, ...]) -> None:
    arcs = np.zeros(0, dtype=np.int64)
    assert Topology(2, 1, 3, arcs, arcs, arcs, layer_shapes=shapes).dense_layers() is None
    one = np.array([0]), np.array([2]), np.array([0])
    assert Topology(2, 1, 3, *one, layer_shapes=shapes).dense_layers() is None


def test_without_weight_numbers_each_arc_has_its_own_weight() -> None:
    topology = from_arcs([(0, 2), (1, 2), (2, 3)], inputs=2)
    assert arcs_of(topology) == [(0, 2, 0), (1, 2, 1), (2, 3, 2)]


def test_arcs_keep_their_order() -> None:
    arcs = [(2, 3, 1), (0, 3, 0), (1, 2, 1), (0, 2, 2)]
    assert arcs_of(from_arcs(arcs, inputs=2)) == arcs


def test_arcs_may_skip_layers() -> None:
    topology = from_arcs([(0, 1), (1, 2), (2, 3), (0, 3), (0, 2)])
    assert topology.predecessors(3).tolist() == [2, 0]
    assert [level.tolist() for level in topology.levels()] == [[1], [2], [3]]


def test_parallel_arcs_are_all_kept_and_all_counted() -> None:
    topology = from_arcs([(0, 2), (0, 2), (1, 2)], inputs=2)
    assert topology.arc_count == topology.weight_count == 3
    assert topology.fan_in.tolist() == [0, 0, 3]
    assert topology.predecessors(2).tolist() == [0, 0, 1]


def test_arcs_may_share_weights_even_in_parallel() -> None:
    topology = from_arcs([(0, 1, 0), (0, 1, 0), (1, 2, 0), (0, 2, 1)])
    assert topology.arc_count == 4
    assert topology.weight_count == 2


def test_arcs_may_close_cycles_and_loops() -> None:
    assert not CYCLIC.is_acyclic
    assert not from_arcs([(0, 1), (1, 1)]).is_acyclic


def test_there_may_be_no_inputs_and_no_arcs() -> None:
    topology = from_arcs([], inputs=0)
    assert (topology.node_count, topology.arc_count, topology.weight_count) == (1, 0, 0)
    assert topology.fan_in.tolist() == [0]
    assert [level.tolist() for level in topology.levels()] == [[0]]


def test_nodes_without_arcs_are_counted_when_asked_for() -> None:
    assert from_arcs([(0, 1)], nodes=7).node_count == 7
    assert from_arcs([(0, 1)], nodes=7).outputs == range(6, 7)


def test_without_a_number_of_nodes_the_largest_one_decides() -> None:
    assert from_arcs([(0, 5)]).node_count == 6
    assert from_arcs([], inputs=3, outputs=2).node_count == 5


@pytest.mark.parametrize(
    "given_as",
    [
        list,
        tuple,
        iter,
        lambda arcs: (arc for arc in arcs),
        np.array,
        lambda arcs: np.array(arcs, dtype=np.uint8),
        lambda arcs: [list(arc) for arc in arcs],
        lambda arcs: dict.fromkeys(arcs),
    ],
)
def test_arcs_may_come_in_any_container(given_as: Callable[[Any], Any]) -> None:
    arcs = [(0, 2, 0), (1, 2, 1), (2, 3, 0)]
    assert arcs_of(from_arcs(given_as(arcs), inputs=2)) == arcs


@pytest.mark.parametrize("nothing", [[], (), iter([]), np.zeros((0, 2)), np.zeros((0, 3), int)])
def test_no_arcs_may_come_in_any_container(nothing: Any) -> None:
    assert from_arcs(nothing).arc_count == 0


def test_the_last_input_may_be_a_constant() -> None:
    topology = Topology.from_arcs([(0, 2), (1, 2)], inputs=2, outputs=1, has_constant=True)
    assert (topology.input_count, topology.column_count) == (2, 1)
    assert topology.with_constant(np.array([[-1], [1]], np.int8)).tolist() == [[-1, 1], [1, 1]]
    assert topology.with_constant(np.array([-1], np.int8)).tolist() == [-1, 1]
    assert repr(topology) == (
        "Topology(1 input, 0 hidden, 1 output: 3 nodes, 2 arcs, 2 weights, one constant)"
    )


@given(topologies())
def test_weights_on_the_same_arcs_are_levels_of_one(topology: Topology) -> None:
    together: dict[tuple[tuple[int, int], ...], list[int]] = {}
    for weight in range(topology.weight_count):
        ends = sorted((s, t) for s, t, number in arcs_of(topology) if number == weight)
        if topology.known_weights[weight]:
            continue
        if not topology.has_constant or all(s != topology.column_count for s, _ in ends):
            together.setdefault(tuple(ends), []).append(weight)
    starts, weights = topology.levelled_weights
    groups = [weights[a:b].tolist() for a, b in pairwise(starts)]
    assert groups == [group for group in together.values() if len(group) > 1]


def test_shared_weights_have_levels_and_thresholds_have_none() -> None:
    topology = Topology.parse("conv(2x2, levels=4, thresholds=5)", inputs=(3, 3), outputs=1)
    starts, weights = topology.levelled_weights
    assert np.diff(starts).tolist() == [3] * 4
    assert weights.tolist() == list(range(12))


def test_without_a_constant_all_inputs_are_columns() -> None:
    spins = np.ones((2, 3), dtype=np.int8)
    assert DENSE.column_count == 3
    assert DENSE.with_constant(spins) is spins


def test_a_constant_makes_a_difference() -> None:
    arcs = [(0, 2), (1, 2)]
    assert Topology.from_arcs(arcs, inputs=2, outputs=1, has_constant=True) != from_arcs(arcs, 2)


def test_a_constant_is_an_input() -> None:
    with pytest.raises(RangeError, match="inputs must be at least 1; got 0"):
        Topology.from_arcs([], inputs=0, outputs=1, has_constant=True)


def test_counts_of_numpy_become_plain_numbers() -> None:
    topology = from_arcs([(0, 1)], np.int8(1), np.int64(1), np.uint16(3))
    counts = (topology.input_count, topology.output_count, topology.node_count)
    assert counts == (1, 1, 3)
    assert all(type(count) is int for count in counts)


def test_a_million_arcs_are_built_within_three_seconds() -> None:
    generator = np.random.default_rng(0)
    sources = generator.integers(0, 10_000, 1_000_000)
    targets = sources + generator.integers(1_000, 10_000, 1_000_000)
    start = time.perf_counter()
    topology = from_arcs(np.stack([sources, targets], axis=1), inputs=1_000, outputs=10)
    assert topology.is_acyclic
    assert time.perf_counter() - start < 3


def test_a_long_chain_has_as_many_levels_as_neurons() -> None:
    chain = from_arcs([(node, node + 1) for node in range(2_000)])
    assert [level.tolist() for level in chain.levels()] == [[node] for node in range(1, 2_001)]


# ---- what is refused ----

ROWS = (
    r"arcs must all be \(source, target\), or all \(source, target, weight\), in whole numbers; got"
)


@pytest.mark.parametrize(
    "arcs",
    [
        [(0, 1), (0, 1, 0)],
        [(0,), (1,)],
        [(0, 1, 0, 0)],
        [()],
        [0, 1],
        [(0.0, 1.0)],
        [(0, 1.5)],
        [("0", "1")],
        [(True, False)],
        [(0, None)],
        [(0, 2**70)],
        [[(0, 1)]],
        "01",
        7,
        None,
        np.array(7),
        np.zeros((2, 0), dtype=int),
        np.array([[0.0, 1.0]]),
    ],
)
def test_what_is_no_table_of_arcs_is_refused(arcs: Any) -> None:
    with pytest.raises(ShapeError, match=ROWS):
        from_arcs(arcs)


def test_an_arc_into_an_input_is_refused_with_a_hint() -> None:
    message = "inputs must have no predecessors; arc 2 -> 1 ends in an input: make that node a hid"
    with pytest.raises(TopologyError, match=message):
        from_arcs([(0, 2), (2, 1)], inputs=2)


@pytest.mark.parametrize("arcs", [[(-1, 1)], [(0, -1)], [(0, 1, -1)]])
def test_negative_numbers_are_refused(arcs: Any) -> None:
    with pytest.raises(RangeError, match="by numbers from 0; got -1"):
        from_arcs(arcs)


def test_sources_and_targets_beyond_the_nodes_are_refused() -> None:
    with pytest.raises(RangeError, match=r"source_of must lie in 0\.\.2; got 3"):
        from_arcs([(0, 1), (3, 2)], nodes=3)
    with pytest.raises(RangeError, match=r"target_of must lie in 0\.\.2; got 9"):
        from_arcs([(0, 1), (1, 9)], nodes=3)


@pytest.mark.parametrize(
    ("weights", "unused"), [((1, 1), 0), ((0, 2), 1), ((5, 5), 0), ((0, 10**15), 1)]
)
def test_weight_numbers_with_gaps_are_refused(weights: tuple[int, int], unused: int) -> None:
    message = f"weights must be numbered 0, 1, 2, ... without gaps; weight {unused} has no arc"
    with pytest.raises(TopologyError, match=message):
        from_arcs([(0, 1, weights[0]), (0, 2, weights[1])])


@pytest.mark.parametrize("outputs", [0, -1, 1.0, None, True, "1"])
def test_a_graph_without_outputs_is_refused(outputs: Any) -> None:
    with pytest.raises(RangeError, match=r"outputs must be .*at least 1; got"):
        from_arcs([(0, 1)], outputs=outputs)


@pytest.mark.parametrize("inputs", [-1, 1.0, None, True, [0]])
def test_a_number_of_inputs_that_is_no_count_is_refused(inputs: Any) -> None:
    with pytest.raises(RangeError, match=r"inputs must be .*at least 0; got"):
        from_arcs([(0, 1)], inputs=inputs)


@pytest.mark.parametrize("nodes", [0, -1, 2.0, "2"])
def test_a_number_of_nodes_that_is_no_count_is_refused(nodes: Any) -> None:
    with pytest.raises(RangeError, match=r"nodes must be .*at least 1; got"):
        from_arcs([], nodes=nodes)


def test_fewer_nodes_than_inputs_and_outputs_are_refused() -> None:
    message = r"nodes must be at least inputs \+ outputs = 5; got 4"
    with pytest.raises(TopologyError, match=message):
        from_arcs([(0, 3)], inputs=3, outputs=2, nodes=4)


def test_inputs_and_outputs_do_not_overlap() -> None:
    with pytest.raises(TopologyError, match="ends in an input"):
        from_arcs([(0, 1)], inputs=2)


def test_more_nodes_than_memory_holds_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "free_memory", lambda: 1 << 30)
    with pytest.raises(RangeError, match="a graph of 1000000000001 nodes needs about 37,252"):
        from_arcs([(0, 10**12)])


def test_columns_of_unequal_length_are_refused() -> None:
    vector = np.zeros(2, dtype=np.int64)
    with pytest.raises(ShapeError, match="must have one entry per arc; got 2, 2 and 1"):
        Topology(0, 1, 1, vector, vector, vector[:1])


def test_layer_shapes_that_do_not_add_up_are_refused() -> None:
    none = np.zeros(0, dtype=np.int64)
    for shapes in (((1,), (2,)), ((2**32, 2**32, 1), (2,))):
        with pytest.raises(TopologyError, match="layer_shapes must add up to 2 nodes; got "):
            Topology(1, 1, 2, none, none, none, shapes)


# ---- nodes and arcs ----


def test_nodes_are_inputs_then_hidden_then_outputs() -> None:
    assert (DENSE.inputs, DENSE.outputs) == (range(3), range(5, 6))
    assert (DENSE.hidden_count, DENSE.neuron_count) == (2, 3)


@given(topologies())
def test_arcs_into_a_node_are_those_that_end_there_in_order(topology: Topology) -> None:
    arcs = arcs_of(topology)
    for node in range(topology.node_count):
        into = [arc for arc, (_, target, _) in enumerate(arcs) if target == node]
        assert topology.arcs_into(node).tolist() == into
        assert topology.predecessors(node).tolist() == [arcs[arc][0] for arc in into]
        assert topology.fan_in[node] == len(into)


@pytest.mark.parametrize("node", [-1, 6])
def test_asking_for_a_node_that_is_not_there_is_refused(node: int) -> None:
    with pytest.raises(RangeError, match=rf"node must lie in 0\.\.5; got {node}"):
        DENSE.arcs_into(node)
    with pytest.raises(RangeError, match=rf"node must lie in 0\.\.5; got {node}"):
        DENSE.predecessors(node)


# ---- order ----


@st.composite
def topologies_with_cut(draw: st.DrawFn) -> tuple[Topology, set[int]]:
    topology = draw(topologies())
    return topology, draw(st.sets(st.integers(0, topology.node_count - 1)))


def rank_of(levels: tuple[Any, ...], topology: Topology) -> dict[int, int]:
    """Number of each node's level; inputs come before all."""
    rank = dict.fromkeys(topology.inputs, -1)
    rank.update({node: i for i, level in enumerate(levels) for node in level.tolist()})
    return rank


def assert_in_order(levels: tuple[Any, ...], topology: Topology, cut: set[int]) -> None:
    neurons = [node for level in levels for node in level.tolist()]
    assert sorted(neurons) == list(range(topology.input_count, topology.node_count))
    assert all(level.tolist() == sorted(level.tolist()) for level in levels)
    rank = rank_of(levels, topology)
    assert all(rank[s] < rank[t] for s, t, _ in arcs_of(topology) if s not in cut)


@given(topologies(acyclic=True))
def test_every_neuron_comes_after_all_it_listens_to(topology: Topology) -> None:
    assert_in_order(topology.levels(), topology, set())


@given(topologies(acyclic=True))
def test_every_neuron_comes_as_early_as_it_can(topology: Topology) -> None:
    rank = rank_of(topology.levels(), topology)
    for node in range(topology.input_count, topology.node_count):
        before = [rank[int(source)] for source in topology.predecessors(node)]
        assert rank[node] == max([-1, *before]) + 1


def test_a_neuron_without_predecessors_is_in_the_first_level_and_not_among_the_inputs() -> None:
    topology = from_arcs([(1, 2), (0, 3), (2, 4), (3, 4)])
    assert [level.tolist() for level in topology.levels()] == [[1, 3], [2], [4]]


@given(topologies())
def test_a_graph_is_acyclic_exactly_when_networkx_says_so(topology: Topology) -> None:
    assert topology.is_acyclic == nx.is_directed_acyclic_graph(plain_graph(topology))


@given(topologies_with_cut())
def test_levels_ignore_the_arcs_that_leave_cut_nodes(case: tuple[Topology, set[int]]) -> None:
    topology, cut = case
    levels = topology.levels_or_none(tuple(cut))
    assert (levels is not None) == nx.is_directed_acyclic_graph(plain_graph(topology, cut))
    if levels is not None:
        assert_in_order(levels, topology, cut)


@settings(deadline=None)  # imports scipy.sparse
@given(topologies_with_cut())
def test_the_arc_that_is_named_lies_on_a_cycle_that_is_not_cut(
    case: tuple[Topology, set[int]],
) -> None:
    topology, cut = case
    graph = plain_graph(topology, cut)
    if nx.is_directed_acyclic_graph(graph):
        with pytest.raises(TopologyError, match="no arc lies on a cycle"):
            topology.some_arc_on_a_cycle(tuple(cut))
    else:
        source, target = topology.some_arc_on_a_cycle(tuple(cut))
        assert graph.has_edge(source, target)
        assert nx.has_path(graph, target, source)


def test_levels_of_a_cyclic_graph_name_an_arc_and_point_to_settle() -> None:
    message = r"arc 3 -> 2 closes a cycle; .* acyclic graph: use network\.settle\(x\)"
    with pytest.raises(TopologyError, match=message):
        CYCLIC.levels()


def test_levels_name_an_arc_of_a_cycle_that_is_left_after_the_cut() -> None:
    with pytest.raises(TopologyError, match="arc 4 -> 3 closes a cycle"):
        TWO_CYCLES.levels(cut=[1])
    with pytest.raises(TopologyError, match="arc 2 -> 1 closes a cycle"):
        TWO_CYCLES.levels(cut=[4])


def test_a_cut_through_every_cycle_gives_levels() -> None:
    assert [level.tolist() for level in TWO_CYCLES.levels([2, 4])] == [[1, 3, 5], [2, 4]]
    assert [level.tolist() for level in CYCLIC.levels(node for node in [3])] == [[2], [3]]


@pytest.mark.parametrize("node", [-1, 4])
def test_a_cut_of_nodes_that_are_not_there_is_refused(node: int) -> None:
    with pytest.raises(RangeError, match=rf"cut nodes must lie in 0\.\.3; got {node}"):
        CYCLIC.levels([node])


# ---- how Python sees it ----


def arrays_of(topology: Topology) -> Iterator[Any]:
    yield from (topology.source_of, topology.target_of, topology.weight_of, topology.fan_in)
    yield from topology.arcs_by_target
    yield from topology.levelled_weights
    yield topology.arcs_into(topology.node_count - 1)


@pytest.mark.parametrize("number", range(9))
def test_arrays_are_read_only(number: int) -> None:
    array = list(arrays_of(DENSE))[number]
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_attributes_are_read_only() -> None:
    with pytest.raises(FrozenInstanceError):
        DENSE.node_count = 7  # type: ignore[misc]


def test_arrays_are_copied_so_that_theirs_stay_theirs() -> None:
    arcs = np.array([[0, 1], [1, 2]])
    columns = np.array([0, 1]), np.array([1, 2]), np.array([0, 1])
    topology, direct = from_arcs(arcs), Topology(1, 1, 3, *columns)
    for array in (arcs, *columns):
        array[:] = 0
    assert arcs_of(topology) == arcs_of(direct) == [(0, 1, 0), (1, 2, 1)]


def test_topologies_are_equal_exactly_when_counts_and_arcs_are() -> None:
    arcs = [(0, 2, 0), (1, 2, 1)]
    topology = from_arcs(arcs, inputs=2)
    assert topology == from_arcs(np.array(arcs), inputs=2)
    assert topology != from_arcs(arcs[::-1], inputs=2)
    assert topology != from_arcs([(0, 2, 0), (1, 2, 0)], inputs=2)
    assert topology != from_arcs([(0, 2, 0), (0, 2, 1)], inputs=2)
    assert topology != from_arcs(arcs[:1], inputs=2)
    assert topology != from_arcs(arcs, inputs=1)
    assert topology != from_arcs(arcs, inputs=1, outputs=2)
    assert topology != from_arcs(arcs, inputs=2, nodes=4)
    assert topology != arcs


def test_a_layered_topology_equals_the_same_graph_without_layers() -> None:
    same = from_arcs(arcs_of(DENSE), inputs=3)
    assert same == DENSE
    assert hash(same) == hash(DENSE)
    assert same.layer_shapes is None


def test_topologies_can_be_members_of_sets_and_keys() -> None:
    assert len({DENSE, Topology.dense(3, 2, 1), CYCLIC}) == 2
    assert {DENSE: "found"}[Topology.dense(3, 2, 1)] == "found"


@pytest.mark.parametrize(
    ("topology", "text"),
    [
        (DENSE, "Topology(3 -> 2 -> 1: 6 nodes, 8 arcs, 8 weights)"),
        (
            Topology.parse("conv(2x2)", inputs=(3, 3), outputs=2),
            "Topology((1, 3, 3) -> (1, 2, 2) -> 2: 15 nodes, 24 arcs, 12 weights)",
        ),
        (CYCLIC, "Topology(2 inputs, 1 hidden, 1 output: 4 nodes, 4 arcs, 4 weights, cyclic)"),
        (
            from_arcs([(0, 2)], outputs=2),
            "Topology(1 input, 0 hidden, 2 outputs: 3 nodes, 1 arc, 1 weight)",
        ),
        (
            from_arcs([], inputs=0),
            "Topology(0 inputs, 0 hidden, 1 output: 1 node, 0 arcs, 0 weights)",
        ),
    ],
)
def test_a_topology_prints_its_counts(topology: Topology, text: str) -> None:
    assert repr(topology) == text
