"""PosedProblem: labelled examples written down as a training problem, for a solver elsewhere.

X, y -> training problem, and what must be kept to turn its networks into a classifier.
"""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import require_count
from qubonn.encoding import BitPlanes, CodeBook, InputEncoder, Threshold
from qubonn.encoding.automatic import fit_binariser
from qubonn.encoding.labels import book_for, require_classes
from qubonn.errors import AlphabetError, QubonnError, RangeError, ShapeError, TopologyError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Stop
from qubonn.topology import Topology
from qubonn.training import Committee
from qubonn.training.committee import is_right

if TYPE_CHECKING:
    from qubonn.estimator.classifier import QuboClassifier


@dataclass(frozen=True, kw_only=True)
class Design:
    """Which network, how numbers and classes become spins, and the strengths of the energy.

    The first five are arguments of `QuboClassifier`; the label code is a Gray code unless told
    otherwise, because it needs the fewest outputs.
    """

    hidden: Any = (3,)
    topology: Any = None
    image_shape: Any = None
    binariser: Any = "auto"
    label_code: Any = "gray_code"
    margin_strength: float = 0
    product_strength: float = 1
    output_strength: float | None = None


@dataclass(frozen=True)
class Frame:
    """What turns numbers into spins, spins into outputs and outputs into classes."""

    binariser: InputEncoder
    book: CodeBook
    topology: Topology

    def problem(
        self, numbers: NDArray[Any], class_of: NDArray[np.int64], margin_strength: float
    ) -> TrainingProblem:
        """Return the training problem of examples of these classes."""
        return TrainingProblem(
            self.topology,
            self.binariser.encode(numbers),
            self.book.codewords[class_of],
            margin_strength=margin_strength,
        )


@dataclass(frozen=True, eq=False)
class PosedProblem:
    """A training problem with what stands around it: binariser, code book, names of columns."""

    frame: Frame
    problem: TrainingProblem
    column_count: int
    names: tuple[str, ...] | None = None
    target: str | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the QUBO as JSON; ``PosedProblem.load`` reads it."""
        from qubonn.estimator.files import save_problem

        save_problem(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "PosedProblem":
        """Read what `save` wrote; anything else gives one clear error."""
        from qubonn.estimator.files import load_problem

        return load_problem(path)

    def classifier(self, networks: Sequence[BinaryNetwork]) -> "QuboClassifier":
        """Return a fitted classifier whose committee these networks are, best first."""
        from qubonn.estimator.classifier import QuboClassifier  # scikit-learn takes a moment

        if not networks:
            raise RangeError("a classifier needs at least one network; got none")
        classifier = QuboClassifier(
            topology=self.frame.topology,
            binariser=self.frame.binariser,
            label_code=self.frame.book,
            margin_strength=self.problem.margin_strength,
            committee_size=len(networks),
        )
        classifier.n_features_in_ = self.column_count
        members = {n: self._member(n, network) for n, network in enumerate(networks)}
        return classifier._keep(self.frame, members, False)

    def _member(self, number: int, network: BinaryNetwork) -> Any:
        from qubonn.estimator.members import Member

        wanted = self.problem.output_spins
        alone = Committee([network], self.frame.book.reading)
        outputs = network.predict_outputs(self.problem.input_spins)
        return Member(
            number=number,
            network=network,
            energy=float(self.problem.certify(network).terms.total),
            violation_count=int((outputs != wanted).sum()),
            accuracy=float(
                is_right(alone, self.frame.book, self.problem.input_spins, wanted).mean()
            ),
            solver="elsewhere",
            stop=Stop.FINISHED,
            sweep_count=None,
            seconds=0.0,
        )


def pose(
    X: ArrayLike,
    y: ArrayLike,
    design: Design | None = None,
    *,
    names: Sequence[str] | None = None,
    target: str | None = None,
) -> PosedProblem:
    """Write examples down as a training problem; ``.problem.qubo()`` is for an Ising machine.

    >>> posed = pose([[0.0, 1.0], [1.0, 0.0]], ["low", "high"], Design(hidden=2))
    >>> posed.problem
    TrainingProblem(Topology(2 -> 2 -> 1: 5 nodes, 6 arcs, 6 weights), 2 examples)
    >>> posed.problem.qubo()
    Qubo(23 variables, 83 couplings, int64)
    """
    wanted = design or Design()
    rows, image_shape = flattened(np.asarray(X), wanted.image_shape)
    numbers = np.asarray(rows)
    if numbers.ndim != 2 or numbers.dtype.kind not in "biuf" or not np.isfinite(numbers).all():
        raise AlphabetError("X must be a matrix of finite numbers, a row for each example")
    classes, class_of = _classes(np.asarray(y))
    encoder = fit_binariser(
        wanted.binariser,
        numbers,
        is_image=image_shape is not None,
        is_planar=has_planes(wanted.topology),
    )
    book = book_for(wanted.label_code, classes)
    inputs = input_shape(encoder, numbers, image_shape)
    topology = topology_for(wanted.hidden, wanted.topology, inputs=inputs, outputs=book.spin_count)
    frame = Frame(encoder, book, topology)
    problem = TrainingProblem(
        topology,
        encoder.encode(numbers),
        book.codewords[class_of],
        product_strength=wanted.product_strength,
        margin_strength=wanted.margin_strength,
        output_strength=wanted.output_strength,
    )
    named = None if names is None else tuple(names)
    return PosedProblem(frame, problem, numbers.shape[1], named, target)


def _classes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.int64]]:
    try:
        return require_classes(labels, None)
    except QubonnError:
        raise
    except ValueError as error:  # scikit-learn's own words on what is no class
        raise AlphabetError(f"y must hold a class for each example: {error}") from None


def flattened(X: Any, image_shape: object) -> tuple[Any, tuple[int, ...] | None]:
    """Return images as rows of pixels, and the shape of one; other data as they are.

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


