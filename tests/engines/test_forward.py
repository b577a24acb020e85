"""ForwardAnnealing against its slowest twin: a forward pass for every energy."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix
from qubonn.datasets import letters
from qubonn.encoding import CodeBook
from qubonn.engines import (
    Engine,
    ForwardAnnealing,
    GrowingBatches,
    InputNoise,
    forward,
    forward_packing,
)
from qubonn.engines.forward import _Run, measured_temperatures
from qubonn.errors import AlphabetError, RangeError, TopologyError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Progress, Stop
from qubonn.topology import Topology

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
    return float(violation - problem.margin_strength * sizes.sum() - pull)


def missing_terms(sums: NDArray[Any], wanted: SpinMatrix, terms: NDArray[Any]) -> float:
    """Positive terms that outputs lack to be +1, or have too many to be -1."""
    positive = (sums + terms) // 2
    needed = terms // 2 + 1
    lacking, excess = np.maximum(needed - positive, 0), np.maximum(positive - needed + 1, 0)
    return float(np.where(wanted > 0, lacking, excess).sum())


def missing_leads(sums: NDArray[Any], wanted: SpinMatrix, target: int) -> float:
    """Half of what the right class's lead over each other class lacks of the target."""
    right = sums[wanted > 0][:, None]
    lacking = np.maximum(target - (right - sums), 0) / 2
    return float(lacking[wanted < 0].sum())


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
    return BinaryNetwork(network.topology, weights, biases)


@st.composite
def topologies(draw: st.DrawFn, outputs: int) -> Topology:
    """Layers, convolutions, or any graph: skips, parallel arcs, weights shared by any arcs."""
    kind = draw(st.sampled_from(["layers", "layers", "convolution", "graph"]))
    if kind == "layers":
        layers = draw(st.lists(st.integers(1, 5), max_size=3))
        return Topology.dense(draw(st.integers(1, 9)), *layers, outputs)
    if kind == "convolution":
        notation = draw(st.sampled_from(["conv(2x2)", "conv(2x2x2)+fc(2)", "conv(3x3)+conv(2x2)"]))
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
    topology = draw(topologies(outputs))
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
        generator.normal(size=(count, topology.input_count)),
        wanted,
        margin_strength=draw(st.sampled_from([0, 0.25, 1, 1.5])),
        field=field,
    )
    engine = ForwardAnnealing(
        replica_count=2,
        reading="largest" if is_pairwise else "signs",
        target_margin=draw(st.sampled_from([None, 1, 4])) if is_pairwise else None,
        margin_cap=draw(st.sampled_from([None, 1, 2, 5])),
        softness=draw(st.sampled_from([None, None, 0.5, 2])),
    )
    return problem, engine


def run_in(lanes: type, problem: TrainingProblem, engine: ForwardAnnealing, seed: int) -> _Run:
    """Start a run whose lanes are no narrower than `lanes`."""
    most = 0 if lanes is np.int32 else forward_packing.MOST_SMALL
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(forward_packing, "MOST_SMALL", most)
        return _Run(problem, engine, seed)


def network_of(run: _Run, number: int) -> BinaryNetwork:
    weights, biases = run.packed.parameters(run.replicas)
    return BinaryNetwork(run.problem.topology, weights[number], biases[number])


@settings(deadline=None, max_examples=60)
@pytest.mark.parametrize("lanes", [np.int16, np.int32])
@given(case=cases(), seed=st.integers(0, 99))
def test_the_energy_kept_over_many_flips_is_that_of_a_forward_pass(
    case: tuple[TrainingProblem, ForwardAnnealing], seed: int, lanes: type
) -> None:
    run = run_in(lanes, *case, seed)
    before = [slow_energy(*case, network_of(run, r)) for r in range(2)]
    assert (run.energies * run.unit).tolist() == before
    run.sweep(np.geomspace(100, 0.1, 6)[:, None] * np.ones(run.groups.count))
    after = [slow_energy(*case, network_of(run, r)) for r in range(2)]
    assert (run.energies * run.unit).tolist() == after


