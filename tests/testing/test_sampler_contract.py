"""The contract catches samplers that break a promise; tests/samplers/test_contract.py uses it."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.testing import SamplerContract
from qubonn.testing.sampler_contract import random_qubo


class Liar:
    """Reports energies that are too low by one, and never the same samples."""

    calls = 0

    def sample(self, qubo: qn.Qubo, **options: Any) -> qn.Samples:
        Liar.calls += 1
        bits = np.random.default_rng(Liar.calls).integers(0, 2, (3, qubo.variable_count))
        samples = qn.Samples.of(qubo, bits)
        return replace(samples, energies=samples.energies - 1)


class LiarContract(SamplerContract):
    def make_sampler(self) -> qn.Sampler:
        return Liar()


@pytest.mark.parametrize(
    "promise",
    [
        "test_it_reports_the_energy_of_each_state_it_returns_best_first",
        "test_it_repeats_itself_for_the_same_seed",
        "test_it_solves_a_problem_that_exhaustive_search_can_check",
    ],
)
def test_a_broken_promise_fails_the_contract(promise: str) -> None:
    with pytest.raises(AssertionError):
        getattr(LiarContract(), promise)()


def test_random_qubos_are_drawn_from_their_seed() -> None:
    assert random_qubo(9, 1) == random_qubo(9, 1)
    assert random_qubo(9, 1) != random_qubo(9, 2)
    assert random_qubo(9, 1).is_exact
    assert not random_qubo(9, 1, whole=False).is_exact
