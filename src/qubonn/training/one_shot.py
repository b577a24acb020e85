"""train: one problem, one run of a solver, all its networks.

TrainingProblem, solver -> TrainingResult.
"""

import logging
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from inspect import signature
from math import isnan
from typing import Any

import numpy as np

from qubonn.engines import Engine, ForwardAnnealing, LiftedAnnealing, Solutions
from qubonn.engines.cpsat import CpSat, ExactResult, Proof
from qubonn.engines.lifted_tables import MOST, largest_energy
from qubonn.errors import QubonnError, RangeError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.samplers import Sampler
from qubonn.samplers.annealing import Annealer
from qubonn.samplers.base import as_sampler
from qubonn.samplers.running import REPLICAS, SWEEPS
from qubonn.stopping import Progress, Report, Stop, Watch, finished, require_seed
from qubonn.training.result import TrainingResult

FIRST_SHARE = 0.8  # of CpSat's time, to train without violations; the rest is kept to allow some
FIRST_LINE, LONGEST_SILENCE = 2.0, 60.0  # seconds, of progress in lines
_log = logging.getLogger(__name__)


def train(
    problem: TrainingProblem,
    solver: Any = "auto",
    *,
    seed: int = 0,
    time_limit: float | None = None,
    target_energy: float | None = None,
    progress: bool | Report = False,
    initial_networks: Sequence[BinaryNetwork] = (),
) -> TrainingResult:
    """Train a network, and keep every distinct network that the run found.

    `solver` is "auto", an engine (`LiftedAnnealing`, `CpSat`), or a sampler of QUBOs, also one of
    dimod, which gets ``problem.qubo()``. `progress` shows a bar on a terminal and lines elsewhere,
    or is a function that is called with each `Progress`. Replicas start from `initial_networks`,
    repeated as needed, if the solver supports it; an anneal loses them unless it starts cool:
    ``LiftedAnnealing(hottest=0.3)``.

    >>> from qubonn.topology import Topology
    >>> xor = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    >>> problem = TrainingProblem(Topology.dense(2, 2, 1), xor, [[-1], [1], [1], [-1]])
    >>> train(problem).is_feasible
    True
    """
    if isinstance(solver, str) and solver != "auto":
        raise RangeError(f"solver must be 'auto', an engine or a sampler; got {solver!r}")
    chosen, reason = _choose(problem) if isinstance(solver, str) else (solver, "as asked")
    name = f"{type(chosen).__name__}, {reason}"
    _log.info("training with %s", name)
    options: dict[str, Any] = {"seed": require_seed(seed), "time_limit": time_limit}
    with reporting(progress, name) as report:
        start = _start(problem, chosen, initial_networks)
        if isinstance(chosen, CpSat):
            return _exactly(problem, chosen, name, **options)
        options |= {"target_energy": target_energy, "report": report, **start}
        if isinstance(chosen, Engine):
            solutions = chosen.solve(problem, **options)
            is_linear = isinstance(chosen, LiftedAnnealing) and chosen.violation == "linear"
            return finished(lambda: _result(solutions, name, is_linear=is_linear))
        chosen = as_sampler(chosen)
        if isinstance(chosen, Annealer) and chosen.sweep_count is None:
            chosen = replace(chosen, sweep_count=SWEEPS)  # else it would use all the time
        if isinstance(chosen, Sampler):
            return _by_sampling(problem, chosen, name, options)
    raise RangeError(f"solver must be 'auto', an engine or a sampler; got {type(solver).__name__}")


def _result(solutions: Solutions, name: str, *, is_linear: bool) -> TrainingResult:
    result = TrainingResult.of(solutions, name)
    return result.by_true_energy() if is_linear else result


def require_warm_starts(solver: Any) -> str:
    """Return the option for networks that a solver starts from; raise if it has none."""
    method = getattr(solver, "solve", None) or getattr(solver, "sample", None)
    takes = signature(method).parameters if callable(method) else {}
    if "initial_networks" in takes:
        return "initial_networks"
    if "initial_states" in takes and hasattr(solver, "replica_count"):  # dimod's have none
        return "initial_states"
    raise RangeError(
        f"{type(solver).__name__} cannot start from networks: leave out initial_networks, set "
        "warm_start=False, or use LiftedAnnealing, ForwardAnnealing or SimulatedAnnealing"
    )


def _start(
    problem: TrainingProblem, solver: Any, networks: Sequence[BinaryNetwork]
) -> dict[str, Any]:
    """Return the option that makes replicas start from networks."""
    if not len(networks):
        return {}
    name = require_warm_starts(solver)
    if name == "initial_networks":
        return {name: networks}
    count = solver.replica_count or REPLICAS
    states = np.stack([problem.encode(network) for network in networks[:count]])
    return {name: np.resize(states, (count, states.shape[1]))}


