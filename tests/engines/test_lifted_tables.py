"""Energies of the lifted view must fit their integers."""

import numpy as np
import pytest

import qubonn as qn
from qubonn.engines import LiftedAnnealing
from qubonn.engines.lifted_tables import circuit_of, energy_unit, numbers_of
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


def test_parallel_arcs_are_numbers_with_the_largest_pull_first() -> None:
    topology = qn.Topology.dense(1, 1, 1, weight_levels=[3, 2], threshold_levels=[2, 4])
    field = qn.Field(np.array([1, 2, 0, 0, 3]), np.array([0, 1]))
    problem = qn.TrainingProblem(topology, [[1]], [[1]], field=field, decay_strength=2)
    circuit = circuit_of(problem, 1.0, is_squared=True)
    numbers = numbers_of(problem, circuit, 1.0)
    members = np.split(numbers.member, numbers.starts[1:-1])
    assert [some.tolist() for some in members] == [[1, 0], [4, 6, 3]]
    assert numbers.kind_starts.tolist() == [0, 1, 2]
    assert numbers.decay.tolist() == [8, 0]
    assert circuit.kind_of.tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert circuit.single.tolist() == [2, 5]
    assert circuit.kind_starts.tolist() == [0, 1, 2]


def test_without_parallel_arcs_there_are_weights_then_biases() -> None:
    topology = qn.Topology.parse("conv(2x2)", inputs=(3, 3), outputs=2)
    problem = qn.TrainingProblem(topology, [[1] * 9], [[1, 1]])
    circuit = circuit_of(problem, 1.0, is_squared=True)
    count = topology.weight_count + topology.neuron_count
    assert circuit.single.tolist() == list(range(count))
    assert circuit.kind_starts.tolist() == [0, topology.weight_count, count]
    assert numbers_of(problem, circuit, 1.0) is None
