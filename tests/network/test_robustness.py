import logging
import sys
import time
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from network.joint_networks import (
    committees,
    slow_flips,
    some_inputs,
)
from qubonn.encoding import Reading
from qubonn.errors import AlphabetError, RangeError, ShapeError, TopologyError
from qubonn.network.flip_model import FlipModel, Proved
from qubonn.network.robustness import robustness_of

READINGS: list[Reading] = ["signs", "largest"]
decisions = st.sampled_from(READINGS)


@settings(max_examples=80, deadline=None)
@given(committees(most=3), decisions, st.integers(0, 2**32))
def test_the_exact_number_is_that_of_enumeration(
    members: list[qn.BinaryNetwork], reading: Reading, seed: int
) -> None:
    pytest.importorskip("ortools")
    inputs = some_inputs(members[0], seed)
    found = robustness_of(members, inputs, reading)
    rows = [tuple(row.tolist()) for row in inputs]
    assert found.is_exact.all()
    assert found.flips.tolist() == [slow_flips(members, row, reading) for row in rows]


@pytest.mark.parametrize("vote", ["signs", "largest"])
def test_the_robustness_of_a_committee_is_that_of_its_vote(vote: Any) -> None:
    topology = qn.Topology.dense(7, 4, 3)
    committee = qn.Committee([qn.BinaryNetwork.random(topology, seed=s) for s in range(4)], vote)
    inputs = np.random.default_rng(0).choice([-1, 1], (20, 7))
    found = committee.robustness(inputs)
    assert np.array_equal(found.classes, committee.predict_outputs(inputs))
    assert np.array_equal(
        found.adversarial_classes, committee.predict_outputs(found.adversarial_inputs)
    )
    assert (found.adversarial_classes != found.classes).any(axis=1).all()
    for count in range(1, int(found.bound.max())):
        for flipped in combinations(range(7), count):
            others = inputs[found.bound > count].copy()
            others[:, flipped] *= -1
            same = committee.predict_outputs(others) == found.classes[found.bound > count]
            assert same.all()


@pytest.mark.parametrize("number", [5, 7, 10, 12])
def test_no_smaller_set_of_flips_changes_a_letter(number: int) -> None:
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(
        qn.paper.topology(number),
        letters.train_inputs,
        letters.train_outputs,
        margin_strength=0.01,
    )
    network = qn.train(problem, seed=0).network
    found = network.robustness(letters.train_inputs)
    assert found.is_exact.all()
    assert found.flips.max() >= 2
    for count in range(1, int(found.flips.max())):
        sets = np.array(list(combinations(range(25), count)))
        for row in np.flatnonzero(found.flips > count):
            others = np.tile(letters.train_inputs[row], (len(sets), 1))
            others[np.arange(len(sets))[:, np.newaxis], sets] *= -1
            assert (network.predict_outputs(others) == letters.train_outputs[row]).all()


def test_ties_of_a_neuron_count_as_minus_one() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(3, 1), [1, 1, 1], [1])
    found = network.robustness([[1, 1, 1], [1, 1, -1], [1, -1, -1], [-1, -1, -1]])
    assert found.flips.tolist() == [2, 1, 1, 2]  # sums 4, 2, 0, -2: from 2 to 0, from 0 to 2
    assert found.lower_bound.tolist() == found.bound.tolist() == [2, 1, 1, 2]


def test_the_earliest_of_equal_outputs_is_the_largest() -> None:
    topology = qn.Topology.from_arcs([(0, 3), (1, 4), (2, 4)], inputs=3, outputs=2)
    network = qn.BinaryNetwork(topology, [1, 1, 1], [1, -1])
    found = network.robustness([[1, 1, 1], [-1, 1, 1], [1, 1, -1]], reading="largest")
    # sums (2, 1), (0, 1), (2, -1); one flip makes them (0, 1), then (2, 1); (2, -1) needs two
    assert found.classes.tolist() == [[1, -1], [-1, 1], [1, -1]]
    assert found.flips.tolist() == [1, 1, 2]
    tied = qn.BinaryNetwork(
        qn.Topology.from_arcs([(0, 1), (0, 2)], inputs=1, outputs=2), [1, 1], [1, 1]
    )
    assert tied.robustness([[1], [-1]], reading="largest").classes.tolist() == [[1, -1], [1, -1]]


@pytest.mark.parametrize("reading", READINGS)
def test_a_network_of_one_class_has_no_witness(reading: Reading) -> None:
    topology = qn.Topology.from_arcs([(0, 2), (0, 2)], inputs=2, outputs=1)
    network = qn.BinaryNetwork(topology, [1, -1], [1])  # parallel arcs that cancel out
    found = network.robustness([[1, 1], [-1, 1]], reading=reading)
    assert found.flips.tolist() == found.bound.tolist() == found.lower_bound.tolist() == [3, 3]
    assert found.is_exact.all()
    assert not found.is_found.any()
    assert np.array_equal(found.adversarial_inputs, found.input_spins)
    assert "none" in str(found)


def test_a_network_without_inputs_has_one_class() -> None:
    topology = qn.Topology.from_arcs([(0, 1)], inputs=0, outputs=1)
    found = qn.BinaryNetwork(topology, [1], [1, -1]).robustness(np.zeros((2, 0)))
    assert found.flips.tolist() == found.bound.tolist() == [1, 1]


