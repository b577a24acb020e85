"""H_som is the sum of margins wherever H1 is zero."""

import qubonn as qn


def test_h_som_is_s2_of_networks_without_violations() -> None:
    problem = qn.TrainingProblem(qn.Topology.dense(2, 2, 1), [[1, 1], [1, -1]], [[1], [-1]])
    qubo, feasible_count = problem.qubo("margin"), 0
    for seed in range(100):
        network = qn.BinaryNetwork.random(problem.topology, seed=seed)
        certificate = problem.certify(network)
        if certificate.is_feasible:
            feasible_count += 1
            energy = qubo.energy(problem.encode(network))
            assert energy == certificate.margins.s2 == certificate.terms.margin
    assert feasible_count > 3
