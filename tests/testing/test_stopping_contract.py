"""The shared tests catch solvers that do not stop, or that stop without saying why."""

from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.testing import SamplerContract


class Stubborn:
    """Ignores limits, targets, reports and seeds."""

    calls = 0

    def sample(self, qubo: qn.Qubo, **options: Any) -> qn.Samples:
        Stubborn.calls += 1
        bits = np.random.default_rng(Stubborn.calls).integers(0, 2, (3, qubo.variable_count))
        return qn.Samples.of(qubo, bits)


class StubbornContract(SamplerContract):
    def make_sampler(self) -> qn.Sampler:
        return Stubborn()

    def make_long_sampler(self) -> qn.Sampler:
        return Stubborn()


@pytest.mark.parametrize(
    "promise",
    [
        "test_it_stops_when_the_time_is_up",
        "test_it_stops_at_the_target_and_repeats_itself",
        "test_it_reports_progress_and_stops_when_the_report_says_so",
        "test_it_returns_what_it_has_on_ctrl_c",
    ],
)
def test_a_broken_promise_fails_the_contract(promise: str) -> None:
    with pytest.raises(AssertionError):
        getattr(StubbornContract(), promise)()
