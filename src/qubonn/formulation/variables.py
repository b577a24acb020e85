"""The variables of a training problem, in the one order in which it becomes bits.

Structure, known bits of every example -> variable numbers and labels.

The order is fixed: weights by number; biases by neuron; activations by example, then node; count
bits by example, then node, then bit (lowest first); products by example, then arc. Weights, biases
and activations exist where they are not known, count bits below the top bit, products where source
and weight are free.
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
            self.example_count * len(self.structure.free_nodes),
            self.example_count * len(self.structure.count_neuron),
            self.example_count * len(self.structure.product_arcs),
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
        nodes = self.structure.free_nodes
        numbers[:, nodes] = self._block(self.starts[2], len(nodes))
        return numbers

    @cached_property
    def count_variables(self) -> NDArray[np.int64]:
        """Variable of each example and count bit: s_l in the paper."""
        return self._block(self.starts[3], len(self.structure.count_neuron))

    @cached_property
    def product_variables(self) -> NDArray[np.int64]:
        """Variable of each example and product arc: psi in the paper."""
        return self._block(self.starts[4], len(self.structure.product_arcs))

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

    def _block(self, start: int, width: int) -> NDArray[np.int64]:
        return start + np.arange(self.example_count * width).reshape(self.example_count, width)


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
            example, rank = divmod(number - activations, len(structure.free_nodes))
            return ("activation", example, int(structure.free_nodes[rank]))
        if number < products:
            example, rank = divmod(number - counts, len(structure.count_neuron))
            node = int(structure.count_neuron[rank]) + first_neuron
            return ("count", example, node, int(structure.count_place[rank]))
        example, rank = divmod(number - products, len(structure.product_arcs))
        return ("product", example, int(structure.product_arcs[rank]))
