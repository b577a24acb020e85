"""Algorithm 1: what each iteration is given, how the field moves, how a run ends."""

import time
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from network.random_networks import topologies
from qubonn.errors import RangeError, TopologyError
from qubonn.training import Iteration
from reference import Reading, f
from training.guessing import Guessing

Floats = list[float]


@pytest.fixture(scope="module")
def letters() -> qn.datasets.Letters:
    return qn.datasets.letters(seed=0)


@pytest.fixture(scope="module")
def problem(letters: qn.datasets.Letters) -> qn.TrainingProblem:
    return qn.TrainingProblem(qn.paper.topology(10), letters.train_inputs, letters.train_outputs)


# ---- the slow twin: fields from the history, arc by arc ----


class Kept:
    """What is left without some nodes, found node by node and arc by arc."""

    def __init__(self, topology: qn.Topology, dropped: list[int]) -> None:
        first = topology.input_count
        self.nodes = [node for node in range(topology.node_count) if node not in dropped]
        self.inputs = [node for node in self.nodes if node < topology.column_count]
        self.neurons = [node - first for node in self.nodes if node >= first]
        self.weights = sorted(
            {
                int(topology.weight_of[arc])
                for arc in range(topology.arc_count)
                if topology.source_of[arc] in self.nodes and topology.target_of[arc] in self.nodes
            }
        )


def slow_fields(
    topology: qn.Topology, history: tuple[Iteration, ...], eta: float, beta: float
) -> list[tuple[Floats, Floats]]:
    """c^w and c^b before each iteration, and after the last."""
    weights, biases = [0.0] * topology.weight_count, [0.0] * topology.neuron_count
    fields = [(list(weights), list(biases))]
    for one in history:
        kept = Kept(topology, one.dropped.tolist())
        for place, weight in enumerate(kept.weights):
            weights[weight] += eta * beta**one.violation_count * int(one.weight_spins[place])
        for place, neuron in enumerate(kept.neurons):
            biases[neuron] += eta * beta**one.violation_count * int(one.bias_spins[place])
        fields.append((list(weights), list(biases)))
    return fields


def slow_violations(problem: qn.TrainingProblem, found: Any) -> int:
    """Neurons of all examples whose activation is not f of what they hear, in the best state."""
    topology, spins = problem.topology, found.activation_spins[0]
    count = 0
    for k in range(problem.example_count):
        sums = [0] * topology.node_count
        for arc in range(topology.arc_count):
            weight = int(found.weight_spins[0][topology.weight_of[arc]])
            sums[topology.target_of[arc]] += weight * int(spins[k][topology.source_of[arc]])
        for neuron, bias in enumerate(found.bias_spins[0].tolist()):
            node = topology.input_count + neuron
            count += f(sums[node] + bias) != spins[k][node]
        if not problem.has_fixed_outputs:
            wanted = problem.output_spins[k].tolist()
            count += sum(a != b for a, b in zip(spins[k][topology.outputs], wanted, strict=True))
    return count


@st.composite
def runs(draw: st.DrawFn) -> tuple[qn.TrainingProblem, qn.Dropout, int]:
    """Any small problem, cycles and shared weights included, and how to go on about it."""
    topology = draw(topologies())
    generator = np.random.default_rng(draw(st.integers(0, 999)))
    rows = draw(st.integers(1, 3))
    problem = qn.TrainingProblem(
        topology,
        generator.choice([-1, 1], (rows, topology.column_count)),
        generator.choice([-1, 1], (rows, topology.output_count)),
        output_strength=draw(st.sampled_from([None, 2])),
    )
    dropout = qn.Dropout(
        dropped_inputs=draw(st.integers(0, max(topology.column_count - 1, 0))),
        dropped_hidden=draw(st.integers(0, max(topology.hidden_count - 1, 0))),
        iteration_count=draw(st.integers(0, 4)),
        learning_rate=draw(st.sampled_from([0.01, 0.1, 0.5, 1.0])),
        violation_decay=draw(st.sampled_from([0.1, 0.5, 0.9, 1.0])),
    )
    return problem, dropout, draw(st.integers(0, 99))


