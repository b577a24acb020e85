"""BinaryNetwork: a topology and one spin per weight and per neuron's bias.

Topology + parameters -> outputs, margins, accuracy, a file.
"""

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import (
    SpinMatrix,
    SpinVector,
    require_count,
    require_matrix,
    require_real_matrix,
    require_real_vector,
    require_spin_matrix,
    require_spins,
)
from qubonn.encoding import Reading
from qubonn.errors import AlphabetError, RangeError, TopologyError
from qubonn.inference import PackedNetwork
from qubonn.network.forward import (
    ForwardPass,
    LevelPlan,
    Margins,
    is_worth_packing,
    plan_levels,
    run_forward,
    sign,
)
from qubonn.network.robustness import Robustness, robustness_of
from qubonn.network.settling import Settled, settle
from qubonn.network.summary import Summary, accuracy, summarise
from qubonn.storage import write_arrays
from qubonn.topology import Topology

FORMAT, VERSION = "qubonn-network", 2  # of files
MOST_NODES = 1 << 26  # in a file
MOST_LAYERS = 1_000  # in a file that lists layers instead of arcs
ARCS = ("source_of", "target_of", "weight_of")
KNOWN = ("known_weights", "known_biases")


@dataclass(frozen=True, eq=False, repr=False, init=False)
class BinaryNetwork:
    """A network whose weights, biases and activations are all -1 or +1.

    ``weight_spins`` are by weight number, ``bias_spins`` by neuron: the non-input nodes in order.

    >>> network = BinaryNetwork(Topology.dense(3, 1), [1, 1, -1], [-1])
    >>> network.predict_outputs([[0.5, 2.0, -1.0], [1, -1, 1]])
    array([[ 1],
           [-1]], dtype=int8)
    """

    topology: Topology
    weight_spins: SpinVector
    bias_spins: SpinVector

    def __init__(self, topology: Topology, weight_spins: ArrayLike, bias_spins: ArrayLike) -> None:
        object.__setattr__(self, "topology", require_topology(topology))
        for name, values, known, of in (
            ("weight_spins", weight_spins, topology.known_weights, "weight"),
            ("bias_spins", bias_spins, topology.known_biases, "non-input node"),
        ):
            spins = require_spins(name, values, count=len(known), of=of).copy()
            other = np.flatnonzero(spins * known < 0)
            if len(other):
                raise AlphabetError(
                    f"{name} must agree with what the topology knows; got {spins[other[0]]:+d} at "
                    f"{other[0]}, where {known[other[0]]:+d} is known: see topology.with_known"
                )
            spins.setflags(write=False)
            object.__setattr__(self, name, spins)

    @classmethod
    def random(cls, topology: Topology, *, seed: int) -> "BinaryNetwork":
        """Draw every weight and bias uniformly, except the known ones."""
        generator = np.random.default_rng(require_count("seed", seed, least=0))
        weight_count = require_topology(topology).weight_count
        spins = 2 * generator.integers(2, size=weight_count + topology.neuron_count) - 1
        return cls(topology, *topology.with_known(spins[:weight_count], spins[weight_count:]))

    @classmethod
    def of_rows(
        cls, topology: Topology, weight_spins: SpinMatrix, bias_spins: SpinMatrix
    ) -> "Iterator[BinaryNetwork]":
        """Yield a network for each row of weights and of biases; all rows are checked at once."""
        size = {"columns": topology.neuron_count, "rows": len(weight_spins)}
        count = topology.weight_count
        weights = require_spin_matrix("weight_spins", weight_spins, columns=count, of="weight")
        biases = require_spin_matrix("bias_spins", bias_spins, of="non-input node", **size)
        has_known = topology.known_weights.any() or topology.known_biases.any()
        for row in zip(weights, biases, strict=True):
            if has_known:
                yield cls(topology, *row)
                continue
            network = object.__new__(cls)
            object.__setattr__(network, "topology", topology)
            for name, spins in zip(("weight_spins", "bias_spins"), row, strict=True):
                own = spins.copy()  # else one network would keep all rows in memory
                own.setflags(write=False)
                object.__setattr__(network, name, own)
            yield network

    def forward(self, inputs: ArrayLike) -> ForwardPass:
        """Run every example through the network; inputs are real and binarised by the sign rule.

        Returns ``activation_spins``, examples x nodes, and ``pre_activations``, examples x neurons.
        """
        return run_forward(self._plan, self.topology, self.input_spins(inputs))

    def predict_outputs(self, inputs: ArrayLike) -> SpinMatrix:
        """Return the output activations, one row per example.

        Large work is done in bits, by XNOR and popcount; see `packed`. The result is the same.
        """
        columns = self.topology.column_count
        matrix = require_matrix("inputs", inputs, columns=columns, of="input neuron")
        if is_worth_packing(self.topology, len(matrix)):
            return self._packed.predict_outputs(matrix)
        return self.forward(matrix).output_spins

    def packed(self, *, thread_count: int | None = None) -> PackedNetwork:
        """Return the network at one bit a weight, for prediction only; on all cores by default."""
        spins = self.weight_spins[np.newaxis], self.bias_spins[np.newaxis]
        return PackedNetwork.of(self.topology, *spins, thread_count=thread_count)

    def pre_activations(self, inputs: ArrayLike) -> NDArray[np.int32]:
        """Return bias plus weighted sum of every neuron, before the sign; pi in the paper."""
        return self.forward(inputs).pre_activations

    def pre_activations_at(self, activation_spins: SpinMatrix) -> NDArray[np.int32]:
        """Return the same for given activations of all nodes; cycles do not matter.

        The constant is +1 whatever is given.
        """
        topology, first = self.topology, self.topology.input_count
        neurons = np.arange(first, topology.node_count), activation_spins[:, first:]
        inputs = activation_spins[:, : topology.column_count]
        return run_forward(self._full_plan, topology, inputs, neurons).pre_activations

    def margins(self, inputs: ArrayLike) -> Margins:
        """Return the magnitudes of all pre-activations, with S1 and S2 of the paper."""
        return self.forward(inputs).margins

    def accuracy(self, inputs: ArrayLike, outputs: ArrayLike) -> float:
        """Return the fraction of examples with all outputs right."""
        return accuracy(self.predict_outputs(inputs), outputs)

    def settle(self, inputs: ArrayLike, **options: Any) -> Settled:
        """Search for consistent activations of one example; for networks with cycles.

        `inputs` is one vector. See `qubonn.network.settling.settle` for the options.
        """
        count = self.topology.column_count
        vector = require_real_vector("inputs", inputs, count=count, of="input neuron")
        return settle(self, sign(vector), **options)

    def robustness(
        self, inputs: ArrayLike, *, reading: Reading = "signs", **options: Any
    ) -> Robustness:
        """Return for each example the smallest number of input flips that changes its class.

        The class is the vector of output spins, or with `reading` "largest" the output of largest
        pre-activation, the earliest of equals. Bounds from margins and a greedy search come first
        and often agree; CP-SAT decides the rest. The options are ``exact=True``, whether it does;
        ``time_limit=None``, in seconds; ``seed=0``; ``worker_count=1``.

        >>> network = BinaryNetwork(Topology.dense(5, 1), [1, 1, 1, 1, 1], [1])
        >>> found = network.robustness([[1, 1, 1, 1, 1], [1, 1, 1, -1, -1]])
        >>> found.flips, found.is_exact
        (array([3, 1]), array([ True,  True]))
        """
        return robustness_of((self,), inputs, reading, **options)

    def summary(
        self,
        inputs: ArrayLike | None = None,
        outputs: ArrayLike | None = None,
        *,
        reading: Reading = "signs",
    ) -> Summary:
        """Return the network in numbers; with `inputs` also margins, with `outputs` accuracy.

        `reading` as in `robustness`.

        >>> BinaryNetwork.random(Topology.dense(9, 4, 2), seed=0).summary()
        BinaryNetwork 9 -> 4 -> 2
        inputs              9
        hidden              4
        outputs             2
        levels              2
        arcs               44
        weights            44
        biases              6
        bytes on a device  88
        """
        return summarise([self], inputs, outputs, reading, is_committee=False)

    def input_spins(self, inputs: ArrayLike) -> SpinMatrix:
        """Return real inputs binarised by the sign rule, after checking them."""
        columns = self.topology.column_count
        return sign(require_real_matrix("inputs", inputs, columns=columns, of="input neuron"))

    def draw(self, axes: Any = None, *, as_cells: bool = False, **options: Any) -> Any:
        """Draw the topology with arcs coloured by weight; return the axes. See `Topology.draw`.

        `as_cells` draws a cell for each weight instead, neurons x sources of each layer.
        """
        if not as_cells:
            return self.topology.draw(axes, weight_spins=self.weight_spins, **options)
        from qubonn.drawing.cells import draw_cells

        return draw_cells(self.topology, self.weight_spins, axes, **options)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write topology and parameters to a small file; read it back with ``qubonn.load``."""
        write_arrays(path, network_arrays(self))

    @cached_property
    def _packed(self) -> PackedNetwork:
        return self.packed()

    @cached_property
    def _plan(self) -> tuple[LevelPlan, ...]:
        return plan_levels(self.topology, self.weight_spins, self.bias_spins)

    @cached_property
    def _full_plan(self) -> tuple[LevelPlan, ...]:
        if self.topology.is_acyclic:
            return self._plan
        neurons = range(self.topology.input_count, self.topology.node_count)
        return plan_levels(self.topology, self.weight_spins, self.bias_spins, neurons)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, BinaryNetwork):
            return NotImplemented
        return (
            self.topology == other.topology
            and np.array_equal(self.weight_spins, other.weight_spins)
            and np.array_equal(self.bias_spins, other.bias_spins)
        )

    def __hash__(self) -> int:
        return hash((self.weight_spins.tobytes(), self.bias_spins.tobytes()))

    def __repr__(self) -> str:
        return f"BinaryNetwork({self.topology!r})"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()


def network_arrays(network: BinaryNetwork) -> dict[str, NDArray[Any]]:
    """Return the parts of a network's file."""
    return {
        **layered_arrays(network.topology),
        "weight_bits": np.packbits(network.weight_spins > 0),
        "bias_bits": np.packbits(network.bias_spins > 0),
    }


