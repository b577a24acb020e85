"""Networks of -1 and +1 trained by gradients: real weights behind signs, a straight-through slope.

Spins, classes -> BinaryNetworks of the shape that QuboClassifier trains, to compare with.  Forward,
every weight, bias and hidden activation is a sign; backward, a sign is taken for the identity where
its argument lies in -1..1 (hidden sums are divided by the root of their number of terms). Adam on
all examples at once, cross-entropy of the outputs divided by the root of their number of terms.
"""

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import qubonn as qn

STEPS = 300
LEARNING_RATES = (0.003, 0.01, 0.03, 0.1)


class _Sign(torch.autograd.Function):  # type: ignore[misc, unused-ignore]
    @staticmethod
    def forward(context: Any, values: Any) -> Any:
        context.save_for_backward(values)
        return torch.where(values > 0, 1.0, -1.0)

    @staticmethod
    def backward(context: Any, slopes: Any) -> Any:
        (values,) = context.saved_tensors
        return slopes * (values.abs() <= 1)


def train_network(
    spins: NDArray[np.int8],
    classes: NDArray[np.int64],
    hidden: int,
    class_count: int,
    *,
    learning_rate: float,
    seed: int,
) -> qn.BinaryNetwork:
    """Train inputs -> hidden -> one output a class, and return it as a network of ours."""
    generator = torch.Generator().manual_seed(seed)
    inputs, wanted = torch.tensor(spins, dtype=torch.float32), torch.tensor(classes)
    layers = [(spins.shape[1] + 1, hidden), (hidden + 1, class_count)]
    latent = [
        torch.nn.Parameter(2 * torch.rand(shape, generator=generator) - 1) for shape in layers
    ]
    optimiser = torch.optim.Adam(latent, lr=learning_rate)
    for _ in range(STEPS):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(_outputs(inputs, latent), wanted).backward()
        optimiser.step()
        with torch.no_grad():
            for weights in latent:
                weights.clamp_(-1, 1)
    topology = qn.Topology.dense(spins.shape[1], hidden, class_count)
    return qn.BinaryNetwork(topology, *_parameters(latent))


def best_learning_rate(
    train: tuple[NDArray[np.int8], NDArray[np.int64]],
    held_out: tuple[NDArray[np.int8], NDArray[np.int64]],
    hidden: int,
    class_count: int,
) -> float:
    """Return the rate whose network is right most often on the held-out examples."""
    scores = []
    for rate in LEARNING_RATES:
        network = train_network(*train, hidden, class_count, learning_rate=rate, seed=0)
        votes = qn.Committee([network], "sums").votes(held_out[0])
        scores.append(float((votes.argmax(axis=1) == held_out[1]).mean()))
    return LEARNING_RATES[int(np.argmax(scores))]


def _outputs(inputs: Any, latent: Any) -> Any:
    """Return output sums over the root of their number of terms."""
    signs = [_Sign.apply(weights) for weights in latent]
    sums = inputs @ signs[0][:-1] + signs[0][-1]
    hidden = _Sign.apply(sums / len(signs[0]) ** 0.5)
    return (hidden @ signs[1][:-1] + signs[1][-1]) / len(signs[1]) ** 0.5


def _parameters(latent: Any) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return weights in our order, for each target each source, and biases."""
    spins = [np.where(layer.detach().numpy() > 0, 1, -1).astype(np.int8) for layer in latent]
    weights = np.concatenate([layer[:-1].T.ravel() for layer in spins])
    return weights, np.concatenate([layer[-1] for layer in spins])
