import dataclasses
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from experiments.tiny import native, paper, setting
from qubonn.errors import RangeError
from qubonn.experiments import PREPARATION, Run
from qubonn.paper import published, studies
from qubonn.paper.studies import STUDIES, PaperStudy, study_of, two_pixel_images
from qubonn.samplers.tuning import mean_energy
from qubonn.stopping import Stop

TEMPERATURES = {"hottest": 5.0, "coldest": 0.116}
LETTERS = qn.datasets.letters(seed=0)


def performed(study: PaperStudy, given: Any, number: int = 0) -> Any:
    return study.perform(given, study.seed_of(Run(given, number)), TEMPERATURES)


def accuracy(network: qn.BinaryNetwork, seed: int) -> float:
    data = qn.datasets.letters(seed=seed)
    return network.accuracy(data.test_inputs, data.test_outputs)


def problem_of(given: Any) -> qn.TrainingProblem:
    return qn.TrainingProblem(
        qn.paper.topology(given["network"]),
        LETTERS.train_inputs,
        LETTERS.train_outputs,
        margin_strength=given["margin_strength"],
    )


def second_seed(study: PaperStudy, given: Any) -> int:
    return studies._two_seeds(study.seed_of(Run(given, 0)))[1]


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_of_the_paper_has_a_setting_for_each_row_of_its_table(name: str) -> None:
    study = study_of(name, "paper")
    assert (study.replica_count, study.sweep_count) == (1000, 1000)
    assert list(study.settings) == [row.setting for row in published(name)]
    assert study.columns.keys() <= study.settings[0].keys()


def test_labels_tell_ways_of_tuning_apart() -> None:
    assert study_of("margins", "paper").label == "margins-paper"
    assert study_of("margins", "paper", tune="each").label == "margins-paper-each"
    assert study_of("margins", "native", tune="each") == study_of("margins", "native")
    assert study_of("dropout", "paper", votes="full").label == "dropout-paper-full"
    assert study_of("margins", "paper", votes="full") == study_of("margins", "paper")


def test_stores_from_before_the_choice_of_votes_hold_the_same_study() -> None:
    assert "votes" not in study_of("dropout", "paper").spec
    assert study_of("dropout", "paper", votes="full").spec["votes"] == "full"


def test_full_votes_count_although_constraints_stay_unsatisfied() -> None:
    given = setting(10, rate=0.5, dropped=2)  # one hidden neuron is too few
    decayed, full = (
        paper(settings=(given,), votes=votes).problem(given, seed=0).field.weights
        for votes in ("decayed", "full")
    )
    assert abs(decayed).max() < 0.5 <= abs(full).max()


@pytest.mark.parametrize(
    "changes",
    [{"seed": -1}, {"data_seeds": ()}, {"sweep_count": 0}, {"tune": "never"}, {"votes": "half"}],
)
def test_a_study_that_makes_no_sense_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(RangeError):
        native(**changes)


def test_a_run_repeats_itself() -> None:
    for study in (native(), paper()):
        given = study.settings[1]
        one, other = (performed(study, given, 2) for _ in range(2))
        assert one == other
        assert one != performed(study, given, 3)


def test_a_native_run_measures_what_train_finds() -> None:
    given = setting(10)
    study = native(settings=(given,), replica_count=64, sweep_count=60)
    found = performed(study, given)
    problem = problem_of(given)
    engine = qn.LiftedAnnealing(replica_count=64, sweep_count=60)
    result = qn.train(problem, engine, seed=second_seed(study, given))
    best, feasible, committee = result.network, result.feasible_networks, result.committee()
    certificate = problem.certify(best, result.activations[0])
    assert len(feasible) > 25
    expected = {
        "training_accuracy": best.accuracy(problem.inputs, problem.outputs),
        "test_accuracy": accuracy(best, 0),
        **{f"draw_accuracy_seed_{seed}": accuracy(best, seed) for seed in range(5)},
        "energy": certificate.terms.total,
        "activation_penalty": certificate.terms.activation,
        "product_penalty": certificate.terms.product,
        "violation_count": certificate.violations.count,
        "constraint_count": 44,
        "s1": best.margins(problem.inputs).s1,
        "s2": best.margins(problem.inputs).s2,
        "feasible_count": len(feasible),
        "network_count": len(result.networks),
        "feasible_accuracy": accuracy(feasible[0], 0),
        "committee_training_accuracy": committee.accuracy(problem.inputs, problem.outputs),
        "committee_size": len(feasible),
        "hottest": None,
    }
    assert {name: found[name] for name in expected} == expected
    for size, name in ((len(feasible), "committee"), (25, "small_committee")):
        voters = qn.Committee(feasible[:size])
        value = voters.accuracy(LETTERS.test_inputs, LETTERS.test_outputs)
        assert found[f"{name}_accuracy"] == value