def hard_network() -> tuple[qn.BinaryNetwork, Any]:
    """A majority of neurons that each need many flips: bounds and witnesses leave a gap."""
    generator = np.random.default_rng(0)
    hidden = generator.choice([-1, 1], 21 * 40, p=[0.3, 0.7])
    weights = np.concatenate([hidden, np.ones(21)])
    network = qn.BinaryNetwork(qn.Topology.dense(40, 21, 1), weights, np.ones(22))
    return network, generator.choice([-1, 1], (5, 40), p=[0.05, 0.95])


def test_the_time_limit_is_shared_by_all_examples() -> None:
    pytest.importorskip("ortools")
    network, inputs = hard_network()
    start = time.perf_counter()
    found = network.robustness(inputs, time_limit=0.5)
    assert time.perf_counter() - start < 5
    assert (found.bound <= found.flips).all()
    assert not found.is_exact.all()
    assert found.notice == f"the time was up before {(~found.is_exact).sum()} examples were exact"
    hurried = network.robustness(inputs, time_limit=1e-9)
    assert np.array_equal(hurried.lower_bound, found.lower_bound)
    assert np.array_equal(hurried.bound, found.lower_bound)
    assert (hurried.flips == 41).all()


def test_ctrl_c_keeps_what_is_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ortools")
    network, inputs = hard_network()
    cheap = network.robustness(inputs, exact=False)
    open_rows = np.flatnonzero(~cheap.is_exact)
    assert len(open_rows) >= 3
    count = 0

    def improve(self: FlipModel, row: Any, bound: int, enough: int, **options: Any) -> Proved:
        nonlocal count
        count += 1
        return Proved(None, enough, count == 2)

    monkeypatch.setattr(FlipModel, "improve", improve)
    found = network.robustness(inputs)
    assert np.flatnonzero(found.is_exact & ~cheap.is_exact).tolist() == open_rows[:2].tolist()
    assert np.array_equal(found.flips, cheap.flips)
    assert found.notice.startswith("interrupted")


def test_without_ortools_there_are_bounds_and_a_notice(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    network, inputs = hard_network()
    cheap = network.robustness(inputs, exact=False)
    assert cheap.notice == ""
    monkeypatch.setitem(sys.modules, "ortools.sat.python", None)
    with caplog.at_level(logging.WARNING):
        found = network.robustness(inputs)
    assert np.array_equal(found.flips, cheap.flips)
    assert np.array_equal(found.bound, cheap.lower_bound)
    assert "pip install 'qubonn[exact]'" in found.notice
    assert found.notice in caplog.text
    caplog.clear()
    settled = qn.BinaryNetwork(qn.Topology.dense(3, 1), [1, 1, 1], [1]).robustness([[1, 1, 1]])
    assert (settled.flips.tolist(), settled.notice, caplog.text) == ([2], "", "")


def test_the_same_seed_gives_the_same_result() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(15, 9, 9, 2), seed=0)
    inputs = np.random.default_rng(0).choice([-1, 1], (10, 15))
    found, again = network.robustness(inputs, seed=4), network.robustness(inputs, seed=4)
    assert np.array_equal(found.adversarial_inputs, again.adversarial_inputs)
    assert np.array_equal(found.flips, again.flips)


def test_the_result_is_read_only_and_shows_its_numbers() -> None:
    network = qn.BinaryNetwork(qn.Topology.dense(5, 1), [1] * 5, [1])
    inputs = [[1.0, 1, 1, 1, 1], [1.0, 1, 1, -1, -1], [1.0, 1, 1, 1, 0.5]]
    found = network.robustness(inputs)
    assert repr(found).startswith("Robustness(3 examples: flips 1 to 3, mean 2.33; 3 of 3 exact, ")
    assert str(found).splitlines()[:3] == ["flips  examples", "    1         1", "    3         2"]
    assert len(found) == 3
    assert found.mean_flips == pytest.approx(7 / 3)
    with pytest.raises(ValueError, match="read-only"):
        found.flips[0] = 0


def test_bounds_that_differ_are_both_shown() -> None:
    network, inputs = hard_network()
    found = network.robustness(inputs, exact=False)
    means = f"mean between {found.bound.mean():.2f} and {found.flips.mean():.2f}; "
    assert means in repr(found)


def test_wrong_input_is_refused() -> None:
    cyclic = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    with pytest.raises(
        TopologyError, match="robustness needs a network without cycles; arc 2 -> 1"
    ):
        qn.BinaryNetwork.random(cyclic, seed=0).robustness([[1]])
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(ShapeError, match="inputs must have 2 columns"):
        network.robustness([[1]])
    with pytest.raises(AlphabetError, match="finite"):
        network.robustness([[1, float("nan")]])
    with pytest.raises(RangeError, match="reading must be 'signs' or 'largest'; got 'best'"):
        network.robustness([[1, 1]], reading="best")  # type: ignore[arg-type]
    with pytest.raises(RangeError, match="time_limit must be a positive number of seconds"):
        network.robustness([[1, 1]], time_limit=0)
    with pytest.raises(RangeError, match="worker_count must be at least 1"):
        network.robustness([[1, 1]], worker_count=0)
    with pytest.raises(RangeError, match="seed must be at least 0"):
        network.robustness([[1, 1]], seed=-1)
