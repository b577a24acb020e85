import dataclasses
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from experiments.tiny import native, paper
from qubonn.experiments import performing
from qubonn.experiments.outcome import Outcome, Temperatures, two_pixel_images
from qubonn.experiments.performing import Tuned, perform
from qubonn.experiments.spec import TUNING, Run, Setting
from qubonn.stopping import Stop

TEMPERATURES = Temperatures(5.0, 0.116)
LETTERS = qn.datasets.letters(seed=0)


def without_clock(outcome: object) -> dict[str, object]:
    assert isinstance(outcome, Outcome)
    return {**dataclasses.asdict(outcome), "seconds": None}


def accuracy(network: qn.BinaryNetwork, seed: int) -> float:
    data = qn.datasets.letters(seed=seed)
    return network.accuracy(data.test_inputs, data.test_outputs)


def problem_of(setting: Setting) -> qn.TrainingProblem:
    return qn.TrainingProblem(
        qn.paper.topology(setting.network),
        LETTERS.train_inputs,
        LETTERS.train_outputs,
        margin_strength=setting.margin_strength,
    )


def test_a_run_repeats_itself() -> None:
    for study in (native(), paper()):
        one, other = (perform(study, Run(1, 2), TEMPERATURES) for _ in range(2))
        assert without_clock(one) == without_clock(other)
        third = perform(study, Run(1, 3), TEMPERATURES)
        assert without_clock(one) != without_clock(third)


def test_a_native_run_measures_what_train_finds() -> None:
    setting = Setting(10)
    study = native(settings=(setting,), replica_count=64, sweep_count=60)
    found = perform(study, Run(0, 0))
    assert isinstance(found, Outcome)
    problem = problem_of(setting)
    _, seed = performing._two_seeds(found.seed)
    engine = qn.LiftedAnnealing(replica_count=64, sweep_count=60)
    result = qn.train(problem, engine, seed=seed)
    best, feasible, committee = result.network, result.feasible_networks, result.committee()
    judged = problem.certify(best, result.activations[0])
    assert len(feasible) > 25
    assert found.training_accuracy == best.accuracy(problem.inputs, problem.outputs)
    assert found.draw_accuracies == tuple(accuracy(best, seed) for seed in range(5))
    assert found.test_accuracy == found.draw_accuracies[0]
    assert found.energy == judged.terms.total
    assert (found.activation_penalty, found.product_penalty) == (
        judged.terms.activation,
        judged.terms.product,
    )
    assert found.violation_count == judged.violations.count
    assert found.constraint_count == 44
    assert (found.s1, found.s2) == (
        best.margins(problem.inputs).s1,
        best.margins(problem.inputs).s2,
    )
    assert found.feasible_count == len(feasible)
    assert found.network_count == len(result.networks)
    assert found.feasible_accuracy == accuracy(feasible[0], 0)
    for size, value in (
        (len(feasible), found.committee_accuracy),
        (25, found.small_committee_accuracy),
    ):
        data = qn.datasets.letters(seed=0)
        voters = qn.Committee(feasible[:size])
        assert value == voters.accuracy(data.test_inputs, data.test_outputs)
    assert found.committee_training_accuracy == committee.accuracy(problem.inputs, problem.outputs)


def test_a_run_of_the_papers_engine_measures_the_state_of_lowest_energy() -> None:
    setting = Setting(9, margin_strength=0.05)
    study = paper(settings=(setting,), replica_count=32, sweep_count=30)
    found = perform(study, Run(0, 0), TEMPERATURES)
    assert isinstance(found, Outcome)
    problem = problem_of(setting)
    _, seed = performing._two_seeds(found.seed)
    annealer = qn.SimulatedAnnealing(
        replica_count=32, sweep_count=30, hottest=5.0, coldest=0.116, thread_count=1
    )
    samples = annealer.sample(problem.qubo(), seed=seed)
    network = problem.decode(samples.best)
    assert found.energy == pytest.approx(samples.best_energy)
    assert found.violation_count == problem.violations(samples.best).count
    assert found.margin_reward == problem.terms(samples.best).margin
    assert found.test_accuracy == accuracy(network, 0)
    assert found.s2 == network.margins(problem.inputs).s2
    assert (found.hottest, found.coldest) == (5.0, 0.116)
    decoded = {problem.decode(bits).weight_spins.tobytes() for bits in samples.bits}
    distinct = performing._distinct_networks(problem, samples.bits)
    assert {one.weight_spins.tobytes() for one in distinct} == decoded
    assert distinct[0].weight_spins.tolist() == network.weight_spins.tolist()
    assert found.network_count == len(distinct)


