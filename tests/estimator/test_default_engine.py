"""Which engine QuboClassifier takes, by the number of examples and the shape of the network."""

from dataclasses import replace

import numpy as np
import pytest

from qubonn.encoding import Reading
from qubonn.engines import ForwardAnnealing, GrowingBatches, InputShifts
from qubonn.estimator.default_engine import _softness_and_lead, engine_for
from qubonn.formulation import TrainingProblem
from qubonn.topology import Topology

MNIST = Topology.dense(784, 64, 10)


def engine(
    topology: Topology,
    example_count: int,
    reading: Reading = "largest",
    is_alone: bool = False,
    copy_count: int = 1,
    noise: InputShifts | None = None,
) -> ForwardAnnealing:
    inputs = np.ones((example_count, topology.input_count), dtype=np.int8)
    wanted = np.tile([1] + [-1] * (topology.output_count - 1), (example_count, 1))
    problem = TrainingProblem(topology, inputs, wanted)
    return engine_for(problem, reading, is_alone=is_alone, copy_count=copy_count, noise=noise)


def test_a_member_is_one_replica_on_one_thread() -> None:
    found = engine(MNIST, 100)
    assert (found.replica_count, found.thread_count, found.sweep_count) == (1, 1, 40)


@pytest.mark.parametrize(
    ("count", "batches"),
    [
        (10_000, None),
        (10_001, GrowingBatches(first=5_000, last=5_000)),
        (20_000, GrowingBatches(first=5_000, last=10_000)),
        (60_000, GrowingBatches(first=5_000, last=30_000)),
    ],
)
def test_more_than_10_000_examples_are_seen_in_batches(
    count: int, batches: GrowingBatches | None
) -> None:
    assert engine(Topology.dense(2, 2, 2), count).batches == batches


def test_outputs_that_are_read_one_by_one_have_no_target_margin() -> None:
    found = engine(MNIST, 100, "signs")
    assert (found.reading, found.target_margin) == ("signs", None)


@pytest.mark.parametrize(("count", "voting", "alone"), [(20, 40, 52), (400, 20, 28)])
def test_a_network_alone_aims_at_larger_leads(count: int, voting: int, alone: int) -> None:
    leads = [engine(MNIST, count, is_alone=is_alone).target_margin for is_alone in (False, True)]
    assert leads == [voting, alone]


@pytest.mark.parametrize(("is_alone", "leads"), [(False, [5.0, 2.5, 1.4]), (True, [6.8, 3.4, 1.4])])
def test_softness_and_lead_follow_the_number_of_examples(
    is_alone: bool, leads: list[float]
) -> None:
    found = [
        _softness_and_lead(count, is_alone=is_alone, is_shifted=False)
        for count in (20, 400, 60_000)
    ]
    assert [round(softness, 2) for softness, _ in found] == [1.65, 0.91, 0.5]
    assert [round(lead, 1) for _, lead in found] == leads


@pytest.mark.parametrize(("count", "sweeps"), [(20, 5), (60, 12), (400, 20)])
def test_few_shifted_images_need_few_sweeps(count: int, sweeps: int) -> None:
    assert engine(MNIST, 9 * count, copy_count=9).sweep_count == sweeps


def test_leads_shrink_with_the_number_of_examples_and_are_even() -> None:
    leads = [engine(MNIST, count).target_margin or 0 for count in (2, 20, 200, 2_000, 10_000)]
    assert leads == sorted(leads, reverse=True)
    assert all(lead % 2 == 0 for lead in leads)
    assert leads[-1] == 12  # 1.4 roots of 64, to the nearest even number


@pytest.mark.parametrize(("hidden", "lead"), [(1, 2), (2, 2), (5, 4), (10, 8)])
def test_leads_are_capped_by_what_small_networks_can_give(hidden: int, lead: int) -> None:
    assert engine(Topology.dense(20, hidden, 3), 5).target_margin == lead


def test_neurons_are_softer_where_examples_are_few() -> None:
    softness = [engine(MNIST, count).softness or 0 for count in (10, 100, 1_000, 10_000)]
    assert softness == sorted(softness, reverse=True)
    assert softness[-1] == 0.5


def test_margins_are_rewarded_up_to_three_quarters_of_a_root_of_the_inputs() -> None:
    assert engine(MNIST, 100).margin_cap == 21
    assert engine(Topology.dense(4, 3, 2), 100).margin_cap == 2


@pytest.mark.parametrize(
    "topology",
    [
        Topology.dense(5, 2),
        Topology.parse("conv(3x3x2)+fc(4)", inputs=(6, 6), outputs=3),
        Topology.parse("conv(2x2)+conv(2x2)", inputs=(5, 5), outputs=3),
    ],
    ids=["no hidden neurons", "convolution and layer", "two convolutions"],
)
@pytest.mark.parametrize("reading", ["signs", "largest"])
def test_networks_of_any_kind_get_an_engine_that_solves(
    topology: Topology, reading: Reading
) -> None:
    found = replace(engine(topology, 12, reading), sweep_count=1)
    inputs = np.random.default_rng(0).normal(size=(12, topology.input_count))
    classes = np.arange(12) % topology.output_count
    wanted = 2 * np.eye(topology.output_count)[classes] - 1
    assert len(found.solve(TrainingProblem(topology, inputs, wanted))) == 1


