"""ForwardAnnealing: anneal weights and biases only; activations follow from the forward pass.

TrainingProblem -> Solutions, for acyclic networks: the third view. The paper's energy reduces to
the violations of the outputs, the hidden margins and the field.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any, ClassVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector, require_count
from qubonn.encoding import Reading, require_reading
from qubonn.engines.base import (
    PAPER_TERMS,
    Solutions,
    bits_of_networks,
    cooling,
    require_factors,
    require_room,
    require_terms,
    temperatures_from,
    with_known_bits,
)
from qubonn.engines.credit import (
    CreditKind,
    require_credit,
    uses_soft_credit,
    widest_group,
)
from qubonn.engines.forward_packing import (
    NO_TARGET,
    Cost,
    PackedExamples,
    require_acyclic,
    require_pairwise,
)
from qubonn.engines.forward_tables import LANES, VisitSchedule, temperature_groups
from qubonn.engines.layerwise import grown, stages_of
from qubonn.engines.sweep_data import GrowingBatches, InputNoise, InputShifts
from qubonn.errors import RangeError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import TARGET_SLICE, Report, Stop, Watch, finished, require_seed

MOST_SOFTNESS = 100  # the noise then covers all sums of all but the largest neurons
MEASURED_CHANGES = 10_000  # to measure temperatures on, from at most 16 networks
Temperatures = tuple[NDArray[np.float64], NDArray[np.float64]]  # hottest and coldest, by group
_MEASURED: WeakKeyDictionary[TrainingProblem, dict[Any, Temperatures]] = WeakKeyDictionary()


@dataclass(frozen=True, kw_only=True)
class ForwardAnnealing:
    """Metropolis annealing of the forward view: examples in parallel.

    For networks without cycles; LiftedAnnealing trains all others. The energy is the cost
    of the outputs, minus gamma = `margin_strength` times the sum of min(|pi|, `margin_cap`) over
    hidden neurons and examples, minus the field's reward, plus the decay of weights of several
    levels. It is not the paper's total energy: problem.certify(network) gives that.

    With `reading` "signs" the cost of an output is the number of terms by which it is on the wrong
    side: 0 exactly where the paper's constraints hold. "largest" is for one-hot outputs of which
    the one with the largest pre-activation is chosen: the cost of each wrong class is half the
    amount by which the right class's lead is below `target_margin` (default: about 3 times the
    square root of an output's number of arcs).

    With `softness` the flips of a hidden neuron's own weights are evaluated by the expected energy
    if noise, uniform in -S..S, is added to its pre-activation, where S is `softness` times the
    square root of its number of arcs: a flip then depends on all examples near the threshold, not
    only on those that cross it. Such networks generalise better. Energies that are returned,
    reported or compared with a target are without this noise, and so are flips of shared weights
    with exact `credit`.
    With `output_softness`, for `reading` "largest", the flips of an output's own weights are
    evaluated likewise, with noise in its leads; there S is `output_softness` times the target.

    With soft `credit` the cost of a hidden neuron's sign is not computed by running it through all
    neurons that depend on it, but passed down from the outputs by the slopes of soft neurons; leads
    are soft too (`output_softness` 1 unless given), and so are flips of shared weights. It is what
    deep networks and convolutions need, and what "auto" uses for them if neurons are soft.
    With credit by "layers" each hidden layer is trained with outputs that read it directly, then
    fixed, and its activations are the inputs of the next; energies reported are those of the layer
    in training. Networks without such layers, and initial networks, are trained as with "auto".

    A sweep proposes every weight and bias once. Each layer, and the shared weights into it, have
    their own temperatures, measured on the problem; `hottest` and `coldest` scale them. With
    `noise` each sweep uses the examples with new errors, or all their shifted copies; with
    `batches`, for large datasets, it uses a batch of them and the same share of field and decay.
    The last `quench_sweeps` are at temperature zero, and use all original examples, or if they are
    shifted as many copies as the sweep before. Returned energies are of all original examples;
    those reported before are estimates.

    Threads share the replicas. Soft neurons of a layer with exact credit may be visited
    `neurons_at_once`, from the same state and without each other's flips: threads then share those
    of a single replica. At most a sixteenth of a layer is safe; more of them correct the same
    errors. The result does not depend on the number of threads.

    Margin strengths are rounded by up to 2 % if that makes lanes narrower. The `output_strength` of
    a problem is not used.

    >>> from qubonn.topology import Topology
    >>> problem = TrainingProblem(Topology.dense(2, 3, 1), [[1, 1], [1, -1]], [[1], [-1]])
    >>> ForwardAnnealing(replica_count=4).solve(problem, target_energy=0)
    Solutions(4 networks, best energy 0, TARGET)
    """

    supported_terms: ClassVar[frozenset[str]] = PAPER_TERMS | {"decay"}

    replica_count: int = 16
    sweep_count: int = 100
    reading: Reading = "signs"
    target_margin: int | None = None
    margin_cap: int | None = None
    softness: float | None = None
    output_softness: float | None = None
    credit: CreditKind = "auto"
    noise: InputNoise | InputShifts | None = None
    batches: GrowingBatches | None = None
    hottest: float = 1.0
    coldest: float = 1.0
    quench_sweeps: int = 5
    neurons_at_once: int = 1
    thread_count: int | None = None

    def __post_init__(self) -> None:
        require_count("replica_count", self.replica_count)
        require_count("sweep_count", self.sweep_count)
        require_count("quench_sweeps", self.quench_sweeps, least=0)
        if require_count("neurons_at_once", self.neurons_at_once) > 1 and self.softness is None:
            raise RangeError("neurons_at_once needs a softness: flips of others are not known")
        for name in ("target_margin", "margin_cap", "thread_count"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        require_factors(hottest=self.hottest, coldest=self.coldest)
        for name in ("softness", "output_softness"):
            value = getattr(self, name)
            if value is not None:
                require_factors(**{name: value})
                if value > MOST_SOFTNESS:
                    raise RangeError(f"{name} must be at most {MOST_SOFTNESS}; got {value}")
        require_reading(self.reading)
        require_credit(self.credit)
        for name in ("target_margin", "output_softness"):
            if getattr(self, name) is not None and self.reading == "signs":
                raise RangeError(f"{name} must be left out unless reading='largest'")

    def solve(
        self,
        problem: TrainingProblem,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
        initial_networks: Sequence[BinaryNetwork] = (),
    ) -> Solutions:
        """Anneal all replicas and return their networks, lowest energy first.

        A replica depends on the seed and its index only. Replicas start from random parameters, or
        from `initial_networks`, repeated as needed. All stop soon after one reaches the target.
        """
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        require_seed(seed)
        require_terms(problem, self)
        require_acyclic(problem.topology)
        if self.reading == "largest":
            require_pairwise(problem)
        _require_room(problem, self)
        if self.credit == "layers" and not initial_networks:
            if isinstance(self.noise, InputNoise):
                raise RangeError("credit='layers' needs noise=None or InputShifts")
            if len(stages_of(problem.topology)) > 1:
                return self._solve_by_layers(problem, seed, watch, report)
        if self.neurons_at_once > 1 and self.cost_for(problem).has_soft_credit:
            raise RangeError("neurons_at_once needs credit='exact'; this network has soft credit")
        run = ForwardRun(problem, self, seed, initial_networks)
        stop = run.anneal(watch)
        return finished(lambda: run.found(stop, watch))

    def _solve_by_layers(
        self, problem: TrainingProblem, seed: int, watch: Watch, report: Report | None
    ) -> Solutions:
        networks, stop, sweeps = grown(problem, self, seed, watch, report)
        settings = replace(self, replica_count=len(networks), noise=None, credit="exact")

        def found() -> Solutions:
            one = ForwardRun(problem, settings, seed, networks).found(stop, watch)
            return replace(one, info={**one.info, "sweeps": sweeps})

        return finished(found)

    def cost_for(self, problem: TrainingProblem) -> Cost:
        """Return the costs of outputs and margins for a problem of this size."""
        target = None
        if self.reading == "largest":
            outputs = problem.topology.fan_in[problem.topology.outputs.start :]
            usual = max(2, 2 * round(1.5 * float(outputs.mean()) ** 0.5))
            target = self.target_margin or usual
        is_soft = self.softness is not None
        has_soft_credit = uses_soft_credit(problem.topology, self.credit, is_soft=is_soft)
        of_leads = self.output_softness or int(has_soft_credit and target is not None)
        copies = self.noise.copy_count if isinstance(self.noise, InputShifts) else 1
        return Cost(target, self.margin_cap, self.softness or 0, of_leads, has_soft_credit, copies)


class ForwardRun:
    """All replicas of one anneal, packed for the kernels."""

    def __init__(
        self,
        problem: TrainingProblem,
        settings: ForwardAnnealing,
        seed: int,
        initial_networks: Sequence[BinaryNetwork] = (),
    ) -> None:
        self.problem, self.settings, self.visit_count = problem, settings, 0
        cost = settings.cost_for(problem)
        self.copy_count = cost.copy_count
        noise, at_once = settings.noise, settings.neurons_at_once
        shifts = noise if isinstance(noise, InputShifts) else None
        self.packed = PackedExamples(problem, cost, settings.thread_count, at_once, shifts)
        self.unit = self.packed.unit
        self.groups = temperature_groups(problem.topology)
        self.generator = np.random.default_rng([seed, 1])  # of the noise, the same for all replicas
        self.seen_count, self.is_all_seen = problem.example_count, True
        count = settings.replica_count
        sources = np.random.SeedSequence(seed).spawn(count)
        starts, streams = zip(*(source.spawn(2) for source in sources), strict=True)
        words = [stream.generate_state(LANES, np.uint64) for stream in streams]
        if initial_networks:
            bits = bits_of_networks(initial_networks, problem.topology, count)
        else:
            size = problem.topology.weight_count + problem.topology.neuron_count
            draws = [np.random.default_rng(s).integers(0, 2, size, np.int8) for s in starts]
            bits = with_known_bits(problem.topology, np.stack(draws))
        self.replicas = self.packed.replicas(bits, np.stack(words))
        self._energies = np.zeros(count, dtype=np.int64)
        self._are_energies_known = False
        self.best: tuple[float, Any] = np.inf, None  # energy in units, parameters

    @property
    def is_soft(self) -> bool:
        """Whether some flips are evaluated by expected energies."""
        return bool(self.packed.prices.softness.any())

    def anneal(self, watch: Watch) -> Stop:
        """Cool in slices of visits, check the watch after each, and quench at the end."""
        target = NO_TARGET  # a replica that reaches it stops until the slice ends
        if watch.target_energy is not None:
            target = int(np.floor(watch.target_energy / self.unit + 1e-9))
        try:
            schedule = self.packed.schedule(self.temperatures())
            steps = TARGET_SLICE * self.packed.visit_count
            for span in self.spans(schedule.last):
                is_estimate = not self.is_all_seen
                aim = NO_TARGET if is_estimate or self.is_soft else target
                for start, end in watch.slices(span, steps, is_estimate=is_estimate):
                    if aim != NO_TARGET:
                        self.update_energies()
                    self.make_visits(schedule._replace(first=start, last=end, target=aim))
                    energy = self.best_energy() if watch.needs_energies else float("nan")
                    stop = watch.verdict(end / schedule.last, energy, is_estimate=is_estimate)
                    if stop is not None:
                        return stop
            return Stop.FINISHED
        except KeyboardInterrupt:
            self.is_all_seen = False  # a turn may be incomplete: a new forward pass completes it
            return Stop.INTERRUPTED

    def spans(self, last: int) -> Iterator[range]:
        """Yield the visits of all sweeps: one sweep at a time while the examples change."""
        visits, changing = self.packed.visit_count, 0
        for rows in self.batches():
            self.see(rows)
            yield range(changing * visits, (changing + 1) * visits)
            changing += 1
        if changing * visits < last:
            self.see_all()
            yield range(changing * visits, last)

    def batches(self) -> Iterator[IntVector | None]:
        """Yield the examples of each sweep that does not use all original ones; None means all."""
        settings, count = self.settings, self.problem.example_count * self.copy_count
        sweep_count = settings.sweep_count if settings.noise or settings.batches else 0
        quench_sweeps = settings.quench_sweeps if self.copy_count > 1 else 0
        if settings.batches is None:
            return repeat(None, sweep_count + quench_sweeps)
        return settings.batches.rows(sweep_count, count, self.generator, quench_sweeps)

    def see(self, rows: IntVector | None) -> None:
        """Load some examples, or all, with new noise or as shifted copies, into all replicas."""
        self.is_all_seen = False
        noise, clean = self.settings.noise, self.problem.input_spins
        if rows is None:
            rows = np.arange(len(clean) * self.copy_count)

        spins = None
        if isinstance(noise, InputNoise):
            spins = noise.disturb(clean[rows], self.generator)
        self.replicas = self.packed.load_examples(self.replicas, rows, spins)
        self._are_energies_known = False
        self.seen_count = len(rows)

    def see_all(self) -> None:
        """Load all original examples into all replicas."""
        if not self.is_all_seen:
            self.replicas = self.packed.load_examples(self.replicas)
            self._are_energies_known = False
            self.seen_count, self.is_all_seen = self.problem.example_count, True

    def temperatures(self) -> NDArray[np.float64]:
        """A row for each sweep: temperatures of the groups of parameters; then zeros."""
        settings = self.settings
        hot, cold = measured_temperatures(self.problem, settings)
        hottest, coldest = hot * settings.hottest, cold * settings.coldest
        return cooling(hottest, coldest, settings.sweep_count, settings.quench_sweeps)

    def best_energy(self) -> float:
        """The lowest energy of any replica now; of a batch, scaled to all examples.

        The parameters of the best network so far are kept, unless its energy is an estimate.
        """
        replica = int(np.argmin(self.energies))
        energy = int(self.energies[replica])
        if self.is_all_seen and energy < self.best[0]:
            self.best = energy, self.replicas.parameters[replica].copy()
        return float(energy * self.unit / (self.seen_count / self.problem.example_count))

    @property
    def energies(self) -> NDArray[np.int64]:
        """The energies of all replicas in units."""
        self.update_energies()
        return self._energies

    def update_energies(self) -> None:
        """Compute energies unless they are known; flips without noise keep them up to date."""
        if not self._are_energies_known:
            self._energies[:] = self.packed.energies(self.replicas)
            self._are_energies_known = True

    def found(self, stop: Stop, watch: Watch) -> Solutions:
        """Return the networks of all replicas, lowest energy first.

        After an early stop the best network so far takes the place of the worst replica.
        """
        self.see_all()
        if stop is not Stop.FINISHED and self.best[0] < self.energies.min():
            self.replicas.parameters[np.argmax(self.energies)] = self.best[1]
            self.replicas = self.packed.load_examples(self.replicas)
            self._are_energies_known = False
        order = np.argsort(self.energies, kind="stable")
        weights, biases = (part[order] for part in self.packed.parameters(self.replicas))
        problem, topology = self.problem, self.problem.topology
        spins = np.empty((len(order), problem.example_count, topology.node_count), dtype=np.int8)
        spins[:, :, : topology.input_count] = topology.with_constant(problem.input_spins)
        for row, number in enumerate(order):
            one = self.packed.one(self.replicas, number)
            spins[row, :, topology.input_count :] = self.packed.activation_spins(one)
        if problem.has_fixed_outputs:
            spins[:, :, topology.outputs.start :] = problem.output_spins
        info = {"sweeps": self.visit_count // self.packed.visit_count, "seconds": watch.seconds}
        energies = self.energies[order].astype(np.float64) * self.unit
        return Solutions(problem, weights, biases, spins, energies, stop, info)

    def flip_costs(self) -> NDArray[np.float64]:
        """Energy changes of all flips: replicas x (weights, then biases)."""
        return self.packed.flip_costs(self.replicas) * np.float64(self.unit)

    def sweep(self, temperatures: NDArray[np.float64]) -> None:
        """Make a sweep for each row of temperatures."""
        self.make_visits(self.packed.schedule(temperatures))

    def make_visits(self, schedule: VisitSchedule) -> None:
        """Make the visits of a schedule."""
        self.packed.anneal(self.replicas, self._energies, schedule)
        self._are_energies_known &= not self.is_soft
        self.visit_count += schedule.last - schedule.first


def measured_temperatures(problem: TrainingProblem, settings: ForwardAnnealing) -> Temperatures:
    """Return hottest and coldest temperature of each group of parameters.

    Measured at random networks without decay; see `temperatures_from`. Coldest is at least
    hottest / 100. They are measured once for all runs of a problem with the same costs.
    """
    known = _MEASURED.setdefault(problem, {})
    key = settings.cost_for(problem), settings.batches
    if key not in known:
        bare = replace(_first_batch(problem, settings), decay_strength=0)
        hottest, coldest = temperatures_from(bare, lambda one: _sizes(one, settings), if_empty=1.0)
        known[key] = hottest, np.maximum(coldest, hottest / 100)
    return known[key]


def with_decay(problem: TrainingProblem, strength: float) -> TrainingProblem:
    """Return the problem with another decay; temperatures do not depend on it."""
    decayed = replace(problem, decay_strength=strength)
    _MEASURED[decayed] = _MEASURED.setdefault(problem, {})
    return decayed


def _first_batch(problem: TrainingProblem, settings: ForwardAnnealing) -> TrainingProblem:
    """Return the problem of a random first batch, with its share of the field."""
    count, field = problem.example_count, problem.field
    if settings.batches is None or settings.batches.first >= count:
        return problem
    rows = np.random.default_rng(0).permutation(count)[: settings.batches.first]
    share = len(rows) / count
    share_of_field = Field(share * field.weights, share * field.biases)
    return replace(problem.of_examples(rows), field=share_of_field)


def _sizes(problem: TrainingProblem, settings: ForwardAnnealing) -> list[NDArray[np.float64]]:
    """Return the sizes of all nonzero energy changes, by group."""
    count = _measured_replicas(problem)
    run = ForwardRun(problem, replace(settings, replica_count=count), seed=0)
    changes, of_parameter = np.abs(run.flip_costs()), run.groups.of_parameter
    sizes = [changes[:, of_parameter == group] for group in range(run.groups.count)]
    return [size[size > 0] for size in sizes]


def _measured_replicas(problem: TrainingProblem) -> int:
    """Return the number of networks to measure temperatures on: more for small networks."""
    return int(np.clip(MEASURED_CHANGES // max(problem.topology.weight_count, 1), 1, 16))


def _require_room(problem: TrainingProblem, settings: ForwardAnnealing) -> None:
    topology, replica_count = problem.topology, settings.replica_count
    copies = problem.example_count * settings.cost_for(problem).copy_count
    count = measured = copies
    if settings.batches is not None:
        count = min(copies, max(problem.example_count, settings.batches.last or copies))
        measured = min(copies, settings.batches.first)
    pushes = 0
    if settings.cost_for(problem).has_soft_credit:
        pushes = 3 * topology.neuron_count + 5 * widest_group(topology)
    require_room(
        problem,
        replica_count,
        replica_count * (count * (topology.node_count + 5 * topology.neuron_count))
        + 5 * _measured_replicas(problem) * measured * topology.neuron_count
        + 10 * replica_count * (topology.weight_count + topology.neuron_count)
        + (replica_count * count + _measured_replicas(problem) * measured) * pushes
        + (2 if settings.noise is None else 7) * problem.example_count * topology.node_count
        + copies * topology.input_count // 8
        + 40 * topology.arc_count,
    )
