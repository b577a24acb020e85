from dataclasses import replace
from io import StringIO
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from qubonn.engines import LiftedAnnealing
from qubonn.errors import FileFormatError, RangeError, TopologyError
from qubonn.stopping import Progress
from qubonn.training import BlockDecomposition, one_shot


@pytest.fixture(scope="module")
def letters() -> qn.datasets.Letters:
    return qn.datasets.letters(seed=0)


@pytest.fixture(scope="module")
def problem(letters: qn.datasets.Letters) -> qn.TrainingProblem:
    return qn.TrainingProblem(qn.paper.topology(10), letters.train_inputs, letters.train_outputs)


@pytest.fixture(scope="module")
def result(problem: qn.TrainingProblem) -> qn.TrainingResult:
    return qn.train(problem, seed=1)


def test_auto_says_who_trains_and_why(result: qn.TrainingResult) -> None:
    assert result.solver.startswith("LiftedAnnealing, ")
    assert result.is_feasible
    assert result.violation_count == 0
    assert result.terms.total == 0


def test_networks_are_distinct_and_in_order_of_energy(result: qn.TrainingResult) -> None:
    assert len(set(result.networks)) == len(result.networks) > 100
    assert (np.diff(result.energies) >= 0).all()
    assert result.networks[0] == result.network


