import itertools

import numpy as np
import pytest

import qubonn as qn
from qubonn.training.committee import EVIDENCE_UNIT, class_scores, vote_evidence


def test_classes_that_the_votes_cannot_tell_apart_have_equal_scores() -> None:
    book = qn.CodeBook.gray_code(list(range(10)))
    topology = qn.Topology.dense(3, book.spin_count)
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(6)]
    votes = np.array(list(itertools.product(range(-6, 7, 2), repeat=book.spin_count)))
    scores = class_scores(qn.Committee(members), book, votes)
    # the evidence for a class: votes of each strength in favour of it, minus those against it
    weights = np.sign(votes)[:, None, :] * book.codewords
    strengths = np.stack([(weights * (np.abs(votes) == v)[:, None]).sum(2) for v in (2, 4, 6)], 2)
    same = (strengths[:, :, None] == strengths[:, None]).all(axis=3)
    assert same.sum() > 2 * same.shape[0] * same.shape[1]
    assert (scores[:, :, None] == scores[:, None])[same].all()


@pytest.mark.parametrize("size", [1, 2, 3, 10, 1000])
def test_evidence_is_the_log_odds_of_votes_and_fair(size: int) -> None:
    evidence = vote_evidence(size)
    share = (np.arange(size + 1) + 0.5) / (size + 1)
    assert np.allclose(evidence * EVIDENCE_UNIT, np.log(share / (1 - share)), atol=1e-6)
    assert (evidence == -evidence[::-1]).all()
    assert (np.diff(evidence) > 0).all()


@pytest.mark.parametrize(
    "topology",
    [
        qn.paper.topology(3),
        qn.paper.topology(7),
        qn.Topology.dense(7, 5, 3, weight_levels=3, threshold_levels=3),
    ],
)
def test_member_outputs_are_those_of_each_member(topology: qn.Topology) -> None:
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(30)]
    inputs = np.random.default_rng(0).normal(size=(6, topology.column_count))
    each = [member.predict_outputs(inputs) for member in members]
    assert np.array_equal(qn.Committee(members).member_outputs(inputs), each)
