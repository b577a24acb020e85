"""Somebody else's samples of a problem's QUBO -> networks, repaired where that can be done.

Problem, Samples -> Decoding.  A state that breaks constraints still says which weights and biases
it stands for: their forward pass may break fewer, and so may the state after a greedy descent.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qubonn.errors import TopologyError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.quadratic import Qubo, Samples
from qubonn.stopping import Stop
from qubonn.training.result import TrainingResult

MOST_SAMPLES = 1000  # the best ones; the others are not looked at


@dataclass(frozen=True)
class Repair:
    """What one sample became: violations as sampled, by forward pass, by descent and then forward.

    The better of the last two is kept; `is_descended` says which it was.
    """

    energy: int | float  # of the state as sampled
    sampled: int  # constraints that the state breaks
    forward: int  # that its network breaks
    descended: int  # that the network of the lower state breaks
    is_descended: bool

    @property
    def remaining(self) -> int:
        """Constraints that the network that was kept breaks."""
        return self.descended if self.is_descended else self.forward


@dataclass(frozen=True, eq=False)
class Decoding:
    """Networks of samples, best first, and what was done to each sample on the way."""

    result: TrainingResult
    repairs: tuple[Repair, ...]  # in the order of the samples
    sample_count: int

    @cached_property
    def feasible_as_sampled(self) -> int:
        """Samples that satisfied every constraint by themselves."""
        return sum(repair.sampled == 0 for repair in self.repairs)

    @cached_property
    def feasible_after_repair(self) -> int:
        """Samples whose network satisfies every constraint in the end."""
        return sum(repair.remaining == 0 for repair in self.repairs)

    @property
    def best_repair(self) -> Repair:
        """What happened to the sample with the fewest violations left, the first of them."""
        return min(self.repairs, key=lambda repair: repair.remaining)


def decode_samples(
    problem: TrainingProblem, samples: Samples, *, qubo: Qubo | None = None
) -> Decoding:
    """Read the best 1,000 samples as networks; keep the better of two repairs of each.

    The network of the state as it is, judged by its forward pass; or the network after the state
    has been lowered greedily, one bit at a time, to a minimum of the QUBO. `qubo` is the problem's,
    if it is at hand.

    >>> from qubonn.topology import Topology
    >>> problem = TrainingProblem(Topology.dense(2, 1), [[1, 1], [1, -1]], [[1], [-1]])
    >>> broken = Samples.of(problem.qubo(), [[1, 1, 0, 1, 1]])
    >>> decoding = decode_samples(problem, broken)
    >>> decoding.feasible_as_sampled, decoding.feasible_after_repair
    (0, 1)
    """
    from qubonn.samplers.refining import descend

    if not problem.topology.is_acyclic:
        raise TopologyError("samples are decoded by a forward pass, which needs no cycles")
    best = samples.lowest(MOST_SAMPLES).distinct()
    lowered = descend(problem.qubo() if qubo is None else qubo, best.bits)
    repairs, kept = [], []
    for bits, lower, energy in zip(best.bits, lowered, best.energies.tolist(), strict=True):
        repair, judged = _repaired(problem, bits, lower, energy)
        repairs.append(repair)
        kept.append(judged)
    return Decoding(_result(problem, kept), tuple(repairs), len(samples))


@dataclass(frozen=True, eq=False)
class _Judged:
    """A network with the violations and the energy that its forward pass implies."""

    network: BinaryNetwork
    violation_count: int
    energy: float

    @property
    def rank(self) -> tuple[int, float]:
        return self.violation_count, self.energy


def _repaired(
    problem: TrainingProblem, bits: NDArray[np.int8], lower: NDArray[np.int8], energy: float
) -> tuple[Repair, _Judged]:
    forward = _judged(problem, problem.decode(bits))
    descended = _judged(problem, problem.decode(lower))
    is_descended = descended.rank < forward.rank
    broken = problem.violations(bits).count + int(problem.terms(bits).output)
    repair = Repair(
        energy, broken, forward.violation_count, descended.violation_count, is_descended
    )
    return repair, descended if is_descended else forward


def _judged(problem: TrainingProblem, network: BinaryNetwork) -> _Judged:
    certificate = problem.certify(network)
    terms = certificate.terms
    return _Judged(network, certificate.violations.count + terms.output, float(terms.total))


def _result(problem: TrainingProblem, kept: list[_Judged]) -> TrainingResult:
    """Order by violations, then energy; keep each network once."""
    ordered = list(
        {judged.network: judged for judged in sorted(kept, key=lambda one: one.rank)}.values()
    )
    return TrainingResult(
        problem,
        tuple(judged.network for judged in ordered),
        tuple(problem.assignment(judged.network).activation_spins for judged in ordered),
        np.array([judged.energy for judged in ordered]),
        "samples from elsewhere",
        Stop.FINISHED,
    )
