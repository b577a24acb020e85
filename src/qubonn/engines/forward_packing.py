"""A training problem as the masks and counts of the forward kernels, examples in lanes.

TrainingProblem, Cost -> Examples; parameters -> Replica, and back.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, IntVector, SpinMatrix
from qubonn.engines.credit import SoftCredit, group_of_neurons
from qubonn.engines.forward_tables import (
    ARCS_END,
    ARCS_START,
    BEGIN,
    FINE,
    FINISH,
    IS_DEEP,
    LANES,
    PROPOSE,
    Examples,
    Prices,
    Replica,
    VisitSchedule,
    Wiring,
    arcs_with_biases,
    tables_of,
    temperature_groups,
    turns_of,
)
from qubonn.engines.sweep_data import InputShifts
from qubonn.errors import AlphabetError, RangeError, TopologyError
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

NO_TARGET = -(2**62)
FINEST = 2**22  # most units in an energy of 1 (or 1/2 with a target)
SEARCHED = 2**16  # most units for which all smaller numbers are tried
MOST = 2.0**30  # sum of a lane over all blocks, in units: int32 with a bit to spare
MOST_ENERGY = 2.0**46  # of all examples, in units: int64 has 16 bits for FINE, and one to spare
HEAVIEST = 1_024  # weight of an example in whole units
MOST_SMALL = 2.0**13  # change of one example, in units: int16 can add four
FEW = 256  # examples for which compiling takes longer than wide lanes
PART = 512 * LANES  # examples whose spins are packed at once
FORWARD_BLOCKS = 64  # whose inputs stay in a core's cache in a forward pass
CLOSE = 0.02  # relative error of a margin strength that is accepted for narrower lanes


@dataclass(frozen=True)
class Cost:
    """How outputs and margins enter the energy; without a target, outputs are read as signs."""

    target_margin: int | None
    margin_cap: int | None
    softness: float = 0  # times the square root of a hidden neuron's number of arcs
    output_softness: float = 0  # times the target margin
    has_soft_credit: bool = False  # whether flips are evaluated by pushes
    copy_count: int = 1  # examples that sweeps see of each


class PackedExamples:
    """A problem for the kernels: examples in lanes, energies in multiples of `unit`."""

    def __init__(
        self,
        problem: TrainingProblem,
        cost: Cost,
        thread_count: int | None = None,
        at_once: int = 1,
        shifts: InputShifts | None = None,
    ) -> None:
        # Numba is slow to import, so these are imported when needed
        self.kernels: Any = import_module("qubonn.engines._forward_kernels")
        self.passes: Any = import_module("qubonn.engines._forward_passes")
        self.streams: Any = import_module("qubonn.simd.streams")
        self.threads: Any = import_module("qubonn.simd.threads")
        self.problem, self.cost, self.thread_count = problem, cost, thread_count
        self.topology, self.at_once = problem.topology, at_once
        self.turns = turns_of(problem.topology, at_once)
        self.tables = tables_of(problem.topology)
        self.wiring = self.tables[0]
        self.weights, weight_unit = _whole_weights(problem, cost)
        heaviest = int(self.weights.max(initial=1))
        most = _most_change(problem, cost) * heaviest
        self.kind, self.lane_unit = _kind_and_unit(problem, cost, most, heaviest)
        self.unit = weight_unit * self.lane_unit * 2.0**-FINE
        self.prices = self._prices(most / self.lane_unit)
        self.credit: SoftCredit | None = None
        if cost.has_soft_credit:
            cap = round(_most_push(problem.topology, cost) / self.lane_unit)
            self.credit = SoftCredit(problem.topology, self.prices, cap, heaviest, self.kind)
        self.shifts = shifts
        count = problem.example_count * (1 if shifts is None else shifts.copy_count)
        parts = (np.arange(start, min(start + PART, count)) for start in range(0, count, PART))
        self.input_words = np.concatenate(
            [_words(self.topology.with_constant(self.spins_of(rows))) for rows in parts]
        )
        self.output_words = _words(problem.output_spins)

    def spins_of(self, rows: IntVector) -> SpinMatrix:
        """Return the inputs of examples, or of shifted copies by number."""
        spins = self.problem.input_spins
        return spins[rows] if self.shifts is None else self.shifts.copies(spins, rows)

    def replicas(self, bits: BitMatrix, seeds: NDArray[np.uint64]) -> Any:
        """Return the kernels' state of networks with these parameters; `seeds` has a row each."""
        parameters = np.where(bits, ~np.uint64(0), np.uint64(0))
        generators = self.streams.start_generators(seeds.reshape(-1), LANES)
        nothing = np.zeros((0, 0, 0), dtype=np.uint64)  # until examples are loaded
        return self.load_examples(Replica(parameters, nothing, nothing, generators))

    def load_examples(
        self, replicas: Any, rows: IntVector | None = None, input_spins: SpinMatrix | None = None
    ) -> Any:
        """Load some examples, or all, and their share of field and decay; run a forward pass.

        `rows` are examples, or shifted copies of them by number. `input_spins`, a row for each,
        replace the problem's own.
        """
        count = self.problem.example_count
        rows = np.arange(count) if rows is None else rows
        input_count, originals = self.topology.input_count, rows % count
        tiles = _tiles(self.output_words, originals)
        weights = self.weights[originals]
        share = weights.sum() / self.weights.sum()
        decay = round(share * self.problem.decay_strength / self.unit)
        self.prices = self.prices._replace(decay=decay)
        self.examples = Examples(
            wanted=self._masks(tiles, self.topology.output_count),
            is_real=_is_real(len(rows)),
            weights=self._in_lanes(weights),
            pull=self._pull(share),
        )
        if input_spins is None:
            tiles = _tiles(self.input_words, rows)
        else:
            words = _words(self.topology.with_constant(input_spins))
            tiles = _tiles(words, np.arange(len(rows)))
        self.sums = self._sums(rows, input_spins)
        replicas = self._with_room(replicas, len(tiles))
        replicas.spins[:, :input_count] = self._masks(tiles, input_count)
        if len(replicas.parameters) == 1:
            one = self.one(replicas, 0)
            self.threads.share(
                lambda first, last, _: self._run_forward(one, tiles, first, last),
                len(tiles),
                self.thread_count,
                most_at_once=FORWARD_BLOCKS,
            )
        else:
            self._for_each(replicas, lambda r, one: self._run_forward(one, tiles, 0, len(tiles)))
        if self.credit is not None:
            self.credit.load(len(replicas.parameters), replicas.counts[0])
        return replicas

    def _run_forward(self, one: Replica, tiles: Any, first: int, last: int) -> None:
        """Run the examples of some blocks through a replica."""
        weights = np.empty((self.wiring.plane_count, tiles.shape[1]), dtype=np.uint64)
        differing = np.empty(LANES, dtype=np.uint64)
        self.passes.run_forward(self.wiring, tiles, first, last, one, weights, differing)

    def _with_room(self, replicas: Any, block_count: int) -> Any:
        """Return replicas whose counts and activations have room for `block_count` blocks."""
        if replicas.spins.shape[2] == block_count:
            return replicas
        count, topology = len(replicas.parameters), self.topology
        return replicas._replace(
            counts=np.zeros((count, topology.neuron_count * block_count, LANES), dtype=self.kind),
            spins=np.full((count, topology.node_count + 1, block_count), ~np.uint64(0)),
        )

    def energies(self, replicas: Any) -> NDArray[np.int64]:
        """Return the energies of all replicas in multiples of `unit`."""
        shared = self.wiring, self.examples, self.prices
        energies = self._for_each(replicas, lambda r, one: self.passes.energy_of(*shared, one))
        return np.array(energies, dtype=np.int64)

    def flip_costs(self, replicas: Any, *, is_soft: bool = False) -> NDArray[np.int64]:
        """Return the costs of all flips: replicas x (weights, then biases).

        With `is_soft` those of the own parameters of soft neurons are in 1 / 2S of the unit. With
        soft credit all costs are soft, but in whole units.
        """
        costs = np.zeros(replicas.parameters.shape, dtype=np.int64)
        temperatures = np.zeros((1, temperature_groups(self.topology).count))
        schedule, prices = self.schedule(temperatures), self.prices
        if not is_soft and self.credit is None:
            prices = prices._replace(softness=np.zeros_like(prices.softness))
        self._for_each(
            replicas, lambda r, one: self._anneal_one(r, one, 0, schedule, prices, costs[r])
        )
        if self.credit is not None and not is_soft:
            costs //= self.credit.widths(prices)[self._neuron_of_parameter()]
        return costs

    def anneal(self, replicas: Any, energies: NDArray[np.int64], schedule: VisitSchedule) -> None:
        """Make the visits of a schedule and update energies, unless neurons are soft."""
        settings = schedule, self.prices, np.zeros(0, dtype=np.int64)
        if len(energies) == 1 and self.at_once > 1:
            with self.threads.Crew(self.thread_count) as crew:
                one = self.one(replicas, 0)
                energies[0] = self._anneal_one(0, one, energies[0], *settings, crew)
            return
        energies[:] = self._for_each(
            replicas, lambda r, one: self._anneal_one(r, one, energies[r], *settings)
        )

    def _anneal_one(
        self,
        number: int,
        one: Replica,
        energy: int,
        schedule: VisitSchedule,
        prices: Prices,
        costs: IntVector,
        crew: Any = None,
    ) -> int:
        if self.credit is not None:
            task = self.examples, prices
            self.credit.anneal(self.wiring, task, number, one, schedule, costs)
            return 0
        size = 1 if crew is None else crew.size
        scratch = self.kernels.new_scratch(self.wiring, one, costs, max(self.at_once, size))
        shared = self.wiring.shared if len(self.wiring.shared) else None

        def make(energy: int, part: VisitSchedule) -> int:
            work = self.tables, (self.examples, prices), one, energy, part, scratch
            return int(self.kernels.anneal_replica(*work, shared, self.sums))

        if size == 1:
            return make(energy, schedule)
        for part, is_shared in _runs(schedule):
            if is_shared:
                make(energy, part._replace(phases=BEGIN))
                for phase in (PROPOSE, FINISH):
                    own = part._replace(phases=phase, thread_count=crew.size)
                    crew.run(lambda rank, some=own: make(0, some._replace(rank=rank)))
            else:
                energy = make(energy, part)
        return energy

    def schedule(self, temperatures: NDArray[np.float64]) -> VisitSchedule:
        """Return all visits at temperatures in units of energy (a row for each sweep x groups)."""
        groups = temperature_groups(self.topology)
        leaders = self.wiring.order[self.turns[:-1]]
        of_visit = np.concatenate([groups.of_neuron[leaders], groups.of_shared])
        if self.credit is not None:
            of_visit = self.credit.temperature_groups()
        last = len(temperatures) * self.visit_count
        return VisitSchedule(temperatures / self.unit, of_visit, self.turns, 0, last, NO_TARGET)

    @property
    def visit_count(self) -> int:
        """Visits of a sweep: every turn, every weight of several arcs; or every group."""
        if self.credit is not None:
            return self.credit.group_count
        return len(self.turns) - 1 + len(self.wiring.shared)

    def _for_each(self, replicas: Any, work: Callable[[int, Any], Any]) -> list[Any]:
        """Return the result of `work` for every replica, in threads: kernels release the GIL."""
        results: list[Any] = [None] * len(replicas.parameters)

        def run_piece(first: int, end: int, thread: int) -> None:
            for r in range(first, end):
                results[r] = work(r, self.one(replicas, r))

        self.threads.share(run_piece, len(results), self.thread_count)
        return results

    def one(self, replicas: Any, number: int) -> Any:
        """Return one of several replicas: views, not copies."""
        return Replica(*(array[number] for array in replicas))

    def _neuron_of_parameter(self) -> IntVector:
        """Return a neuron that each parameter belongs to."""
        _, targets, parameters = arcs_with_biases(self.topology)
        neurons = np.zeros(self.topology.weight_count + self.topology.neuron_count, dtype=np.int64)
        neurons[parameters] = targets
        return neurons

    def parameters(self, replicas: Any) -> tuple[SpinMatrix, SpinMatrix]:
        """Return weight spins and bias spins, a row for each replica."""
        spins = np.where(replicas.parameters, np.int8(1), np.int8(-1))
        cut = self.topology.weight_count
        return spins[:, :cut], spins[:, cut:]

    def activation_spins(self, replica: Any) -> SpinMatrix:
        """Return the activations of all neurons of one replica, examples x neurons."""
        masks = np.ascontiguousarray(replica.spins[self.topology.input_count : -1].T)
        bits = self.streams.unpack_states(masks, self.problem.example_count)
        return np.asarray(2 * bits - 1, dtype=np.int8)

    def _pull(self, share: float) -> NDArray[np.int64]:
        """Return twice a share of the field of every parameter, in fine units."""
        pulls = share * np.append(self.problem.field.weights, self.problem.field.biases)
        return np.asarray(2 * np.rint(pulls / self.unit), dtype=np.int64)

    def _prices(self, most_units: float) -> Prices:
        """Return the prices; a flip changes the energy of one example by `most_units` at most."""
        target, cap = self.cost.target_margin, self.cost.margin_cap
        fan_in = int(self.topology.fan_in.max(initial=0))
        return Prices(
            margin=round(self.problem.margin_strength / self.lane_unit),
            margin_cap=fan_in + 2 if cap is None else min(cap, fan_in + 2),
            violation=round((1 if target is None else 0.5) / self.lane_unit),
            target_margin=target or 0,
            is_pairwise=target is not None,
            decay=0,  # until examples are loaded
            softness=_softness(self.topology, self.cost),
            blocks_per_sum=max(1, int(np.iinfo(self.kind).max // max(1.0, most_units))),
        )

    def _in_lanes(self, weights: IntVector) -> NDArray[Any]:
        """Return the weights of examples, blocks x lanes; 0 after the last."""
        lanes = np.zeros((-(-len(weights) // LANES), LANES), dtype=self.kind)
        lanes.reshape(-1)[: len(weights)] = weights
        return lanes

    def _sums(self, rows: IntVector, input_spins: SpinMatrix | None) -> NDArray[Any]:
        """Return the sums of the spins of bundles, (bundles * blocks) x lanes."""
        wiring, block_count = self.wiring, -(-len(rows) // LANES)
        first, starts = wiring.first_constant, wiring.bundle_starts
        sums = np.zeros((len(starts) - 1, block_count * LANES), dtype=self.kind)
        sums[first:] = np.diff(starts[first:])[:, None]
        if first:
            spins = self.spins_of(rows) if input_spins is None else input_spins
            sources = wiring.bundle_sources[: starts[first]]
            parts = np.add.reduceat(spins.T[sources], starts[:first], axis=0, dtype=self.kind)
            sums[:first, : len(rows)] = parts
        return sums.reshape(-1, LANES)

    def _masks(self, tiles: Any, column_count: int) -> Any:
        """Return tiles as masks, columns x blocks."""
        masks = np.empty((column_count, len(tiles)), dtype=np.uint64)
        self.passes.fill_masks(tiles, masks, np.empty(8 * LANES, dtype=np.uint64))
        return masks


def _runs(schedule: VisitSchedule) -> Iterator[tuple[VisitSchedule, bool]]:
    """Yield each visit of several neurons, with True, and the runs of visits between them."""
    sizes, start = np.diff(schedule.turns), schedule.first
    for visit in range(schedule.first, schedule.last):
        place = visit % len(schedule.groups)
        if place < len(sizes) and sizes[place] > 1:
            if start < visit:
                yield schedule._replace(first=start, last=visit), False
            yield schedule._replace(first=visit, last=visit + 1), True
            start = visit + 1
    if start < schedule.last:
        yield schedule._replace(first=start), False


def _words(spins: SpinMatrix) -> NDArray[np.uint64]:
    """Pack the spins of each example into the bits of words."""
    bits = np.packbits(spins > 0, axis=1, bitorder="little")
    words = np.zeros((len(spins), 8 * -(-spins.shape[1] // 64)), dtype=np.uint8)
    words[:, : bits.shape[1]] = bits
    return words.view("<u8")


def _tiles(words: NDArray[np.uint64], rows: IntVector) -> NDArray[np.uint64]:
    """Return rows of words as tiles, blocks x words x examples; zeros after the last."""
    padded = np.zeros((-(-len(rows) // LANES) * LANES, words.shape[1]), dtype=np.uint64)
    padded[: len(rows)] = words[rows]
    return np.ascontiguousarray(padded.reshape(-1, LANES, words.shape[1]).transpose(0, 2, 1))


def _is_real(example_count: int) -> NDArray[np.uint64]:
    """Return, by block, a mask of the lanes that hold an example."""
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


def _whole_weights(problem: TrainingProblem, cost: Cost) -> tuple[IntVector, float]:
    """Return the weights of examples as whole multiples of a unit, and that unit.

    The unit is 1 if they are whole and small, else they are rounded to a part of the largest.
    """
    weights = problem.weight_of_example
    largest = min(HEAVIEST, int(MOST) // _largest_sum(problem.topology, cost))
    if weights.dtype.kind == "i" and weights.max(initial=1) <= largest:
        return weights, 1.0
    unit = float(weights.max()) / largest
    return np.rint(weights / unit).astype(np.int64), unit


def _kind_and_unit(
    problem: TrainingProblem, cost: Cost, most: float, heaviest: int
) -> tuple[Any, float]:
    """Return the integer type of the lanes, and their unit; a step costs at most `most`.

    `heaviest` is the largest weight of an example.

    The type is int16 if sums and changes fit in a unit that represents the margin strength closely,
    else int32. Few examples of classes have the same unit in int32, so that a classifier that
    compares designs on a small table compiles kernels for one type.
    """
    whole = 1.0 if cost.target_margin is None else 0.5  # an odd target gives halves
    gamma = float(problem.margin_strength) / whole
    finest = _finest_parts(problem, cost, most, whole, heaviest)
    finest_small = min(finest, int(MOST_SMALL * whole / most))
    largest = max(heaviest * _largest_sum(problem.topology, cost), 4 * _lead_softness(cost) ** 2)
    if largest < 2**15 and finest_small >= 1:
        parts, error = _closest(gamma, finest_small)
        if error <= CLOSE * gamma:
            is_small = cost.target_margin is not None and problem.example_count <= FEW
            is_small &= not cost.has_soft_credit  # which takes longest to compile
            return np.int32 if is_small else np.int16, whole / parts
    if gamma.is_integer():
        return np.int32, whole
    parts = 2 ** int(np.log2(min(finest, FINEST)))
    if abs(np.rint(gamma * parts) / parts - gamma) > CLOSE * gamma:
        parts, _ = _closest(gamma, min(finest, SEARCHED))
    return np.int32, whole / parts


def _finest_parts(
    problem: TrainingProblem, cost: Cost, most: float, whole: float, heaviest: int
) -> int:
    """Return the largest number of units in a `whole` with which no sum overflows."""
    topology, count = problem.topology, problem.example_count * cost.copy_count
    in_a_lane = -(-count // LANES) * most
    if in_a_lane > MOST * whole:
        raise RangeError(
            f"changes of energy may reach {in_a_lane:.3g} for every {LANES}th example together, "
            f"more than the {MOST * whole:.3g} that int32 carries: use fewer examples or smaller "
            "strengths"
        )
    outputs = topology.output_count * _largest_sum(topology, cost)
    margins = problem.margin_strength * (topology.arc_count + topology.neuron_count)
    in_all = max(1.0, float(heaviest * count * (outputs + margins)))
    return max(1, int(min(MOST * whole / in_a_lane, MOST_ENERGY * whole / in_all)))


def _largest_sum(topology: Topology, cost: Cost) -> int:
    """Return a bound on sums and leads before they are clipped."""
    terms = int(topology.fan_in.max(initial=0)) + 2
    softest = int(_softness(topology, cost).max(initial=0))
    return 4 * terms + (cost.target_margin or 0) + 2 * softest


def _closest(ratio: float, finest: int) -> tuple[int, float]:
    """Return the number of parts, at most `finest`, that represents a ratio best, and its error.

    >>> _closest(0.75, 100)
    (4, 0.0)
    """
    parts = 1 + np.arange(finest)
    error = np.abs(np.rint(ratio * parts) / parts - ratio)
    best = int(np.argmin(error))  # the first, so the coarsest, of the best
    return int(parts[best]), float(error[best])


def _most_change(problem: TrainingProblem, cost: Cost) -> float:
    """Return a bound on the change of the energy of one example by one flip.

    For a neuron's own weight: a step up of its count, compared with a step down.
    """
    topology, gamma = problem.topology, float(problem.margin_strength)
    at_most_each, at_most_all = _moves_of_outputs(topology)
    outputs = topology.output_count
    if cost.target_margin is None:
        violation, own = at_most_all, 1
    else:  # a lead moves by twice the steps of both counts; half of it is energy
        violation, own = outputs * at_most_each + at_most_all, outputs
    margins = gamma * _moves_of_margins(topology, cost.margin_cap)
    if cost.has_soft_credit:
        violation, margins = _most_push(topology, cost), 0.0
    most = violation + 2 * own + margins + 4 * gamma
    if cost.softness:  # in 1 / 2S; from a step down to a step up the probability of +1 moves by 4
        softest = _softness(topology, cost)[: topology.hidden_count].max(initial=0)
        most = 4 * (violation + 2 * own + margins) + 8 * softest * gamma
    steps = _most_steps(tables_of(topology)[0])
    return float(steps * max(most, 4 * own * _lead_softness(cost)))


def _most_push(topology: Topology, cost: Cost) -> int:
    """Return a bound on the pushes of neurons that outputs read; others are clipped to it."""
    is_last = topology.target_of >= topology.outputs.start
    arcs = np.bincount(topology.source_of[is_last], minlength=topology.node_count)
    most = int(arcs[topology.input_count :].max(initial=1))
    return 2 * most if cost.target_margin is None else 2 * 2 * most


def _most_steps(wiring: Wiring) -> int:
    """Return the most steps of a count at once: those of a bundle, perhaps with a threshold's."""
    sizes = np.diff(wiring.bundle_starts)
    alone = int(sizes.max(initial=1))
    is_pair = len(sizes) > 0 and wiring.with_threshold.any()
    return alone + int(sizes[wiring.first_constant :].max(initial=0)) if is_pair else alone


def _softness(topology: Topology, cost: Cost) -> NDArray[np.int64]:
    """Return S by neuron, at least 1 if neurons are soft."""
    softness = np.zeros(topology.neuron_count, dtype=np.int64)
    if cost.softness:
        roots = np.sqrt(_squares_of_moves(topology)[: topology.hidden_count])
        softness[: topology.hidden_count] = np.maximum(1, np.rint(cost.softness * roots))
        if cost.has_soft_credit:  # neurons that share weights are visited together
            groups = group_of_neurons(topology)
            widest = np.zeros(topology.neuron_count, dtype=np.int64)
            np.maximum.at(widest, groups, softness)
            softness = widest[groups]
    softness[topology.hidden_count :] = _lead_softness(cost)
    return softness


@lru_cache(maxsize=12)
def _squares_of_moves(topology: Topology) -> NDArray[np.float64]:
    """Return by neuron its number of arcs, or the squares of its bundles' sizes, summed by weight.

    So it is the mean square of the pre-activation of random weights, for equal spins in a bundle.
    """
    wiring = tables_of(topology)[0]
    squares = topology.fan_in[topology.input_count :].astype(np.float64)
    if len(wiring.tied):
        own = np.delete(np.arange(topology.arc_count), topology.constant_arcs)
        weights, neurons = topology.weight_of[own], topology.target_of[own] - topology.input_count
        sums = np.bincount(neurons, np.bincount(weights)[weights], topology.neuron_count)
        squares = np.where(np.diff(wiring.tied_starts) > 0, sums, squares)
    return squares


def _lead_softness(cost: Cost) -> int:
    """Return S of the outputs' leads, even or odd as the target is; 0 if they are not soft."""
    if not cost.output_softness or cost.target_margin is None:
        return 0
    half, odd = round(cost.output_softness * cost.target_margin / 2), cost.target_margin % 2
    return 2 * max(half, 1 - odd) + odd


@lru_cache(maxsize=12)
def _moves_of_margins(topology: Topology, cap: int | None) -> float:
    """Return a bound on the sum of the moves of other neurons' margins by one flip."""
    is_hidden = topology.target_of < topology.outputs.start
    is_inner = is_hidden & (topology.source_of >= topology.input_count)
    steps = 2.0 * np.bincount(topology.target_of[is_inner])
    arcs_of = np.bincount(topology.weight_of[is_hidden])
    at_once = arcs_of[arcs_of > 1].max(initial=0)  # neurons that a shared weight moves
    return float(np.minimum(steps, np.inf if cap is None else cap).sum() + 2 * at_once)


@lru_cache(maxsize=12)
def _moves_of_outputs(topology: Topology) -> tuple[int, int]:
    """Return bounds on the moves of the outputs' counts by one flip: of one output, of all."""
    wiring, cones = tables_of(topology)
    if cones.table[:, IS_DEEP].any() or len(wiring.shared):
        fan_in = topology.fan_in[topology.outputs.start :]
        return int(fan_in.max()), int(fan_in.sum())
    arcs = cones.table[:, ARCS_END] - cones.table[:, ARCS_START]
    by_owner = np.diff(np.append(0, np.cumsum(arcs))[cones.starts])
    return int(arcs.max(initial=1)), int(by_owner.max(initial=1))
