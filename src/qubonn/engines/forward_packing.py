"""A training problem as the masks and counts of the forward kernels: examples side by side.

TrainingProblem, Cost -> Examples; parameters -> Replica, and back.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, IntVector, SpinMatrix
from qubonn.engines.forward_tables import (
    ARCS_END,
    ARCS_START,
    IS_DEEP,
    Examples,
    Prices,
    Replica,
    VisitSchedule,
    tables_of,
    temperature_groups,
)
from qubonn.errors import AlphabetError, RangeError, TopologyError
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

NO_TARGET = -(2**62)
LANES = 64  # examples in a block
FINEST = 2**22  # parts of a whole
MOST = 2.0**30  # of what a lane adds up over all blocks, in units: int32 with a bit to spare
MOST_ENERGY = 2.0**46  # of all examples; int64 has 16 bits for finer units, and one to spare
SEARCHED = 2**16  # parts of a whole that are tried one by one
MOST_SMALL = 2.0**13  # of one example's, in int16: four can be added
CLOSE = 0.02  # by which part a margin strength may be rounded, if int16 then suffices


@dataclass(frozen=True)
class Cost:
    """How outputs and margins are paid for; without a target, outputs are read by their signs."""

    target_margin: int | None
    margin_cap: int | None
    softness: float = 0  # in roots of a neuron's number of arcs


class PackedExamples:
    """One problem, packed: examples in lanes, energies in multiples of `unit`."""

    def __init__(
        self, problem: TrainingProblem, cost: Cost, thread_count: int | None = None
    ) -> None:
        # Numba takes a moment, so these are imported when needed
        self.kernels: Any = import_module("qubonn.engines._forward_kernels")
        self.passes: Any = import_module("qubonn.engines._forward_passes")
        self.streams: Any = import_module("qubonn.simd.streams")
        self.share: Any = import_module("qubonn.simd.threads").share
        self.problem, self.cost, self.thread_count = problem, cost, thread_count
        self.topology = problem.topology
        self.tables = tables_of(problem.topology)
        self.wiring = self.tables[0]
        most = _most_change(problem, cost)
        self.kind, self.lane_unit = _kind_and_unit(problem, cost, most)
        largest = np.iinfo(self.kind).max
        self.blocks_per_sum = max(1, int(largest // max(1.0, most / self.lane_unit)))
        self.unit = self.lane_unit * 2.0**-self.passes.FINE
        self.prices = self._prices()
        self.input_words, self.output_words = (
            _words(spins) for spins in (problem.input_spins, problem.output_spins)
        )

    def replicas(self, weights: BitMatrix, biases: BitMatrix, seeds: NDArray[np.uint64]) -> Any:
        """Return the kernels' state of networks given by bits; `seeds` has a row for each."""
        ones = np.iinfo(np.uint64).max
        parameters = np.where(np.hstack([weights, biases]), ones, np.uint64(0)).astype(np.uint64)
        generators = self.streams.start_generators(seeds.reshape(-1), LANES)
        nothing = np.zeros((0, 0, 0), dtype=np.uint64)  # until examples are loaded
        return self.load_examples(Replica(parameters, nothing, nothing, generators))

    def load_examples(
        self, replicas: Any, rows: IntVector | None = None, input_spins: SpinMatrix | None = None
    ) -> Any:
        """Show replicas some examples, or all; counts and activations follow.

        They see the same share of the field. `input_spins`, a row for each of these examples,
        replace the problem's own.
        """
        rows = np.arange(self.problem.example_count) if rows is None else rows
        tiles = self._tiles(self.output_words, rows)
        self.examples = Examples(
            wanted=self._masks(tiles, self.topology.output_count),
            is_real=_is_real(len(rows)),
            pull=self._pull(len(rows) / self.problem.example_count),
        )
        if input_spins is None:
            tiles = self._tiles(self.input_words, rows)
        else:
            tiles = self._tiles(_words(input_spins), np.arange(len(rows)))
        replicas = self._with_room(replicas, len(tiles))
        replicas.spins[:, : self.topology.input_count] = self._masks(
            tiles, self.topology.input_count
        )
        self._for_each(replicas, lambda r, one: self.passes.run_forward(self.wiring, tiles, one))
        return replicas

    def _with_room(self, replicas: Any, block_count: int) -> Any:
        """Return replicas whose counts and activations have room for `block_count` blocks."""
        if replicas.spins.shape[2] == block_count:
            return replicas
        count, rows = len(replicas.parameters), self.topology.node_count + 1
        neurons, ones = self.topology.neuron_count, np.iinfo(np.uint64).max
        return replicas._replace(
            counts=np.zeros((count, neurons * block_count, LANES), dtype=self.kind),
            spins=np.full((count, rows, block_count), ones, dtype=np.uint64),
        )

    def energies(self, replicas: Any) -> NDArray[np.int64]:
        """Return the energies of all replicas in multiples of `unit`."""
        shared = self.wiring, self.examples, self.prices
        energies = self._for_each(replicas, lambda r, one: self.passes.energy_of(*shared, one))
        return np.array(energies, dtype=np.int64)

    def flip_costs(self, replicas: Any, *, is_soft: bool = False) -> NDArray[np.int64]:
        """Return what flips cost: replicas x (weights, then biases).

        Where neurons are soft, own parameters of hidden neurons are in 1 / 2S of the unit.
        """
        costs = np.zeros(replicas.parameters.shape, dtype=np.int64)
        temperatures = np.zeros((1, temperature_groups(self.topology).count))
        schedule, prices = self.schedule(temperatures), self.prices
        if not is_soft:
            prices = prices._replace(softness=np.zeros_like(prices.softness))
        self._for_each(
            replicas, lambda r, one: self._anneal_one(one, 0, schedule, prices, costs[r])
        )
        return costs

    def anneal(self, replicas: Any, energies: NDArray[np.int64], schedule: VisitSchedule) -> None:
        """Make the visits of a schedule; energies follow, unless neurons are soft."""
        nothing, prices = np.zeros(0, dtype=np.int64), self.prices
        energies[:] = self._for_each(
            replicas, lambda r, one: self._anneal_one(one, energies[r], schedule, prices, nothing)
        )

    def _anneal_one(
        self, one: Replica, energy: int, schedule: VisitSchedule, prices: Prices, costs: IntVector
    ) -> int:
        shared = self.tables, self.examples, prices
        return int(self.kernels.anneal_replica(*shared, one, energy, schedule, costs))

    def schedule(self, temperatures: NDArray[np.float64], target: int = NO_TARGET) -> VisitSchedule:
        """Return all visits at temperatures in units of energy (a row for each sweep x groups)."""
        groups = temperature_groups(self.topology)
        of_visit = np.concatenate([groups.of_neuron[self.wiring.order], groups.of_shared])
        last = len(temperatures) * self.visit_count
        return VisitSchedule(temperatures / self.unit, of_visit, 0, last, target)

    @property
    def visit_count(self) -> int:
        """Visits of a sweep: every neuron, every weight of several arcs."""
        return len(self.wiring.order) + len(self.wiring.shared)

    def _for_each(self, replicas: Any, work: Callable[[int, Any], Any]) -> list[Any]:
        """Return the result of `work` for every replica, in threads: kernels release the lock."""
        results: list[Any] = [None] * len(replicas.parameters)

        def run_piece(first: int, end: int, thread: int) -> None:
            for r in range(first, end):
                results[r] = work(r, self.one(replicas, r))

        self.share(run_piece, len(results), self.thread_count)
        return results

    def one(self, replicas: Any, number: int) -> Any:
        """Return one of several replicas: views, not copies."""
        return Replica(*(array[number] for array in replicas))

    def parameters(self, replicas: Any) -> tuple[SpinMatrix, SpinMatrix]:
        """Return weight spins and bias spins, a row for each replica."""
        spins = (replicas.parameters != 0).astype(np.int8) * np.int8(2) - np.int8(1)
        cut = self.topology.weight_count
        return spins[:, :cut], spins[:, cut:]

    def activation_spins(self, replica: Any) -> SpinMatrix:
        """Return the activations of all neurons of one replica, examples x neurons."""
        masks = np.ascontiguousarray(replica.spins[self.topology.input_count : -1].T)
        bits = self.streams.unpack_states(masks, self.problem.example_count)
        return np.asarray(2 * bits - 1, dtype=np.int8)

    def _pull(self, share: float) -> NDArray[np.int64]:
        """Return twice a share of the field of every parameter, in fine units."""
        field = self.problem.field
        pulls = share * np.concatenate([field.weights, field.biases])
        return np.asarray(2 * np.rint(pulls / self.unit), dtype=np.int64)

    def _prices(self) -> Any:
        target, cap = self.cost.target_margin, self.cost.margin_cap
        fan_in = int(self.topology.fan_in.max(initial=0))
        return Prices(
            margin=round(self.problem.margin_strength / self.lane_unit),
            margin_cap=fan_in + 2 if cap is None else min(cap, fan_in + 2),
            violation=round((1 if target is None else 0.5) / self.lane_unit),
            target_margin=target or 0,
            is_pairwise=target is not None,
            softness=_softness(self.topology, self.cost),
            blocks_per_sum=self.blocks_per_sum,
        )

    def _tiles(self, words: NDArray[np.uint64], rows: IntVector) -> Any:
        """Return rows of words as tiles, blocks x words x examples."""
        tiles = np.empty((-(-len(rows) // LANES), words.shape[1], LANES), dtype=np.uint64)
        self.passes.fill_tiles(words, rows, tiles)
        return tiles

    def _masks(self, tiles: Any, column_count: int) -> Any:
        """Return tiles as masks, columns x blocks."""
        masks = np.empty((column_count, len(tiles)), dtype=np.uint64)
        self.passes.fill_masks(tiles, masks)
        return masks


def _words(spins: SpinMatrix) -> NDArray[np.uint64]:
    """Pack the spins of each example into words, a bit for each."""
    bits = np.packbits(spins > 0, axis=1, bitorder="little")
    words = np.zeros((len(spins), 8 * -(-spins.shape[1] // 64)), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    return words.view("<u8")


def _is_real(example_count: int) -> NDArray[np.uint64]:
    """Return by block the lanes that hold an example."""
    lanes = np.arange(-(-example_count // LANES) * LANES) < example_count
    return np.packbits(lanes, bitorder="little").view("<u8")


def require_acyclic(topology: Topology) -> None:
    """Refuse networks without a forward pass."""
    if not topology.is_acyclic:
        source, target = topology.some_arc_on_a_cycle()
        raise TopologyError(
            f"ForwardAnnealing needs a network without cycles; arc {source} -> {target} closes "
            "one: use LiftedAnnealing"
        )


def require_pairwise(problem: TrainingProblem) -> None:
    """Refuse examples without exactly one +1 output, and outputs on which neurons depend."""
    topology, outputs = problem.topology, problem.output_spins
    wanted = (outputs > 0).sum(axis=1)
    if (wanted != 1).any():
        example = int(np.argmax(wanted != 1))
        raise AlphabetError(
            "reading='largest' needs exactly one +1 among the outputs of each example, as "
            f"CodeBook.one_hot gives; example {example} has {wanted[example]}"
        )
    if outputs.shape[1] < 2:
        raise AlphabetError("reading='largest' needs at least two outputs to compare; got 1")
    leaving = np.flatnonzero(topology.source_of >= topology.outputs.start)
    if len(leaving):
        source, target = topology.source_of[leaving[0]], topology.target_of[leaving[0]]
        raise TopologyError(
            f"reading='largest' needs outputs on which no neuron depends; arc {source} -> {target} "
            "leaves one: use reading='signs'"
        )
    fan_in = topology.fan_in[topology.outputs.start :]
    if (fan_in % 2 != fan_in[0] % 2).any():
        raise TopologyError(
            "reading='largest' needs outputs whose numbers of arcs are all even or all odd, so "
            f"that leads move in steps of two; got {fan_in.tolist()}"
        )


def _kind_and_unit(problem: TrainingProblem, cost: Cost, most: float) -> tuple[Any, float]:
    """Return the integers of the lanes, and what 1 means in them; a step costs `most` at most.

    Lanes of int16 if all that they must hold fits, at a unit that leaves the margin strength as it
    is or nearly so; else of int32.
    """
    whole = 1.0 if cost.target_margin is None else 0.5  # an odd target leaves halves
    gamma = float(problem.margin_strength) / whole
    finest = _finest_parts(problem, cost, most, whole)
    finest_small = min(finest, int(MOST_SMALL * whole / most))
    if _largest_sum(problem.topology, cost) < 2**15 and finest_small >= 1:
        parts, error = _closest(gamma, finest_small)
        if error <= CLOSE * gamma:
            return np.int16, whole / parts
    if gamma.is_integer():
        return np.int32, whole
    parts = 2 ** int(np.log2(min(finest, FINEST)))
    if abs(np.rint(gamma * parts) / parts - gamma) > CLOSE * gamma:
        parts, _ = _closest(gamma, min(finest, SEARCHED))
    return np.int32, whole / parts


def _finest_parts(problem: TrainingProblem, cost: Cost, most: float, whole: float) -> int:
    """Return the number of parts into which a whole may be cut so that no sum overflows."""
    topology, count = problem.topology, problem.example_count
    in_a_lane = -(-count // LANES) * most
    if in_a_lane > MOST * whole:
        raise RangeError(
            f"changes of energy may reach {in_a_lane:.3g} for every {LANES}th example together, "
            f"more than the {MOST * whole:.3g} that int32 carries: use fewer examples or smaller "
            "strengths"
        )
    outputs = topology.output_count * _largest_sum(topology, cost)
    margins = problem.margin_strength * (topology.arc_count + topology.neuron_count)
    in_all = max(1.0, float(count * (outputs + margins)))
    return max(1, int(min(MOST * whole / in_a_lane, MOST_ENERGY * whole / in_all)))


def _largest_sum(topology: Topology, cost: Cost) -> int:
    """Return a bound on sums and leads, and on what is added to them before they are cut off."""
    terms = int(topology.fan_in.max(initial=0)) + 2
    return 4 * terms + (cost.target_margin or 0) + 2 * _softest(topology, cost)


def _closest(ratio: float, finest: int) -> tuple[int, float]:
    """Return the best number of parts of a whole, and the rounding error of a ratio in them.

    >>> _closest(0.75, 100)
    (4, 0.0)
    """
    parts = 1 + np.arange(finest)
    error = np.abs(np.rint(ratio * parts) / parts - ratio)
    best = int(np.argmin(error))  # the first, so the coarsest, of the best
    return int(parts[best]), float(error[best])


def _most_change(problem: TrainingProblem, cost: Cost) -> float:
    """Return a bound on what one flip may change in the energy of one example.

    Of a neuron's own weight: a step up of its count, compared with a step down.
    """
    topology, gamma = problem.topology, float(problem.margin_strength)
    at_most_each, at_most_all = _moves_of_outputs(topology)
    outputs = topology.output_count
    if cost.target_margin is None:
        violation, own = at_most_all, 1
    else:  # a lead moves by twice the steps of both counts; half of it is energy
        violation, own = outputs * at_most_each + at_most_all, outputs
    margins = gamma * _moves_of_margins(topology, cost.margin_cap)
    if cost.softness:  # in 1 / 2S; from a step down to a step up the probability of +1 moves by 4
        softest = _softest(topology, cost)
        return float(4 * (violation + 2 * own + margins) + 8 * softest * gamma)
    return float(violation + 2 * own + margins + 4 * gamma)


def _softest(topology: Topology, cost: Cost) -> int:
    """Return the softness of the softest neuron, at least 1 where there are soft ones."""
    return int(_softness(topology, cost).max(initial=0))


def _softness(topology: Topology, cost: Cost) -> NDArray[np.int64]:
    """Return by neuron how far from the threshold it is soft; outputs never are."""
    if not cost.softness:
        return np.zeros(topology.neuron_count, dtype=np.int64)
    roots = np.sqrt(topology.fan_in[topology.input_count :])
    softness = np.maximum(1, np.rint(cost.softness * roots)).astype(np.int64)
    softness[topology.hidden_count :] = 0
    return softness


def _moves_of_margins(topology: Topology, cap: int | None) -> float:
    """Return by how much one flip may move the margins of other neurons, all together."""
    is_hidden = topology.target_of < topology.outputs.start
    is_inner = is_hidden & (topology.source_of >= topology.input_count)
    steps = 2.0 * np.bincount(topology.target_of[is_inner])
    arcs_of = np.bincount(topology.weight_of[is_hidden])
    at_once = arcs_of[arcs_of > 1].max(initial=0)  # neurons that a shared weight moves
    return float(np.minimum(steps, np.inf if cap is None else cap).sum() + 2 * at_once)


def _moves_of_outputs(topology: Topology) -> tuple[int, int]:
    """Return by how much one flip may move an output's count at most, and all of them together."""
    wiring, cones, _ = tables_of(topology)
    if cones.table[:, IS_DEEP].any() or len(wiring.shared):
        fan_in = topology.fan_in[topology.outputs.start :]
        return int(fan_in.max()), int(fan_in.sum())
    arcs = cones.table[:, ARCS_END] - cones.table[:, ARCS_START]
    by_owner = np.diff(np.append(0, np.cumsum(arcs))[cones.starts])
    return int(arcs.max(initial=1)), int(by_owner.max(initial=1))
