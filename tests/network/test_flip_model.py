"""CP-SAT finds the number of flips that enumeration finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from network.joint_networks import (
    committees,
    slow_flips,
    some_inputs,
)
from qubonn.encoding import Reading
from qubonn.network.flip_model import FlipModel
from qubonn.network.joint_network import JointNetwork

READINGS: list[Reading] = ["signs", "largest"]
decisions = st.sampled_from(READINGS)


@settings(max_examples=80, deadline=None)
@given(committees(most=3), decisions, st.integers(0, 2**32))
def test_cp_sat_alone_proves_the_number_of_enumeration(
    members: list[qn.BinaryNetwork], reading: Reading, seed: int
) -> None:
    """Without the bound from margins and without a witness to start from."""
    pytest.importorskip("ortools")
    (row,) = some_inputs(members[0], seed, rows=1)
    never = len(row) + 1
    model = FlipModel(JointNetwork(members, reading))
    assert model.complete(lambda: False)
    proved = model.improve(row.astype(np.int8), 1, never, seed=0, worker_count=1, seconds=None)
    truth = slow_flips(members, tuple(row.tolist()), reading)
    assert proved.bound == truth
    assert truth == (never if proved.witness is None else (proved.witness != row).sum())
