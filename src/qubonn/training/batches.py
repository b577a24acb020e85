"""Batches: all examples in random order, some at a time, endlessly or for some epochs.

Inputs, outputs, seed -> batches.  Paper, Algorithm 1, GetTrainingBatch.
"""

from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, replace
from itertools import count, repeat
from math import inf
from typing import Any, NamedTuple

import numpy as np

from qubonn.checks import IntVector, require_count
from qubonn.errors import QubonnError, ShapeError
from qubonn.formulation import TrainingProblem


class Batch(NamedTuple):
    """Some examples; `rows` are their rows in the whole data, where that is known."""

    inputs: Any
    outputs: Any
    rows: IntVector | None = None
    weights: Any = None  # of the examples; None: all 1


@dataclass(frozen=True, eq=False, repr=False)
class Batches:
    """Batches of `size` examples, each example once per epoch, in a new random order each time.

    The last batch of an epoch may be smaller. `inputs` and `outputs` are only indexed by rows, so
    they may be arrays on disk, as ``numpy.load(..., mmap_mode="r")`` gives. Without `epoch_count`
    the batches never end.

    >>> inputs, outputs = np.ones((5, 3)), np.ones((5, 1))
    >>> [batch.rows.tolist() for batch in Batches(inputs, outputs, size=2, epoch_count=1)]
    [[0, 3], [2, 1], [4]]
    """

    inputs: Any  # array-like, as outputs
    outputs: Any
    size: int
    seed: int = 0
    epoch_count: int | None = None
    weights: Any = None  # of the examples; None: all 1

    def __post_init__(self) -> None:
        require_count("size", self.size)
        require_count("seed", self.seed, least=0)
        if self.epoch_count is not None:
            require_count("epoch_count", self.epoch_count)
        for name in ("inputs", "outputs"):
            if not hasattr(getattr(self, name), "shape"):
                object.__setattr__(self, name, np.asarray(getattr(self, name)))
        if len(self.inputs) != len(self.outputs) or not len(self.inputs):
            raise ShapeError(
                "inputs and outputs must have one row per example each, at least one; "
                f"got {len(self.inputs)} and {len(self.outputs)}"
            )

    @property
    def example_count(self) -> int:
        """Number of examples of an epoch."""
        return len(self.inputs)

    @property
    def batch_count(self) -> int:
        """Number of batches of an epoch."""
        return -(-self.example_count // self.size)

    def __iter__(self) -> Iterator[Batch]:
        epochs = count() if self.epoch_count is None else range(self.epoch_count)
        for epoch in epochs:
            stream = np.random.SeedSequence(self.seed, spawn_key=(epoch,))
            order = np.random.default_rng(stream).permutation(self.example_count)
            for start in range(0, self.example_count, self.size):
                rows = order[start : start + self.size]
                weights = None if self.weights is None else self.weights[rows]
                yield Batch(self.inputs[rows], self.outputs[rows], rows, weights)

    def __repr__(self) -> str:
        return f"Batches({self.batch_count} of {self.size} examples an epoch)"


def batches_for(
    problem: TrainingProblem, batches: Iterable[Any] | int | None, *, seed: int, is_one_epoch: bool
) -> Iterable[Any]:
    """Return the batches of a run: all examples each time, cut from the problem, or as given."""
    if batches is None:
        return repeat(
            Batch(problem.input_spins, problem.output_spins, weights=problem.example_weights)
        )
    if isinstance(batches, (int, np.integer)):
        size, epochs = require_count("batches", batches), 1 if is_one_epoch else None
        examples = problem.input_spins, problem.output_spins
        return Batches(*examples, size, seed, epochs, problem.example_weights)
    if isinstance(batches, (str, bytes, np.ndarray)) or not isinstance(batches, Iterable):
        raise ShapeError(
            "batches must be a batch size, a Batches(...) or an iterable of (inputs, outputs); "
            f"got {type(batches).__name__}"
        )
    return batches


def expected_count(batches: Iterable[Any], iteration_count: int | None) -> int | float | None:
    """Return the largest possible number of iterations: infinite if endless, None if unknown."""
    known: list[int | float] = [] if iteration_count is None else [iteration_count]
    if isinstance(batches, Batches):
        known.append(batches.batch_count * (batches.epoch_count or inf))
    elif isinstance(batches, Sized):
        known.append(len(batches))
    elif isinstance(batches, repeat):
        known.append(inf)
    return min(known, default=None)


def checked(problem: TrainingProblem, given: Any, number: int) -> Batch:
    """Return a pair (inputs, outputs) as a batch of spins, or say which batch is wrong and how."""
    is_pair = isinstance(given, (tuple, list)) and len(given) == 2
    if not is_pair and not isinstance(given, Batch):
        raise ShapeError(
            f"batch {number}: a batch must be a pair (inputs, outputs); got {type(given).__name__}"
        )
    batch = Batch(*given)
    try:
        whole = replace(
            problem, inputs=batch.inputs, outputs=batch.outputs, example_weights=batch.weights
        )
    except QubonnError as error:
        raise type(error)(f"batch {number}: {error}") from None
    return Batch(whole.input_spins, whole.output_spins, batch.rows, whole.example_weights)