@settings(deadline=None)
@given(runs())
def test_each_solver_call_is_given_what_the_slow_twin_computes_from_the_history(
    run: tuple[qn.TrainingProblem, qn.Dropout, int],
) -> None:
    problem, dropout, seed = run
    engine = Guessing()
    result = qn.train_with_dropout(problem, dropout, engine, seed=seed)
    eta, beta = dropout.learning_rate, dropout.violation_decay
    assert eta is not None
    fields = slow_fields(problem.topology, result.history, eta, beta)
    assert len(result.history) == dropout.iteration_count
    for one, asked, found, (weights, biases) in zip(
        result.history, engine.problems, engine.found, fields, strict=False
    ):
        kept = Kept(problem.topology, one.dropped.tolist())
        assert asked.topology == problem.topology.thin(one.dropped).topology
        assert np.array_equal(asked.inputs, problem.input_spins[:, kept.inputs])
        assert np.array_equal(asked.outputs, problem.outputs)
        assert asked.field.weights.tolist() == [weights[weight] for weight in kept.weights]
        assert asked.field.biases.tolist() == [biases[neuron] for neuron in kept.neurons]
        assert one.violation_count == slow_violations(asked, found)
        assert one.vote == eta * beta**one.violation_count
        assert one.energy == pytest.approx(found.energies[0])
    assert result.problem.topology == problem.topology
    assert result.problem.field.weights.tolist() == fields[-1][0]
    assert result.problem.field.biases.tolist() == fields[-1][1]


def test_a_decay_of_one_is_georgievs_rule(problem: qn.TrainingProblem) -> None:
    """His rule: each network moves each of its own factors by the rate towards its sign."""
    dropout = qn.Dropout(
        dropped_inputs=5, dropped_hidden=2, learning_rate=0.3, violation_decay=1, iteration_count=6
    )
    engine = qn.LiftedAnnealing(replica_count=16, sweep_count=20)
    result = qn.train_with_dropout(problem, dropout, engine, seed=4)
    factors: dict[Any, float] = {}
    for one in result.history:
        network = one.network(problem.topology)
        left = [node for node in range(30) if node not in one.dropped]
        arcs = zip(network.topology.source_of, network.topology.target_of, strict=True)
        for weight, (source, target) in enumerate(arcs):
            key = (left[source], left[target])
            factors[key] = factors.get(key, 0.0) + 0.3 * int(network.weight_spins[weight])
        for neuron, node in enumerate(left[20:]):
            factors[node] = factors.get(node, 0.0) + 0.3 * int(network.bias_spins[neuron])
    field, topology = result.problem.field, problem.topology
    arcs = zip(topology.source_of.tolist(), topology.target_of.tolist(), strict=True)
    assert field.weights.tolist() == [factors.get(arc, 0.0) for arc in arcs]
    assert field.biases.tolist() == [factors.get(node, 0.0) for node in range(25, 30)]
    # one hidden neuron cannot do it, so the rules differ as soon as the decay is less than one
    assert all(one.violation_count > 0 for one in result.history)
    other = qn.train_with_dropout(problem, replace(dropout, violation_decay=0.1), engine, seed=4)
    assert np.abs(other.problem.field.weights).max() < 0.1 * np.abs(field.weights).max() + 1e-9


def test_violations_of_a_qubo_solver_are_those_of_the_state_it_returned(
    problem: qn.TrainingProblem,
) -> None:
    hot = qn.SimulatedAnnealing(replica_count=5, sweep_count=20, hottest=9, coldest=3)
    result = qn.train(problem, hot, seed=1)
    assert result.best_bits is not None
    reading = Reading(problem, result.best_bits)
    failed = sum(reading.residual(k, j) != 0 for k in reading.examples for j in reading.neurons)
    for k in reading.examples:
        for arc in range(problem.topology.arc_count):
            source = int(problem.topology.source_of[arc])
            failed += reading.psi(k, arc) != reading.v(arc) * reading.y(k, source)
    assert result.unsatisfied_count == failed > 0
    assert result.found_violations.count == failed
    assert result.found_terms.total == result.energies[0]
    once = qn.Dropout(iteration_count=1, learning_rate=1, violation_decay=0.5)
    history = qn.train_with_dropout(problem, once, hot).history
    assert history[0].vote == 0.5 ** history[0].violation_count


# ---- what is given and what comes back ----


def test_no_iterations_are_plain_training(problem: qn.TrainingProblem) -> None:
    plain = qn.train(problem, seed=5)
    result = qn.train_with_dropout(problem, qn.Dropout(iteration_count=0), seed=5)
    assert result.networks == plain.networks
    assert result.history == ()
    assert result.stop is qn.Stop.FINISHED


