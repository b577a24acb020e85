"""A term defined outside the package works in the QUBO view, and engines refuse it."""

from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import RangeError
from qubonn.formulation import Term
from qubonn.formulation.assignment import Assignment
from qubonn.formulation.variables import Variables


@dataclass(frozen=True)
class PositivePairs:
    """The number of pairs of weights that are both +1."""

    name: ClassVar[str] = "positive_pairs"
    sign: ClassVar[int] = +1
    strength: int | float

    def hamiltonian(self, variables: Variables) -> qn.Hamiltonian:
        first, second = np.triu_indices(variables.topology.weight_count, 1)
        weights = variables.weight_variables
        return qn.Hamiltonian.quadratic(weights[first], weights[second], 1)

    def evaluate(self, variables: Variables, assignment: Assignment) -> int:
        positive = int((assignment.network.weight_spins > 0).sum())
        return positive * (positive - 1) // 2


def problem_with(*terms: Term) -> qn.TrainingProblem:
    return qn.TrainingProblem(
        qn.Topology.dense(2, 1, 1), [[1, 1], [1, -1]], [[1], [-1]], extra_terms=terms
    )


def test_the_qubo_of_a_new_term_is_its_evaluation_for_every_assignment() -> None:
    problem = problem_with(PositivePairs(3))
    whole, alone = problem.qubo(), problem.qubo("positive_pairs")
    plain = problem_with().qubo()
    for bits in product((0, 1), repeat=problem.variables.count):
        terms = problem.terms(bits)
        assert alone.energy(bits) == terms.others["positive_pairs"]
        assert whole.energy(bits) == terms.total
        assert terms.total == plain.energy(bits) + 3 * terms.others["positive_pairs"]


def test_a_new_term_changes_which_network_is_best() -> None:
    best = qn.train(problem_with(PositivePairs(0.25)), qn.Exhaustive())
    assert best.certificate().is_feasible
    assert (best.network.weight_spins > 0).sum() <= 1


@pytest.mark.parametrize("engine", [qn.ForwardAnnealing(), qn.LiftedAnnealing()])
def test_engines_refuse_a_term_that_they_do_not_support(engine: qn.engines.Engine) -> None:
    message = f"{type(engine).__name__} supports .* also has 'positive_pairs': use a sampler"
    with pytest.raises(RangeError, match=message):
        engine.solve(problem_with(PositivePairs(1)))
    assert engine.solve(problem_with(PositivePairs(0))).energies[0] == 0


def test_two_terms_of_one_name_are_refused() -> None:
    with pytest.raises(RangeError, match=r"a name of its own; got activation, .*positive_pairs"):
        problem_with(PositivePairs(1), PositivePairs(2))


def test_an_unknown_term_is_refused_with_the_names_of_those_that_exist() -> None:
    with pytest.raises(
        RangeError, match=r"'field', 'decay', 'positive_pairs' or, where .* got 'margins'"
    ):
        problem_with(PositivePairs(1)).qubo("margins")
