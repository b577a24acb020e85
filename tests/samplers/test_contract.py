"""Every sampler in one file passes one contract. A new sampler adds one class."""

import dimod
import pytest

import qubonn as qn
from qubonn.samplers import Sampler
from qubonn.testing import SamplerContract

LONG, MANY = 10**6, 1000  # sweeps and replicas: minutes of work, but few temperatures to list


class TestSimulatedAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        return qn.SimulatedAnnealing(replica_count=20, sweep_count=200)

    def make_long_sampler(self) -> Sampler:
        return qn.SimulatedAnnealing(replica_count=MANY, sweep_count=LONG)


class TestPopulationAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        return qn.PopulationAnnealing(replica_count=50, sweep_count=200)

    def make_long_sampler(self) -> Sampler:
        return qn.PopulationAnnealing(
            replica_count=MANY, sweep_count=LONG, sweeps_per_resampling=LONG // 10
        )


class TestRefinedAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        return qn.Refined(qn.SimulatedAnnealing(replica_count=20, sweep_count=50))

    def make_long_sampler(self) -> Sampler:
        return qn.Refined(qn.SimulatedAnnealing(replica_count=MANY, sweep_count=LONG))


class TestTunedAnnealing(SamplerContract):
    def make_sampler(self) -> Sampler:
        annealer = qn.SimulatedAnnealing(replica_count=20, sweep_count=100)
        return qn.TunedAnnealing(annealer=annealer, evaluation_count=6)

    def make_long_sampler(self) -> Sampler:
        annealer = qn.SimulatedAnnealing(replica_count=20, sweep_count=1000)
        return qn.TunedAnnealing(annealer=annealer, evaluation_count=100_000)


class TestExhaustive(SamplerContract):
    def make_sampler(self) -> Sampler:
        return qn.Exhaustive(state_count=4)


class TestMomentumAnnealing(SamplerContract):
    slack_seconds = 5.0  # torch's threads, beside other tests

    def make_sampler(self) -> Sampler:
        pytest.importorskip("torch", reason="momentum annealing needs torch")
        return qn.MomentumAnnealing(replica_count=50, step_count=200)

    def make_long_sampler(self) -> Sampler:
        pytest.importorskip("torch", reason="momentum annealing needs torch")
        return qn.MomentumAnnealing(replica_count=50, step_count=LONG)


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
    def make_sampler(self) -> Sampler:
        samplers = pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
        return qn.DimodSolver(samplers.SteepestDescentSolver(), {"num_reads": 300})


class TestOpenJij(SamplerContract):
    def make_sampler(self) -> Sampler:
        openjij = pytest.importorskip("openjij", reason="openjij is not installed")
        return qn.DimodSolver(openjij.SASampler(), {"num_reads": 10})


def test_openjij_reads_differ_from_each_other() -> None:
    openjij = pytest.importorskip("openjij", reason="openjij is not installed")
    qubo = qn.Qubo.of([], [], [], variable_count=30)
    solver = qn.DimodSolver(openjij.SASampler(), {"num_reads": 5, "num_sweeps": 2})
    assert len(solver.sample(qubo, seed=1).distinct()) > 1


@pytest.mark.parametrize(
    "sampler",
    [
        qn.SimulatedAnnealing(replica_count=8, sweep_count=50),
        qn.PopulationAnnealing(replica_count=16, sweep_count=50),
        qn.Refined(qn.SimulatedAnnealing(replica_count=8, sweep_count=20)),
        qn.Exhaustive(),
        qn.DimodSolver(dimod.ExactSolver()),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_a_matrix_a_dict_and_a_dimod_model_are_sampled_as_qubos(sampler: Sampler) -> None:
    qubo = qn.Qubo.from_dict({(0, 0): -1, (0, 1): 2, (1, 1): -3})
    for form in ([[-1, 2], [0, -3]], {(0, 0): -1, (0, 1): 2, (1, 1): -3}, qubo.to_dimod()):
        found = sampler.sample(form, seed=0)  # type: ignore[arg-type]
        assert (found.bits[0].tolist(), found.energies[0]) == ([0, 1], -3)
