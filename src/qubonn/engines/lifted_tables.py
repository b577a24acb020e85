"""A training problem as the flat arrays of the lifted kernels.

TrainingProblem -> Circuit, Numbers and the unit of their energies.
"""

from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.engines.forward_tables import arcs_with_biases, starts_of
from qubonn.errors import RangeError
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology
from qubonn.topology.graph import first_with_equal_arcs

MOST = 2**30  # energies of a replica in whole units; int32 with a bit to spare


def energy_unit(problem: TrainingProblem, *, is_squared: bool) -> float:
    """Return 1 where all strengths are whole, else the finest power of two that int32 can hold.

    It is 2**-16 or, where energies may be large, coarser: flips are accepted by energies that are
    rounded to it.
    """
    largest = largest_energy(problem, is_squared)
    if largest >= MOST:
        raise RangeError(
            f"energies may reach {largest:.3g}, more than the {MOST:.3g} that int32 carries: use "
            "linear violations, fewer examples or smaller strengths"
        )
    finest = 2.0 ** -np.floor(np.log2(MOST / max(largest, 1.0)))
    return 1.0 if has_whole_strengths(problem) else float(max(finest, 2.0**-16))


def has_whole_strengths(problem: TrainingProblem) -> bool:
    """Whether energies are whole numbers, so that int32 holds them exactly."""
    pulls = np.append(problem.field.weights, problem.field.biases)
    strengths = problem.margin_strength, problem.output_strength or 0, problem.decay_strength
    is_whole = all(float(strength).is_integer() for strength in [*strengths, *pulls.tolist()])
    return is_whole and problem.weight_of_example.dtype.kind == "i"


def circuit_of(problem: TrainingProblem, unit: float, *, is_squared: bool) -> Any:
    """Return the Circuit of a problem with all strengths in multiples of `unit`."""
    kernels: Any = import_module("qubonn.engines._lifted_kernels")
    topology, free = problem.topology, problem.variables.structure.free_nodes
    weight_count, neuron_count = topology.weight_count, topology.neuron_count
    fan_in = topology.fan_in[topology.input_count :]
    sources, targets, parameters = arcs_with_biases(topology)
    incoming = _groups(parameters, targets)
    first_of = _first_of(topology)
    kind_of = np.isin(first_of, first_of[weight_count:]).astype(np.int64)
    is_single = np.bincount(first_of, minlength=len(first_of))[first_of] == 1
    single = np.flatnonzero(is_single & (topology.known_parameters == 0))
    rank = np.full(topology.node_count, -1)
    rank[free] = np.arange(len(free))
    rank_of_arc = rank[topology.source_of]
    is_loop = topology.source_of == topology.target_of
    others = np.flatnonzero((rank_of_arc >= 0) & ~is_loop)
    outgoing = _groups(rank_of_arc[others], topology.target_of[others] - topology.input_count)
    loops = np.flatnonzero((rank_of_arc >= 0) & is_loop)
    loops = loops[np.argsort(rank_of_arc[loops], kind="stable")]
    is_free_output = free >= topology.outputs.start
    wanted = np.zeros((problem.example_count, len(free)), dtype=np.int8)
    weights = problem.weight_of_example
    penalty = np.where(is_free_output, problem.output_strength or 0, 0)
    wanted[:, is_free_output] = problem.output_spins[:, : is_free_output.sum()] > 0
    return kernels.Circuit(
        input_count=topology.input_count,
        neuron_count=neuron_count,
        row_length=topology.node_count + 1,
        example_count=problem.example_count,
        kind_of=kind_of,
        single=single,
        kind_starts=starts_of(kind_of[single], 2),
        parameter_starts=starts_of(incoming.owner_of, weight_count + neuron_count),
        group_target=incoming.target_of,
        group_starts=incoming.starts,
        arc_source=sources[incoming.arcs],
        needed=(fan_in + 1) // 2 + 1,
        free_nodes=free,
        out_starts=starts_of(outgoing.owner_of, len(free)),
        out_target=outgoing.target_of,
        out_group_starts=outgoing.starts,
        out_weight=topology.weight_of[others[outgoing.arcs]],
        self_starts=starts_of(rank_of_arc[loops], len(free)),
        self_weight=topology.weight_of[loops],
        wanted=wanted,
        output_penalty=_units(weights[:, None] * penalty, unit),
        pull=_units(2 * np.append(problem.field.weights, problem.field.biases), unit),
        margin_gap=_units(2 * problem.margin_strength * weights[:, None] * (fan_in % 2), unit),
        violation=_units(weights, unit).astype(np.int32),
        margin=_units(2 * problem.margin_strength * weights, unit).astype(np.int32),
        is_squared=is_squared,
    )


