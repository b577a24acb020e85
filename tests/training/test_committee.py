import itertools

import numpy as np

import qubonn as qn
from qubonn.estimator.labelling import class_scores


def test_classes_that_the_votes_cannot_tell_apart_have_equal_scores() -> None:
    book = qn.CodeBook.gray_code(list(range(10)))
    topology = qn.Topology.dense(3, book.spin_count)
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(6)]
    votes = np.array(list(itertools.product(range(-6, 7, 2), repeat=book.spin_count)))
    scores = class_scores(qn.Committee(members), book, votes)
    # what speaks for a class: how often each strength of a vote is on its side, minus against it
    weights = np.sign(votes)[:, None, :] * book.codewords
    strengths = np.stack([(weights * (np.abs(votes) == v)[:, None]).sum(2) for v in (2, 4, 6)], 2)
    same = (strengths[:, :, None] == strengths[:, None]).all(axis=3)
    assert same.sum() > 2 * same.shape[0] * same.shape[1]
    assert (scores[:, :, None] == scores[:, None])[same].all()