@settings(deadline=None, max_examples=60)
@pytest.mark.parametrize("lanes", [np.int16, np.int32])
@given(case=cases(), seed=st.integers(0, 99))
def test_counts_and_activations_kept_over_many_flips_are_those_of_a_forward_pass(
    case: tuple[TrainingProblem, ForwardAnnealing], seed: int, lanes: type
) -> None:
    run = run_in(lanes, *case, seed)
    run.sweep(np.full((4, run.groups.count), 10.0))
    fresh = _Run(*case, seed, [network_of(run, 0), network_of(run, 1)])
    count, blocks = run.problem.example_count, len(run.packed.examples.is_real)
    kept, new = (state.replicas.counts for state in (run, fresh))
    shape = (2, run.problem.topology.neuron_count, blocks * kept.shape[-1])
    np.testing.assert_array_equal(
        kept.reshape(shape)[:, :, :count], new.reshape(shape)[:, :, :count]
    )
    for r in range(2):
        spins = run.packed.activation_spins(run.packed.one(run.replicas, r))
        network = network_of(run, r)
        forward = network.forward(run.problem.input_spins).activation_spins
        np.testing.assert_array_equal(spins, forward[:, run.problem.topology.input_count :])


@settings(deadline=None, max_examples=40)
@pytest.mark.parametrize("lanes", [np.int16, np.int32])
@given(case=cases(), seed=st.integers(0, 99))
def test_changes_are_those_of_a_forward_pass_for_every_flip(
    case: tuple[TrainingProblem, ForwardAnnealing], seed: int, lanes: type
) -> None:
    run = run_in(lanes, *case, seed)
    run.sweep(np.full((2, run.groups.count), 10.0))
    expected = np.concatenate(slow_changes(*case, network_of(run, 0)))
    np.testing.assert_array_equal(run.flip_costs()[0], expected)


def window_of(problem: TrainingProblem, engine: ForwardAnnealing, neuron: int) -> int:
    """Return how far from its threshold a hidden neuron is soft."""
    assert engine.softness is not None
    fan_in = float(problem.topology.fan_in[problem.topology.input_count + neuron])
    return max(1, round(engine.softness * float(np.sqrt(fan_in))))


def soft_energy(
    problem: TrainingProblem, engine: ForwardAnnealing, network: BinaryNetwork, neuron: int
) -> float:
    """Return the energy expected if noise is added to one hidden neuron's pre-activation."""
    window = window_of(problem, engine, neuron)
    sums = network.pre_activations(problem.input_spins)[:, neuron]
    chance = np.clip((sums + window) / (2 * window), 0, 1)
    costs = [clamped_costs(problem, engine, network, neuron, spin) for spin in (-1, 1)]
    cap = np.inf if engine.margin_cap is None else engine.margin_cap
    own = problem.margin_strength * np.minimum(np.abs(sums), cap).sum()
    pull = problem.field.weights @ network.weight_spins + problem.field.biases @ network.bias_spins
    return float((chance * (costs[1] - costs[0]) + costs[0]).sum() - own - pull)


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
    spins[:, :first] = problem.input_spins
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
    violations = [
        missing_terms(outputs[[k]], problem.output_spins[[k]], terms)
        if target is None
        else missing_leads(outputs[[k]], problem.output_spins[[k]], target)
        for k in range(problem.example_count)
    ]
    return np.asarray(violations - problem.margin_strength * margins.sum(axis=1))


