"""The members of a committee: one run of a solver each, with its own seed, as jobs of joblib.

Problem, recipe, seeds -> Members, the same for any number of jobs, on one machine or a cluster.
"""

import time
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Any

import numpy as np
from joblib import delayed, effective_n_jobs

from qubonn.checks import require_count
from qubonn.encoding import CodeBook
from qubonn.engines import ForwardAnnealing, GrowingBatches, InputShifts
from qubonn.engines.forward import measured_temperatures
from qubonn.errors import RangeError
from qubonn.estimator.default_engine import compile_kernels
from qubonn.estimator.designs import PLAIN, Design
from qubonn.estimator.jobs import Interruption, in_threads, interruption, results_of
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Progress, Report, Stop, finished, uninterrupted
from qubonn.topology import Topology
from qubonn.training import Committee, Dropout, TrainingResult, train, train_with_dropout
from qubonn.training.committee import is_right

LARGEST_SEED = 2**31  # that every solver accepts
LEAST_SECONDS = 1e-3
HOLD = 0.015  # of a typical cost of a flip; set on digits and two of the tuning tables

# With a time limit cool faster, instead of stopping while still hot.
PLANNED = 0.8  # of the time; the rest is a reserve
PILOT_SHARE = 0.1  # of the time, at most, to measure a sweep
PILOT_BATCHES = 10  # enough to measure the time of a change of batch too
FEWEST_SWEEPS = 15  # fewer members rather than fewer sweeps


@dataclass(frozen=True)
class Member:
    """One network of a committee and what its training reported."""

    number: int
    network: BinaryNetwork
    energy: float  # the solver's own
    violation_count: int  # wrong output spins of all training examples together
    accuracy: float  # of the network alone on the training examples
    solver: str = "elsewhere"
    stop: Stop = Stop.FINISHED
    sweep_count: int | None = None  # None where the solver does not report it
    seconds: float = 0.0

    @classmethod
    def of(
        cls, problem: TrainingProblem, recipe: "Recipe", network: BinaryNetwork, **reported: Any
    ) -> "Member":
        """Evaluate a network on the original examples; `reported` are the other fields."""
        count = problem.example_count // recipe.copy_count
        inputs, actual = problem.input_spins[:count], problem.output_spins[:count]
        alone = Committee([network], recipe.book.reading)
        return cls(
            network=network,
            violation_count=int((network.predict_outputs(inputs) != actual).sum()),
            accuracy=float(
                np.average(
                    is_right(alone, recipe.book, inputs, actual),
                    weights=problem.weight_of_example[:count],
                )
            ),
            **reported,
        )

    @property
    def is_complete(self) -> bool:
        """Whether its training was not interrupted."""
        return self.stop is not Stop.INTERRUPTED

    def __repr__(self) -> str:
        return (
            f"Member({self.number}: training accuracy {self.accuracy:.3f}, "
            f"{self.violation_count} violations, {self.seconds:.2f} s, {self.stop.name})"
        )


@dataclass(frozen=True)
class Recipe:
    """How members are trained, and how their outputs are read."""

    solver: Any
    book: CodeBook
    dropout: Dropout | None = None
    is_alone: bool = False  # whether the committee has one member only
    copy_count: int = 1  # of each example in the problem: the original, then shifted ones
    design: Design = PLAIN
    noise: InputShifts | None = None  # for the default engine, in each sweep

    @property
    def is_default(self) -> bool:
        """Whether the design's own engine trains, without dropout."""
        return isinstance(self.solver, str) and self.dropout is None

    def solver_for(self, problem: TrainingProblem, jobs: int, threads: int = 1) -> Any:
        """Return the solver, or a short anneal for "auto" on this number of threads.

        On one thread where jobs use the cores. The number of threads does not change the result.
        """
        solver = self.solver
        if isinstance(solver, str):
            if solver != "auto":
                raise RangeError(f"solver must be 'auto', an engine or a sampler; got {solver!r}")
            solver = replace(self.default_engine(problem), thread_count=threads)
        if jobs > 1 and hasattr(solver, "thread_count"):
            return replace(solver, thread_count=1)
        return solver

    def default_engine(self, problem: TrainingProblem) -> ForwardAnnealing:
        """Return the engine of the design."""
        return self.design.engine(
            problem,
            self.book.reading,
            is_alone=self.is_alone,
            copy_count=self.copy_count,
            noise=self.noise,
        )


