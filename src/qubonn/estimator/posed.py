"""A training problem for a solver elsewhere: pose it, write it beside its QUBO, read it back.

X, y -> PosedProblem <-> .problem.npz (topology, examples, encoding); its networks -> classifier.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from qubonn.encoding.labels import require_classes
from qubonn.errors import AlphabetError, FileFormatError, RangeError
from qubonn.estimator.files import PARTS, VERSION, described_arrays, encoding_of, feature_names
from qubonn.estimator.members import Member
from qubonn.estimator.plan import Encoding, flattened
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.network.binary_network import topology_arrays
from qubonn.network.files import description_of, reading, topology_of
from qubonn.stopping import Stop
from qubonn.storage import read_arrays, shown, write_arrays

if TYPE_CHECKING:
    from qubonn.estimator.classifier import QuboClassifier

PROBLEM = "qubonn-problem"
SIDECAR = ".problem.npz"
TERMS = ("activation", "product", "margin", "output")  # that a file of a problem holds
STRENGTHS = ("product_strength", "margin_strength", "output_strength")  # of these


@dataclass(frozen=True, eq=False)
class PosedProblem:
    """A training problem with its encoding and the names of its columns, for a solver elsewhere."""

    encoding: Encoding
    problem: TrainingProblem
    column_count: int
    names: tuple[str, ...] | None = None
    target: str | None = None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything but the QUBO to one file without pickle; `load` reads it."""
        save_problem(self, path)

    @staticmethod
    def load(path: str | os.PathLike[str]) -> "PosedProblem":
        """Read what `save` wrote; anything else gives one clear error."""
        return load_problem(path)

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
        members = [
            Member.of(
                self.problem,
                self.encoding.book,
                number,
                network,
                energy=float(self.problem.certify(network).terms.total),
                solver="elsewhere",
                stop=Stop.FINISHED,
                sweep_count=None,
                seconds=0.0,
            )
            for number, network in enumerate(networks)
        ]
        return set_fitted(classifier, self.encoding, members, column_count=self.column_count)


def pose(
    X: ArrayLike,
    y: ArrayLike,
    *,
    hidden: Any = (3,),
    topology: Any = None,
    image_shape: Any = None,
    binariser: Any = "auto",
    label_code: Any = "gray_code",
    margin_strength: float = 0,
    product_strength: float = 1,
    output_strength: float | None = None,
    names: Sequence[str] | None = None,
    target: str | None = None,
) -> PosedProblem:
    """Write examples down as a training problem; ``.problem.qubo()`` is for an Ising machine.

    The arguments are those of `QuboClassifier` and `TrainingProblem`. Two defaults differ from the
    classifier's, because such machines have few variables: three hidden neurons, and a Gray code,
    which needs the fewest outputs. `names` and `target` are the names of the columns and of `y`.

    >>> posed = pose([[0.0, 1.0], [1.0, 0.0]], ["low", "high"], hidden=2)
    >>> posed.problem
    TrainingProblem(Topology(2 -> 2 -> 1: 5 nodes, 6 arcs, 6 weights), 2 examples)
    >>> posed.problem.qubo()
    Qubo(23 variables, 83 couplings, int64)
    """
    rows, shape = flattened(np.asarray(X), image_shape)
    numbers = np.asarray(rows)
    if numbers.ndim != 2 or numbers.dtype.kind not in "biuf" or not np.isfinite(numbers).all():
        raise AlphabetError("X must be a matrix of finite numbers, a row for each example")
    classes, class_of = require_classes(np.asarray(y))
    encoding = Encoding.fit(
        numbers,
        classes,
        shape,
        hidden=hidden,
        topology=topology,
        binariser=binariser,
        label_code=label_code,
    )
    problem = encoding.problem(
        numbers,
        class_of,
        product_strength=product_strength,
        margin_strength=margin_strength,
        output_strength=output_strength,
    )
    named = None if names is None else tuple(names)
    return PosedProblem(encoding, problem, numbers.shape[1], named, target)


def sidecar_of(path: str | os.PathLike[str]) -> str:
    """Return the name of the file that describes a QUBO file.

    >>> sidecar_of("problem.qubo")
    'problem.qubo.problem.npz'
    """
    name = os.fspath(path)
    return name if name.endswith(SIDECAR) else name + SIDECAR


def save_problem(posed: PosedProblem, path: str | os.PathLike[str]) -> None:
    """Write a posed problem without its QUBO to `path`, whole or not at all."""
    lost = [
        one.name for one in posed.problem.energy_terms if one.strength and one.name not in TERMS
    ]
    if lost:
        raise RangeError(
            f"a file of a problem holds the terms {', '.join(TERMS)}; this one also has "
            f"{', '.join(lost)}: leave these out, or keep the Python code that poses it"
        )
    description = {
        "n_features_in": posed.column_count,
        "target": posed.target,
        "strengths": {name: getattr(posed.problem, name) for name in STRENGTHS},
    }
    arrays = topology_arrays(posed.encoding.topology)
    arrays |= {"inputs": posed.problem.input_spins, "outputs": posed.problem.output_spins}
    arrays |= described_arrays("problem", PROBLEM, description, posed.encoding, posed.names)
    write_arrays(path, arrays)


def load_problem(path: str | os.PathLike[str]) -> PosedProblem:
    """Read what `save_problem` wrote; anything else gives one clear error."""
    arrays = read_arrays(path)
    with reading(path, "problem"):
        description = description_of(arrays, "problem", *PARTS, kind=PROBLEM, version=VERSION)
        topology = topology_of(arrays, "inputs", "outputs")
        if not topology.is_acyclic:
            raise FileFormatError("its network must have no cycles")
        encoding, width = encoding_of(arrays, description, topology)
        strengths = description.get("strengths")
        if not isinstance(strengths, dict) or set(strengths) != set(STRENGTHS):
            raise FileFormatError(f"strengths must be {', '.join(STRENGTHS)}")
        problem = TrainingProblem(topology, arrays["inputs"], arrays["outputs"], **strengths)
        names, target = feature_names(arrays, width), description.get("target")
        if target is not None and not isinstance(target, str):
            raise FileFormatError(f"target must be the name of a column; got {shown(target)}")
        named = None if names is None else tuple(names.tolist())
        return PosedProblem(encoding, problem, width, named, target)
