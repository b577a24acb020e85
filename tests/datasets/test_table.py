import numpy as np
import pytest

from qubonn.datasets import Table
from qubonn.errors import AlphabetError, ShapeError


def table_of(counts: dict[str, int]) -> Table:
    """Examples with one column that numbers them, and this many of each class."""
    labels = np.repeat(list(counts), list(counts.values()))
    return Table("d.csv", np.arange(len(labels), dtype=float)[:, np.newaxis], labels)


def class_counts(table: Table) -> dict[str, int]:
    return dict(zip(*np.unique(table.known_labels, return_counts=True), strict=True))


def test_a_split_keeps_every_example_once_and_the_shares_of_classes() -> None:
    table = table_of({"a": 40, "b": 20})
    learned, tested = table.split(0.25, seed=3)
    assert tested is not None
    assert class_counts(learned) == {"a": 30, "b": 15}
    assert class_counts(tested) == {"a": 10, "b": 5}
    joined = np.concatenate([learned.inputs, tested.inputs]).ravel()
    assert sorted(joined.tolist()) == list(range(60))
    assert np.array_equal(
        learned.known_labels, table.known_labels[learned.inputs.astype(int)[:, 0]]
    )


def test_a_split_depends_on_the_seed_only() -> None:
    table = table_of({"a": 40, "b": 20})
    first, again, other = (table.split(0.2, seed)[0].inputs for seed in (1, 1, 2**40))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("counts", "share"),
    [({"a": 1, "b": 1}, 0.5), ({"a": 2, "b": 2}, 0.2), ({"a": 60}, 0), ({"a": 2, "b": 2}, 0.9)],
)
def test_too_few_examples_leave_no_test(counts: dict[str, int], share: float) -> None:
    table = table_of(counts)
    assert table.split(share, seed=0) == (table, None)


def test_a_class_with_one_example_is_only_learned_from() -> None:
    learned, tested = table_of({"a": 10, "b": 1, "c": 10}).split(0.2, seed=0)
    assert tested is not None
    assert class_counts(learned) == {"a": 8, "b": 1, "c": 8}
    assert class_counts(tested) == {"a": 2, "c": 2}


def test_some_of_each_class_are_drawn_or_all_of_a_small_one() -> None:
    table = table_of({"a": 9, "b": 2})
    assert class_counts(table.some_per_class(4, seed=3)) == {"a": 4, "b": 2}
    assert table.some_per_class(None, seed=3) is table


def test_labels_get_the_type_of_the_classes() -> None:
    table = Table("d.csv", np.zeros((2, 1)), np.array([1, 2]))
    assert table.labels_among(np.array(["1", "large"]), "m").tolist() == ["1", "2"]
    with pytest.raises(AlphabetError, match="labels such as 'large', as m has; got '1'"):
        table.labels_among(np.array(["large"]), "m")


def test_a_table_without_labels_says_so() -> None:
    with pytest.raises(ShapeError, match="must have labels"):
        _ = Table("d.csv", np.zeros((2, 1))).known_labels
