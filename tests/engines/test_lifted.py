"""LiftedAnnealing: what it finds, and what it refuses."""

from typing import Any

import numpy as np
import pytest

import qubonn as qn
from formulation.test_enumeration import TINY
from qubonn.engines import LiftedAnnealing
from qubonn.engines.lifted import LiftedRun
from qubonn.errors import RangeError, TopologyError
from reference import all_networks, is_feasible


def letters_problem(number: int, **strengths: float) -> qn.TrainingProblem:
    letters = qn.datasets.letters(seed=0)
    return qn.TrainingProblem(
        qn.paper.topology(number),
        letters.train_inputs,
        letters.train_outputs,
        **strengths,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("seed", range(3))
def test_tiny_problems_are_solved_exactly_when_they_are_feasible(name: str, seed: int) -> None:
    topology, inputs = TINY[name]
    outputs = np.random.default_rng(seed).choice([-1, 1], (len(inputs), topology.output_count))
    problem = qn.TrainingProblem(topology, inputs, outputs)
    found = LiftedAnnealing(replica_count=32, sweep_count=60).solve(problem)
    exists = any(is_feasible(problem, network) for network in all_networks(topology))
    assert (found.energies[0] == 0) == exists
    if exists:
        assert is_feasible(problem, found.network())


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 5, 6, 7, 10, 11, 12, 13, 14, 15, 16, 17])
def test_all_feasible_networks_of_the_paper_are_trained(number: int) -> None:
    problem = letters_problem(number)
    found = LiftedAnnealing().solve(problem, seed=1)
    assert found.energies[0] == 0
    assert (found.energies == 0).mean() > 0.5
    assert problem.certify(found.network()).is_feasible


@pytest.mark.parametrize(("number", "optimum"), [(8, 2), (9, 1)])
def test_infeasible_networks_reach_their_proved_optimum(number: int, optimum: int) -> None:
    assert LiftedAnnealing().solve(letters_problem(number)).energies[0] == optimum


@pytest.mark.parametrize(("number", "largest"), [(5, 118), (10, 150), (12, 262)])
def test_the_largest_known_margins_are_found(number: int, largest: int) -> None:
    problem = letters_problem(number, margin_strength=0.02)
    best = 0
    for seed in range(10):
        found = LiftedAnnealing().solve(problem, seed=seed)
        for replica in range(len(found)):
            certificate = problem.certify(found.network(replica))
            if certificate.is_feasible:
                best = max(best, certificate.margins.s2)
    assert best >= largest


@pytest.mark.parametrize("replica_count", [1, 40, 150])
def test_the_result_does_not_depend_on_the_number_of_threads(replica_count: int) -> None:
    problem = letters_problem(5)
    one, two = (
        LiftedAnnealing(replica_count=replica_count, sweep_count=20, thread_count=threads).solve(
            problem, seed=7
        )
        for threads in (1, 2)
    )
    assert np.array_equal(one.weight_spins, two.weight_spins)
    assert np.array_equal(one.bias_spins, two.bias_spins)


def test_a_target_a_time_limit_and_a_report_stop_the_run() -> None:
    problem = letters_problem(10)
    long = LiftedAnnealing(sweep_count=10**6)
    assert long.solve(problem, target_energy=0).stop is qn.Stop.TARGET
    limited = LiftedAnnealing(sweep_count=10**6).solve(letters_problem(8), time_limit=0.2)
    assert limited.stop is qn.Stop.TIME_LIMIT
    assert limited.info["seconds"] < 2
    assert long.solve(problem, report=lambda _: True).stop is qn.Stop.INTERRUPTED


def test_an_interrupt_before_the_first_sweep_returns_true_energies(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(self: LiftedRun) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(LiftedRun, "temperatures", interrupted)
    problem = letters_problem(10)
    found = LiftedAnnealing(replica_count=20).solve(problem)
    assert found.stop is qn.Stop.INTERRUPTED
    for replica, energy in enumerate(found.energies):
        certificate = problem.certify(found.network(replica), found.activation_spins[replica])
        assert certificate.terms.total == energy


def test_a_warm_start_keeps_a_solution_when_nothing_is_hot() -> None:
    problem = letters_problem(12)
    solved = LiftedAnnealing().solve(problem).network()
    cold = LiftedAnnealing(replica_count=20, sweep_count=5, hottest=1e-6, coldest=1e-6)
    again = cold.solve(problem, initial_networks=[solved])
    assert again.energies[0] == 0
    with pytest.raises(TopologyError, match="the problem's topology"):
        cold.solve(
            problem, initial_networks=[qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)]
        )


