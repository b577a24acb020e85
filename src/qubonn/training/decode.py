"""decode_samples: samples of a problem's QUBO from any solver -> networks, repaired where possible.

Problem, Samples -> Decoding.  A state that violates constraints still has weights and biases: their
forward pass may violate fewer constraints, and so may the state after a greedy descent.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

from qubonn.errors import TopologyError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.quadratic import Qubo, Samples
from qubonn.quadratic.hardware import rounded
from qubonn.samplers import Sampler, SimulatedAnnealing
from qubonn.training.result import TrainingResult, unsatisfied_count

MOST_SAMPLES = 1000  # of lowest energy; the others are not decoded


@dataclass(frozen=True)
class Repair:
    """The constraints that one sample violates before and after two repairs."""

    sampled: int  # by the state as sampled
    forward: int  # by the forward pass of its network
    descended: int  # by the forward pass of the network after a descent
    is_descended: bool  # whether that network is the better one, and kept

    @property
    def remaining(self) -> int:
        """Constraints that the network that is kept violates."""
        return self.descended if self.is_descended else self.forward


@dataclass(frozen=True, eq=False)
class Decoding:
    """The networks of samples, best first, and the repair of each sample."""

    result: TrainingResult
    repairs: tuple[Repair, ...]  # in the order of the samples
    sample_count: int

    @cached_property
    def feasible_as_sampled(self) -> int:
        """Number of samples that satisfy every constraint as sampled."""
        return sum(repair.sampled == 0 for repair in self.repairs)

    @cached_property
    def feasible_after_repair(self) -> int:
        """Number of samples whose repaired network satisfies every constraint."""
        return sum(repair.remaining == 0 for repair in self.repairs)


def decode_samples(
    problem: TrainingProblem, samples: Samples, *, qubo: Qubo | None = None
) -> Decoding:
    """Read the best 1,000 samples as networks; keep the better of two repairs of each.

    One is the network of the state itself, evaluated by its forward pass; the other is the network
    of the state after a greedy descent, one bit at a time, to a minimum of the QUBO. `qubo` may be
    the problem's QUBO, to save building it again.

    >>> from qubonn.topology import Topology
    >>> problem = TrainingProblem(Topology.dense(2, 1), [[1, 1], [1, -1]], [[1], [-1]])
    >>> broken = Samples.of(problem.qubo(), [[1, 1, 0, 1, 1]])
    >>> decoding = decode_samples(problem, broken)
    >>> decoding.feasible_as_sampled, decoding.feasible_after_repair
    (0, 1)
    """
    from qubonn.samplers.base import descend

    if not problem.topology.is_acyclic:
        raise TopologyError("samples are decoded by a forward pass, which needs no cycles")
    best = samples.lowest(MOST_SAMPLES).distinct()
    lowered = descend(problem.qubo() if qubo is None else qubo, best.bits)

    @cache  # many states have one network
    def rank(network: BinaryNetwork) -> tuple[int, float]:
        """Return the constraints that its forward pass violates, and its energy."""
        certificate = problem.certify(network)
        return unsatisfied_count(certificate), float(certificate.terms.total)

    repairs, networks = [], []
    for bits, lower in zip(best.bits, lowered, strict=True):
        forward, descended = problem.decode(bits), problem.decode(lower)
        is_descended = rank(descended) < rank(forward)
        sampled = problem.violations(bits).count + int(problem.terms(bits).output)
        repairs.append(Repair(sampled, rank(forward)[0], rank(descended)[0], is_descended))
        networks.append(descended if is_descended else forward)
    result = TrainingResult.of_networks(
        problem, networks, "samples from elsewhere", fewest_violations_first=True
    )
    return Decoding(result, tuple(repairs), len(samples))


@dataclass(frozen=True)
class Precision:
    """What annealing a QUBO with coefficients of few bits gives."""

    bit_count: int | None  # of Ising coefficients, sign included; None: not rounded
    lowest_energy: float  # of the samples, by the exact QUBO
    feasible_as_sampled: int
    feasible_after_repair: int
    sample_count: int


def precision_curve(
    problem: TrainingProblem,
    bit_counts: Sequence[int | None] = (4, 6, 8, 10, 12, 16, None),
    *,
    sampler: Sampler | None = None,
    seed: int = 0,
) -> Iterator[Precision]:
    """Sample the QUBO rounded to each number of bits; count the samples that stay feasible.

    Without `sampler`, 100 replicas are annealed. Repairs use the exact QUBO.
    """
    qubo, chosen = problem.qubo(), sampler or SimulatedAnnealing(replica_count=100)
    for bit_count in bit_counts:
        asked = qubo if bit_count is None else rounded(qubo, bit_count)
        samples = Samples.of(qubo, chosen.sample(asked, seed=seed).bits)
        feasible = [problem.violations(bits).count == 0 for bits in samples.bits]
        repaired = decode_samples(problem, samples, qubo=qubo)
        remaining = {
            bits.tobytes(): repair.remaining == 0
            for bits, repair in zip(samples.distinct().bits, repaired.repairs, strict=True)
        }
        after = sum(remaining[bits.tobytes()] for bits in samples.bits)
        count = len(samples)
        yield Precision(bit_count, float(samples.best_energy), sum(feasible), after, count)
