from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import qubonn as qn
from network.random_networks import networks, random_inputs, slow_magnitudes
from qubonn.errors import RangeError, ShapeError, TopologyError


@settings(max_examples=60, deadline=None)
@given(networks(is_acyclic=True), st.integers(0, 2**32), st.integers(1, 5))
def test_every_number_equals_a_count_by_hand(
    network: qn.BinaryNetwork, seed: int, example_count: int
) -> None:
    inputs = random_inputs(network, example_count, seed)
    shape = (example_count, network.topology.output_count)
    outputs = np.random.default_rng(seed).choice([-1, 1], shape)
    found = network.summary(inputs, outputs)
    topology, size = network.topology, dict(found.rows())
    assert found.topology == topology
    names = ("inputs", "hidden", "outputs")
    node_count = topology.node_count - topology.has_constant
    assert sum(int(size[name]) for name in names) == node_count
    assert int(size["arcs"]) == len(topology.source_of)
    assert int(size["weights"]) == len(set(topology.weight_of.tolist()))
    assert int(size["weights"]) == len(network.weight_spins)
    assert int(size["biases"]) == topology.node_count - topology.input_count
    assert int(size["biases"]) == len(network.bias_spins)
    assert found.level_count == longest_path(topology)
    magnitudes = [slow_magnitudes(network, row) for row in inputs]
    every = [value for row in magnitudes for value in row.values()]
    assert found.examples == example_count
    assert found.s1 == sum(min(row[j] for row in magnitudes) for j in magnitudes[0])
    assert found.s2 == sum(every)
    assert found.mean_margin == pytest.approx(np.mean(every))
    assert found.output_accuracies is not None
    predicted = network.predict_outputs(inputs).tolist()
    right = [row == wanted for row, wanted in zip(predicted, outputs.tolist(), strict=True)]
    assert found.accuracy == pytest.approx(sum(right) / len(right))
    for o, accuracy in enumerate(found.output_accuracies):
        right = [row[o] == wanted[o] for row, wanted in zip(predicted, outputs, strict=True)]
        assert accuracy == pytest.approx(sum(right) / len(right))


def longest_path(topology: qn.Topology) -> int:
    """Neurons on the longest path, by walking down arc by arc."""
    depth = dict.fromkeys(range(topology.node_count), 1)
    depth |= dict.fromkeys(topology.inputs, 0)
    arcs = list(zip(topology.source_of.tolist(), topology.target_of.tolist(), strict=True))
    for _, (source, target) in product(range(topology.node_count), arcs):
        depth[target] = max(depth[target], depth[source] + 1)
    return max(depth.values())


def test_the_text_is_aligned_and_short() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(3, 2, 2), seed=0)
    outputs = network.predict_outputs([[1, 1, 1], [-1, 1, 1]])
    outputs[0, 1] *= -1
    found = network.summary([[1, 1, 1], [-1, 1, 1]], outputs)
    lines = str(found).splitlines()
    assert lines[0] == "BinaryNetwork 3 -> 2 -> 2"
    assert lines[1] == "inputs                 3"
    assert lines[8] == "bytes on a device     80"
    names = "accuracy         ", "  output 0       ", "  output 1       "
    assert lines[-3:] == [f"{names[0]}  0.500", f"{names[1]}  1.000", f"{names[2]}  0.500"]
    assert len({len(line) for line in lines[1:]}) == 1
    assert repr(found) == str(found)


def test_of_many_outputs_the_worst_and_the_best_are_shown() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(3, 13), seed=0)
    outputs = network.predict_outputs([[1, 1, 1], [-1, 1, 1]])
    outputs[0, 4] *= -1
    assert str(network.summary([[1, 1, 1], [-1, 1, 1]], outputs)).splitlines()[-3:] == [
        "accuracy           0.500",
        "  worst output     0.500",
        "  best output      1.000",
    ]


def test_a_notebook_gets_an_escaped_table() -> None:
    html = qn.BinaryNetwork.random(qn.Topology.dense(3, 2), seed=0).summary()._repr_html_()
    assert ">BinaryNetwork 3 -&gt; 2</div>" in html
    assert html.count("<tr") == html.count("</tr>") == 8
    assert "->" not in html


def test_one_hot_outputs_are_read_by_the_largest() -> None:
    topology = qn.Topology.from_arcs([(0, 1), (0, 2)], inputs=1, outputs=2)
    network = qn.BinaryNetwork(topology, [1, 1], [1, -1])  # sums (2, 0), then (0, -2)
    wanted = [[1, -1], [1, -1]]
    assert network.summary([[1], [-1]], wanted).accuracy == 0.5
    assert network.summary([[1], [-1]], wanted, reading="largest").accuracy == 1.0
    with pytest.raises(RangeError, match="reading must be"):
        network.summary(reading="best")  # type: ignore[arg-type]


