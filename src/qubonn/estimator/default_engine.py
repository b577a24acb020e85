"""The engine that `QuboClassifier` uses unless a solver is given.

TrainingProblem, reading -> ForwardAnnealing, set by the number of examples and the network's shape.
"""

from dataclasses import replace
from math import pow, prod

import numpy as np

from qubonn.encoding import Reading
from qubonn.engines import ForwardAnnealing, GrowingBatches, InputShifts
from qubonn.engines.credit import CreditKind, uses_soft_credit
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

# The default engine. Set on draws from MNIST's training images and on splits of digits, scored on
# other training examples; docs/results.md has the measurements.
SWEEPS, QUENCH_SWEEPS = 40, 5
FEW = 40  # examples; with fewer, members of a committee keep a little heat
HOTTEST, COLDEST = 0.03, 0.3  # factors of the measured temperatures; soft neurons need little heat
# With soft credit: factors of softness and lead, least values, a factor of both temperatures.
DEEP_SOFTNESS, DEEP_LEAD, LEAST_DEEP = 1.35, 1.95, (0.9, 4.2)
SHARED_SOFTNESS, LEAST_SHARED = 2.1, 0.9  # of convolutions
CREDIT_HEAT, CREDIT_SWEEPS = 0.33, 20
CREDIT_WIDTH = 48  # neurons in every hidden layer; in narrower ones exact credit is better
MANY = 10_000  # examples; from there on sweeps see batches
FIRST_BATCH = 5_000
MANY_HEAT = (
    0.1  # factor of both temperatures, with soft credit or shifts; fewer flips take less time
)
# Of images shifted in each sweep, which grow to all copies: sweeps, lead, softness of leads, and
# neurons visited at once, where they are at most this part of a layer.
SHIFTED_SWEEPS, SHIFTED_LEAD, SOFT_LEADS, (AT_ONCE, PART) = 40, 1.0, 1.0, (4, 1 / 16)
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
    softness, lead = _softness_and_lead(count, is_alone=is_alone, is_shifted=is_shifted)
    last, heat, sweeps = max(FIRST_BATCH, all_count // 2), 1.0, SWEEPS
    is_wide = min(_hidden_sizes(topology), default=0) >= CREDIT_WIDTH
    credit: CreditKind = "auto" if is_wide else "exact"
    if uses_soft_credit(topology, credit, is_soft=True):
        is_shared = topology.weight_count < topology.arc_count
        heat, sweeps = CREDIT_HEAT if all_count <= MANY else MANY_HEAT, CREDIT_SWEEPS
        softness, lead = _with_credit(softness, lead, is_shared=is_shared)
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

    To a fifth of them with soft credit, which takes longer.
    """
    all_count, is_one_by_one = problem.example_count * noise.copy_count, engine.reading == "signs"
    has_soft_credit = engine.cost_for(problem).has_soft_credit
    last = all_count // 5 if has_soft_credit else all_count
    engine = replace(
        engine,
        noise=noise,
        output_softness=None if is_one_by_one else SOFT_LEADS,
        batches=GrowingBatches(first=min(FIRST_BATCH, last), last=last),
        hottest=MANY_HEAT * HOTTEST,
        coldest=MANY_HEAT * COLDEST,
    )
    if has_soft_credit:
        return engine
    at_once = int(np.clip(PART * min(_hidden_sizes(problem.topology), default=0), 1, AT_ONCE))
    lead = None if is_one_by_one else target_margin(problem.topology, SHIFTED_LEAD)
    return replace(engine, sweep_count=SHIFTED_SWEEPS, target_margin=lead, neurons_at_once=at_once)


def target_margin(topology: Topology, lead: float) -> int:
    """Return a lead in roots of an output's number of arcs as an even number of terms."""
    root = _root(topology, is_output=True)
    return max(2, 2 * round(min(lead * root, MOST_LEAD * root**2) / 2))


def _softness_and_lead(count: int, *, is_alone: bool, is_shifted: bool) -> tuple[float, float]:
    """Return how soft neurons are, and the right class's lead in roots of an output's arcs.

    The fewer examples, the softer. A network that predicts alone needs larger leads on few examples
    than one of many that vote. Shifted copies of each example need less of both.
    """
    softness = max(0.5, 3.0 * pow(count, -0.2))
    lead = max(1.4, (13.5 if is_alone else 10.0) * pow(count, -0.23))
    if not is_shifted:
        return softness, lead
    if not is_alone:
        return 0.65 * softness, 0.55 * lead
    return (1.3 * softness, 0.85 * lead) if count < FEW else (softness, 0.65 * lead)


def _with_credit(softness: float, lead: float, *, is_shared: bool) -> tuple[float, float]:
    """Return softness and lead for deep networks, or for those that share weights."""
    if is_shared:
        return max(SHARED_SOFTNESS * softness, LEAST_SHARED), lead
    return max(DEEP_SOFTNESS * softness, LEAST_DEEP[0]), max(DEEP_LEAD * lead, LEAST_DEEP[1])


def _hidden_sizes(topology: Topology) -> list[int]:
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
    """Compile the kernels, once per machine; two examples suffice to choose them."""
    replace(engine, sweep_count=1).solve(problem.of_examples(slice(2)), time_limit=1e-3)
