"""Networks of -1 and +1 trained by gradients with the straight-through estimator.

Spins, classes -> BinaryNetworks of the shape that QuboClassifier trains, to compare with.  Forward,
every weight, bias and hidden activation is a sign; backward, a sign has the slope of the identity
if its argument is in -1..1 (hidden sums are divided by the root of their number of terms). Adam on
shuffled batches, cross-entropy of the outputs, divided by the root of their number of terms.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import cos, pi
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import qubonn as qn

LEARNING_RATES = (0.003, 0.01, 0.03, 0.1)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a network is trained."""

    learning_rate: float
    batch_size: int | None = None  # None: all examples at once
    epoch_count: int = 100
    last_rate: float = 0.0  # the learning rate at the end, of that at the start; by a cosine
    output_scale: float = 1.0  # what outputs are multiplied by before the cross-entropy


def all_at_once(learning_rate: float) -> Settings:
    """300 steps at one rate, each on all examples."""
    return Settings(learning_rate=learning_rate, epoch_count=300, last_rate=1)


def train_network(
    spins: NDArray[np.int8],
    classes: NDArray[np.int64],
    hidden: int,
    class_count: int,
    *,
    settings: Settings,
    seed: int,
) -> qn.BinaryNetwork:
    """Train inputs -> hidden -> one output per class; return a BinaryNetwork."""
    generator = torch.Generator().manual_seed(seed)
    ones = np.ones((len(spins), 1), np.float32)  # biases are weights of a last input
    inputs = torch.tensor(np.hstack([spins, ones], dtype=np.float32))
    wanted = torch.nn.functional.one_hot(torch.tensor(classes), class_count).float()
    layers = [(spins.shape[1] + 1, hidden), (hidden + 1, class_count)]
    latent = [2 * torch.rand(shape, generator=generator) - 1 for shape in layers]
    optimiser = torch.optim.Adam(latent, lr=settings.learning_rate, fused=True)
    for share, rows in _batches(len(spins), settings, generator):
        optimiser.param_groups[0]["lr"] = settings.learning_rate * _decay(share, settings)
        found = slopes(inputs[rows], wanted[rows], latent, settings.output_scale)
        latent[0].grad, latent[1].grad = found
        optimiser.step()
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
    """Return the rate with the highest accuracy on held-out examples."""
    scores = []
    for rate in LEARNING_RATES:
        settings = all_at_once(rate)
        network = train_network(*train, hidden, class_count, settings=settings, seed=0)
        votes = qn.Committee([network], "largest").votes(held_out[0])
        scores.append(float((votes.argmax(axis=1) == held_out[1]).mean()))
    return LEARNING_RATES[int(np.argmax(scores))]


def slopes(inputs: Any, wanted: Any, latent: Any, output_scale: float) -> tuple[Any, Any]:
    """Return the slope of the mean cross-entropy in each layer's weights.

    Written out: torch's autograd gives the same in up to twice the time for small batches.
    """
    first, second = (_sign(weights) for weights in latent)
    narrowing, scale = len(first) ** -0.5, output_scale * len(second) ** -0.5
    sums = narrowing * (inputs @ first)
    hidden = _sign(sums)
    outputs = scale * torch.addmm(second[-1], hidden, second[:-1])
    errors = (scale / len(inputs)) * (torch.softmax(outputs, dim=1) - wanted)
    behind = narrowing * (errors @ second[:-1].T) * (sums.abs() <= 1)  # the straight-through slope
    return inputs.T @ behind, torch.cat([hidden.T @ errors, errors.sum(dim=0, keepdim=True)])


def _sign(values: Any) -> Any:
    return torch.where(values > 0, 1.0, -1.0)


def _batches(count: int, settings: Settings, generator: Any) -> Iterator[tuple[float, Any]]:
    """Yield rows in a new order each epoch, and the share of all steps that is done."""
    size = min(settings.batch_size or count, count)
    in_epoch = -(-count // size)
    for epoch in range(settings.epoch_count):
        if in_epoch == 1:  # the order plays no part
            yield epoch / settings.epoch_count, slice(None)
            continue
        batches = torch.randperm(count, generator=generator).split(size)
        for number, rows in enumerate(batches):
            yield (epoch + number / in_epoch) / settings.epoch_count, rows


def _decay(share: float, settings: Settings) -> float:
    """Return the learning rate, of that at the start, when this share of all steps is done."""
    return settings.last_rate + (1 - settings.last_rate) * (1 + cos(pi * share)) / 2


def _parameters(latent: Any) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return weights in the order of Topology (by target, then source), and biases."""
    spins = [np.where(layer.numpy() > 0, 1, -1).astype(np.int8) for layer in latent]
    weights = np.concatenate([layer[:-1].T.ravel() for layer in spins])
    return weights, np.concatenate([layer[-1] for layer in spins])
