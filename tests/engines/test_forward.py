"""ForwardAnnealing: what it finds, and what it does with noise, batches, limits and interrupts."""

import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engines.forward_twin import (
    ENGINE,
    letters_problem,
    many_examples,
    network_of,
    one_hot_problem,
    random_problem,
    slow_energy,
)
from qubonn.engines import (
    Engine,
    ForwardAnnealing,
    GrowingBatches,
    InputNoise,
    forward,
    forward_packing,
)
from qubonn.engines.forward import ForwardRun, measured_temperatures
from qubonn.engines.forward_tables import LANES, temperature_groups
from qubonn.errors import RangeError, TopologyError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.simd import threads
from qubonn.stopping import Progress, Stop
from qubonn.topology import Topology


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


def problem_of_many_blocks(topology: Topology) -> TrainingProblem:
    generator = np.random.default_rng(0)
    spins = generator.choice(np.array([-1, 1], dtype=np.int8), (LANES * 50 + 3, 20))
    classes = (spins[:, :3] @ [4, 2, 1] + 7) // 2 % 3
    outputs = 2 * (classes[:, None] == np.arange(3)).astype(np.int8) - 1
    return TrainingProblem(topology, spins, outputs, margin_strength=0.02)


SOFT = ForwardAnnealing(
    replica_count=1,
    sweep_count=3,
    reading="largest",
    softness=0.5,
    credit="exact",
    neurons_at_once=3,
)
SOME_AT_ONCE = pytest.mark.parametrize(
    "topology",
    [
        Topology.parse(hidden, inputs=(4, 5), outputs=3)
        for hidden in ("fc(7)", "fc(6, levels=3, thresholds=5)", "conv(2x2x2)+fc(3)", "fc(4)+fc(5)")
    ]
    + [
        Topology.dense(
            20, 4, 3, weight_levels=5, threshold_levels=9, input_groups=np.arange(20) // 4
        )
    ],
    ids=["one layer", "levels", "convolution", "two layers", "groups"],
)


@pytest.mark.parametrize("cores", [2, 3, 7])
@SOME_AT_ONCE
def test_threads_that_share_the_neurons_of_a_replica_change_nothing(
    monkeypatch: pytest.MonkeyPatch, topology: Topology, cores: int
) -> None:
    problem = problem_of_many_blocks(topology)
    one = replace(SOFT, thread_count=1).solve(problem, seed=3)
    monkeypatch.setattr(threads, "most_threads", lambda wanted: wanted or cores)
    some = replace(SOFT, thread_count=cores).solve(problem, seed=3)
    np.testing.assert_array_equal(one.weight_spins, some.weight_spins)
    np.testing.assert_array_equal(one.bias_spins, some.bias_spins)
    np.testing.assert_array_equal(one.activation_spins, some.activation_spins)
    np.testing.assert_array_equal(one.energies, some.energies)


def test_an_interrupt_within_a_turn_gives_energies_and_activations_of_the_network(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    problem = problem_of_many_blocks(Topology.dense(20, 7, 3))
    run, turns = threads.Crew.run, iter(range(5))

    def interrupted(crew: threads.Crew, work: Any) -> None:
        run(crew, work)
        if next(turns) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(threads, "most_threads", lambda wanted: wanted or 2)
    monkeypatch.setattr(threads.Crew, "run", interrupted)
    found = replace(SOFT, thread_count=2).solve(problem, seed=3)
    assert found.stop is Stop.INTERRUPTED
    assert found.energies.tolist() == pytest.approx(energies_of(problem, SOFT, found))
    hidden = found.network().forward(problem.input_spins).activation_spins[:, 20:27]
    np.testing.assert_array_equal(found.activation_spins[0][:, 20:27], hidden)


@SOME_AT_ONCE
def test_neurons_visited_at_once_do_not_see_the_flips_of_each_other(topology: Topology) -> None:
    problem = problem_of_many_blocks(topology).of_examples(slice(50 * LANES))  # whole blocks
    cold = np.zeros((1, temperature_groups(topology).count))
    together = ForwardRun(problem, SOFT, seed=1)
    alone = replace(SOFT, neurons_at_once=1)
    expected = together.replicas.parameters.copy()
    first, last = together.packed.turns[:2]
    for place in range(first, last):
        one = ForwardRun(problem, alone, seed=1)  # the same parameters at first
        before = one.replicas.parameters.copy()
        schedule = one.packed.schedule(cold)
        one.make_visits(schedule._replace(first=place, last=place + 1))
        expected ^= before ^ one.replicas.parameters
    assert (expected != together.replicas.parameters).any()
    together.make_visits(together.packed.schedule(cold)._replace(first=0, last=1))
    np.testing.assert_array_equal(together.replicas.parameters, expected)
    counts, spins = together.replicas.counts.copy(), together.replicas.spins.copy()
    together.replicas = together.packed.load_examples(together.replicas)  # a new forward pass
    np.testing.assert_array_equal(counts, together.replicas.counts)
    np.testing.assert_array_equal(spins, together.replicas.spins)


def test_a_replica_does_not_depend_on_how_many_there_are() -> None:
    few, many = (ForwardRun(letters_problem(), replace(ENGINE, replica_count=n), 5) for n in (2, 6))
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
    run = ForwardRun(problem, replace(BATCHES, replica_count=1), 0)
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
        self: Any, number: int, one: Any, energy: int, course: Any, prices: Any, changes: Any
    ) -> int:
        advance(self, number, one, energy, course, prices, changes)
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
    monkeypatch.setattr(forward, "require_room", lambda *arguments: asked.append(arguments[2]))
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
        ({"output_softness": 1.0}, "output_softness must be left out unless reading='largest'"),
    ],
)
def test_bad_settings_are_refused(bad: dict[str, Any], message: str) -> None:
    with pytest.raises(RangeError, match=message):
        ForwardAnnealing(**bad)


def test_initial_networks_must_fit() -> None:
    other = BinaryNetwork.random(Topology.dense(25, 3, 2), seed=0)
    with pytest.raises(TopologyError, match="the problem's topology"):
        ENGINE.solve(letters_problem(), initial_networks=[other])
