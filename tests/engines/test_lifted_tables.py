"""Energies of the lifted view must fit their integers."""

import numpy as np
import pytest

import qubonn as qn
from qubonn.engines import LiftedAnnealing
from qubonn.engines.lifted_tables import energy_unit
from qubonn.errors import RangeError


def test_energies_that_do_not_fit_are_refused_with_a_way_out() -> None:
    topology = qn.Topology.dense(20_000, 2, 1)
    problem = qn.TrainingProblem(topology, np.ones((50, 20_000)), np.ones((50, 1)))
    with pytest.raises(RangeError, match="use linear violations"):
        LiftedAnnealing(replica_count=1).solve(problem)


def test_the_unit_is_one_for_whole_strengths_and_a_power_of_two_otherwise() -> None:
    whole, part = (
        qn.TrainingProblem(qn.Topology.dense(2, 1), [[1, 1]], [[1]], margin_strength=strength)
        for strength in (2, 0.3)
    )
    assert energy_unit(whole, is_squared=True) == 1
    assert energy_unit(part, is_squared=True) == 2.0**-16
