"""One run: solve the problem of a setting with the study's engine and measure what came out.

Study, Run -> Outcome, or for the run that tunes, Tuned.  Paper, section "Experimental set-up".
"""

import time
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.datasets import letters
from qubonn.engines import LiftedAnnealing
from qubonn.experiments.outcome import Found, Outcome, Temperatures, measure, two_pixel_images
from qubonn.experiments.spec import TUNING, Run, Setting, Study
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.paper import topology
from qubonn.samplers import SimulatedAnnealing, TunedAnnealing, tune
from qubonn.stopping import Stop
from qubonn.training import train

# Paper, section "A dropout algorithm": what is the same in all of its runs
DROPPED_INPUTS = 5
ITERATIONS = 10
VIOLATION_DECAY = 0.1
DROPOUT_TEMPERATURES = Temperatures(1 / 0.2, 1 / 8.6)

_one_at_a_time = Lock()  # a process is one core here, also where a cluster gives it more threads


@dataclass(frozen=True)
class Tuned:
    """The temperatures of a setting, with every anneal on the way there."""

    seed: int
    temperatures: Temperatures
    trials: tuple[tuple[float, float, float, float], ...]  # hottest, coldest, objective, energy
    seconds: float


def perform(study: Study, run: Run, temperatures: Temperatures | None = None) -> Outcome | Tuned:
    """Do one run, on one thread. The seed decides everything but the seconds.

    A run that is interrupted raises KeyboardInterrupt; half a run is no run.
    """
    with _one_at_a_time:
        if run.number == TUNING:
            return _tuned(study, run)
        return _outcome(study, run, temperatures)


def _outcome(study: Study, run: Run, temperatures: Temperatures | None) -> Outcome:
    start = time.perf_counter()
    seed = study.seed_of(run)
    first, second = _two_seeds(seed)
    problem = _problem(study, study.settings[run.setting], first)
    if study.engine == "native":
        found, used = _natively(study, problem, second), None
    else:
        found, used = _as_the_paper(study, problem, second, temperatures)
    seconds = time.perf_counter() - start
    images = two_pixel_images(study.data_seeds)
    return measure(found, images, seed=seed, temperatures=used, seconds=seconds)


def _problem(study: Study, setting: Setting, seed: int) -> TrainingProblem:
    """The problem of a setting; with dropout, in the field that the iterations leave."""
    data = letters(seed=0)  # the training images are the same in every draw
    problem = TrainingProblem(
        topology(setting.network),
        data.train_inputs,
        data.train_outputs,
        margin_strength=setting.margin_strength,
    )
    if setting.dropped is None:
        return problem
    return _after_dropout(study, setting, problem, seed)


def _after_dropout(
    study: Study, setting: Setting, problem: TrainingProblem, seed: int
) -> TrainingProblem:
    from qubonn.training import Dropout, train_with_dropout

    dropout = Dropout(
        dropped_inputs=DROPPED_INPUTS,
        dropped_hidden=setting.dropped or 0,
        iteration_count=ITERATIONS,
        learning_rate=setting.learning_rate,
        violation_decay=VIOLATION_DECAY,
        final="none",
    )
    solver = (
        _native_solver(study)
        if study.engine == "native"
        else _annealer(study, DROPOUT_TEMPERATURES)
    )
    result = train_with_dropout(problem, dropout, solver, seed=seed)
    _require_finished(result.stop)
    return result.problem


def _natively(study: Study, problem: TrainingProblem, seed: int) -> Found:
    result = train(problem, _native_solver(study), seed=seed)
    _require_finished(result.stop)
    judged = problem.certify(result.network, result.activations[0])
    activations = result.activations[0]
    return Found(problem, result.networks, activations, judged.terms, judged.violations.count)


def _as_the_paper(
    study: Study, problem: TrainingProblem, seed: int, temperatures: Temperatures | None
) -> tuple[Found, Temperatures]:
    annealer = _annealer(study, temperatures)
    sampler: Any = annealer
    if study.tune == "each":
        sampler = TunedAnnealing(annealer=annealer, evaluation_count=study.evaluation_count)
    samples = sampler.sample(problem.qubo(), seed=seed)
    _require_finished(samples.stop)
    best = samples.best
    found = Found(
        problem,
        _distinct_networks(problem, samples.bits),
        problem.read(best).activation_spins,
        problem.terms(best),
        problem.violations(best).count,
    )
    return found, Temperatures(samples.info["hottest"], samples.info["coldest"])


def _tuned(study: Study, run: Run) -> Tuned:
    start = time.perf_counter()
    seed = study.seed_of(run)
    first, second = _two_seeds(seed)
    problem = _problem(study, study.settings[run.setting], first)
    tuning = tune(
        problem.qubo(),
        _annealer(study, None),
        evaluation_count=study.evaluation_count,
        seed=second,
    )
    if len(tuning.trials) < study.evaluation_count:
        raise KeyboardInterrupt
    trials = tuple(
        (trial.hottest, trial.coldest, trial.value, trial.best_energy) for trial in tuning.trials
    )
    temperatures = Temperatures(tuning.hottest, tuning.coldest)
    return Tuned(seed, temperatures, trials, time.perf_counter() - start)


def _native_solver(study: Study) -> LiftedAnnealing:
    return LiftedAnnealing(
        replica_count=study.replica_count, sweep_count=study.sweep_count, thread_count=1
    )


def _annealer(study: Study, temperatures: Temperatures | None) -> SimulatedAnnealing:
    annealer = SimulatedAnnealing(
        replica_count=study.replica_count, sweep_count=study.sweep_count, thread_count=1
    )
    if temperatures is None:
        return annealer
    return replace(annealer, hottest=temperatures.hottest, coldest=temperatures.coldest)


def _distinct_networks(
    problem: TrainingProblem, bits: NDArray[np.int8]
) -> tuple[BinaryNetwork, ...]:
    """The networks of the replicas, best first: weights, then biases, stand first in a state."""
    weight_count = problem.topology.weight_count
    parameters = bits[:, : weight_count + problem.topology.neuron_count]
    _, rows = np.unique(parameters, axis=0, return_index=True)
    spins = 2 * parameters[np.sort(rows)] - 1
    return tuple(
        BinaryNetwork(problem.topology, row[:weight_count], row[weight_count:]) for row in spins
    )


def _two_seeds(seed: int) -> tuple[int, int]:
    first, second = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
    return int(first), int(second)


def _require_finished(stop: Stop) -> None:
    if stop is not Stop.FINISHED:
        raise KeyboardInterrupt
