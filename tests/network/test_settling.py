"""Settling finds exactly the consistent states that trying all states finds."""

import tracemalloc
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import qubonn as qn
from network.random_networks import networks, random_inputs, slow_sum, topologies
from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.network import Settled, Settling
from qubonn.network.settling import feedback_nodes
from reference import consistent_states, f

SEEDS = st.integers(0, 2**32)
PAIR = qn.Topology.from_arcs([(0, 1), (1, 0)], inputs=0, outputs=2)
LOOP = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
NO_NODES = np.zeros(0, dtype=np.int64)


def random_spins(count: int, seed: int) -> list[int]:
    return [int(spin) for spin in np.random.default_rng(seed).choice([-1, 1], count)]


def states_of(settled: Settled) -> list[list[int]]:
    return [[int(spin) for spin in state] for state in settled.states]


def slow_clamped_states(
    network: qn.BinaryNetwork, inputs: list[int], clamped: dict[int, int]
) -> list[list[int]]:
    """All states with the clamped spins in which every other neuron is f of what it hears."""
    topology = network.topology
    first = topology.input_count
    free = [node for node in range(first, topology.node_count) if node not in clamped]
    found = []
    for spins in product((-1, 1), repeat=len(free)):
        x = (
            dict.fromkeys(topology.inputs, 1)
            | dict(enumerate(inputs))
            | clamped
            | dict(zip(free, spins, strict=True))
        )
        if all(x[node] == f(slow_sum(network, x, node)) for node in free):
            found.append([x[node] for node in sorted(x)])
    return found


def memory_of(spins: int, patterns: NDArray[np.int64]) -> qn.BinaryNetwork:
    """An associative memory without inputs: w_ij = w_ji is the sign of the patterns' agreement."""
    pairs = [(i, j) for i in range(spins) for j in range(i)]
    arcs = [(i, j, w) for w, (i, j) in enumerate(pairs)] + [
        (j, i, w) for w, (i, j) in enumerate(pairs)
    ]
    topology = qn.Topology.from_arcs(arcs, inputs=0, outputs=spins)
    agreement = patterns.T @ patterns
    return qn.BinaryNetwork(
        topology, [f(agreement[i, j]) for i, j in pairs], [f(s) for s in patterns.sum(axis=0)]
    )


@settings(max_examples=150, deadline=None)
@given(networks(), SEEDS)
def test_the_states_and_the_outcome_are_those_of_brute_force(
    network: qn.BinaryNetwork, seed: int
) -> None:
    inputs = random_spins(network.topology.column_count, seed)
    expected = list(consistent_states(network, inputs))
    settled = network.settle(inputs, start_count=4, sweep_count=10)
    assert sorted(states_of(settled)) == sorted(expected)
    assert settled.outcome == {0: Settling.NONE, 1: Settling.UNIQUE}.get(
        len(expected), Settling.SEVERAL
    )
    first = network.topology.outputs.start
    assert settled.outputs.tolist() == [state[first:] for state in states_of(settled)]


def test_every_outcome_of_the_exact_search_can_happen() -> None:
    assert qn.BinaryNetwork(PAIR, [1, 1], [1, 1]).settle([]).outcome == Settling.SEVERAL
    assert qn.BinaryNetwork(PAIR, [1, 1], [1, -1]).settle([]).outcome == Settling.UNIQUE
    assert qn.BinaryNetwork(PAIR, [1, -1], [1, 1]).settle([]).outcome == Settling.NONE


@settings(max_examples=100, deadline=None)
@given(networks(), SEEDS)
def test_without_the_exact_search_states_are_consistent_and_nothing_more_is_claimed(
    network: qn.BinaryNetwork, seed: int
) -> None:
    inputs = random_spins(network.topology.column_count, seed)
    expected = list(consistent_states(network, inputs))
    settled = network.settle(inputs, exact_limit=0, start_count=3, sweep_count=5)
    found = states_of(settled)
    assert all(state in expected for state in found)
    assert len({tuple(state) for state in found}) == len(found)
    exact = [Settling.NONE, Settling.UNIQUE, Settling.SEVERAL]
    guessed = [Settling.UNDECIDED, Settling.FOUND, Settling.SEVERAL]
    outcomes = exact if network.topology.is_acyclic else guessed
    assert settled.outcome == outcomes[min(len(found), 2)]


