"""From examples to a training problem: one way for `QuboClassifier.fit`, `pose` and the commands.

X, y -> Encoding (encoder, code book, topology) -> TrainingProblem.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix, require_count
from qubonn.encoding import BitPlanes, CodeBook, InputEncoder, Thermometer, Threshold
from qubonn.encoding.automatic import encoded, fit_binariser
from qubonn.encoding.labels import book_for
from qubonn.engines import InputShifts
from qubonn.errors import RangeError, ShapeError, TopologyError
from qubonn.estimator.designs import Design
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

if TYPE_CHECKING:  # imports scikit-learn, which models do not need
    from qubonn.estimator.examples import LabelledRows

MOST_SEGMENTS = 256  # of all columns together


@dataclass(frozen=True, repr=False)
class Encoding:
    """How numbers become input spins, inputs become outputs, and outputs classes."""

    binariser: InputEncoder
    book: CodeBook
    topology: Topology

    @classmethod
    def fit(
        cls,
        numbers: Any,
        classes: NDArray[Any],
        image_shape: tuple[int, ...] | None,
        hidden: Any,
        topology: Any,
        *,
        binariser: Any,
        label_code: Any,
        weight_levels: Any = 2,
        threshold_levels: Any = 2,
        segments: int | None = None,
        **spins: int,
    ) -> "Encoding":
        """Choose encoder, code book and topology; arguments are as `QuboClassifier` has them.

        `numbers` are a matrix, CSR or Cells. `spins` are the numbers of thresholds that
        `fit_binariser` may choose. If `threshold_levels` is None, a neuron's threshold has one
        level more than twice the inputs. With `segments` the thresholds of a column of numbers are
        at equal distances, and those of each of its segments share their weights. A network with
        convolutions needs one spin for each pixel and channel.
        """
        encoder = fit_binariser(
            binariser,
            numbers,
            is_image=image_shape is not None,
            is_planar=isinstance(topology, str) and "conv" in topology.lower(),
            is_even=segments is not None,
            **spins,
        )
        book = book_for(label_code, classes)
        inputs = _input_shape(encoder, numbers, image_shape)
        if threshold_levels is None:
            threshold_levels = wide_threshold(inputs)
        levels = {"weight_levels": weight_levels, "threshold_levels": threshold_levels}
        if segments is not None and isinstance(encoder, Thermometer):
            levels |= _groups(encoder, segments, weight_levels)
        return cls(encoder, book, _topology(hidden, topology, inputs, book.spin_count, **levels))

    def problem(
        self, numbers: Any, class_of: NDArray[np.int64], **strengths: Any
    ) -> TrainingProblem:
        """Return the training problem of examples of these classes."""
        inputs, outputs = encoded(self.binariser, numbers), self.book.codewords[class_of]
        return TrainingProblem(self.topology, inputs, outputs, **strengths)

    def shifts_of_spins(
        self, image_shape: tuple[int, ...] | None, shift: int
    ) -> InputShifts | None:
        """Return shifts of the spins of images; None without, or if a pixel is several spins."""
        if not shift or image_shape is None or prod(image_shape) != self.topology.column_count:
            return None
        return InputShifts(shape=image_shape, pixels=shift)

    def __repr__(self) -> str:
        spins = f"{self.topology.column_count} spins by {type(self.binariser).__name__}"
        return f"Encoding({spins}, {self.book.spin_count} for {len(self.book.classes)} classes)"


class Encodings:
    """The encodings of designs for the same examples; each is fitted, and its spins made, once."""

    def __init__(self, examples: "LabelledRows", topology: Any, **codes: Any) -> None:
        self.examples, self.topology, self.codes = examples, topology, codes
        self._found: dict[Design, Encoding] = {}
        self._spins: dict[tuple[int, int, int | None], SpinMatrix] = {}

    def of(self, design: Design) -> Encoding:
        """Return the encoding of a design."""
        layout, examples = design.layout, self.examples
        if layout not in self._found:
            self._found[layout] = Encoding.fit(
                examples.numbers_to_fit,
                examples.classes,
                examples.image_shape,
                layout.hidden,
                self.topology,
                **self.codes,
                weight_levels=layout.weight_levels,
                threshold_levels=layout.threshold_levels,
                all_spins=layout.spins,
                column_spins=layout.column_spins,
                segments=layout.segments,
            )
        return self._found[layout]

    def spins_of(self, design: Design) -> SpinMatrix:
        """Return the input spins of all examples."""
        key = design.spins, design.column_spins, design.segments
        if key not in self._spins:
            self._spins[key] = encoded(self.of(design).binariser, self.examples.numbers)
        return self._spins[key]

    def topology_of(self, design: Design) -> Topology:
        """Return the topology of a design."""
        return self.of(design).topology


def wide_threshold(inputs: int | tuple[int, ...]) -> int:
    """Return the levels of a threshold that follows the weights of all inputs."""
    return 2 * int(np.prod(inputs)) + 1


def _groups(encoder: Thermometer, segments: int, weight_levels: Any) -> dict[str, Any]:
    """Return groups of neighbouring thresholds of each column, and a step of thresholds.

    A column has fewer than `segments` groups if columns are many. The step is a sixteenth of the
    standard deviation of the pre-activations of random networks.
    """
    segments = max(1, min(segments, MOST_SEGMENTS // encoder.column_count))
    column_of = encoder.column_of
    counts = np.bincount(column_of, minlength=encoder.column_count)
    ranks = np.arange(len(column_of)) - np.append(0, np.cumsum(counts))[column_of]
    groups = column_of * segments + ranks * segments // counts[column_of]
    width = np.bincount(groups)
    arcs = np.ravel(weight_levels)[0] - 1
    deviation = 0.4 * float(arcs * (width**2).sum()) ** 0.5
    groups = np.unique(groups, return_inverse=True)[1]
    return {"input_groups": groups, "threshold_step": max(1, round(deviation / 16))}


def flattened(X: Any, image_shape: object) -> tuple[Any, tuple[int, ...] | None]:
    """Return images as rows of pixels, and the shape of one; other data unchanged.

    Images are examples x rows x columns or examples x channels x rows x columns, or flat with an
    `image_shape`.
    """
    shape = None
    if image_shape is not None:
        sizes = image_shape if isinstance(image_shape, Iterable) else ()
        shape = tuple(require_count("image_shape", size) for size in sizes)
        if len(shape) not in (2, 3):
            raise ShapeError(
                "image_shape must be (rows, columns) or (channels, rows, columns); "
                f"got {image_shape!r:.60}"
            )
    if getattr(X, "ndim", 2) in (3, 4) and len(X):
        own = tuple(np.shape(X)[1:])
        if shape is not None and shape != own:
            raise ShapeError(f"X must hold images of shape {shape}; got shape {np.shape(X)}")
        return np.asarray(X).reshape(len(X), -1), own
    return X, shape


def _input_shape(
    encoder: InputEncoder, X: Any, image_shape: tuple[int, ...] | None
) -> int | tuple[int, ...]:
    """Return the number of inputs, or (channels, rows, columns) where images keep their shape."""
    spins = int(encoded(encoder, X[:1]).shape[1])  # encoders of any width have no spin_count
    if image_shape is None:
        return spins
    if prod(image_shape) != X.shape[1]:
        raise ShapeError(
            f"X must have {prod(image_shape)} columns, one per pixel of {image_shape}; "
            f"got {X.shape[1]}"
        )
    if not isinstance(encoder, (Threshold, BitPlanes)):
        return spins
    channels, rows, columns = (1, *image_shape)[-3:]
    return (channels * (spins // X.shape[1]), rows, columns)


def _topology(
    hidden: object,
    topology: object,
    inputs: int | tuple[int, ...],
    outputs: int,
    **levels: Any,
) -> Topology:
    """Return dense layers of `hidden` sizes, unless a topology or a notation is given.

    >>> _topology((8, 4), None, 10, 2)
    Topology(10 -> 8 -> 4 -> 2: 24 nodes, 120 arcs, 120 weights)
    """
    if isinstance(topology, str):
        return Topology.parse(topology, inputs=inputs, outputs=outputs)
    input_count = prod(inputs) if isinstance(inputs, tuple) else inputs
    if topology is None:
        return Topology.dense(input_count, *layer_sizes(hidden), outputs, **levels)
    if not isinstance(topology, Topology):
        raise TopologyError(
            "topology must be a Topology, or a text such as 'conv(3x3)+fc(4)'; "
            f"got {type(topology).__name__}"
        )
    if (topology.column_count, topology.output_count) != (input_count, outputs):
        raise TopologyError(
            f"topology must have {input_count} inputs, one per spin of the binariser, and "
            f"{outputs} outputs, one per spin of the label code; got {topology!r}"
        )
    if not topology.is_acyclic:
        raise TopologyError(
            "topology must have no cycles, because a classifier predicts by a forward pass; "
            f"got {topology!r}"
        )
    return topology


def layer_sizes(hidden: object) -> tuple[int, ...]:
    """Return the sizes of hidden layers, given as one number or several."""
    sizes = (hidden,) if isinstance(hidden, (int, np.integer)) else hidden
    if isinstance(sizes, str) or not isinstance(sizes, Iterable):
        raise RangeError(
            f"hidden must be 'auto', a number of neurons, or one for each layer; got {hidden!r:.60}"
        )
    return tuple(require_count("hidden", size) for size in sizes)
