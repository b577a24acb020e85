from itertools import combinations
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import RangeError


def committee_and_data(vote: Any, count: int = 5) -> tuple[qn.Committee, Any, Any]:
    topology = qn.Topology.dense(6, 4, 3)
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(count)]
    generator = np.random.default_rng(0)
    inputs = generator.choice([-1, 1], (30, 6))
    committee = qn.Committee(members, vote)
    outputs = committee.predict_outputs(inputs)
    outputs[::4, 1] *= -1
    return committee, inputs, outputs


@pytest.mark.parametrize("vote", ["signs", "largest"])
def test_every_number_equals_a_count_by_hand(vote: Any) -> None:
    committee, inputs, outputs = committee_and_data(vote)
    found = committee.summary(inputs, outputs)
    assert (found.member_count, found.reading, found.examples) == (5, vote, 30)
    assert found.bits == 5 * (6 * 4 + 4 * 3 + 4 + 3)
    assert found.packed_bytes == 27  # 215 bits
    assert found.members is not None
    margins = [member.margins(inputs) for member in committee.members]
    assert found.members.mean_s1 == pytest.approx(np.mean([margin.s1 for margin in margins]))
    assert found.members.mean_s2 == pytest.approx(np.mean([margin.s2 for margin in margins]))
    every = np.concatenate([margin.magnitudes.ravel() for margin in margins])
    assert found.members.mean_margin == pytest.approx(every.mean())
    assert found.accuracy == committee.accuracy(inputs, outputs) == 22 / 30
    answers = [slow_answers(member, inputs, vote) for member in committee.members]
    wanted = [tuple(row) for row in outputs.tolist()]
    right = [np.mean([a == w for a, w in zip(rows, wanted, strict=True)]) for rows in answers]
    assert found.members.accuracies == pytest.approx(right)
    assert found.mean_member_accuracy == pytest.approx(np.mean(right))
    differ = [a != b for x, y in combinations(answers, 2) for a, b in zip(x, y, strict=True)]
    assert found.members.disagreement == pytest.approx(np.mean(differ))
    assert 0 < np.mean(differ) < 1


def slow_answers(network: qn.BinaryNetwork, inputs: Any, vote: str) -> list[tuple[int, ...]]:
    if vote == "signs":
        return [tuple(row) for row in network.predict_outputs(inputs).tolist()]
    sums = network.pre_activations(inputs)[:, 4:].tolist()
    return [tuple(1 if o == row.index(max(row)) else -1 for o in range(3)) for row in sums]


def test_the_text_tells_members_and_committee_apart() -> None:
    committee, inputs, outputs = committee_and_data("signs")
    lines = str(committee.summary(inputs, outputs)).splitlines()
    assert lines[0] == "Committee of 5, each 6 -> 4 -> 3"
    assert lines[3] == "each member"
    names = [line[:21].rstrip() for line in lines]
    assert names[-6:-3] == ["accuracy, mean member", "accuracy, best member", "accuracy"]
    assert "disagreement" in names
    assert "-&gt;" in committee.summary()._repr_html_()


def test_without_data_nothing_is_claimed() -> None:
    committee, inputs, _ = committee_and_data("largest", count=1)
    bare, some = committee.summary(), committee.summary(inputs)
    assert (bare.members, bare.accuracy, bare.mean_member_accuracy) == (None, None, None)
    assert some.members is not None
    assert (some.members.accuracies, some.members.disagreement) == (None, None)
    assert "accuracy" not in str(some)
    with pytest.raises(RangeError, match="got outputs alone"):
        committee.summary(outputs=[[1, 1, 1]])
