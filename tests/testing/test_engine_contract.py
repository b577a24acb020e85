"""The contract catches engines that break a promise; tests/engines/test_contract.py uses it."""

from dataclasses import replace
from typing import Any

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
    contract = LiarContract()
    contract.test_it_stops_when_the_time_is_up()
    contract.test_it_returns_what_it_has_on_ctrl_c()