@settings(deadline=None, max_examples=40)
@pytest.mark.parametrize("lanes", [np.int16, np.int32])
@given(case=cases(), softness=st.sampled_from([0.3, 1, 2.5]), seed=st.integers(0, 99))
def test_a_soft_neuron_judges_its_weights_by_the_energy_expected_under_noise(
    case: tuple[TrainingProblem, ForwardAnnealing], softness: float, seed: int, lanes: type
) -> None:
    problem, engine = case[0], replace(case[1], softness=softness)
    run = run_in(lanes, problem, engine, seed)
    topology, network = problem.topology, network_of(run, 0)
    changes = run.packed.flip_costs(run.replicas, is_soft=True)[0] * run.unit
    for neuron in range(topology.hidden_count):
        found = changes / (2 * window_of(problem, engine, neuron))
        before = soft_energy(problem, engine, network, neuron)
        arcs = np.flatnonzero(topology.target_of == topology.input_count + neuron)
        for weight in topology.weight_of[arcs]:
            if (topology.weight_of == weight).sum() == 1:
                other = flipped(network.weight_spins, weight)
                other_network = replace_network(network, other, network.bias_spins)
                after = soft_energy(problem, engine, other_network, neuron)
                assert found[weight] == pytest.approx(after - before, abs=1e-6)
        other_network = replace_network(
            network, network.weight_spins, flipped(network.bias_spins, neuron)
        )
        after = soft_energy(problem, engine, other_network, neuron)
        assert found[topology.weight_count + neuron] == pytest.approx(after - before, abs=1e-6)


def test_the_softest_neurons_of_many_arcs_fit_narrow_lanes() -> None:
    problem = random_problem(Topology.dense(3000, 2, 2), 70)
    engine = ForwardAnnealing(replica_count=2, softness=100)
    runs = [run_in(lanes, problem, engine, 0) for lanes in (np.int16, np.int32)]
    narrow, wide = (run.packed.flip_costs(run.replicas, is_soft=True) for run in runs)
    assert [run.packed.kind for run in runs] == [np.int16, np.int32]
    np.testing.assert_array_equal(narrow, wide)


def test_a_shared_weight_that_moves_all_margins_fits_the_lanes() -> None:
    topology = Topology.parse("conv(3x3)", inputs=(28, 28), outputs=2)
    problem = TrainingProblem(topology, -np.ones((2, 784)), [[1, -1]] * 2, margin_strength=30)
    engine = ForwardAnnealing(replica_count=1)
    run = _Run(problem, engine, 0)
    network = network_of(run, 0)
    other = replace_network(network, flipped(network.weight_spins, 0), network.bias_spins)
    expected = slow_energy(problem, engine, other) - slow_energy(problem, engine, network)
    assert run.flip_costs()[0, 0] == expected


@pytest.mark.parametrize("hidden", [(64, 64), (128, 128), (256, 256)], ids=str)
def test_deep_networks_take_as_many_examples_as_mnist_has(hidden: tuple[int, ...]) -> None:
    problem = random_problem(Topology.dense(5, *hidden, 10), 60_000, margin_strength=0.03)
    engine = ForwardAnnealing(reading="largest", softness=0.5, margin_cap=12)
    packed = forward_packing.PackedExamples(problem, engine.cost_for(problem))
    assert packed.prices.margin * packed.lane_unit == pytest.approx(0.03, rel=0.02)


@settings(deadline=None, max_examples=20)
@given(case=cases(), seed=st.integers(0, 99))
def test_a_quench_never_goes_up(case: tuple[TrainingProblem, ForwardAnnealing], seed: int) -> None:
    run = _Run(case[0], replace(case[1], softness=None), seed)
    before = run.energies.copy()
    run.sweep(np.zeros((3, run.groups.count)))
    assert (run.energies <= before).all()


def test_the_letters_are_learnt_without_violations() -> None:
    found = ForwardAnnealing(replica_count=8).solve(letters_problem(), seed=0)
    certificates = [found.problem.certify(found.network(r)) for r in range(8)]
    assert found.energies.tolist() == [0] * 8
    assert all(certificate.is_feasible for certificate in certificates)


def test_the_best_network_with_margins_has_no_violations_and_larger_margins() -> None:
    plain, with_margins = letters_problem(), letters_problem(margin_strength=0.02)
    engine = ForwardAnnealing(replica_count=16)
    without = plain.certify(engine.solve(plain).network())
    best = with_margins.certify(engine.solve(with_margins).network())
    assert best.is_feasible
    assert best.margins.s2 > without.margins.s2


