import numpy as np
import pytest

import qubonn as qn
from qubonn.samplers.replicas import Replicas, random_states
from qubonn.testing.sampler_contract import random_qubo


def test_the_first_replicas_do_not_change_when_replicas_are_added() -> None:
    qubo = random_qubo(30, 0)
    few, many = (
        qn.SimulatedAnnealing(replica_count=count, sweep_count=20).sample(
            qubo, seed=2, initial_states=np.zeros((count, 30))
        )
        for count in (10, 100)
    )
    assert {row.tobytes() for row in few.bits} <= {row.tobytes() for row in many.bits}


def test_energies_are_those_of_the_states_and_slices_change_nothing() -> None:
    qubo = random_qubo(20, 0)
    temperatures = np.geomspace(5, 0.1, 30)
    whole, cut = (Replicas(qubo, random_states(qubo, 40, seed=1), seed=1) for _ in range(2))
    whole.advance(temperatures)
    for part in np.array_split(temperatures, 4):
        cut.advance(part)
    assert whole.sweep == cut.sweep == 30
    assert np.array_equal(whole.states(), cut.states())
    assert np.array_equal(whole.energies, qubo.energy(whole.states()))
    assert whole.best_energy() == whole.energies.min()


@pytest.mark.parametrize("lanes", [16, 32, 64])
def test_copied_replicas_have_the_states_of_their_sources(lanes: int) -> None:
    qubo = random_qubo(20, 0)
    replicas = Replicas(qubo, random_states(qubo, 20, seed=1), seed=1, lanes=lanes)
    before = replicas.states()
    sources = np.arange(20) // 2
    replicas.copy_from(sources)
    assert np.array_equal(replicas.states(), before[sources])


def test_the_best_state_seen_is_returned_after_an_early_stop() -> None:
    qubo = random_qubo(20, 0)
    replicas = Replicas(qubo, random_states(qubo, 10, seed=1), seed=1)
    replicas.advance(np.geomspace(5, 0.1, 50))
    lowest = replicas.best_energy()
    replicas.advance(np.full(5, 1e6))
    samples = replicas.samples(10, qn.Stop.TIME_LIMIT, {})
    assert (samples.best_energy, len(samples)) == (lowest, 10)
    assert np.array_equal(samples.energies, qubo.energy(samples.bits))
    assert len(replicas.samples(25, qn.Stop.FINISHED, {})) == 25
