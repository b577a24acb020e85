"""Joined members decide as each does, and their bound is that of a slow twin."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from network.joint_networks import (
    committees,
    slow_bound,
    slow_flips,
    some_inputs,
)
from qubonn.encoding import Reading
from qubonn.network.joint_network import JointNetwork, joined
from qubonn.network.robustness import robustness_of

READINGS: list[Reading] = ["signs", "largest"]
decisions = st.sampled_from(READINGS)


@settings(max_examples=100, deadline=None)
@given(committees(most=3), decisions, st.integers(0, 2**32))
def test_the_cheap_bound_is_never_too_large_and_equals_its_slow_twin(
    members: list[qn.BinaryNetwork], reading: Reading, seed: int
) -> None:
    inputs = some_inputs(members[0], seed)
    found = robustness_of(members, inputs, reading, exact=False)
    rows = [tuple(row.tolist()) for row in inputs]
    truth = [slow_flips(members, row, reading) for row in rows]
    assert (found.lower_bound <= truth).all()
    assert (found.flips >= truth).all()
    assert found.lower_bound.tolist() == [slow_bound(members, row, reading) for row in rows]


@settings(max_examples=50, deadline=None)
@given(committees(most=3), st.integers(0, 2**32))
def test_joined_networks_give_the_outputs_of_each(
    members: list[qn.BinaryNetwork], seed: int
) -> None:
    inputs = some_inputs(members[0], seed)
    apart = np.concatenate([member.predict_outputs(inputs) for member in members], axis=1)
    assert np.array_equal(qn.BinaryNetwork(*joined(members)).predict_outputs(inputs), apart)


def test_levels_with_few_arcs_are_bounded_as_full_ones_are() -> None:
    topology = qn.Topology.parse("conv(3x3)", inputs=(12, 12), outputs=2)
    network = qn.BinaryNetwork.random(topology, seed=0)
    inputs = np.random.default_rng(1).choice([-1, 1], (3, 144))
    found = network.robustness(inputs, time_limit=20)
    assert not isinstance(JointNetwork([network], "signs").plan[0].matrix, np.ndarray)
    rows = [tuple(row.tolist()) for row in inputs]
    assert found.lower_bound.tolist() == [slow_bound([network], row, "signs") for row in rows]
    assert (found.bound >= found.lower_bound).all()