def test_pairwise_outputs_give_the_right_class_the_lead_that_was_asked_for() -> None:
    problem = one_hot_problem()
    engine = ForwardAnnealing(reading="largest", target_margin=4, replica_count=8)
    found = engine.solve(problem, seed=0, target_energy=0)
    sums = found.network().pre_activations(problem.input_spins)[:, 12:]
    leads = sums[problem.output_spins > 0][:, None] - sums
    assert found.energies[0] == 0
    assert leads[problem.output_spins < 0].min() >= 4


def test_a_capped_margin_leaves_fewer_neurons_near_their_threshold() -> None:
    problem = replace(one_hot_problem(), margin_strength=0.05)
    engine = ForwardAnnealing(reading="largest", replica_count=2, sweep_count=30)
    uncapped = problem.certify(engine.solve(problem).network()).margins.magnitudes[:, :12]
    capped_engine = replace(engine, margin_cap=5)
    capped = problem.certify(capped_engine.solve(problem).network()).margins.magnitudes[:, :12]
    assert (capped < 5).sum() <= (uncapped < 5).sum()


@pytest.mark.parametrize("reading", ["signs", "largest"])
def test_the_number_of_threads_changes_nothing(reading: Any) -> None:
    problem = replace(one_hot_problem(), margin_strength=0.02)
    engine = replace(ENGINE, reading=reading, replica_count=5)
    one = replace(engine, thread_count=1).solve(problem, seed=3)
    two = replace(engine, thread_count=2).solve(problem, seed=3)
    np.testing.assert_array_equal(one.weight_spins, two.weight_spins)
    np.testing.assert_array_equal(one.bias_spins, two.bias_spins)
    np.testing.assert_array_equal(one.energies, two.energies)


def test_a_replica_does_not_depend_on_how_many_there_are() -> None:
    few, many = (_Run(letters_problem(), replace(ENGINE, replica_count=n), 5) for n in (2, 6))
    for run in (few, many):
        run.sweep(np.full((3, run.groups.count), 2.0))
    np.testing.assert_array_equal(few.energies, many.energies[:2])
    np.testing.assert_array_equal(few.replicas.parameters, many.replicas.parameters[:2])


def test_other_seeds_give_other_networks() -> None:
    one, two = (ENGINE.solve(letters_problem(), seed=seed) for seed in (1, 2))
    assert (one.weight_spins != two.weight_spins).any()


def test_found_is_sorted_and_its_activations_certify() -> None:
    problem = letters_problem()
    found = replace(ENGINE, sweep_count=1).solve(problem, seed=0)
    assert (np.diff(found.energies) >= 0).all()
    own = problem.certify(found.network(1), found.activation_spins[1])
    assert repr(own) == repr(problem.certify(found.network(1)))


def test_free_outputs_are_those_of_the_forward_pass() -> None:
    problem = letters_problem(output_strength=2)
    found = replace(ENGINE, sweep_count=1).solve(problem, seed=0)
    expected = found.network(0).forward(problem.input_spins).activation_spins
    np.testing.assert_array_equal(found.activation_spins[0], expected)


def test_initial_networks_are_where_replicas_start() -> None:
    problem = letters_problem()
    solution = ForwardAnnealing(replica_count=4).solve(problem, seed=0).network()
    found = ENGINE.solve(problem, initial_networks=[solution], target_energy=0)
    assert found.stop is Stop.TARGET
    np.testing.assert_array_equal(found.weight_spins[0], solution.weight_spins)


def test_noise_gives_energies_without_noise_and_another_network() -> None:
    problem = one_hot_problem()
    engine = replace(ENGINE, reading="largest", sweep_count=20)
    noisy_engine = replace(engine, noise=InputNoise(inverted=0.1, dropped=0.1))
    found, noisy = engine.solve(problem, seed=1), noisy_engine.solve(problem, seed=1)
    assert (found.weight_spins != noisy.weight_spins).any()
    for r in range(len(noisy)):
        assert noisy.energies[r] == slow_energy(problem, noisy_engine, noisy.network(r))
    again = replace(noisy_engine, thread_count=1).solve(problem, seed=1)
    np.testing.assert_array_equal(noisy.weight_spins, again.weight_spins)


