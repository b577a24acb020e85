"""Prediction in bits equals the reference forward pass: every output, every sum, ties included."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import qubonn as qn
from inference.graphs import GRAPHS, convolutions, layered, random_inputs, sharing_strips
from network.random_networks import topologies

ROWS = (1, 2, 31, 32, 33, 511, 512, 513, 1025)


def reference_of(
    members: Sequence[qn.BinaryNetwork], inputs: NDArray[np.float64]
) -> tuple[list[list[int]], list[list[int]]]:
    """Sums over members of output spins and of output pre-activations."""
    topology = members[0].topology
    passes = [member.forward(inputs) for member in members]
    spins = sum(done.activation_spins.astype(np.int64) for done in passes)
    sums = sum(done.pre_activations.astype(np.int64) for done in passes)
    first = topology.outputs.start
    return np.asarray(spins)[:, first:].tolist(), np.asarray(sums)[
        :, first - topology.input_count :
    ].tolist()


def assert_exact(
    topology: qn.Topology, rows: int, seed: int, members: int = 1, **options: int
) -> None:
    networks = [qn.BinaryNetwork.random(topology, seed=seed + number) for number in range(members)]
    inputs = random_inputs(topology, rows, seed)
    spins, sums = reference_of(networks, inputs)
    packed = qn.Committee(networks).packed(**options)
    assert packed.votes(inputs).tolist() == spins
    assert packed.output_sums(inputs).tolist() == sums
    assert packed.predict_outputs(inputs).tolist() == np.where(np.array(spins) > 0, 1, -1).tolist()


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("rows", [1, 40, 600])
def test_bits_equal_the_forward_pass_on_every_kind_of_graph(name: str, rows: int) -> None:
    assert_exact(GRAPHS[name], rows, seed=rows)


@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("name", ["dense", "convolution", "gathered", "convolution to outputs"])
def test_any_number_of_examples_will_do(name: str, rows: int) -> None:
    assert_exact(GRAPHS[name], rows, seed=1)


@pytest.mark.parametrize("thread_count", [1, 2])
@pytest.mark.parametrize("name", ["dense", "deep convolution", "gathered"])
def test_the_number_of_threads_does_not_matter(
    name: str, thread_count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qubonn.inference.packed_network.ARCS_PER_THREAD", 1)
    monkeypatch.setattr("qubonn.inference.packing.NUMBERS_PER_THREAD", 1)
    assert_exact(GRAPHS[name], 3000, seed=2, thread_count=thread_count)


@pytest.mark.parametrize("name", GRAPHS)
@pytest.mark.parametrize("members", [2, 3, 5])
def test_members_add_up(name: str, members: int) -> None:
    assert_exact(GRAPHS[name], 50, seed=3, members=members)


@settings(max_examples=60, deadline=None)
@given(layered(), st.sampled_from(ROWS[:6]), st.integers(0, 2**32))
def test_bits_equal_the_forward_pass_on_dense_layers(
    topology: qn.Topology, rows: int, seed: int
) -> None:
    assert_exact(topology, rows, seed)


@settings(max_examples=60, deadline=None)
@given(convolutions(), st.sampled_from(ROWS[:6]), st.integers(0, 2**32))
def test_bits_equal_the_forward_pass_on_convolutions(
    topology: qn.Topology, rows: int, seed: int
) -> None:
    assert_exact(topology, rows, seed)


@settings(max_examples=150, deadline=None)
@given(topologies(is_acyclic=True, most_hidden=6), st.integers(1, 70), st.integers(0, 2**32))
def test_bits_equal_the_forward_pass_on_random_graphs(
    topology: qn.Topology, rows: int, seed: int
) -> None:
    assert_exact(topology, rows, seed, members=2)


@settings(max_examples=100, deadline=None)
@given(sharing_strips(), st.integers(1, 70), st.integers(0, 2**32))
def test_bits_equal_the_forward_pass_on_walking_filters(
    topology: qn.Topology, rows: int, seed: int
) -> None:
    assert_exact(topology, rows, seed)


@pytest.mark.parametrize("fan_in", [1, 3, 13, 63, 65, 127])
@pytest.mark.parametrize("is_shared", [False, True])
def test_every_count_of_agreements_gives_its_own_sum_and_a_tie_gives_minus_one(
    fan_in: int, is_shared: bool
) -> None:
    """Example k has k inputs of +1; with odd fan-in and a bias, one of them is a tie."""
    arcs = [(source, fan_in, 0 if is_shared else source) for source in range(fan_in)]
    topology = qn.Topology.from_arcs(arcs, inputs=fan_in, outputs=1)
    inputs = np.where(np.arange(fan_in) < np.arange(fan_in + 1)[:, None], 1, -1)
    for weight in (1, -1):
        for bias in (1, -1):
            network = qn.BinaryNetwork(topology, [weight] * topology.weight_count, [bias])
            expected = [bias + weight * (2 * k - fan_in) for k in range(fan_in + 1)]
            assert 0 in expected
            assert network.packed().output_sums(inputs)[:, 0].tolist() == expected
            spins = [1 if total > 0 else -1 for total in expected]
            assert network.packed().predict_outputs(inputs)[:, 0].tolist() == spins


def test_a_fan_in_of_thousands_is_counted_exactly_by_words_and_by_planes() -> None:
    assert_exact(qn.Topology.dense(5000, 3), 40, seed=0)
    shared = [(source, 5000 + target, source) for target in range(3) for source in range(5000)]
    assert_exact(qn.Topology.from_arcs(shared, inputs=5000, outputs=3), 40, seed=0)
