"""Deep networks layer by layer: the stages, what each reads, and how a run ends."""

import time
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from engines.forward_twin import slow_energy
from qubonn.engines import ForwardAnnealing, GrowingBatches, InputNoise, InputShifts
from qubonn.engines.layerwise import Growth, grown, stages_of
from qubonn.engines.sweep_data import ShiftedActivations
from qubonn.errors import RangeError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Progress, Stop, Watch
from qubonn.topology import Topology

ENGINE = ForwardAnnealing(
    replica_count=1, sweep_count=5, reading="largest", softness=0.8, credit="layers", thread_count=1
)
NOTATIONS = [
    "fc(9) + fc(7) + fc(5)",
    "conv(3x3x2) + fc(6)",
    "conv(3x3x2) + pool(2x2) + fc(6)",
    "conv(2x2x2) + pool(2x2) + fc(6)",  # which leaves out nodes at the edge
    "pool(2x2) + conv(2x2x3) + fc(4)",
    "fc(6, levels=3, thresholds=5) + fc(5, thresholds=3) + out(levels=3)",
    "fc(8, known=3) + fc(6) + fc(5)",
]


def one_hot(topology: Topology, count: int = 60, **strengths: Any) -> TrainingProblem:
    generator = np.random.default_rng(0)
    classes = np.arange(count) % topology.output_count
    means = generator.normal(size=(topology.output_count, topology.column_count))
    inputs = means[classes] + generator.normal(size=(count, topology.column_count))
    wanted = 2 * np.eye(topology.output_count)[classes] - 1
    return TrainingProblem(topology, inputs, wanted, **strengths)


def of_notation(notation: str) -> Topology:
    return Topology.parse(notation, inputs=(6, 6), outputs=3)


def test_a_stage_is_a_layer_with_outputs_of_its_own() -> None:
    first, second, last = stages_of(Topology.dense(9, 7, 6, 5, 2))
    assert (first.topology.column_count, first.topology.hidden_count) == (9, 7)
    assert (second.topology.column_count, second.topology.hidden_count) == (7, 6)
    assert (last.topology.column_count, last.topology.hidden_count) == (6, 5)
    assert {stage.topology.output_count for stage in (first, second, last)} == {2}
    assert first.topology.weight_count == 9 * 7 + 7 * 2


@pytest.mark.parametrize("notation", NOTATIONS)
def test_stages_have_every_parameter_once(notation: str) -> None:
    topology = of_notation(notation)
    stages = stages_of(topology)
    weights, neurons = (
        np.sort(np.concatenate([getattr(stage, name) for stage in stages]))
        for name in ("weights", "neurons")
    )
    assert weights.tolist() == list(range(topology.weight_count))
    assert neurons.tolist() == list(range(topology.neuron_count))


@pytest.mark.parametrize("notation", NOTATIONS)
def test_layers_one_after_the_other_are_the_network(notation: str) -> None:
    topology = of_notation(notation)
    network = BinaryNetwork.random(topology, seed=1)
    inputs = np.random.default_rng(2).choice([-1, 1], size=(50, topology.column_count))
    spins = inputs
    for stage in stages_of(topology):
        own = network.weight_spins[stage.weights], network.bias_spins[stage.neurons]
        spins = BinaryNetwork(stage.layers, *own).predict_outputs(spins)
    assert (spins == network.predict_outputs(inputs)).all()


def test_pools_belong_to_the_layer_before_and_layers_without_free_weights_do_not_stand_alone() -> (
    None
):
    stages = stages_of(of_notation("conv(3x3x2) + pool(2x2) + fc(6)"))
    assert [stage.topology.hidden_count for stage in stages] == [32 + 8, 6]
    assert len(stages_of(of_notation("pool(2x2) + fc(6)"))) == 1


@pytest.mark.parametrize(
    "arcs",
    [
        [(0, 2), (1, 2), (2, 3), (3, 4), (0, 4)],
        [(0, 2), (1, 2), (2, 3), (2, 4), (3, 4)],
        [(0, 2), (2, 3), (1, 4)],
        [(0, 2, 0), (1, 2, 1), (2, 3, 0), (3, 4, 2)],
    ],
    ids=["input to output", "skip", "output among the hidden", "weight of two layers"],
)
def test_networks_without_layers_have_no_stages(arcs: list[tuple[int, ...]]) -> None:
    assert stages_of(Topology.from_arcs(arcs, inputs=2, outputs=1)) == ()


