"""train: one problem, one run of a solver, all its networks.

TrainingProblem, solver -> TrainingResult.
"""

import logging
from typing import Any

import numpy as np

from qubonn.checks import require_count
from qubonn.engines import CpSat, Engine, LiftedAnnealing
from qubonn.engines.base import Found
from qubonn.errors import QubonnError, RangeError
from qubonn.formulation import TrainingProblem
from qubonn.quadratic import Stop
from qubonn.samplers import Sampler
from qubonn.training.result import TrainingResult
from qubonn.watching import Report

__all__ = ["train"]

_log = logging.getLogger(__name__)


def train(
    problem: TrainingProblem,
    solver: Any = "auto",
    *,
    seed: int = 0,
    time_limit: float | None = None,
    target_energy: float | None = None,
    progress: bool | Report = False,
) -> TrainingResult:
    """Train a network, and keep every distinct network that the run found.

    `solver` is "auto", an engine (`LiftedAnnealing`, `CpSat`), or a QUBO sampler, which is given
    ``problem.qubo()``. `progress` shows a bar, or is a function that gets each `Progress`.

    >>> from qubonn.topology import Topology
    >>> xor = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    >>> problem = TrainingProblem(Topology.dense(2, 2, 1), xor, [[-1], [1], [1], [-1]])
    >>> train(problem).is_feasible
    True
    """
    chosen, reason = _choose(problem) if isinstance(solver, str) else (solver, "as asked")
    if isinstance(solver, str) and solver != "auto":
        raise RangeError(f"solver must be 'auto', an engine or a sampler; got {solver!r}")
    name = f"{type(chosen).__name__}, {reason}"
    _log.info("training with %s", name)
    options: dict[str, Any] = {"seed": require_count("seed", seed, least=0)}
    options |= {"time_limit": time_limit}
    with _reporting(progress, name) as report:
        if isinstance(chosen, CpSat):
            return _exactly(problem, chosen, name, options)
        options |= {"target_energy": target_energy, "report": report}
        if isinstance(chosen, Engine):
            return _result(chosen.solve(problem, **options), name)
        if isinstance(chosen, Sampler):
            return _by_sampling(problem, chosen, name, options)
    raise RangeError(f"solver must be 'auto', an engine or a sampler; got {type(solver).__name__}")


def _choose(problem: TrainingProblem) -> tuple[Engine, str]:
    """Pick an engine by the size of the problem and say why."""
    sites = problem.example_count * problem.topology.neuron_count
    if sites <= 2_000:
        return LiftedAnnealing(), "any topology, many replicas: the problem is small"
    replicas = int(max(16, min(256, 512_000 // sites)))
    engine = LiftedAnnealing(replica_count=replicas, violation="linear")
    return engine, f"{replicas} replicas, linear violations: {sites:,} neurons times examples"


def _result(found: Found, solver: str) -> TrainingResult:
    """Keep each network once, lowest energy first."""
    parameters = np.concatenate([found.weight_spins, found.bias_spins], axis=1)
    _, first = np.unique(parameters, axis=0, return_index=True)
    rows = np.sort(first)
    return TrainingResult(
        found.problem,
        tuple(found.network(row) for row in rows),
        tuple(found.activation_spins[row] for row in rows),
        found.energies[rows],
        solver,
        found.stop,
        found.info,
    )


def _by_sampling(
    problem: TrainingProblem, sampler: Sampler, name: str, options: dict[str, Any]
) -> TrainingResult:
    samples = sampler.sample(problem.qubo(), **options)
    read = [problem.read(bits) for bits in samples.bits]
    found = Found(
        problem,
        np.stack([assignment.network.weight_spins for assignment in read]),
        np.stack([assignment.network.bias_spins for assignment in read]),
        np.stack([assignment.activation_spins for assignment in read]),
        samples.energies.astype(np.float64),
        samples.stop,
        samples.info,
    )
    return _result(found, name)


def _exactly(
    problem: TrainingProblem, solver: CpSat, name: str, options: dict[str, Any]
) -> TrainingResult:
    ask = solver.largest_margin if problem.margin_strength else solver.find_feasible
    answer = ask(problem, **options)
    if answer.network is None:
        answer = solver.fewest_violations(problem, **options)
    if answer.network is None or answer.activations is None:
        raise QubonnError("CP-SAT found no network within the time limit; give it more time")
    energy = problem.certify(answer.network, answer.activations).terms.total
    return TrainingResult(
        problem,
        (answer.network,),
        (answer.activations,),
        np.array([float(energy)]),
        name,
        Stop.FINISHED if answer.proof.name == "OPTIMAL" else Stop.TIME_LIMIT,
        {"proof": answer.proof, "bound": answer.bound, "seconds": answer.seconds},
    )


def _reporting(progress: bool | Report, title: str) -> Any:
    """A context that gives a report function, or None."""
    from contextlib import nullcontext

    if progress is False:
        return nullcontext(None)
    if callable(progress):
        return nullcontext(progress)
    from qubonn.training.progress import progress_bar

    return progress_bar(title)
