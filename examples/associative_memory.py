"""An associative memory: a network with cycles settles from a damaged letter into the letter.

25 neurons and no inputs; each is connected to all others, and the two arcs of a pair share a
weight, as in a Hopfield network. Training makes the letters consistent states. With a margin, most
states near a letter settle into it.
"""

from itertools import combinations

import numpy as np

import qubonn as qn

letters = qn.datasets.letters(seed=0)
patterns = letters.train_inputs
size = patterns.shape[1]

arcs = []
for weight, (one, other) in enumerate(combinations(range(size), 2)):
    arcs += [(one, other, weight), (other, one, weight)]
topology = qn.Topology.from_arcs(arcs, inputs=0, outputs=size)
print(topology)

# each test image is a letter with two pixels inverted
original = dict(zip(map(tuple, letters.train_outputs), patterns, strict=True))
wanted = np.array([original[tuple(code)] for code in letters.test_outputs])


def recalled_with(margin_strength: float) -> int:
    """Train, start from each damaged letter, and count those that settle into the original."""
    nothing = np.zeros((len(patterns), 0))
    problem = qn.TrainingProblem(topology, nothing, patterns, margin_strength=margin_strength)
    result = qn.train(problem, qn.LiftedAnnealing(), seed=0)
    print(result.certificate())
    assert result.is_feasible
    ends = [result.network.settle([], start=s, start_count=1) for s in letters.test_inputs]
    return int((np.array([end.closest for end in ends]) == wanted).all(axis=1).sum())


plain, with_margin = recalled_with(0), recalled_with(0.02)
print(f"damaged letters recalled: {plain} of {len(wanted)}, with a margin {with_margin}")
assert with_margin > max(plain, 30)