def test_an_interrupt_under_noise_gives_energies_without_noise() -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    engine = replace(ENGINE, noise=InputNoise(inverted=0.3))
    found = engine.solve(letters_problem(), report=interrupt)
    assert found.stop is Stop.INTERRUPTED
    assert found.energies[0] == slow_energy(letters_problem(), engine, found.network())


@pytest.mark.parametrize("noise", [None, InputNoise(inverted=0.1)], ids=["clean", "noisy"])
@pytest.mark.parametrize("batches", [None, GrowingBatches(first=30)], ids=["all", "batches"])
def test_without_a_quench_the_last_sweep_is_warm(
    noise: InputNoise | None, batches: GrowingBatches | None
) -> None:
    problem = many_examples()
    warm = replace(BATCHES, noise=noise, batches=batches, sweep_count=3, quench_sweeps=0, coldest=5)
    found = warm.solve(problem, seed=1)
    assert found.info["sweeps"] == 3
    assert found.energies.tolist() == energies_of(problem, warm, found)
    quenched = replace(warm, quench_sweeps=4).solve(problem, seed=1)
    assert quenched.info["sweeps"] == 7
    assert quenched.energies.mean() < found.energies.mean()


def test_noise_inverts_and_drops_as_often_as_asked() -> None:
    spins = np.ones((300, 300), dtype=np.int8)
    inverted = InputNoise(inverted=0.2).disturb(spins, np.random.default_rng(0))
    dropped = InputNoise(dropped=0.2).disturb(-spins, np.random.default_rng(0))
    assert abs((inverted == -1).mean() - 0.2) < 0.01  # 7 standard deviations
    assert (dropped == -1).all()
    assert (spins == 1).all()


@pytest.mark.parametrize("bad", [{"inverted": -0.1}, {"dropped": 1.5}])
def test_chances_lie_between_0_and_1(bad: dict[str, float]) -> None:
    with pytest.raises(RangeError, match="must be a chance from 0 to 1"):
        InputNoise(**bad)


BATCHES = replace(
    ENGINE,
    reading="largest",
    softness=0.5,
    batches=GrowingBatches(first=70, last=130),
    thread_count=1,
)


def energies_of(problem: TrainingProblem, engine: ForwardAnnealing, found: Any) -> list[float]:
    return [slow_energy(problem, engine, found.network(r)) for r in range(len(found))]


def test_batches_give_energies_of_all_examples_and_another_network() -> None:
    problem = replace(many_examples(), margin_strength=0.25)
    found = BATCHES.solve(problem, seed=1)
    assert found.energies.tolist() == energies_of(problem, BATCHES, found)
    assert found.activation_spins.shape[1] == problem.example_count
    np.testing.assert_array_equal(
        found.activation_spins[0, :, : problem.topology.outputs.start],
        found.network()
        .forward(problem.input_spins)
        .activation_spins[:, : problem.topology.outputs.start],
    )
    others = [replace(BATCHES, batches=batches) for batches in (None, GrowingBatches(first=70))]
    for other in others:
        assert (other.solve(problem, seed=1).weight_spins != found.weight_spins).any()


@pytest.mark.parametrize(
    "noise", [None, InputNoise(inverted=0.05)], ids=["batches", "noisy batches"]
)
def test_batches_are_the_same_for_any_number_of_threads(noise: InputNoise | None) -> None:
    engine = replace(BATCHES, noise=noise)
    one = engine.solve(many_examples(), seed=2)
    two = replace(engine, thread_count=2).solve(many_examples(), seed=2)
    np.testing.assert_array_equal(one.weight_spins, two.weight_spins)
    np.testing.assert_array_equal(one.energies, two.energies)


