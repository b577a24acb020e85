"""A topology as a networkx graph, and back.

Topology <-> MultiDiGraph.  The one file that imports networkx.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from qubonn.errors import MissingExtra, TopologyError

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology


def read_graph(
    graph: Any, inputs: Sequence[Any] | None, outputs: Sequence[Any] | None
) -> dict[str, Any]:
    """Return the arguments of Topology.from_arcs for a networkx graph; needs no networkx itself."""
    if not getattr(graph, "is_directed", bool)():
        raise TopologyError(
            f"a topology needs a directed networkx graph; got {type(graph).__name__}: "
            "use graph.to_directed() or build a DiGraph"
        )
    first = _with_role(graph, "input") if inputs is None else list(inputs)
    last = _with_role(graph, "output") if outputs is None else list(outputs)
    constants = _with_role(graph, "constant")
    if len(constants) > 1:
        raise TopologyError(f"at most one node may have role='constant'; got {constants!r:.60}")
    first += constants
    named = _different_nodes(graph, [*first, *last])
    if not last:
        raise TopologyError(
            "a topology needs outputs: list nodes as outputs=[...], or give them role='output'"
        )
    middle = [node for node in graph.nodes if node not in named]
    number = {node: index for index, node in enumerate([*first, *middle, *last])}
    edges = [(number[u], number[v], data) for u, v, data in graph.edges(data=True)]
    if all("arc_number" in data for *_, data in edges):
        edges.sort(key=lambda edge: edge[2]["arc_number"])
    weights = _weight_numbers([data for *_, data in edges])
    arcs = [(u, v, weight) for (u, v, _), weight in zip(edges, weights, strict=True)]
    counts = {"inputs": len(first), "outputs": len(last), "nodes": len(number)}
    known = [0] * (max(weights, default=-1) + 1)
    for weight, (*_, data) in zip(weights, edges, strict=True):
        spin = data.get("known_spin", 0)
        if spin and known[weight] not in (0, spin):
            raise TopologyError(
                f"edges that share a weight must have the same known_spin; got {known[weight]} and "
                f"{spin!r:.20} for weight {weight}"
            )
        known[weight] = spin or known[weight]
    biases = [graph.nodes[node].get("known_bias", 0) for node in [*middle, *last]]
    more = {"known_weights": known, "known_biases": biases, "has_constant": bool(constants)}
    return {"arcs": arcs, **counts, **more}


def to_graph(topology: "Topology") -> Any:
    """Return a MultiDiGraph; edges carry `arc_number` and `weight_number`.

    Where they are known, edges also carry `known_spin` and nodes `known_bias`.
    """
    try:
        import networkx
    except ImportError:
        raise MissingExtra.of("to_networkx", "networkx", "graph") from None
    graph = networkx.MultiDiGraph()
    for node in range(topology.node_count):
        role = "input" if node in topology.inputs else "hidden"
        if topology.has_constant and node == topology.column_count:
            role = "constant"
        graph.add_node(node, role="output" if node in topology.outputs else role)
    for neuron in np.flatnonzero(topology.known_biases):
        node = graph.nodes[int(topology.input_count + neuron)]
        node["known_bias"] = int(topology.known_biases[neuron])
    columns = (topology.source_of, topology.target_of, topology.weight_of)
    for arc, (source, target, weight) in enumerate(zip(*map(list, columns), strict=True)):
        spin = int(topology.known_weights[weight])
        known = {"known_spin": spin} if spin else {}
        numbers = {"arc_number": arc, "weight_number": int(weight)}
        graph.add_edge(int(source), int(target), **numbers, **known)
    return graph


def _different_nodes(graph: Any, named: list[Any]) -> set[Any]:
    seen: set[Any] = set()
    for node in named:
        if node not in graph or node in seen:
            raise TopologyError(
                "inputs and outputs must be different nodes of the graph, each once; got "
                f"{node!r}{' again' if node in graph else ', which is none'}"
            )
        seen.add(node)
    return seen


def _weight_numbers(edges: list[dict[str, Any]]) -> list[int]:
    """Return the weight of each edge: as given if that is 0, 1, 2, ..., else by appearance."""
    names = [data.get("weight_number", ("own", edge)) for edge, data in enumerate(edges)]
    try:
        number = {name: index for index, name in enumerate(dict.fromkeys(names))}
    except TypeError:
        text = "weight_number must be a number or a name, not a list or dict"
        raise TopologyError(text) from None
    if set(number) == set(range(len(number))):
        return [int(name) for name in names]
    return [number[name] for name in names]


def _with_role(graph: Any, role: str) -> list[Any]:
    return [node for node, data in graph.nodes(data=True) if data.get("role") == role]
