"""Which nodes an iteration removes."""

from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.errors import RangeError, TopologyError

TOPOLOGY = qn.Topology.parse("conv(2x2)+fc(3)", inputs=(3, 3), outputs=2)  # 9, 4 + 3, 2 nodes


@pytest.mark.parametrize(("inputs", "hidden"), [(0, 0), (2, 0), (0, 3), (5, 6), (8, 1)])
def test_exactly_as_many_nodes_are_drawn_as_asked_and_never_an_output(
    inputs: int, hidden: int
) -> None:
    dropout = qn.Dropout(dropped_inputs=inputs, dropped_hidden=hidden)
    generator = np.random.default_rng(0)
    for _ in range(50):
        nodes = dropout.draw(TOPOLOGY, generator)
        assert len(set(nodes.tolist())) == len(nodes) == inputs + hidden
        assert (np.diff(nodes) > 0).all()
        assert (nodes < 9).sum() == inputs
        assert (nodes < 16).all()


def test_every_node_of_a_kind_is_dropped_equally_often() -> None:
    dropout = qn.Dropout(dropped_inputs=3, dropped_hidden=2)
    generator = np.random.default_rng(1)
    drawn = np.concatenate([dropout.draw(TOPOLOGY, generator) for _ in range(4000)])
    counts = np.bincount(drawn, minlength=18)
    # standard deviations are 30 and 29: five of them are passed once in 100,000 such tests
    assert np.abs(counts[:9] - 4000 / 3).max() < 150
    assert np.abs(counts[9:16] - 8000 / 7).max() < 150
    assert counts[16:].tolist() == [0, 0]


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dropped_inputs": -1}, "dropped_inputs must be at least 0; got -1"),
        ({"dropped_hidden": 0.2}, "dropped_hidden must be a whole number"),
        ({"iteration_count": -1}, "iteration_count must be at least 0; got -1"),
        ({"learning_rate": -0.1}, "learning_rate must be a finite number, at least 0"),
        ({"violation_decay": 1.5}, "violation_decay must lie in 0 to 1"),
        ({"violation_decay": float("nan")}, "violation_decay must be a finite number"),
        ({"final": "some"}, "final must be 'whole', 'batch' or 'none'; got 'some'"),
        ({"final": "none", "iteration_count": 0}, "iteration_count must be at least 1"),
    ],
)
def test_bad_settings_are_refused(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(RangeError, match=words):
        qn.Dropout(**settings)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"dropped_inputs": 9}, "dropped_inputs must leave at least one of 9 nodes; got 9"),
        ({"dropped_hidden": 7}, "dropped_hidden must leave at least one of 7 nodes; got 7"),
    ],
)
def test_one_input_and_one_hidden_node_must_stay(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(TopologyError, match=words):
        qn.Dropout(**settings).require_fit(TOPOLOGY)


def test_the_default_rate_grows_with_the_batch() -> None:
    assert qn.Dropout().rate_for(4) == 0.04
    assert qn.Dropout(learning_rate=2).rate_for(4) == 2.0