@pytest.mark.parametrize("count", [1, 5, 64, 65])
@pytest.mark.parametrize(
    "batches", [GrowingBatches(first=1), GrowingBatches(first=10**9)], ids=["one", "all"]
)
def test_batches_of_any_size_leave_energies_of_all_examples(
    count: int, batches: GrowingBatches
) -> None:
    problem = random_problem(Topology.dense(7, 3, 3), count)
    engine = replace(BATCHES, batches=batches)
    found = engine.solve(problem)
    assert found.energies.tolist() == energies_of(problem, engine, found)


@pytest.mark.parametrize(
    "topology",
    [Topology.dense(16, 3), Topology.parse("conv(2x2)+fc(4)", inputs=(4, 4), outputs=3)],
    ids=["no hidden neurons", "convolution"],
)
def test_soft_batches_leave_energies_of_all_examples(topology: Topology) -> None:
    problem = random_problem(topology, 150, margin_strength=0.25)
    found = BATCHES.solve(problem)
    assert found.energies.tolist() == energies_of(problem, BATCHES, found)


@pytest.mark.parametrize("report_count", [1, 3])
def test_an_interrupt_within_a_batch_gives_energies_of_all_examples(report_count: int) -> None:
    seen: list[Progress] = []

    def interrupt(progress: Progress) -> None:
        seen.append(progress)
        if len(seen) == report_count:
            raise KeyboardInterrupt

    found = BATCHES.solve(many_examples(), report=interrupt)
    assert found.stop is Stop.INTERRUPTED
    assert found.energies.tolist() == energies_of(many_examples(), BATCHES, found)


def test_an_interrupt_while_a_batch_is_shown_gives_energies_of_all_examples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    show, shown = forward_packing.PackedExamples._with_room, []

    def show_and_stop(self: Any, replicas: Any, block_count: int) -> Any:
        if self.problem.example_count == 200:  # not while temperatures are measured
            shown.append(block_count)
            if len(shown) == 3:
                raise KeyboardInterrupt
        return show(self, replicas, block_count)

    monkeypatch.setattr(forward_packing.PackedExamples, "_with_room", show_and_stop)
    found = BATCHES.solve(many_examples())
    assert found.stop is Stop.INTERRUPTED
    assert found.energies.tolist() == energies_of(many_examples(), BATCHES, found)


def test_no_target_is_reached_by_a_batch() -> None:
    engine = replace(BATCHES, sweep_count=20)
    plain = replace(engine, batches=None)
    stops = [one.solve(many_examples(), target_energy=1e9) for one in (plain, engine)]
    assert [found.stop for found in stops] == [Stop.TARGET, Stop.TARGET]
    assert stops[0].info["sweeps"] < 20 <= stops[1].info["sweeps"]


@pytest.mark.parametrize("target", [None, -1.0], ids=["no target", "target"])
def test_progress_of_batches_goes_from_a_part_of_a_sweep_to_1(target: float | None) -> None:
    seen: list[Progress] = []
    BATCHES.solve(many_examples(), target_energy=target, report=seen.append)
    parts = [progress.part for progress in seen]
    assert parts == sorted(parts)
    assert 0 < parts[0] < 1 / (BATCHES.sweep_count + 5)
    assert parts[-1] == 1


def test_a_batch_estimates_the_energy_of_all_examples_by_its_own_and_its_share_of_the_field() -> (
    None
):
    problem, generator = many_examples(), np.random.default_rng(0)
    sizes = problem.topology.weight_count, problem.topology.neuron_count
    field = Field(*(generator.integers(-8, 9, size) for size in sizes))
    problem = replace(problem, field=field)
    run = _Run(problem, replace(BATCHES, replica_count=1), 0)
    rows = np.arange(50)
    run.see(rows)
    part = Field(field.weights / 4, field.biases / 4)
    batch = replace(
        problem, inputs=problem.input_spins[rows], outputs=problem.output_spins[rows], field=part
    )
    assert run.best_energy() == 4 * slow_energy(batch, BATCHES, network_of(run, 0))


