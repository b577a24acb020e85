"""The graph of a network: nodes, arcs, and weights that several arcs may share."""

from qubonn.topology.graph import Thinning, Topology

__all__ = ["Thinning", "Topology"]
