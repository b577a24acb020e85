"""What fits into lanes, and what the forward view refuses."""

from dataclasses import replace

import numpy as np
import pytest

from engines.forward_twin import (
    ENGINE,
    flipped,
    letters_problem,
    network_of,
    random_problem,
    replace_network,
    run_in,
    slow_energy,
)
from qubonn.engines import (
    ForwardAnnealing,
    forward_packing,
)
from qubonn.engines.forward import ForwardRun
from qubonn.errors import AlphabetError, RangeError, TopologyError
from qubonn.formulation import Field, TrainingProblem
from qubonn.topology import Topology


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
    run = ForwardRun(problem, engine, 0)
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


def test_cycles_are_sent_to_lifted_annealing() -> None:
    arcs = [(0, 25), (25, 26), (26, 25), (25, 27)]
    topology = Topology.from_arcs(arcs, inputs=25, outputs=2)
    problem = replace(letters_problem(), topology=topology, field=Field.zero(topology))
    with pytest.raises(TopologyError, match="closes one: use LiftedAnnealing"):
        ENGINE.solve(problem)


def test_no_neuron_may_depend_on_pairwise_outputs() -> None:
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
    run = ForwardRun(letters_problem(margin_strength=strength), ENGINE, 0)
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


def test_strengths_too_large_for_int32_are_refused() -> None:
    with pytest.raises(RangeError, match="smaller strengths"):
        ENGINE.solve(letters_problem(margin_strength=1e9))
