import dataclasses

import pytest

from experiments.tiny import dice, native, setting
from qubonn.errors import RangeError
from qubonn.experiments import PREPARATION, Run, runs_of
from qubonn.experiments.study import canonical


def test_the_seed_of_a_run_depends_on_its_setting_and_number_and_not_on_its_neighbours() -> None:
    one, other = native(), native(settings=(setting(9),))
    assert one.seed_of(Run(setting(9), 5)) == other.seed_of(Run(setting(9), 5))
    seeds = {one.seed_of(Run(given, n)) for given in one.settings for n in range(PREPARATION, 500)}
    assert len(seeds) == 2 * 501
    assert max(seeds) < 2**63  # SQLite's whole numbers
    run = Run(setting(8), 0)
    assert one.seed_of(run) != native(seed=1).seed_of(run)


def test_the_seed_of_a_run_never_changes() -> None:
    assert native().seed_of(Run(setting(8), 0)) == SEED_OF_THE_FIRST_RUN


SEED_OF_THE_FIRST_RUN = 6_107_762_022_169_150_910


def test_the_digest_of_a_study_never_changes_and_covers_its_settings() -> None:
    from qubonn.paper.studies import study_of

    assert study_of("margins", "paper").digest.startswith("8e81ed6f3ef5")  # as in the docs
    assert dice().digest != dice(settings=({"faces": 6},)).digest
    assert dice().digest != dice(seed=1).digest


def test_what_decides_a_record_is_in_the_spec() -> None:
    assert dice(seconds=0.5).spec == {"name": "dice", "seed": 0, "seconds": 0.5}
    assert "replica_count" in native().spec
    assert "settings" not in native().spec


@pytest.mark.parametrize("settings", [(), ({"faces": 6}, {"faces": 6})])
def test_a_study_needs_settings_each_of_them_once(settings: tuple[dict[str, int], ...]) -> None:
    with pytest.raises(RangeError, match="a study needs settings, each of them once"):
        dice(settings=settings)


def test_all_settings_advance_together() -> None:
    runs = runs_of(dice().settings, 2)
    assert [(run.setting["faces"], run.number) for run in runs] == [
        (6, 0),
        (20, 0),
        (6, 1),
        (20, 1),
    ]
    with pytest.raises(RangeError, match="run_count"):
        runs_of(dice().settings, 0)


def test_equal_runs_have_equal_keys_in_whatever_order_their_values_are() -> None:
    one, other = Run({"a": 1, "b": None}, 0), Run({"b": None, "a": 1}, 0)
    assert one.key == other.key
    assert canonical({"b": 0.5, "a": "x"}) == '{"a":"x","b":0.5}'


def test_a_study_without_tables_of_its_own_gets_the_means_of_its_numbers() -> None:
    from experiments.tiny import row

    rows = [row({"faces": 6}, number, {"eyes": eyes}) for number, eyes in enumerate((2, 4))]
    (table,) = dice().tables(rows)
    assert table.heads == ("faces", "runs", "eyes")
    assert [cell.text for cell in table.rows[0]] == ["6", "2", "3.000 ± 1.414"]


def test_a_study_that_prepares_nothing_says_so() -> None:
    assert not dice().needs_preparation
    with pytest.raises(NotImplementedError):
        dice().prepare({"faces": 6}, 0)
    assert dataclasses.replace(dice(), seed=3).seed == 3
