import dataclasses

import pytest

from experiments.tiny import native, paper
from qubonn.errors import FileFormatError, RangeError
from qubonn.experiments.spec import TUNING, Run, Setting, Study
from qubonn.experiments.studies import STUDIES, published_row, study_of
from qubonn.paper import published


def test_a_study_reads_back_what_it_wrote() -> None:
    for study in (native(), paper(), study_of("dropout", "paper", tune="each", seed=3)):
        assert Study.parse(study.canonical) == study
        assert Study.parse(study.canonical).digest == study.digest


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "7", '{"settings": 3}', "[" * 100_000])
def test_text_that_is_no_study_gets_one_clear_error(text: str) -> None:
    with pytest.raises(FileFormatError, match="a study must be written as JSON by qubonn"):
        Study.parse(text)


def test_the_seed_of_a_run_depends_on_its_setting_and_number_and_not_on_its_neighbours() -> None:
    one, other = native(settings=(Setting(8), Setting(9))), native(settings=(Setting(9),))
    assert one.seed_of(Run(1, 5)) == other.seed_of(Run(0, 5))
    seeds = {one.seed_of(Run(setting, n)) for setting in (0, 1) for n in range(TUNING, 500)}
    assert len(seeds) == 2 * 501
    assert max(seeds) < 2**63  # SQLite's whole numbers
    assert one.seed_of(Run(0, 0)) != native(seed=1).seed_of(Run(0, 0))


def test_the_seed_of_a_run_never_changes() -> None:
    assert native().seed_of(Run(0, 0)) == SEED_OF_THE_FIRST_RUN


SEED_OF_THE_FIRST_RUN = 6_107_762_022_169_150_910


def test_the_difference_of_two_studies_names_what_differs() -> None:
    here = native()
    there = dataclasses.replace(here, seed=7, settings=(Setting(8), Setting(10, 0.02)))
    assert here.differences(there) == [
        "seed: 0 here, 7 there",
        "settings only here: network 9",
        "settings only there: network 10, gamma 0.02",
    ]
    assert here.differences(here) == []
    swapped = dataclasses.replace(here, settings=here.settings[::-1])
    assert here.differences(swapped) == ["settings: the same in another order"]


@pytest.mark.parametrize(
    "changes",
    [{"settings": ()}, {"settings": (Setting(8), Setting(8))}, {"seed": -1}, {"data_seeds": ()},
     {"sweep_count": 0}, {"tune": "never"}],
)  # fmt: skip
def test_a_study_that_makes_no_sense_is_refused(changes: dict[str, object]) -> None:
    with pytest.raises(RangeError):
        native(**changes)


@pytest.mark.parametrize("name", STUDIES)
def test_a_study_of_the_paper_has_a_setting_for_each_row_of_its_table(name: str) -> None:
    study = study_of(name, "paper")
    assert (study.replica_count, study.sweep_count) == (1000, 1000)
    rows = [published_row(study, setting) for setting in study.settings]
    assert rows == list(published(name))


def test_labels_tell_readings_apart() -> None:
    assert study_of("margins", "paper").label == "margins-paper"
    assert study_of("margins", "paper", tune="each").label == "margins-paper-each"
    assert study_of("margins", "native", tune="each") == study_of("margins", "native")