def has_planes(topology: object) -> bool:
    """Whether a notation asks for inputs in rows and columns."""
    return isinstance(topology, str) and "conv" in topology.lower()


def topology_for(
    hidden: object,
    topology: object,
    *,
    inputs: int | tuple[int, ...],
    outputs: int,
) -> Topology:
    """Return dense layers of `hidden` sizes, unless a topology or a notation is given.

    >>> topology_for((8, 4), None, inputs=10, outputs=2)
    Topology(10 -> 8 -> 4 -> 2: 24 nodes, 120 arcs, 120 weights)
    """
    if topology is None:
        size = prod(inputs) if isinstance(inputs, tuple) else inputs
        return Topology.dense(size, *_sizes(hidden), outputs)
    if isinstance(topology, str):
        return Topology.parse(topology, inputs=inputs, outputs=outputs)
    if not isinstance(topology, Topology):
        raise TopologyError(
            "topology must be a Topology, or a text such as 'conv(3x3)+fc(4)'; "
            f"got {type(topology).__name__}"
        )
    return _fitting(topology, prod(inputs) if isinstance(inputs, tuple) else inputs, outputs)


def input_shape(
    encoder: InputEncoder, X: NDArray[Any], image_shape: tuple[int, ...] | None
) -> int | tuple[int, ...]:
    """Return the number of inputs, or (channels, rows, columns) where images keep their shape."""
    spins = int(encoder.encode(X[:1]).shape[1])  # encoders of any width have no spin_count
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


def _sizes(hidden: object) -> tuple[int, ...]:
    if isinstance(hidden, (int, np.integer)):
        return (require_count("hidden", hidden),)
    if isinstance(hidden, str) or not isinstance(hidden, Iterable):
        raise RangeError(
            f"hidden must be a number of neurons, or one for each layer; got {hidden!r:.60}"
        )
    return tuple(require_count("hidden", size) for size in hidden)


def _fitting(topology: Topology, inputs: int, outputs: int) -> Topology:
    if (topology.input_count, topology.output_count) != (inputs, outputs):
        raise TopologyError(
            f"topology must have {inputs} inputs, one per spin of the binariser, and {outputs} "
            f"outputs, one per spin of the label code; got {topology!r}"
        )
    if not topology.is_acyclic:
        raise TopologyError(
            "topology must have no cycles, because a classifier answers by a forward pass; "
            f"got {topology!r}"
        )
    return topology
