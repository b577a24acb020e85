"""Samples from elsewhere become networks; what is broken is repaired where it can be."""

import itertools
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import TopologyError

XOR = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
WANTED = [[-1], [1], [1], [-1]]


def problem(**strengths: Any) -> qn.TrainingProblem:
    return qn.TrainingProblem(qn.Topology.dense(2, 2, 1), XOR, WANTED, **strengths)


def test_a_feasible_sample_stays_as_it_is() -> None:
    xor = problem()
    network = qn.train(xor, seed=0).network
    decoding = qn.decode_samples(xor, qn.Samples.of(xor.qubo(), xor.encode(network)))
    assert decoding.result.networks == (network,)
    assert decoding.result.is_feasible
    assert decoding.feasible_as_sampled == decoding.feasible_after_repair == 1
    assert decoding.repairs[0].sampled == 0


def test_broken_counts_and_products_are_repaired_by_the_forward_pass() -> None:
    xor = problem()
    network = qn.train(xor, seed=0).network
    bits = xor.encode(network).copy()
    first = xor.variables.starts[2]  # all behind weights and biases
    bits[first:] = np.random.default_rng(0).integers(0, 2, len(bits) - first)
    decoding = qn.decode_samples(xor, qn.Samples.of(xor.qubo(), bits))
    assert decoding.feasible_as_sampled == 0
    assert decoding.feasible_after_repair == 1
    assert decoding.repairs[0].forward == 0
    assert decoding.result.network == network


def test_a_wrong_weight_is_repaired_by_lowering_the_energy() -> None:
    xor = problem()
    network = qn.train(xor, seed=0).network
    bits = xor.encode(network).copy()
    bits[0] ^= 1  # everything else still says what the weight was
    decoding = qn.decode_samples(xor, qn.Samples.of(xor.qubo(), bits))
    repair = decoding.repairs[0]
    assert repair.forward > 0
    assert repair.descended == 0
    assert repair.is_descended
    assert decoding.result.network == network


@pytest.mark.parametrize("strengths", [{}, {"margin_strength": 0.1}, {"output_strength": 2}])
def test_of_both_repairs_the_better_one_is_kept(strengths: dict[str, float]) -> None:
    xor = problem(**strengths)
    qubo = xor.qubo()
    states = np.random.default_rng(1).integers(0, 2, (40, qubo.variable_count), dtype=np.int8)
    decoding = qn.decode_samples(xor, qn.Samples.of(qubo, states), qubo=qubo)
    assert len(decoding.repairs) == decoding.sample_count == 40
    for repair in decoding.repairs:
        assert repair.remaining == min(repair.forward, repair.descended)
    counts = [c.violations.count + c.terms.output for c in decoding.result.certificates]
    assert counts == sorted(counts)
    assert counts[0] == min(repair.remaining for repair in decoding.repairs)
    assert set(counts) <= {repair.remaining for repair in decoding.repairs}


def test_every_network_of_a_tiny_problem_is_evaluated_by_its_own_forward_pass() -> None:
    tiny = qn.TrainingProblem(qn.Topology.dense(2, 1), [[1, 1], [1, -1]], [[1], [-1]])
    qubo = tiny.qubo()
    states = np.array(list(itertools.product((0, 1), repeat=qubo.variable_count)), dtype=np.int8)
    decoding = qn.decode_samples(tiny, qn.Samples.of(qubo, states))
    right = [
        tiny.decode(bits).accuracy(tiny.input_spins, tiny.output_spins) == 1 for bits in states
    ]
    by_forward = sum(repair.forward == 0 for repair in decoding.repairs)
    assert by_forward == sum(right)
    assert decoding.feasible_as_sampled == int((qubo.energy(states) == 0).sum())


def test_networks_with_cycles_are_refused() -> None:
    ring = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    cyclic = qn.TrainingProblem(ring, [[1]], [[1]], output_strength=1)
    qubo = cyclic.qubo()
    with pytest.raises(TopologyError, match="no cycles"):
        qn.decode_samples(cyclic, qn.Samples.of(qubo, np.zeros((1, qubo.variable_count))))