def test_a_field_pulls_free_parameters_to_its_side() -> None:
    topology = qn.Topology.dense(3, 1)
    field = qn.Field(np.array([1, -2, 3]), np.array([-1]))
    problem = qn.TrainingProblem(topology, [[1, 1, 1]], [[1]], field=field, output_strength=0)
    found = LiftedAnnealing(replica_count=32).solve(problem)
    assert found.weight_spins[0].tolist() == [1, -1, 1]
    assert found.bias_spins[0].tolist() == [-1]
    assert found.energies[0] == problem.certify(found.network()).terms.total == -7


@pytest.mark.parametrize("decay_strength", [0.125, 1])
def test_weights_decay_as_far_as_the_qubo_allows(decay_strength: float) -> None:
    topology = qn.Topology.dense(2, 1, weight_levels=4)
    inputs, outputs = [[1, 1], [1, -1], [-1, -1]], [[1], [-1], [-1]]
    problem = qn.TrainingProblem(topology, inputs, outputs, decay_strength=decay_strength)
    found = LiftedAnnealing(replica_count=32, sweep_count=60).solve(problem)
    assert found.energies[0] == qn.Exhaustive().sample(problem.qubo()).energies[0]
    assert problem.certify(found.network()).terms.total == found.energies[0]


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"replica_count": 0}, "replica_count must be at least 1"),
        ({"hottest": 0.0}, "hottest must be a positive factor"),
        ({"coldest": float("nan")}, "coldest must be a positive factor"),
        ({"violation": "cubic"}, "violation must be 'squared' or 'linear'"),
    ],
)
def test_bad_settings_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(RangeError, match=message):
        LiftedAnnealing(**bad)


FRACTIONS: dict[str, Any] = {
    "margins": {"margin_strength": 0.01},
    "margins and outputs": {"margin_strength": 0.03, "output_strength": 1.7},
    "decay": {"margin_strength": 0.1, "decay_strength": 0.07},
    "weights": {"margin_strength": 0.01, "example_weights": [1, 2, 3, 1, 1, 4, 1, 2]},
}


def with_fractions(name: str, seed: int) -> qn.TrainingProblem:
    generator = np.random.default_rng(seed)
    levels = 3 if name == "decay" else 2
    topology = qn.Topology.dense(10, 3, 2, weight_levels=levels)
    spins = generator.choice([-1, 1], size=(8, 12))
    field = qn.Field(
        generator.normal(size=topology.weight_count), generator.normal(size=topology.neuron_count)
    )
    return qn.TrainingProblem(
        topology, spins[:, :10], spins[:, 10:], field=field, **FRACTIONS[name]
    )


@pytest.mark.parametrize("name", FRACTIONS)
@pytest.mark.parametrize("limit", [None, 1e-4])
def test_energies_of_fractional_strengths_are_those_of_certificates(
    name: str, limit: float | None
) -> None:
    problem = with_fractions(name, seed=1)
    found = qn.LiftedAnnealing(replica_count=40).solve(problem, seed=0, time_limit=limit)
    for row, energy in enumerate(found.energies):
        network, activations = found.network(row), found.activation_spins[row]
        assert energy == pytest.approx(problem.certify(network, activations).terms.total, abs=1e-9)
    assert (np.diff(found.energies) >= 0).all()


def test_the_energy_of_a_margin_reward_is_not_rounded() -> None:
    generator = np.random.default_rng(0)
    inputs, outputs = generator.choice([-1, 1], (8, 10)), generator.choice([-1, 1], (8, 2))
    problem = qn.TrainingProblem(qn.Topology.dense(10, 3, 2), inputs, outputs, margin_strength=0.01)
    result = qn.train(problem, qn.LiftedAnnealing(), seed=0)
    assert result.energies[0] == result.terms.total == -1.24
