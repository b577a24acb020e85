from typing import Any

import dimod
import numpy as np
import pytest
from sklearn.datasets import load_digits, load_iris

import qubonn as qn
from qubonn.engines import Engine
from qubonn.errors import RangeError
from qubonn.quadratic import Samples
from qubonn.testing import EngineContract
from qubonn.testing.engine_contract import planted_problem
from qubonn.training import BlockDecomposition
from qubonn.training.decomposition import _following, _free_variables, _Run

LETTERS = qn.datasets.letters(seed=0)
NETWORK_10 = qn.TrainingProblem(qn.paper.topology(10), LETTERS.train_inputs, LETTERS.train_outputs)


class Recording:
    """A sampler that notes the sizes of the QUBOs that it gets."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.sampler = qn.SimulatedAnnealing(replica_count=32, sweep_count=300)

    def sample(self, qubo: qn.Qubo, **options: Any) -> Samples:
        self.sizes.append(qubo.variable_count)
        return self.sampler.sample(qubo, **options)


class TestContract(EngineContract):
    def make_engine(self) -> Engine:
        sampler = qn.SimulatedAnnealing(replica_count=8, sweep_count=50)
        return BlockDecomposition(sampler=sampler, variable_limit=80, block_count=20)

    def make_long_engine(self) -> Engine:
        sampler = qn.SimulatedAnnealing(replica_count=16, sweep_count=100)
        return BlockDecomposition(sampler=sampler, variable_limit=80, block_count=10**6)


def test_blocks_of_64_variables_train_network_10() -> None:
    sampler = Recording()
    engine = BlockDecomposition(sampler=sampler, variable_limit=64)
    found = engine.solve(NETWORK_10, seed=0, target_energy=0)
    assert NETWORK_10.variables.count == 186
    assert NETWORK_10.certify(found.network()).is_feasible
    assert max(sampler.sizes) <= 64


def test_blocks_of_64_variables_train_nine_examples_of_iris() -> None:
    rows, (X, y) = [15, 25, 37, 58, 86, 95, 103, 124, 140], load_iris(return_X_y=True)
    problem = qn.pose(X[rows], y[rows], binariser=2, hidden=2).problem
    sampler = Recording()
    engine = BlockDecomposition(sampler=sampler, variable_limit=64)
    assert problem.variables.count == 150
    assert qn.train(problem, engine, target_energy=0).is_feasible
    assert max(sampler.sizes) <= 64


def test_the_qubo_of_a_block_has_the_energy_of_the_whole_problem() -> None:
    problem = planted_problem(qn.Topology.dense(4, 2, 2, 1), 0, margin_strength=0.125)
    network = qn.BinaryNetwork.random(problem.topology, seed=1)
    bits, generator = problem.encode(network), np.random.default_rng(0)
    for neuron, is_changed in enumerate(_following(problem)):
        own = problem.topology.weight_of[problem.topology.target_of == neuron + 4]
        is_free = _free_variables(problem, own, is_changed)
        for _ in range(5):
            weights = network.weight_spins.copy()
            weights[own] = generator.choice([-1, 1], size=len(own))
            other = qn.BinaryNetwork(problem.topology, weights, network.bias_spins)
            # what another choice of these weights implies differs in free variables only
            assert (problem.encode(other) == bits)[~is_free].all()


def test_examples_that_a_block_cannot_change_keep_their_energy() -> None:
    problem = planted_problem(qn.Topology.dense(6, 3, 2), 5)
    engine = BlockDecomposition(variable_limit=60)
    run = _Run(problem, engine, np.random.default_rng(3))
    generator = np.random.default_rng(4)
    before = residuals_by_example(problem, run.network)
    for neuron in range(5):
        for size in (1, 2, 3):
            own = generator.permutation(run._own_parameters(neuron))[:size]
            changeable = run._changeable(own, neuron)
            for _ in range(10):
                spins = np.append(run.network.weight_spins, run.network.bias_spins)
                spins[own] = generator.choice([-1, 1], size=size)
                weights, biases = np.split(spins, [problem.topology.weight_count])
                other = qn.BinaryNetwork(problem.topology, weights, biases)
                changed = np.flatnonzero(residuals_by_example(problem, other) != before)
                assert set(changed) <= set(changeable)


def residuals_by_example(problem: qn.TrainingProblem, network: qn.BinaryNetwork) -> Any:
    rows = range(problem.example_count)
    ones = [problem.of_examples(np.array([row])) for row in rows]
    return np.array([one.certify(network).terms.total for one in ones])


def test_shared_weights_free_all_neurons_that_have_them() -> None:
    topology = qn.Topology.parse("conv(2x2)", inputs=(3, 3), outputs=1)
    inputs = np.random.default_rng(0).choice([-1, 1], size=(2, 9))
    problem = qn.TrainingProblem(topology, inputs, [[1], [-1]])
    first = next(iter(_following(problem)))
    assert first[9:].tolist() == [True] * 5


def test_a_dimod_sampler_trains_digits_block_by_block() -> None:
    X, y = load_digits(return_X_y=True)
    rows = np.flatnonzero(y < 2)[:200]
    inputs, outputs = X[rows] - 8, np.where(y[rows] == 1, 1, -1)[:, None]
    problem = qn.TrainingProblem(qn.Topology.dense(64, 1), inputs, outputs)
    engine = BlockDecomposition(
        sampler=qn.DimodSolver(qn.AnnealingSampler(), {"num_reads": 8, "num_sweeps": 100}),
        variable_limit=400,
    )
    network = engine.solve(problem, seed=0, target_energy=0).network()
    assert problem.variables.count == 1265
    assert network.accuracy(problem.input_spins, problem.output_spins) == 1


def test_any_sampler_of_dimod_is_wrapped() -> None:
    problem = planted_problem(qn.Topology.dense(3, 1), 0)
    engine = BlockDecomposition(sampler=dimod.ExactSolver(), variable_limit=12, block_count=20)
    assert problem.certify(engine.solve(problem, target_energy=0).network()).is_feasible


def test_a_limit_below_one_example_is_refused_with_the_least_one() -> None:
    with pytest.raises(
        RangeError, match=r"variable_limit must be at least \d+: a weight of neuron"
    ):
        BlockDecomposition(variable_limit=3).solve(NETWORK_10)
