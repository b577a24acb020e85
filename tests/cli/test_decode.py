"""An external machine end to end: qubo, a solver that reads only that file, decode."""

import json
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result

import qubonn as qn
from qubonn.estimator import PosedProblem

Call = Callable[..., Result]
CallJson = Callable[..., dict[str, Any]]

# knows nothing of qubonn: reads one file, writes samples
FOREIGN = textwrap.dedent(
    """
    import json, sys
    import dimod
    from dwave.samplers import SimulatedAnnealingSampler

    source, target = sys.argv[1:]
    if source.endswith(".bqm"):
        with open(source, "rb") as stream:
            model = dimod.BinaryQuadraticModel.from_file(stream.read())
    else:
        linear, quadratic = {}, {}
        for line in open(source):
            parts = line.split()
            if parts[0] not in "cp":
                one, other, value = int(parts[0]), int(parts[1]), float(parts[2])
                if one == other:
                    linear[one] = value
                else:
                    quadratic[one, other] = value
        model = dimod.BinaryQuadraticModel(linear, quadratic, 0.0, "BINARY")
    found = SimulatedAnnealingSampler().sample(
        model, num_reads=100, num_sweeps=300, beta_range=(0.1, 5.0), seed=1
    )
    assert not any(name.startswith("qubonn") for name in sys.modules)
    if target.endswith(".json"):
        json.dump(found.to_serializable(), open(target, "w"))
    else:
        with open(target, "w") as stream:
            print(*range(len(found.variables)), "energy", sep=",", file=stream)
            for row in found.record:
                values = dict(zip(found.variables, row.sample))
                print(*(values[n] for n in range(len(values))), row.energy, sep=",", file=stream)
    """
)


@pytest.mark.parametrize(
    ("problem", "samples"), [("gates.qubo", "samples.csv"), ("gates.bqm", "samples.json")]
)
def test_samples_of_a_program_that_reads_only_the_file_become_a_model(
    gates: Path, call: Call, call_json: CallJson, problem: str, samples: str
) -> None:
    pytest.importorskip("dwave.samplers", reason="needs dwave-samplers")
    call("qubo", gates, "-t", "gate", "--hidden", "2", "-o", problem)
    run = [sys.executable, "-c", FOREIGN, problem, samples]
    subprocess.run(run, check=True, timeout=120, cwd=gates.parent)
    said = call_json("decode", problem, samples, "--require-feasible", "-o", "gates.qubonn")
    assert said["samples"] == 100
    assert said["is_feasible"] is True
    assert said["training_accuracy"] == 1
    assert said["feasible_after_repair"] >= said["feasible_as_sampled"]
    result = call("predict", "gates.qubonn", gates, "-t", "gate")
    assert "(4 of 4)" in result.stderr


def decoded(call_json: CallJson, gates: Path, states: np.ndarray[Any, Any], **options: Any) -> Any:
    call_json("qubo", gates, "-t", "gate", "--hidden", "2", "-o", "p.npz")
    np.savez("s.npz", bits=states)
    return call_json("decode", "p.npz", "s.npz", **options)


def test_a_committee_of_feasible_networks_is_kept(gates: Path, call_json: CallJson) -> None:
    call_json("qubo", gates, "-t", "gate", "--hidden", "2", "-o", "p.npz")
    problem = PosedProblem.load("p.npz.problem.npz").problem
    networks = qn.train(problem, seed=0).feasible_networks[:5]
    said = decoded(call_json, gates, np.stack([problem.encode(one) for one in networks]))
    assert said["committee_size"] == said["feasible_as_sampled"] == 5
    model = qn.load("model.qubonn")
    assert isinstance(model, qn.QuboClassifier)
    assert set(model.committee_.members) == set(networks)


def test_a_hopeless_sample_still_gives_a_network(gates: Path, call_json: CallJson) -> None:
    count = call_json("qubo", gates, "-t", "gate", "--hidden", "2", "-o", "p.npz")["variables"]
    said = decoded(call_json, gates, np.zeros((1, count), dtype=np.int8))
    assert said["committee_size"] == 1
    assert said["is_feasible"] is (said["violation_count"] == 0)


def test_exit_code_3_says_that_nothing_feasible_was_found(
    tmp_path: Path, call: Call, call_json: CallJson
) -> None:
    # the same example with two labels: no network can get both right
    Path("torn.csv").write_text("a,b,k\n1,0,x\n1,0,y\n")
    count = call_json("qubo", "torn.csv", "-t", "k", "--hidden", "1", "-o", "p.qubo")["variables"]
    np.savez("s.npz", bits=np.zeros((1, count), dtype=np.int8))
    result = call("decode", "p.qubo", "s.npz", "--require-feasible", code=3)
    assert "No network satisfies every constraint" in result.stderr
    assert Path("model.qubonn").exists()
    call("decode", "p.qubo", "s.npz", code=0)


def test_the_report_says_what_was_repaired(gates: Path, call: Call) -> None:
    call("qubo", gates, "-t", "gate", "--hidden", "2", "-o", "p.qubo")
    count = qn.Qubo.load("p.qubo").variable_count
    np.savez("s.npz", bits=np.random.default_rng(0).integers(0, 2, (9, count)))
    output = call("decode", "p.qubo", "s.npz").stdout
    for words in ("as sampled", "by running the network forward", "after repair", "9, lowest"):
        assert words in output


def test_a_qubo_that_is_not_the_described_one_is_refused(gates: Path, call: Call) -> None:
    call("qubo", gates, "-t", "gate", "--hidden", "2", "-o", "p.qubo")
    call("qubo", gates, "-t", "gate", "--hidden", "3", "-o", "q.qubo")
    Path("q.qubo").replace("p.qubo")
    np.savez("s.npz", bits=np.zeros((1, 3)))
    assert "it is another one" in call("decode", "p.qubo", "s.npz", code=2).stderr
    Path("p.qubo.problem.npz").unlink()
    assert "there is none" in call("decode", "p.qubo", "s.npz", code=2).stderr


def test_the_description_alone_is_enough_to_decode(gates: Path, call_json: CallJson) -> None:
    count = call_json("qubo", gates, "-t", "gate", "--hidden", "2", "-o", "p.qubo")["variables"]
    Path("p.qubo").unlink()
    Path("s.json").write_text(json.dumps([[0] * count]))
    assert call_json("decode", "p.qubo.problem.npz", "s.json")["samples"] == 1


@pytest.mark.parametrize("suffix", [".coo", ".json", ".mtx", ".rudy", ".lp"])
def test_every_format_can_be_decoded(gates: Path, call_json: CallJson, suffix: str) -> None:
    call_json("qubo", gates, "-t", "gate", "--hidden", "2", "-o", f"p{suffix}")
    problem = PosedProblem.load(f"p{suffix}.problem.npz").problem
    bits = problem.encode(qn.train(problem, seed=0).network)
    Path("s.txt").write_text("".join(map(str, bits)) + "\n")
    assert call_json("decode", f"p{suffix}", "s.txt")["feasible_as_sampled"] == 1


def test_samples_of_another_problem_are_noted(gates: Path, call: Call, call_json: CallJson) -> None:
    count = call_json("qubo", gates, "-t", "gate", "--hidden", "2", "-o", "p.qubo")["variables"]
    np.savez("s.npz", bits=np.zeros((2, count)), energies=[-7, -7])
    assert "2 of 2 samples have an energy that is not" in call("decode", "p.qubo", "s.npz").stderr