def squared_levels(topology: Topology, bits: NDArray[np.int8]) -> NDArray[np.int64]:
    """Return the sum of squares of weights of several levels; `bits` are replicas x parameters."""
    starts, weights = topology.levelled_weights
    levels = np.add.reduceat(2 * bits[:, weights].astype(np.int64) - 1, starts[:-1], axis=1)
    return np.asarray((levels**2).sum(axis=1))


def unit_circuits(problem: TrainingProblem, circuit: Any) -> tuple[Any, Any, Any]:
    """Return circuits of violations, of margins and of wrong outputs alone, of strength 1."""
    weights = problem.weight_of_example.astype(np.int64)
    fan_in = problem.topology.fan_in[problem.topology.input_count :]
    none = circuit._replace(
        violation=np.zeros_like(circuit.violation),
        margin=np.zeros_like(circuit.margin),
        margin_gap=np.zeros_like(circuit.margin_gap),
        output_penalty=np.zeros_like(circuit.output_penalty),
        pull=np.zeros_like(circuit.pull),
    )
    free = problem.variables.structure.free_nodes
    is_free_output = (free >= problem.topology.outputs.start).astype(np.int64)
    return (
        none._replace(violation=weights.astype(np.int32)),
        none._replace(
            margin=(2 * weights).astype(np.int32),
            margin_gap=2 * weights[:, None] * (fan_in % 2),
        ),
        none._replace(output_penalty=weights[:, None] * is_free_output),
    )


class _groups:
    """Arcs sorted by owner, then target; each run of equal pairs is a group."""

    def __init__(self, owner_of_arc: IntVector, target_of_arc: IntVector) -> None:
        self.arcs = np.lexsort((target_of_arc, owner_of_arc))
        owner, target = owner_of_arc[self.arcs], target_of_arc[self.arcs]
        is_first = np.ones(len(owner), dtype=bool)
        is_first[1:] = (np.diff(owner) != 0) | (np.diff(target) != 0)
        first = np.flatnonzero(is_first)
        self.owner_of, self.target_of = owner[first], target[first]
        self.starts = np.concatenate([first, [len(owner)]])


def numbers_of(problem: TrainingProblem, circuit: Any, unit: float) -> Any:
    """Return the Numbers of a problem, or None if each parameter is alone on its arcs."""
    kernels: Any = import_module("qubonn.engines._lifted_kernels")
    first_of = _first_of(problem.topology)
    is_moved = np.bincount(first_of, minlength=len(first_of))[first_of] > 1
    if not is_moved.any():
        return None
    member = np.lexsort((-circuit.pull, first_of, circuit.kind_of))
    member = member[is_moved[member]]
    starts = np.flatnonzero(np.diff(first_of[member], prepend=-1, append=-1))
    heads = member[starts[:-1]]
    is_decaying = np.isin(heads, problem.topology.levelled_weights[1])
    return kernels.Numbers(
        starts=starts,
        member=member,
        kind_starts=starts_of(circuit.kind_of[heads], 2),
        decay=is_decaying * _units(4 * problem.decay_strength, unit),
    )


@lru_cache(maxsize=8)
def _first_of(topology: Topology) -> IntVector:
    """Return for each parameter the first one on the same arcs; a known one is alone."""
    sources, targets, parameters = arcs_with_biases(topology)
    keys, is_free = targets * (topology.node_count + 1) + sources, topology.known_parameters == 0
    free, arcs, first_of = np.flatnonzero(is_free), is_free[parameters], np.arange(len(is_free))
    owners = np.searchsorted(free, parameters[arcs])
    first_of[free] = free[first_with_equal_arcs(owners, keys[arcs])]
    return first_of


def _units(values: Any, unit: float) -> NDArray[np.int64]:
    return np.rint(np.asarray(values) / unit).astype(np.int64)


def largest_energy(problem: TrainingProblem, is_squared: bool) -> float:
    """Return a bound of the energies of all states, which must be less than MOST."""
    terms = problem.topology.fan_in[problem.topology.input_count :] + 1.0
    worst = terms**2 / 4 + terms if is_squared else terms
    weights = problem.weight_of_example
    sites = float(weights.sum()) * float((worst + problem.margin_strength * terms).sum())
    outputs = problem.topology.output_count * float(weights.sum())
    outputs *= float(problem.output_strength or 0)
    pull = float(np.abs(problem.field.weights).sum() + np.abs(problem.field.biases).sum())
    squares = float((np.diff(problem.topology.levelled_weights[0]) ** 2).sum())
    return sites + outputs + 2 * pull + problem.decay_strength * squares
