"""ForwardAnnealing against its slowest twin: a forward pass for every energy."""

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
from qubonn.engines import Engine, ForwardAnnealing
from qubonn.engines.forward import _Run, measured_temperatures
from qubonn.errors import AlphabetError, RangeError, TopologyError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.quadratic import Stop
from qubonn.topology import Topology
from qubonn.watching import Progress

ENGINE = ForwardAnnealing(replica_count=3, sweep_count=5)


def slow_energy(
    problem: TrainingProblem, engine: ForwardAnnealing, network: BinaryNetwork
) -> float:
    """Return the engine's energy of a network, straight from its docstring."""
    assert problem.field is not None
    hidden_count = problem.topology.hidden_count
    sums = network.pre_activations(problem.input_spins)
    hidden, outputs = sums[:, :hidden_count], sums[:, hidden_count:]
    target = engine.cost_for(problem).target_margin
    if target is None:
        violation = missing_terms(outputs, problem.output_spins, hidden_count + 1)
    else:
        violation = missing_leads(outputs, problem.output_spins, target)
    sizes = (
        np.abs(hidden) if engine.margin_cap is None else np.abs(hidden).clip(0, engine.margin_cap)
    )
    pull = problem.field.weights @ network.weight_spins + problem.field.biases @ network.bias_spins
    return float(violation - problem.margin_strength * sizes.sum() - pull)


def missing_terms(sums: NDArray[Any], wanted: SpinMatrix, terms: int) -> float:
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
def cases(draw: st.DrawFn) -> tuple[TrainingProblem, ForwardAnnealing]:
    """A random problem and an engine in one of its modes; strengths that float64 adds exactly."""
    inputs, hidden = draw(st.integers(1, 9)), draw(st.integers(1, 6))
    is_pairwise = draw(st.booleans())
    outputs = draw(st.integers(2 if is_pairwise else 1, 4))
    count = draw(st.integers(1, 40))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    topology = Topology.dense(inputs, hidden, outputs)
    wanted = 2 * generator.integers(2, size=(count, outputs)) - 1
    if is_pairwise:
        wanted = 2 * np.eye(outputs, dtype=np.int64)[generator.integers(outputs, size=count)] - 1
    field = None
    if draw(st.booleans()):
        sizes = topology.weight_count, topology.neuron_count
        field = Field(*(generator.integers(-8, 9, size) / 8 for size in sizes))
    problem = TrainingProblem(
        topology,
        generator.normal(size=(count, inputs)),
        wanted,
        margin_strength=draw(st.sampled_from([0, 0.25, 1, 1.5])),
        field=field,
    )
    engine = ForwardAnnealing(
        replica_count=2,
        outputs="pairwise" if is_pairwise else "threshold",
        target_margin=draw(st.sampled_from([None, 1, 4])) if is_pairwise else None,
        margin_cap=draw(st.sampled_from([None, 1, 2, 5])),
    )
    return problem, engine


def network_of(run: _Run, number: int) -> BinaryNetwork:
    weights, biases = run.layered.parameters(run.replicas)
    return BinaryNetwork(run.problem.topology, weights[number], biases[number])


@settings(deadline=None, max_examples=60)
@given(case=cases(), seed=st.integers(0, 99))
def test_the_energy_kept_over_many_flips_is_that_of_a_forward_pass(
    case: tuple[TrainingProblem, ForwardAnnealing], seed: int
) -> None:
    run = _Run(*case, seed)
    before = [slow_energy(*case, network_of(run, r)) for r in range(2)]
    assert (run.energies * run.unit).tolist() == before
    run.advance(np.geomspace(100, 0.1, 6)[:, None] * np.ones(2))
    after = [slow_energy(*case, network_of(run, r)) for r in range(2)]
    assert (run.energies * run.unit).tolist() == after


@settings(deadline=None, max_examples=60)
@given(case=cases(), seed=st.integers(0, 99))
def test_counts_and_activations_kept_over_many_flips_are_those_of_a_forward_pass(
    case: tuple[TrainingProblem, ForwardAnnealing], seed: int
) -> None:
    run = _Run(*case, seed)
    run.advance(np.full((4, 2), 10.0))
    fresh = _Run(*case, seed, [network_of(run, 0), network_of(run, 1)])
    count = run.problem.example_count
    for kept, new in zip(run.replicas[2:4], fresh.replicas[2:4], strict=True):
        blocks = run.layered.examples.inputs.shape[1]
        shape = (2, -1, blocks * kept.shape[-1])
        np.testing.assert_array_equal(
            kept.reshape(shape)[:, :, :count], new.reshape(shape)[:, :, :count]
        )
    for r in range(2):
        np.testing.assert_array_equal(
            run.layered.hidden_spins(run.one(r)), fresh.layered.hidden_spins(fresh.one(r))
        )


@settings(deadline=None, max_examples=40)
@given(case=cases(), seed=st.integers(0, 99))
def test_changes_are_those_of_a_forward_pass_for_every_flip(
    case: tuple[TrainingProblem, ForwardAnnealing], seed: int
) -> None:
    run = _Run(*case, seed)
    run.advance(np.full((2, 2), 10.0))
    hidden, outputs = run.changes()
    by_weight, by_bias = slow_changes(*case, network_of(run, 0))
    weights = np.concatenate([hidden[0, :, :-1].ravel(), outputs[0, :, :-1].ravel()])
    biases = np.concatenate([hidden[0, :, -1], outputs[0, :, -1]])
    np.testing.assert_array_equal(weights, by_weight)
    np.testing.assert_array_equal(biases, by_bias)


