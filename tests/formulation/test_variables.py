"""The one order of all variables, and their labels."""

import numpy as np
import pytest

import qubonn as qn

VARIABLES = qn.TrainingProblem(qn.Topology.dense(2, 2, 1), [[1, 1], [1, -1]], [[1], [-1]]).variables


def test_the_parts_follow_each_other_without_gaps() -> None:
    numbers = [
        VARIABLES.weight_variables,
        VARIABLES.bias_variables,
        VARIABLES.activation_variables[:, VARIABLES.structure.free_nodes].ravel(),
        VARIABLES.count_variables.ravel(),
        VARIABLES.product_variables.ravel(),
    ]
    assert np.concatenate(numbers).tolist() == list(range(VARIABLES.count))


def test_each_variable_has_a_label_of_its_own() -> None:
    labels = VARIABLES.labels
    assert len(set(labels)) == len(labels) == VARIABLES.count
    assert (labels[0], labels[-1]) == (("weight", 0), ("product", 1, 5))
    assert labels[6:8] == [("bias", 2), ("bias", 3)]


def test_numbers_beyond_the_last_are_refused() -> None:
    with pytest.raises(IndexError, match="variable numbers lie in 0"):
        VARIABLES.labels[VARIABLES.count]
