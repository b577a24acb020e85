"""The slowest twin of ForwardAnnealing, a forward pass for every energy; and problems for it."""

from typing import Any

import numpy as np
import pytest
from hypothesis import strategies as st
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix
from qubonn.datasets import letters
from qubonn.encoding import CodeBook
from qubonn.engines import (
    ForwardAnnealing,
    forward_packing,
)
from qubonn.engines.forward import ForwardRun
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.topology import Topology
from topology.random_graphs import with_known

ENGINE = ForwardAnnealing(replica_count=3, sweep_count=5)


def slow_energy(
    problem: TrainingProblem, engine: ForwardAnnealing, network: BinaryNetwork
) -> float:
    """Return the engine's energy of a network, straight from its docstring."""
    hidden_count = problem.topology.hidden_count
    sums = network.pre_activations(problem.input_spins)
    hidden, outputs = sums[:, :hidden_count], sums[:, hidden_count:]
    target = engine.cost_for(problem).target_margin
    if target is None:
        terms = problem.topology.fan_in[problem.topology.outputs.start :] + 1
        violation = missing_terms(outputs, problem.output_spins, terms)
    else:
        violation = missing_leads(outputs, problem.output_spins, target)
    sizes = (
        np.abs(hidden) if engine.margin_cap is None else np.abs(hidden).clip(0, engine.margin_cap)
    )
    pull = problem.field.weights @ network.weight_spins + problem.field.biases @ network.bias_spins
    margin = problem.margin_strength * sizes.sum(axis=1)
    cost = problem.weight_of_example @ (violation - margin)
    return float(cost - pull + slow_decay(problem, network))


def slow_decay(problem: TrainingProblem, network: BinaryNetwork) -> float:
    """Return the squares of all weights of several levels, times their strength."""
    starts, weights = problem.topology.levelled_weights
    groups = np.split(network.weight_spins[weights].astype(int), starts[1:-1])
    return problem.decay_strength * sum(int(group.sum()) ** 2 for group in groups)


def missing_terms(
    sums: NDArray[Any], wanted: SpinMatrix, terms: NDArray[Any]
) -> NDArray[np.float64]:
    """Positive terms that outputs lack to be +1, or have too many to be -1, by example."""
    positive = (sums + terms) // 2
    needed = terms // 2 + 1
    lacking, excess = np.maximum(needed - positive, 0), np.maximum(positive - needed + 1, 0)
    return np.asarray(np.where(wanted > 0, lacking, excess).sum(axis=1), dtype=np.float64)


def missing_leads(sums: NDArray[Any], wanted: SpinMatrix, target: int) -> NDArray[np.float64]:
    """Half of what the right class's lead over each other class lacks of the target."""
    right = sums[wanted > 0][:, None]
    lacking = np.maximum(target - (right - sums), 0) / 2
    return np.asarray(np.where(wanted < 0, lacking, 0).sum(axis=1), dtype=np.float64)


def soft_leads(
    problem: TrainingProblem, engine: ForwardAnnealing, network: BinaryNetwork, window: int
) -> float:
    """Return the energy expected if noise, uniform in -window..window, is added to all leads."""
    sums = network.pre_activations(problem.input_spins)[:, problem.topology.hidden_count :]
    target = engine.cost_for(problem).target_margin
    assert target is not None
    is_right = problem.output_spins > 0
    lacks = target - (sums[is_right][:, None] - sums)
    near = np.clip(lacks + window, 0, 2 * window) ** 2 / (4 * window)
    expected = np.where(is_right, 0, near + np.maximum(lacks - window, 0)).sum(axis=1) / 2
    hard = missing_leads(sums, problem.output_spins, target)
    energy = slow_energy(problem, engine, network)
    return float(energy + problem.weight_of_example @ (expected - hard))


def flipped(spins: NDArray[np.int8], place: int) -> NDArray[np.int8]:
    other = spins.copy()
    other[place] *= -1
    return other


