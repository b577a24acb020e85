"""A training problem for a solver elsewhere: pose it, write it beside its QUBO, read it back.

X, y -> PosedProblem <-> .problem.npz (topology, examples, encoding); its networks -> classifier.
"""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from qubonn import __version__
from qubonn.encoding.automatic import as_table, is_sparse
from qubonn.encoding.cells import as_matrix, is_frame
from qubonn.encoding.labels import require_classes
from qubonn.errors import ContradictingExamples, FileFormatError, RangeError, ShapeError
from qubonn.estimator.files import described, described_arrays
from qubonn.estimator.members import Member, Recipe
from qubonn.estimator.plan import Encoding, flattened
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.network.binary_network import topology_arrays
from qubonn.network.files import reading, topology_of
from qubonn.storage import read_arrays, reader, shown, write_arrays

if TYPE_CHECKING:
    from qubonn.estimator.classifier import QuboClassifier

SIDECAR = ".problem.npz"
TERMS = ("activation", "product", "margin", "output")  # that a file of a problem holds
STRENGTHS = ("product_strength", "margin_strength", "output_strength")  # of these
FORMULATION = ("encoding", "share")  # how it becomes bits


@dataclass(frozen=True, eq=False, repr=False)
class PosedProblem:
    """A training problem with its encoding and the names of its columns, for a solver elsewhere."""

    encoding: Encoding
    problem: TrainingProblem
    column_count: int
    names: tuple[str, ...] | None = None
    target: str | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the QUBO to one file without pickle; `load` reads it."""
        terms = self.problem.energy_terms
        lost = [term.name for term in terms if term.strength and term.name not in TERMS]
        if lost:
            raise RangeError(
                f"a file of a problem holds the terms {', '.join(TERMS)}; this one also has "
                f"{', '.join(lost)}: leave these out, or keep the Python code that poses it"
            )
        description = {
            "n_features_in": self.column_count,
            "target": self.target,
            "strengths": {name: getattr(self.problem, name) for name in STRENGTHS},
            **{name: getattr(self.problem, name) for name in FORMULATION},
        }
        arrays = topology_arrays(self.encoding.topology)
        arrays |= {"inputs": self.problem.input_spins, "outputs": self.problem.output_spins}
        arrays |= described_arrays("problem", description, self.encoding, self.names)
        write_arrays(path, arrays)

    @classmethod
    @reader
    def load(cls, path: str | os.PathLike[str]) -> "PosedProblem":
        """Read what `save` wrote; anything else gives one clear error."""
        arrays = read_arrays(path, is_ours=True)
        with reading(path, "problem"):
            topology = topology_of(arrays, "inputs", "outputs")
            if not topology.is_acyclic:
                raise FileFormatError("its network must have no cycles")
            description, encoding, names = described(arrays, "problem", topology)
            strengths, target = description.get("strengths"), description.get("target")
            if not isinstance(strengths, dict) or set(strengths) != set(STRENGTHS):
                raise FileFormatError(f"strengths must be {', '.join(STRENGTHS)}")
            options = dict(strengths)
            options |= {name: description[name] for name in FORMULATION if name in description}
            problem = TrainingProblem(topology, arrays["inputs"], arrays["outputs"], **options)
            if target is not None and not isinstance(target, str):
                raise FileFormatError(f"target must be the name of a column; got {shown(target)}")
            named = None if names is None else tuple(names.tolist())
            return cls(encoding, problem, description["n_features_in"], named, target)

    def classifier(self, networks: Sequence[BinaryNetwork]) -> "QuboClassifier":
        """Return a fitted classifier with these networks as its committee, best first."""
        from qubonn.estimator.classifier import QuboClassifier, set_fitted  # imports scikit-learn

        if not networks:
            raise RangeError("a classifier needs at least one network; got none")
        classifier = QuboClassifier(
            topology=self.encoding.topology,
            binariser=self.encoding.binariser,
            label_code=self.encoding.book,
            margin_strength=self.problem.margin_strength,
            committee_size=len(networks),
        )
        problem, recipe = self.problem, Recipe(None, self.encoding.book)
        energies = [float(problem.certify(network).terms.total) for network in networks]
        members = [
            Member.of(problem, recipe, network, number=number, energy=energies[number])
            for number, network in enumerate(networks)
        ]
        return set_fitted(
            classifier,
            self.encoding,
            members,
            column_count=self.column_count,
            example_count=problem.example_count,
            version=__version__,
        )

    def __repr__(self) -> str:
        return f"PosedProblem({self.column_count} columns, {self.problem!r})"


def pose(
    X: Any,
    y: ArrayLike,
    *,
    hidden: Any = (3,),
    weight_levels: Any = 2,
    threshold_levels: Any = 2,
    topology: Any = None,
    image_shape: Any = None,
    binariser: Any = "auto",
    label_code: Any = "gray_code",
    margin_strength: float = 0,
    product_strength: float = 1,
    output_strength: float | None = None,
    encoding: str | int = "binary",
    share: bool = False,
    names: Sequence[str] | None = None,
    target: str | None = None,
) -> PosedProblem:
    """Turn examples into a training problem; ``.problem.qubo()`` is for an Ising machine.

    The arguments are those of `QuboClassifier` and `TrainingProblem`. Two defaults differ from the
    classifier's, because such machines have few variables: three hidden neurons, and a Gray code,
    which needs the fewest outputs. `names` and `target` are the names of the columns and of `y`.
    Examples that contradict each other, ``.problem.contradictions``, are named in a warning.

    >>> posed = pose([[0.0, 1.0], [1.0, 0.0]], ["low", "high"], hidden=2)
    >>> posed.problem
    TrainingProblem(Topology(2 -> 2 -> 1: 5 nodes, 6 arcs, 6 weights), 2 examples)
    >>> posed.problem.qubo()
    Qubo(23 variables, 83 couplings, int64)
    """
    rows, shape = flattened(X if is_frame(X) or is_sparse(X) else as_matrix(X), image_shape)
    numbers = as_table(rows)
    if len(numbers.shape) != 2 or not numbers.shape[0]:
        raise ShapeError(f"X must have a row for each example; got shape {numbers.shape}")
    classes, class_of = require_classes(np.asarray(y))
    codes = {"binariser": binariser, "label_code": label_code}
    levels = {"weight_levels": weight_levels, "threshold_levels": threshold_levels}
    plan = Encoding.fit(numbers, classes, shape, hidden, topology, **codes, **levels)
    strengths = zip(STRENGTHS, (product_strength, margin_strength, output_strength), strict=True)
    chosen = {**dict(strengths), "encoding": encoding, "share": share}
    problem = plan.problem(numbers, class_of, **chosen)
    if torn := problem.contradictions:
        hint = "give them other inputs by more spins for each column, or leave some out"
        warnings.warn(f"{torn}; {hint}", ContradictingExamples, stacklevel=2)
    named = None if names is None else tuple(names)
    return PosedProblem(plan, problem, numbers.shape[1], named, target)


def sidecar_of(path: str | os.PathLike[str]) -> str:
    """Return the name of the file that describes a QUBO file.

    >>> sidecar_of("problem.qubo")
    'problem.qubo.problem.npz'
    """
    name = os.fspath(path)
    return name if name.endswith(SIDECAR) else name + SIDECAR
