"""benchmarks/formulations: other formulations of H1 keep the networks of zero energy."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import qubonn as qn
from reference import all_networks, is_feasible

BENCHMARKS = Path(__file__).parent.parent.parent / "benchmarks"


@pytest.fixture
def formulations(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [*sys.path, str(BENCHMARKS)])
    import formulations

    return formulations


@pytest.mark.parametrize(
    ("layers", "inputs", "outputs"),
    [
        ((4, 1), [[1, 1, -1, 1], [-1, 1, -1, -1]], [[1], [-1]]),
        ((6, 1), [[1, 1, -1, 1, -1, 1]], [[1]]),
        ((1, 1, 1), [[1], [-1]], [[1], [-1]]),
        ((1, 1, 1), [[1], [1]], [[1], [-1]]),
    ],
)
@pytest.mark.parametrize("size", [3, 7])
def test_adders_and_scaled_outputs_have_the_feasible_networks(
    formulations: Any, layers: Any, inputs: Any, outputs: Any, size: int
) -> None:
    problem = qn.TrainingProblem(qn.Topology.dense(*layers), inputs, outputs, product_strength=4)
    feasible = {net for net in all_networks(problem.topology) if is_feasible(problem, net)}
    for qubo in (formulations.with_adders(problem, size), formulations.scaled(problem, 2)):
        count = qubo.variable_count
        states = (np.arange(2**count)[:, None] >> np.arange(count) & 1).astype(np.int8)
        energies = qubo.energy(states)
        spins = problem.variables.parameter_spins(states[energies == 0])
        found = {qn.BinaryNetwork(problem.topology, *one) for one in zip(*spins, strict=True)}
        assert energies.min() >= 0
        assert found == feasible


def test_scaling_by_one_gives_the_energy_of_the_paper(formulations: Any) -> None:
    problem = formulations.problem_of(10)
    scaled = formulations.scaled(problem, 1)
    assert np.array_equal(scaled.linear, problem.qubo().linear)
    assert np.array_equal(scaled.couplings, problem.qubo().couplings)
