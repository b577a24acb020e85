"""H1 is a sum of squares."""

import numpy as np

import qubonn as qn

PROBLEM = qn.TrainingProblem(qn.Topology.dense(2, 2, 1), [[1, 1], [1, -1]], [[1], [-1]])


def test_h1_is_the_sum_of_squared_residuals() -> None:
    qubo = PROBLEM.qubo("activation")
    for bits in np.random.default_rng(0).integers(0, 2, (200, PROBLEM.variables.count)):
        assert qubo.energy(bits) == sum(
            violation.residual**2
            for violation in PROBLEM.violations(bits)
            if violation.kind == "activation"
        )
