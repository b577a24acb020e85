import sys
import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from formulation.test_enumeration import TINY
from qubonn.engines import ExactResult, Proof
from qubonn.errors import RangeError
from qubonn.testing.engine_contract import WeightPrice
from reference import all_networks, is_feasible

pytest.importorskip("ortools", reason="CpSat needs ortools")


def tiny_problem(name: str, seed: int, output_strength: float | None = None) -> qn.TrainingProblem:
    topology, inputs = TINY[name]
    outputs = np.random.default_rng(seed).choice([-1, 1], (len(inputs), topology.output_count))
    return qn.TrainingProblem(topology, inputs, outputs, output_strength=output_strength)


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("seed", range(4))
def test_feasible_and_infeasible_are_proved_as_enumeration_says(name: str, seed: int) -> None:
    problem = tiny_problem(name, seed)
    result = qn.CpSat().find_feasible(problem)
    exists = any(is_feasible(problem, network) for network in all_networks(problem.topology))
    assert result.proof is (Proof.OPTIMAL if exists else Proof.INFEASIBLE)
    if result.network is not None:
        assert is_feasible(problem, result.network)
        assert problem.certify(result.network, result.activations).is_feasible


@pytest.mark.parametrize("name", ["one neuron", "hidden neuron", "shared weight", "skip"])
@pytest.mark.parametrize("seed", range(4))
def test_the_fewest_violations_are_those_of_the_best_network(name: str, seed: int) -> None:
    problem = tiny_problem(name, seed)
    result = qn.CpSat().fewest_violations(problem)
    assert result.proof is Proof.OPTIMAL
    lowest = qn.Exhaustive(state_count=2**12).sample(problem.qubo())
    fewest = min(problem.violations(bits).count for bits in lowest.bits)
    assert result.value == result.bound == fewest
    assert result.network is not None
    assert problem.certify(result.network, result.activations).violations.count == fewest


@pytest.mark.parametrize("name", ["one neuron", "hidden neuron", "shared weight", "parallel arcs"])
@pytest.mark.parametrize("seed", range(4))
def test_the_largest_margin_is_that_of_the_best_feasible_network(name: str, seed: int) -> None:
    problem = tiny_problem(name, seed)
    result = qn.CpSat().largest_margin(problem)
    feasible = [net for net in all_networks(problem.topology) if is_feasible(problem, net)]
    if not feasible:
        assert result.proof is Proof.INFEASIBLE
        return
    assert result.value == max(net.margins(problem.input_spins).s2 for net in feasible)


@pytest.mark.parametrize("question", ["find_feasible", "fewest_violations", "largest_margin"])
def test_terms_that_it_cannot_weigh_are_refused_by_name(question: str) -> None:
    plain = tiny_problem("one neuron", seed=0)
    ask = getattr(qn.CpSat(), question)
    with pytest.raises(RangeError, match=r"CpSat supports .*; the problem also has 'weight_price'"):
        ask(replace(plain, extra_terms=[WeightPrice()]))
    topology = plain.topology
    field = qn.Field(np.ones(topology.weight_count), np.zeros(topology.neuron_count))
    with pytest.raises(RangeError, match="the problem also has 'field'"):
        ask(replace(plain, field=field))
    with pytest.raises(RangeError, match="the problem also has 'decay'"):
        ask(replace(plain, decay_strength=1))


def test_free_outputs_cost_one_violation_each() -> None:
    assert qn.CpSat().fewest_violations(contradiction(output_strength=1)).value == 1


@pytest.mark.parametrize(("number", "fewest"), [(8, 2), (9, 1)])
def test_networks_8_and_9_are_proved_infeasible_with_their_least_violations(
    number: int, fewest: int
) -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(
        qn.paper.topology(number), letters.train_inputs, letters.train_outputs
    )
    assert qn.CpSat().find_feasible(problem).proof is Proof.INFEASIBLE
    result = qn.CpSat().fewest_violations(problem)
    assert (result.proof, result.value) == (Proof.OPTIMAL, fewest)


@pytest.mark.parametrize("number", [0, 1, 2, 3, 4, 5, 6, 7, 10, 17])
def test_networks_that_the_paper_could_not_always_train_are_feasible(number: int) -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(
        qn.paper.topology(number), letters.train_inputs, letters.train_outputs
    )
    result = qn.CpSat().find_feasible(problem, time_limit=60)
    assert result.network is not None
    assert problem.certify(result.network).is_feasible
    assert problem.qubo().energy(problem.encode(result.network)) == 0


def test_a_time_limit_gives_bounds() -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(qn.paper.topology(12), letters.train_inputs, letters.train_outputs)
    result = qn.CpSat().largest_margin(problem, time_limit=1.0)
    assert result.proof in (Proof.FEASIBLE, Proof.OPTIMAL)
    assert result.value is not None
    assert result.bound is not None
    assert result.value <= result.bound


