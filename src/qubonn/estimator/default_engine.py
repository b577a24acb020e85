"""The default engine of QuboClassifier, set by the size and shape of the data.

Problem -> ForwardAnnealing.  Found on draws from MNIST's training images and on splits of digits,
always scored on other training examples; docs/results.md has the measurements.
"""

from math import pow

import numpy as np

from qubonn.encoding import Reading
from qubonn.engines import ForwardAnnealing, GrowingBatches
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

SWEEPS, QUENCH_SWEEPS = 40, 5
FEW = 40  # examples; fewer leave members that vote a little heat
HOTTEST, COLDEST = 0.03, 0.3  # factors of the measured temperatures; soft neurons need little heat
MANY = 10_000  # examples; from there on sweeps see batches
FIRST_BATCH = 5_000
MOST_LEAD = 0.8  # of the number of arcs into an output; twice that is the largest lead there is
CAP = 0.75  # of rewarded margins, in roots of the number of arcs into a hidden neuron


def engine_for(
    problem: TrainingProblem,
    reading: Reading,
    *,
    is_alone: bool,
    copy_count: int = 1,
) -> ForwardAnnealing:
    """Return a short anneal; its targets depend on the number of examples.

    A network that answers alone should be surer of few examples than one of many that vote. Where
    each example is there in several copies, moved a little, neither need be as sure.
    """
    all_count, topology = problem.example_count, problem.topology
    count, is_shifted = all_count // copy_count, copy_count > 1
    softness, lead = _softness(count), _lead(count, is_alone=is_alone)
    if is_shifted:
        factors = _shifted_factors(count, is_alone=is_alone)
        softness, lead = softness * factors[0], lead * factors[1]
    root = _root(topology, is_output=True)
    lead = min(lead * root, MOST_LEAD * root**2)
    last = max(FIRST_BATCH, all_count // 2)
    return ForwardAnnealing(
        replica_count=1,
        sweep_count=_shifted_sweeps(count) if is_shifted else SWEEPS,
        quench_sweeps=QUENCH_SWEEPS if is_alone or count >= FEW else 0,
        reading=reading,
        target_margin=max(2, 2 * round(lead / 2)) if reading == "largest" else None,
        margin_cap=max(2, round(CAP * _root(topology, is_output=False))),
        softness=softness,
        batches=GrowingBatches(first=FIRST_BATCH, last=last) if all_count > MANY else None,
        hottest=HOTTEST,
        coldest=COLDEST,
        thread_count=1,
    )


def _softness(example_count: int) -> float:
    """Return how soft neurons are: the fewer examples, the softer.

    >>> [round(_softness(count), 2) for count in (20, 400, 60_000)]
    [1.65, 0.91, 0.5]
    """
    return max(0.5, 3.0 * pow(example_count, -0.2))


def _lead(example_count: int, *, is_alone: bool) -> float:
    """Return the lead that the right class should have, in roots of an output's number of arcs.

    >>> [round(_lead(count, is_alone=False), 1) for count in (20, 400, 60_000)]
    [5.0, 2.5, 1.4]
    >>> [round(_lead(count, is_alone=True), 1) for count in (20, 400, 60_000)]
    [6.8, 3.4, 1.4]
    """
    return max(1.4, (13.5 if is_alone else 10.0) * pow(example_count, -0.23))


def _shifted_factors(example_count: int, *, is_alone: bool) -> tuple[float, float]:
    """Return softness and lead where each example is seen in several places, of those elsewhere."""
    if not is_alone:
        return 0.65, 0.55
    return (1.3, 0.85) if example_count < FEW else (1.0, 0.65)


def _shifted_sweeps(example_count: int) -> int:
    """Return the number of sweeps for shifted copies of examples.

    >>> [_shifted_sweeps(count) for count in (20, 60, 400)]
    [5, 12, 20]
    """
    return min(20, max(5, example_count // 5))


def _root(topology: Topology, *, is_output: bool) -> float:
    """Return the root of the usual number of arcs into a hidden neuron, or into an output."""
    nodes = topology.outputs if is_output else range(topology.input_count, topology.outputs.start)
    fan_in = topology.fan_in[nodes.start : nodes.stop]
    return float(np.median(fan_in)) ** 0.5 if len(fan_in) else 1.0
