"""Weights of several levels and integer thresholds, by parallel arcs and arcs from a constant.

Rules that no neuron with +-1 weights and a +-1 bias can represent (all are tried) are learned with
weights of -3, -1, +1 and +3, and with a threshold of -3, -1, +1 or +3.
"""

from itertools import product

import numpy as np

import qubonn as qn

inputs = np.array(list(product([-1, 1], repeat=4)))
first_counts_thrice = np.where(inputs @ [3, 1, 1, 1] - 1 > 0, 1, -1)[:, None]
all_four = np.where(inputs.sum(axis=1) > 3, 1, -1)[:, None]


def train(outputs: np.ndarray, **levels: int) -> qn.TrainingResult:
    """Train one neuron, with weights and thresholds of some levels."""
    topology = qn.Topology.dense(4, 1, **levels)
    result = qn.train(qn.TrainingProblem(topology, inputs, outputs), seed=0)
    print(topology, result.certificate(), sep="\n  ")
    return result


for outputs in (first_counts_thrice, all_four):
    plain = train(outputs).problem
    every = (qn.BinaryNetwork(plain.topology, w, [b]) for *w, b in product([-1, 1], repeat=5))
    assert not any(plain.certify(network).is_feasible for network in every)  # all 32 of them

wide = train(first_counts_thrice, weight_levels=4)
assert wide.is_feasible
weights = wide.network.weight_spins.reshape(4, 3).sum(axis=1)  # three parallel arcs per input
print("weights", weights, "bias", wide.network.bias_spins)

high = train(all_four, threshold_levels=4)
assert high.is_feasible
own, constant = np.split(high.network.weight_spins, [4])  # two arcs from the constant come last
print("weights", own, "threshold", constant.sum() + high.network.bias_spins)
