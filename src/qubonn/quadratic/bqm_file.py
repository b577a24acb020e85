"""Qubo <-> .bqm: dimod's own binary file, versions 1 and 2.

dimod writes it.  We read it ourselves, by the specification in the docstring of
``BinaryQuadraticModel.to_file``: dimod's reader trusts the bytes, and a variable number out of
range there ends the process.  dimod knows floats only.  So whole numbers come back as int64, and
where they were float64 we say so behind the end, where dimod does not look.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import FileFormatError
from qubonn.quadratic.file_labels import Label, plain_labels, read_labels
from qubonn.quadratic.ising import Ising
from qubonn.quadratic.qubo import Qubo, whole_if_exact
from qubonn.quadratic.strict_json import parse_json, shown
from qubonn.storage import read_limited, write_whole

MAGIC, LABELS_MAGIC = b"DIMODBQM", b"VARS"
FLOATS_STAY = b"qubonn: float64\n"
FLOAT_TYPES = {"float32": "<f4", "float64": "<f8"}
INDEX_TYPES = {"int32": "<i4", "int64": "<i8", "uint32": "<u4", "uint64": "<u8"}


def write_bqm(qubo: Qubo, path: str) -> None:
    """Write the QUBO as dimod does, labels included."""
    terms = np.concatenate([qubo.linear, qubo.couplings])
    if qubo.is_exact and not _fit_float(np.append(terms, qubo.offset)):
        raise FileFormatError(
            f"{path}: whole numbers must be exact in float64, which is all that dimod knows; "
            "use .npz, .qubo or .json"
        )
    with replace(qubo, labels=plain_labels(path, qubo.labels)).to_dimod().to_file() as stream:
        data: bytes = stream.read()
    would_turn_whole = terms.dtype.kind == "f" and _kind(terms, qubo.offset) == "i"
    write_whole(path, data + FLOATS_STAY if would_turn_whole else data)


def read_bqm(path: str) -> Qubo:
    """Read a model of either vartype that dimod or we wrote."""
    cursor = _Cursor(path, read_limited(path))
    header = _read_header(cursor)
    offset = float(cursor.take_array(header.bias, 1)[0])
    nodes = cursor.take_array([("start", header.start), ("bias", header.bias)], header.nodes)
    arcs = cursor.take_array([("end", header.end), ("bias", header.bias)], 2 * header.edges)
    labels = _read_labels(cursor, header)
    tail = cursor.rest()
    if tail not in (b"", FLOATS_STAY):
        raise FileFormatError(f"{path} must end after the model; got {len(tail)} bytes more")
    linear = nodes["bias"].astype(np.float64)
    rows, columns, couplings = _edges(path, nodes["start"], arcs)
    if not np.isfinite([offset, linear.sum(), couplings.sum()]).all():
        raise FileFormatError(f"{path}: biases and offset must be finite, and so must their sums")
    if header.is_spin:
        with np.errstate(over="ignore", invalid="ignore"):  # infinite sums are refused later
            return Ising(linear, rows, columns, couplings, offset, labels).to_qubo()
    everyone = np.arange(header.nodes)
    terms = np.concatenate([linear, couplings])
    return Qubo.of(
        np.concatenate([everyone, rows]),
        np.concatenate([everyone, columns]),
        terms if tail == FLOATS_STAY else whole_if_exact(terms, offset),
        variable_count=header.nodes,
        offset=offset,
        labels=labels,
    )


@dataclass(frozen=True)
class _Header:
    version: int
    nodes: int
    edges: int
    bias: str  # numpy types of the three kinds of numbers
    start: str
    end: str
    is_spin: bool
    variables: Any  # the labels in version 1, whether there are any in version 2


@dataclass
class _Cursor:
    """A place in the bytes of a file, and what must come next."""

    path: str
    data: bytes
    place: int = 0

    def take(self, count: int, what: str) -> bytes:
        if not 0 <= count <= len(self.data) - self.place:
            raise FileFormatError(
                f"{self.path} must have {count:,} bytes of {what} from byte {self.place:,} on; "
                f"got {len(self.data) - self.place:,}: it may be truncated"
            )
        self.place += count
        return self.data[self.place - count : self.place]

    def take_number(self, what: str) -> int:
        return int.from_bytes(self.take(4, what), "little")

    def take_array(self, dtype: str | list[tuple[str, str]], count: int) -> NDArray[Any]:
        packed: np.dtype[Any] = np.dtype(dtype)
        return np.frombuffer(self.take(count * packed.itemsize, "biases"), packed)

    def rest(self) -> bytes:
        return self.data[self.place :]


def _read_header(cursor: _Cursor) -> _Header:
    path = cursor.path
    if cursor.data[: len(MAGIC)] != MAGIC:
        raise FileFormatError(f"{path} must begin with {MAGIC.decode()}, as dimod's models do")
    cursor.take(len(MAGIC), "magic")
    major, minor = cursor.take(2, "version")
    if (major, minor) not in ((1, 0), (2, 0)):
        raise FileFormatError(f"{path} must have version 1.0 or 2.0; got {major}.{minor}")
    text = cursor.take(cursor.take_number("header length"), "header")
    fields = parse_json(f"{path}: its header", text)
    try:
        nodes, edges = fields["shape"]
        header = _Header(
            version=major,
            nodes=nodes,
            edges=edges,
            bias=FLOAT_TYPES[fields["dtype"]],
            start=INDEX_TYPES[fields["ntype"]],
            end=INDEX_TYPES[fields["itype"]],
            is_spin={"SPIN": True, "BINARY": False}[fields["vartype"]],
            variables=fields["variables"],
        )
    except (LookupError, TypeError, ValueError):
        raise FileFormatError(
            f"{path}: its header must name shape, dtype, itype, ntype, vartype and variables "
            f"as dimod does; got {shown(fields)}"
        ) from None
    if type(nodes) is not int or type(edges) is not int or not (0 <= nodes < 2**31 and edges >= 0):
        raise FileFormatError(f"{path}: its shape must be two counts; got {shown(fields['shape'])}")
    return header


def _read_labels(cursor: _Cursor, header: _Header) -> Sequence[Label]:
    if header.version == 1:
        return read_labels(cursor.path, header.variables, header.nodes)
    if type(header.variables) is not bool:
        raise FileFormatError(f"{cursor.path}: variables must be true or false in its header")
    if not header.variables:
        return range(header.nodes)
    if cursor.take(len(LABELS_MAGIC), "labels") != LABELS_MAGIC:
        raise FileFormatError(f"{cursor.path}: labels must begin with {LABELS_MAGIC.decode()}")
    text = cursor.take(cursor.take_number("labels"), "labels")
    decoded = parse_json(f"{cursor.path}: labels", text)
    return read_labels(cursor.path, decoded, header.nodes)


def _edges(
    path: str, starts: NDArray[Any], arcs: NDArray[Any]
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float64]]:
    """Return each edge once; in the file it stands in the neighbourhoods of both its ends."""
    count, ends, biases = len(starts), arcs["end"], arcs["bias"].astype(np.float64)
    bounds = np.append(np.minimum(starts, len(arcs)).astype(np.int64), len(arcs))
    degrees = np.diff(bounds)
    if bounds[0] != 0 or (degrees < 0).any() or (starts > len(arcs)).any():
        raise FileFormatError(f"{path}: neighbourhoods must follow each other without a gap")
    if (ends < 0).any() or (ends >= count).any():
        raise FileFormatError(f"{path}: neighbours must lie in 0..{count - 1}")
    owners = np.repeat(np.arange(count), degrees)
    places, mirrored = (
        owners * count + ends.astype(np.int64),
        ends.astype(np.int64) * count + owners,
    )
    if (np.diff(places) <= 0).any() or (owners == ends).any():
        raise FileFormatError(
            f"{path}: neighbours must stand once each, in increasing order, without the variable"
        )
    order = np.argsort(mirrored)
    if not (places == mirrored[order]).all() or not (biases == biases[order]).all():
        raise FileFormatError(f"{path}: both ends of an edge must list it, with one finite bias")
    upper = owners < ends
    return owners[upper].astype(np.int32), ends[upper].astype(np.int32), biases[upper]


def _fit_float(numbers: NDArray[np.int64]) -> bool:
    floats = numbers.astype(np.float64)
    return bool((np.abs(floats) < 2.0**63).all() and (floats.astype(np.int64) == numbers).all())


def _kind(terms: NDArray[np.float64], offset: float) -> str:
    return whole_if_exact(terms, offset).dtype.kind