def slow_changes(
    problem: TrainingProblem, engine: ForwardAnnealing, network: BinaryNetwork
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return energy changes of all weights and all biases, one full forward pass each."""
    before = slow_energy(problem, engine, network)
    weights, biases = network.weight_spins, network.bias_spins
    by_weight = [
        slow_energy(problem, engine, replace_network(network, flipped(weights, w), biases)) - before
        for w in range(len(weights))
    ]
    by_bias = [
        slow_energy(problem, engine, replace_network(network, weights, flipped(biases, j))) - before
        for j in range(len(biases))
    ]
    return np.array(by_weight), np.array(by_bias)


def replace_network(network: BinaryNetwork, weights: Any, biases: Any) -> BinaryNetwork:
    """Return the network with other parameters, except the known ones."""
    return BinaryNetwork(network.topology, *network.topology.with_known(weights, biases))


@st.composite
def topologies(draw: st.DrawFn, outputs: int) -> Topology:
    """Layers, convolutions, or any graph: skips, parallel arcs, weights shared by any arcs."""
    kind = draw(st.sampled_from(["layers", "layers", "groups", "convolution", "graph"]))
    if kind == "groups":
        layers = draw(st.lists(st.integers(1, 4), max_size=2))
        groups = draw(st.lists(st.integers(0, 3), min_size=1, max_size=8))
        levels, thresholds, step = (draw(st.integers(low, 4)) for low in (2, 2, 1))
        return Topology.dense(
            len(groups),
            *layers,
            outputs,
            weight_levels=levels,
            threshold_levels=thresholds,
            input_groups=np.unique(groups, return_inverse=True)[1],
            threshold_step=step,
        )
    if kind == "layers":
        layers = draw(st.lists(st.integers(1, 5), max_size=3))
        inputs, levels, thresholds = (draw(st.integers(low, 9 - low)) for low in (0, 2, 2))
        return Topology.dense(
            inputs + 1, *layers, outputs, weight_levels=levels, threshold_levels=thresholds
        )
    if kind == "convolution":
        notation = draw(
            st.sampled_from(["conv(2x2, levels=3)", "conv(2x2x2)+fc(2)", "conv(3x3)+conv(2x2)"])
        )
        return Topology.parse(notation, inputs=(4, 4), outputs=outputs)
    inputs, hidden = draw(st.integers(1, 4)), draw(st.integers(0, 6))
    nodes = inputs + hidden + outputs
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    pairs = [(source, target) for target in range(inputs, nodes) for source in range(target)]
    times = generator.choice([0, 0, 1, 2], size=len(pairs))
    arcs = np.repeat(np.array(pairs), times, axis=0) if times.any() else np.array(pairs[:1])
    different = draw(st.sampled_from([1.0, 0.5, 0.1]))
    if different < 1:  # arcs share weights at random
        numbers = generator.integers(1 + int(different * len(arcs)), size=len(arcs))
        arcs = np.column_stack([arcs, np.unique(numbers, return_inverse=True)[1]])
    return Topology.from_arcs(arcs, inputs=inputs, outputs=outputs, nodes=nodes)


@st.composite
def cases(draw: st.DrawFn) -> tuple[TrainingProblem, ForwardAnnealing]:
    """A random problem and an engine in one of its modes; strengths that float64 adds exactly."""
    is_pairwise = draw(st.booleans())
    outputs = draw(st.integers(2 if is_pairwise else 1, 4))
    topology = draw(with_known(draw(topologies(outputs))))
    fan_in = topology.fan_in[topology.outputs.start :]
    is_pairwise &= len(set(fan_in % 2)) == 1
    is_pairwise &= not (topology.source_of >= topology.outputs.start).any()
    count = draw(st.integers(1, 70))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    wanted = 2 * generator.integers(2, size=(count, outputs)) - 1
    if is_pairwise:
        wanted = 2 * np.eye(outputs, dtype=np.int64)[generator.integers(outputs, size=count)] - 1
    field = Field.zero(topology)
    if draw(st.booleans()):
        sizes = topology.weight_count, topology.neuron_count
        field = Field(*(generator.integers(-8, 9, size) / 8 for size in sizes))
    problem = TrainingProblem(
        topology,
        generator.normal(size=(count, topology.column_count)),
        wanted,
        margin_strength=draw(st.sampled_from([0, 0.25, 1, 1.5])),
        decay_strength=draw(st.sampled_from([0, 0, 0.5, 2])),
        example_weights=generator.integers(1, 4, count) if draw(st.booleans()) else None,
        field=field,
    )
    engine = ForwardAnnealing(
        replica_count=2,
        reading="largest" if is_pairwise else "signs",
        target_margin=draw(st.sampled_from([None, 1, 4])) if is_pairwise else None,
        margin_cap=draw(st.sampled_from([None, 1, 2, 5])),
        softness=draw(st.sampled_from([None, None, 0.5, 2])),
        credit="exact",
    )
    return problem, engine


def run_in(
    lanes: type, problem: TrainingProblem, engine: ForwardAnnealing, seed: int
) -> ForwardRun:
    """Start a run whose lanes are no narrower than `lanes`."""
    most = 0 if lanes is np.int32 else forward_packing.MOST_SMALL
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forward_packing, "MOST_SMALL", most)
        return ForwardRun(problem, engine, seed)


def network_of(run: ForwardRun, number: int) -> BinaryNetwork:
    weights, biases = run.packed.parameters(run.replicas)
    return BinaryNetwork(run.problem.topology, weights[number], biases[number])


def window_of(problem: TrainingProblem, engine: ForwardAnnealing, neuron: int) -> int:
    """Return how far from its threshold a hidden neuron is soft."""
    assert engine.softness is not None
    topology = problem.topology
    squares = int(topology.fan_in[topology.input_count + neuron])
    if reads_bundles(topology, neuron):
        is_own = topology.target_of == topology.input_count + neuron
        is_own[topology.constant_arcs] = False
        squares = int((np.bincount(topology.weight_of[is_own]) ** 2).sum())
    return max(1, round(engine.softness * float(np.sqrt(squares))))


def reads_bundles(topology: Topology, neuron: int) -> bool:
    """Whether a neuron reads inputs only, by free weights of its own, some of several arcs."""
    into = topology.target_of == topology.input_count + neuron
    is_free = topology.known_weights[topology.weight_of] == 0
    weights = topology.weight_of[into & is_free]
    if not len(weights) or np.isin(topology.weight_of[~into], weights).any():
        return False
    is_outer = (topology.source_of[into] < topology.input_count).all()
    return bool(is_outer and len(np.unique(weights)) < len(weights))


def soft_energy(
    problem: TrainingProblem, engine: ForwardAnnealing, network: BinaryNetwork, neuron: int
) -> float:
    """Return the energy expected if noise is added to one hidden neuron's pre-activation."""
    window = window_of(problem, engine, neuron)
    sums = network.pre_activations(problem.input_spins)[:, neuron]
    chance = np.clip((sums + window) / (2 * window), 0, 1)
    costs = [clamped_costs(problem, engine, network, neuron, spin) for spin in (-1, 1)]
    cap = np.inf if engine.margin_cap is None else engine.margin_cap
    own = problem.margin_strength * np.minimum(np.abs(sums), cap)
    pull = problem.field.weights @ network.weight_spins + problem.field.biases @ network.bias_spins
    expected = problem.weight_of_example @ (chance * (costs[1] - costs[0]) + costs[0] - own)
    return float(expected - pull + slow_decay(problem, network))


def clamped_costs(
    problem: TrainingProblem,
    engine: ForwardAnnealing,
    network: BinaryNetwork,
    neuron: int,
    spin: int,
) -> NDArray[np.float64]:
    """Return what outputs and other neurons' margins cost in each example if a neuron is fixed."""
    topology, first = problem.topology, problem.topology.input_count
    spins = np.zeros((problem.example_count, topology.node_count))
    sums = np.zeros_like(spins)
    spins[:, :first] = topology.with_constant(problem.input_spins)
    for node in np.concatenate(topology.levels()):
        arcs = np.flatnonzero(topology.target_of == node)
        weights = network.weight_spins[topology.weight_of[arcs]]
        sums[:, node] = spins[:, topology.source_of[arcs]] @ weights
        sums[:, node] += network.bias_spins[node - first]
        spins[:, node] = spin if node == first + neuron else np.where(sums[:, node] > 0, 1, -1)
    cap = np.inf if engine.margin_cap is None else engine.margin_cap
    margins = np.minimum(np.abs(sums[:, first : topology.outputs.start]), cap)
    margins[:, neuron] = 0
    outputs, target = sums[:, topology.outputs.start :], engine.cost_for(problem).target_margin
    terms = topology.fan_in[topology.outputs.start :] + 1
    if target is None:
        violations = missing_terms(outputs, problem.output_spins, terms)
    else:
        violations = missing_leads(outputs, problem.output_spins, target)
    return np.asarray(violations - problem.margin_strength * margins.sum(axis=1))


def letters_problem(**strengths: Any) -> TrainingProblem:
    data = letters(seed=0)
    topology = Topology.dense(25, 4, 2)
    return TrainingProblem(topology, data.train_inputs, data.train_outputs, **strengths)


def random_problem(topology: Topology, count: int, **strengths: Any) -> TrainingProblem:
    """Random examples that want one output each."""
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(count, topology.column_count))
    classes = generator.integers(topology.output_count, size=count)
    outputs = CodeBook.one_hot(range(topology.output_count)).encode(classes)
    return TrainingProblem(topology, inputs, outputs, **strengths)


def many_examples() -> TrainingProblem:
    return random_problem(Topology.dense(12, 5, 3), 200)


def one_hot_problem() -> TrainingProblem:
    generator = np.random.default_rng(0)
    labels = np.arange(20) % 4
    prototypes = generator.normal(size=(4, 30))
    inputs = prototypes[labels] + 0.5 * generator.normal(size=(20, 30))
    outputs = CodeBook.one_hot(range(4)).encode(labels)
    return TrainingProblem(Topology.dense(30, 12, 4), inputs, outputs)
