"""H_out counts wrong outputs."""

import numpy as np

import qubonn as qn

PROBLEM = qn.TrainingProblem(
    qn.Topology.dense(2, 2, 1), [[1, 1], [1, -1]], [[1], [-1]], output_strength=2
)


def test_h_out_counts_outputs_that_differ_from_the_wanted_ones() -> None:
    qubo = PROBLEM.qubo("output")
    for bits in np.random.default_rng(0).integers(0, 2, (200, PROBLEM.variables.count)):
        assert qubo.energy(bits) == sum(
            (PROBLEM.read(bits).activation_spins[:, -1] != [1, -1]).tolist()
        )