@pytest.mark.parametrize(
    "solver",
    [
        qn.SimulatedAnnealing(replica_count=200),
        qn.PopulationAnnealing(replica_count=100),
        LiftedAnnealing(replica_count=16),
        qn.CpSat(),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_any_solver_of_either_view_trains(problem: qn.TrainingProblem, solver: Any) -> None:
    result = qn.train(problem, solver, seed=2, time_limit=60)
    assert result.is_feasible
    assert result.certificate().terms.total == result.energies[0] == 0


def test_the_same_seed_gives_the_same_networks(
    problem: qn.TrainingProblem, result: qn.TrainingResult
) -> None:
    assert qn.train(problem, seed=1).networks == result.networks
    assert qn.train(problem, seed=2).networks != result.networks


@pytest.mark.parametrize("by", ["energy", "margin", "diversity"])
def test_a_committee_is_much_better_than_its_members(
    result: qn.TrainingResult, letters: qn.datasets.Letters, by: Any
) -> None:
    committee = result.committee(25, by=by)
    assert len(committee) == 25
    alone = [
        network.accuracy(letters.test_inputs, letters.test_outputs) for network in committee.members
    ]
    together = committee.accuracy(letters.test_inputs, letters.test_outputs)
    assert together >= 0.9 > np.mean(alone)


def test_all_feasible_replicas_vote_unless_a_size_is_given(result: qn.TrainingResult) -> None:
    feasible = [c.is_feasible for c in result.certificates]
    assert len(result.committee()) == len(result.feasible_networks) == sum(feasible)
    margins = [c.margins.s2 for c in result.certificates if c.is_feasible]
    best = result.committee(1, by="margin").members[0]
    assert best.margins(result.problem.input_spins).s2 == max(margins)


def test_ties_of_a_committee_go_to_minus_one() -> None:
    topology = qn.Topology.dense(1, 1)
    plus = qn.BinaryNetwork(topology, [1], [1])
    minus = qn.BinaryNetwork(topology, [-1], [-1])
    assert qn.Committee([plus, minus]).predict_outputs([[1.0]]).tolist() == [[-1]]


def test_sums_of_pre_activations_pick_one_output() -> None:
    network = qn.BinaryNetwork.random(qn.Topology.dense(6, 5, 3), seed=0)
    other = qn.BinaryNetwork.random(network.topology, seed=1)
    inputs = np.random.default_rng(0).normal(size=(50, 6))
    sums = network.pre_activations(inputs)[:, 5:] + other.pre_activations(inputs)[:, 5:]
    predicted = qn.Committee([network, other], reading="largest").predict_outputs(inputs)
    assert np.array_equal(predicted.argmax(axis=1), sums.argmax(axis=1))
    assert ((predicted == 1).sum(axis=1) == 1).all()


def test_a_committee_is_saved_and_loaded(result: qn.TrainingResult, tmp_path: Path) -> None:
    committee = result.committee(7)
    committee.save(tmp_path / "c.qubonn")
    assert qn.load(tmp_path / "c.qubonn") == committee
    result.network.save(tmp_path / "n.qubonn")
    assert qn.load(tmp_path / "n.qubonn") == result.network
    data = (tmp_path / "c.qubonn").read_bytes()
    for cut in (10, len(data) // 2, len(data) - 3):
        (tmp_path / "bad.qubonn").write_bytes(data[:cut])
        with pytest.raises(FileFormatError, match=r"bad\.qubonn"):
            qn.load(tmp_path / "bad.qubonn")


def test_cyclic_networks_are_trained_and_certified_with_their_activations() -> None:
    arcs = [(0, 2), (1, 3), (2, 3), (3, 4), (4, 2), (4, 5), (3, 5), (5, 2)]
    topology = qn.Topology.from_arcs(arcs, inputs=2, outputs=1)
    problem = qn.TrainingProblem(topology, [[1, 1], [-1, 1], [1, -1]], [[1], [-1], [1]])
    result = qn.train(problem)
    assert result.is_feasible == (qn.CpSat().find_feasible(problem).network is not None)
    assert result.certificate().terms.total == result.energies[0]


def test_progress_is_shown_or_handed_over(problem: qn.TrainingProblem) -> None:
    seen: list[float] = []
    qn.train(problem, progress=lambda step: seen.append(step.part))
    assert seen[-1] == 1
    assert qn.train(problem, progress=True).is_feasible


def test_progress_in_a_log_is_plain_lines(
    problem: qn.TrainingProblem, capfd: pytest.CaptureFixture[str]
) -> None:
    qn.train(problem, progress=True)
    out, errors = capfd.readouterr()
    assert out == ""
    assert all(line.isprintable() for line in errors.splitlines())
    first, *_, last = errors.splitlines()
    assert first.startswith("LiftedAnnealing")
    assert first.endswith(" ...")
    assert ": done, energy 0, " in last


def test_lines_of_progress_become_rarer(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    clock = iter([0.0, *range(1, 301), 300.5])
    monkeypatch.setattr("time.perf_counter", lambda: float(next(clock)))
    with one_shot.reporting(True, "working") as report:
        assert report is not None
        for second in range(1, 301):
            report(Progress(second / 300, nan if second < 8 else 5.0, 0.0))
    lines = capsys.readouterr().err.splitlines()
    assert lines[:5] == [
        "working ...",
        "working: 1%, 2 s",
        "working: 1%, 4 s",
        "working: 3%, energy 5, 8 s",
        "working: 5%, energy 5, 16 s",
    ]
    assert [line.split(", ")[-1] for line in lines[5:]] == [
        *("32 s", "64 s", "124 s", "184 s", "244 s", "300.5 s")
    ]


def test_progress_in_a_notebook_is_lines_on_standard_output(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    with one_shot.reporting(True, "working"):
        pass
    out, errors = capsys.readouterr()
    assert out.startswith("working ...\nworking: done, ")
    assert errors == ""


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", terminal := Terminal())
    monkeypatch.setenv("TERM", "xterm")
    with one_shot.reporting(True, "working") as report:
        assert report is not None
        report(Progress(0.5, 3.0, 0.0))
    assert "50 %, energy 3" in terminal.getvalue()
    monkeypatch.setattr("sys.stderr", dumb := Terminal())
    monkeypatch.setenv("TERM", "dumb")
    with one_shot.reporting(True, "working"):
        pass
    assert dumb.getvalue().startswith("working ...\n")


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("solver", ["fastest", 3, None])
def test_an_unknown_solver_is_refused(problem: qn.TrainingProblem, solver: object) -> None:
    with pytest.raises(RangeError, match="solver must be 'auto', an engine or a sampler"):
        qn.train(problem, solver)


def test_bad_committees_are_refused(result: qn.TrainingResult) -> None:
    with pytest.raises(RangeError, match="at least one network"):
        qn.Committee([])
    other = qn.BinaryNetwork.random(qn.Topology.dense(2, 1), seed=0)
    with pytest.raises(TopologyError, match="one topology"):
        qn.Committee([result.network, other])
    with pytest.raises(RangeError, match="by must be"):
        result.committee(3, by="luck")  # type: ignore[arg-type]


def test_large_networks_without_cycles_go_to_the_forward_engine() -> None:
    generator = np.random.default_rng(0)
    classes = generator.integers(0, 3, 150)
    prototypes = generator.choice([-1, 1], (3, 30))
    noise = generator.choice([-1, 1], (150, 30), p=[0.1, 0.9])
    inputs, outputs = prototypes[classes] * noise, qn.CodeBook.one_hot([0, 1, 2]).encode(classes)
    problem = qn.TrainingProblem(qn.Topology.dense(30, 20, 3), inputs, outputs)
    result = qn.train(problem, seed=0)
    assert result.solver.startswith("ForwardAnnealing, no cycles")
    assert result.solver.endswith("the largest output wins")
    committee = result.committee(reading="largest")
    assert committee.accuracy(inputs, outputs) > 0.95


def test_cp_sat_refuses_weights_of_examples() -> None:
    problem = qn.TrainingProblem(
        qn.Topology.dense(1, 1), [[1], [-1]], [[1], [-1]], example_weights=[1, 2]
    )
    with pytest.raises(RangeError, match="CpSat counts all examples alike"):
        qn.train(problem, qn.CpSat())


def test_a_small_problem_with_many_inputs_is_given_to_an_engine_that_can_solve_it() -> None:
    inputs = np.random.default_rng(0).choice([-1, 1], size=(2, 50_000)).astype(np.int8)
    problem = qn.TrainingProblem(qn.Topology.dense(50_000, 1), inputs, [[1], [-1]])
    result = qn.train(problem, seed=0)
    assert result.solver.startswith("ForwardAnnealing")
    assert result.is_feasible


KNOWN_XOR = replace(
    qn.Topology.dense(2, 3, 1),
    known_weights=np.array([1, 0, 0, 0, 0, -1, 0, 1, 0], dtype=np.int8),
    known_biases=np.array([0, 0, 1, 0], dtype=np.int8),
)


@pytest.mark.parametrize(
    "solver",
    [
        qn.CpSat(),
        qn.LiftedAnnealing(replica_count=64),
        qn.ForwardAnnealing(replica_count=16),
        qn.SimulatedAnnealing(replica_count=500),
        BlockDecomposition(variable_limit=40, block_count=100),
    ],
    ids=lambda solver: type(solver).__name__,
)
def test_every_solver_keeps_known_weights(solver: Any) -> None:
    xor, outputs = [[-1, -1], [-1, 1], [1, -1], [1, 1]], [[-1], [1], [1], [-1]]
    result = qn.train(qn.TrainingProblem(KNOWN_XOR, xor, outputs), solver, seed=0)
    assert result.is_feasible
    assert all(network.topology == KNOWN_XOR for network in result.networks)


@pytest.mark.parametrize("spin", [-1, 1])
def test_a_network_that_is_known_altogether_is_only_evaluated(spin: int) -> None:
    topology = replace(
        qn.Topology.dense(2, 1),
        known_weights=np.array([1, 1], dtype=np.int8),
        known_biases=np.array([-1], dtype=np.int8),
    )
    problem = qn.TrainingProblem(topology, [[1, 1]], [[spin]])
    for solver in (qn.LiftedAnnealing(), qn.ForwardAnnealing(), qn.CpSat(), qn.Exhaustive()):
        assert qn.train(problem, solver, seed=0).is_feasible == (spin > 0)


@pytest.mark.parametrize("engine", [qn.ForwardAnnealing(softness=1), qn.LiftedAnnealing()])
def test_a_network_with_pools_learns(engine: Any) -> None:
    topology = qn.Topology.parse("conv(2x2x4) + pool(2x2) + fc(8)", inputs=(5, 5), outputs=2)
    letters = qn.datasets.letters(seed=0)
    problem = qn.TrainingProblem(topology, letters.train_inputs, letters.train_outputs)
    assert qn.train(problem, engine, seed=0).is_feasible
