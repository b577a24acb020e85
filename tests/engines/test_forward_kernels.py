"""The forward kernels against their slowest twin: a forward pass for every energy."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from engines.forward_twin import (
    cases,
    flipped,
    network_of,
    one_hot_problem,
    random_problem,
    reads_bundles,
    replace_network,
    run_in,
    slow_changes,
    slow_energy,
    soft_energy,
    soft_leads,
    window_of,
)
from qubonn.engines import (
    ForwardAnnealing,
)
from qubonn.engines.forward import ForwardRun
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology


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
    fresh = ForwardRun(*case, seed, [network_of(run, 0), network_of(run, 1)])
    count, blocks = run.problem.example_count, len(run.packed.examples.weights)
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


@settings(deadline=None, max_examples=40)
@pytest.mark.parametrize("lanes", [np.int16, np.int32])
@given(case=cases(), softness=st.sampled_from([0.3, 1, 2.5]), seed=st.integers(0, 99))
def test_a_soft_neuron_evaluates_its_weights_by_the_energy_expected_under_noise(
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
            is_single = (topology.weight_of == weight).sum() == 1
            if is_single or reads_bundles(topology, neuron):
                other = flipped(network.weight_spins, weight)
                other_network = replace_network(network, other, network.bias_spins)
                after = soft_energy(problem, engine, other_network, neuron)
                assert found[weight] == pytest.approx(after - before, abs=1e-6)
        other_network = replace_network(
            network, network.weight_spins, flipped(network.bias_spins, neuron)
        )
        after = soft_energy(problem, engine, other_network, neuron)
        assert found[topology.weight_count + neuron] == pytest.approx(after - before, abs=1e-6)


@settings(deadline=None, max_examples=40)
@pytest.mark.parametrize("lanes", [np.int16, np.int32])
@given(case=cases(), softness=st.sampled_from([0.1, 1, 3]), seed=st.integers(0, 99))
def test_a_soft_output_evaluates_its_weights_by_the_energy_expected_under_noise(
    case: tuple[TrainingProblem, ForwardAnnealing], softness: float, seed: int, lanes: type
) -> None:
    problem, engine = case
    assume(engine.reading == "largest")
    run = run_in(lanes, problem, replace(engine, output_softness=softness), seed)
    topology, network = problem.topology, network_of(run, 0)
    window = int(run.packed.prices.softness[-1])
    before = soft_leads(problem, engine, network, window)
    changes = run.packed.flip_costs(run.replicas, is_soft=True)[0] * run.unit / (2 * window)
    is_shared = np.bincount(topology.weight_of) > 1
    neuron_of = topology.target_of - topology.input_count
    for arc in np.flatnonzero(topology.target_of >= topology.outputs.start):
        weight = topology.weight_of[arc]
        if not is_shared[weight] or reads_bundles(topology, neuron_of[arc]):
            other = flipped(network.weight_spins, weight)
            after = soft_leads(
                problem, engine, replace_network(network, other, network.bias_spins), window
            )
            assert changes[weight] == pytest.approx(after - before, abs=1e-6)


def test_leads_are_soft_by_a_share_of_the_target_that_keeps_energies_whole() -> None:
    engine = ForwardAnnealing(reading="largest", target_margin=7, output_softness=0.5)
    run = ForwardRun(one_hot_problem(), engine, seed=0)
    assert run.packed.prices.softness[-1] == 5  # odd as the target


@settings(deadline=None, max_examples=20)
@given(case=cases(), seed=st.integers(0, 99))
def test_a_quench_never_goes_up(case: tuple[TrainingProblem, ForwardAnnealing], seed: int) -> None:
    run = ForwardRun(case[0], replace(case[1], softness=None), seed)
    before = run.energies.copy()
    run.sweep(np.zeros((3, run.groups.count)))
    assert (run.energies <= before).all()


@settings(deadline=None, max_examples=10)
@given(
    seed=st.integers(0, 999),
    levels=st.integers(3, 5),
    thresholds=st.integers(3, 6),
    groups=st.sampled_from([{}, {"input_groups": [0, 0, 1, 1, 1], "threshold_step": 2}]),
)
def test_a_quench_of_outputs_ends_where_no_weight_helps_alone_or_with_its_threshold(
    seed: int, levels: int, thresholds: int, groups: dict[str, Any]
) -> None:
    topology = Topology.dense(5, 2, weight_levels=levels, threshold_levels=thresholds, **groups)
    problem, engine = random_problem(topology, 40), ForwardAnnealing(replica_count=1)
    run = ForwardRun(problem, engine, seed)
    run.sweep(np.zeros((60, run.groups.count)))
    network = network_of(run, 0)
    least, spins = slow_energy(problem, engine, network), network.weight_spins
    is_constant = topology.source_of == topology.input_count - 1
    arcs = np.column_stack([topology.target_of, topology.weight_of])
    for target, first in np.unique(arcs[~is_constant], axis=0):
        seconds = topology.weight_of[is_constant & (topology.target_of == target)]
        alone = flipped(spins, first)
        for others in (alone, *(flipped(alone, second) for second in np.unique(seconds))):
            moved = replace_network(network, others, network.bias_spins)
            assert slow_energy(problem, engine, moved) >= least


def test_a_quench_of_grouped_inputs_ends_where_no_level_helps() -> None:
    topology = Topology.dense(
        12, 3, weight_levels=5, threshold_levels=5, input_groups=[0] * 5 + [1] * 7, threshold_step=3
    )
    run = ForwardRun(random_problem(topology, 80), ForwardAnnealing(reading="largest"), seed=0)
    run.sweep(np.zeros((60, run.groups.count)))
    assert (run.flip_costs() >= 0).all()
