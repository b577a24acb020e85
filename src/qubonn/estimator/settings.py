"""The engine that QuboClassifier uses unless told otherwise, set by the size and shape of the data.

Problem -> ForwardAnnealing.  Found on draws from MNIST's training images and on splits of digits,
always scored on other training examples; docs/results.md has the measurements.
"""

from math import pow
from typing import Literal

import numpy as np

from qubonn.engines import ForwardAnnealing, Growing
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

__all__ = ["engine_for"]

SWEEPS = 40
HOTTEST, COLDEST = 0.03, 0.3  # factors of the measured temperatures; soft neurons need little heat
MANY = 10_000  # examples; from there on sweeps see batches
FIRST_BATCH = 5_000
MOST_LEAD = 0.8  # of the number of arcs into an output; twice that is the largest lead there is
CAP = 0.75  # of rewarded margins, in roots of the number of arcs into a hidden neuron


def engine_for(
    problem: TrainingProblem, outputs: Literal["threshold", "pairwise"], *, is_alone: bool
) -> ForwardAnnealing:
    """Return a short anneal; what it aims at depends on how many examples there are.

    A network that answers alone should be surer of few examples than one of many that vote.
    """
    count, topology = problem.example_count, problem.topology
    root = _root(topology, is_output=True)
    lead = min(_lead(count, is_alone=is_alone) * root, MOST_LEAD * root**2)
    last = max(FIRST_BATCH, count // 2)
    return ForwardAnnealing(
        replica_count=1,
        sweep_count=SWEEPS,
        outputs=outputs,
        target_margin=max(2, 2 * round(lead / 2)) if outputs == "pairwise" else None,
        margin_cap=max(2, round(CAP * _root(topology, is_output=False))),
        softness=_softness(count),
        batches=Growing(first=FIRST_BATCH, last=last) if count > MANY else None,
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


def _root(topology: Topology, *, is_output: bool) -> float:
    """Return the root of the usual number of arcs into a hidden neuron, or into an output."""
    nodes = topology.outputs if is_output else range(topology.input_count, topology.outputs.start)
    fan_in = topology.fan_in[nodes.start : nodes.stop]
    return float(np.median(fan_in)) ** 0.5 if len(fan_in) else 1.0