def test_the_problems_field_is_where_a_run_starts(problem: qn.TrainingProblem) -> None:
    field = qn.Field(np.full(81, 0.5), np.zeros(5))
    engine = Guessing()
    once = qn.Dropout(iteration_count=1, learning_rate=0.25, violation_decay=1)
    result = qn.train_with_dropout(replace(problem, field=field), once, engine)
    assert engine.problems[0].field.weights.tolist() == [0.5] * 81
    assert set(result.problem.field.weights.tolist()) == {0.25, 0.75}


def test_strengths_are_those_of_the_problem(problem: qn.TrainingProblem) -> None:
    strong = replace(problem, product_strength=3, margin_strength=0.25, output_strength=2)
    engine = Guessing()
    qn.train_with_dropout(strong, qn.Dropout(dropped_inputs=5, iteration_count=2), engine)
    for asked in engine.problems:
        assert (asked.product_strength, asked.margin_strength, asked.output_strength) == (
            3,
            0.25,
            2,
        )


def test_the_same_seed_gives_the_same_run_and_more_iterations_begin_alike(
    problem: qn.TrainingProblem,
) -> None:
    dropout = qn.Dropout(dropped_inputs=5, dropped_hidden=1, iteration_count=3)
    engine = qn.LiftedAnnealing(replica_count=16, sweep_count=20)
    one, again, other = (
        qn.train_with_dropout(problem, dropout, engine, seed=seed) for seed in (1, 1, 2)
    )
    longer = qn.train_with_dropout(problem, replace(dropout, iteration_count=5), engine, seed=1)

    def story(result: qn.TrainingResult) -> list[Any]:
        return [
            (one.dropped.tolist(), one.weight_spins.tolist(), one.bias_spins.tolist(), one.vote)
            for one in result.history
        ]

    assert one.networks == again.networks
    assert story(one) == story(again) != story(other)
    assert story(longer)[:3] == story(one)
    assert len({tuple(record.dropped.tolist()) for record in longer.history}) > 1


def test_each_training_has_a_seed_of_its_own_and_the_last_has_that_of_the_run(
    problem: qn.TrainingProblem,
) -> None:
    engine = Guessing()
    qn.train_with_dropout(problem, qn.Dropout(), engine, seed=7)
    seeds = [options["seed"] for options in engine.options]
    assert len(set(seeds)) == 11
    assert seeds[-1] == 7


def test_the_history_tells_what_happened(
    problem: qn.TrainingProblem, letters: qn.datasets.Letters
) -> None:
    dropout = qn.Dropout(dropped_inputs=5, dropped_hidden=1, iteration_count=2, learning_rate=0.5)
    result = qn.train_with_dropout(problem, dropout, qn.LiftedAnnealing(replica_count=16))
    last = result.history[-1]
    network = last.network(problem.topology)
    thinning = problem.topology.thin(last.dropped)
    inputs = letters.train_inputs[:, thinning.input_columns]
    assert last.accuracy == network.accuracy(inputs, letters.train_outputs)
    squares = [
        (part**2).sum() for part in (result.problem.field.weights, result.problem.field.biases)
    ]
    assert [last.weight_norm**2, last.bias_norm**2] == pytest.approx(squares)
    assert (last.number, last.example_count, last.rows) == (1, 4, None)
    assert 0 < last.seconds < result.info["seconds"]
    assert last.solver == "LiftedAnnealing, as asked"
    assert repr(last).startswith("Iteration(1: dropped 6 nodes, 4 examples, ")
    assert "LiftedAnnealing, as asked after 2 iterations; FINISHED" in repr(result)
    assert result.info["final_training"] is True


@pytest.mark.parametrize(
    "solver",
    [
        "auto",
        qn.LiftedAnnealing(replica_count=64, sweep_count=50),
        qn.ForwardAnnealing(),
        qn.SimulatedAnnealing(replica_count=100, sweep_count=200, hottest=5, coldest=1 / 8.6),
    ],
    ids=lambda solver: solver if isinstance(solver, str) else type(solver).__name__,
)
def test_any_solver_of_either_view_trains_and_a_weak_field_keeps_it_feasible(
    letters: qn.datasets.Letters, solver: Any
) -> None:
    problem = qn.TrainingProblem(qn.paper.topology(12), letters.train_inputs, letters.train_outputs)
    dropout = qn.Dropout(dropped_inputs=5, dropped_hidden=1, iteration_count=3, learning_rate=0.01)
    result = qn.train_with_dropout(problem, dropout, solver, seed=0)
    assert result.is_feasible
    assert len(result.history) == 3
    assert not result.problem.field.is_zero


