"""The engine that `QuboClassifier` uses unless a solver is given.

TrainingProblem, reading -> ForwardAnnealing, set by the number of examples and the network's shape.
"""

from dataclasses import replace
from math import pow, prod

import numpy as np

from qubonn.encoding import Reading
from qubonn.engines import ForwardAnnealing, GrowingBatches, InputShifts, forward_packing
from qubonn.engines.credit import CreditKind, uses_soft_credit
from qubonn.engines.layerwise import stages_of
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

# The default engine. Set on draws from MNIST's training images and on splits of digits, scored on
# other training examples; docs/results.md has the measurements.
SWEEPS, QUENCH_SWEEPS = 40, 5
FEW = 40  # examples; with fewer, members of a committee keep a little heat
HOTTEST, COLDEST = 0.03, 0.3  # factors of the measured temperatures; soft neurons need little heat
LEAST_SOFTNESS = 0.5
# Networks that are trained layer by layer, and others with soft credit; convolutions.
LAYER_WIDTH = 32  # neurons in every hidden layer; in narrower ones exact credit is better
DEEP_SOFTNESS, SHARED_SOFTNESS = 1.35, 2.1  # factors
DEEP_LEAD, LEAST_DEEP = 1.95, (0.9, 4.2)  # without layers: a factor, least softness and lead
CREDIT_HEAT, CREDIT_SWEEPS = 0.33, 20  # factor of both temperatures
MANY = 10_000  # examples; from there on sweeps see batches
FIRST_BATCH = 5_000
MANY_HEAT = (
    0.1  # factor of both temperatures, with soft credit or shifts; fewer flips take less time
)
# Of images shifted in each sweep, which grow to all copies: lead, softness of leads, and neurons
# visited at once, where they are at most this part of a layer.
SHIFTED_LEAD, SOFT_LEADS, (AT_ONCE, PART) = 1.0, 1.0, (4, 1 / 16)
MOST_LEAD = 0.8  # of the number of arcs into an output; the largest possible lead is twice that
CAP = 0.75  # of rewarded margins, in roots of the number of arcs into a hidden neuron


