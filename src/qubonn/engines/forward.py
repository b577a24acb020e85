"""ForwardAnnealing: anneal weights and biases only; activations follow from the forward pass.

TrainingProblem -> Found, for networks with one fully connected hidden layer: the third view. What
is left of the paper's energy is how wrong the outputs are, the hidden margins and the field.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import BitMatrix, require_count, require_memory
from qubonn.engines.base import Found
from qubonn.engines.cooling import bits_of_networks, cooling, require_factors
from qubonn.engines.layered import LANES, Cost, Layered, require_one_hidden_layer, require_one_hot
from qubonn.errors import RangeError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.quadratic import Stop
from qubonn.watching import Report, Watch, require_seed

__all__ = ["ForwardAnnealing"]

QUENCH_SWEEPS = 5  # at temperature zero, at the end
MEASURED_CHANGES = 10_000  # from which temperatures are measured, at least where 16 networks do
NO_TARGET = -(2**62)


@dataclass(frozen=True, kw_only=True)
class ForwardAnnealing:
    """Metropolis annealing of the forward view: examples side by side, a thread for each replica.

    For networks with one hidden layer, Topology.dense(inputs, hidden, outputs); LiftedAnnealing
    takes all others. The energy is what the outputs cost, minus gamma = `margin_strength` times the
    sum of min(|pi|, `margin_cap`) over hidden neurons and examples, minus the field's reward. It is
    not the paper's total: problem.certify(network) gives that.

    With `outputs` "threshold" an output costs the number of terms by which it is on the wrong side:
    0 exactly where the paper's constraints hold. "pairwise" is for one-hot outputs of which the one
    with the largest pre-activation is chosen: each wrong class costs half of what the right class's
    lead lacks of `target_margin` (default: about 3 times the root of the number of hidden neurons).

    A sweep proposes every weight and bias once. Hidden and output layer have temperatures of their
    own, measured on the problem; `hottest` and `coldest` scale them. A problem's `output_strength`
    plays no part.

    >>> from qubonn.topology import Topology
    >>> problem = TrainingProblem(Topology.dense(2, 3, 1), [[1, 1], [1, -1]], [[1], [-1]])
    >>> ForwardAnnealing(replica_count=4).solve(problem, target_energy=0)
    Found(4 networks, best energy 0, TARGET)
    """

    replica_count: int = 16
    sweep_count: int = 100
    outputs: Literal["threshold", "pairwise"] = "threshold"
    target_margin: int | None = None
    margin_cap: int | None = None
    hottest: float = 1.0
    coldest: float = 1.0
    thread_count: int | None = None

    def __post_init__(self) -> None:
        require_count("replica_count", self.replica_count)
        require_count("sweep_count", self.sweep_count)
        for name in ("target_margin", "margin_cap", "thread_count"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name))
        require_factors(hottest=self.hottest, coldest=self.coldest)
        if self.outputs not in ("threshold", "pairwise"):
            raise RangeError(f"outputs must be 'threshold' or 'pairwise'; got {self.outputs!r}")
        if self.target_margin is not None and self.outputs == "threshold":
            raise RangeError("target_margin must be left out unless outputs='pairwise'")

    def solve(
        self,
        problem: TrainingProblem,
        *,
        seed: int = 0,
        time_limit: float | None = None,
        target_energy: float | None = None,
        report: Report | None = None,
        initial_networks: Sequence[BinaryNetwork] = (),
    ) -> Found:
        """Anneal all replicas and return their networks, lowest energy first.

        A replica depends on the seed and its number only. Replicas start from random parameters, or
        from `initial_networks`, repeated as needed. With a target all stop soon after one is there.
        """
        watch = Watch(time_limit=time_limit, target_energy=target_energy, report=report)
        require_seed(seed)
        require_one_hidden_layer(problem.topology)
        if self.outputs == "pairwise":
            require_one_hot(problem.output_spins)
        _require_room(problem, self.replica_count)
        run = _Run(problem, self, seed, initial_networks)
        stop = run.anneal(watch)
        return run.found(stop, watch)

    def cost_for(self, problem: TrainingProblem) -> Cost:
        """Return what outputs and margins cost in a problem of this size."""
        if self.outputs == "threshold":
            return Cost(None, self.margin_cap)
        usual = 2 * round(1.5 * problem.topology.hidden_count**0.5)
        return Cost(self.target_margin or usual, self.margin_cap)


class _Run:
    """All replicas of one anneal, packed for the kernels."""

    def __init__(
        self,
        problem: TrainingProblem,
        settings: ForwardAnnealing,
        seed: int,
        initial_networks: Sequence[BinaryNetwork] = (),
    ) -> None:
        self.threads: Any = import_module("qubonn.lanes.threads").threads
        self.problem, self.settings, self.sweep = problem, settings, 0
        self.layered = Layered(problem, settings.cost_for(problem))
        self.unit = self.layered.unit
        sources = np.random.SeedSequence(seed).spawn(settings.replica_count)
        starts, streams = zip(*(source.spawn(2) for source in sources), strict=True)
        words = [stream.generate_state(LANES, np.uint64) for stream in streams]
        seeds = np.stack(words).astype(np.uint64)
        parameters = _parameters(problem, starts, initial_networks)
        self.replicas = self.layered.replicas(*parameters, seeds)
        self.energies = np.array(
            [self.kernels.energy_of(self.layered.examples, self.one(r)) for r in range(len(seeds))],
            dtype=np.int64,
        )

    @property
    def kernels(self) -> Any:
        """The compiled part."""
        return self.layered.kernels

    def one(self, number: int) -> Any:
        """One replica."""
        return self.layered.one(self.replicas, number)

    def anneal(self, watch: Watch) -> Stop:
        """Cool in slices and look at the watch in between; quench at the end."""
        target = NO_TARGET  # a replica that is there rests until the slice ends
        if watch.target_energy is not None:
            target = int(np.floor(watch.target_energy / self.unit + 1e-9))
        try:
            temperatures = self.temperatures()

            def advance(start: int, end: int) -> None:
                self.advance(temperatures[start:end], target)

            span = range(len(temperatures))
            return watch.work(span, len(span), advance, self.best_energy) or Stop.FINISHED
        except KeyboardInterrupt:
            return Stop.INTERRUPTED

    def temperatures(self) -> NDArray[np.float64]:
        """A row for each sweep: temperatures of hidden and output layer; then zeros."""
        hot, cold = measured_temperatures(self.problem, self.settings)
        hottest, coldest = hot * self.settings.hottest, cold * self.settings.coldest
        return cooling(hottest, coldest, self.settings.sweep_count, QUENCH_SWEEPS)

    def best_energy(self) -> float:
        """The lowest energy of any replica now."""
        return float(self.energies.min() * self.unit)

    def found(self, stop: Stop, watch: Watch) -> Found:
        """Unpack all replicas, lowest energy first."""
        order = np.argsort(self.energies, kind="stable")
        weights, biases = (part[order] for part in self.layered.parameters(self.replicas))
        problem, topology = self.problem, self.problem.topology
        spins = np.empty((len(order), problem.example_count, topology.node_count), dtype=np.int8)
        spins[:, :, : topology.input_count] = problem.input_spins
        spins[:, :, topology.outputs.start :] = problem.output_spins
        for row, number in enumerate(order):
            hidden = slice(topology.input_count, topology.outputs.start)
            spins[row, :, hidden] = self.layered.hidden_spins(self.one(number))
            if not problem.has_fixed_outputs:
                network = BinaryNetwork(topology, weights[row], biases[row])
                outputs = network.predict_outputs(problem.input_spins)
                spins[row, :, topology.outputs.start :] = outputs
        info = {"sweeps": self.sweep, "seconds": watch.seconds}
        energies = self.energies[order].astype(np.float64) * self.unit
        return Found(problem, weights, biases, spins, energies, stop, info)

    def changes(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Energy changes of all flips: replicas x neurons x (sources, then the bias), by layer."""
        hidden = np.zeros(self.replicas.hidden_weights.shape, dtype=np.int64)
        outputs = np.zeros(self.replicas.output_weights.shape, dtype=np.int64)
        for r in range(len(hidden)):
            self.kernels.set_changes(self.layered.examples, self.one(r), hidden[r], outputs[r])
        return hidden * self.unit, outputs * self.unit

    def advance(self, temperatures: NDArray[np.float64], target: int = NO_TARGET) -> None:
        """Make one sweep for each row of temperatures."""
        with self.threads(self.settings.thread_count):
            self.kernels.anneal_all(
                self.layered.examples,
                self.replicas,
                self.energies,
                temperatures / self.unit,
                target,
            )
        self.sweep += len(temperatures)