def test_a_run_of_the_papers_engine_measures_the_state_of_lowest_energy() -> None:
    given = setting(9, 0.05)
    study = paper(settings=(given,), replica_count=32, sweep_count=30)
    found = performed(study, given)
    problem = problem_of(given)
    annealer = qn.SimulatedAnnealing(
        replica_count=32, sweep_count=30, hottest=5.0, coldest=0.116, thread_count=1
    )
    samples = annealer.sample(problem.qubo(), seed=second_seed(study, given))
    network = problem.decode(samples.best)
    assert found["energy"] == pytest.approx(samples.best_energy)
    assert found["violation_count"] == problem.violations(samples.best).count
    assert found["margin_reward"] == problem.terms(samples.best).margin
    assert found["test_accuracy"] == accuracy(network, 0)
    assert found["s2"] == network.margins(problem.inputs).s2
    assert (found["hottest"], found["coldest"]) == (5.0, 0.116)
    assert found["network_count"] == len({problem.decode(bits) for bits in samples.bits})


def test_where_no_network_is_feasible_all_of_them_vote() -> None:
    found = performed(native(), setting(8))  # one hidden neuron cannot tell four letters apart
    assert found["violation_count"] > 0
    assert found["feasible_count"] == 0
    assert found["feasible_accuracy"] is None
    assert found["committee_size"] == found["network_count"]


def test_tuning_once_gives_temperatures_and_all_anneals() -> None:
    study, given = paper(), setting(8, 0.02)
    seed = study.seed_of(Run(given, PREPARATION))
    tuned = study.prepare(given, seed)
    assert tuned == study.prepare(given, seed)
    assert tuned["anneal_count"] == study.evaluation_count == 4
    best = min(range(4), key=lambda number: tuned[f"anneal_{number}_value"])
    assert tuned["hottest"] == tuned[f"anneal_{best}_hottest"]
    assert tuned["coldest"] == tuned[f"anneal_{best}_coldest"]
    energies = [tuned[f"anneal_{number}_best_energy"] for number in range(4)]
    assert tuned["lowest_energy"] == min(energies)


def test_the_search_for_temperatures_lowers_the_mean_energy_of_all_replicas() -> None:
    study, given = paper(), setting(8, 0.02)
    tuned = study.prepare(given, study.seed_of(Run(given, 0)))
    found = qn.tune(
        problem_of(given).qubo(),
        qn.SimulatedAnnealing(replica_count=16, sweep_count=20),
        evaluation_count=4,
        objective=mean_energy,
        seed=second_seed(study, given),
    )
    assert [tuned[f"anneal_{n}_value"] for n in range(4)] == [one.value for one in found.trials]


def test_the_papers_engine_polishes_nothing() -> None:
    assert not paper()._solver(TEMPERATURES).is_polishing


def test_tuning_in_each_run_keeps_the_best_state_of_all_anneals() -> None:
    study, given = paper(tune="each"), setting(8)
    found = study.perform(given, study.seed_of(Run(given, 0)), {})
    sampler = qn.TunedAnnealing(
        annealer=qn.SimulatedAnnealing(replica_count=16, sweep_count=20),
        evaluation_count=4,
        objective=mean_energy,
    )
    samples = sampler.sample(problem_of(given).qubo(), seed=second_seed(study, given))
    assert found["energy"] == samples.best_energy
    assert not study.needs_preparation
    assert paper().needs_preparation


@pytest.mark.parametrize("made", [native, paper])
def test_dropout_trains_the_whole_network_in_the_field_of_its_iterations(made: Any) -> None:
    given, plain = setting(10, rate=0.5, dropped=1), setting(10)
    study = made(settings=(given, plain))
    found = performed(study, given)
    assert found["constraint_count"] == 44
    assert found["field_reward"] != 0
    assert performed(study, plain)["field_reward"] == 0


def test_an_interrupted_solver_makes_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*given: Any, **options: Any) -> qn.TrainingResult:
        return dataclasses.replace(qn.train(*given, **options), stop=Stop.INTERRUPTED)

    monkeypatch.setattr(studies, "train", interrupted)
    with pytest.raises(KeyboardInterrupt):
        performed(native(), setting(8))


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
    assert (images.inputs[images.draws[3]] == data.test_inputs).all()
    assert (images.outputs[images.draws[3]] == data.test_outputs).all()


def test_a_study_shows_its_results_beside_the_papers() -> None:
    from experiments.tiny import rows_of, some_records

    study = study_of("margins", "native")
    (table,) = study.tables(rows_of(study.settings[0], some_records(3)))
    assert table.heads[:3] == ("network", "gamma", "source")
    assert [row[2].text for row in table.rows] == ["paper", "native"]
    assert np.unique([len(row) for row in table.rows]).tolist() == [len(table.heads)]