def train_members(
    problem: TrainingProblem,
    recipe: Recipe,
    seeds: dict[int, int],
    *,
    n_jobs: int | None = None,
    time_limit: float = inf,
    report: Report | None = None,
) -> tuple[list[Member], bool]:
    """Train the members with these numbers and seeds; return them, and whether Ctrl-C was pressed.

    After Ctrl-C these are the complete ones; if there are none, the one that was running, if it
    made at least one sweep. With a time limit each member gets its share; where the time is too
    short for all, there are fewer.
    """
    found: list[Member] = []
    start = time.perf_counter()
    # kernels of the default engine run in threads; sweeps that fit a limit are measured on one
    is_threaded = len(seeds) > 1 and recipe.is_default and time_limit == inf
    threads = 1
    if len(seeds) == 1 and recipe.is_default:  # its jobs are threads that share the examples
        n_jobs, threads = 1, effective_n_jobs(n_jobs)
    try:
        with in_threads(n_jobs) if is_threaded else nullcontext(), interruption(n_jobs) as stop:
            solver = recipe.solver_for(problem, effective_n_jobs(n_jobs), threads)
            tasks = _tasks(problem, recipe, solver, seeds, n_jobs, time_limit, stop)
            for member in results_of(tasks, n_jobs, stop):
                if member is None:
                    continue
                found.append(member)
                if not member.is_complete and not stop.is_set:
                    raise KeyboardInterrupt
                if report is not None:
                    best = min(member.energy for member in found)
                    report(Progress(len(found) / len(seeds), best, time.perf_counter() - start))
    except KeyboardInterrupt:
        complete = [member for member in found if member.is_complete]
        begun = [member for member in found if member.sweep_count != 0]
        return complete or begun[:1], True
    return found, False


def _tasks(
    problem: TrainingProblem,
    recipe: Recipe,
    solver: Any,
    seeds: dict[int, int],
    n_jobs: int | None,
    time_limit: float,
    stop: Interruption,
) -> Iterator[Any]:
    """Yield one task per member; the members that are left share the time that is left.

    Deadlines are times of day: machines of a cluster have no other clock in common.
    """
    numbers, jobs = list(seeds), effective_n_jobs(n_jobs)
    can_be_shorter = time_limit < inf and isinstance(recipe.solver, str)
    if can_be_shorter:
        compile_kernels(solver, problem)
    deadline = time.time() + time_limit
    if can_be_shorter:
        pace = measured_pace(solver, problem, time_limit)
        runs = 1 + (recipe.dropout.iteration_count or 0) if recipe.dropout else 1
        count, sweeps = pace.plan(time_limit / runs, len(seeds), jobs, solver.sweep_count)
        solver, numbers = replace(solver, sweep_count=sweeps), numbers[:count]
    chosen = replace(recipe, solver=solver)
    for place, number in enumerate(numbers):
        left = max(deadline - time.time(), LEAST_SECONDS)
        share = left / ceil((len(numbers) - place) / jobs)
        last = deadline if place else inf  # the first is trained in any case
        yield delayed(_train_member)(problem, chosen, number, seeds[number], share, last, stop)


def _train_member(
    problem: TrainingProblem,
    recipe: Recipe,
    number: int,
    seed: int,
    seconds: float,
    deadline: float,
    stop: Interruption,
) -> Member | None:
    """Train one member, the best network of one run; None if it is too late to begin."""
    start, seconds = time.perf_counter(), min(seconds, deadline - time.time())
    if seconds <= 0 or stop.is_set:
        return None
    options: dict[str, Any] = {"seed": seed, "time_limit": seconds if seconds < inf else None}
    if stop.path is not None:
        options["progress"] = stop.report
    if recipe.dropout is None:
        result = train(problem, recipe.solver, **options)
    else:
        result = train_with_dropout(problem, recipe.dropout, recipe.solver, **options)
    seconds = time.perf_counter() - start
    return _member(problem, recipe, number, recipe.solver, result, seconds)


def _member(
    problem: TrainingProblem,
    recipe: Recipe,
    number: int,
    solver: Any,
    result: TrainingResult,
    seconds: float,
) -> Member:
    """Return the best network of a run as a member."""
    reported = {
        "number": number,
        "energy": float(result.energies[0]),
        "solver": type(solver).__name__,
        "stop": result.stop,
        "sweep_count": result.info.get("sweeps"),
        "seconds": seconds,
    }
    return finished(lambda: Member.of(problem, recipe, result.network, **reported))


def continued(
    problem: TrainingProblem, recipe: Recipe, members: Iterable[Member], examples_before: int
) -> list[Member]:
    """Train members further, on examples that come after `examples_before` others.

    Their weights are held by a field: for each earlier example, the share of a typical flip's cost
    that an example of the problem has.
    """
    engine = recipe.solver_for(problem, jobs=1)
    if not isinstance(engine, ForwardAnnealing):
        raise RangeError(
            "partial_fit needs solver='auto' or a ForwardAnnealing; "
            f"got {type(engine).__name__}: use fit"
        )
    problem = recipe.design.with_decay(problem, engine)
    sizes, _ = measured_temperatures(problem, engine)
    held = HOLD * float(sizes[0]) * examples_before / problem.example_count
    found = []
    for member in members:
        start, network = time.perf_counter(), member.network
        field = Field(held * network.weight_spins, held * network.bias_spins)
        held_there = replace(problem, field=field)
        options: dict[str, Any] = {"seed": member.number, "initial_networks": [network]}
        result = uninterrupted(train(held_there, engine, **options))
        seconds = member.seconds + time.perf_counter() - start
        found.append(_member(problem, recipe, member.number, engine, result, seconds))
    return found


# ---- the number of members and sweeps that fit a time limit ----


