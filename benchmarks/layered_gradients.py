"""Networks of -1 and +1 of any layers, trained by gradients for some seconds of one processor.

Images of spins, classes, notation of hidden layers -> BinaryNetwork, as straight_through.py does
for one hidden layer.  Every batch has its images shifted by up to a pixel.
"""

import time
from dataclasses import dataclass
from math import cos, pi, prod
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

import qubonn as qn
from qubonn.topology.layers import Convolution, Dense, read_notation


@dataclass(frozen=True, kw_only=True)
class Settings:
    """How a network is trained."""

    learning_rate: float
    batch_size: int = 256
    output_scale: float = 1.0  # what outputs are multiplied by before the cross-entropy


class _Sign(torch.autograd.Function):  # type: ignore[misc] # torch has no types
    """f(x), with the slope of the identity in -1..1."""

    @staticmethod
    def forward(context: Any, values: Any) -> Any:
        context.save_for_backward(values)
        return torch.where(values > 0, 1.0, -1.0)

    @staticmethod
    def backward(context: Any, slopes: Any) -> Any:
        (values,) = context.saved_tensors
        return slopes * (values.abs() <= 1)


def train_layers(
    images: NDArray[np.int8],
    classes: NDArray[np.int64],
    hidden: str,
    *,
    settings: Settings,
    seconds: float,
    seed: int,
    shift: int = 1,
) -> tuple[qn.BinaryNetwork, int]:
    """Train on images (examples x rows x columns); return a network, and the number of steps."""
    generator = torch.Generator().manual_seed(seed)
    shape, class_count = images.shape[1:], int(classes.max()) + 1
    topology = qn.Topology.parse(hidden, inputs=shape, outputs=class_count)
    _, layers = read_notation(hidden, shape, class_count)
    latent = _latent(layers, topology.layer_shapes or (), generator)
    optimiser = torch.optim.Adam(
        [one for pair in latent for one in pair], lr=settings.learning_rate, fused=True
    )
    edges = (shift,) * 4
    padded = torch.nn.functional.pad(torch.tensor(images, dtype=torch.float32), edges, "replicate")
    torch.set_num_threads(1)
    wanted, start, steps = torch.tensor(classes), time.process_time(), 0
    while (spent := time.process_time() - start) < seconds:
        optimiser.param_groups[0]["lr"] = (
            settings.learning_rate * (1 + cos(pi * spent / seconds)) / 2
        )
        rows = torch.randint(len(images), (settings.batch_size,), generator=generator)
        batch = _shifted(padded[rows], shift, generator)
        outputs = settings.output_scale * _outputs(batch, layers, latent)
        optimiser.zero_grad(set_to_none=True)
        torch.nn.functional.cross_entropy(outputs, wanted[rows]).backward()
        optimiser.step()
        with torch.no_grad():
            for pair in latent:
                for one in pair:
                    one.clamp_(-1, 1)
        steps += 1
    weights, biases = (
        np.concatenate(
            [np.where(pair[place].detach().numpy() > 0, 1, -1).ravel() for pair in latent]
        )
        for place in (0, 1)
    )
    return qn.BinaryNetwork(topology, weights.astype(np.int8), biases.astype(np.int8)), steps


def _latent(layers: Any, shapes: Any, generator: Any) -> list[tuple[Any, Any]]:
    """Return weights and biases of each layer, in the order of Topology."""

    def random(shape: tuple[int, ...]) -> Any:
        return (2 * torch.rand(shape, generator=generator) - 1).requires_grad_()

    found = []
    for layer, before, after in zip(layers, shapes, shapes[1:], strict=False):
        if isinstance(layer, Convolution):
            shape: tuple[int, ...] = (layer.filters, before[0], layer.rows, layer.columns)
        else:
            assert isinstance(layer, Dense)
            shape = (layer.size, prod(before))
        found.append((random(shape), random(after)))
    return found


def _shifted(padded: Any, shift: int, generator: Any) -> Any:
    """Return each image cut out at a place of its own."""
    count, height, width = padded.shape
    steps = torch.randint(2 * shift + 1, (count, 2), generator=generator)
    rows = steps[:, :1] + torch.arange(height - 2 * shift)
    columns = steps[:, 1:] + torch.arange(width - 2 * shift)
    found = padded[torch.arange(count)[:, None, None], rows[:, :, None], columns[:, None, :]]
    return found[:, None]


def _outputs(values: Any, layers: Any, latent: Any) -> Any:
    """Return the outputs' sums, each layer's divided by the root of its number of terms."""
    sums = values
    for place, (layer, (weights, biases)) in enumerate(zip(layers, latent, strict=True)):
        if place:
            values = _Sign.apply(sums)
        signs, bias = _Sign.apply(weights), _Sign.apply(biases)
        if isinstance(layer, Convolution):
            options = {"stride": layer.stride, "padding": layer.padding}
            sums = torch.nn.functional.conv2d(values, signs, **options) + bias
        else:
            sums = values.flatten(1) @ signs.T + bias
        sums = sums * (prod(weights.shape[1:]) + 1) ** -0.5
    return sums
