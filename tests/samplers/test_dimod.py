import unittest

import dimod
import dimod.testing
import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import RangeError
from qubonn.samplers.dimod_face import AnnealingSampler
from qubonn.testing.sampler_contract import random_qubo


@dimod.testing.load_sampler_bqm_tests(AnnealingSampler)
class TestAnnealingSampler(unittest.TestCase):
    """dimod's own tests of a sampler, and its checks of the interface."""

    def test_it_is_a_dimod_sampler(self) -> None:
        dimod.testing.assert_sampler_api(AnnealingSampler())


def test_spins_come_back_for_a_spin_model() -> None:
    model = dimod.BinaryQuadraticModel({"a": 1.0}, {("a", "b"): -1.0}, 0.5, "SPIN")
    found = AnnealingSampler().sample(model, num_reads=5, num_sweeps=50, seed=1)
    assert found.vartype is dimod.SPIN
    assert found.first.sample == {"a": -1, "b": -1}
    assert found.first.energy == -1.5


def test_the_parameters_of_dwave_samplers_are_understood() -> None:
    model = random_qubo(20, 0).to_dimod()
    found = AnnealingSampler().sample(
        model, num_reads=7, num_sweeps=20, beta_range=(0.1, 5.0), seed=3, time_limit=10
    )
    assert len(found) == 7
    assert found.info["hottest"] == 10.0
    assert found.info["coldest"] == 0.2
    assert "sampling_seconds" in found.info["timing"]
    again = AnnealingSampler().sample(
        model, num_reads=7, num_sweeps=20, beta_range=(0.1, 5.0), seed=3
    )
    assert np.array_equal(found.record.sample, again.record.sample)


def test_initial_states_are_used_and_repeated() -> None:
    model = dimod.BinaryQuadraticModel({"a": 0.0, "b": 0.0}, {}, 0.0, "BINARY")
    model.add_quadratic("a", "b", -1.0)
    found = AnnealingSampler().sample(
        model,
        num_reads=3,
        num_sweeps=1,
        beta_range=(1e6, 1e6),
        initial_states={"a": 1, "b": 1},
    )
    assert (found.record.sample == 1).all()


def test_an_interrupt_function_stops_the_run() -> None:
    found = AnnealingSampler().sample(
        random_qubo(30, 0).to_dimod(), num_sweeps=10**7, interrupt_function=lambda: True
    )
    assert found.info["stop"] == "INTERRUPTED"


def test_bad_parameters_are_refused() -> None:
    model = random_qubo(3, 0).to_dimod()
    with pytest.raises(RangeError, match="beta_range must be"):
        AnnealingSampler().sample(model, beta_range=(2.0, 1.0))
    with pytest.raises(RangeError, match="beta_schedule_type must be 'geometric'"):
        AnnealingSampler().sample(model, beta_schedule_type="linear")


def test_a_qpu_is_reached_through_an_embedding() -> None:
    system = pytest.importorskip("dwave.system", reason="needs dwave-system")
    from dwave.system.testing import MockDWaveSampler

    problem = qn.TrainingProblem(qn.Topology.dense(3, 1), [[1, 1, 1], [-1, -1, 1]], [[1], [-1]])
    qpu = system.EmbeddingComposite(MockDWaveSampler(topology_type="pegasus", topology_shape=[3]))
    samples = qn.DimodSolver(qpu, {"num_reads": 50}).sample(problem.qubo())
    assert len(samples) == 50
    assert samples.best_energy == 0
    assert problem.certify(problem.decode(samples.best)).is_feasible


def test_tabu_gets_a_threshold_without_the_offset() -> None:
    samplers = pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(qn.paper.topology(9), letters.train_inputs, letters.train_outputs)
    solver = qn.DimodSolver(samplers.TabuSampler(), {"num_reads": 1, "timeout": 20_000})
    samples = solver.sample(problem.qubo(), seed=0, target_energy=30)
    assert samples.best_energy <= 30
    assert samples.info["seconds"] < 10
