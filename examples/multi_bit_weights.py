"""Weights of several bits by parallel arcs: three arcs of +-1 add up to -3, -1, +1 or +3.

A rule that no neuron with +-1 weights can represent (all are tried) is learned with parallel arcs.
"""

from itertools import product

import numpy as np

import qubonn as qn

inputs = np.array(list(product([-1, 1], repeat=4)))
rule = [3, 1, 1, 1]  # the first input counts three times
outputs = np.where(inputs @ rule - 1 > 0, 1, -1)[:, None]

plain = qn.TrainingProblem(qn.Topology.dense(4, 1), inputs, outputs)
print("one arc per input:   ", qn.train(plain, seed=0).certificate())
every = [
    qn.BinaryNetwork(plain.topology, spins[:4], spins[4:]) for spins in product([-1, 1], repeat=5)
]
assert not any(plain.certify(network).is_feasible for network in every)  # all 32 of them

ARCS = 3  # arcs from each input to the neuron
arcs = [(source, 4) for source in range(4) for _ in range(ARCS)]
wide = qn.TrainingProblem(qn.Topology.from_arcs(arcs, inputs=4, outputs=1), inputs, outputs)
result = qn.train(wide, seed=0)
print("three arcs per input:", result.certificate())
assert result.is_feasible

# arcs to the same target keep their order, so each row belongs to one input
weights = result.network.weight_spins.reshape(4, ARCS).sum(axis=1)
print("weights", weights, "bias", result.network.bias_spins)
assert (np.sign(inputs @ weights + result.network.bias_spins - 0.5) == outputs[:, 0]).all()
