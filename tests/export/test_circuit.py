"""A circuit computes what the model computes, and leaves out what cannot matter."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import qubonn as qn
from export.models import FittedClassifier, committee, models
from export.test_classifier import CODES
from qubonn.export.circuit import Circuit, Left, Sum, circuit_of
from qubonn.export.model import exported
from qubonn.export.stimuli import scores_of, votes_of
from qubonn.training.calibration import Calibration


def value(one: Sum, nodes: NDArray[Any]) -> NDArray[Any]:
    weights = np.array(one.weights, dtype=np.int64)
    return nodes[:, list(one.sources)].astype(np.int64) @ weights + one.constant


def votes(circuit: Circuit, spins: NDArray[Any]) -> NDArray[Any]:
    """The slow twin: level by level, sum by sum."""
    nodes = spins
    for level in circuit.levels:
        new = [np.where(value(neuron, nodes) > 0, 1, -1) for neuron in level]
        nodes = np.column_stack([nodes, *new])
    return np.column_stack([value(vote, nodes) for vote in circuit.votes])


def random_spins(columns: int, seed: int = 0) -> NDArray[Any]:
    return 2 * np.random.default_rng(seed).integers(2, size=(50, columns)) - 1


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(models(), st.integers(0, 2**32))
def test_votes_are_those_of_the_model(model: Any, seed: int) -> None:
    parts = exported(model)
    spins = random_spins(parts.topology.column_count, seed)
    assert votes(circuit_of(parts), spins).tolist() == votes_of(parts, spins).tolist()


@pytest.mark.parametrize("book", CODES)
@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_evidence_for_codes_is_a_sum_of_neurons(book: qn.CodeBook, size: int) -> None:
    members = committee(qn.Topology.dense(7, 5, book.spin_count), size, seed=size)
    parts = exported(FittedClassifier(members, book))
    spins = np.array(list(itertools.product((-1, 1), repeat=7)))
    wanted = scores_of(parts, votes_of(parts, spins))
    assert votes(circuit_of(parts), spins).tolist() == (2 * wanted).tolist()


def test_pulls_are_constants_of_the_votes() -> None:
    members = committee(qn.Topology.dense(7, 5, 3), 3, "largest")
    calibration = Calibration(0.5, (0.0, -1.0, -0.5))
    book = qn.CodeBook.one_hot(list("abc"))
    parts = exported(FittedClassifier(members, book, calibration_=calibration))
    spins = random_spins(7)
    wanted = scores_of(parts, votes_of(parts, spins))
    assert votes(circuit_of(parts), spins).tolist() == wanted.tolist()
    assert wanted.tolist() != votes_of(parts, spins).tolist()


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(models())
def test_scores_rank_the_classes_as_the_votes_do(model: Any) -> None:
    circuit = circuit_of(exported(model))
    spins = random_spins(circuit.input_count)
    wanted = votes(circuit, spins)
    scores = Circuit(
        circuit.input_count, circuit.levels, circuit.scores, True, True, circuit.left
    ).votes
    nodes = spins
    for level in circuit.levels:
        new = [np.where(value(neuron, nodes) > 0, 1, -1) for neuron in level]
        nodes = np.column_stack([nodes, *new])
    counts = [(value(one, nodes) - one.constant + one.size) // 2 + one.constant for one in scores]
    found = np.column_stack(counts)
    assert (found >= 0).all()
    first, second = (np.sign(m[:, :, None] - m[:, None, :]) for m in (found, wanted))
    assert first.tolist() == second.tolist()


def test_neurons_that_cannot_matter_are_left_out() -> None:
    # 3 and 4 are equal, 5 is their negative but for the bias, 6 is constant, 7 reaches no output
    arcs = [(0, 3), (1, 3), (2, 3), (0, 4), (1, 4), (2, 4), (0, 5), (1, 5), (0, 7), (1, 7), (2, 7)]
    arcs += [(3, 8), (4, 8), (5, 8), (6, 8)]
    topology = qn.Topology.from_arcs(arcs, inputs=3, outputs=1, nodes=9)
    some = qn.BinaryNetwork(topology, [1] * len(arcs), [1] * 6)
    circuit = circuit_of(exported(some))
    assert circuit.left == Left(constant=1, copies=1)
    assert [len(level) for level in circuit.levels] == [2]
    assert circuit.votes == (Sum((3, 4), (2, 1), 2),)


def test_the_negative_of_a_neuron_is_an_inverter() -> None:
    # sums of three spins and no other: f(-x) is the negative of f(x) where no sum is 0
    arcs = [(0, 3), (1, 3), (2, 3), (0, 4), (1, 4), (2, 4), (3, 5), (4, 5)]
    topology = qn.Topology.from_arcs(arcs, inputs=3, outputs=1)
    some = qn.BinaryNetwork(topology, [1, 1, 1, -1, -1, -1, 1, 1], [1, -1, 1])
    circuit = circuit_of(exported(some))
    spins = np.array(list(itertools.product((-1, 1), repeat=3)))
    assert votes(circuit, spins)[:, 0].tolist() == votes_of(exported(some), spins)[:, 0].tolist()


def test_a_neuron_of_one_input_is_a_wire() -> None:
    topology = qn.Topology.from_arcs([(0, 1), (0, 1), (1, 2)], inputs=1, outputs=1)
    some = qn.BinaryNetwork(topology, [-1, -1, 1], [1, -1])
    circuit = circuit_of(exported(some))
    assert circuit.neuron_count == 0
    assert circuit.votes == (Sum((0,), (-1,), -1),)
