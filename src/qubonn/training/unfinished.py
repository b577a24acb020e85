"""What a run without a final training gives: the whole networks that are there, judged.

TrainingProblem, networks -> TrainingResult.
"""

from collections.abc import Iterable

import numpy as np

from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Stop
from qubonn.training.result import TrainingResult


def judged(problem: TrainingProblem, networks: Iterable[BinaryNetwork]) -> TrainingResult:
    """Order networks that nobody trained on this problem by what they cost in it."""
    distinct = list(dict.fromkeys(networks))
    activations = [problem.assignment(network).activation_spins for network in distinct]
    energies = np.array(
        [
            float(problem.certify(*pair).terms.total)
            for pair in zip(distinct, activations, strict=True)
        ]
    )
    order = np.argsort(energies, kind="stable")
    return TrainingResult(
        problem,
        tuple(distinct[number] for number in order),
        tuple(activations[number] for number in order),
        energies[order],
        "no final training, networks of the last iterations",
        Stop.FINISHED,
    )
