"""Outcome: what is measured of one run.

Networks that a run found, letters -> numbers.  Paper, tab:results-oneshot and tab:som-summary.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from qubonn.checks import SpinMatrix
from qubonn.datasets import letters
from qubonn.formulation import Terms, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.network.forward import sign

SMALL_COMMITTEE = 25


@dataclass(frozen=True)
class Temperatures:
    """The two temperatures of an anneal, in units of energy."""

    hottest: float
    coldest: float


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """One run: the network of lowest energy as the solver left it, and what its replicas add.

    Constraints and energies are those of the state that the solver returned; accuracies, S1 and S2
    are those of the network's forward pass. A committee is all feasible networks of the run, or
    all networks where none is feasible. Only `seconds` depends on where it ran.
    """

    seed: int
    training_accuracy: float
    test_accuracy: float  # on the first draw of test images
    draw_accuracies: tuple[float, ...]  # on every draw
    all_accuracy: float  # on all 1,200 images with two pixels inverted
    energy: float
    activation_penalty: int
    product_penalty: int
    margin_reward: int
    field_reward: float
    violation_count: int
    constraint_count: int
    s1: int
    s2: int
    state_s1: int  # of the activations that the solver left, right or wrong
    state_s2: int
    network_count: int  # distinct networks of the run
    feasible_count: int  # of them, those without a mistake on the training images
    feasible_accuracy: float | None  # test accuracy of the best feasible one
    committee_size: int
    committee_accuracy: float
    committee_training_accuracy: float
    committee_draw_accuracies: tuple[float, ...]
    small_committee_accuracy: float  # 25 of lowest energy
    hottest: float | None
    coldest: float | None
    seconds: float

    @property
    def is_feasible(self) -> bool:
        """Whether the state satisfies every constraint."""
        return self.violation_count == 0

    @property
    def unsatisfied(self) -> float:
        """Fraction of constraints that the state leaves unsatisfied."""
        return self.violation_count / self.constraint_count


@dataclass(frozen=True, eq=False)
class TwoPixelImages:
    """Every image with two pixels inverted, and which of them each draw has."""

    inputs: SpinMatrix  # 1,200 x 25
    outputs: SpinMatrix
    draws: tuple[NDArray[np.int64], ...]  # rows of `inputs`, 40 each

    def accuracies(self, is_right: NDArray[np.bool_]) -> tuple[float, ...]:
        """Fraction of right answers in each draw, from those to all images."""
        return tuple(float(is_right[draw].mean()) for draw in self.draws)


@cache
def two_pixel_images(data_seeds: tuple[int, ...]) -> TwoPixelImages:
    """Return all two-pixel images and the draws of the given seeds."""
    data = letters(seed=0)
    pairs = np.array(list(combinations(range(data.train_inputs.shape[1]), 2)))
    inputs = np.repeat(data.train_inputs, len(pairs), axis=0)
    rows = np.arange(len(inputs))[:, np.newaxis]
    inputs[rows, np.tile(pairs, (len(data.train_inputs), 1))] *= -1
    outputs = np.repeat(data.train_outputs, len(pairs), axis=0)
    place = {row.tobytes(): number for number, row in enumerate(inputs)}
    draws = tuple(
        np.array([place[image.tobytes()] for image in letters(seed=seed).test_inputs])
        for seed in data_seeds
    )
    return TwoPixelImages(inputs, outputs, draws)


@dataclass(frozen=True, eq=False)
class Found:
    """What a run leaves to be measured: networks, lowest energy first, and the state of the best.

    `terms` and `violation_count` are of that state; `activations` are its (examples x nodes).
    """

    problem: TrainingProblem
    networks: Sequence[BinaryNetwork]
    activations: ArrayLike
    terms: Terms
    violation_count: int


def measure(
    found: Found,
    images: TwoPixelImages,
    *,
    seed: int,
    temperatures: Temperatures | None,
    seconds: float,
) -> Outcome:
    """Measure the best network, the best feasible one, and their committee."""
    problem, network = found.problem, found.networks[0]
    inputs, outputs = problem.input_spins, problem.output_spins
    margins = network.margins(inputs)
    state_margins = problem.certify(network, found.activations).margins
    is_right = (network.predict_outputs(images.inputs) == images.outputs).all(axis=1)
    draws = images.accuracies(is_right)
    return Outcome(
        seed=seed,
        training_accuracy=network.accuracy(inputs, outputs),
        test_accuracy=draws[0],
        draw_accuracies=draws,
        all_accuracy=float(is_right.mean()),
        energy=float(found.terms.total),
        activation_penalty=found.terms.activation,
        product_penalty=found.terms.product,
        margin_reward=found.terms.margin,
        field_reward=float(found.terms.field),
        violation_count=found.violation_count,
        constraint_count=problem.size.constraints,
        s1=margins.s1,
        s2=margins.s2,
        state_s1=state_margins.s1,
        state_s2=state_margins.s2,
        **_replicas(found, images),
        hottest=temperatures.hottest if temperatures else None,
        coldest=temperatures.coldest if temperatures else None,
        seconds=seconds,
    )


def _replicas(found: Found, images: TwoPixelImages) -> dict[str, Any]:
    """What the other networks of the run are good for. Each network runs forward once a set."""
    inputs, outputs = found.problem.input_spins, found.problem.output_spins
    training = np.stack([network.predict_outputs(inputs) for network in found.networks])
    is_feasible = (training == outputs).all(axis=(1, 2))
    members = np.flatnonzero(is_feasible) if is_feasible.any() else np.arange(len(training))
    drawn = np.unique(np.concatenate(images.draws))
    drawn_inputs = images.inputs[drawn]
    answers = np.stack([found.networks[n].predict_outputs(drawn_inputs) for n in members.tolist()])

    def draw_accuracies(voter_count: int) -> tuple[float, ...]:
        is_right = np.zeros(len(images.inputs), dtype=bool)
        decided = _majority(answers[:voter_count])
        is_right[drawn] = (decided == images.outputs[drawn]).all(axis=1)
        return images.accuracies(is_right)

    draws = draw_accuracies(len(members))
    return {
        "network_count": len(training),
        "feasible_count": int(is_feasible.sum()),
        "feasible_accuracy": draw_accuracies(1)[0] if is_feasible.any() else None,
        "committee_size": len(members),
        "committee_accuracy": draws[0],
        "committee_training_accuracy": float(
            (_majority(training[members]) == outputs).all(axis=1).mean()
        ),
        "committee_draw_accuracies": draws,
        "small_committee_accuracy": draw_accuracies(SMALL_COMMITTEE)[0],
    }


def _majority(answers: NDArray[np.int8]) -> SpinMatrix:
    """What networks decide together, as `Committee` does: voters x images x outputs -> spins."""
    return sign(answers.sum(axis=0, dtype=np.int64))