def test_dimod_samplers_train_too() -> None:
    samplers = pytest.importorskip("dwave.samplers")
    xor = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    problem = qn.TrainingProblem(qn.Topology.dense(2, 3, 1), xor, [[-1], [1], [1], [-1]])
    sampler = samplers.SimulatedAnnealingSampler()
    result = qn.train_with_dropout(
        problem,
        qn.Dropout(dropped_hidden=1, iteration_count=2),
        qn.DimodSolver(sampler, {"num_reads": 20, "beta_range": (0.2, 8.6)}),
    )
    assert result.is_feasible


def test_the_final_solver_trains_the_whole_network_only(problem: qn.TrainingProblem) -> None:
    small = qn.SimulatedAnnealing(replica_count=20, sweep_count=50)
    tuned = qn.TunedAnnealing(annealer=small, evaluation_count=3)
    dropout = qn.Dropout(dropped_inputs=5, iteration_count=2)
    result = qn.train_with_dropout(problem, dropout, small, final_solver=tuned)
    assert [one.solver for one in result.history] == ["SimulatedAnnealing, as asked"] * 2
    assert result.solver == "TunedAnnealing, as asked"
    assert len(result.info["tuning"].trials) == 3


def test_a_strong_field_decides_everything(problem: qn.TrainingProblem) -> None:
    once = qn.Dropout(iteration_count=1, learning_rate=1000, violation_decay=1)
    engine = qn.LiftedAnnealing(replica_count=16)
    result = qn.train_with_dropout(problem, once, engine)
    assert result.network == result.history[0].network(problem.topology)


# ---- thinned networks that cannot work ----


def test_a_neuron_left_without_sources_or_targets_still_takes_part() -> None:
    """0 -> 2 -> 4 and 1 -> 3 -> 4: without input 0, neuron 2 is its bias alone."""
    topology = qn.Topology.from_arcs([(0, 2), (1, 3), (2, 4), (3, 4)], inputs=2, outputs=1)
    problem = qn.TrainingProblem(topology, [[1, 1], [-1, -1]], [[1], [-1]])
    dropout = qn.Dropout(dropped_inputs=1, iteration_count=4, learning_rate=1, violation_decay=0.5)
    result = qn.train_with_dropout(problem, dropout, qn.LiftedAnnealing(replica_count=16), seed=1)
    fields = slow_fields(topology, result.history, 1, 0.5)
    assert result.problem.field.biases.tolist() == fields[-1][1]
    dropped = {one.dropped.tolist()[0] for one in result.history}
    assert dropped == {0, 1}
    assert all(len(one.bias_spins) == 3 for one in result.history)
    assert result.is_feasible


def test_outputs_cut_off_from_all_inputs_are_trained_as_they_are_and_lose_their_vote() -> None:
    """Dropping one of two hidden layers of a neuron each leaves outputs that hear no input."""
    topology = qn.Topology.dense(2, 1, 1, 1)
    problem = qn.TrainingProblem(topology, [[1, 1], [-1, -1]], [[1], [-1]])
    dropout = qn.Dropout(dropped_hidden=1, iteration_count=4, learning_rate=1, violation_decay=0)
    for solver in (
        qn.LiftedAnnealing(replica_count=16),
        qn.ForwardAnnealing(),
        qn.SimulatedAnnealing(replica_count=16, sweep_count=50),
    ):
        result = qn.train_with_dropout(problem, dropout, solver, seed=2)
        assert {one.dropped.tolist()[0] for one in result.history} == {2, 3}
        assert all(one.violation_count >= 1 for one in result.history)
        assert all(one.accuracy == 0.5 for one in result.history)
        assert result.problem.field.is_zero
        assert result.is_feasible


