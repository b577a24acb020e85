"""Every witness has another class."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from network.joint_networks import (
    committees,
    slow_class,
    some_inputs,
)
from qubonn.encoding import Reading
from qubonn.network.robustness import robustness_of

READINGS: list[Reading] = ["signs", "largest"]
decisions = st.sampled_from(READINGS)


@settings(max_examples=80, deadline=None)
@given(committees(most=3), decisions, st.integers(0, 2**32))
def test_every_witness_has_the_other_class_that_is_reported(
    members: list[qn.BinaryNetwork], reading: Reading, seed: int
) -> None:
    found = robustness_of(members, some_inputs(members[0], seed), reading)
    distance = (found.adversarial_inputs != found.input_spins).sum(axis=1)
    assert distance.tolist() == np.where(found.is_found, found.flips, 0).tolist()
    for row in range(len(found)):
        own = slow_class(members, tuple(found.input_spins[row].tolist()), reading)
        other = slow_class(members, tuple(found.adversarial_inputs[row].tolist()), reading)
        assert (own != other) == found.is_found[row]
        assert spins_of(own, members[0], reading) == found.classes[row].tolist()
        assert spins_of(other, members[0], reading) == found.adversarial_classes[row].tolist()


def spins_of(decided: tuple[int, ...], network: qn.BinaryNetwork, reading: Reading) -> list[int]:
    if reading == "signs":
        return list(decided)
    return [1 if o == decided[0] else -1 for o in range(network.topology.output_count)]