@settings(deadline=None, max_examples=20)
@given(case=cases(), seed=st.integers(0, 99))
def test_a_quench_never_goes_up(case: tuple[TrainingProblem, ForwardAnnealing], seed: int) -> None:
    run = _Run(*case, seed)
    before = run.energies.copy()
    run.advance(np.zeros((3, 2)))
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
    engine = ForwardAnnealing(outputs="pairwise", target_margin=4, replica_count=8)
    found = engine.solve(problem, seed=0, target_energy=0)
    sums = found.network().pre_activations(problem.input_spins)[:, 12:]
    leads = sums[problem.output_spins > 0][:, None] - sums
    assert found.energies[0] == 0
    assert leads[problem.output_spins < 0].min() >= 4


def test_a_capped_margin_leaves_fewer_neurons_near_their_threshold() -> None:
    problem = replace(one_hot_problem(), margin_strength=0.05)
    engine = ForwardAnnealing(outputs="pairwise", replica_count=2, sweep_count=30)
    uncapped = problem.certify(engine.solve(problem).network()).margins.magnitudes[:, :12]
    capped_engine = replace(engine, margin_cap=5)
    capped = problem.certify(capped_engine.solve(problem).network()).margins.magnitudes[:, :12]
    assert (capped < 5).sum() <= (uncapped < 5).sum()


@pytest.mark.parametrize("outputs", ["threshold", "pairwise"])
def test_the_number_of_threads_changes_nothing(outputs: Any) -> None:
    problem = replace(one_hot_problem(), margin_strength=0.02)
    engine = replace(ENGINE, outputs=outputs, replica_count=5)
    one = replace(engine, thread_count=1).solve(problem, seed=3)
    two = replace(engine, thread_count=2).solve(problem, seed=3)
    np.testing.assert_array_equal(one.weight_spins, two.weight_spins)
    np.testing.assert_array_equal(one.bias_spins, two.bias_spins)
    np.testing.assert_array_equal(one.energies, two.energies)


def test_a_replica_does_not_depend_on_how_many_there_are() -> None:
    few, many = (_Run(letters_problem(), replace(ENGINE, replica_count=n), 5) for n in (2, 6))
    for run in (few, many):
        run.advance(np.full((3, 2), 2.0))
    np.testing.assert_array_equal(few.energies, many.energies[:2])
    np.testing.assert_array_equal(few.replicas.hidden_weights, many.replicas.hidden_weights[:2])


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


def test_a_time_limit_holds() -> None:
    engine = replace(ENGINE, sweep_count=10**6)
    found = engine.solve(letters_problem(), time_limit=0.2)
    assert found.stop is Stop.TIME_LIMIT
    assert found.info["seconds"] < 2


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
        Topology.parse("conv(3x3)", inputs=(5, 5), outputs=2),
        Topology.from_arcs([(0, 25), (25, 26), (26, 25), (25, 27)], inputs=25, outputs=2),
    ],
    ids=["no hidden layer", "two hidden layers", "convolution", "cycle"],
)
def test_other_networks_are_sent_to_lifted_annealing(topology: Topology) -> None:
    problem = replace(letters_problem(), topology=topology, field=None)
    with pytest.raises(TopologyError, match="LiftedAnnealing takes any network"):
        ENGINE.solve(problem)


def test_pairwise_outputs_must_be_one_hot() -> None:
    with pytest.raises(AlphabetError, match=r"exactly one \+1 .* example 0 has 0"):
        replace(ENGINE, outputs="pairwise").solve(letters_problem())


def test_pairwise_outputs_must_be_two_or_more() -> None:
    problem = TrainingProblem(Topology.dense(2, 2, 1), [[1, 1]], [[1]])
    with pytest.raises(AlphabetError, match="at least two outputs"):
        replace(ENGINE, outputs="pairwise").solve(problem)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"replica_count": 0}, "replica_count must be at least 1"),
        ({"sweep_count": 1.5}, "sweep_count must be a whole number"),
        ({"hottest": 0.0}, "hottest must be a positive factor"),
        ({"coldest": float("nan")}, "coldest must be a positive factor"),
        ({"outputs": "softmax"}, "outputs must be 'threshold' or 'pairwise'"),
        ({"margin_cap": 0}, "margin_cap must be at least 1"),
        ({"target_margin": -2, "outputs": "pairwise"}, "target_margin must be at least 1"),
        ({"target_margin": 2}, "target_margin must be left out unless"),
        ({"thread_count": 0}, "thread_count must be at least 1"),
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


def one_hot_problem() -> TrainingProblem:
    generator = np.random.default_rng(0)
    labels = np.arange(20) % 4
    prototypes = generator.normal(size=(4, 30))
    inputs = prototypes[labels] + 0.5 * generator.normal(size=(20, 30))
    outputs = CodeBook.one_hot(range(4)).encode(labels)
    return TrainingProblem(Topology.dense(30, 12, 4), inputs, outputs)