@pytest.mark.parametrize(
    "solver",
    [
        qn.LiftedAnnealing(replica_count=16),
        qn.ForwardAnnealing(),
        qn.SimulatedAnnealing(replica_count=16, sweep_count=50),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_a_network_that_loses_every_arc_is_trained_by_its_biases(solver: Any) -> None:
    """0 -> 1 -> 3 and a lonely 2: without 1 there is no arc left."""
    topology = qn.Topology.from_arcs([(0, 1), (1, 3)], inputs=1, outputs=1, nodes=4)
    problem = qn.TrainingProblem(topology, [[1]], [[1]])
    dropout = qn.Dropout(dropped_hidden=1, iteration_count=4, learning_rate=1)
    result = qn.train_with_dropout(problem, dropout, solver, seed=2)
    sizes = {one.dropped.tolist()[0]: len(one.weight_spins) for one in result.history}
    assert sizes == {1: 0, 2: 2}
    assert result.problem.field.biases[2] == 4  # the output's bias took part each time, as +1
    assert result.is_feasible


def test_cyclic_networks_have_no_accuracy_but_a_history() -> None:
    arcs = [(0, 2), (1, 3), (2, 3), (3, 4), (4, 2), (4, 5), (3, 5), (5, 2)]
    topology = qn.Topology.from_arcs(arcs, inputs=2, outputs=1)
    problem = qn.TrainingProblem(topology, [[1, 1], [-1, 1], [1, -1]], [[1], [-1], [1]])
    dropout = qn.Dropout(iteration_count=2)
    result = qn.train_with_dropout(problem, dropout, qn.LiftedAnnealing(replica_count=16))
    assert [one.accuracy for one in result.history] == [None, None]


# ---- warm starts ----


def test_warm_starts_are_the_networks_before_thinned_anew(problem: qn.TrainingProblem) -> None:
    engine = Guessing(count=4)
    dropout = qn.Dropout(
        dropped_inputs=5, dropped_hidden=1, iteration_count=3, learning_rate=1, warm_start=True
    )
    result = qn.train_with_dropout(problem, dropout, engine)
    assert engine.starts[0] == []
    assert [len(start) for start in engine.starts[1:]] == [4, 4, 4]
    first, second = (problem.topology.thin(one.dropped) for one in result.history[:2])
    both = np.intersect1d(first.weight_of, second.weight_of)
    before = engine.found[0].weight_spins[:, np.searchsorted(first.weight_of, both)]
    now = np.stack([network.weight_spins for network in engine.starts[1]])
    assert np.array_equal(now[:, np.searchsorted(second.weight_of, both)], before)
    new = np.setdiff1d(second.weight_of, first.weight_of)  # in no vote so far: -1
    assert (now[:, np.searchsorted(second.weight_of, new)] == -1).all()
    assert all(network.topology == problem.topology for network in engine.starts[3])


def test_without_warm_starts_nothing_is_passed_on(problem: qn.TrainingProblem) -> None:
    engine = Guessing()
    qn.train_with_dropout(problem, qn.Dropout(iteration_count=2), engine)
    assert engine.starts == [[], [], []]


def test_a_cold_anneal_stays_where_its_networks_start(problem: qn.TrainingProblem) -> None:
    network = qn.train(problem, seed=0).network
    frozen = qn.SimulatedAnnealing(replica_count=3, sweep_count=2, hottest=1e-6, coldest=1e-6)
    result = qn.train(problem, frozen, seed=1, initial_networks=[network])
    assert result.energies.tolist() == [0] * len(result.energies)
    assert qn.train(problem, frozen, seed=1).energies[0] > 0
    cool = qn.LiftedAnnealing(replica_count=4, sweep_count=1, hottest=1e-9, coldest=1e-9)
    assert qn.train(problem, cool, initial_networks=[network, network]).is_feasible


def test_solvers_without_a_start_are_refused_before_any_work(problem: qn.TrainingProblem) -> None:
    tuned = qn.TunedAnnealing()
    words = "TunedAnnealing cannot start from networks"
    network = qn.BinaryNetwork.random(problem.topology, seed=0)
    with pytest.raises(RangeError, match=words):
        qn.train(problem, tuned, initial_networks=[network])
    for other in (qn.CpSat(), qn.AnnealingSampler()):
        with pytest.raises(RangeError, match=f"{type(other).__name__} cannot start from networks"):
            qn.train(problem, other, initial_networks=[network])
    engine = Guessing()
    with pytest.raises(RangeError, match=words):
        qn.train_with_dropout(problem, qn.Dropout(warm_start=True), engine, final_solver=tuned)
    assert engine.problems == []
    stranger = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(TopologyError, match="initial networks must have the problem's topology"):
        qn.train(problem, initial_networks=[stranger])


# ---- the end of a run ----


def interrupt() -> qn.Stop:
    raise KeyboardInterrupt


def stopped() -> qn.Stop:
    return qn.Stop.INTERRUPTED


@pytest.mark.parametrize("hook", [interrupt, stopped])
def test_ctrl_c_keeps_the_iterations_so_far_and_skips_the_final_training(
    problem: qn.TrainingProblem, hook: Any
) -> None:
    engine = Guessing(hooks={3: hook})
    dropout = qn.Dropout(dropped_inputs=5, dropped_hidden=1, learning_rate=1, violation_decay=0.9)
    result = qn.train_with_dropout(problem, dropout, engine)
    assert result.stop is qn.Stop.INTERRUPTED
    assert len(result.history) == 3
    assert len(engine.problems) == 4
    assert result.info["final_training"] is False
    field = slow_fields(problem.topology, result.history, 1, 0.9)[-1]
    assert result.problem.field.weights.tolist() == field[0]
    assert result.problem.field.biases.tolist() == field[1]
    signs = [f(strength) for strength in field[0]]
    assert signs in [network.weight_spins.tolist() for network in result.networks]
    totals = [certificate.terms.total for certificate in result.certificates]
    assert totals == sorted(totals) == result.energies.tolist()
    assert all(network.topology == problem.topology for network in result.networks)


def test_ctrl_c_before_anything_is_there_is_ctrl_c(problem: qn.TrainingProblem) -> None:
    with pytest.raises(KeyboardInterrupt):
        qn.train_with_dropout(problem, qn.Dropout(), Guessing(hooks={0: interrupt}))
    first = qn.train_with_dropout(problem, qn.Dropout(), Guessing(hooks={0: stopped}))
    assert first.history == ()
    assert first.stop is qn.Stop.INTERRUPTED


@pytest.mark.parametrize(("hook", "is_trained"), [(interrupt, False), (stopped, True)])
def test_ctrl_c_in_the_final_training_keeps_what_is_there(
    problem: qn.TrainingProblem, hook: Any, is_trained: bool
) -> None:
    engine = Guessing(hooks={2: hook})
    result = qn.train_with_dropout(problem, qn.Dropout(iteration_count=2), engine)
    assert result.stop is qn.Stop.INTERRUPTED
    assert len(result.history) == 2
    assert result.info["final_training"] is is_trained


def test_an_iteration_cut_by_the_clock_has_no_vote(problem: qn.TrainingProblem) -> None:
    engine = Guessing(hooks={2: lambda: qn.Stop.TIME_LIMIT})
    result = qn.train_with_dropout(problem, qn.Dropout(), engine, time_limit=60)
    assert result.stop is qn.Stop.TIME_LIMIT
    assert len(result.history) == 2
    assert len(engine.problems) == 4  # the last is the final training
    assert engine.problems[3].topology == problem.topology
    assert result.info["final_training"] is True


def test_a_quarter_of_the_time_is_kept_for_the_final_training(
    problem: qn.TrainingProblem,
) -> None:
    slow = qn.LiftedAnnealing(replica_count=256, sweep_count=200_000)
    start = time.perf_counter()
    result = qn.train_with_dropout(problem, qn.Dropout(), slow, time_limit=1.2)
    assert time.perf_counter() - start < 4
    assert result.stop is qn.Stop.TIME_LIMIT
    assert result.history == ()
    engine = Guessing()
    qn.train_with_dropout(problem, qn.Dropout(iteration_count=1), engine, time_limit=100)
    assert 74 < engine.options[0]["time_limit"] <= 75
    assert 99 < engine.options[1]["time_limit"] <= 100
    engine = Guessing()
    qn.train_with_dropout(problem, qn.Dropout(final="none"), engine, time_limit=100)
    assert 99 < engine.options[0]["time_limit"] <= 100


def test_final_none_trains_nothing_and_judges_the_last_networks(
    problem: qn.TrainingProblem,
) -> None:
    engine = Guessing()
    result = qn.train_with_dropout(
        problem, qn.Dropout(dropped_inputs=5, iteration_count=3, final="none"), engine
    )
    assert len(engine.problems) == len(result.history) == 3
    assert result.stop is qn.Stop.FINISHED
    assert result.info["final_training"] is False
    assert result.problem.example_count == 4
    assert result.solver == "no final training, networks of the last iterations"
    last = result.history[-1]
    thinning = problem.topology.thin(last.dropped)
    parts = [network.weight_spins[thinning.weight_of].tolist() for network in result.networks]
    assert last.weight_spins.tolist() in parts


def test_progress_goes_from_nothing_to_one_over_all_iterations(
    problem: qn.TrainingProblem,
) -> None:
    seen: list[float] = []
    for final, count in (("whole", 4), ("none", 3)):
        seen.clear()
        dropout = qn.Dropout(iteration_count=3, final=final)  # type: ignore[arg-type]
        qn.train_with_dropout(
            problem, dropout, Guessing(), progress=lambda step: seen.append(step.part)
        )
        assert seen == pytest.approx([part / 2 / count for part in range(1, 2 * count + 1)])


def test_progress_of_an_unknown_number_of_batches_follows_the_clock_or_stays_at_nothing(
    problem: qn.TrainingProblem,
) -> None:
    pair = (problem.inputs, problem.outputs)
    for limit, most in ((None, 0.0), (1000.0, 0.1)):
        seen: list[float] = []
        qn.train_with_dropout(
            problem,
            solver=Guessing(),
            batches=iter([pair, pair]),
            time_limit=limit,
            progress=lambda step, seen=seen: seen.append(step.part),  # type: ignore[misc]
        )
        assert max(seen[:4]) <= most
        assert seen[4:] == [0.5, 1.0]


def test_who_watches_may_stop_a_run(problem: qn.TrainingProblem) -> None:
    result = qn.train_with_dropout(
        problem, qn.Dropout(), Guessing(), progress=lambda step: step.part > 0.2
    )
    assert result.stop is qn.Stop.INTERRUPTED
    assert len(result.history) == 3  # two tenths and a bit
    assert result.info["final_training"] is False


def test_a_bar_is_shown_when_asked_for(problem: qn.TrainingProblem) -> None:
    dropout = qn.Dropout(iteration_count=1)
    assert qn.train_with_dropout(problem, dropout, Guessing(), progress=True).history


@pytest.mark.parametrize("which", ["solver", "final_solver"])
def test_cp_sat_is_refused_since_it_knows_no_field(problem: qn.TrainingProblem, which: str) -> None:
    with pytest.raises(RangeError, match="must weigh the field; CpSat does not"):
        qn.train_with_dropout(problem, qn.Dropout(), **{which: qn.CpSat()})  # type: ignore[arg-type]


def test_settings_must_be_a_dropout(problem: qn.TrainingProblem) -> None:
    with pytest.raises(RangeError, match=r"dropout must be a Dropout, for example .*; got int"):
        qn.train_with_dropout(problem, 5)  # type: ignore[arg-type]
    with pytest.raises(TopologyError, match="dropped_hidden must leave at least one of 3 nodes"):
        qn.train_with_dropout(problem, qn.Dropout(dropped_hidden=3))


# ---- mini-batches ----


def test_batches_together_teach_what_one_batch_does_not() -> None:
    """Noisy prototypes: networks of single batches are worse than the one they vote for."""
    generator = np.random.default_rng(0)
    classes = generator.integers(0, 4, 900)
    prototypes = generator.choice([-1, 1], (4, 40))
    noise = generator.choice([-1, 1], (900, 40), p=[0.25, 0.75])
    inputs = prototypes[classes] * noise
    outputs = qn.CodeBook.one_hot([0, 1, 2, 3]).encode(classes)
    train, test = slice(0, 500), slice(500, 900)
    problem = qn.TrainingProblem(qn.Topology.dense(40, 8, 4), inputs[train], outputs[train])
    engine = qn.ForwardAnnealing(replica_count=4, sweep_count=30, reading="largest")

    def accuracy(result: qn.TrainingResult) -> float:
        sums = result.network.pre_activations(inputs[test])[:, -4:]
        return float((sums.argmax(axis=1) == classes[test]).mean())

    alone = [
        accuracy(qn.train(replace(problem, inputs=b.inputs, outputs=b.outputs), engine, seed=n))
        for n, b in enumerate(islice(qn.Batches(inputs[train], outputs[train], size=25), 8))
    ]
    together = [
        accuracy(qn.train_with_dropout(problem, None, engine, batches=25, seed=seed))
        for seed in range(2)
    ]
    assert min(together) > np.mean(alone) + 0.05
