"""Topology: a directed multigraph whose arcs may share weights.

Arcs, layers, text or a networkx graph -> Topology.  Paper, section "Model formulation".
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import blake2b
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import (
    IntVector,
    SpinMatrix,
    SpinVector,
    require_count,
    require_indices,
    require_memory,
)
from qubonn.drawing.cards import card, topology_facts
from qubonn.errors import RangeError, ShapeError, TopologyError
from qubonn.topology.layers import (
    Dense,
    Layer,
    Shape,
    arc_count,
    has_thresholds,
    layered_arcs,
    layered_known,
    read_notation,
)
from qubonn.topology.networkx import read_graph, to_graph

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Arcs = Iterable[Sequence[int]] | ArrayLike  # rows of two or three numbers
KNOWN = (-1, 0, 1)
BYTES_PER_NODE = 40  # of fan-in, levels and similar arrays


@dataclass(frozen=True, eq=False, repr=False)
class Topology:
    """A network without its parameters: which node reads which, through which weight.

    Nodes are numbered inputs first, then hidden nodes, then outputs. Arc `a` leads from node
    ``source_of[a]`` to node ``target_of[a]`` and carries weight ``weight_of[a]``; several arcs may
    carry one weight, run in parallel, skip layers or close cycles. Every node that is not an input
    has a bias of its own. Build one with `dense`, `parse`, `from_arcs` or `from_networkx`.

    Parallel arcs are a weight of several levels. With `has_constant` the last input node is always
    +1 and no column of the data: parallel arcs from it and the bias are an integer threshold.

    Weights and biases may be known, to be -1 or +1: they are no variables of a training problem.

    >>> topology = Topology.dense(25, 3, 2)
    >>> topology.node_count, topology.arc_count, topology.weight_count
    (30, 81, 81)
    >>> topology.predecessors(28)
    array([25, 26, 27])
    """

    input_count: int
    output_count: int
    node_count: int
    source_of: IntVector
    target_of: IntVector
    weight_of: IntVector
    layer_shapes: tuple[Shape, ...] | None = None  # what `dense` and `parse` know; for pictures
    has_constant: bool = False
    known_weights: SpinVector = None  # type: ignore[assignment]  # by number; 0 where it is free
    known_biases: SpinVector = None  # type: ignore[assignment]  # by neuron; None becomes zeros

    def __post_init__(self) -> None:
        self._require_sound_counts()
        most = {"source_of": self.node_count, "target_of": self.node_count, "weight_of": 2**63 - 1}
        for name, below in most.items():
            array = require_indices(name, getattr(self, name), below=below)
            object.__setattr__(self, name, _read_only(array.copy()))
        if not len(self.source_of) == len(self.target_of) == len(self.weight_of):
            raise ShapeError(
                "source_of, target_of and weight_of must have one entry per arc; got "
                f"{len(self.source_of)}, {len(self.target_of)} and {len(self.weight_of)}"
            )
        self._require_sound_graph()
        for name, count, of in (
            ("known_weights", self.weight_count, "weight"),
            ("known_biases", self.neuron_count, "non-input node"),
        ):
            known = _require_known(name, getattr(self, name), count, of)
            object.__setattr__(self, name, _read_only(known))

    # ---- constructors ----

    @classmethod
    def dense(
        cls,
        *layer_sizes: int,
        weight_levels: int | Sequence[int] = 2,
        threshold_levels: int | Sequence[int] = 2,
        input_groups: ArrayLike | None = None,
        threshold_step: int = 1,
    ) -> "Topology":
        """Connect each layer fully to the next; the first is the inputs, the last the outputs.

        Levels are a number, or one for each layer after the inputs: of n levels, a weight is n - 1
        parallel arcs, and a threshold is the bias and n - 2 arcs from the constant.

        With `input_groups`, the group of each input counted from 0, a neuron of the first layer has
        one weight for all inputs of a group, and reads the sum of their spins: a number if they are
        a thermometer of it. A level of its threshold is then `threshold_step` arcs.

        >>> Topology.dense(25, 3, 2, weight_levels=3, threshold_levels=[4, 2])
        Topology(25 -> 3 -> 2: 31 nodes, 168 arcs, 168 weights, one constant)
        >>> Topology.dense(6, 4, 2, input_groups=[0, 0, 0, 1, 1, 1])
        Topology(6 -> 4 -> 2: 12 nodes, 32 arcs, 16 weights)
        """
        if len(layer_sizes) < 2:
            raise TopologyError(
                f"dense needs at least two layer sizes, inputs and outputs; got {layer_sizes}"
            )
        inputs, *others = (require_count("a layer size", size) for size in layer_sizes)
        levels = _for_each_layer("weight_levels", weight_levels, len(others))
        thresholds = _for_each_layer("threshold_levels", threshold_levels, len(others))
        layers = list(map(Dense, others, levels, thresholds))
        groups = None if input_groups is None else require_groups(input_groups, inputs)
        step = require_count("threshold_step", threshold_step)
        layers[0] = replace(layers[0], groups=groups, step=step)
        return cls.of_layers((inputs,), layers)

    @classmethod
    def parse(cls, notation: str, *, inputs: int | Sequence[int], outputs: int) -> "Topology":
        """Read hidden layers in the paper's notation; a fully connected output layer follows.

        `inputs` is a number of nodes, or (rows, columns), or (channels, rows, columns). Layers may
        have ``levels`` of weights and ``thresholds``, as in `dense`, and convolutions a ``stride``
        and ``padding``; ``out()`` is the output layer. ``known=7`` draws the weights of a layer
        from a seed, ``known=##../#.#.`` gives them as # (+1) and . (-1) in the order of their
        numbers, and ``pool(2x2)`` is the majority of 2 x 2 nodes of a channel, ties to -1.

        >>> Topology.parse("conv(3x3x2) + fc(4)", inputs=(5, 5), outputs=2)
        Topology((1, 5, 5) -> (2, 3, 3) -> 4 -> 2: 49 nodes, 242 arcs, 98 weights)
        >>> Topology.parse("fc(4, levels=3) + out(thresholds=9)", inputs=9, outputs=2)
        Topology(9 -> 4 -> 2: 16 nodes, 94 arcs, 94 weights, one constant)
        >>> Topology.parse("conv(3x3x2) + pool(2x2) + fc(4)", inputs=(6, 6), outputs=2)
        Topology((1, 6, 6) -> (2, 4, 4) -> (2, 2, 2) -> 4 -> 2: ... 62 weights, 4 known)
        """
        return cls.of_layers(*read_notation(notation, inputs, outputs))

    @classmethod
    def of_layers(cls, shape: Shape, layers: Sequence[Layer]) -> "Topology":
        """Connect inputs of a shape to the first of the layers, and each layer to the next."""
        arcs, shapes = layered_arcs(shape, list(layers))
        sizes, constant = [prod(shape) for shape in shapes], has_thresholds(list(layers))
        counts = sizes[0] + constant, sizes[-1], sum(sizes) + constant
        return cls(*counts, *arcs, shapes, constant, *layered_known(shape, list(layers)))

    @classmethod
    def from_arcs(
        cls,
        arcs: Arcs,
        *,
        inputs: int,
        outputs: int,
        nodes: int | None = None,
        has_constant: bool = False,
        known_weights: ArrayLike | None = None,
        known_biases: ArrayLike | None = None,
    ) -> "Topology":
        """Build any graph from (source, target) or (source, target, weight) triples.

        The first `inputs` nodes are inputs, the last `outputs` nodes are outputs; `nodes` is one
        more than the largest node number unless given. Without weight numbers each arc has its own.
        With `has_constant` the last of the inputs is always +1. `known_weights`, by weight number,
        and `known_biases`, by non-input node, are -1 or +1 where they are known and 0 where free.

        >>> Topology.from_arcs([(0, 2), (1, 2), (2, 3), (3, 2)], inputs=2, outputs=1)
        Topology(2 inputs, 1 hidden, 1 output: 4 nodes, 4 arcs, 4 weights, cyclic)
        """
        table = _arc_table(arcs)
        largest = int(table[:, :2].max()) if table.size else -1
        least = require_count("inputs", inputs, least=0) + require_count("outputs", outputs)
        node_count = max(largest + 1, least) if nodes is None else require_count("nodes", nodes)
        weights = table[:, 2] if table.shape[1] == 3 else np.arange(len(table))
        arrays = table[:, 0], table[:, 1], weights
        known: Any = {"known_weights": known_weights, "known_biases": known_biases}
        return cls(inputs, outputs, node_count, *arrays, has_constant=has_constant, **known)

    @classmethod
    def from_networkx(
        cls,
        graph: Any,
        *,
        inputs: Sequence[Any] | None = None,
        outputs: Sequence[Any] | None = None,
    ) -> "Topology":
        """Read a networkx directed (multi)graph.

        `inputs` and `outputs` list graph nodes in order; without them, nodes whose attribute `role`
        is "input" or "output" are used. Nodes are numbered inputs, the one of role "constant" if
        any, others in graph order, outputs; arcs in the order of graph.edges, unless all have an
        attribute `arc_number`. Edges with the same attribute `weight_number` share a weight; an
        edge's `known_spin` and a node's `known_bias` are known.
        """
        return cls.from_arcs(**read_graph(graph, inputs, outputs))

    def to_networkx(self) -> Any:
        """Return a networkx MultiDiGraph; nodes have a `role`, edges a `weight_number`."""
        return to_graph(self)

    # ---- nodes and arcs ----

    @property
    def arc_count(self) -> int:
        """Number of connections, |A| in the paper."""
        return len(self.source_of)

    @cached_property
    def weight_count(self) -> int:
        """Number of distinct weights; fewer than arcs where arcs share."""
        return int(self.weight_of.max()) + 1 if self.arc_count else 0

    @cached_property
    def known_parameters(self) -> SpinVector:
        """Known weights, then known biases; 0 where they are free."""
        return _read_only(np.append(self.known_weights, self.known_biases))

    @cached_property
    def free_weights(self) -> IntVector:
        """Numbers of the weights that are not known."""
        return _read_only(np.flatnonzero(self.known_weights == 0))

    @cached_property
    def free_biases(self) -> IntVector:
        """Neurons, counted from 0, whose biases are not known."""
        return _read_only(np.flatnonzero(self.known_biases == 0))

    def with_known(self, weight_spins: Any, bias_spins: Any) -> tuple[Any, Any]:
        """Return weights and biases, a vector or a row for each network, with the known ones set.

        >>> topology = Topology.from_arcs(
        ...     [(0, 1), (0, 1)], inputs=1, outputs=1, known_weights=[0, 1]
        ... )
        >>> topology.with_known(np.array([[-1, -1]]), np.array([[-1]]))
        (array([[-1,  1]]), array([[-1]]))
        """
        weights, biases = self.known_weights, self.known_biases
        return np.where(weights, weights, weight_spins), np.where(biases, biases, bias_spins)

    @property
    def hidden_count(self) -> int:
        """Number of nodes that are neither inputs nor outputs."""
        return self.node_count - self.input_count - self.output_count

    @property
    def neuron_count(self) -> int:
        """Number of nodes with a bias: all but the inputs."""
        return self.node_count - self.input_count

    @property
    def inputs(self) -> range:
        """Input nodes, N_0 in the paper; the constant among them."""
        return range(self.input_count)

    @property
    def column_count(self) -> int:
        """Number of columns of the data: all inputs but the constant."""
        return self.input_count - self.has_constant

    def with_constant(self, input_spins: SpinMatrix) -> SpinMatrix:
        """Return the spins of all inputs: the columns of the data, and the constant if any."""
        if not self.has_constant:
            return input_spins
        ones = np.ones((*input_spins.shape[:-1], 1), dtype=input_spins.dtype)
        return np.concatenate([input_spins, ones], axis=-1)

    @property
    def outputs(self) -> range:
        """Output nodes, N_f in the paper."""
        return range(self.node_count - self.output_count, self.node_count)

    @cached_property
    def constant_arcs(self) -> IntVector:
        """Numbers of the arcs from the constant."""
        is_constant = (self.source_of == self.column_count) & self.has_constant
        return _read_only(np.flatnonzero(is_constant))

    def dense_layers(self) -> list[Dense] | None:
        """Return the layers after the inputs, if `of_layers` connects such layers in this way.

        Known weights and biases are not part of them.

        >>> Topology.dense(9, 4, 2, weight_levels=[3, 2]).dense_layers()
        [Dense(size=4, levels=3, thresholds=2), Dense(size=2, levels=2, thresholds=2)]
        """
        shapes = self.layer_shapes or ()
        sizes = list(map(prod, shapes))
        if len(shapes) < 2 or min(sizes) < 1 or any(len(shape) > 1 for shape in shapes[1:]):
            return None
        starts = sizes[0] + self.has_constant + np.cumsum([0, *sizes[1:-1]])
        layers = []
        for before, size, first in zip(sizes, sizes[1:], starts, strict=False):
            constant_count = int((self.target_of[self.constant_arcs] == first).sum())
            levels = (int(self.fan_in[first]) - constant_count) // before + 1
            layers.append(Dense(size, levels, constant_count + 2))
        layers[0] = self._with_groups(layers[0], sizes[0])
        return layers if self._is_connected_by(shapes[0], layers) else None

    def _with_groups(self, layer: Dense, input_count: int) -> Dense:
        """Return the first layer with the groups of inputs that share their weights, if any do."""
        arcs = self.arcs_into(self.input_count)
        weights, own_count = self.weight_of[arcs], input_count * (layer.levels - 1)
        constants = len(np.unique(weights[own_count:]))
        step = max(1, (layer.thresholds - 2) // max(1, constants))
        found = weights[: own_count : max(1, layer.levels - 1)] // max(1, layer.levels - 1)
        groups = None if len(np.unique(found)) == len(found) else tuple(found.tolist())
        return replace(layer, thresholds=constants + 2, groups=groups, step=step)

    @cached_property
    def levelled_weights(self) -> tuple[IntVector, IntVector]:
        """Return (starts, weights): the weights of several levels, ordered by their first numbers.

        Weights ``weights[starts[g]:starts[g + 1]]``, two or more, lie on exactly the same arcs; the
        sum of their spins is one weight. Arcs from the constant are thresholds and left out, and so
        are known weights.

        >>> Topology.dense(1, 2, weight_levels=3, threshold_levels=4).levelled_weights
        (array([0, 2, 4]), array([0, 1, 4, 5]))
        """
        pairs = self.target_of * self.node_count + self.source_of
        first_of = first_with_equal_arcs(self.weight_of, pairs)
        counts = np.bincount(first_of[self.free_weights], minlength=self.weight_count)
        is_levelled = (counts[first_of] > 1) & (self.known_weights == 0)
        is_levelled[self.weight_of[self.constant_arcs]] = False
        weights = np.flatnonzero(is_levelled)
        weights = weights[np.argsort(first_of[weights], kind="stable")]
        starts = np.flatnonzero(np.diff(first_of[weights], prepend=-1))
        return _read_only(np.append(starts, len(weights))), _read_only(weights)

    @cached_property
    def fan_in(self) -> IntVector:
        """Number of arcs into each node, |P_j| in the paper; parallel arcs count each."""
        return _read_only(np.bincount(self.target_of, minlength=self.node_count))

    @cached_property
    def arcs_by_target(self) -> tuple[IntVector, IntVector]:
        """Return (starts, arcs): the arcs into node j are ``arcs[starts[j]:starts[j + 1]]``."""
        starts = np.concatenate([[0], np.cumsum(self.fan_in)])
        return _read_only(starts), _read_only(np.argsort(self.target_of, kind="stable"))

    def arcs_into(self, node: int) -> IntVector:
        """Return the numbers of the arcs that end in `node`, in order."""
        if not 0 <= node < self.node_count:
            raise RangeError(f"node must lie in 0..{self.node_count - 1}; got {node}")
        starts, arcs = self.arcs_by_target
        return arcs[starts[node] : starts[node + 1]]

    def predecessors(self, node: int) -> IntVector:
        """Return the sources of the arcs into `node`, once per arc; P_j in the paper."""
        return self.source_of[self.arcs_into(node)]

    @cached_property
    def is_acyclic(self) -> bool:
        """Whether a forward pass exists."""
        return self._levels is not None

    @cached_property
    def _levels(self) -> tuple[IntVector, ...] | None:
        return self.levels_or_none(())

    def levels(self, cut: Iterable[int] = ()) -> tuple[IntVector, ...]:
        """Group the neurons so that each reads only inputs, cut nodes and earlier groups.

        Arcs that leave a node of `cut` are ignored: its activation is known beforehand.
        """
        cut = tuple(cut)
        levels = self.levels_or_none(cut) if cut else self._levels
        if levels is None:
            source, target = self.some_arc_on_a_cycle(cut)
            raise TopologyError(
                f"arc {source} -> {target} closes a cycle; the forward pass needs an acyclic "
                "graph: use network.settle(x) to look for consistent activations"
            )
        return levels

    def levels_or_none(self, cut: tuple[int, ...]) -> tuple[IntVector, ...] | None:
        """Return the levels, or None where a cycle avoids every node of `cut`."""
        arcs = self._uncut_arcs(cut)
        arcs = arcs[np.argsort(self.source_of[arcs], kind="stable")]
        starts = np.searchsorted(self.source_of[arcs], np.arange(self.node_count + 1))
        waiting = np.bincount(self.target_of[arcs], minlength=self.node_count)
        ready = np.arange(self.input_count)
        levels: list[IntVector] = []
        while len(ready) or not levels:
            targets = self.target_of[arcs[_ranges(starts[ready], starts[ready + 1])]]
            np.subtract.at(waiting, targets, 1)
            touched = np.unique(targets) if levels else np.arange(self.input_count, self.node_count)
            ready = touched[waiting[touched] == 0]
            levels.append(ready)
        return tuple(levels[:-1]) if sum(map(len, levels)) == self.neuron_count else None

    def some_arc_on_a_cycle(self, cut: tuple[int, ...] = ()) -> tuple[int, int]:
        """Return (source, target) of one arc on a cycle that avoids every node of `cut`."""
        arcs = self.arcs_on_cycles(cut)
        if not len(arcs):
            raise TopologyError("no arc lies on a cycle; see is_acyclic and levels")
        steps = self.target_of[arcs] - self.source_of[arcs]
        # an arc from a node to itself if there is one, else the one that leads furthest back
        arc = arcs[np.argmin(np.where(steps == 0, -self.node_count, steps))]
        return int(self.source_of[arc]), int(self.target_of[arc])

    def arcs_on_cycles(self, cut: tuple[int, ...] = ()) -> IntVector:
        """Return the numbers of all arcs on cycles that avoid every node of `cut`."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        arcs, shape = self._uncut_arcs(cut), (self.node_count, self.node_count)
        sources, targets = self.source_of[arcs], self.target_of[arcs]
        graph = coo_array((np.ones(len(arcs)), (sources, targets)), shape=shape)
        _, component = connected_components(graph, directed=True, connection="strong")
        is_inside: NDArray[np.bool_] = component[sources] == component[targets]
        return arcs[is_inside]

    def thin(self, dropped: Iterable[int]) -> "Thinning":
        """Remove the `dropped` nodes and every arc that touches one; outputs and constant stay.

        A weight is removed when its last arc is. A neuron that loses all predecessors stays, with
        its bias alone. Paper, section "A dropout algorithm".

        >>> thinning = Topology.dense(3, 2, 1).thin([0, 4])
        >>> thinning.topology
        Topology(2 inputs, 1 hidden, 1 output: 4 nodes, 3 arcs, 3 weights)
        >>> thinning.node_of, thinning.weight_of
        (array([1, 2, 3, 5]), array([1, 2, 6]))
        """
        nodes = require_indices("dropped nodes", dropped, below=self.node_count)
        outputs = nodes[nodes >= self.outputs.start]
        if len(outputs):
            raise TopologyError(
                f"outputs must stay; got output {outputs[0]} among the dropped nodes"
            )
        if self.has_constant and self.column_count in nodes:
            raise TopologyError(
                f"the constant must stay; got node {self.column_count} among the dropped nodes"
            )
        is_kept = np.ones(self.node_count, dtype=bool)
        is_kept[nodes] = False
        arcs = np.flatnonzero(is_kept[self.source_of] & is_kept[self.target_of])
        weights, weight_of = np.unique(self.weight_of[arcs], return_inverse=True)
        nodes_left, input_count = np.flatnonzero(is_kept), int(is_kept[: self.input_count].sum())
        number = np.cumsum(is_kept) - 1
        sources, targets = number[self.source_of[arcs]], number[self.target_of[arcs]]
        counts = input_count, self.output_count, len(nodes_left)
        arrays = sources, targets, weight_of
        neurons = nodes_left[input_count:] - self.input_count
        thinned = Topology(
            *counts,
            *arrays,
            has_constant=self.has_constant,
            known_weights=self.known_weights[weights],
            known_biases=self.known_biases[neurons],
        )
        return Thinning(
            topology=thinned,
            node_of=_read_only(nodes_left),
            neuron_of=_read_only(neurons),
            arc_of=_read_only(arcs),
            weight_of=_read_only(weights),
        )

    # ---- picture, equality and text ----

    def draw(self, axes: "Axes | None" = None, **options: Any) -> "Axes":
        """Draw with matplotlib and return the axes; see `qubonn.drawing.network`."""
        from qubonn.drawing.network import draw_topology

        return draw_topology(self, axes, **options)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Topology):
            return NotImplemented
        if self is other or hash(self) != hash(other):
            return self is other
        return self._digest == other._digest

    @cached_property
    def _digest(self) -> bytes:
        """All that makes topologies equal; they are compared, and looked up, often."""
        names = [field.name for field in fields(self) if field.name != "layer_shapes"]
        digest = blake2b()
        for values in (np.asarray(getattr(self, name)) for name in names):
            digest.update(repr((values.dtype.str, values.shape)).encode())
            digest.update(np.ascontiguousarray(values).data)
        return digest.digest()

    def __hash__(self) -> int:
        return hash((self.input_count, self.output_count, self.node_count, self.arc_count))

    def __repr__(self) -> str:
        if self.layer_shapes is None:
            inputs, outputs = _some(self.column_count, "input"), _some(self.output_count, "output")
            what = f"{inputs}, {self.hidden_count} hidden, {outputs}"
        else:
            what = " -> ".join(str(s[0]) if len(s) == 1 else str(s) for s in self.layer_shapes)
        counted = {"node": self.node_count, "arc": self.arc_count, "weight": self.weight_count}
        counts = ", ".join(_some(count, thing) for thing, count in counted.items())
        known = int(np.count_nonzero(self.known_weights))
        counts += f", {known} known" * (known > 0)
        constant, cyclic = ", one constant" * self.has_constant, ", cyclic" * (not self.is_acyclic)
        return f"Topology({what}: {counts}{constant}{cyclic})"

    def _repr_html_(self) -> str:
        return card("Topology", topology_facts(self), self)

    # ---- helpers ----

    def _is_connected_by(self, shape: Shape, layers: list[Dense]) -> bool:
        """Whether `of_layers` returns this topology; False where memory is too short to tell."""
        if arc_count(shape, layers) != self.arc_count or min(one.levels for one in layers) < 2:
            return False
        try:
            weights, biases = self.known_weights, self.known_biases
            found = Topology.of_layers(shape, layers)
            return replace(found, known_weights=weights, known_biases=biases) == self
        except RangeError:
            return False

    def _require_sound_counts(self) -> None:
        object.__setattr__(self, "has_constant", bool(self.has_constant))
        least_inputs = int(self.has_constant)
        for name, least in (("input_count", least_inputs), ("output_count", 1), ("node_count", 1)):
            noun = name.removesuffix("_count") + "s"
            count = require_count(noun, getattr(self, name), least=least)
            object.__setattr__(self, name, count)
        if self.hidden_count < 0:
            raise TopologyError(
                "nodes must be at least inputs + outputs = "
                f"{self.input_count + self.output_count}; got {self.node_count}"
            )
        require_memory(f"a graph of {self.node_count} nodes", BYTES_PER_NODE * self.node_count)

    def _require_sound_graph(self) -> None:
        into_inputs = np.flatnonzero(self.target_of < self.input_count)
        if len(into_inputs):
            arc = into_inputs[0]
            raise TopologyError(
                f"inputs must have no predecessors; arc {self.source_of[arc]} -> "
                f"{self.target_of[arc]} ends in an input: make that node a hidden node"
            )
        # more weights than arcs leave a gap among the first, so larger numbers need no counting
        unused = np.flatnonzero(np.bincount(np.minimum(self.weight_of, self.arc_count)) == 0)
        if len(unused):
            raise TopologyError(
                f"weights must be numbered 0, 1, 2, ... without gaps; weight {unused[0]} has no arc"
            )
        total, wanted = sum(map(prod, self.layer_shapes or ())), self.node_count - self.has_constant
        if self.layer_shapes is not None and total != wanted:
            raise TopologyError(f"layer_shapes must add up to {wanted} nodes; got {total}")

    def _uncut_arcs(self, cut: tuple[int, ...]) -> IntVector:
        nodes = require_indices("cut nodes", cut, below=self.node_count)
        return np.flatnonzero(~np.isin(self.source_of, nodes))


