import os
import signal
import subprocess
import sys
import textwrap
import unittest
from typing import Any

import dimod
import dimod.testing
import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import RangeError
from qubonn.samplers.dimod import AnnealingSampler, AsDimodSampler
from qubonn.testing.sampler_contract import random_qubo


@dimod.testing.load_sampler_bqm_tests(AnnealingSampler)
class TestAnnealingSampler(unittest.TestCase):
    """dimod's own tests of a sampler, and its checks of the interface."""

    def test_it_is_a_dimod_sampler(self) -> None:
        dimod.testing.assert_sampler_api(AnnealingSampler())


def population_sampler() -> AsDimodSampler:
    return AsDimodSampler(qn.PopulationAnnealing(replica_count=10, sweep_count=20))


@dimod.testing.load_sampler_bqm_tests(population_sampler)
class TestAsDimodSampler(unittest.TestCase):
    """The same tests for any sampler of ours."""

    def test_it_is_a_dimod_sampler(self) -> None:
        dimod.testing.assert_sampler_api(population_sampler())


def test_any_sampler_of_ours_is_seeded_and_limited_through_dimod() -> None:
    model = dimod.BinaryQuadraticModel({"a": 1.0}, {("a", "b"): -1.0}, 0.5, "SPIN")
    found = population_sampler().sample(model, seed=3, time_limit=10)
    assert found.first.sample == {"a": -1, "b": -1}
    assert (found.info["seed"], found.info["stop"]) == (3, "FINISHED")
    again = population_sampler().sample(model, seed=3)
    assert np.array_equal(found.record.sample, again.record.sample)
    slow = AsDimodSampler(qn.SimulatedAnnealing(replica_count=10**4, sweep_count=10**6))
    assert slow.sample(model, time_limit=0.1).info["stop"] == "TIME_LIMIT"


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
        random_qubo(30, 0).to_dimod(), num_sweeps=10**6, interrupt_function=lambda: True
    )
    assert found.info["stop"] == "INTERRUPTED"


def test_bad_parameters_are_refused() -> None:
    model = random_qubo(3, 0).to_dimod()
    with pytest.raises(RangeError, match="beta_range must be"):
        AnnealingSampler().sample(model, beta_range=(2.0, 1.0))
    with pytest.raises(RangeError, match="beta_schedule_type must be 'geometric'"):
        AnnealingSampler().sample(model, beta_schedule_type="linear")
    with pytest.raises(RangeError, match="num_reads must be at least 1; got 0"):
        AnnealingSampler().sample(model, num_reads=0)


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


class Recorder(dimod.NullSampler):  # type: ignore[misc]
    """Notes what it is asked; asks the interrupt function once; answers with the all-zero state."""

    def __init__(self, *names: str) -> None:
        self.parameters: dict[str, Any] = {name: [] for name in names}
        self.asked: dict[str, Any] = {}
        self.was_told_to_stop = False

    def sample(self, bqm: Any, **asked: Any) -> dimod.SampleSet:
        self.asked = asked
        self.was_told_to_stop = asked.get("interrupt_function", bool)()
        return dimod.SampleSet.from_samples_bqm(dict.fromkeys(bqm.variables, 0), bqm)


@pytest.mark.parametrize(
    ("theirs", "ours", "used"), [(9.0, 5.0, 5.0), (2.0, 5.0, 2.0), (None, 5.0, 5.0)]
)
def test_the_shorter_of_two_time_limits_holds(
    theirs: float | None, ours: float, used: float
) -> None:
    sampler = Recorder("time_limit", "timeout", "num_reads")
    milliseconds = None if theirs is None else int(1000 * theirs)
    given = {"time_limit": theirs, "timeout": milliseconds, "num_reads": 1}
    qn.DimodSolver(sampler, given).sample(random_qubo(3, 0), time_limit=ours)
    assert sampler.asked["time_limit"] == used
    assert sampler.asked["timeout"] == 1000 * used


