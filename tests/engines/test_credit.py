"""Soft credit: pushes passed down by slopes, against a slow twin; groups that share weights."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from engines.forward_twin import (
    cases,
    flipped,
    missing_terms,
    network_of,
    one_hot_problem,
    random_problem,
    replace_network,
    run_in,
    slow_decay,
    slow_energy,
)
from qubonn.engines import ForwardAnnealing
from qubonn.engines.credit import uses_soft_credit, why_exact
from qubonn.engines.forward import ForwardRun
from qubonn.engines.forward_tables import FINE
from qubonn.errors import RangeError, TopologyError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.topology import Topology


def credited(case: tuple[TrainingProblem, ForwardAnnealing], softness: float) -> Any:
    problem, engine = case
    assume(not why_exact(problem.topology))
    return problem, replace(engine, softness=softness, credit="soft")


def chances(run: ForwardRun, neuron: int, sums: NDArray[Any]) -> NDArray[Any]:
    """Return the chance of +1 in 1 / 2S."""
    window = int(run.packed.prices.softness[neuron])
    return np.asarray(np.clip(sums + window, 0, 2 * window))


def slow_pushes(
    run: ForwardRun, network: BinaryNetwork
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pushes of all hidden neurons in units, and all sums; examples x neurons."""
    problem, topology, packed = run.problem, run.problem.topology, run.packed
    assert packed.credit is not None
    tables, first, hidden = packed.credit.tables, topology.input_count, topology.hidden_count
    sums = network.pre_activations(problem.input_spins).astype(np.int64)
    spins = np.where(sums > 0, 1, -1)
    pushes = np.zeros((problem.example_count, hidden), dtype=np.int64)
    for node in np.concatenate(topology.levels())[::-1]:
        neuron = node - first
        if neuron >= hidden:
            continue
        moves = np.zeros_like(sums)
        for arc in np.flatnonzero(topology.source_of == node):
            weight = int(network.weight_spins[topology.weight_of[arc]])
            moves[:, topology.target_of[arc] - first] -= 2 * weight * spins[:, neuron]
        there = sums + moves
        change = output_costs(run, there[:, hidden:]) - output_costs(run, sums[:, hidden:])
        for target in np.flatnonzero(moves[:, :hidden].any(axis=0)).tolist():
            turn = chances(run, target, there[:, target]) - chances(run, target, sums[:, target])
            change += pushes[:, target] * turn * tables.slopes[target]
        change = (change + (1 << tables.bits) // 2) >> tables.bits
        pushes[:, neuron] = -spins[:, neuron] * np.clip(change, -tables.cap, tables.cap)
    return pushes, sums


def output_costs(run: ForwardRun, sums: NDArray[Any]) -> NDArray[np.int64]:
    """Return the costs of the outputs by example, in units times 2**bits."""
    problem, target = run.problem, run.packed.cost.target_margin
    assert run.packed.credit is not None
    slope, is_right = run.packed.credit.tables.output_slope, problem.output_spins > 0
    if target is None:
        terms = problem.topology.fan_in[problem.topology.outputs.start :] + 1
        return missing_terms(sums, problem.output_spins, terms).astype(np.int64) * slope
    lacks = target - (sums[is_right][:, None] - sums)
    window = int(run.packed.prices.softness[-1])
    squares = np.clip(lacks + window, 0, 2 * window) ** 2
    costs = squares + 4 * window * np.maximum(lacks - window, 0)
    return np.asarray(np.where(is_right, 0, costs).sum(axis=1) * slope)


def slow_costs(run: ForwardRun, engine: ForwardAnnealing) -> NDArray[np.float64]:
    """Return the soft costs of all flips of parameters of hidden neurons, in fine units / 2S."""
    network, problem, topology = network_of(run, 0), run.problem, run.problem.topology
    pushes, sums = slow_pushes(run, network)
    spins = network.forward(problem.input_spins).activation_spins
    assert run.packed.credit is not None
    unit, count, finer = run.packed.unit, topology.weight_count, run.packed.credit.finer
    cap = np.inf if engine.margin_cap is None else engine.margin_cap
    found = np.full(count + topology.neuron_count, np.nan)
    arcs = [
        *zip(topology.weight_of, topology.source_of, topology.target_of, strict=True),
        *((count + n, -1, topology.input_count + n) for n in range(topology.hidden_count)),
    ]
    parameters = np.append(network.weight_spins, network.bias_spins).astype(np.int64)
    for parameter, source, target in arcs:
        neuron = target - topology.input_count
        if neuron >= topology.hidden_count:
            continue
        if topology.known_parameters[parameter]:
            found[parameter] = 0
            continue
        window = int(run.packed.prices.softness[neuron])
        source_spins = 1 if source < 0 else spins[:, source].astype(np.int64)
        after = sums[:, neuron] - 2 * parameters[parameter] * source_spins
        turn = chances(run, neuron, after) - chances(run, neuron, sums[:, neuron])
        kept = np.minimum(np.abs(sums[:, neuron]), cap) - np.minimum(np.abs(after), cap)
        margin = (run.packed.prices.margin << finer) * kept * 2 * window
        cost = int(run.packed.weights @ (pushes[:, neuron] * turn + margin)) << FINE
        if np.isnan(found[parameter]):
            other = other_network(network, parameter)
            own = own_terms(problem, other) - own_terms(problem, network)
            cost += round((2 * window << finer) * own / unit)
            found[parameter] = 0
        found[parameter] += cost
    return found


def other_network(network: BinaryNetwork, parameter: int) -> BinaryNetwork:
    both = flipped(np.append(network.weight_spins, network.bias_spins), parameter)
    count = len(network.weight_spins)
    return replace_network(network, both[:count], both[count:])


def own_terms(problem: TrainingProblem, network: BinaryNetwork) -> float:
    """Return field and decay."""
    pull = problem.field.weights @ network.weight_spins + problem.field.biases @ network.bias_spins
    return slow_decay(problem, network) - float(pull)


@settings(deadline=None, max_examples=80)
@pytest.mark.parametrize("lanes", [np.int16, np.int32])
@given(case=cases(), softness=st.sampled_from([0.3, 1, 2.5]), seed=st.integers(0, 99))
def test_flips_cost_what_pushes_and_slopes_give(
    case: tuple[TrainingProblem, ForwardAnnealing], softness: float, seed: int, lanes: type
) -> None:
    problem, engine = credited(case, softness)
    run = run_in(lanes, problem, engine, seed)
    run.sweep(np.full((2, run.groups.count), 10.0))
    found = run.packed.flip_costs(run.replicas, is_soft=True)[0]
    expected = slow_costs(run, engine)
    is_hidden = ~np.isnan(expected)
    np.testing.assert_array_equal(found[is_hidden], expected[is_hidden])


@settings(deadline=None, max_examples=40)
@given(case=cases(), softness=st.sampled_from([0.3, 1]), seed=st.integers(0, 99))
def test_what_is_kept_over_many_flips_is_what_a_new_pass_gives(
    case: tuple[TrainingProblem, ForwardAnnealing], softness: float, seed: int
) -> None:
    problem, engine = credited(case, softness)
    run = ForwardRun(problem, engine, seed)
    for temperature in (10.0, 0.1):
        run.sweep(np.full((2, run.groups.count), temperature))
    kept = run.packed.flip_costs(run.replicas, is_soft=True)
    energies = run.packed.energies(run.replicas)
    run.replicas = run.packed.load_examples(run.replicas)
    np.testing.assert_array_equal(kept, run.packed.flip_costs(run.replicas, is_soft=True))
    np.testing.assert_array_equal(energies, run.packed.energies(run.replicas))
    expected = slow_energy(problem, engine, network_of(run, 1))
    assert energies[1] * run.unit == pytest.approx(expected, abs=1e-9)


def deep_problem() -> TrainingProblem:
    """Enough examples that few of them are stale after most visits."""
    return random_problem(Topology.dense(9, 6, 5, 4, 3), 400)


DEEP = ForwardAnnealing(
    reading="largest", softness=1, replica_count=2, sweep_count=6, hottest=0.1, credit="soft"
)


def test_visits_in_slices_and_threads_give_the_same_networks() -> None:
    problem = deep_problem()
    expected = DEEP.solve(problem, seed=3)
    for engine in (replace(DEEP, thread_count=1), replace(DEEP, thread_count=2)):
        found = engine.solve(problem, seed=3, report=lambda progress: None)
        np.testing.assert_array_equal(found.weight_spins, expected.weight_spins)
        np.testing.assert_array_equal(found.energies, expected.energies)


def test_few_examples_have_the_pushes_of_all() -> None:
    problem = deep_problem()
    run, other = ForwardRun(problem, DEEP, 0), ForwardRun(problem, DEEP, 0)
    schedule = run.packed.schedule(np.full((3, run.groups.count), 0.1))
    run.make_visits(schedule)
    for visit in range(schedule.last):
        other.replicas = other.packed.load_examples(other.replicas)  # all pushes are stale
        other.make_visits(schedule._replace(first=visit, last=visit + 1))
    np.testing.assert_array_equal(run.replicas.parameters, other.replicas.parameters)


@pytest.mark.parametrize(
    "notation", ["fc(12)+fc(12)", "conv(3x3x2)+fc(8)", "conv(3x3x2, padding=1)"]
)
def test_deep_networks_and_convolutions_learn_with_soft_credit(notation: str) -> None:
    given = one_hot_problem()
    topology = Topology.parse(notation, inputs=(5, 6), outputs=4)
    problem = TrainingProblem(topology, given.input_spins, given.output_spins)
    engine = ForwardAnnealing(reading="largest", softness=1, replica_count=4, hottest=0.03)
    found = engine.solve(problem, seed=0)
    sums = found.network().pre_activations(problem.input_spins)[:, -4:]
    assert (sums.argmax(axis=1) == problem.output_spins.argmax(axis=1)).all()
    assert found.energies[0] == slow_energy(problem, engine, found.network())


def test_auto_is_soft_where_costs_run_through_several_layers_or_weights_are_shared() -> None:
    convolution = Topology.parse("conv(2x2)", inputs=(4, 4), outputs=2)
    assert uses_soft_credit(Topology.dense(4, 3, 3, 2), "auto", is_soft=True)
    assert uses_soft_credit(convolution, "auto", is_soft=True)
    assert not uses_soft_credit(Topology.dense(4, 3, 2), "auto", is_soft=True)
    assert not uses_soft_credit(convolution, "auto", is_soft=False)
    assert not uses_soft_credit(convolution, "exact", is_soft=True)
    grouped = Topology.dense(4, 3, 3, 2, input_groups=[0, 0, 1, 1])
    assert not uses_soft_credit(grouped, "auto", is_soft=True)


def test_what_soft_credit_cannot_do_is_refused() -> None:
    grouped = Topology.dense(4, 3, 3, 2, input_groups=[0, 0, 1, 1])
    with pytest.raises(TopologyError, match="no weight has two arcs into one neuron"):
        replace(DEEP, credit="soft").solve(random_problem(grouped, 5))
    with pytest.raises(RangeError, match="needs a softness"):
        replace(DEEP, softness=None).solve(deep_problem())
    with pytest.raises(RangeError, match="credit must be one of"):
        ForwardAnnealing(credit="hard")  # type: ignore[arg-type]
