"""Remove nodes and remember where everything that is left came from.

Topology, nodes to drop -> smaller Topology with maps back.  Paper, section "A dropout algorithm".
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from qubonn.checks import IntVector, require_indices
from qubonn.errors import TopologyError

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology


@dataclass(frozen=True, eq=False)
class Thinning:
    """A thinned topology whose node, neuron, arc or weight i was number ``..._of[i]`` before.

    Neurons are the non-input nodes counted from 0, as in ``network.bias_spins``.
    """

    topology: "Topology"
    node_of: IntVector
    neuron_of: IntVector
    arc_of: IntVector
    weight_of: IntVector

    def __post_init__(self) -> None:
        for array in (self.node_of, self.neuron_of, self.arc_of, self.weight_of):
            array.setflags(write=False)

    @property
    def input_columns(self) -> IntVector:
        """Columns of the original inputs that the thinned network still reads."""
        return self.node_of[: self.topology.input_count]


def thin(topology: "Topology", dropped: Iterable[int]) -> Thinning:
    """Remove the `dropped` nodes and every arc that touches one; outputs stay.

    A weight is removed when its last arc is. A neuron that loses all predecessors stays, with its
    bias alone.

    >>> from qubonn import Topology
    >>> thinning = thin(Topology.dense(3, 2, 1), [0, 4])
    >>> thinning.topology
    Topology(2 inputs, 1 hidden, 1 output: 4 nodes, 3 arcs, 3 weights)
    >>> thinning.node_of, thinning.weight_of
    (array([1, 2, 3, 5]), array([1, 2, 6]))
    """
    nodes = require_indices("dropped nodes", dropped, below=topology.node_count)
    outputs = nodes[nodes >= topology.outputs.start]
    if len(outputs):
        raise TopologyError(f"outputs must stay; got output {outputs[0]} among the dropped nodes")
    is_kept = np.ones(topology.node_count, dtype=bool)
    is_kept[nodes] = False
    arcs = np.flatnonzero(is_kept[topology.source_of] & is_kept[topology.target_of])
    weights, weight_of = np.unique(topology.weight_of[arcs], return_inverse=True)
    new_number = np.cumsum(is_kept) - 1
    thinned = replace(
        topology,
        input_count=int(is_kept[: topology.input_count].sum()),
        node_count=int(is_kept.sum()),
        source_of=new_number[topology.source_of[arcs]],
        target_of=new_number[topology.target_of[arcs]],
        weight_of=weight_of,
        layer_shapes=None,
    )
    nodes_left = np.flatnonzero(is_kept)
    neurons_left = nodes_left[thinned.input_count :] - topology.input_count
    return Thinning(thinned, nodes_left, neurons_left, arcs, weights)
