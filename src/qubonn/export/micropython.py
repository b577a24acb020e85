"""to_micropython: a model as one file of MicroPython, whole numbers only.

BinaryNetwork, Committee or QuboClassifier -> Python source.  Activations are the bits of one large
number; a neuron counts those of its sources that agree with its weights, all at a time.
"""

import os
from collections.abc import Sequence
from typing import Literal

import numpy as np

from qubonn import __version__
from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.export.c_text import template
from qubonn.export.circuit import Circuit, Sum, circuit_of
from qubonn.export.features import BIT, Features, Numbers, features_of
from qubonn.export.model import Classes, exported
from qubonn.storage import write_whole

LANE = 16  # bits of a partial count
MOST_SOURCES = 2**LANE - 2


def to_micropython(
    model: object,
    path: str | os.PathLike[str] | None = None,
    *,
    name: str = "model",
    inputs: Literal["bits"] | Numbers = "bits",
    scale: int = 1,
) -> str:
    """Return a model as a module of MicroPython, and write it to `path` if one is given.

    The model is a `BinaryNetwork`, a `Committee` or a fitted `QuboClassifier` without cycles. The
    module has ``pack``, which makes inputs out of spins, ``class_index``, ``outputs`` (of networks
    and committees) and, with `inputs`, ``binarise``: features of that type, `scale` times those
    that the classifier was fitted to, as in `to_c`.

    >>> import qubonn as qn
    >>> network = qn.BinaryNetwork.random(qn.Topology.dense(25, 3, 2), seed=0)
    >>> module = {}
    >>> exec(to_micropython(network), module)
    >>> module["outputs"](module["pack"]([1] * 25)), network.predict_outputs([[1] * 25])[0].tolist()
    ([1, 1], [1, 1])
    """
    parts = exported(model)
    features = features_of(parts, inputs, require_count("scale", scale))
    circuit = circuit_of(parts)
    written = _Numbers(circuit)
    source: str = template("model.py.in").render(
        title=name,
        version=__version__,
        model=parts,
        circuit=circuit,
        scale=scale,
        features=features,
        labels=_labels(parts.classes),
        levels=written.levels,
        votes=written.votes,
        masks=_listed([hex(mask) for mask in written.masks]),
        lane_bits=LANE * -(-max((mask.bit_length() for mask in written.masks), default=0) // LANE),
        **_tests(features),
    )
    if path is not None:
        write_whole(path, source.encode("ascii"))
    return source


class _Numbers:
    """The sums of a circuit as text; equal masks are one."""

    def __init__(self, circuit: Circuit) -> None:
        self.masks: dict[int, int] = {}  # numbers of masks
        self.levels = _listed(
            [
                _listed([f"({own.least_count}, {self._parts(own)})" for own in level], depth=1)
                for level in circuit.levels
            ]
        )
        votes = circuit.scores if circuit.has_class else circuit.votes
        self.votes = _listed(
            [
                f"({vote.constant if circuit.has_class else vote.least_count}, {self._parts(vote)})"
                for vote in votes
            ]
        )

    def _parts(self, sums: Sum) -> str:
        """Return what a sum counts: for each binary digit of its weights, sources and inversions.

        Its count is that of `Sum.least_count`.
        """
        if len(sums.sources) > MOST_SOURCES:
            raise RangeError(
                f"a neuron in MicroPython must have at most {MOST_SOURCES:,} sources; "
                f"got {len(sums.sources):,}"
            )
        found = []
        weights = np.array(sums.weights, dtype=np.int64)
        for digit in range(int(np.abs(weights).max(initial=0)).bit_length()):
            is_own = (np.abs(weights) >> digit & 1) == 1
            if not is_own.any():
                continue
            sources = np.array(sums.sources)[is_own]
            first = int(sources[0])
            mask = sum(1 << int(source) - first for source in sources)
            inverted = sum(1 << int(source) - first for source in sources[weights[is_own] < 0])
            number = self.masks.setdefault(mask, len(self.masks))
            found.append(f"({1 << digit}, {first}, {number}, {hex(inverted)})")
        return f"({''.join(part + ', ' for part in found).rstrip(' ')})"


def _listed(items: Sequence[str], depth: int = 0) -> str:
    """Return a tuple, an item a line."""
    lines = "".join(f"{'    ' * (depth + 1)}{item},\n" for item in items)
    return f"(\n{lines}{'    ' * depth})" if items else "()"


def _labels(classes: Classes | None) -> str:
    """Return the names of classes, in ASCII whatever they contain."""
    labels = () if classes is None else classes.labels
    return _listed([ascii(label.encode("utf-8", "backslashreplace").decode()) for label in labels])


def _tests(features: Features | None) -> dict[str, object]:
    if features is None:
        return {}
    columns, rules, bounds = (
        [test[place] for test in features.tests] for place in range(len(features.tests[0]))
    )
    missing = features.missing - (2 * features.missing if features.is_signed else 0)
    return {
        "columns": f"range({len(columns)})" if columns == [*range(len(columns))] else _row(columns),
        "rules": _row(rules),
        "bounds": _row(bounds),
        "missing": missing,
        "rule_is_bit": rules[0] == BIT,
    }


def _row(values: list[int]) -> str:
    """Return a tuple in one line, short if all values are equal."""
    if len(set(values)) == 1:
        return f"({values[0]},) * {len(values)}"
    return f"({', '.join(map(str, values))})"
