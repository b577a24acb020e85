"""H_ext is strength times spin."""

import numpy as np

import qubonn as qn

PROBLEM = qn.TrainingProblem(
    qn.Topology.dense(2, 2, 1),
    [[1, 1], [1, -1]],
    [[1], [-1]],
    field=qn.Field(np.array([1, -2, 3, 0, 5, -1]), np.array([2, 0, -3])),
)


def test_h_ext_is_the_sum_of_strength_times_spin() -> None:
    qubo = PROBLEM.qubo("field")
    for bits in np.random.default_rng(0).integers(0, 2, (200, PROBLEM.variables.count)):
        assert qubo.energy(bits) == sum(
            strength * (2 * int(bit) - 1)
            for strength, bit in zip([1, -2, 3, 0, 5, -1, 2, 0, -3], bits[:9], strict=True)
        )
