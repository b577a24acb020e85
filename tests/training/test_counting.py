"""Counts of feasible networks and largest margins, against all networks one by one."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from qubonn.errors import RangeError, TopologyError
from qubonn.training.counting import FeasibleCount, count_feasible
from reference import all_networks, is_feasible

SHARED = [
    (0, 3, 0),
    (1, 3, 1),
    (1, 4, 0),
    (2, 4, 1),
    (3, 5, 2),
    (4, 5, 3),
]  # a filter of two weights
UNEVEN = [(0, 3), (1, 3), (1, 3), (2, 4), (3, 5), (4, 5), (4, 5)]  # parallel arcs, other sources
TOPOLOGIES = [
    qn.Topology.dense(3, 2, 1),
    qn.Topology.dense(2, 2, 2),
    qn.Topology.dense(2, 3, 1),
    qn.Topology.dense(2, 1, 1, weight_levels=3, threshold_levels=3),
    qn.Topology.from_arcs(SHARED, inputs=3, outputs=1),
    qn.Topology.from_arcs(UNEVEN, inputs=3, outputs=1),
]


def one_by_one(problem: qn.TrainingProblem) -> FeasibleCount:
    """Return the count by certificates of all networks."""
    topology, found = problem.topology, []
    size = topology.weight_count + topology.neuron_count
    for spins in product((-1, 1), repeat=size):
        weights, biases = np.split(np.array(spins, dtype=np.int8), [topology.weight_count])
        network = qn.BinaryNetwork(topology, weights, biases)
        if (network.predict_outputs(problem.input_spins) == problem.output_spins).all():
            found.append(int(network.margins(problem.input_spins).s2))
    return FeasibleCount(len(found), max(found, default=None))


@settings(deadline=None, max_examples=12)
@given(
    number=st.integers(0, len(TOPOLOGIES) - 1), seed=st.integers(0, 999), count=st.integers(1, 4)
)
def test_all_networks_are_counted_once(number: int, seed: int, count: int) -> None:
    topology, generator = TOPOLOGIES[number], np.random.default_rng(seed)
    inputs = generator.choice([-1, 1], (count, topology.column_count))
    outputs = generator.choice([-1, 1], (count, topology.output_count))
    problem = qn.TrainingProblem(topology, inputs, outputs)
    assert count_feasible(problem) == one_by_one(problem)


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (8, FeasibleCount(0, None)),
        (9, FeasibleCount(0, None)),
        (10, FeasibleCount(17_223_094_848_457_814_782_464, 150)),
        (12, FeasibleCount(3_160_076_942_665_875_276_351_687_809_539_033_009_920, 262)),
    ],
)
def test_the_paper_s_dense_networks(number: int, expected: FeasibleCount) -> None:
    letters = qn.datasets.letters(seed=0)
    topology = qn.paper.topology(number)
    problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
    assert count_feasible(problem) == expected


@pytest.mark.parametrize(
    "topology",
    [
        qn.Topology.dense(2, 2, 2, 1),
        qn.Topology.from_arcs([(0, 1), (0, 2), (1, 2)], inputs=1, outputs=1),
        qn.Topology.from_arcs([(0, 1, 0), (1, 2, 1), (1, 3, 1)], inputs=1, outputs=2),
    ],
)
def test_other_networks_are_refused(topology: qn.Topology) -> None:
    problem = qn.TrainingProblem(
        topology, [[1] * topology.column_count], [[1] * topology.output_count]
    )
    with pytest.raises(TopologyError, match="networks to be counted"):
        count_feasible(problem)


@pytest.mark.parametrize("sizes", [(70, 1, 1), (2, 20, 1)])
def test_too_many_parameters_are_refused(sizes: tuple[int, ...]) -> None:
    problem = qn.TrainingProblem(qn.Topology.dense(*sizes), [[1] * sizes[0]], [[1]])
    with pytest.raises(RangeError, match="parameters to be counted"):
        count_feasible(problem)


def test_too_many_choices_are_refused() -> None:
    inputs = np.random.default_rng(0).choice([-1, 1], (10, 12))
    problem = qn.TrainingProblem(qn.Topology.dense(12, 6, 1), inputs, np.ones((10, 1)))
    with pytest.raises(RangeError, match="choices of signs"):
        count_feasible(problem)


@pytest.mark.parametrize("seed", range(12))
def test_known_weights_are_not_counted_as_choices(seed: int) -> None:
    generator = np.random.default_rng(seed)
    topology = replace(
        qn.Topology.dense(2, 2, 1, threshold_levels=[2, 3]),
        known_weights=generator.choice([0, 0, -1, 1], 7),
        known_biases=generator.choice([0, 0, -1, 1], 3),
    )
    inputs, outputs = [[-1, 1], [1, -1], [1, 1]], [[-1], [1], [1]]
    problem = qn.TrainingProblem(topology, inputs, outputs)
    fitting = [net for net in all_networks(topology) if is_feasible(problem, net)]
    largest = max((net.margins(inputs).s2 for net in fitting), default=None)
    assert count_feasible(problem) == FeasibleCount(len(fitting), largest)