def test_without_the_exact_search_every_outcome_can_happen() -> None:
    def outcome(weights: list[int], biases: list[int], **options: int) -> Settling:
        return qn.BinaryNetwork(PAIR, weights, biases).settle([], exact_limit=0, **options).outcome

    assert outcome([1, 1], [1, 1]) == Settling.SEVERAL
    assert outcome([1, 1], [1, 1], start_count=1) == Settling.FOUND
    assert outcome([1, -1], [1, 1]) == Settling.UNDECIDED


@settings(max_examples=100, deadline=None)
@given(networks(), SEEDS, st.data())
def test_clamped_neurons_keep_their_spin_and_need_not_be_consistent(
    network: qn.BinaryNetwork, seed: int, data: st.DataObject
) -> None:
    topology = network.topology
    inputs = random_spins(topology.column_count, seed)
    neurons = range(topology.input_count, topology.node_count)
    clamped = data.draw(st.dictionaries(st.sampled_from(neurons), st.sampled_from([-1, 1])))
    expected = slow_clamped_states(network, inputs, clamped)
    settled = network.settle(
        inputs, clamped=(list(clamped), list(clamped.values())), start_count=2, sweep_count=5
    )
    assert sorted(states_of(settled)) == sorted(expected)
    assert all(settled.closest[node] == spin for node, spin in clamped.items())


@settings(max_examples=60, deadline=None)
@given(networks(is_acyclic=True), SEEDS)
def test_an_acyclic_network_settles_to_its_forward_pass(
    network: qn.BinaryNetwork, seed: int
) -> None:
    (inputs,) = random_inputs(network, 1, seed)
    settled = network.settle(inputs, exact_limit=0)
    assert settled.outcome == Settling.UNIQUE
    assert settled.states.tolist() == network.forward([inputs]).activation_spins.tolist()


@settings(max_examples=40, deadline=None)
@given(networks(), SEEDS)
def test_the_closest_state_is_the_first_consistent_one_or_keeps_at_least_the_inputs(
    network: qn.BinaryNetwork, seed: int
) -> None:
    inputs = random_spins(network.topology.column_count, seed)
    settled = network.settle(inputs, start_count=2, sweep_count=3)
    assert set(settled.closest.tolist()) <= {-1, 1}
    assert settled.closest[: len(inputs)].tolist() == inputs
    if len(settled.states):
        assert settled.closest.tolist() == settled.states[0].tolist()


@pytest.mark.parametrize("seed", range(10))
def test_the_closest_state_has_the_fewest_inconsistent_neurons_that_were_met(seed: int) -> None:
    # node 0 denies itself, so one is always wrong; after one sweep others often are too
    arcs = [(0, 0), *((node, node + 1) for node in range(7)), (7, 1)]
    topology = qn.Topology.from_arcs(arcs, inputs=0, outputs=1)
    network = qn.BinaryNetwork(topology, [-1] + [1] * 8, [1] + [-1, 1] * 3 + [1])
    settled = network.settle([], seed=seed, sweep_count=1, start_count=64)
    closest = dict(enumerate(settled.closest.tolist()))
    assert settled.outcome == Settling.NONE
    assert sum(closest[node] != f(slow_sum(network, closest, node)) for node in range(8)) == 1


@pytest.mark.parametrize("seed", range(30))
def test_one_at_a_time_neurons_with_symmetric_weights_always_come_to_rest(seed: int) -> None:
    # six neighbours and a bias make an odd sum, so that each change lowers Hopfield's energy
    memory = memory_of(7, np.random.default_rng(seed).choice(np.array([-1, 1]), (3, 7)))
    biases = random_spins(7, seed)
    network = qn.BinaryNetwork(memory.topology, memory.weight_spins, biases)
    settled = network.settle([], seed=seed, start_count=1, exact_limit=0)
    assert settled.outcome == Settling.FOUND
    assert settled.states[0].tolist() in list(consistent_states(network, []))


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("seed", range(3))
def test_a_memory_recalls_the_stored_pattern_from_a_corrupted_one(number: int, seed: int) -> None:
    patterns = np.random.default_rng(4).choice(np.array([-1, 1]), (3, 80))
    memory = memory_of(80, patterns)
    corrupted = patterns[number].copy()
    corrupted[np.random.default_rng(seed).choice(80, 8, replace=False)] *= -1
    settled = memory.settle([], start=corrupted, seed=seed, start_count=4)
    assert settled.states[0].tolist() == patterns[number].tolist()
    assert settled.outputs[0].tolist() == patterns[number].tolist()


