"""All members of a committee, one job each, by joblib: on this machine or on a cluster.

Problem, recipe, seeds -> Members, the same whatever the number of jobs and wherever they run.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil
from typing import Any

from joblib import Parallel, delayed, effective_n_jobs

from qubonn.estimator.members import Member, Recipe
from qubonn.estimator.time_budget import compile_kernels, measured_pace
from qubonn.formulation import TrainingProblem
from qubonn.stopping import Progress, Report

LEAST_SECONDS = 1e-3


def train_members(
    problem: TrainingProblem,
    recipe: Recipe,
    seeds: Mapping[int, int],
    *,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    report: Report | None = None,
) -> tuple[list[Member], bool]:
    """Train the members with these numbers and seeds; return them, and whether Ctrl-C came.

    After Ctrl-C these are the ones that were complete; if there are none, the one that was running,
    as far as it was, if that had begun. With a time limit each member gets its share; where the
    time is too short for all, there are fewer.
    """
    found: dict[int, Member] = {}
    start = time.perf_counter()
    try:
        tasks = _tasks(problem, recipe, seeds, effective_n_jobs(n_jobs), time_limit)
        for member in Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks):
            if member is None:
                continue
            found[member.number] = member
            if not member.is_complete:
                raise KeyboardInterrupt
            if report is not None:
                report(_progress(found, len(seeds), start))
    except KeyboardInterrupt:
        return _kept(found), True
    return [found[number] for number in sorted(found)], False


def train_member(
    problem: TrainingProblem,
    recipe: Recipe,
    number: int,
    seed: int,
    seconds: float | None = None,
    deadline: float | None = None,
) -> Member | None:
    """Train one member in its share of the time; None if the deadline is over."""
    if seconds is not None and deadline is not None:
        left = deadline - time.time()
        if left <= 0:
            return None
        seconds = min(seconds, left)
    return recipe.train(problem, number, seed, seconds)


def _tasks(
    problem: TrainingProblem,
    recipe: Recipe,
    seeds: Mapping[int, int],
    jobs: int,
    time_limit: float | None,
) -> Iterator[Any]:
    """Give one task after the other; what is left of the time is shared by what is left to do.

    Deadlines are times of day: machines of a cluster have no other clock in common.
    """
    chosen = recipe.with_solver(problem)
    if jobs > 1:
        chosen = chosen.on_one_thread()
    if time_limit is None:
        for number, seed in seeds.items():
            yield delayed(train_member)(problem, chosen, number, seed)
        return
    if recipe.is_auto:
        compile_kernels(chosen.solver, problem)
    deadline, numbers = time.time() + time_limit, list(seeds)
    if recipe.is_auto:
        pace = measured_pace(chosen.solver, problem, time_limit).times(recipe.run_count)
        count, sweeps = pace.plan(time_limit, len(seeds), jobs, chosen.solver.sweep_count)
        chosen = replace(chosen, solver=replace(chosen.solver, sweep_count=sweeps))
        numbers = numbers[:count]
    for place, number in enumerate(numbers):
        left = max(deadline - time.time(), LEAST_SECONDS)
        share = left / ceil((len(numbers) - place) / jobs)
        last = deadline if place else None  # the first is trained in any case
        yield delayed(train_member)(problem, chosen, number, seeds[number], share, last)


def _kept(found: dict[int, Member]) -> list[Member]:
    complete = [found[number] for number in sorted(found) if found[number].is_complete]
    begun = [member for member in found.values() if member.sweep_count != 0]
    return complete or begun[:1]


def _progress(found: dict[int, Member], count: int, start: float) -> Progress:
    best = min(member.energy for member in found.values())
    return Progress(len(found) / count, best, time.perf_counter() - start)
