"""train: one problem, one run of a solver, all its networks.

TrainingProblem, solver -> TrainingResult.
"""

import logging
from dataclasses import replace
from typing import Any

import numpy as np

from qubonn.checks import require_count
from qubonn.engines import (
    CpSat,
    Engine,
    ExactResult,
    ForwardAnnealing,
    Found,
    LiftedAnnealing,
    Proof,
)
from qubonn.engines.layered import has_one_hidden_layer
from qubonn.errors import QubonnError, RangeError
from qubonn.formulation import TrainingProblem
from qubonn.quadratic import Stop
from qubonn.samplers import DimodSolver, Sampler
from qubonn.training.result import TrainingResult
from qubonn.watching import Report, Watch

__all__ = ["train"]

FIRST_SHARE = 0.8  # of CpSat's time, to train without violations; the rest is kept to allow some
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

    `solver` is "auto", an engine (`LiftedAnnealing`, `CpSat`), or a QUBO sampler, ours or dimod's,
    which is given ``problem.qubo()``. `progress` shows a bar, or is a function that gets each
    `Progress`.

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
            result = _result(chosen.solve(problem, **options), name)
            return _with_true_energies(result) if _is_linear(chosen) else result
        if hasattr(chosen, "sample_ising"):  # only dimod's samplers have it
            chosen = DimodSolver(chosen)
        if isinstance(chosen, Sampler):
            return _by_sampling(problem, chosen, name, options)
    raise RangeError(f"solver must be 'auto', an engine or a sampler; got {type(solver).__name__}")


def _choose(problem: TrainingProblem) -> tuple[Engine, str]:
    """Pick an engine by the size of the problem and say why."""
    sites = problem.example_count * problem.topology.neuron_count
    if sites <= 2_000:
        return LiftedAnnealing(), "any topology, many replicas: the problem is small"
    if has_one_hidden_layer(problem.topology):
        is_one_hot = problem.topology.output_count > 2 and bool(
            ((problem.output_spins > 0).sum(axis=1) == 1).all()
        )
        forward = ForwardAnnealing(outputs="pairwise" if is_one_hot else "threshold")
        return forward, f"one hidden layer, {sites:,} neurons times examples, {forward.outputs}"
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


def _is_linear(engine: Engine) -> bool:
    return isinstance(engine, LiftedAnnealing) and engine.violation == "linear"


def _with_true_energies(result: TrainingResult) -> TrainingResult:
    """Order the networks by H, where the engine had another energy in mind."""
    energies = np.array([float(judged.terms.total) for judged in result.certificates])
    order = np.argsort(energies, kind="stable")
    return replace(
        result,
        networks=tuple(result.networks[number] for number in order),
        activations=tuple(result.activations[number] for number in order),
        energies=energies[order],
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
    seed, watch = options["seed"], Watch(time_limit=options["time_limit"])
    answer = _ask_cp_sat(problem, solver, seed, watch)
    if answer.network is None or answer.activations is None:
        raise QubonnError("CP-SAT found no network within the time limit; give it more time")
    energy = problem.certify(answer.network, answer.activations).terms.total
    return TrainingResult(
        problem,
        (answer.network,),
        (answer.activations,),
        np.array([float(energy)]),
        name,
        _stop(answer, watch),
        {"proof": answer.proof, "bound": answer.bound, "seconds": watch.seconds},
    )


def _ask_cp_sat(problem: TrainingProblem, solver: CpSat, seed: int, watch: Watch) -> ExactResult:
    """Ask for a network without violations, then for the fewest, in one time limit together."""
    limit = watch.time_limit
    share = None if limit is None else FIRST_SHARE * limit
    ask = solver.largest_margin if problem.margin_strength else solver.find_feasible
    answer = ask(problem, seed=seed, time_limit=share)
    if answer.network is not None:
        return answer
    if answer.proof is Proof.UNKNOWN and _is_early(watch.seconds, share):
        raise KeyboardInterrupt
    left = None if limit is None else max(watch.seconds_left, 1e-3)
    return solver.fewest_violations(problem, seed=seed, time_limit=left)


def _stop(answer: ExactResult, watch: Watch) -> Stop:
    if answer.proof is Proof.OPTIMAL:
        return Stop.FINISHED
    return Stop.INTERRUPTED if _is_early(watch.seconds, watch.time_limit) else Stop.TIME_LIMIT


def _is_early(seconds: float, limit: float | None) -> bool:
    """Whether CP-SAT stopped because of Ctrl-C, which it keeps to itself, and not by the clock.

    It stops a little before its limit if it expects to miss it.
    """
    return limit is None or (seconds < limit / 2 and seconds < limit - 1)


def _reporting(progress: bool | Report, title: str) -> Any:
    """A context that gives a report function, or None."""
    from contextlib import nullcontext

    if progress is False:
        return nullcontext(None)
    if callable(progress):
        return nullcontext(progress)
    from qubonn.training.progress import progress_bar

    return progress_bar(title)
