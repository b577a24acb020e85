"""The contract catches engines that break a promise; tests/engines/test_contract.py uses it."""

from dataclasses import replace
from typing import Any
from unittest import SkipTest

import pytest

import qubonn as qn
from qubonn.engines import Engine
from qubonn.testing import EngineContract


class Liar:
    """Reports energies that are too low by one."""

    def solve(self, problem: qn.TrainingProblem, **options: Any) -> qn.Solutions:
        found = qn.LiftedAnnealing(replica_count=4, sweep_count=10).solve(problem, **options)
        return replace(found, energies=found.energies - 1)


class LiarContract(EngineContract):
    def make_engine(self) -> Engine:
        return Liar()


def test_energies_that_do_not_belong_to_the_networks_fail_the_contract() -> None:
    contract = LiarContract()
    contract.test_it_is_an_engine()
    with pytest.raises(AssertionError):
        contract.test_it_returns_networks_with_their_energies_best_first()


def test_what_needs_a_long_run_is_skipped_without_one() -> None:
    with pytest.raises(SkipTest, match="make_long_engine returns None"):
        LiarContract().test_it_stops_when_the_time_is_up()


def test_a_term_that_is_ignored_fails_the_contract() -> None:
    class Ignoring(EngineContract):
        def make_engine(self) -> Engine:
            return Ignorant()

    with pytest.raises(AssertionError, match="'weight_price' is no term of"):
        Ignoring().test_it_refuses_a_term_that_it_does_not_support()


class Ignorant:
    """Claims a list of terms and ignores all others."""

    supported_terms = frozenset({"activation", "product"})

    def solve(self, problem: qn.TrainingProblem, **options: Any) -> qn.Solutions:
        plain = replace(problem, extra_terms=())
        return qn.LiftedAnnealing(replica_count=4, sweep_count=10).solve(plain, **options)
