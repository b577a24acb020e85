"""The variables of a training problem, in the one order in which it becomes bits.

Structure, known bits of every example -> variable numbers and labels.

The order is fixed: weights by number; biases by neuron; activations by example, then node; count
bits by example, then node, then bit (lowest first); products by example, then arc. Weights, biases
and activations exist where they are not known, count bits below the top bit, products where source
and weight are free. Where variables are shared, later examples use those of the first one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, IntVector, SpinMatrix
from qubonn.formulation.structure import Structure
from qubonn.topology import Topology

Label = tuple[Any, ...]  # ("weight", w) ("bias", node) ("activation", example, node) ...


@dataclass(frozen=True, eq=False, repr=False)
class Variables:
    """Numbers of all variables of a training problem.

    ``known_bits`` has a row per example and a column per node; columns of nodes that are not known
    hold zeros.
    """

    structure: Structure
    known_bits: BitMatrix
    example_weights: NDArray[Any] | None = None  # factors of the examples' energies; None: all 1
    is_shared: bool = False  # one variable where a forward pass gives examples the same bit

    @property
    def scale(self) -> Any:
        """The examples' weights as a column, to multiply matrices of examples x anything."""
        return 1 if self.example_weights is None else self.example_weights[:, None]

    def total(self, values: NDArray[Any]) -> int | float:
        """Return the sum of all values, a row for each example, times the examples' weights."""
        found: int | float = (self.scale * values).sum().item()
        return found

    @property
    def topology(self) -> Topology:
        """The network that is trained."""
        return self.structure.topology

    @property
    def example_count(self) -> int:
        """Number of examples, |K| in the paper."""
        return len(self.known_bits)

    # ---- where each kind begins ----

    @cached_property
    def starts(self) -> tuple[int, int, int, int, int, int]:
        """First number of weights, biases, activations, counts, products; then their total."""
        sizes = (
            len(self.topology.free_weights),
            len(self.topology.free_biases),
            *map(len, self.cells),
        )
        return tuple(accumulate(sizes, initial=0))  # type: ignore[return-value]

    @property
    def count(self) -> int:
        """Number of variables."""
        return self.starts[5]

    # ---- variable numbers ----

    @cached_property
    def weight_variables(self) -> IntVector:
        """Variable of each weight, -1 where it is known: v in the paper."""
        return self.structure.weight_variables

    @cached_property
    def bias_variables(self) -> IntVector:
        """Variable of each neuron's bias, -1 where it is known: d in the paper."""
        return self.structure.bias_variables

    @cached_property
    def activation_variables(self) -> NDArray[np.int64]:
        """Variable of each example and node, -1 where the activation is known: y in the paper."""
        numbers = np.full((self.example_count, self.topology.node_count), -1)
        numbers[:, self.structure.free_nodes] = self._block(0)
        return numbers

    @cached_property
    def count_variables(self) -> NDArray[np.int64]:
        """Variable of each example and count bit: s_l in the paper."""
        return self._block(1)

    @cached_property
    def product_variables(self) -> NDArray[np.int64]:
        """Variable of each example and product arc: psi in the paper."""
        return self._block(2)

    def parameter_spins(self, bits: BitMatrix) -> tuple[SpinMatrix, SpinMatrix]:
        """Return all weights and biases of assignments, one or a row for each; known ones too."""
        shape, topology = bits.shape[:-1], self.topology
        weights = np.zeros((*shape, topology.weight_count), dtype=np.int8)
        biases = np.zeros((*shape, topology.neuron_count), dtype=np.int8)
        first, last = self.starts[1:3]
        weights[..., topology.free_weights] = 2 * bits[..., :first] - 1
        biases[..., topology.free_biases] = 2 * bits[..., first:last] - 1
        return topology.with_known(weights, biases)

    @cached_property
    def labels(self) -> "Labels":
        """What each variable means."""
        return Labels(self)

    def __repr__(self) -> str:
        return f"Variables({self.count} of {self.example_count} examples)"

    # ---- which of them are shared ----

    @cached_property
    def first_alike(self) -> NDArray[np.int64]:
        """For each example and node, the first example with the same sum in every forward pass.

        A node agrees in two examples if all of its sources do, inputs and fixed outputs by their
        bits. A fixed output must also have the same bit itself. Nothing agrees where cycles remain.
        """
        topology, is_known = self.topology, self.structure.is_known
        first = np.repeat(np.arange(self.example_count)[:, None], topology.node_count, axis=1)
        outputs = np.array(topology.outputs)
        levels = topology.levels_or_none(tuple(outputs[is_known[outputs]].tolist()))
        values = self.known_bits.astype(np.int64)
        for node in np.concatenate(levels or [outputs[:0]]).tolist():
            sources = topology.source_of[topology.target_of == node]
            rows = np.column_stack([self.known_bits[:, node], values[:, sources]])
            _, rank, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
            first[:, node] = rank[group.reshape(-1)]
            if not is_known[node]:
                values[:, node] = first[:, node]
        return first

    @cached_property
    def cells(self) -> tuple[IntVector | range, ...]:
        """Flat places, by example, of the activations, counts and products with new variables."""
        if not self.is_shared:
            return tuple(range(self.example_count * len(nodes)) for nodes in self._nodes)
        examples = np.arange(self.example_count)[:, None]
        is_first = self.first_alike == examples
        return tuple(np.flatnonzero(is_first[:, nodes]) for nodes in self._nodes)

    @cached_property
    def _nodes(self) -> tuple[IntVector, IntVector, IntVector]:
        """The node of each activation and count bit of an example, the source of each product."""
        structure, topology = self.structure, self.topology
        neurons = topology.input_count + structure.count_neuron
        return structure.free_nodes, neurons, topology.source_of[structure.product_arcs]

    def place(self, kind: int, number: int) -> tuple[int, int]:
        """Return the example and the place in it of an activation, count bit or product."""
        cell = int(self.cells[kind][number - self.starts[2 + kind]])
        return divmod(cell, len(self._nodes[kind]))

    def _block(self, kind: int) -> NDArray[np.int64]:
        cells, nodes = self.cells[kind], self._nodes[kind]
        own = self.starts[2 + kind] + np.arange(len(cells))
        if not self.is_shared:
            return own.reshape(self.example_count, len(nodes))
        numbers = np.zeros((self.example_count, len(nodes)), dtype=np.int64)
        numbers.reshape(-1)[cells] = own
        return np.take_along_axis(numbers, self.first_alike[:, nodes], axis=0)


