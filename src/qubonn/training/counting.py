"""Count the networks with one hidden layer that fit all examples, and find the largest S2: a proof.

TrainingProblem -> FeasibleCount.  Paper, eq:sumofmargins2.

Hidden neurons depend on their own weights only. So the parameters of a hidden neuron, or of neurons
that share weights, are counted by their signs on all examples, with the largest sum of margins for
each pattern of signs. The outputs depend on these patterns only: each choice of patterns is
completed by the weights of the outputs that give the required signs.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, islice, product
from math import comb, factorial, prod

import numpy as np
from numpy.typing import NDArray

from qubonn.engines.credit import group_of_neurons
from qubonn.errors import RangeError, TopologyError
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

MOST_SUMS = 2**22  # distinct sums of a hidden neuron, or of neurons that share weights
MOST_CHOICES = 2**23  # of patterns for all hidden neurons
MOST_PARAMETERS = 62  # of a hidden neuron, so that counts fit int64
MOST_OUTPUT = 20  # parameters of an output: all their values are tried
AT_ONCE = 2**22  # sums of outputs

Integers = NDArray[np.int64]


@dataclass(frozen=True)
class FeasibleCount:
    """The number of networks that satisfy all constraints, and the largest S2 of any of them."""

    network_count: int
    largest_s2: int | None  # None if there is no such network


@dataclass(frozen=True, eq=False)
class Patterns:
    """Signs of some hidden neurons: how many parameters give them, and their largest margins."""

    neurons: Integers
    spins: Integers  # patterns x neurons x examples
    counts: Integers
    margins: Integers

    def is_like(self, other: "Patterns") -> bool:
        """Return whether two neurons have the same patterns."""
        pairs = ((getattr(self, n), getattr(other, n)) for n in ("spins", "counts", "margins"))
        return all(np.array_equal(one, two) for one, two in pairs)


def count_feasible(problem: TrainingProblem) -> FeasibleCount:
    """Count all networks that fit all examples; nothing is searched, so the result is a proof.

    For hidden neurons that depend on inputs only, and outputs that depend on hidden neurons only.
    Dense hidden neurons with n patterns of signs, m of them, have about n ** m / m! choices.

    >>> xor = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    >>> count_feasible(TrainingProblem(Topology.dense(2, 2, 1), xor, [[-1], [1], [1], [-1]]))
    FeasibleCount(network_count=16, largest_s2=16)
    """
    topology = problem.topology
    _require_two_layers(problem)
    units = [_patterns(problem, neurons) for neurons in _units(topology)]
    widest = max(_output_spins(topology, output).count(0) for output in topology.outputs)
    if widest > MOST_OUTPUT:
        raise RangeError(
            f"an output must have at most {MOST_OUTPUT} free parameters to be counted; got {widest}"
        )
    total, largest = 0, -1
    step = max(1, AT_ONCE // (2**widest * problem.example_count))
    for spins, counts, margins in _choices(topology, units, step):
        for output in topology.outputs:
            fitting, most = _completions(problem, output, spins)
            counts, margins = counts * fitting.astype(object), margins + most
        total += int(counts.sum())
        largest = max(largest, int(margins[counts > 0].max(initial=-1)))
    return FeasibleCount(total, largest if total else None)


def _require_two_layers(problem: TrainingProblem) -> None:
    topology, first = problem.topology, problem.topology.outputs.start
    is_from_input = topology.source_of < topology.column_count
    is_constant = (topology.source_of < topology.input_count) & ~is_from_input
    is_to_hidden = topology.target_of < first
    is_between = (is_from_input != is_to_hidden) & ~is_constant
    if is_between.any() or (topology.source_of >= first).any():
        raise TopologyError(
            "hidden neurons must depend on inputs only, and outputs on hidden neurons only, for "
            f"networks to be counted; got {topology!r}"
        )
    uses = np.bincount(topology.weight_of)[topology.weight_of[~is_to_hidden]]
    if (uses > 1).any() or not problem.has_fixed_outputs:
        raise TopologyError(
            "outputs must be fixed and share no weights for networks to be counted; "
            f"got {topology!r}"
        )


def _units(topology: Topology) -> list[Integers]:
    """Return the hidden neurons, those that share weights together."""
    unit_of = group_of_neurons(topology)[: topology.hidden_count]
    return [topology.input_count + np.flatnonzero(unit_of == unit) for unit in np.unique(unit_of)]


def _patterns(problem: TrainingProblem, neurons: Integers) -> Patterns:
    """Count the parameters of some hidden neurons by the signs that they give."""
    inputs = problem.topology.with_constant(problem.input_spins).T.astype(np.int64)
    every = [*_steps(problem.topology, neurons, inputs)]
    steps = [step for step, spin in every if not spin]
    if len(steps) > MOST_PARAMETERS:
        raise RangeError(
            f"hidden neurons must have at most {MOST_PARAMETERS} parameters to be counted, alone "
            f"or with those that share weights; got {len(steps)}"
        )
    sums = np.zeros((1, len(neurons) * problem.example_count), dtype=np.int64)
    for step, spin in every:  # of what is known
        sums += spin * step
    counts = np.ones(1, dtype=np.int64)
    for step in steps:
        both = np.concatenate([sums - step, sums + step])
        sums, place_of = np.unique(both, axis=0, return_inverse=True)
        counts = _added(np.tile(counts, 2), place_of, len(sums))
        if len(sums) > MOST_SUMS:
            raise RangeError(
                f"hidden neurons must have at most {MOST_SUMS:,} different sums to be counted; got "
                "more: use fewer examples or inputs"
            )
    signs, pattern_of = np.unique(np.where(sums > 0, 1, -1), axis=0, return_inverse=True)
    margins = np.zeros(len(signs), dtype=np.int64)
    np.maximum.at(margins, pattern_of.reshape(-1), np.abs(sums).sum(axis=1))
    spins = signs.reshape(len(signs), len(neurons), -1)
    return Patterns(neurons, spins, _added(counts, pattern_of, len(signs)), margins)


def _steps(
    topology: Topology, neurons: Integers, inputs: Integers
) -> Iterator[tuple[Integers, int]]:
    """Yield what each weight and each bias adds to the sums, neurons x examples in a row.

    And its spin, or 0 where it is not known.
    """
    place_of = {int(neuron): place for place, neuron in enumerate(neurons)}
    arcs = np.flatnonzero(np.isin(topology.target_of, neurons))
    for weight in np.unique(topology.weight_of[arcs]):
        step = np.zeros((len(neurons), inputs.shape[1]), dtype=np.int64)
        for arc in arcs[topology.weight_of[arcs] == weight]:
            step[place_of[int(topology.target_of[arc])]] += inputs[topology.source_of[arc]]
        yield step.reshape(-1), int(topology.known_weights[weight])
    steps = np.repeat(np.eye(len(neurons), dtype=np.int64), inputs.shape[1], axis=1)
    biases = topology.known_biases[neurons - topology.input_count].tolist()
    yield from zip(steps, biases, strict=True)


def _added(counts: Integers, place_of: Integers, size: int) -> Integers:
    """Return the sums of the counts at each place."""
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, place_of.reshape(-1), counts)
    return sums


def _choices(
    topology: Topology, units: Sequence[Patterns], step: int
) -> Iterator[tuple[Integers, NDArray[np.object_], Integers]]:
    """Yield choices of patterns, `step` at a time.

    Signs of all hidden neurons in order, numbers of networks, sums of margins. Where neurons are
    interchangeable, a choice stands for all its orders.
    """
    sizes = [len(unit.counts) for unit in units]
    is_alike = _is_alike(topology, units)
    count = comb(sizes[0] + len(units) - 1, len(units)) if is_alike else prod(sizes)
    if count > MOST_CHOICES:
        raise RangeError(
            f"hidden neurons must have at most {MOST_CHOICES:,} choices of signs to be counted; "
            f"got {count:,}: use fewer examples or hidden neurons"
        )
    every: Iterator[tuple[int, ...]] = product(*(range(size) for size in sizes))
    if is_alike:
        every = combinations_with_replacement(range(sizes[0]), len(units))
    order = np.argsort(np.concatenate([unit.neurons for unit in units]))
    while rows := list(islice(every, step)):
        chosen = np.array(rows).T
        parts = list(zip(units, chosen, strict=True))
        spins = np.concatenate([unit.spins[place] for unit, place in parts], axis=1)[:, order]
        counts = prod(unit.counts[place].astype(object) for unit, place in parts)
        if is_alike:
            counts = counts * np.array([_orders(row) for row in rows], dtype=object)
        yield spins, counts, np.sum([unit.margins[place] for unit, place in parts], axis=0)


def _is_alike(topology: Topology, units: Sequence[Patterns]) -> bool:
    """Return whether hidden neurons can change places without a change of the outputs."""
    if any(len(unit.neurons) > 1 or not unit.is_like(units[0]) for unit in units):
        return False
    is_last = topology.target_of >= topology.outputs.start
    if topology.known_weights[topology.weight_of[is_last]].any():
        return False
    arcs = np.zeros((topology.hidden_count, topology.output_count), dtype=np.int64)
    is_inner = topology.source_of >= topology.input_count
    ends = topology.source_of[is_inner], topology.target_of[is_inner]
    np.add.at(arcs, (ends[0] - topology.input_count, ends[1] - topology.outputs.start), 1)
    return bool((arcs == arcs[:1]).all())


def _orders(row: tuple[int, ...]) -> int:
    """Return the number of different orders of a choice."""
    return factorial(len(row)) // prod(factorial(n) for n in Counter(row).values())


def _output_spins(topology: Topology, output: int) -> list[int]:
    """Return the known spins of an output: arcs from hidden neurons, from the constant, bias."""
    arcs = topology.arcs_into(output)
    arcs = arcs[np.argsort(topology.source_of[arcs] < topology.input_count, kind="stable")]
    bias = topology.known_biases[output - topology.input_count]
    return [*topology.known_weights[topology.weight_of[arcs]].tolist(), int(bias)]


def _completions(
    problem: TrainingProblem, output: int, spins: Integers
) -> tuple[Integers, Integers]:
    """Return by choice how many parameters of an output fit all examples, and the most margin."""
    topology = problem.topology
    sources = topology.source_of[topology.target_of == output] - topology.input_count
    hidden = sources[sources >= 0]
    others = len(sources) - len(hidden) + 1  # arcs from the constant, and the bias
    ones = np.ones((len(spins), others, spins.shape[2]), dtype=np.int64)
    terms = np.concatenate([spins[:, hidden], ones], axis=1)
    choices = [(spin,) if spin else (-1, 1) for spin in _output_spins(topology, output)]
    parameters = np.array(list(product(*choices)))
    sums = parameters @ terms
    wanted = problem.output_spins[:, output - topology.outputs.start] > 0
    is_fitting = ((sums > 0) == wanted).all(axis=2)
    margins = np.where(is_fitting, np.abs(sums).sum(axis=2), 0).max(axis=1)
    return is_fitting.sum(axis=1), margins