def engine_for(
    problem: TrainingProblem,
    reading: Reading,
    *,
    is_alone: bool,
    copy_count: int = 1,
    noise: InputShifts | None = None,
) -> ForwardAnnealing:
    """Return a short anneal; its targets depend on the number of examples.

    The problem's examples include `copy_count` copies of each, or sweeps make them (`noise`).
    """
    topology = problem.topology
    all_count = max(problem.example_count, round(float(problem.weight_of_example.sum())))
    count, is_shifted = all_count // copy_count, copy_count > 1
    credit, is_shared = _credit_for(topology), topology.weight_count < topology.arc_count
    factor = SHARED_SOFTNESS if is_shared else DEEP_SOFTNESS
    softness, lead = _softness_and_lead(
        count, is_alone=is_alone, is_shifted=is_shifted, factor=1 if credit == "exact" else factor
    )
    last, heat, sweeps = max(FIRST_BATCH, all_count // 2), 1.0, SWEEPS
    if credit == "soft" and not is_shared:
        softness, lead = max(softness, LEAST_DEEP[0]), max(DEEP_LEAD * lead, LEAST_DEEP[1])
    if credit == "soft" or is_shared:
        heat, sweeps = CREDIT_HEAT, CREDIT_SWEEPS
    if credit != "exact" and all_count > MANY:
        heat = MANY_HEAT
    engine = ForwardAnnealing(
        replica_count=1,
        sweep_count=min(20, max(5, count // 5)) if is_shifted else sweeps,
        quench_sweeps=QUENCH_SWEEPS if is_alone or count >= FEW else 0,
        reading=reading,
        target_margin=target_margin(topology, lead) if reading == "largest" else None,
        margin_cap=max(2, round(CAP * _root(topology, is_output=False))),
        softness=softness,
        credit=credit,
        batches=GrowingBatches(first=FIRST_BATCH, last=last) if all_count > MANY else None,
        hottest=heat * HOTTEST,
        coldest=heat * COLDEST,
        thread_count=1,
    )
    return engine if noise is None else _with_shifts(engine, problem, noise)


def _with_shifts(
    engine: ForwardAnnealing, problem: TrainingProblem, noise: InputShifts
) -> ForwardAnnealing:
    """Return the engine for many images: what it sees grows to all their shifted copies.

    To a fifth of them where weights are shared or credit is soft, which takes longer.
    """
    topology, is_one_by_one = problem.topology, engine.reading == "signs"
    is_slow = engine.credit == "soft" or topology.weight_count < topology.arc_count
    last = problem.example_count * noise.copy_count // (5 if is_slow else 1)
    at_once = int(np.clip(PART * min(hidden_sizes(topology), default=0), 1, AT_ONCE))
    engine = replace(
        engine,
        noise=noise,
        output_softness=None if is_one_by_one else SOFT_LEADS,
        batches=GrowingBatches(first=min(FIRST_BATCH, last), last=last),
        hottest=MANY_HEAT * HOTTEST,
        coldest=MANY_HEAT * COLDEST,
        neurons_at_once=1 if is_slow else at_once,
    )
    if engine.credit == "soft" or is_one_by_one:
        return engine
    return replace(engine, target_margin=target_margin(topology, SHIFTED_LEAD))


def target_margin(topology: Topology, lead: float) -> int:
    """Return a lead in roots of an output's number of arcs as an even number of terms."""
    root = _root(topology, is_output=True)
    return max(2, 2 * round(min(lead * root, MOST_LEAD * root**2) / 2))


def _softness_and_lead(
    count: int, *, is_alone: bool, is_shifted: bool, factor: float = 1.0
) -> tuple[float, float]:
    """Return how soft neurons are, and the right class's lead in roots of an output's arcs.

    The fewer examples, the softer. A network that predicts alone needs larger leads on few examples
    than one of many that vote. Shifted copies of each example need less of both.
    """
    softness = max(LEAST_SOFTNESS, factor * 3.0 * pow(count, -0.2))
    lead = max(1.4, (13.5 if is_alone else 10.0) * pow(count, -0.23))
    if not is_shifted:
        return softness, lead
    if not is_alone:
        return 0.65 * softness, 0.55 * lead
    return (1.3 * softness, 0.85 * lead) if count < FEW else (softness, 0.65 * lead)


def _credit_for(topology: Topology) -> CreditKind:
    """Return how costs reach the hidden layers."""
    if min(hidden_sizes(topology), default=0) < LAYER_WIDTH:
        return "exact"
    if len(stages_of(topology)) > 1:
        return "layers"
    return "soft" if uses_soft_credit(topology, "auto", is_soft=True) else "exact"


def hidden_sizes(topology: Topology) -> list[int]:
    """Return the numbers of neurons of hidden layers, or of levels without layers."""
    if topology.layer_shapes is not None:
        return [prod(shape) for shape in topology.layer_shapes[1:-1]]
    hidden = (nodes[nodes < topology.outputs.start] for nodes in topology.levels())
    return [len(nodes) for nodes in hidden if len(nodes)]


def _root(topology: Topology, *, is_output: bool) -> float:
    """Return the root of the usual number of arcs into a hidden neuron, or into an output."""
    nodes = topology.outputs if is_output else range(topology.input_count, topology.outputs.start)
    fan_in = topology.fan_in[nodes.start : nodes.stop]
    return float(np.median(fan_in)) ** 0.5 if len(fan_in) else 1.0


def compile_kernels(engine: ForwardAnnealing, problem: TrainingProblem) -> None:
    """Compile the kernels, once per machine, that a problem of as many examples uses."""
    some = problem.of_examples(slice(forward_packing.FEW + 1))
    replace(engine, sweep_count=1).solve(some, time_limit=1e-3)
