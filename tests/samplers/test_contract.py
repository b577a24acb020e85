"""Every sampler in one file passes one contract. A new sampler adds one class."""

import numpy as np
import pytest

import qubonn as qn
from qubonn.samplers import Sampler
from qubonn.testing import SamplerContract


class TestSimulatedAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        return qn.SimulatedAnnealing(replica_count=20, sweep_count=200)


class TestPopulationAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        return qn.PopulationAnnealing(replica_count=50, sweep_count=200)


class TestRefinedAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        return qn.Refined(qn.SimulatedAnnealing(replica_count=20, sweep_count=50))


class TestDistinctLowestAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        annealing = qn.SimulatedAnnealing(replica_count=20, sweep_count=200)
        return qn.Lowest(qn.Distinct(annealing), 5)


class TestTunedAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        annealer = qn.SimulatedAnnealing(replica_count=20, sweep_count=100)
        return qn.TunedAnnealing(annealer=annealer, evaluation_count=6)


class TestExhaustive(SamplerContract):
    def make_sampler(self) -> Sampler:
        return qn.Exhaustive(state_count=4)


class TestMomentumAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        pytest.importorskip("torch", reason="momentum annealing needs torch")
        return qn.MomentumAnnealing(replica_count=50, step_count=200)


class TestDwaveAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        samplers = pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
        return qn.DimodSolver(samplers.SimulatedAnnealingSampler(), {"num_reads": 20})


class TestDwaveTabu(SamplerContract):
    def make_sampler(self) -> Sampler:
        samplers = pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
        return qn.DimodSolver(samplers.TabuSampler(), {"num_reads": 5, "timeout": 20})

    has_seed = False  # it stops by the clock


class TestDwaveSteepestDescent(SamplerContract):
    has_time_limit = False  # it has none, and is quick

    def make_sampler(self) -> Sampler:
        samplers = pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
        return qn.DimodSolver(samplers.SteepestDescentSolver(), {"num_reads": 300})


class TestOpenJij(SamplerContract):
    has_time_limit = True

    def make_sampler(self) -> Sampler:
        openjij = pytest.importorskip("openjij", reason="openjij is not installed")
        return qn.DimodSolver(openjij.SASampler(), {"num_reads": 10})


def test_openjij_reads_differ_from_each_other() -> None:
    openjij = pytest.importorskip("openjij", reason="openjij is not installed")
    qubo = qn.Qubo.of([], [], [], variable_count=30)
    solver = qn.DimodSolver(openjij.SASampler(), {"num_reads": 5, "num_sweeps": 2})
    assert len(solver.sample(qubo, seed=1).distinct()) > 1


def test_a_sampler_of_ours_is_what_the_protocol_says() -> None:
    assert not isinstance(np.zeros(3), Sampler)
