"""The OpenCL kernel on any device there is; PoCL runs on the CPU."""

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import RangeError
from qubonn.samplers.replicas import PackedQubo, Replicas, random_states
from qubonn.testing.sampler_contract import random_qubo


def letters_qubo() -> qn.Qubo:
    letters = qn.datasets.letters(seed=0)
    return qn.TrainingProblem(
        qn.paper.topology(8), letters.train_inputs, letters.train_outputs
    ).qubo()


@pytest.fixture
def _device() -> None:
    opencl = pytest.importorskip("pyopencl", reason="needs pyopencl")
    try:
        assert opencl.get_platforms()
    except Exception:
        pytest.skip("no driver for OpenCL")
    try:
        PackedQubo(qn.Qubo.of([], [], [], variable_count=1), device="gpu")
    except RangeError as error:
        pytest.skip(str(error))


@pytest.mark.usefixtures("_device")
@pytest.mark.parametrize(
    "qubo",
    [
        letters_qubo(),
        random_qubo(70, 1),
        random_qubo(30, 2, whole=False),
        qn.Qubo.of([0, 1, 0], [0, 1, 1], [40_000, -70_000, 3], variable_count=2),
        qn.Qubo.of([], [], [], variable_count=3),
    ],
    ids=["letters", "dense", "fractions", "wide", "flat"],
)
def test_states_and_energies_are_those_of_the_cpu(qubo: qn.Qubo) -> None:
    temperatures = np.geomspace(50, 0.1, 30)
    states = random_states(qubo, 40, seed=1)
    cpu, gpu = (
        Replicas(PackedQubo(qubo, device=device), states, seed=1) for device in ("cpu", "gpu")
    )
    for replicas in (cpu, gpu):
        replicas.advance(temperatures[:11])
        replicas.advance(temperatures[11:])
        replicas.descend()
    assert np.array_equal(cpu.states(), gpu.states())
    assert np.array_equal(cpu.energies, gpu.energies)


@pytest.mark.usefixtures("_device")
@pytest.mark.parametrize("annealer", [qn.SimulatedAnnealing, qn.PopulationAnnealing])
def test_annealers_give_the_same_samples_on_a_device(
    annealer: type[qn.SimulatedAnnealing],
) -> None:
    qubo = letters_qubo()
    cpu, gpu = (
        annealer(replica_count=50, sweep_count=60, device=device).sample(qubo, seed=3)
        for device in ("cpu", "gpu")
    )
    assert np.array_equal(cpu.bits, gpu.bits)
    assert gpu.info["device"]
    limited = annealer(replica_count=50, sweep_count=10**6, device="gpu")
    samples = limited.sample(qubo, time_limit=0.5)
    assert samples.stop is qn.Stop.TIME_LIMIT
    assert samples.info["seconds"] < 2


def test_a_device_must_be_known() -> None:
    with pytest.raises(RangeError, match="device must be 'cpu' or 'gpu'; got 'tpu'"):
        qn.SimulatedAnnealing(device="tpu")  # type: ignore[arg-type]