@pytest.mark.parametrize("side", [-1, 1])
def test_the_state_reached_from_the_start_comes_before_those_of_the_exact_search(side: int) -> None:
    pattern = np.array([[1, -1, 1, 1, -1, -1, 1, -1]])
    memory = memory_of(8, pattern)
    start = side * pattern[0]
    start[2] *= -1
    settled = memory.settle([], start=start)
    assert settled.outcome == Settling.SEVERAL
    assert settled.states[0].tolist() == (side * pattern[0]).tolist()
    assert sorted(states_of(settled)) == sorted(consistent_states(memory, []))


def test_inputs_and_clamped_neurons_overrule_the_start() -> None:
    network = qn.BinaryNetwork(LOOP, [1, 1, 1], [1, 1])
    settled = network.settle([1], start=[-1, -1, -1], clamped=([2], [1]), start_count=1)
    assert settled.states.tolist() == [[1, 1, 1]]


def test_real_inputs_are_binarised_as_in_the_forward_pass() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(2, 1), [1, 1], [1])
    assert network.settle([0.0, 0.5]).states.tolist() == [[-1, 1, 1]]


@settings(max_examples=40, deadline=None)
@given(networks(), SEEDS)
def test_the_same_seed_gives_the_same_result(network: qn.BinaryNetwork, seed: int) -> None:
    inputs = random_spins(network.topology.column_count, seed)
    once, again = (network.settle(inputs, seed=seed, sweep_count=3) for _ in range(2))
    assert once.states.tolist() == again.states.tolist()
    assert once.closest.tolist() == again.closest.tolist()
    assert once.outcome == again.outcome


@settings(max_examples=100, deadline=None)
@given(topologies(most_hidden=8), st.data())
def test_feedback_nodes_break_every_cycle(topology: qn.Topology, data: st.DataObject) -> None:
    neurons = range(topology.input_count, topology.node_count)
    held = data.draw(st.lists(st.sampled_from(neurons), unique=True))
    chosen = feedback_nodes(topology, np.array(held, dtype=np.int64)).tolist()
    assert not set(chosen) & set(held)
    assert topology.levels_or_none((*held, *chosen)) is not None
    assert chosen == [] or topology.levels_or_none(tuple(held)) is None
    some = feedback_nodes(topology, np.array(held, dtype=np.int64), most=1).tolist()
    assert len(some) == min(len(chosen), 2)


def test_one_node_is_enough_for_a_ring_and_for_a_self_loop() -> None:
    ring = qn.Topology.from_arcs([(i, (i + 1) % 9) for i in range(9)], inputs=0, outputs=1)
    loops = qn.Topology.from_arcs([(0, 1), (1, 1), (1, 2)], inputs=1, outputs=1)
    assert len(feedback_nodes(ring, NO_NODES)) == 1
    assert feedback_nodes(loops, NO_NODES).tolist() == [1]
    assert feedback_nodes(qn.Topology.dense(3, 2, 1), NO_NODES).tolist() == []


