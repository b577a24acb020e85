"""Read a network from a small file that describes itself and cannot run code.

The arrays of a .qubonn file -> BinaryNetwork, after checking all of them.  `BinaryNetwork.save`
writes them: a compressed archive of plain arrays, spins packed eight to a byte.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError, QubonnError
from qubonn.network.binary_network import ARCS, FORMAT, MOST_NODES, VERSION, BinaryNetwork
from qubonn.storage import parse_json, shown
from qubonn.topology import Topology


def network_of(arrays: dict[str, NDArray[Any]]) -> BinaryNetwork:
    """Return the network whose parts `network_arrays` returned, after checking them."""
    topology = topology_of(arrays, "weight_bits", "bias_bits")
    weights = unpacked("weight_bits", arrays, topology.weight_count)
    return BinaryNetwork(topology, weights, unpacked("bias_bits", arrays, topology.neuron_count))


def topology_of(arrays: dict[str, NDArray[Any]], *others: str) -> Topology:
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
    )


def unpacked(
    name: str, arrays: dict[str, NDArray[Any]], count: int, *, by_member: bool = False
) -> NDArray[np.int8]:
    """Return spins from a vector of bytes, or from a matrix with a row for each member."""
    packed = arrays.get(name, np.zeros(0))
    if (
        packed.dtype != np.uint8
        or packed.ndim != 1 + by_member
        or packed.shape[-1] != -(-count // 8)
        or (by_member and not len(packed))
    ):
        how = " for each member, in a matrix of bytes" if by_member else ", eight to a byte"
        raise FileFormatError(f"{name} must hold {count} bits{how}")
    return (2 * np.unpackbits(packed, axis=-1, count=count).astype(np.int8) - 1).astype(np.int8)


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
    arrays: dict[str, NDArray[Any]], part: str, *others: str, kind: str, version: int
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
    if description.get("version") != version:
        raise FileFormatError(
            f"its version must be {version}; got {shown(description.get('version'))}: "
            "a newer qubonn may have written it"
        )
    return description


def _count(description: dict[str, Any], name: str) -> int:
    count = description.get(name)
    if type(count) is not int or not 0 <= count <= MOST_NODES:
        raise FileFormatError(f"{name} must lie in 0..{MOST_NODES}; got {shown(count)}")
    return count


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