def test_cyclic_networks_have_counts_but_no_margins() -> None:
    topology = qn.Topology.from_arcs([(0, 1), (1, 2), (2, 1)], inputs=1, outputs=1)
    network = qn.BinaryNetwork.random(topology, seed=0)
    found = network.summary()
    assert found.level_count is None
    assert found.byte_count is None
    assert "bytes" not in str(found)
    assert "levels   cyclic" in str(found)
    assert str(found).startswith("BinaryNetwork\n")
    with pytest.raises(TopologyError, match="closes a cycle"):
        network.summary([[1]])


def test_data_that_does_not_fit_is_refused() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(RangeError, match="got outputs alone"):
        network.summary(outputs=[[1]])
    with pytest.raises(ShapeError, match="outputs must have 1 rows"):
        network.summary([[1, 1]], [[1], [1]])


# ---- committees ----


def committee_and_data(vote: Any, count: int = 5) -> tuple[qn.Committee, Any, Any]:
    topology = qn.Topology.dense(6, 4, 3)
    members = [qn.BinaryNetwork.random(topology, seed=seed) for seed in range(count)]
    generator = np.random.default_rng(0)
    inputs = generator.choice([-1, 1], (30, 6))
    committee = qn.Committee(members, vote)
    outputs = committee.predict_outputs(inputs)
    outputs[::4, 1] *= -1
    return committee, inputs, outputs


@pytest.mark.parametrize("vote", ["signs", "largest"])
def test_every_number_of_a_committee_equals_a_count_by_hand(vote: Any) -> None:
    committee, inputs, outputs = committee_and_data(vote)
    found = committee.summary(inputs, outputs)
    assert (found.member_count, found.reading, found.examples) == (5, vote, 30)
    records, runs, outputs_of = 2 * 12 * 2, 2 * 2, 3 * 2
    assert found.byte_count == records + runs + outputs_of + 5 * 4 * (4 + 3 + 2)
    margins = [member.margins(inputs) for member in committee.members]
    assert found.s1 == pytest.approx(np.mean([margin.s1 for margin in margins]))
    assert found.s2 == pytest.approx(np.mean([margin.s2 for margin in margins]))
    every = np.concatenate([margin.magnitudes.ravel() for margin in margins])
    assert found.mean_margin == pytest.approx(every.mean())
    assert found.accuracy == committee.accuracy(inputs, outputs) == 22 / 30
    answers = [slow_answers(member, inputs, vote) for member in committee.members]
    wanted = [tuple(row) for row in outputs.tolist()]
    right = [np.mean([a == w for a, w in zip(rows, wanted, strict=True)]) for rows in answers]
    assert found.member_accuracies == pytest.approx(right)
    assert found.mean_member_accuracy == pytest.approx(np.mean(right))
    differ = [a != b for x, y in combinations(answers, 2) for a, b in zip(x, y, strict=True)]
    assert found.disagreement == pytest.approx(np.mean(differ))
    assert 0 < np.mean(differ) < 1


def slow_answers(network: qn.BinaryNetwork, inputs: Any, vote: str) -> list[tuple[int, ...]]:
    if vote == "signs":
        return [tuple(row) for row in network.predict_outputs(inputs).tolist()]
    sums = network.pre_activations(inputs)[:, 4:].tolist()
    return [tuple(1 if o == row.index(max(row)) else -1 for o in range(3)) for row in sums]


def test_the_text_shows_members_and_committee_apart() -> None:
    committee, inputs, outputs = committee_and_data("signs")
    lines = str(committee.summary(inputs, outputs)).splitlines()
    assert lines[0] == "Committee of 5, each 6 -> 4 -> 3"
    assert lines[3] == "each member"
    names = [line[:21].rstrip() for line in lines]
    assert names[-6:-3] == ["accuracy, mean member", "accuracy, best member", "accuracy"]
    assert "disagreement" in names
    assert "-&gt;" in committee.summary()._repr_html_()


def test_without_data_nothing_of_a_committee_is_claimed() -> None:
    committee, inputs, _ = committee_and_data("largest", count=1)
    bare, some = committee.summary(), committee.summary(inputs)
    assert (bare.s1, bare.accuracy, bare.mean_member_accuracy) == (None, None, None)
    assert some.s1 is not None
    assert (some.member_accuracies, some.disagreement) == (None, None)
    assert "accuracy" not in str(some)
    with pytest.raises(RangeError, match="got outputs alone"):
        committee.summary(outputs=[[1, 1, 1]])


def test_levels_and_thresholds_are_listed_where_there_are_more_than_two() -> None:
    topology = qn.Topology.dense(9, 4, 2, weight_levels=[3, 2], threshold_levels=5)
    found = qn.BinaryNetwork.random(topology, seed=0).summary()
    size = dict(found.rows())
    assert (size["inputs"], size["arcs"]) == ("9", "98")
    assert (size["weight levels"], size["threshold levels"]) == ("2 to 3", "5")
    records, runs, outputs_of = 2 * 14 * 2, 2 * 2, 2 * 2
    assert found.byte_count == records + runs + outputs_of + 4 * (4 * 2 + 2 + 3 * 2)
    plain = dict(qn.BinaryNetwork.random(qn.Topology.dense(9, 4, 2), seed=0).summary().rows())
    assert not {"weight levels", "threshold levels"} & set(plain)
