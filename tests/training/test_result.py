"""Distinct networks, their order by true energy, and committees of them."""

import numpy as np
import pytest

import qubonn as qn
from qubonn.engines import Solutions
from qubonn.training.result import unsatisfied_count

XOR = np.array([[-1, -1], [-1, 1], [1, -1], [1, 1]])
PROBLEM = qn.TrainingProblem(qn.Topology.dense(2, 2, 1), XOR, [[-1], [1], [1], [-1]])


def networks(count: int) -> list[qn.BinaryNetwork]:
    return [qn.BinaryNetwork.random(PROBLEM.topology, seed=seed) for seed in range(count)]


def test_each_network_of_a_run_is_kept_once_in_its_order() -> None:
    first, second = networks(2)
    rows = [first, second, first, second, second]
    found = Solutions(
        PROBLEM,
        np.stack([one.weight_spins for one in rows]),
        np.stack([one.bias_spins for one in rows]),
        np.stack([PROBLEM.assignment(one).activation_spins for one in rows]),
        np.array([5.0, 4.0, 3.0, 2.0, 1.0]),
    )
    result = qn.TrainingResult.of(found, "test")
    assert result.networks == (first, second)
    assert result.energies.tolist() == [5, 4]
    assert len(result.activations) == 2


def test_networks_from_elsewhere_are_ordered_by_true_energy() -> None:
    result = qn.TrainingResult.of_networks(PROBLEM, networks(30) * 2, "test")
    totals = [float(one.terms.total) for one in result.certificates]
    assert result.energies.tolist() == totals == sorted(totals)
    assert len(set(result.networks)) == len(result.networks) <= 30


@pytest.mark.parametrize("strength", [0, 0.5])
def test_fewest_violations_may_come_first(strength: float) -> None:
    problem = qn.TrainingProblem(
        PROBLEM.topology, XOR, PROBLEM.output_spins, margin_strength=strength
    )
    result = qn.TrainingResult.of_networks(
        problem, networks(30), "test", fewest_violations_first=True
    )
    ranks = [(unsatisfied_count(one), float(one.terms.total)) for one in result.certificates]
    assert ranks == sorted(ranks)


def test_networks_of_equal_energy_stay_in_their_order() -> None:
    result = qn.TrainingResult.of_networks(PROBLEM, networks(30), "test")
    again = result.by_true_energy()
    assert again.networks == result.networks
    place = {network: number for number, network in enumerate(networks(30))}
    pairs = [
        (energy, place[one]) for energy, one in zip(result.energies, result.networks, strict=True)
    ]
    assert pairs == sorted(pairs)
