from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_iris

import qubonn as qn
from qubonn.errors import ContradictingExamples
from qubonn.formulation import Contradictions

ONE, HIDDEN = qn.Topology.dense(1, 1), qn.Topology.dense(1, 1, 1)
TWO = qn.Topology.dense(1, 2)
SETTINGS: list[dict[str, Any]] = [
    {},
    {"product_strength": 0.25},
    {"product_strength": 3, "example_weights": [1, 2, 4]},
    {"example_weights": [0.5, 0, 0.25]},
    {"output_strength": 0.125},
    {"output_strength": 5, "product_strength": 2},
]


@pytest.mark.parametrize("settings", SETTINGS)
@pytest.mark.parametrize(
    ("topology", "inputs", "outputs"),
    [
        (ONE, [[1], [1], [1]], [[1], [-1], [1]]),
        (ONE, [[1], [-1], [1]], [[1], [-1], [-1]]),
        (ONE, [[1], [-1], [1]], [[1], [-1], [1]]),
        (TWO, [[1], [1], [1]], [[1, -1], [-1, -1], [-1, 1]]),
        (HIDDEN, [[1], [1], [1]], [[1], [-1], [1]]),
    ],
)
def test_no_state_of_the_qubo_costs_less_than_the_contradictions(
    topology: qn.Topology, inputs: Any, outputs: Any, settings: dict[str, Any]
) -> None:
    problem = qn.TrainingProblem(topology, inputs, outputs, **settings)
    least = qn.Exhaustive().sample(problem.qubo()).best_energy
    assert least >= problem.contradictions.least_penalty
    assert (least == 0) == (problem.contradictions.least_penalty == 0)


@pytest.mark.parametrize("topology", [ONE, HIDDEN])
def test_the_bound_is_reached_where_a_constraint_may_fail_by_one(topology: qn.Topology) -> None:
    problem = qn.TrainingProblem(topology, [[1], [1], [1]], [[1], [-1], [1]])
    assert problem.contradictions == Contradictions(((0, 1, 2),), 1)
    assert qn.Exhaustive().sample(problem.qubo()).best_energy == 1


def test_repeated_examples_do_not_contradict_each_other() -> None:
    problem = qn.TrainingProblem(ONE, [[1], [1], [-1]], [[1], [1], [-1]])
    assert not problem.contradictions
    assert str(problem.contradictions) == "no examples contradict each other"


def test_a_network_with_cycles_may_give_one_input_two_outputs() -> None:
    loop = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    problem = qn.TrainingProblem(loop, [[1], [1]], [[1], [-1]])
    assert not problem.contradictions
    assert qn.Exhaustive().sample(problem.qubo()).best_energy == 0


def test_many_contradictions_are_named_in_one_short_sentence() -> None:
    torn = Contradictions(tuple((n, *range(100 + n, 110 + n)) for n in range(5)), 50)
    assert str(torn) == (
        "examples 0, 100, 101, 102, 103, 104 and 5 more; 1, 101, 102, 103, 104, 105 and 5 more; "
        "2, 102, 103, 104, 105, 106 and 5 more; and 2 groups more have the same input spins and "
        "different outputs: no network satisfies all of them, and the energy without rewards is "
        "at least 50"
    )


def test_pose_warns_of_contradictions_and_the_estimator_does_not() -> None:
    X, y = np.array([[0.0], [0.0], [1.0], [1.0]]), [0, 1, 1, 1]
    with pytest.warns(ContradictingExamples, match="examples 0 and 1 have the same input spins"):
        posed = qn.pose(X, y, hidden=1)
    assert posed.problem.contradictions.groups == ((0, 1),)
    qn.QuboClassifier(hidden=2, random_state=0).fit(X, y)  # warnings are errors here


def test_thresholds_tear_examples_of_iris_that_two_spins_a_column_tell_apart() -> None:
    rows, (X, y) = [15, 25, 37, 58, 86, 95, 103, 124, 140], load_iris(return_X_y=True)
    with pytest.warns(ContradictingExamples):
        torn = qn.pose(X[rows], y[rows], binariser="threshold", hidden=2).problem
    assert torn.contradictions.least_penalty == qn.train(torn, seed=0).energies[0]
    assert qn.train(qn.pose(X[rows], y[rows], binariser=2, hidden=2).problem).is_feasible
