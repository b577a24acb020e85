"""Read a network from a small file that describes itself and cannot run code.

The arrays of a .qubonn file -> BinaryNetwork, after checking all of them.  `BinaryNetwork.save`
writes them: a compressed archive of plain arrays, spins packed eight to a byte. Dense layers are
listed by size and levels, any other topology by its arcs, as all were in version 1. Known weights
and biases are listed too, where there are any.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import require_count
from qubonn.errors import FileFormatError, QubonnError
from qubonn.files import MOST_BYTES
from qubonn.network.binary_network import (
    ARCS,
    FORMAT,
    KNOWN,
    MOST_LAYERS,
    MOST_NODES,
    VERSION,
    BinaryNetwork,
)
from qubonn.storage import parse_json, shown
from qubonn.topology import Topology
from qubonn.topology.graph import require_groups
from qubonn.topology.layers import Dense, Shape, arc_count

Arrays = dict[str, NDArray[Any]]

MOST_ARCS = MOST_BYTES // 12  # as many as a file can list


def network_of(arrays: Arrays) -> BinaryNetwork:
    """Return the network whose parts `network_arrays` returned, after checking them."""
    return BinaryNetwork(*parameters_of(arrays))


def parameters_of(
    arrays: Arrays, prefix: str = "", *, by_member: bool = False
) -> tuple[Topology, NDArray[np.int8], NDArray[np.int8]]:
    """Return topology, weights and biases; the names of their parts begin with `prefix`."""
    names = f"{prefix}weight_bits", f"{prefix}bias_bits"
    description = description_of(arrays, "description", *names, kind=FORMAT, version=VERSION)
    if "levels" in description:
        shape, layers = _layers(description)
        # a few numbers must not build more arcs than the file holds weights
        _require_bits(names[0], arrays, _weight_count(shape, layers), by_member)
        topology = replace(Topology.of_layers(shape, layers), **_known(arrays))
    else:
        topology = topology_of(arrays)
    weights = unpacked(names[0], arrays, topology.weight_count, by_member=by_member)
    biases = unpacked(names[1], arrays, topology.neuron_count, by_member=by_member)
    return topology, weights, biases


def topology_of(arrays: Arrays, *others: str) -> Topology:
    """Return the topology from the parts of a file that must have `others` too."""
    parts = ("description", *ARCS, *others)
    description = description_of(arrays, *parts, kind=FORMAT, version=VERSION)
    for name in ARCS:
        if arrays[name].dtype.kind != "i" or arrays[name].ndim != 1:
            raise FileFormatError(f"{name} must be a vector of whole numbers")
    has_constant = description.get("has_constant", False)
    if type(has_constant) is not bool:
        raise FileFormatError(f"has_constant must be true or false; got {shown(has_constant)}")
    return Topology(
        input_count=_count(description, "inputs"),
        output_count=_count(description, "outputs"),
        node_count=_count(description, "nodes"),
        layer_shapes=_layer_shapes(description.get("layer_shapes")),
        has_constant=has_constant,
        source_of=arrays["source_of"],
        target_of=arrays["target_of"],
        weight_of=arrays["weight_of"],
        **_known(arrays),
    )


def _known(arrays: Arrays) -> dict[str, Any]:
    """Return the known weights and biases of a file that has any."""
    return {name: arrays[name] for name in KNOWN if name in arrays}


def unpacked(name: str, arrays: Arrays, count: int, *, by_member: bool = False) -> NDArray[np.int8]:
    """Return spins from a vector of bytes, or from a matrix with a row for each member."""
    _require_bits(name, arrays, count, by_member)
    bits = np.unpackbits(arrays[name], axis=-1, count=count)
    return (2 * bits.astype(np.int8) - 1).astype(np.int8)


def _require_bits(name: str, arrays: Arrays, count: int, by_member: bool) -> None:
    packed = arrays.get(name, np.zeros(0))
    if (
        packed.dtype != np.uint8
        or packed.ndim != 1 + by_member
        or packed.shape[-1] != -(-count // 8)
        or (by_member and not len(packed))
    ):
        how = " for each member, in a matrix of bytes" if by_member else ", eight to a byte"
        raise FileFormatError(f"{name} must hold {count} bits{how}")


@contextmanager
def reading(path: str | os.PathLike[str], kind: str) -> Iterator[None]:
    """Name the file and what it should be in errors about its parts."""
    try:
        yield
    except QubonnError as error:
        raise FileFormatError(
            f"{os.fspath(path)} is not a {kind} that can be read: {error}"
        ) from error


def description_of(
    arrays: Arrays, part: str, *others: str, kind: str, version: int
) -> dict[str, Any]:
    """Return the decoded description in `part`, if all parts are there and it is of this format."""
    missing = [name for name in (part, *others) if name not in arrays]
    if missing:
        hint = ": read a QUBO with qubonn.Qubo.load" if "couplings" in arrays else ""
        raise FileFormatError(
            f"it must have a part named {missing[0]!r}; got {sorted(arrays)!r:.100}{hint}"
        )
    description = parse_json("its description", arrays[part].tobytes())
    if not isinstance(description, dict) or description.get("format") != kind:
        raise FileFormatError(f"its description must say that its format is {kind!r}")
    found = description.get("version")
    if type(found) is not int or not 1 <= found <= version:
        raise FileFormatError(
            f"its version must be {version} or lower; got {shown(found)}: "
            "a newer qubonn may have written it"
        )
    return description


def _count(description: dict[str, Any], name: str) -> int:
    count = description.get(name)
    if type(count) is not int or not 0 <= count <= MOST_NODES:
        raise FileFormatError(f"{name} must lie in 0..{MOST_NODES}; got {shown(count)}")
    return count


def _layers(description: dict[str, Any]) -> tuple[Shape, list[Dense]]:
    """Return the shape of the inputs and the layers after them, if their numbers are moderate."""
    shapes, levels = _layer_shapes(description.get("layer_shapes")) or (), description["levels"]
    if (
        not isinstance(levels, list)
        or not 1 <= len(levels) == len(shapes) - 1 <= MOST_LAYERS
        or any(len(shape) > 1 for shape in shapes[1:])
        or not all(isinstance(pair, list) and len(pair) == 2 for pair in levels)
        or not all(type(n) is int and 2 <= n <= MOST_NODES for pair in levels for n in pair)
    ):
        raise FileFormatError(
            "levels must be two numbers from 2 on for each layer after the inputs, at most "
            f"{MOST_LAYERS:,} and dense; got {shown(levels)}"
        )
    layers = [Dense(size, *pair) for (size,), pair in zip(shapes[1:], levels, strict=True)]
    groups, step = description.get("groups"), _count({"step": 1} | description, "step")
    if groups is not None:
        groups = require_groups(groups, prod(shapes[0]))
    require_count("step", step)
    layers[0] = replace(layers[0], groups=groups, step=step)
    node_count, count = sum(map(prod, shapes)), arc_count(shapes[0], layers)
    if node_count > MOST_NODES or count > MOST_ARCS:
        raise FileFormatError(
            f"its layers must have at most {MOST_NODES:,} nodes and {MOST_ARCS:,} arcs; "
            f"got {node_count:,} and {count:,}"
        )
    return shapes[0], layers


def _weight_count(shape: Shape, layers: list[Dense]) -> int:
    shapes = [shape, *((layer.size,) for layer in layers)]
    return sum(
        layer.weight_count_from(before) for layer, before in zip(layers, shapes[:-1], strict=True)
    )


def _layer_shapes(value: object) -> tuple[tuple[int, ...], ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(
        isinstance(shape, list)
        and len(shape) in (1, 3)
        and all(type(size) is int and 0 < size <= MOST_NODES for size in shape)
        for shape in value
    ):
        raise FileFormatError("layer_shapes must be lists of one or three positive sizes")
    return tuple(tuple(shape) for shape in value)