def test_where_no_network_is_feasible_all_of_them_vote() -> None:
    found = perform(native(), Run(0, 0))  # one hidden neuron cannot tell four letters apart
    assert isinstance(found, Outcome)
    assert not found.is_feasible
    assert found.feasible_count == 0
    assert found.feasible_accuracy is None
    assert found.committee_size == found.network_count
    assert found.unsatisfied == found.violation_count / 20


def test_tuning_once_gives_temperatures_and_all_anneals() -> None:
    study = paper()
    tuned, again = perform(study, Run(1, TUNING)), perform(study, Run(1, TUNING))
    assert isinstance(tuned, Tuned)
    assert isinstance(again, Tuned)
    assert tuned.trials == again.trials
    assert len(tuned.trials) == study.evaluation_count
    best = min(tuned.trials, key=lambda trial: trial[2])
    assert tuned.temperatures == Temperatures(best[0], best[1])


def test_tuning_in_each_run_keeps_the_best_state_of_all_anneals() -> None:
    study = paper(tune="each")
    found = perform(study, Run(0, 0))
    assert isinstance(found, Outcome)
    problem = problem_of(study.settings[0])
    _, seed = performing._two_seeds(found.seed)
    sampler = qn.TunedAnnealing(
        annealer=qn.SimulatedAnnealing(replica_count=16, sweep_count=20), evaluation_count=4
    )
    samples = sampler.sample(problem.qubo(), seed=seed)
    assert found.energy == samples.best_energy
    assert not study.needs_tuning(Run(0, 0))
    assert paper().needs_tuning(Run(0, 0))


@pytest.mark.parametrize("study", [native, paper])
def test_dropout_trains_the_whole_network_in_the_field_of_its_iterations(study: object) -> None:
    setting = Setting(10, learning_rate=0.5, dropped=1)
    made = (native if study is native else paper)(settings=(setting,))
    found = perform(made, Run(0, 0), TEMPERATURES)
    assert isinstance(found, Outcome)
    assert found.constraint_count == 44
    assert found.field_reward != 0
    plain = perform(dataclasses.replace(made, settings=(Setting(10),)), Run(0, 0), TEMPERATURES)
    assert isinstance(plain, Outcome)
    assert plain.field_reward == 0


def test_an_interrupted_solver_makes_no_outcome(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **options: Any) -> qn.TrainingResult:
        return dataclasses.replace(qn.train(*given, **options), stop=Stop.INTERRUPTED)

    monkeypatch.setattr(performing, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        perform(native(), Run(0, 0))


def every_image() -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for image, output in zip(LETTERS.train_inputs, LETTERS.train_outputs, strict=True):
        for pair in combinations(range(25), 2):
            inverted = [-pixel if place in pair else pixel for place, pixel in enumerate(image)]
            yield tuple(int(pixel) for pixel in inverted), tuple(output.tolist())


def test_the_test_images_are_all_images_with_two_pixels_inverted() -> None:
    images = two_pixel_images((0, 3))
    rows = zip(images.inputs.tolist(), images.outputs.tolist(), strict=True)
    assert [(tuple(image), tuple(output)) for image, output in rows] == list(every_image())
    data = qn.datasets.letters(seed=3)
    assert (images.inputs[images.draws[1]] == data.test_inputs).all()
    assert (images.outputs[images.draws[1]] == data.test_outputs).all()
    assert images.accuracies(np.ones(1200, dtype=bool)) == (1.0, 1.0)
