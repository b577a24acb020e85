"""The graph of a network: nodes, arcs, and weights that several arcs may share."""

from qubonn.topology.graph import Topology
from qubonn.topology.thinning import Thinning, thin

__all__ = ["Thinning", "Topology", "thin"]