@dataclass(frozen=True)
class Pace:
    """Seconds that a training takes: to set up, and for each sweep."""

    setting_up: float
    per_sweep: float

    def plan(self, seconds: float, count: int, jobs: int, most_sweeps: int) -> tuple[int, int]:
        """Return the number of members to train, and of sweeps for each.

        >>> Pace(0, 0.1).plan(100, count=10, jobs=1, most_sweeps=40)  # 8 seconds each
        (10, 40)
        >>> Pace(0, 0.1).plan(30, count=10, jobs=1, most_sweeps=40)
        (10, 24)
        >>> Pace(0, 0.1).plan(5, count=10, jobs=2, most_sweeps=40)
        (4, 20)
        >>> Pace(0, 0.1).plan(5, count=10, jobs=1, most_sweeps=5)
        (8, 5)
        >>> Pace(1, 0.1).plan(3 / 0.8, count=1, jobs=1, most_sweeps=40)
        (1, 20)
        >>> Pace(1, 0.1).plan(0.5, count=10, jobs=1, most_sweeps=40)
        (1, 1)
        """
        planned, fewest = PLANNED * seconds, min(FEWEST_SWEEPS, most_sweeps)
        fitting = int(planned / (self.setting_up + fewest * self.per_sweep) + 1e-9)
        waves = min(ceil(count / jobs), max(fitting, 1))
        sweeps = int((planned / waves - self.setting_up) / self.per_sweep + 1e-9)
        return min(count, waves * jobs), min(max(sweeps, 1), most_sweeps)


def measured_pace(engine: ForwardAnnealing, problem: TrainingProblem, seconds: float) -> Pace:
    """Return the pace of an engine on a problem, measured in a tenth of `seconds`.

    The last sweeps, which see all examples, are part of the setting up.
    """
    steps: list[Progress] = []
    pilot, batch, share = _pilot(engine, problem)
    start = time.perf_counter()
    limit = max(PILOT_SHARE * seconds, 1e-3)
    info = pilot.solve(batch, time_limit=limit, report=steps.append).info
    spent = time.perf_counter() - start
    first, last = steps[0], steps[-1]
    done = info["sweeps"] * (1 - first.part / last.part)  # between the two reports
    per_sweep = (last.seconds - first.seconds) / done if done else spent / max(info["sweeps"], 1)
    setting_up = max(spent - info["sweeps"] * per_sweep, 0) + engine.quench_sweeps * per_sweep
    return Pace(setting_up / share, max(per_sweep, 1e-9))


def _pilot(
    engine: ForwardAnnealing, problem: TrainingProblem
) -> tuple[ForwardAnnealing, TrainingProblem, float]:
    """Return an engine of few sweeps, the examples that a usual sweep sees, and their share."""
    if engine.batches is None:
        return replace(engine, sweep_count=1), problem, 1.0
    count = problem.example_count
    size = round(float(engine.batches.sizes(engine.sweep_count, count).mean()))
    batch = problem.of_examples(slice(size))
    pilot = replace(
        engine, sweep_count=PILOT_BATCHES, batches=GrowingBatches(first=size, last=size)
    )
    return pilot, batch, size / count


# ---- dropout and seeds ----


def dropout_for(wanted: object, topology: Topology) -> Dropout | None:
    """Return no dropout, a given one, or one that drops a given share of the nodes.

    With a share every vote counts in full: where the largest output is read, networks that predict
    the right class violate constraints too.

    >>> dropout_for(0.25, Topology.dense(40, 8, 2)).dropped_inputs
    10
    """
    if wanted is None or isinstance(wanted, Dropout):
        return wanted
    if isinstance(wanted, bool) or not isinstance(wanted, (int, float)) or not 0 <= wanted < 1:
        raise RangeError(
            "dropout must be None, a share of the nodes from 0 to less than 1, or a Dropout; "
            f"got {wanted!r:.60}"
        )
    inputs, hidden = (int(wanted * n) for n in (topology.input_count, topology.hidden_count))
    if not inputs + hidden:
        return None
    return Dropout(dropped_inputs=inputs, dropped_hidden=hidden, violation_decay=1)


def root_seed(random_state: Any) -> int:
    """Return the seed of all seeds, by the conventions of scikit-learn.

    A whole number is itself; None (numpy's global state), a RandomState or a Generator is drawn
    from once.
    """
    from sklearn.utils import check_random_state  # slow to import, not needed to load a model

    if isinstance(random_state, (int, np.integer)):
        return require_count("random_state", random_state, least=0)
    if isinstance(random_state, np.random.Generator):  # which scikit-learn does not accept
        return int(random_state.integers(LARGEST_SEED))
    try:
        return int(check_random_state(random_state).randint(LARGEST_SEED, dtype=np.int64))
    except ValueError:
        raise RangeError(
            "random_state must be None, a whole number, a RandomState or a Generator; "
            f"got {random_state!r:.60}"
        ) from None


def member_seeds(root: int, size: int) -> dict[int, int]:
    """Return the seed of each member: it depends on the root and the member's number only."""
    words = (np.random.SeedSequence(root, spawn_key=(number,)) for number in range(size))
    return {n: int(word.generate_state(1)[0]) % LARGEST_SEED for n, word in enumerate(words)}
