"""H2 counts broken products."""

from typing import Any

import numpy as np

import qubonn as qn

PROBLEM = qn.TrainingProblem(qn.Topology.dense(2, 2, 1), [[1, 1], [1, -1]], [[1], [-1]])


def test_h2_counts_broken_products_and_those_of_two_zeros_three_times() -> None:
    qubo = PROBLEM.qubo("product")
    for bits in np.random.default_rng(0).integers(0, 2, (200, PROBLEM.variables.count)):
        assert qubo.energy(bits) == sum(
            3 if is_of_two_zeros(violation, bits) else 1
            for violation in PROBLEM.violations(bits)
            if violation.kind == "product"
        )


def is_of_two_zeros(violation: qn.formulation.Violation, bits: Any) -> bool:
    read, topology = PROBLEM.read(bits), PROBLEM.topology
    weight = read.network.weight_spins[topology.weight_of[violation.place]]
    source = read.activation_spins[violation.example, topology.source_of[violation.place]]
    return bool(weight < 0 and source < 0)