def test_networks_without_layers_are_trained_as_with_auto() -> None:
    arcs = [(0, 2), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4), (3, 5), (0, 5)]
    problem = one_hot(Topology.from_arcs(arcs, inputs=2, outputs=2))
    of_layers, of_auto = (
        replace(ENGINE, credit=credit).solve(problem).network() for credit in ("layers", "auto")
    )
    assert of_layers == of_auto


def test_initial_networks_are_trained_as_with_auto() -> None:
    problem = one_hot(Topology.dense(12, 6, 5, 3))
    start = [BinaryNetwork.random(problem.topology, seed=3)]
    found = [
        replace(ENGINE, credit=credit).solve(problem, initial_networks=start).network()
        for credit in ("layers", "auto")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("notation", NOTATIONS)
def test_a_stage_reads_the_activations_of_the_layers_before(notation: str) -> None:
    topology = of_notation(notation)
    problem = one_hot(topology)
    growth = Growth(problem, ENGINE, seed=4)
    growth.grow(Watch(), 1.0, None)
    network = growth.network()
    spins = network.forward(problem.input_spins).activation_spins
    last = stages_of(topology)[-1]
    read = np.unique(topology.source_of[np.isin(topology.weight_of, last.weights)])
    read = read[(read >= topology.input_count) & (read < last.neurons.min() + topology.input_count)]
    assert (growth.spins == spins[:, read]).all()
    assert (topology.known_weights * network.weight_spins >= 0).all()


def test_the_energy_is_that_of_the_whole_network() -> None:
    problem = one_hot(Topology.dense(12, 8, 6, 3), margin_strength=0.25)
    found = ENGINE.solve(problem, seed=5)
    assert found.energies[0] == slow_energy(problem, ENGINE, found.network())


def test_fields_pull_each_layer_at_its_own_weights() -> None:
    topology = Topology.dense(12, 8, 6, 3)
    wanted = BinaryNetwork.random(topology, seed=6)
    field = Field(1e3 * wanted.weight_spins, 1e3 * wanted.bias_spins)
    assert ENGINE.solve(one_hot(topology, field=field)).network() == wanted


def test_later_layers_are_softer_and_targets_follow_roots_of_arcs() -> None:
    growth = Growth(one_hot(Topology.dense(12, 64, 16, 3)), replace(ENGINE, target_margin=8), 0)
    first, last = growth._settings_of(0), growth._settings_of(1)
    assert (first.softness, first.target_margin) == (0.8, 16)
    assert (last.softness, last.target_margin) == (pytest.approx(0.8 * 4 / 3), 12)


def test_seeds_and_replicas_repeat() -> None:
    problem, several = one_hot(Topology.dense(12, 8, 6, 3)), replace(ENGINE, replica_count=3)
    found, again = (several.solve(problem, seed=7) for _ in range(2))
    assert len(found) == 3
    assert (found.weight_spins == again.weight_spins).all()
    assert found.energies.tolist() == sorted(found.energies)
    assert not (found.weight_spins[0] == found.weight_spins[1]).all()


@pytest.mark.parametrize("thread_count", [1, 2, 3])
def test_the_number_of_threads_does_not_matter(thread_count: int) -> None:
    problem = one_hot(Topology.dense(20, 16, 16, 3), count=300)
    engine = replace(ENGINE, neurons_at_once=4)
    one, several = (
        replace(engine, thread_count=count).solve(problem).network() for count in (1, thread_count)
    )
    assert one == several


def test_shifted_copies_run_through_the_layers_below() -> None:
    images = np.random.default_rng(8).choice(np.array([-1, 1], np.int8), size=(20, 36))
    shifts = InputShifts(shape=(6, 6))
    layers = tuple(
        BinaryNetwork.random(Topology.dense(*sizes), seed=1) for sizes in [(36, 8), (8, 5)]
    )
    above = ShiftedActivations(shape=(6, 6), images=images, layers=layers)
    numbers = np.array([0, 25, 179])
    wanted = layers[1].predict_outputs(layers[0].predict_outputs(shifts.copies(images, numbers)))
    assert (above.copies(np.empty((20, 5), np.int8), numbers) == wanted).all()


@pytest.mark.parametrize("batches", [None, GrowingBatches(first=20, last=200)])
def test_all_layers_see_shifted_copies(batches: GrowingBatches | None) -> None:
    problem = one_hot(of_notation("fc(8) + fc(6)"))
    engine = replace(ENGINE, noise=InputShifts(shape=(6, 6)), batches=batches)
    seen: list[float] = []
    found = engine.solve(problem, report=lambda step: seen.append(step.part))
    assert found.info["sweeps"] == 10
    assert seen == sorted(seen)
    assert seen[-1] == pytest.approx(1)


def test_noise_that_changes_in_each_sweep_is_refused() -> None:
    with pytest.raises(RangeError, match="credit='layers' needs noise=None or InputShifts"):
        replace(ENGINE, noise=InputNoise(inverted=0.1)).solve(one_hot(Topology.dense(9, 4, 4, 2)))


def test_a_run_that_is_stopped_completes_the_network() -> None:
    problem, long = one_hot(Topology.dense(12, 8, 6, 3)), replace(ENGINE, sweep_count=10**5)
    found = long.solve(problem, report=lambda step: step.part > 0)
    assert (found.stop, len(found)) == (Stop.INTERRUPTED, 1)
    assert found.network().topology == problem.topology


def test_ctrl_c_between_two_layers_completes_the_network(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = one_hot(Topology.dense(12, 8, 6, 3))
    pressed: list[bool] = []
    predict = BinaryNetwork.predict_outputs

    def interrupted(network: BinaryNetwork, inputs: Any) -> Any:
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        return predict(network, inputs)

    monkeypatch.setattr(BinaryNetwork, "predict_outputs", interrupted)
    networks, stop, _ = grown(problem, ENGINE, 0, Watch(), None)
    assert (len(networks), stop) == (1, Stop.INTERRUPTED)


def test_layers_share_the_time() -> None:
    problem, long = one_hot(Topology.dense(12, 8, 6, 3)), replace(ENGINE, sweep_count=10**5)
    long.solve(problem, time_limit=0.01)  # compiles
    start, parts = time.perf_counter(), []

    def report(step: Progress) -> None:
        parts.append(step.part)

    found = long.solve(problem, time_limit=0.6, report=report)
    assert found.stop is Stop.TIME_LIMIT
    assert 0.5 < time.perf_counter() - start < 2
    sizes = np.array([8 * 12 + 3 * 8, 6 * 8 + 3 * 6])
    assert max(parts) > sizes[0] / sizes.sum()


def test_layers_without_time_are_trained_on_a_few_examples() -> None:
    problem = one_hot(Topology.dense(12, 16, 16, 3), count=600)
    found = replace(ENGINE, sweep_count=10**5).solve(problem, time_limit=1e-6)
    votes = found.network().pre_activations(problem.input_spins)[:, -3:]
    right = votes.argmax(axis=1) == problem.output_spins.argmax(axis=1)
    assert found.stop is Stop.TIME_LIMIT
    assert right.mean() > 0.7


def test_depth_learns_what_width_learns() -> None:
    from sklearn.datasets import load_digits

    images, classes = load_digits(return_X_y=True)
    wanted = 2 * np.eye(10, dtype=np.int8)[classes] - 1
    shares = []
    for sizes in ((64,), (64, 64, 64)):
        topology = Topology.dense(64, *sizes, 10)
        problem = TrainingProblem(topology, images[:1000] - 7.5, wanted[:1000])
        engine = replace(ENGINE, sweep_count=20, hottest=0.03, coldest=0.3)
        network = engine.solve(problem, seed=0).network()
        votes = network.pre_activations(images[1000:] - 7.5)[:, -10:]
        shares.append((votes.argmax(axis=1) == classes[1000:]).mean())
    assert shares[0] > 0.8
    assert shares[1] > shares[0] - 0.03
