"""A model card in numbers: what a network is made of, and how it does on data.

Network, inputs and outputs if there are any -> Summary.  Margins: paper, eq:sumofmargins and
eq:sumofmargins2.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from qubonn.checks import SpinMatrix, require_spin_matrix
from qubonn.encoding import Reading, require_reading
from qubonn.errors import RangeError
from qubonn.network.binary_network import BinaryNetwork
from qubonn.network.forward import Margins, largest
from qubonn.topology import Topology

MOST_OUTPUTS = 12  # shown one by one
Rows = Iterator[tuple[str, str]]


class Card(ABC):
    """Numbers with names, shown as aligned text or as a table of a notebook."""

    @property
    @abstractmethod
    def title(self) -> str:
        """What the numbers are about."""

    @abstractmethod
    def rows(self) -> Rows:
        """Give names and values, as text."""

    def __repr__(self) -> str:
        rows = list(self.rows())
        left, right = (max(len(row[side]) for row in rows) for side in (0, 1))
        lines = [f"{name:<{left}}  {value:>{right}}".rstrip() for name, value in rows]
        return "\n".join([self.title, *lines])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th style='text-align:left'>{escape(name)}</th>"
            f"<td style='text-align:right'>{escape(value)}</td></tr>"
            for name, value in self.rows()
        )
        return f"<table><caption>{escape(self.title)}</caption>{rows}</table>"


@dataclass(frozen=True)
class Size:
    """What a topology consists of; every weight and every bias is one bit."""

    inputs: int
    hidden: int
    outputs: int
    levels: int | None  # None with cycles
    arcs: int
    weights: int  # distinct ones
    biases: int

    @classmethod
    def of(cls, topology: Topology) -> "Size":
        """Count."""
        levels = topology.levels_or_none(())
        return cls(
            inputs=topology.input_count,
            hidden=topology.hidden_count,
            outputs=topology.output_count,
            levels=None if levels is None else len(levels),
            arcs=topology.arc_count,
            weights=topology.weight_count,
            biases=topology.neuron_count,
        )

    @property
    def is_acyclic(self) -> bool:
        """Whether a forward pass exists."""
        return self.levels is not None

    @property
    def bits(self) -> int:
        """Weights and biases together."""
        return self.weights + self.biases

    def rows(self) -> Rows:
        """Give names and values."""
        for name in ("inputs", "hidden", "outputs"):
            yield name, f"{getattr(self, name):,}"
        yield "levels", "cyclic" if self.levels is None else f"{self.levels:,}"
        for name in ("arcs", "weights", "biases"):
            yield name, f"{getattr(self, name):,}"


@dataclass(frozen=True)
class Scores:
    """How many examples are decided right as a whole, and how many for each output."""

    accuracy: float
    output_accuracies: tuple[float, ...]

    def rows(self) -> Rows:
        """Give names and values; of many outputs the worst and the best."""
        yield "accuracy", f"{self.accuracy:.3f}"
        if len(self.output_accuracies) > MOST_OUTPUTS:
            yield "  worst output", f"{min(self.output_accuracies):.3f}"
            yield "  best output", f"{max(self.output_accuracies):.3f}"
            return
        for number, accuracy in enumerate(self.output_accuracies):
            yield f"  output {number}", f"{accuracy:.3f}"


@dataclass(frozen=True, repr=False)
class Summary(Card):
    """A network in numbers; those of data are None where no data was given."""

    topology: Topology
    size: Size
    examples: int | None = None
    s1: int | None = None
    s2: int | None = None
    mean_margin: float | None = None  # of all neurons and examples: S2 divided by their number
    scores: Scores | None = None

    @property
    def bits(self) -> int:
        """One for each weight and each bias."""
        return self.size.bits

    @property
    def packed_bytes(self) -> int:
        """Bytes that hold all weights and biases, eight to a byte."""
        return -(-self.bits // 8)

    @property
    def accuracy(self) -> float | None:
        """The fraction of examples that are decided right."""
        return None if self.scores is None else self.scores.accuracy

    @property
    def title(self) -> str:
        """The layers, where they are known."""
        return "BinaryNetwork" + layers_of(self.topology)

    def rows(self) -> Rows:
        """Give names and values."""
        yield from self.size.rows()
        yield "parameter bits", f"{self.bits:,}"
        yield "bytes, packed", f"{self.packed_bytes:,}"
        if self.examples is not None:
            yield "examples", f"{self.examples:,}"
            yield "S1", f"{self.s1:,}"
            yield "S2", f"{self.s2:,}"
            yield "mean margin", f"{self.mean_margin:.2f}"
        if self.scores is not None:
            yield from self.scores.rows()


def summarise(
    network: BinaryNetwork,
    inputs: ArrayLike | None,
    outputs: ArrayLike | None,
    reading: Reading,
) -> Summary:
    """Count what the network is made of; with data, measure its margins and its accuracy."""
    require_inputs(inputs, outputs)
    require_reading(reading)
    topology = network.topology
    if inputs is None:
        return Summary(topology, Size.of(topology))
    done = network.forward(inputs)
    margins = Margins(np.abs(done.pre_activations))
    scores = None
    if outputs is not None:
        first = topology.outputs.start
        decided = done.activation_spins[:, first:]
        if reading == "largest":
            decided = largest(done.pre_activations[:, first - topology.input_count :])
        scores = score(decided, outputs)
    return Summary(
        topology,
        Size.of(topology),
        len(done.activation_spins),
        margins.s1,
        margins.s2,
        margins.s2 / margins.magnitudes.size,
        scores,
    )


def score(decided: SpinMatrix, outputs: ArrayLike) -> Scores:
    """Compare what is decided with what is wanted, example by example and output by output."""
    rows, columns = decided.shape
    wanted = require_spin_matrix("outputs", outputs, columns=columns, of="output neuron", rows=rows)
    is_right = decided == wanted
    return Scores(float(is_right.all(axis=1).mean()), tuple(is_right.mean(axis=0).tolist()))


def require_inputs(inputs: Any, outputs: Any) -> None:
    """Refuse outputs without the inputs they belong to."""
    if inputs is None and outputs is not None:
        raise RangeError("summary needs the inputs that the outputs belong to; got outputs alone")


def layers_of(topology: Topology) -> str:
    """Return the layers as text, empty where they are not known."""
    shapes: Sequence[Sequence[int]] = topology.layer_shapes or ()
    layers = " -> ".join("x".join(map(str, shape)) for shape in shapes)
    return f" {layers}" if layers else ""