def test_a_report_can_stop_the_run() -> None:
    seen: list[Progress] = []

    def stop_at_once(progress: Progress) -> bool:
        seen.append(progress)
        return True

    found = replace(ENGINE, sweep_count=1000).solve(letters_problem(), report=stop_at_once)
    assert found.stop is Stop.INTERRUPTED
    assert len(seen) == 1


def test_an_interrupt_keeps_what_there_is() -> None:
    def interrupt(progress: Progress) -> None:
        raise KeyboardInterrupt

    found = replace(ENGINE, sweep_count=1000).solve(letters_problem(), report=interrupt)
    assert found.stop is Stop.INTERRUPTED
    assert found.energies[0] == slow_energy(letters_problem(), ENGINE, found.network())


def test_an_interrupt_within_a_slice_gives_the_energies_of_the_networks_it_returns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    advance = forward_packing.PackedExamples._anneal_one

    def advance_and_stop(
        self: Any, one: Any, energy: int, course: Any, prices: Any, changes: Any
    ) -> int:
        advance(self, one, energy, course, prices, changes)
        if not len(changes):  # not while temperatures are measured
            raise KeyboardInterrupt
        return 0

    monkeypatch.setattr(forward_packing.PackedExamples, "_anneal_one", advance_and_stop)
    engine = replace(ENGINE, sweep_count=1000, hottest=20.0)
    found = engine.solve(letters_problem(), seed=4)
    energies = [slow_energy(letters_problem(), engine, found.network(r)) for r in range(3)]
    assert found.stop is Stop.INTERRUPTED
    assert found.energies.tolist() == energies


def test_a_time_limit_holds() -> None:
    engine = replace(ENGINE, sweep_count=10**6)
    ENGINE.solve(letters_problem())  # compile
    found = engine.solve(letters_problem(), time_limit=0.2)
    assert found.stop is Stop.TIME_LIMIT
    assert found.info["seconds"] < 2