@pytest.mark.parametrize("limit", [-1, 0, "soon", float("nan"), True])
def test_a_time_limit_must_be_a_positive_number(limit: Any) -> None:
    problem = qn.TrainingProblem(qn.Topology.dense(1, 1), [[1]], [[1]])
    with pytest.raises(RangeError, match="time_limit must be a positive number"):
        qn.CpSat().find_feasible(problem, time_limit=limit)


def test_without_a_network_no_bound_is_claimed() -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(qn.paper.topology(12), letters.train_inputs, letters.train_outputs)
    result = qn.CpSat().largest_margin(problem, time_limit=1e-3)
    assert (result.proof, result.value, result.bound) == (Proof.UNKNOWN, None, None)
    assert repr(result).startswith("ExactResult(UNKNOWN, value=None, bound=None, ")
    assert qn.CpSat().find_feasible(contradiction()).bound is None
    assert "bound=1," in repr(qn.CpSat().fewest_violations(contradiction(output_strength=1)))


@pytest.mark.parametrize("name", ["one neuron", "hidden neuron", "shared weight", "skip"])
@pytest.mark.parametrize("seed", range(4))
def test_free_outputs_must_be_given_as_fixed_ones_are(name: str, seed: int) -> None:
    fixed, free = tiny_problem(name, seed), tiny_problem(name, seed, output_strength=1)
    assert qn.CpSat().find_feasible(free).proof is qn.CpSat().find_feasible(fixed).proof
    found, wanted = qn.CpSat().largest_margin(free), qn.CpSat().largest_margin(fixed)
    assert (found.proof, found.value) == (wanted.proof, wanted.value)


def test_free_outputs_that_contradict_each_other_are_infeasible() -> None:
    problem = contradiction(output_strength=1)
    assert qn.CpSat().find_feasible(problem).proof is Proof.INFEASIBLE
    assert qn.CpSat().largest_margin(problem).proof is Proof.INFEASIBLE


def test_training_allows_violations_where_free_outputs_cannot_be_given() -> None:
    result = qn.train(contradiction(output_strength=1), qn.CpSat())
    assert result.info["proof"] is Proof.OPTIMAL
    assert result.stop is qn.Stop.FINISHED
    assert result.energies.tolist() == [1]


def test_training_has_one_time_limit_for_both_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def ask(self: Any, problem: Any, *, seed: int, time_limit: float) -> ExactResult:
        limits.append(time_limit)
        time.sleep(time_limit)
        return ExactResult(Proof.UNKNOWN, None, None, None, None, time_limit)

    monkeypatch.setattr(qn.CpSat, "find_feasible", ask)
    monkeypatch.setattr(qn.CpSat, "fewest_violations", ask)
    with pytest.raises(qn.QubonnError, match="no network within the time limit"):
        qn.train(contradiction(), qn.CpSat(), time_limit=0.2)
    assert len(limits) == 2
    assert sum(limits) <= 0.2


def test_training_stopped_by_the_clock_says_so() -> None:
    letters = qn.datasets.letters(seed=0)
    topology = qn.paper.topology(12)
    problem = qn.TrainingProblem(
        topology, letters.train_inputs, letters.train_outputs, margin_strength=0.1
    )
    result = qn.train(problem, qn.CpSat(), time_limit=1.5)
    assert result.stop is qn.Stop.TIME_LIMIT
    assert result.info["proof"] is Proof.FEASIBLE


def test_energies_of_an_engine_with_linear_violations_are_those_of_the_hamiltonian() -> None:
    generator = np.random.default_rng(0)
    inputs, outputs = generator.choice([-1, 1], (40, 9)), generator.choice([-1, 1], (40, 1))
    problem = qn.TrainingProblem(qn.Topology.dense(9, 1), inputs, outputs)
    engine = qn.LiftedAnnealing(replica_count=64, sweep_count=2, violation="linear")
    result = qn.train(problem, engine)
    assert result.energies.tolist() == [one.terms.total for one in result.certificates]
    assert (np.diff(result.energies) >= 0).all()
    assert result.energies[0] > engine.solve(problem).energies[0]


def contradiction(output_strength: float | None = None) -> qn.TrainingProblem:
    """One input, two labels."""
    topology = qn.Topology.dense(1, 1)
    return qn.TrainingProblem(topology, [[1], [1]], [[1], [-1]], output_strength=output_strength)


def test_without_ortools_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    problem = qn.TrainingProblem(qn.Topology.dense(1, 1), [[1]], [[1]])
    with pytest.raises(ImportError, match=r"pip install 'qubonn\[exact\]'"):
        qn.CpSat().find_feasible(problem)
