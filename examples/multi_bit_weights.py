"""Parallel arcs are weights of more than one bit: three arcs of +-1 are -3, -1, +1 or +3.

A rule that no neuron of +-1 weights can follow (all are tried) is learned with parallel arcs.
"""

from itertools import product

import numpy as np

import qubonn as qn

inputs = np.array(list(product([-1, 1], repeat=4)))
outputs = np.where(inputs @ [3, 1, 1, 1] - 1 > 0, 1, -1)[
    :, None
]  # the first input counts three times

plain = qn.TrainingProblem(qn.Topology.dense(4, 1), inputs, outputs)
print("one arc an input:   ", qn.train(plain, seed=0).certificate())
every = [
    qn.BinaryNetwork(plain.topology, spins[:4], spins[4:]) for spins in product([-1, 1], repeat=5)
]
assert not any(plain.certify(network).is_feasible for network in every)  # all 32 of them

ARCS = 3  # arcs from each input to the neuron
arcs = [(source, 4) for source in range(4) for _ in range(ARCS)]
wide = qn.TrainingProblem(qn.Topology.from_arcs(arcs, inputs=4, outputs=1), inputs, outputs)
result = qn.train(wide, seed=0)
print("three arcs an input:", result.certificate())
assert result.is_feasible

# arcs with one target keep the order they were given in, so each row is one input's
weights = result.network.weight_spins.reshape(4, ARCS).sum(axis=1)
print("weights", weights, "bias", result.network.bias_spins)
assert (np.sign(inputs @ weights + result.network.bias_spins - 0.5) == outputs[:, 0]).all()
