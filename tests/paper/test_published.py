from decimal import Decimal

import pytest

import qubonn as qn
from qubonn.errors import RangeError
from qubonn.paper import MEASURES, NOTATIONS, published, published_counts

LETTERS = qn.datasets.letters(seed=0)


@pytest.mark.parametrize("counts", published_counts(), ids=lambda counts: counts.notation)
def test_the_printed_counts_are_those_of_our_problems(counts: qn.paper.Counts) -> None:
    topology = qn.paper.topology(counts.network)
    size = qn.TrainingProblem(topology, LETTERS.train_inputs, LETTERS.train_outputs).size
    ours = (size.nodes, size.arcs, size.binary, size.integer, size.constraints)
    printed = (counts.neurons, counts.connections, counts.binary, counts.integer)
    assert ours == (*printed, counts.constraints)
    assert counts.network == 7 or counts.notation == NOTATIONS[counts.network]


def test_every_table_is_whole() -> None:
    shapes = {name: len(published(name)) for name in ("architectures", "margins", "dropout")}
    assert shapes == {"architectures": 18, "margins": 16, "dropout": 32}
    assert [len(published(name)[0].numbers) for name in shapes] == [6, 8, 6]
    assert len(published_counts()) == 18
    # sums of columns, added up from the paper's source without these files
    for name, expected in SUMS.items():
        rows = published(name)
        sums = {key: sum(row.numbers[key] for row in rows) for key in rows[0].numbers}
        assert {key: str(value) for key, value in sums.items()} == expected


SUMS = {
    "architectures": {
        "test_min": "3.725",
        "test_max": "13.400",
        "test_mean": "8.296",
        "test_median": "8.300",
        "training_mean": "14.368",
        "unsatisfied_percent": "27.1925",
    },
    "margins": {
        "test_min": "5.350",
        "test_max": "14.825",
        "test_mean": "10.473",
        "test_median": "10.488",
        "training_mean": "14.164",
        "unsatisfied_percent": "21.27",
        "s1_mean": "158.72",
        "s2_mean": "1593.53",
    },
    "dropout": {
        "test_min": "9.525",
        "test_max": "26.175",
        "test_mean": "17.604",
        "test_median": "17.599",
        "training_mean": "28.541",
        "unsatisfied_percent": "41.60",
    },
}


def test_numbers_that_the_text_quotes_stand_in_the_tables() -> None:
    architectures = {row.network: row.numbers for row in published("architectures")}
    assert architectures[8]["unsatisfied_percent"] == Decimal("10.0000")
    assert architectures[10]["test_mean"] == Decimal("0.569")
    margins = {(row.network, row.margin_strength): row.numbers for row in published("margins")}
    best = {n: max((g for m, g in margins if m == n), key=lambda g: margins[n, g]["test_mean"])
            for n in (5, 10)}  # fmt: skip
    assert best == {5: 0.03, 10: 0.02}
    dropout = {(row.network, row.learning_rate, row.dropped): row for row in published("dropout")}
    assert dropout[12, 0.5, 2].numbers["test_mean"] == Decimal("0.589")
    assert dropout[12, 0.0, None].numbers["test_mean"] == Decimal("0.542")
    assert {row.run_count for row in published("dropout")} == {100}
    assert {row.run_count for row in published("margins")} == {200}


def test_numbers_are_possible() -> None:
    for name in ("architectures", "margins", "dropout"):
        for row in published(name):
            numbers = row.numbers
            assert set(numbers) <= set(MEASURES)
            assert 0 <= numbers["test_min"] <= numbers["test_median"] <= numbers["test_max"] <= 1
            assert numbers["test_min"] <= numbers["test_mean"] <= numbers["test_max"]
            assert 0 <= numbers["training_mean"] <= 1
            assert 0 <= numbers["unsatisfied_percent"] <= 10
            for extreme in ("test_min", "test_max"):
                assert (numbers[extreme] * 40) % 1 == 0  # 40 test images


def test_a_table_that_is_not_there_is_refused() -> None:
    with pytest.raises(RangeError, match="table must be one of architectures, margins, dropout"):
        published("table5")