@dataclass(frozen=True, eq=False, repr=False)
class Thinning:
    """A thinned topology whose node, neuron, arc or weight i was number ``..._of[i]`` before.

    Neurons are the non-input nodes counted from 0, as in ``network.bias_spins``.
    """

    topology: Topology
    node_of: IntVector
    neuron_of: IntVector
    arc_of: IntVector
    weight_of: IntVector

    @property
    def input_columns(self) -> IntVector:
        """Columns of the original inputs that the thinned network still reads."""
        return self.node_of[: self.topology.column_count]

    def __repr__(self) -> str:
        return f"Thinning({self.topology!r})"


def first_with_equal_arcs(owner_of: IntVector, arc_of: IntVector) -> IntVector:
    """Return for each owner the first one whose arcs are the same; an owner has one or more.

    >>> first_with_equal_arcs(np.array([0, 0, 1, 2, 2]), np.array([7, 8, 7, 8, 7]))
    array([0, 1, 0])
    """
    counts = np.bincount(owner_of)
    first_of = np.arange(len(counts))
    if np.diff(np.sort(arc_of)).all():  # no arc has two owners
        return first_of
    sorted_arcs = arc_of[np.lexsort((arc_of, owner_of))]
    starts = np.cumsum(counts) - counts
    for count in np.unique(counts):
        owners = np.flatnonzero(counts == count)
        rows = sorted_arcs[starts[owners, None] + np.arange(count)]
        order = np.lexsort(rows.T)  # stable: the first of equal rows stays first
        is_new = np.ones(len(order), dtype=bool)
        is_new[1:] = (rows[order[1:]] != rows[order[:-1]]).any(axis=1)
        first_of[owners[order]] = owners[order[is_new]][np.cumsum(is_new) - 1]
    return first_of