def test_the_exact_search_may_go_through_its_guesses_in_pieces(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arcs = [arc for i in range(0, 12, 2) for arc in ((i, i + 1), (i + 1, i))]
    pairs = qn.Topology.from_arcs(arcs, inputs=0, outputs=1)
    network = qn.BinaryNetwork(pairs, [1] * 12, [1] * 12)
    whole = states_of(network.settle([]))
    monkeypatch.setattr("qubonn.network.forward.CHUNK_BYTES", 4 * 12 * 7)
    assert len(whole) == 2**6
    assert states_of(network.settle([])) == whole


def peak_bytes(network: qn.BinaryNetwork, **options: int) -> tuple[Settled, int]:
    inputs = np.ones(network.topology.column_count)
    network.topology.arcs_by_target  # noqa: B018 - kept by the topology, not by the search
    tracemalloc.start()
    try:
        settled = network.settle(inputs, **options)
        return settled, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_two_thousand_nodes_with_many_cycles_need_little_memory() -> None:
    generator = np.random.default_rng(0)
    arcs = np.stack([generator.integers(0, 2000, 20_000), generator.integers(9, 2000, 20_000)], 1)
    topology = qn.Topology.from_arcs(arcs, inputs=9, outputs=9, nodes=2000)
    settled, peak = peak_bytes(qn.BinaryNetwork.random(topology, seed=0), sweep_count=3)
    assert settled.outcome == Settling.UNDECIDED
    assert peak < 20 * 2**20


def test_memory_is_not_quadratic_in_the_nodes() -> None:
    pairs = [arc for i in range(0, 6000, 2) for arc in ((i, i + 1), (i + 1, i))]
    topology = qn.Topology.from_arcs(pairs, inputs=0, outputs=1)
    network = qn.BinaryNetwork(topology, np.ones(6000), np.ones(6000))
    settled, peak = peak_bytes(network, sweep_count=1, start_count=2, exact_limit=4)
    assert settled.outcome in (Settling.FOUND, Settling.SEVERAL)
    assert peak < 12 * 2**20  # a byte for each pair of nodes would be 34 MiB


def test_the_exact_search_of_many_nodes_holds_few_guesses_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    loops = [arc for i in range(13) for arc in ((i, i + 13), (i + 13, i))]
    arcs = loops + [(0, node) for node in range(26, 600)]
    topology = qn.Topology.from_arcs(arcs, inputs=0, outputs=1, nodes=600)
    biases = [1] * 13 + [-1] * 587
    monkeypatch.setattr("qubonn.network.forward.CHUNK_BYTES", 1 << 20)
    settled, peak = peak_bytes(qn.BinaryNetwork(topology, [1] * 600, biases), sweep_count=1)
    assert settled.outcome == Settling.UNIQUE
    assert peak < 8 * 2**20  # all guesses at once would be 24 MiB and more


REFUSED: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "input clamped": (
        {"clamped": ([0], [1])},
        RangeError,
        "clamped nodes must not be inputs; got node 0: change the inputs instead",
    ),
    "no such node": (
        {"clamped": ([3], [1])},
        RangeError,
        r"clamped nodes must lie in 0\.\.2; got 3",
    ),
    "node twice": (
        {"clamped": ([1, 1], [1, -1])},
        RangeError,
        r"clamped nodes must each be named once; got \[1, 1\]",
    ),
    "no spin for a node": (
        {"clamped": ([1, 2], [1])},
        ShapeError,
        r"clamped spins must have 2 values, one per clamped node; got shape \(1,\)",
    ),
    "clamped to a bit": (
        {"clamped": ([1], [0])},
        AlphabetError,
        r"clamped spins must be -1 or \+1; got 0",
    ),
    "clamped is no pair": (
        {"clamped": [1]},
        ShapeError,
        r"clamped must be a pair \(nodes, spins\); got \[1\]",
    ),
    "short start": (
        {"start": [1, 1]},
        ShapeError,
        r"start must have 3 values, one per node; got shape \(2,\)",
    ),
    "start of bits": ({"start": [0, 1, 1]}, AlphabetError, r"start must be -1 or \+1; got 0"),
    "negative seed": ({"seed": -1}, RangeError, "seed must be at least 0; got -1"),
    "no start": ({"start_count": 0}, RangeError, "start_count must be at least 1; got 0"),
    "no sweep": ({"sweep_count": 0}, RangeError, "sweep_count must be at least 1; got 0"),
    "negative limit": ({"exact_limit": -1}, RangeError, "exact_limit must be at least 0; got -1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bad_options_are_refused_in_one_sentence(name: str) -> None:
    options, error, message = REFUSED[name]
    with pytest.raises(error, match=message):
        qn.BinaryNetwork.random(LOOP, seed=0).settle([1], **options)


def test_several_examples_at_once_are_refused_with_a_hint() -> None:
    with pytest.raises(
        ShapeError,
        match=r"inputs must have 1 values, one per input neuron; got shape \(2, 1\); "
        "give the rows one by one",
    ):
        qn.BinaryNetwork.random(LOOP, seed=0).settle([[1], [1]])


def test_inputs_that_are_not_finite_are_refused() -> None:
    with pytest.raises(AlphabetError, match="inputs must be finite; got nan at place 0"):
        qn.BinaryNetwork.random(LOOP, seed=0).settle([float("nan")])


def test_a_result_says_what_it_is() -> None:
    settled = qn.BinaryNetwork(PAIR, [1, -1], [1, 1]).settle([])
    assert repr(settled) == "Settled(NONE, 0 states: no consistent state exists)"