@pytest.mark.parametrize(
    "extra",
    [{}, {"noise": InputNoise(inverted=0.1, dropped=0.1)}, {"batches": GrowingBatches(first=500)}],
    ids=["plain", "noise", "batches"],
)
def test_the_memory_that_is_asked_for_is_enough(
    extra: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    monkeypatch.setattr(forward, "require_memory", lambda what, count: asked.append(count))
    problem = random_problem(Topology.dense(40, 10, 2), 20_000)
    engine = replace(ENGINE, replica_count=1, sweep_count=1, **extra)
    engine.solve(problem)  # compile
    tracemalloc.start()
    engine.solve(problem)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak <= asked[0]


def test_temperatures_do_not_grow_with_the_margin_strength() -> None:
    hottest, coldest = measured_temperatures(letters_problem(), ENGINE)
    with_margin, _ = measured_temperatures(letters_problem(margin_strength=5), ENGINE)
    np.testing.assert_array_equal(hottest, with_margin)
    assert (coldest <= hottest).all()


def test_it_is_an_engine() -> None:
    assert isinstance(ENGINE, Engine)


@pytest.mark.parametrize(
    "topology",
    [
        Topology.dense(25, 2),
        Topology.dense(25, 4, 3, 2),
        Topology.parse("conv(3x3x2)+fc(4)", inputs=(5, 5), outputs=2),
        Topology.parse("conv(2x2)+conv(2x2)", inputs=(5, 5), outputs=2),
    ],
    ids=["no hidden layer", "two hidden layers", "convolution", "two convolutions"],
)
def test_networks_of_any_layers_learn_the_letters(topology: Topology) -> None:
    problem = replace(letters_problem(), topology=topology, field=Field.zero(topology))
    found = ForwardAnnealing(replica_count=8).solve(problem, seed=0, target_energy=0)
    assert found.stop is Stop.TARGET
    assert problem.certify(found.network()).is_feasible


def test_cycles_are_sent_to_lifted_annealing() -> None:
    arcs = [(0, 25), (25, 26), (26, 25), (25, 27)]
    topology = Topology.from_arcs(arcs, inputs=25, outputs=2)
    problem = replace(letters_problem(), topology=topology, field=Field.zero(topology))
    with pytest.raises(TopologyError, match="closes one: use LiftedAnnealing"):
        ENGINE.solve(problem)


def test_pairwise_outputs_must_not_be_heard() -> None:
    topology = Topology.from_arcs([(0, 1), (0, 2), (1, 2)], inputs=1, outputs=2)
    problem = TrainingProblem(topology, [[1]], [[1, -1]])
    with pytest.raises(TopologyError, match="arc 1 -> 2 leaves one"):
        replace(ENGINE, reading="largest").solve(problem)


def test_pairwise_outputs_must_move_in_the_same_steps() -> None:
    topology = Topology.from_arcs([(0, 2), (1, 2), (0, 3)], inputs=2, outputs=2)
    problem = TrainingProblem(topology, [[1, 1]], [[1, -1]])
    with pytest.raises(TopologyError, match=r"all even or all odd.*\[2, 1\]"):
        replace(ENGINE, reading="largest").solve(problem)


@pytest.mark.parametrize(
    ("strength", "kind"), [(0, np.int16), (0.03, np.int16), (1e-4, np.int32)], ids=str
)
def test_lanes_are_as_narrow_as_the_margin_strength_allows(strength: float, kind: type) -> None:
    run = _Run(letters_problem(margin_strength=strength), ENGINE, 0)
    assert run.replicas.counts.dtype == kind
    kept = run.packed.prices.margin * run.packed.lane_unit
    assert kept == pytest.approx(strength, rel=0.02)


def test_pairwise_outputs_must_be_one_hot() -> None:
    with pytest.raises(AlphabetError, match=r"exactly one \+1 .* example 0 has 0"):
        replace(ENGINE, reading="largest").solve(letters_problem())


def test_pairwise_outputs_must_be_two_or_more() -> None:
    problem = TrainingProblem(Topology.dense(2, 2, 1), [[1, 1]], [[1]])
    with pytest.raises(AlphabetError, match="at least two outputs"):
        replace(ENGINE, reading="largest").solve(problem)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"replica_count": 0}, "replica_count must be at least 1"),
        ({"sweep_count": 1.5}, "sweep_count must be a whole number"),
        ({"quench_sweeps": -1}, "quench_sweeps must be at least 0"),
        ({"hottest": 0.0}, "hottest must be a positive factor"),
        ({"coldest": float("nan")}, "coldest must be a positive factor"),
        ({"reading": "softmax"}, "reading must be 'signs' or 'largest'"),
        ({"margin_cap": 0}, "margin_cap must be at least 1"),
        ({"target_margin": -2, "reading": "largest"}, "target_margin must be at least 1"),
        ({"target_margin": 2}, "target_margin must be left out unless"),
        ({"thread_count": 0}, "thread_count must be at least 1"),
        ({"softness": 0}, "softness must be a positive factor"),
        ({"softness": 101.0}, "softness must be at most 100"),
    ],
)
def test_bad_settings_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(RangeError, match=message):
        ForwardAnnealing(**bad)


def test_initial_networks_must_fit() -> None:
    other = BinaryNetwork.random(Topology.dense(25, 3, 2), seed=0)
    with pytest.raises(TopologyError, match="the problem's topology"):
        ENGINE.solve(letters_problem(), initial_networks=[other])


def test_strengths_too_large_for_int32_are_refused() -> None:
    with pytest.raises(RangeError, match="smaller strengths"):
        ENGINE.solve(letters_problem(margin_strength=1e9))


def letters_problem(**strengths: Any) -> TrainingProblem:
    data = letters(seed=0)
    topology = Topology.dense(25, 4, 2)
    return TrainingProblem(topology, data.train_inputs, data.train_outputs, **strengths)


def random_problem(topology: Topology, count: int, **strengths: Any) -> TrainingProblem:
    """Random examples that want one output each."""
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(count, topology.input_count))
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
