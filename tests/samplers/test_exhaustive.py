import pytest

import qubonn as qn
from qubonn.testing.sampler_contract import random_qubo


def test_exhaustive_keeps_ties_in_order_and_refuses_large_problems() -> None:
    flat = qn.Qubo.of([], [], [], variable_count=3)
    states = qn.Exhaustive(state_count=8).sample(flat).bits @ [1, 2, 4]
    assert states.tolist() == list(range(8))
    with pytest.raises(qn.QubonnError, match="at most 26 variables; got 27"):
        qn.Exhaustive().sample(qn.Qubo.of([], [], [], variable_count=27))


def test_finished_work_is_finished_whatever_the_clock_says() -> None:
    samples = qn.Exhaustive().sample(random_qubo(10, 0), time_limit=1e-9)
    assert samples.stop is qn.Stop.FINISHED