def test_the_outputs_of_a_convolution_count_by_their_usual_number_of_arcs() -> None:
    topology = Topology.parse("conv(3x3)", inputs=(6, 6), outputs=3)
    found = engine(topology, 2_000)  # 16 arcs into an output, 9 into a hidden neuron
    assert (found.target_margin, found.margin_cap) == (6, 2)


@pytest.mark.parametrize(
    ("count", "is_alone", "quench_sweeps"), [(39, False, 0), (39, True, 5), (40, False, 5)]
)
def test_members_of_few_examples_that_vote_keep_a_little_heat(
    count: int, is_alone: bool, quench_sweeps: int
) -> None:
    assert engine(MNIST, count, is_alone=is_alone).quench_sweeps == quench_sweeps


@pytest.mark.parametrize("is_alone", [False, True])
def test_copies_do_not_count_as_examples_and_ask_for_less(is_alone: bool) -> None:
    plain = engine(MNIST, 100, is_alone=is_alone)
    copied = engine(MNIST, 900, is_alone=is_alone, copy_count=9)
    assert plain.softness is not None
    assert copied.softness == pytest.approx(plain.softness * (1 if is_alone else 0.65))
    assert plain.target_margin is not None
    factor = 0.65 if is_alone else 0.55
    assert copied.target_margin == pytest.approx(factor * plain.target_margin, abs=2)
    assert copied.sweep_count == 20


def test_of_few_images_in_several_places_a_network_alone_is_softer_and_surer() -> None:
    few, more = (engine(MNIST, 9 * count, is_alone=True, copy_count=9) for count in (39, 40))
    assert few.softness is not None
    assert more.softness is not None
    assert few.softness > 1.2 * more.softness
    assert few.target_margin is not None
    assert more.target_margin is not None
    assert few.target_margin > 1.2 * more.target_margin


def test_batches_are_made_of_all_copies() -> None:
    small = Topology.dense(2, 2, 2)
    assert engine(small, 9_999, copy_count=9).batches is None
    assert engine(small, 18_000, copy_count=9).batches == GrowingBatches(first=5_000, last=9_000)


@pytest.mark.parametrize(
    ("hidden", "last", "at_once"),
    [((128,), 54_000, 4), ((32,), 54_000, 2), ((128, 64), 54_000, 4)],
    ids=["wide", "narrow", "deep"],
)
def test_of_many_shifted_images_the_last_sweeps_see_most(
    hidden: tuple[int, ...], last: int, at_once: int
) -> None:
    shifts = InputShifts(shape=(28, 28))
    found = engine(Topology.dense(784, *hidden, 10), 6_000, is_alone=True, noise=shifts)
    assert found.batches == GrowingBatches(first=5_000, last=last)
    assert (found.noise, found.output_softness) == (shifts, 1.0)
    assert found.neurons_at_once == at_once
    assert found.hottest < engine(MNIST, 6_000).hottest


def test_many_shifted_images_whose_outputs_are_signs_have_no_leads() -> None:
    topology = Topology.dense(784, 128, 2)
    found = engine(topology, 6_000, "signs", noise=InputShifts(shape=(28, 28)))
    assert (found.target_margin, found.output_softness) == (None, None)


def test_convolutions_see_a_fifth_of_the_shifted_images() -> None:
    topology = Topology.parse("conv(5x5x2)+fc(32)", inputs=(28, 28), outputs=10)
    found = engine(topology, 6_000, noise=InputShifts(shape=(28, 28)))
    assert found.batches == GrowingBatches(first=5_000, last=10_800)
    assert found.neurons_at_once == 1


SKIP = Topology.from_arcs(  # 784 -> 64 -> 64 -> 10, and the inputs again
    np.concatenate(
        [
            np.stack(np.meshgrid(np.arange(*sources), np.arange(*targets)), axis=-1).reshape(-1, 2)
            for sources, targets in [
                ((0, 784), (784, 848)),
                ((784, 848), (848, 912)),
                ((848, 912), (912, 922)),
                ((0, 1), (912, 922)),
            ]
        ]
    ),
    inputs=784,
    outputs=10,
)


def test_deep_networks_are_trained_layer_by_layer_and_others_by_soft_credit() -> None:
    flat, deep = engine(MNIST, 3_000), engine(Topology.dense(784, 64, 64, 10), 3_000)
    shared = engine(Topology.parse("conv(5x5x2)", inputs=(28, 28), outputs=10), 3_000)
    pooled = engine(Topology.parse("conv(5x5x2)+fc(32)", inputs=(28, 28), outputs=10), 3_000)
    skip = engine(SKIP, 3_000)
    kinds = [one.credit for one in (flat, deep, shared, pooled, skip)]
    assert kinds == ["exact", "layers", "soft", "layers", "soft"]
    softness = [one.softness or 0 for one in (flat, deep, shared)]
    assert softness == sorted(softness)
    assert softness[0] < softness[1] < softness[2]
    assert pooled.softness == shared.softness
    assert flat.target_margin == deep.target_margin
    assert deep.hottest == flat.hottest > skip.hottest == shared.hottest


def test_deep_networks_of_many_examples_are_cooler() -> None:
    few, many = (engine(Topology.dense(20, 64, 64, 3), count) for count in (10_000, 10_001))
    assert many.hottest < few.hottest


@pytest.mark.parametrize(("width", "credit"), [(31, "exact"), (32, "layers")])
def test_narrow_layers_have_exact_credit(width: int, credit: str) -> None:
    found = engine(Topology.dense(20, 64, width, 3), 600)
    assert (found.credit, found.sweep_count) == (credit, 40)