def test_the_users_interrupt_function_is_asked_too() -> None:
    asked: list[int] = []
    sampler = Recorder("interrupt_function")
    solver = qn.DimodSolver(sampler, {"interrupt_function": lambda: asked.append(1)})
    assert solver.sample(random_qubo(3, 0)).stop is qn.Stop.FINISHED
    assert (asked, sampler.was_told_to_stop) == ([1], False)
    assert solver.sample(random_qubo(3, 0), time_limit=1e-9).stop is qn.Stop.TIME_LIMIT
    assert sampler.was_told_to_stop
    stopping = qn.DimodSolver(sampler, {"interrupt_function": lambda: True})
    assert stopping.sample(random_qubo(3, 0)).stop is qn.Stop.INTERRUPTED


def test_stop_says_whether_the_target_or_the_clock_came_first() -> None:
    solver = qn.DimodSolver(Recorder())
    qubo = random_qubo(3, 0)  # all zeros have its offset, 1
    assert solver.sample(qubo, target_energy=1).stop is qn.Stop.TARGET
    assert solver.sample(qubo, target_energy=0).stop is qn.Stop.FINISHED
    assert solver.sample(qubo, target_energy=0, time_limit=1e-9).stop is qn.Stop.TIME_LIMIT


def test_reports_come_with_an_energy_or_not_at_all() -> None:
    samplers = pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
    seen: list[float] = []
    samples = qn.DimodSolver(samplers.SimulatedAnnealingSampler(), {"num_reads": 5}).sample(
        random_qubo(10, 0), report=lambda progress: seen.append(progress.best_energy)
    )
    assert seen == [samples.best_energy]


def test_openjij_reports_the_best_so_far() -> None:
    openjij = pytest.importorskip("openjij", reason="openjij is not installed")
    seen: list[float] = []
    solver = qn.DimodSolver(openjij.SASampler(), {"num_reads": 20, "num_sweeps": 1})
    samples = solver.sample(
        random_qubo(30, 0), report=lambda progress: seen.append(progress.best_energy)
    )
    assert len(seen) == 20
    assert seen == sorted(seen, reverse=True)
    assert seen[-1] == samples.best_energy
    with pytest.raises(RangeError, match="num_reads must be at least 1"):
        qn.DimodSolver(openjij.SASampler(), {"num_reads": 0}).sample(random_qubo(3, 0))


def test_a_seed_among_the_parameters_is_refused() -> None:
    with pytest.raises(RangeError, match=r"must not hold a seed; .* sample\(qubo, seed="):
        qn.DimodSolver(Recorder("seed"), {"seed": 3})


INTERRUPTED_RUNS = {
    "asked between reads": """
        from dwave.samplers import SimulatedAnnealingSampler
        say = lambda: print("on", flush=True)
        limits = {"num_reads": 10**6, "num_sweeps": 10**4, "interrupt_function": say}
        solver = qn.DimodSolver(SimulatedAnnealingSampler(), limits)
    """,
    "never asked": """
        import time
        from dimod import RandomSampler
        class Slow(RandomSampler):
            def sample(self, bqm, **parameters):
                print("on", flush=True)
                time.sleep(1)
                return super().sample(bqm, **parameters)
        solver = qn.DimodSolver(Slow(), {"num_reads": 3})
    """,
}


@pytest.mark.skipif(os.name != "posix", reason="sends a POSIX signal")
@pytest.mark.parametrize("kind", INTERRUPTED_RUNS)
def test_ctrl_c_returns_what_the_dimod_sampler_found(kind: str) -> None:
    pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
    program = f"""
import signal
import qubonn as qn
from qubonn.testing.sampler_contract import random_qubo
{textwrap.dedent(INTERRUPTED_RUNS[kind])}
samples = solver.sample(random_qubo(60, 0))
print(samples.stop.name, 1 <= len(samples) < 10**6)
print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)
"""
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        process.send_signal(signal.SIGINT)
        try:
            output, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    assert output.splitlines()[-2:] == ["INTERRUPTED True", "True"]
    assert process.returncode == 0


def test_a_dimod_sampler_trains_as_it_is() -> None:
    samplers = pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
    problem = qn.TrainingProblem(qn.Topology.dense(3, 1), [[1, 1, 1], [-1, -1, 1]], [[1], [-1]])
    result = qn.train(problem, samplers.SimulatedAnnealingSampler(), seed=1)
    assert result.is_feasible
    assert result.solver == "SimulatedAnnealingSampler, as asked"
    assert qn.train(problem, AnnealingSampler(), seed=1).is_feasible
