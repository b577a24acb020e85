"""Batches: every example once an epoch, in an order that the seed decides."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import qubonn as qn
from qubonn.errors import AlphabetError, RangeError, ShapeError
from qubonn.training.algorithm1 import NO_DROPOUT
from training.guessing import Guessing

INPUTS = np.arange(22).reshape(11, 2) - 8
OUTPUTS = np.where(np.arange(11) % 3, 1, -1)[:, None]
PROBLEM = qn.TrainingProblem(qn.Topology.dense(2, 2, 1), INPUTS, OUTPUTS)


def in_batches(batches: Any, solver: Any, **options: Any) -> qn.TrainingResult:
    """Train without dropout."""
    return qn.train_with_dropout(PROBLEM, None, solver, batches=batches, **options)


def rounds(**settings: Any) -> qn.Dropout:
    """Return no dropout, but other settings."""
    return replace(NO_DROPOUT, **settings)


@given(st.integers(1, 12), st.integers(1, 3), st.integers(0, 99))
def test_an_epoch_has_every_example_once(size: int, epochs: int, seed: int) -> None:
    batches = qn.Batches(INPUTS, OUTPUTS, size=size, seed=seed, epoch_count=epochs)
    rows = [row for batch in batches if batch.rows is not None for row in batch.rows.tolist()]
    for epoch in range(epochs):
        assert sorted(rows[11 * epoch : 11 * epoch + 11]) == list(range(11))
    assert len(list(batches)) == epochs * batches.batch_count
    assert max(len(batch.inputs) for batch in batches) == min(size, 11)


def test_batches_hold_the_rows_they_say() -> None:
    for batch in qn.Batches(INPUTS, OUTPUTS, size=4, epoch_count=1):
        assert batch.rows is not None
        assert np.array_equal(batch.inputs, INPUTS[batch.rows])
        assert np.array_equal(batch.outputs, OUTPUTS[batch.rows])


def test_the_seed_decides_the_order_and_epochs_differ() -> None:
    def rows(seed: int, count: int) -> list[list[int]]:
        batches = islice(qn.Batches(INPUTS, OUTPUTS, size=11, seed=seed), count)
        return [batch.rows.tolist() for batch in batches if batch.rows is not None]

    assert rows(0, 3) == rows(0, 3) != rows(1, 3)
    assert rows(0, 3)[0] != rows(0, 3)[1]


def test_batches_may_be_gone_through_again() -> None:
    batches = qn.Batches(INPUTS, OUTPUTS, size=5, epoch_count=1)
    first, again = ([b.rows.tolist() for b in batches if b.rows is not None] for _ in range(2))
    assert first == again
    assert repr(batches) == "Batches(3 of 5 examples an epoch)"


def test_arrays_on_disk_are_read_row_by_row(tmp_path: Path) -> None:
    np.save(tmp_path / "inputs.npy", INPUTS)
    np.save(tmp_path / "outputs.npy", OUTPUTS)
    inputs, outputs = (
        np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in ("inputs", "outputs")
    )
    batches = qn.Batches(inputs, outputs, size=4, epoch_count=1)
    assert isinstance(batches.inputs, np.memmap)
    engine = Guessing()
    result = in_batches(batches, engine)
    assert [problem.example_count for problem in engine.problems] == [4, 4, 3, 3]
    assert len(result.history) == 3


def test_a_batch_size_cuts_the_examples_of_the_problem_for_one_epoch() -> None:
    engine = Guessing()
    result = in_batches(4, engine, seed=3)
    assert len(result.history) == 3
    rows = [row for one in result.history if one.rows is not None for row in one.rows.tolist()]
    assert sorted(rows) == list(range(11))
    for one, problem in zip(result.history, engine.problems, strict=False):
        assert np.array_equal(problem.inputs, PROBLEM.input_spins[one.rows])
        assert np.array_equal(problem.outputs, PROBLEM.output_spins[one.rows])


def test_with_an_iteration_count_epochs_follow_each_other() -> None:
    result = qn.train_with_dropout(PROBLEM, rounds(iteration_count=7), Guessing(), batches=4)
    assert [one.example_count for one in result.history] == [4, 4, 3, 4, 4, 3, 4]


def test_a_generator_is_asked_only_for_what_is_trained() -> None:
    made: list[int] = []

    def stream() -> Iterator[tuple[Any, Any]]:
        for number in range(100):
            made.append(number)
            yield INPUTS[number % 5 :], OUTPUTS[number % 5 :]

    engine = Guessing()
    qn.train_with_dropout(PROBLEM, rounds(iteration_count=3), engine, batches=stream())
    assert made == [0, 1, 2, 3]  # the last for the final training
    assert [problem.example_count for problem in engine.problems] == [11, 10, 9, 8]
    made.clear()
    whole = rounds(iteration_count=3, final="whole")
    qn.train_with_dropout(PROBLEM, whole, Guessing(), batches=stream())
    assert made == [0, 1, 2]


def test_iterations_end_with_the_batches() -> None:
    pairs = [(INPUTS[:4], OUTPUTS[:4]), (INPUTS[4:], OUTPUTS[4:])]
    engine = Guessing()
    result = qn.train_with_dropout(PROBLEM, qn.Dropout(), engine, batches=pairs)
    assert [problem.example_count for problem in engine.problems] == [4, 7, 11]
    assert [one.rows for one in result.history] == [None, None]
    assert result.stop is qn.Stop.FINISHED


def test_the_last_batch_is_trained_again_where_there_is_no_next_one() -> None:
    pairs = [(INPUTS[:4], OUTPUTS[:4]), (INPUTS[4:], OUTPUTS[4:])]
    engine = Guessing()
    result = in_batches(iter(pairs), engine)
    assert [problem.example_count for problem in engine.problems] == [4, 7, 7]
    assert np.array_equal(result.problem.inputs, engine.problems[1].inputs)


def test_a_bad_batch_is_named() -> None:
    good = (INPUTS, OUTPUTS)
    for bad, error, words in (
        ((INPUTS[:, :1], OUTPUTS), ShapeError, "batch 1: inputs must have 2 columns"),
        ((INPUTS, OUTPUTS[:5]), ShapeError, "batch 1: outputs must have 11 rows"),
        ((INPUTS, 0 * OUTPUTS), AlphabetError, "batch 1: outputs must be -1 or"),
        (INPUTS, ShapeError, r"batch 1: a batch must be a pair \(inputs, outputs\); got ndarray"),
    ):
        with pytest.raises(error, match=words):
            in_batches([good, bad], Guessing())


@pytest.mark.parametrize("batches", ["abc", 2.5, INPUTS, object()])
def test_what_holds_no_batches_is_refused(batches: Any) -> None:
    with pytest.raises(ShapeError, match="batches must be a batch size"):
        in_batches(batches, Guessing())


@pytest.mark.parametrize("final", ["batch", "none"])
def test_no_batch_at_all_is_refused(final: Any) -> None:
    with pytest.raises(RangeError, match="batches must hold at least one batch; got none"):
        qn.train_with_dropout(PROBLEM, rounds(final=final), Guessing(), batches=[])


def test_a_run_that_nothing_would_end_is_refused() -> None:
    endless = qn.Batches(INPUTS, OUTPUTS, size=2)
    with pytest.raises(RangeError, match="nothing would end the iterations"):
        in_batches(endless, Guessing())
    with pytest.raises(RangeError, match="nothing would end the iterations"):
        qn.train_with_dropout(PROBLEM, qn.Dropout(iteration_count=None), Guessing())
    result = in_batches(endless, Guessing(), time_limit=0.2)
    assert result.stop is qn.Stop.TIME_LIMIT
    assert len(result.history) > 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"size": 0}, "size must be at least 1; got 0"),
        ({"size": 2, "epoch_count": 0}, "epoch_count must be at least 1; got 0"),
        ({"size": 2, "seed": -1}, "seed must be at least 0; got -1"),
        ({"size": 2, "outputs": OUTPUTS[:3]}, "got 11 and 3"),
    ],
)
def test_bad_batches_are_refused(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises((RangeError, ShapeError), match=words):
        qn.Batches(**{"inputs": INPUTS, "outputs": OUTPUTS, **arguments})
