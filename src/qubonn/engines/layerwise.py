"""Deep networks layer by layer: each hidden layer is trained with outputs that read it directly.

TrainingProblem, ForwardAnnealing -> networks. The activations of a layer that is trained are the
inputs of the next one. Only the outputs of the last layer become part of the network.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from qubonn.checks import IntVector, SpinMatrix
from qubonn.engines.credit import uses_soft_credit
from qubonn.engines.sweep_data import InputShifts, ShiftedActivations
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Progress, Report, Stop, Watch
from qubonn.topology import Topology

# Activations of layers below are clearer on the training examples than on new ones, so later
# layers are softer and have a larger target. Set on MNIST and digits; see docs/engines.md.
LATER_SOFTNESS, LATER_TARGET = 4 / 3, 1.5
LEAST_SECONDS, FEWEST_SWEEPS = 1e-3, 2  # of a layer
HURRIED = 5_000  # examples to train the layers that are left when time is over


@dataclass(frozen=True, eq=False)
class Stage:
    """A hidden layer, known layers such as pools that follow it, and outputs."""

    topology: Topology  # reads the layer before
    layers: Topology  # the same without outputs, unless they are the network's own
    weights: IntVector  # of `layers`: their numbers in the network
    neurons: IntVector  # of `layers`: the same

    def layers_of(self, network: BinaryNetwork) -> BinaryNetwork:
        """Return the layers of a trained network without its outputs."""
        weights, neurons = len(self.weights), len(self.neurons)
        spins = network.weight_spins[:weights], network.bias_spins[:neurons]
        return BinaryNetwork(self.layers, *spins)


@lru_cache(maxsize=8)
def stages_of(topology: Topology) -> tuple[Stage, ...]:
    """Return the stages of a network in which each layer reads only the one before; else none.

    >>> [stage.topology for stage in stages_of(Topology.dense(9, 5, 4, 2))]
    [Topology(9 inputs, 5 hidden, 2 outputs: 16 nodes, 55 arcs, 55 weights), ...]
    """
    levels = topology.levels()
    before = np.arange(topology.column_count)
    level_of = np.full(topology.node_count, -1)
    for number, nodes in enumerate(levels):
        level_of[nodes] = number
    sources = np.delete(topology.source_of, topology.constant_arcs)
    targets = np.delete(topology.target_of, topology.constant_arcs)
    if (level_of[sources] + 1 != level_of[targets]).any():
        return ()
    if not np.array_equal(levels[-1], topology.outputs):
        return ()
    stages = []
    for group in _grouped(topology, levels):
        stages.append(_stage(topology, before, group))
        before = group[-1]
    numbers = np.concatenate([stage.weights for stage in stages])
    return tuple(stages) if len(np.unique(numbers)) == len(numbers) else ()


def _grouped(topology: Topology, levels: tuple[IntVector, ...]) -> Iterator[tuple[IntVector, ...]]:
    """Yield the layers of each stage: a hidden layer with free parameters, the last with outputs.

    Layers without free parameters belong to the stage before, or to the first.
    """
    is_free = np.zeros(topology.node_count, dtype=np.bool_)
    is_free[topology.target_of[topology.known_weights[topology.weight_of] == 0]] = True
    is_free[topology.input_count :] |= topology.known_biases == 0
    group: list[IntVector] = []
    has_free = False
    for nodes in levels[:-1]:
        if has_free and is_free[nodes].any():
            yield tuple(group)
            group, has_free = [], False
        group.append(nodes)
        has_free |= bool(is_free[nodes].any())
    yield *group, levels[-1]


def _stage(topology: Topology, before: IntVector, group: tuple[IntVector, ...]) -> Stage:
    """Return the stage of some layers, of which the first reads the layer before."""
    nodes, first = np.concatenate(group), len(before) + topology.has_constant
    number_of = np.full(topology.node_count, -1)
    number_of[topology.inputs] = first - 1  # the constant, unless they are the layer before
    number_of[before] = np.arange(len(before))
    number_of[nodes] = first + np.arange(len(nodes))
    arcs = np.flatnonzero(number_of[topology.target_of] >= first)
    weights, weight_of = np.unique(topology.weight_of[arcs], return_inverse=True)
    sources, targets = number_of[topology.source_of[arcs]], number_of[topology.target_of[arcs]]
    last = number_of[group[-1]]
    layers = Topology(
        first,
        len(last),
        first + len(nodes),
        sources,
        targets,
        weight_of,
        has_constant=topology.has_constant,
        known_weights=topology.known_weights[weights],
        known_biases=topology.known_biases[nodes - topology.input_count],
    )
    neurons = nodes - topology.input_count
    if nodes[-1] == topology.outputs[-1]:
        return Stage(layers, layers, weights, neurons)
    outputs = layers.node_count + np.arange(topology.output_count)
    added = len(last) * len(outputs)
    with_outputs = Topology(
        first,
        len(outputs),
        layers.node_count + len(outputs),
        np.append(sources, np.tile(last, len(outputs))),
        np.append(targets, np.repeat(outputs, len(last))),
        np.append(weight_of, len(weights) + np.arange(added)),
        has_constant=topology.has_constant,
        known_weights=np.pad(layers.known_weights, (0, added)),
        known_biases=np.pad(layers.known_biases, (0, len(outputs))),
    )
    return Stage(with_outputs, layers, weights, neurons)


class Growth:
    """One network, of which the first layers are trained."""

    def __init__(self, problem: TrainingProblem, settings: Any, seed: int) -> None:
        self.problem, self.seed = problem, seed
        self.settings = replace(settings, replica_count=1, credit="auto")
        self.stages = stages_of(problem.topology)
        self.sizes = np.array([stage.topology.arc_count for stage in self.stages])
        self.found: list[Any] = []  # solutions of the stages that are trained
        self.is_hurried = self.is_interrupted = False
        self.layers: list[BinaryNetwork] = []  # trained, and without outputs
        self.spins: SpinMatrix = problem.input_spins  # that the next stage reads

    def grow(self, watch: Watch, share: float, report: Report | None) -> None:
        """Train the layers that are left, each in its part of a share of the time that is left.

        After an interruption they are trained on few examples in two sweeps, and so they are if
        there is too little time for as many sweeps.
        """
        while (number := len(self.found)) < len(self.stages):
            while len(self.layers) < number:
                layers = self.stages[len(self.layers)].layers_of(self.found[-1].network())
                self.spins = layers.predict_outputs(self.spins)
                self.layers.append(layers)
            problem, settings = self._problem_of(number), self._settings_of(number)
            seconds = None
            if self.is_hurried:
                rows = np.random.default_rng(0).permutation(len(self.spins))[:HURRIED]
                problem = problem.of_examples(rows)
                short: dict[str, Any] = {"sweep_count": FEWEST_SWEEPS - 1, "quench_sweeps": 1}
                settings = replace(settings, noise=None, batches=None, **short)
            elif watch.time_limit is not None:
                part = self.sizes[number] / self.sizes[number:].sum()
                seconds = max(share * watch.seconds_left * part, LEAST_SECONDS)
            is_last = number + 1 == len(self.stages)
            found = settings.solve(
                problem,
                seed=self._seed_of(number),
                time_limit=seconds,
                target_energy=watch.target_energy if is_last else None,
                report=None if self.is_hurried else self._reported(number, watch, report),
            )
            if found.stop is Stop.TIME_LIMIT and found.info["sweeps"] < FEWEST_SWEEPS:
                self.is_hurried = True  # this one again, and those after it
                continue
            self.found.append(found)
            self.is_hurried |= found.stop is Stop.INTERRUPTED
            self.is_interrupted |= found.stop is Stop.INTERRUPTED

    @property
    def stop(self) -> Stop:
        """Why the training ended."""
        stops = [found.stop for found in self.found]
        if self.is_interrupted:
            return Stop.INTERRUPTED
        return Stop.TIME_LIMIT if self.is_hurried or Stop.TIME_LIMIT in stops else stops[-1]

    @property
    def sweep_count(self) -> int:
        """Sweeps of a layer, on average."""
        return int(np.mean([found.info["sweeps"] for found in self.found]))

    def network(self) -> BinaryNetwork:
        """Return the whole network."""
        topology = self.problem.topology
        weights = np.empty(topology.weight_count, dtype=np.int8)
        biases = np.empty(topology.neuron_count, dtype=np.int8)
        for stage, found in zip(self.stages, self.found, strict=True):
            layers = stage.layers_of(found.network())
            weights[stage.weights], biases[stage.neurons] = layers.weight_spins, layers.bias_spins
        return BinaryNetwork(topology, weights, biases)

    def _problem_of(self, number: int) -> TrainingProblem:
        """Return the problem of a stage: its inputs are the activations of the layer before."""
        stage, field = self.stages[number], self.problem.field
        weights, biases = field.weights[stage.weights], field.biases[stage.neurons]
        topology = stage.topology
        added = topology.weight_count - len(weights), topology.neuron_count - len(biases)
        padded = Field(np.pad(weights, (0, added[0])), np.pad(biases, (0, added[1])))
        return replace(self.problem, topology=topology, inputs=self.spins, field=padded)

    def _settings_of(self, number: int) -> Any:
        """Return the settings of a stage; targets are proportional to roots of numbers of arcs."""
        settings, topology = self.settings, self.stages[number].topology
        is_later = number > 0
        target, softness = settings.cost_for(self.problem).target_margin, settings.softness
        if target is not None:
            arcs, own = (
                float(one.fan_in[one.outputs.start :].mean())
                for one in (self.problem.topology, topology)
            )
            scale = (own / arcs) ** 0.5 * (LATER_TARGET if is_later else 1)
            target = max(2, 2 * round(min(scale * target, own) / 2))
        if softness is not None and is_later:
            softness *= LATER_SOFTNESS
        noise = settings.noise
        if isinstance(noise, InputShifts) and is_later:
            noise = ShiftedActivations(
                shape=noise.shape,
                pixels=noise.pixels,
                images=self.problem.input_spins,
                layers=tuple(self.layers),
            )
        settings = replace(settings, target_margin=target, softness=softness, noise=noise)
        if uses_soft_credit(topology, "auto", is_soft=softness is not None):
            settings = replace(settings, neurons_at_once=1)
        return settings

    def _seed_of(self, number: int) -> int:
        return int(np.random.SeedSequence([self.seed, number]).generate_state(1)[0])

    def _reported(self, number: int, watch: Watch, report: Report | None) -> Report | None:
        """Return a report of a stage as a part of all stages."""
        if report is None:
            return None
        done, all_parts = self.sizes[:number].sum(), self.sizes.sum()

        def of_stage(progress: Progress) -> bool | None:
            part = float((done + progress.part * self.sizes[number]) / all_parts)
            return report(replace(progress, part=part, seconds=watch.seconds))

        return of_stage


def grown(
    problem: TrainingProblem, settings: Any, seed: int, watch: Watch, report: Report | None
) -> tuple[list[BinaryNetwork], Stop, int]:
    """Return networks trained layer by layer one after the other, why it ended, and sweeps.

    After an interruption there are fewer networks, but always one.
    """
    count, networks = settings.replica_count, []
    for replica in range(count):
        own = np.random.SeedSequence([seed, replica]).generate_state(1)[0]
        growth = Growth(problem, settings, int(own))
        work = watch, 1 / (count - replica), _part_of(report, replica, count)
        try:
            growth.grow(*work)
        except KeyboardInterrupt:
            growth.is_hurried = growth.is_interrupted = True
            growth.grow(*work)
        if replica and growth.stop is Stop.INTERRUPTED:
            break
        networks.append(growth.network())
        if growth.stop in (Stop.TARGET, Stop.INTERRUPTED):
            break
    return networks, growth.stop, growth.sweep_count


def _part_of(report: Report | None, replica: int, count: int) -> Report | None:
    """Return a report of one of several networks."""
    if report is None or count == 1:
        return report
    return lambda progress: report(replace(progress, part=(replica + progress.part) / count))
