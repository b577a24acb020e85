"""Committee: networks of one topology that vote.

Networks -> Committee.  The paper anneals 1,000 replicas and keeps one; the others are free.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import SpinMatrix, require_count, require_spin_matrix
from qubonn.errors import FileFormatError, QubonnError, RangeError, TopologyError
from qubonn.network import BinaryNetwork, load_network
from qubonn.network.files import network_arrays, network_of
from qubonn.network.forward import sign
from qubonn.storage import read_arrays, write_arrays

__all__ = ["Committee", "load"]

Vote = Literal["majority", "sums"]


@dataclass(frozen=True, init=False, repr=False)
class Committee:
    """Networks that vote: still a network of -1 and +1, only wider.

    `vote` is "majority" (each output by itself, ties to -1: for bit codes) or "sums" (output
    pre-activations are added up and the largest output wins: for one-hot outputs).
    """

    members: tuple[BinaryNetwork, ...]
    vote: Vote

    def __init__(self, members: Sequence[BinaryNetwork], vote: Vote = "majority") -> None:
        networks = tuple(members)
        if not networks:
            raise RangeError("a committee needs at least one network; got none")
        if any(network.topology != networks[0].topology for network in networks):
            raise TopologyError("the members of a committee must have one topology")
        if vote not in ("majority", "sums"):
            raise RangeError(f"vote must be 'majority' or 'sums'; got {vote!r}")
        object.__setattr__(self, "members", networks)
        object.__setattr__(self, "vote", vote)

    def __len__(self) -> int:
        return len(self.members)

    def votes(self, inputs: ArrayLike) -> NDArray[np.int64]:
        """Return the sum over members of outputs, or of output pre-activations for "sums"."""
        first = self.members[0].topology.outputs.start
        total: NDArray[np.int64] | int = 0
        for member in self.members:
            done = member.forward(inputs)
            if self.vote == "majority":
                total = total + done.activation_spins[:, first:].astype(np.int64)
            else:
                neurons = done.pre_activations[:, first - member.topology.input_count :]
                total = total + neurons.astype(np.int64)
        return np.asarray(total)

    def predict_outputs(self, inputs: ArrayLike) -> SpinMatrix:
        """Return what the committee decides, one row of spins per example."""
        votes = self.votes(inputs)
        if self.vote == "majority":
            return sign(votes)
        spins = np.full(votes.shape, -1, dtype=np.int8)
        spins[np.arange(len(votes)), votes.argmax(axis=1)] = 1
        return spins

    def accuracy(self, inputs: ArrayLike, outputs: ArrayLike) -> float:
        """Return the fraction of examples for which every output is right."""
        predicted = self.predict_outputs(inputs)
        topology = self.members[0].topology
        wanted = require_spin_matrix(
            "outputs",
            outputs,
            columns=topology.output_count,
            of="output neuron",
            rows=len(predicted),
        )
        return float((predicted == wanted).all(axis=1).mean())

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all members to one file; read it back with ``qubonn.load``."""
        arrays = network_arrays(self.members[0])
        arrays["committee_weight_bits"] = np.packbits(
            np.stack([member.weight_spins > 0 for member in self.members]), axis=1
        )
        arrays["committee_bias_bits"] = np.packbits(
            np.stack([member.bias_spins > 0 for member in self.members]), axis=1
        )
        arrays["committee_vote"] = np.frombuffer(self.vote.encode(), dtype=np.uint8)
        write_arrays(path, arrays)

    def __repr__(self) -> str:
        return f"Committee({len(self)} x {self.members[0]!r}, {self.vote})"


def load(path: str | os.PathLike[str]) -> BinaryNetwork | Committee:
    """Read a network or a committee; anything else gives one clear error."""
    arrays = read_arrays(path)
    if "committee_vote" not in arrays:
        return load_network(path)
    try:
        first = network_of(arrays)
        rows = [
            _unpacked(arrays, name, count)
            for name, count in (
                ("committee_weight_bits", first.topology.weight_count),
                ("committee_bias_bits", first.topology.neuron_count),
            )
        ]
        if len(rows[0]) != len(rows[1]):
            raise FileFormatError("its members must have weights and biases each")
        members = [
            BinaryNetwork(first.topology, weights, biases)
            for weights, biases in zip(*rows, strict=True)
        ]
        vote = arrays["committee_vote"].tobytes().decode("ascii", "replace")
        return Committee(members, vote)  # type: ignore[arg-type]
    except QubonnError as error:
        raise FileFormatError(
            f"{os.fspath(path)} is not a committee that can be read: {error}"
        ) from error


def pick_diverse(outputs: NDArray[np.int8], count: int) -> NDArray[np.int64]:
    """Return members, best first, each as different as can be from those before it.

    `outputs` has a row for each candidate, best first: what it answers on some inputs. Starts with
    the best and adds the one whose least difference to the chosen ones is largest.
    """
    chosen = [0]
    distance = (outputs != outputs[0]).sum(axis=1)
    while len(chosen) < min(require_count("count", count), len(outputs)):
        distance[chosen] = -1
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, (outputs != outputs[chosen[-1]]).sum(axis=1))
    return np.array(chosen)


def _unpacked(arrays: dict[str, NDArray[np.uint8]], name: str, count: int) -> SpinMatrix:
    packed = arrays.get(name)
    if packed is None or packed.dtype != np.uint8 or packed.ndim != 2:
        raise FileFormatError(f"it must have a part named {name!r}, a matrix of bytes")
    if packed.shape[1] != -(-count // 8) or not len(packed):
        raise FileFormatError(f"{name} must hold {count} bits for each member")
    return (2 * np.unpackbits(packed, axis=1, count=count).astype(np.int8) - 1).astype(np.int8)
