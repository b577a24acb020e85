"""A training problem of one hidden layer as the masks and counts of the forward kernels.

TrainingProblem -> Examples; parameters -> Replica, and back.
"""

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, SpinMatrix
from qubonn.errors import AlphabetError, RangeError, TopologyError
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

__all__ = [
    "LANES",
    "Cost",
    "Layered",
    "has_one_hidden_layer",
    "require_one_hidden_layer",
    "require_one_hot",
]

MOST = 2**30  # of a change of energy in whole units; int32 with a bit to spare
FINEST = 2.0**-16
LANES = 32  # examples in a block; 16 are a little quicker for 100 examples, slower for 10,000


@dataclass(frozen=True)
class Cost:
    """What an engine makes of a problem's outputs and margins; no target: thresholds."""

    target_margin: int | None
    margin_cap: int | None


class Layered:
    """One problem, packed: examples in lanes, energies in multiples of `unit`."""

    def __init__(self, problem: TrainingProblem, cost: Cost) -> None:
        # Numba takes a moment, so these are imported when needed
        self.kernels: Any = import_module("qubonn.engines._forward_kernels")
        self.streams: Any = import_module("qubonn.lanes.streams")
        topology = problem.topology
        self.problem, self.cost = problem, cost
        self.input_count, self.hidden_count = topology.input_count, topology.hidden_count
        self.output_count = topology.output_count
        self.unit = _unit(problem, cost)
        self.examples = self._examples()

    def replicas(self, weights: BitMatrix, biases: BitMatrix, seeds: NDArray[np.uint64]) -> Any:
        """Return the kernels' state of networks given by bits; `seeds` has a row for each."""
        hidden, outputs = self._rows(weights, biases)
        states = [self._follow(*pair) for pair in zip(hidden, outputs, strict=True)]
        hidden_counts, output_counts, activations = (
            np.stack(part) for part in zip(*states, strict=True)
        )
        return self.kernels.Replica(
            hidden_weights=self._full_masks(hidden),
            output_weights=self._full_masks(outputs),
            hidden_counts=hidden_counts,
            output_counts=output_counts,
            activations=activations,
            generator=self.streams.start_generators(seeds.reshape(-1), LANES),
        )

    def one(self, replicas: Any, number: int) -> Any:
        """Return one of several replicas: views, not copies."""
        return self.kernels.Replica(*(array[number] for array in replicas))

    def parameters(self, replicas: Any) -> tuple[SpinMatrix, SpinMatrix]:
        """Return weight spins and bias spins, a row for each replica."""
        hidden, outputs = (
            (array != 0).astype(np.int8) * np.int8(2) - np.int8(1)
            for array in (replicas.hidden_weights, replicas.output_weights)
        )
        count = len(hidden)
        weights = [hidden[:, :, :-1].reshape(count, -1), outputs[:, :, :-1].reshape(count, -1)]
        return np.hstack(weights), np.hstack([hidden[:, :, -1], outputs[:, :, -1]])

    def hidden_spins(self, replica: Any) -> SpinMatrix:
        """Return the hidden activations of one replica, examples x hidden neurons."""
        masks = np.ascontiguousarray(replica.activations[:-1].T)
        bits = self.streams.unpack_states(masks, self.problem.example_count)
        return np.asarray(2 * bits - 1, dtype=np.int8)

    def _examples(self) -> Any:
        problem = self.problem
        assert problem.field is not None
        inputs = self._masks((problem.input_spins > 0).astype(np.int8), with_bias=True)
        ones = np.ones((problem.example_count, 1), dtype=np.int8)
        hidden_pull, output_pull = (
            2 * _units(rows, self.unit)
            for rows in self._rows(problem.field.weights[None], problem.field.biases[None])
        )
        target = self.cost.target_margin
        cap = self.cost.margin_cap
        return self.kernels.Examples(
            inputs=inputs,
            wanted=self._masks((problem.output_spins > 0).astype(np.int8)),
            is_real=self._masks(ones)[0],
            hidden_pull=hidden_pull[0],
            output_pull=output_pull[0],
            least=_least(self.input_count),
            margin=int(_units(problem.margin_strength, self.unit)),
            margin_cap=self.input_count + 2 if cap is None else cap,
            violation=int(_units(1 if target is None else 0.5, self.unit)),
            target_margin=target or 0,
            is_pairwise=target is not None,
        )

    def _follow(self, hidden: BitMatrix, outputs: BitMatrix) -> tuple[Any, Any, Any]:
        """Return counts of both layers and activations of the hidden one: a forward pass."""
        inputs = self.problem.input_spins.astype(np.float32)  # sums of spins are exact in it
        hidden_sums = inputs @ _spins(hidden[:, :-1]).T + _spins(hidden[:, -1])
        active = hidden_sums > 0
        output_sums = _spins(active) @ _spins(outputs[:, :-1]).T + _spins(outputs[:, -1])
        return (
            self._lanes((hidden_sums - _least(self.input_count)) / 2),
            self._lanes((output_sums - _least(self.hidden_count)) / 2),
            self._masks(active.astype(np.int8), with_bias=True),
        )

    def _rows(self, weights: NDArray[Any], biases: NDArray[Any]) -> tuple[Any, Any]:
        """Cut parameters into layers: replicas x neurons x (sources, then the bias)."""
        count, hidden = len(weights), self.hidden_count
        cut = hidden * self.input_count
        return (
            np.dstack([weights[:, :cut].reshape(count, hidden, -1), biases[:, :hidden]]),
            np.dstack([weights[:, cut:].reshape(count, self.output_count, -1), biases[:, hidden:]]),
        )

    def _masks(self, bits: BitMatrix, *, with_bias: bool = False) -> Any:
        """Turn bits, examples x nodes, into masks, nodes x blocks, perhaps with a row of ones."""
        masks = np.ascontiguousarray(self.streams.pack_states(bits, LANES).T)
        if not with_bias:
            return masks
        return np.vstack([masks, np.full_like(masks[:1], np.iinfo(masks.dtype).max)])

    def _full_masks(self, bits: BitMatrix) -> Any:
        kind = self.examples.inputs.dtype
        return np.where(bits, np.iinfo(kind).max, kind.type(0)).astype(kind)

    def _lanes(self, counts: NDArray[Any]) -> Any:
        """Turn counts, examples x neurons, into rows of lanes; lanes without example follow f(-1).

        Their counts must agree with their activation bit, 0.
        """
        example_count, neuron_count = counts.shape
        blocks = -(-example_count // LANES)
        padded = np.full((neuron_count, blocks * LANES), -1, dtype=np.int32)
        padded[:, :example_count] = counts.T
        return padded.reshape(neuron_count * blocks, LANES)


def has_one_hidden_layer(topology: Topology) -> bool:
    """Whether a topology is Topology.dense(inputs, hidden, outputs)."""
    sizes = (topology.input_count, topology.hidden_count, topology.output_count)
    return min(sizes) > 0 and topology == Topology.dense(*sizes)


def require_one_hidden_layer(topology: Topology) -> None:
    """Refuse every network but Topology.dense(inputs, hidden, outputs)."""
    if not has_one_hidden_layer(topology):
        raise TopologyError(
            "ForwardAnnealing needs one fully connected hidden layer, as Topology.dense(25, 3, 2) "
            f"has; got {topology!r}: LiftedAnnealing takes any network"
        )


def require_one_hot(outputs: SpinMatrix) -> None:
    """Refuse examples that do not want exactly one output to be +1."""
    wanted = (outputs > 0).sum(axis=1)
    if (wanted != 1).any():
        example = int(np.argmax(wanted != 1))
        raise AlphabetError(
            "outputs='pairwise' needs exactly one +1 among the outputs of each example, as "
            f"CodeBook.one_hot gives; example {example} has {wanted[example]}"
        )
    if outputs.shape[1] < 2:
        raise AlphabetError("outputs='pairwise' needs at least two outputs to compare; got 1")


def _unit(problem: TrainingProblem, cost: Cost) -> float:
    """Return 1 where all strengths are whole, else the finest power of two that int32 can carry."""
    assert problem.field is not None
    pulls = problem.field.weights, problem.field.biases
    gamma = float(problem.margin_strength)
    is_whole = gamma.is_integer() and all((np.rint(pull) == pull).all() for pull in pulls)
    # a flip moves an output of an example by one, and so a lead by two; twice that up or down
    most = problem.example_count * (4 * problem.topology.output_count + 4 * gamma + 1.0)
    most += 2 * sum(float(np.abs(pull).max(initial=0)) for pull in pulls)
    # energies are added up block by block
    topology, target = problem.topology, cost.target_margin or 0
    largest = gamma * (topology.input_count + 2) + target + 2 * (topology.hidden_count + 2)
    most = max(most, LANES * largest)
    if most >= MOST / 2:
        raise RangeError(
            f"changes of energy may reach {most:.3g}, more than the {MOST / 2:.3g} that int32 "
            "carries: use fewer examples or smaller strengths"
        )
    finest = max(2.0 ** -np.floor(np.log2(MOST / most)), FINEST)
    coarsest = 1.0 if cost.target_margin is None else 0.5  # an odd target leaves halves
    return coarsest if is_whole else float(finest)


def _least(source_count: int) -> int:
    """Return the pre-activation of a neuron whose count is 0: 1 or 2."""
    terms = source_count + 1
    return 2 * (terms // 2 + 1) - terms


def _spins(bits: NDArray[Any]) -> NDArray[np.float32]:
    return 2 * bits.astype(np.float32) - 1


def _units(values: Any, unit: float) -> NDArray[np.int64]:
    return np.rint(np.asarray(values) / unit).astype(np.int64)
