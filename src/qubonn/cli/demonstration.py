"""The whole road on the paper's letters: train one network, with margins, and a committee.

Number of a network, seed -> Demonstration; nothing is shown or written here.
"""

import time
from dataclasses import dataclass
from functools import cached_property

import numpy as np

import qubonn as qn
from qubonn.checks import SpinMatrix
from qubonn.datasets import Letters
from qubonn.estimator.plan import Design, PosedProblem, pose
from qubonn.training import TrainingResult

MARGIN = 0.02  # gamma
COMMITTEE = 25  # networks
NO_TARGET = -1e6  # below every energy: asks for reports every ten sweeps


@dataclass(frozen=True, eq=False)
class Run:
    """One training of all replicas: what it found, how the energy fell, how long it took."""

    posed: PosedProblem
    result: TrainingResult
    sweeps: tuple[int, ...]
    energies: tuple[float, ...]  # the lowest of all replicas, after so many sweeps
    seconds: float

    def committee(self, size: int) -> "qn.Committee":
        """Let the feasible networks of lowest energy vote; all, where none is feasible."""
        return self.result.committee(size)


@dataclass(frozen=True)
class Way:
    """A way to train, and what it reaches on the test images."""

    name: str
    accuracy: float
    explanation: str


@dataclass(frozen=True, eq=False)
class Demonstration:
    """Everything that a terminal or a page shows."""

    number: int
    letters: Letters
    plain: Run  # the paper's training, gamma 0
    margin: Run

    @property
    def topology(self) -> "qn.Topology":
        """The network's graph."""
        return self.plain.posed.problem.topology

    @cached_property
    def qubo(self) -> "qn.Qubo":
        """The QUBO of the training with margins."""
        return self.margin.posed.problem.qubo()

    @cached_property
    def voters(self) -> "qn.Committee":
        """The committee that is kept as the model."""
        return self.margin.committee(COMMITTEE)

    @cached_property
    def plain_voters(self) -> "qn.Committee":
        """The same without margins; smaller where fewer networks are feasible."""
        return self.plain.committee(COMMITTEE)

    def predicted(self, inputs: SpinMatrix, voter: "qn.BinaryNetwork | qn.Committee") -> list[str]:
        """Return the letters that somebody sees in images."""
        book = self.plain.posed.frame.book
        return [str(name) for name in book.decode(voter.predict_outputs(inputs))]

    @cached_property
    def ways(self) -> tuple[Way, ...]:
        """Single networks and committees, without and with margins, on the test images."""
        plain, margin = self.plain.result, self.margin.result
        typical = plain.feasible_networks or plain.networks
        return (
            Way(
                "one network, as in the paper",
                float(np.mean([self._accuracy(network) for network in typical])),
                f"mean of {len(typical)} networks without margins; "
                f"{len(plain.feasible_networks)} satisfy every constraint",
            ),
            Way(
                f"one network, margins {MARGIN:g}",
                self._accuracy(margin.network),
                "the network of lowest energy with the margin reward",
            ),
            Way(
                f"{len(self.plain_voters)} networks vote",
                self._accuracy(self.plain_voters),
                "networks of one run without margins: they cost nothing more",
            ),
            Way(
                f"{len(self.voters)} vote, margins {MARGIN:g}",
                self._accuracy(self.voters),
                "networks of one run with the margin reward: this is the model that is kept",
            ),
        )

    def _accuracy(self, voter: "qn.BinaryNetwork | qn.Committee") -> float:
        return voter.accuracy(self.letters.test_inputs, self.letters.test_outputs)


def demonstrate(number: int, seed: int) -> Demonstration:
    """Train a network of the paper on the letters in all ways."""
    qn.paper.topology(number)  # refuses numbers that the paper does not have
    letters = qn.datasets.letters(seed=seed)
    return Demonstration(
        number, letters, _run(letters, number, 0, seed), _run(letters, number, MARGIN, seed)
    )


def compile_engine() -> float:
    """Have the kernels compiled on a tiny problem; return the seconds that took."""
    start = time.perf_counter()
    tiny = qn.TrainingProblem(qn.Topology.dense(2, 1, 1), [[1, 1], [1, -1]], [[1], [-1]])
    qn.LiftedAnnealing(sweep_count=1).solve(tiny)
    return time.perf_counter() - start


def _run(letters: Letters, number: int, margin_strength: float, seed: int) -> Run:
    posed = _posed(letters, number, margin_strength)
    steps: list[tuple[float, float]] = []
    engine = qn.LiftedAnnealing()
    start = time.perf_counter()
    result = qn.train(
        posed.problem,
        engine,
        seed=seed,
        target_energy=NO_TARGET,
        progress=lambda step: steps.append((step.part, step.best_energy)),
    )
    seconds = time.perf_counter() - start
    sweeps = tuple(round(part * result.info["sweeps"]) for part, _ in steps)
    return Run(posed, result, sweeps, tuple(energy for _, energy in steps), seconds)


def _posed(letters: Letters, number: int, margin_strength: float) -> PosedProblem:
    book = qn.CodeBook(letters.train_labels, letters.train_outputs)
    rows, columns = letters.image_shape
    names = [
        f"row {row + 1} column {column + 1}" for row in range(rows) for column in range(columns)
    ]
    design = Design(
        topology=qn.paper.NOTATIONS[number],
        image_shape=letters.image_shape,
        binariser=qn.Threshold(0),
        label_code=book,
        margin_strength=margin_strength,
    )
    return pose(letters.train_inputs, letters.train_labels, design, names=names, target="letter")