def measured_temperatures(
    problem: TrainingProblem, settings: ForwardAnnealing
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return hottest and coldest temperature of hidden and output layer.

    Measured at random networks, on energy changes that are not zero: hottest is the median size of
    those that violations alone bring, coldest a seventh of the small ones (5 % quantile) of the
    whole energy, but no less than a hundredth of the hottest.
    """
    plain = replace(problem, margin_strength=0, field=Field.zero(problem.topology))
    hottest = _sizes(plain, settings, 0.5)
    smallest = _sizes(problem, settings, 0.05)
    return hottest, np.clip(smallest / 7, hottest / 100, hottest)


def _sizes(
    problem: TrainingProblem, settings: ForwardAnnealing, quantile: float
) -> NDArray[np.float64]:
    """Return a quantile of the magnitudes of changes, for both layers; 1 where all are zero."""
    count = int(np.clip(MEASURED_CHANGES // problem.topology.weight_count, 1, 16))
    run = _Run(problem, replace(settings, replica_count=count), seed=0)
    sizes = [np.abs(changes[changes != 0]) for changes in run.changes()]
    return np.array([np.quantile(size, quantile) if size.size else 1.0 for size in sizes])


def _parameters(
    problem: TrainingProblem,
    starts: Sequence[np.random.SeedSequence],
    networks: Sequence[BinaryNetwork],
) -> tuple[BitMatrix, BitMatrix]:
    topology = problem.topology
    if not networks:
        size = topology.weight_count + topology.neuron_count
        bits = np.stack([np.random.default_rng(s).integers(0, 2, size, np.int8) for s in starts])
        return bits[:, : topology.weight_count], bits[:, topology.weight_count :]
    return bits_of_networks(networks, topology, len(starts))


def _require_room(problem: TrainingProblem, replica_count: int) -> None:
    topology, count = problem.topology, problem.example_count
    require_memory(
        f"annealing {replica_count:,} replicas of a network of {topology.node_count:,} nodes on "
        f"{count:,} examples",
        replica_count * (count * (topology.node_count + 5 * topology.neuron_count))
        + 9 * replica_count * topology.weight_count
        + 8 * count * topology.node_count,
    )