def layered_arrays(topology: Topology) -> dict[str, NDArray[Any]]:
    """Return the parts of a file that hold a topology: dense layers if it has no others, or arcs.

    For files with weights: they prove that numbers of layers are no mistake.
    """
    layers = topology.dense_layers()
    if layers is None or len(layers) > MOST_LAYERS or topology.node_count > MOST_NODES:
        return topology_arrays(topology)
    levels = [(layer.levels, layer.thresholds) for layer in layers]
    first = layers[0]
    more: dict[str, Any] = {} if first.step == 1 else {"step": first.step}
    if first.groups is not None:
        more["groups"] = first.groups
    document = _described(layer_shapes=topology.layer_shapes, levels=levels, **more)
    return document | _known_arrays(topology)


def topology_arrays(topology: Topology) -> dict[str, NDArray[Any]]:
    """Return the parts of a file that hold any topology."""
    if topology.node_count > MOST_NODES:
        raise RangeError(
            f"a network in a file must have at most {MOST_NODES:,} nodes; "
            f"got {topology.node_count:,}: it was not written"
        )
    description = {
        "inputs": topology.input_count,
        "outputs": topology.output_count,
        "nodes": topology.node_count,
        "weights": topology.weight_count,
        "layer_shapes": topology.layer_shapes,
    }
    if topology.has_constant:  # a key that older versions do not know
        description["has_constant"] = True
    arcs = {name: getattr(topology, name).astype(np.int32) for name in ARCS}
    return _described(**description) | arcs | _known_arrays(topology)


def _known_arrays(topology: Topology) -> dict[str, NDArray[Any]]:
    """Return the known weights and biases; nothing where there are none, as in older files."""
    known = {name: getattr(topology, name) for name in KNOWN}
    return {name: spins for name, spins in known.items() if spins.any()}


def _described(**description: Any) -> dict[str, NDArray[Any]]:
    document = json.dumps({"format": FORMAT, "version": VERSION, **description})
    return {"description": np.frombuffer(document.encode(), dtype=np.uint8)}


def require_topology(topology: object) -> Topology:
    """Return a topology; refuse anything else."""
    if not isinstance(topology, Topology):
        raise TopologyError(
            f"topology must be a Topology, for example Topology.dense(25, 3, 2); "
            f"got {type(topology).__name__}"
        )
    return topology
