from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from quadratic.small_qubos import EIGHTHS, TermList, term_lists
from qubonn.quadratic import Qubo
from qubonn.quadratic.hardware import MACHINES, hardware_of, precision_bits, rounded
from qubonn.training import precision_curve

LETTERS = qn.datasets.letters(seed=0)


def problem(number: int) -> qn.TrainingProblem:
    data = LETTERS.train_inputs, LETTERS.train_outputs
    return qn.TrainingProblem(qn.paper.topology(number), *data)


@given(
    whole=st.lists(st.integers(-4000, 4000), min_size=1, max_size=9),
    step=st.sampled_from([1, 0.25, 0.02, 7]),
)
def test_bits_hold_every_value_as_a_multiple_of_one_step(whole: list[int], step: float) -> None:
    shared = int(np.gcd.reduce(np.array(whole))) or 1
    least = next(bits for bits in range(1, 20) if max(map(abs, whole)) // shared < 2 ** (bits - 1))
    assert precision_bits(np.array(whole) * step) == least


@given(plain=term_lists() | term_lists(EIGHTHS))
@settings(max_examples=50)
def test_enough_bits_leave_the_order_of_all_energies(plain: TermList) -> None:
    qubo = plain.qubo()
    states = list(plain.assignments())
    exact, bits = qubo.energy(states), hardware_of(qubo).ising_bits
    coarse = rounded(qubo, max(bits + 20, 2)).energy(states)
    assert (np.sign(exact[:, None] - exact) == np.sign(np.round(coarse[:, None] - coarse, 0))).all()


def test_few_bits_have_few_different_values() -> None:
    ising = rounded(problem(10).qubo(), 4).to_ising()
    values = np.unique(np.concatenate([ising.fields, ising.couplings]))
    assert set(values.tolist()) <= set(range(-7, 8))


def test_the_chain_strength_is_that_of_dwave() -> None:
    chain_strength = pytest.importorskip("dwave.embedding.chain_strength")
    qubo = problem(8).qubo()
    expected = chain_strength.uniform_torque_compensation(qubo.to_ising().to_dimod())
    assert hardware_of(qubo).chain_strength == pytest.approx(expected)


def test_ranges_degrees_and_bits_of_network_10() -> None:
    found = problem(10).hardware()
    assert (found.variable_count, found.coupling_count) == (186, 2796)
    assert (found.qubo_range, found.ising_range) == ((-326, 256), (-8, 64))
    assert (found.qubo_bits, found.ising_bits) == (10, 10)
    assert found.largest_degree == max(
        np.bincount(np.concatenate([problem(10).qubo().rows, problem(10).qubo().columns]))
    )
    assert found.suggested_alpha == 4
    assert [one.fits for one in found.embeddings] == [True, True]


def test_a_network_without_products_has_no_suggested_alpha() -> None:
    flat = qn.TrainingProblem(qn.Topology.dense(2, 1), [[1, 1]], [[1]])
    assert flat.hardware().suggested_alpha is None


def test_an_embedding_is_valid_and_not_below_the_bound() -> None:
    pytest.importorskip("minorminer")
    posed = qn.TrainingProblem(qn.Topology.dense(3, 1), [[1, 1, -1], [1, -1, 1]], [[1], [-1]])
    for found in posed.hardware(embed=True, time_limit=10).embeddings:
        assert found.is_found
        assert found.fits
        assert found.least_qubits <= found.qubits
        assert found.qubits >= posed.variables.count


def test_the_graphs_have_the_qubits_and_couplers_that_we_count() -> None:
    graphs = pytest.importorskip("dwave.graphs")
    for name, (size, qubit_count, coupler_count, *_) in MACHINES.items():
        graph: Any = getattr(graphs, f"{name.lower()}_graph")(size)
        assert graph.number_of_nodes() == qubit_count
        assert max(degree for _, degree in graph.degree) == coupler_count


def test_a_qubo_without_couplings_needs_one_qubit_each() -> None:
    found = hardware_of(Qubo.of([0, 1], [0, 1], [1, 2], variable_count=3))
    assert {(one.qubits, one.longest_chain) for one in found.embeddings} == {(3, 1)}
    assert hardware_of(Qubo.of([], [], [], variable_count=0)).qubo_bits == 1


def test_fewer_bits_lose_solutions() -> None:
    sampler = qn.SimulatedAnnealing(replica_count=100, sweep_count=1000)
    coarse, exact = precision_curve(problem(10), (4, None), sampler=sampler)
    assert (coarse.bit_count, coarse.sample_count) == (4, 100)
    assert coarse.feasible_after_repair <= exact.feasible_after_repair
    assert exact.feasible_after_repair > 0
    assert coarse.lowest_energy >= exact.lowest_energy