def _choose(problem: TrainingProblem) -> tuple[Engine, str]:
    """Pick an engine by the size of the problem and say why."""
    sites = problem.example_count * problem.topology.neuron_count
    if sites <= 2_000 and largest_energy(problem, is_squared=True) < MOST:
        return LiftedAnnealing(), "any topology, many replicas: the problem is small"
    if problem.topology.is_acyclic:
        is_one_hot = problem.topology.output_count > 2 and bool(
            ((problem.output_spins > 0).sum(axis=1) == 1).all()
        )
        forward = ForwardAnnealing(reading="largest" if is_one_hot else "signs")
        outputs = "the largest output wins" if is_one_hot else "outputs read by their signs"
        return forward, f"no cycles, {sites:,} neurons times examples, {outputs}"
    replicas = int(max(16, min(256, 512_000 // sites)))
    engine = LiftedAnnealing(replica_count=replicas, violation="linear")
    return engine, f"{replicas} replicas, linear violations: {sites:,} neurons times examples"


def _by_sampling(
    problem: TrainingProblem, sampler: Sampler, name: str, options: dict[str, Any]
) -> TrainingResult:
    samples, variables = sampler.sample(problem.qubo(), **options), problem.variables
    weights, biases = variables.parameter_spins(samples.bits)
    bits = np.repeat(variables.known_bits[np.newaxis], len(samples), axis=0)
    is_free = variables.activation_variables >= 0
    bits[:, is_free] = samples.bits[:, variables.activation_variables[is_free]]
    found = Solutions(
        problem,
        weights,
        biases,
        2 * bits - 1,
        samples.energies.astype(np.float64),
        samples.stop,
        samples.info,
    )
    return replace(TrainingResult.of(found, name), best_bits=samples.best)


def _exactly(
    problem: TrainingProblem, solver: CpSat, name: str, seed: int, time_limit: float | None
) -> TrainingResult:
    if problem.example_weights is not None:
        raise RangeError(
            "CpSat counts all examples alike; got a problem with example_weights: leave them out, "
            "or use ForwardAnnealing, LiftedAnnealing or a sampler"
        )
    watch = Watch(time_limit=time_limit)
    answer = _ask_cp_sat(problem, solver, seed, watch)
    if answer.network is None or answer.activations is None:
        raise QubonnError("CP-SAT found no network within the time limit; give it more time")
    energy = problem.certify(answer.network, answer.activations).terms.total
    stop = Stop.FINISHED
    if answer.proof is not Proof.OPTIMAL:
        is_early = _is_early(watch.seconds, time_limit)
        stop = Stop.INTERRUPTED if is_early else Stop.TIME_LIMIT
    return TrainingResult(
        problem,
        (answer.network,),
        (answer.activations,),
        np.array([float(energy)]),
        name,
        stop,
        {"proof": answer.proof, "bound": answer.bound, "seconds": watch.seconds},
    )


def _ask_cp_sat(problem: TrainingProblem, solver: CpSat, seed: int, watch: Watch) -> ExactResult:
    """Look for a network without violations, then for the fewest, within one time limit."""
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


def _is_early(seconds: float, limit: float | None) -> bool:
    """Whether CP-SAT, which may stop a little before its limit, was stopped by Ctrl-C."""
    return limit is None or (seconds < limit / 2 and seconds < limit - 1)


def reporting(progress: bool | Report, title: str) -> AbstractContextManager[Report | None]:
    """A context that gives a report function, or None: a bar on a terminal, otherwise lines."""
    if callable(progress):
        return nullcontext(progress)
    if not progress:
        return nullcontext()
    has_cursor = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    return _progress_bar(title) if has_cursor else _progress_lines(title)


@contextmanager
def _progress_bar(title: str) -> Iterator[Report]:
    """Show part done, lowest energy and time left while the block runs."""
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %{task.fields[energy]}"),
        TimeRemainingColumn(),
    )
    with Bar(*columns, transient=True, console=Console(stderr=True)) as bar:
        task = bar.add_task(title, total=1.0, energy="")
        yield lambda step: bar.update(task, completed=step.part, energy=_energy(step))


@contextmanager
def _progress_lines(title: str) -> Iterator[Report]:
    """Print a line at the start, after 2, 4, 8, ... seconds, later every minute, and at the end.

    To standard error, but in a notebook to standard output: there errors are red.
    """
    from rich.console import Console

    stream = sys.stdout if Console().is_jupyter else sys.stderr
    start, due, latest = time.perf_counter(), FIRST_LINE, ""

    def report(step: Progress) -> None:
        nonlocal due, latest
        seconds, latest = time.perf_counter() - start, _energy(step)
        if seconds >= due:
            print(f"{title}: {step.part:.0%}{latest}, {seconds:.0f} s", file=stream, flush=True)
            due = seconds + min(seconds, LONGEST_SILENCE)

    print(f"{title} ...", file=stream, flush=True)
    yield report
    seconds = time.perf_counter() - start
    print(f"{title}: done{latest}, {seconds:.1f} s", file=stream, flush=True)


def _energy(step: Progress) -> str:
    """Return the lowest energy of a step as text; nothing where there is none."""
    return "" if isnan(step.best_energy) else f", energy {step.best_energy:g}"
