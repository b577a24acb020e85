"""EngineContract: the requirements on every engine, as a test class to inherit.

    class TestMyEngine(EngineContract):
        def make_engine(self):
            return MyEngine()

Plain asserts, so any test runner that collects classes will do.
"""

from dataclasses import replace
from typing import Any, ClassVar
from unittest import SkipTest

import numpy as np

from qubonn.engines import Engine, Solutions
from qubonn.errors import QubonnError
from qubonn.formulation import TrainingProblem
from qubonn.formulation.assignment import Assignment
from qubonn.formulation.variables import Variables
from qubonn.network import BinaryNetwork
from qubonn.quadratic import Hamiltonian
from qubonn.samplers import Exhaustive
from qubonn.testing.stopping_contract import StoppingContract
from qubonn.topology import Topology


class EngineContract(StoppingContract):
    """Inherit, return your engine from `make_engine`, and switch off what it does not support."""

    has_own_energies = False  # instead of the total H; 0 or less still means feasible
    result, target_energy = "weight_spins", 0

    def make_engine(self) -> Engine:
        """Return the engine under test, small enough to finish in a second or so."""
        raise NotImplementedError

    def make_long_engine(self) -> Engine | None:
        """Return it with minutes of work, or None if it has no such setting."""
        return None

    def require_sound(self, found: Solutions) -> None:
        """Assert that shapes fit the problem and that energies rise and belong to the networks."""
        topology, count = found.problem.topology, len(found)
        assert found.weight_spins.shape == (count, topology.weight_count)
        assert found.bias_spins.shape == (count, topology.neuron_count)
        assert count >= 1
        assert (np.diff(found.energies) >= 0).all()
        if not self.has_own_energies:
            for number, energy in enumerate(found.energies):
                activations = found.activation_spins[number]
                certificate = found.problem.certify(found.network(number), activations)
                assert np.isclose(energy, certificate.terms.total, rtol=1e-6)

    def test_it_is_an_engine(self) -> None:
        assert isinstance(self.make_engine(), Engine)

    def test_it_returns_networks_with_their_energies_best_first(self) -> None:
        for problem in (
            planted_problem(Topology.dense(4, 3, 2), 1),
            planted_problem(Topology.dense(4, 3, 2), 2, margin_strength=0.125),
        ):
            self.require_sound(self.make_engine().solve(problem, seed=3))

    def test_it_repeats_itself_for_the_same_seed(self) -> None:
        if self.has_seed:
            problem = planted_problem(Topology.dense(4, 3, 2), 3)
            first, second = (self.make_engine().solve(problem, seed=5) for _ in range(2))
            assert np.array_equal(first.weight_spins, second.weight_spins)
            assert np.array_equal(first.bias_spins, second.bias_spins)

    def test_it_finds_a_network_where_one_exists(self) -> None:
        for seed in range(3):
            problem = planted_problem(Topology.dense(4, 3, 1), seed)
            network = self.make_engine().solve(problem, seed=0).network()
            assert problem.certify(network).is_feasible

    def test_it_reaches_the_energy_that_enumeration_proves(self) -> None:
        """XOR without hidden neurons is infeasible: the lowest energy is known by enumeration."""
        problem = TrainingProblem(Topology.dense(2, 1), XOR, [[-1], [1], [1], [-1]])
        found = self.make_engine().solve(problem, seed=0)
        self.require_sound(found)
        if not self.has_own_energies:
            assert found.energies[0] == Exhaustive().sample(problem.qubo()).best_energy

    def test_it_accepts_a_problem_without_hidden_neurons(self) -> None:
        problem = planted_problem(Topology.dense(5, 2), 4)
        found = self.make_engine().solve(problem, seed=0)
        self.require_sound(found)
        assert problem.certify(found.network()).is_feasible

    def test_it_refuses_a_term_that_it_does_not_support(self) -> None:
        """The error names the term; an engine without `supported_terms` supports them all."""
        problem = replace(planted_problem(Topology.dense(4, 3, 1), 9), extra_terms=[WeightPrice()])
        engine = self.make_engine()
        if not hasattr(engine, "supported_terms"):
            self.require_sound(engine.solve(problem, seed=0))
            return
        try:
            engine.solve(problem, seed=0)
        except QubonnError as error:
            assert WeightPrice.name in str(error)  # noqa: PT017 - works without pytest
        else:
            raise AssertionError(f"{WeightPrice.name!r} is no term of {engine.supported_terms}")

    def run_long(self, **options: Any) -> Solutions:
        """Solve a small problem with minutes of work and check the networks."""
        engine = self.make_long_engine()
        if engine is None:
            raise SkipTest("make_long_engine returns None")
        found = engine.solve(planted_problem(Topology.dense(4, 3, 1), 6), **options)
        self.require_sound(found)
        return found


class WeightPrice:
    """A term that no engine of the package has: each weight of +1 costs 1."""

    name: ClassVar[str] = "weight_price"
    sign: ClassVar[int] = 1
    strength: float = 1

    def hamiltonian(self, variables: Variables) -> Hamiltonian:
        """Return the sum of the weight bits."""
        return Hamiltonian.linear(variables.weight_variables, 1)

    def evaluate(self, variables: Variables, assignment: Assignment) -> int:
        """Return the number of weights of +1."""
        return int((assignment.network.weight_spins > 0).sum())


XOR = [[-1, -1], [-1, 1], [1, -1], [1, 1]]


def planted_problem(
    topology: Topology, seed: int, *, margin_strength: float = 0
) -> TrainingProblem:
    """Return six random examples with the outputs of a random network: a feasible problem."""
    inputs = np.random.default_rng(seed).choice([-1, 1], size=(6, topology.column_count))
    outputs = BinaryNetwork.random(topology, seed=seed).predict_outputs(inputs)
    return TrainingProblem(topology, inputs, outputs, margin_strength=margin_strength)