def _ranges(starts: IntVector, ends: IntVector) -> IntVector:
    """Concatenate arange(start, end) for every pair."""
    lengths = ends - starts
    offsets = np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    return offsets + np.arange(lengths.sum())


def _arc_table(arcs: Arcs) -> NDArray[np.int64]:
    is_lazy = isinstance(arcs, Iterable) and not hasattr(arcs, "__array__")
    rows: Any = list(arcs) if is_lazy else arcs  # type: ignore[arg-type]
    try:
        table = np.asarray(rows)
    except ValueError:  # rows of unequal length
        table = np.zeros((1, 0))
    if table.ndim and len(table) == 0:
        return np.zeros((0, 2), dtype=np.int64)
    if table.ndim != 2 or table.shape[1] not in (2, 3) or table.dtype.kind not in "iu":
        raise ShapeError(
            "arcs must all be (source, target), or all (source, target, weight), in whole numbers; "
            f"got {rows!r:.60}"
        )
    if table.min() < 0:
        raise RangeError(f"arcs must name nodes and weights by numbers from 0; got {table.min()}")
    return table.astype(np.int64)


def _for_each_layer(name: str, levels: int | Sequence[int], layer_count: int) -> list[int]:
    each = list(levels) if isinstance(levels, Iterable) else [levels] * layer_count
    if len(each) != layer_count:
        raise ShapeError(
            f"{name} must be a number, or {layer_count} of them, one for each layer after the "
            f"inputs; got {levels!r:.60}"
        )
    return [require_count(name, one, least=2) for one in each]


def require_groups(groups: Any, input_count: int) -> tuple[int, ...]:
    """Return the group of each input, if they are counted from 0 without gaps."""
    of = require_indices("input_groups", groups, below=input_count)
    if len(of) != input_count or len(np.unique(of)) != of.max() + 1:
        raise ShapeError(
            f"input_groups must have a group for each of the {input_count} inputs, counted from 0 "
            f"without gaps; got {len(of)}, from {of.min(initial=0)} to {of.max(initial=0)}"
        )
    return tuple(of.tolist())


def _require_known(name: str, values: Any, count: int, of: str) -> SpinVector:
    """Return a copy of -1, 0 and +1 for each `of`; None becomes zeros."""
    if values is None:
        return np.broadcast_to(np.int8(0), (count,))  # takes no memory
    array = np.asarray(values)
    if array.shape != (count,) or array.dtype.kind not in "iuf" or not np.isin(array, KNOWN).all():
        raise ShapeError(
            f"{name} must be {count} values, one per {of}: -1 or +1, or 0 where it is free; got "
            f"{values!r:.60}"
        )
    return array.astype(np.int8)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _some(count: int, thing: str) -> str:
    return f"{count} {thing}{'' if count == 1 else 's'}"