@dataclass(frozen=True, eq=False)
class Labels(Sequence[Label]):
    """The labels of all variables, computed on access.

    ``("weight", w)``, ``("bias", node)``, ``("activation", example, node)``,
    ``("count", example, node, bit)``, ``("product", example, arc)``.
    """

    variables: Variables

    def __len__(self) -> int:
        return self.variables.count

    @overload
    def __getitem__(self, number: int) -> Label: ...
    @overload
    def __getitem__(self, number: slice) -> list[Label]: ...
    def __getitem__(self, number: int | slice) -> Label | list[Label]:
        if isinstance(number, slice):
            return [self[i] for i in range(*number.indices(len(self)))]
        place = number + len(self) if number < 0 else int(number)
        if not 0 <= place < len(self):
            raise IndexError(f"variable numbers lie in 0..{len(self) - 1}; got {number}")
        return self._label(place)

    def _label(self, number: int) -> Label:
        variables, structure = self.variables, self.variables.structure
        weights, biases, activations, counts, products, _ = variables.starts
        if number < biases:
            return ("weight", int(variables.topology.free_weights[number - weights]))
        first_neuron = variables.topology.input_count
        if number < activations:
            neuron = int(variables.topology.free_biases[number - biases])
            return ("bias", neuron + first_neuron)
        if number < counts:
            example, rank = variables.place(0, number)
            return ("activation", example, int(structure.free_nodes[rank]))
        if number < products:
            example, rank = variables.place(1, number)
            node = int(structure.count_neuron[rank]) + first_neuron
            return ("count", example, node, int(structure.count_place[rank]))
        example, rank = variables.place(2, number)
        return ("product", example, int(structure.product_arcs[rank]))
