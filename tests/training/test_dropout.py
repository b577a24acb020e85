"""Which nodes an iteration removes, the update function g, and whole networks from thinned ones."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qubonn as qn
from qubonn.errors import RangeError, TopologyError
from qubonn.training.algorithm1 import filled, moved_field, thinned, thinned_field, vote_of, voted

TOPOLOGY = qn.Topology.parse("conv(2x2)+fc(3)", inputs=(3, 3), outputs=2)  # 9, 4 + 3, 2 nodes


@pytest.mark.parametrize(("inputs", "hidden"), [(0, 0), (2, 0), (0, 3), (5, 6), (8, 1)])
def test_exactly_as_many_nodes_are_drawn_as_asked_and_never_an_output(
    inputs: int, hidden: int
) -> None:
    dropout = qn.Dropout(dropped_inputs=inputs, dropped_hidden=hidden)
    generator = np.random.default_rng(0)
    for _ in range(50):
        nodes = dropout.draw(TOPOLOGY, generator)
        assert len(set(nodes.tolist())) == len(nodes) == inputs + hidden
        assert (np.diff(nodes) > 0).all()
        assert (nodes < 9).sum() == inputs
        assert (nodes < 16).all()


def test_the_constant_is_never_drawn() -> None:
    topology = qn.Topology.dense(3, 2, 1, weight_levels=3, threshold_levels=4)
    dropout, generator = qn.Dropout(dropped_inputs=2, dropped_hidden=1), np.random.default_rng(0)
    drawn = {tuple(dropout.draw(topology, generator).tolist()) for _ in range(100)}
    assert drawn == {(a, b, h) for a, b in ((0, 1), (0, 2), (1, 2)) for h in (4, 5)}
    with pytest.raises(TopologyError, match="dropped_inputs must leave at least one of 3 nodes"):
        qn.Dropout(dropped_inputs=3).require_fit(topology)


def test_every_node_of_a_kind_is_dropped_equally_often() -> None:
    dropout = qn.Dropout(dropped_inputs=3, dropped_hidden=2)
    generator = np.random.default_rng(1)
    drawn = np.concatenate([dropout.draw(TOPOLOGY, generator) for _ in range(4000)])
    counts = np.bincount(drawn, minlength=18)
    # standard deviations are 30 and 29: five of them are passed once in 100,000 such tests
    assert np.abs(counts[:9] - 4000 / 3).max() < 150
    assert np.abs(counts[9:16] - 8000 / 7).max() < 150
    assert counts[16:].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dropped_inputs": -1}, "dropped_inputs must be at least 0; got -1"),
        ({"dropped_hidden": 0.2}, "dropped_hidden must be a whole number"),
        ({"iteration_count": -1}, "iteration_count must be at least 0; got -1"),
        ({"learning_rate": -0.1}, "learning_rate must be a finite number, at least 0"),
        ({"violation_decay": 1.5}, "violation_decay must lie in 0 to 1"),
        ({"violation_decay": float("nan")}, "violation_decay must be a finite number"),
        ({"final": "some"}, "final must be 'whole', 'batch' or 'none'; got 'some'"),
        ({"final": "none", "iteration_count": 0}, "iteration_count must be at least 1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(RangeError, match=words):
        qn.Dropout(**settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dropped_inputs": 9}, "dropped_inputs must leave at least one of 9 nodes; got 9"),
        ({"dropped_hidden": 7}, "dropped_hidden must leave at least one of 7 nodes; got 7"),
    ],
)
def test_one_input_and_one_hidden_node_must_stay(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(TopologyError, match=words):
        qn.Dropout(**settings).require_fit(TOPOLOGY)


def test_the_default_rate_grows_with_the_batch() -> None:
    assert qn.Dropout().rate_for(4) == 0.04
    assert qn.Dropout(learning_rate=2).rate_for(4) == 2.0


# ---- the update function g ----

LINE = qn.Topology.dense(1, 1)
CONVOLUTION = qn.Topology.parse("conv(2x2)", inputs=(3, 3), outputs=1)


@given(
    st.floats(-5, 5),
    st.sampled_from([-1, 1]),
    st.floats(0, 2),
    st.floats(0, 1),
    st.integers(0, 50),
)
def test_g_is_the_formula_of_the_paper(
    a: float, b: int, eta: float, beta: float, n_usc: int
) -> None:
    field, network = qn.Field(np.array([a]), np.array([a])), qn.BinaryNetwork(LINE, [b], [-b])
    found = moved_field(field, LINE.thin([]), network, vote_of(eta, beta, n_usc))
    assert found.weights.tolist() == [a + eta * beta**n_usc * b]
    assert found.biases.tolist() == [a - eta * beta**n_usc * b]


def test_a_decay_of_zero_lets_feasible_networks_vote_only() -> None:
    assert vote_of(0.3, 0, 0) == 0.3
    assert vote_of(0.3, 0, 1) == 0


def test_votes_of_whole_numbers_do_not_overflow() -> None:
    network = qn.BinaryNetwork(LINE, [1], [-1])
    found = moved_field(qn.Field.zero(LINE), LINE.thin([]), network, vote_of(300, 1, 2))
    assert [*found.weights, *found.biases] == [300, -300]


def test_what_took_no_part_does_not_move() -> None:
    topology = qn.Topology.dense(3, 2, 1)
    field = qn.Field(np.arange(8.0), np.arange(3.0) / 2)
    thinning = topology.thin([0, 4])  # weights 1, 2 and 6 and neurons 0 and 2 stay
    network = qn.BinaryNetwork(thinning.topology, [1, -1, 1], [-1, 1])
    after = moved_field(field, thinning, network, 0.25)
    assert (after.weights - field.weights).tolist() == [0, 0.25, -0.25, 0, 0, 0, 0.25, 0]
    assert (after.biases - field.biases).tolist() == [-0.25, 0, 0.25]
    assert field.weights.tolist() == list(range(8))


def test_a_shared_weight_votes_once_however_many_of_its_arcs_are_left() -> None:
    zero = qn.Field.zero(CONVOLUTION)
    for dropped in ([], [9], [9, 10, 11]):
        thinning = CONVOLUTION.thin(dropped)
        plus = qn.BinaryNetwork(
            thinning.topology,
            [1] * thinning.topology.weight_count,
            [1] * thinning.topology.neuron_count,
        )
        assert moved_field(zero, thinning, plus, 0.5).weights[:4].tolist() == [0.5] * 4


def test_a_thinned_network_made_whole_and_thinned_again_is_itself() -> None:
    thinning = CONVOLUTION.thin([0, 10])
    network = qn.BinaryNetwork.random(thinning.topology, seed=0)
    field = qn.Field(np.linspace(-1, 1, 8), np.array([-1, 1, 0, 0, 1]))
    whole = filled(CONVOLUTION, field, thinning, network)
    assert thinned(whole, thinning) == network
    assert whole.weight_spins[5] == 1  # of the dropped neuron: the sign of 3 / 7
    assert whole.bias_spins[1] == 1


def test_the_voted_network_has_the_signs_of_the_field_and_ties_are_minus_one() -> None:
    network = voted(qn.Topology.dense(2, 1), qn.Field(np.array([0.5, 0]), np.array([-2])))
    assert network.weight_spins.tolist() == [1, -1]
    assert network.bias_spins.tolist() == [-1]


def test_a_thinned_field_has_the_strengths_of_what_is_left() -> None:
    topology = qn.Topology.dense(3, 2, 1)
    field = thinned_field(qn.Field(np.arange(8), np.arange(3)), topology.thin([0, 4]))
    assert field.weights.tolist() == [1, 2, 6]
    assert field.biases.tolist() == [0, 2]
    with pytest.raises(qn.errors.ShapeError):
        field.require_fit(topology)
