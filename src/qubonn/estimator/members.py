"""One member of a committee: a run of a solver with a seed of its own.

Problem, recipe, seed -> Member.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs

from qubonn.checks import require_count
from qubonn.encoding import CodeBook
from qubonn.errors import RangeError
from qubonn.estimator.default_engine import engine_for
from qubonn.estimator.time_budget import compile_kernels, measured_pace
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Progress, Report, Stop
from qubonn.topology import Topology
from qubonn.training import Committee, Dropout, train, train_with_dropout
from qubonn.training.committee import is_right

LARGEST_SEED = 2**31  # what every solver's seed can hold


@dataclass(frozen=True)
class Member:
    """One network of a committee and what its training says about it."""

    number: int
    network: BinaryNetwork
    energy: float  # the solver's own
    violation_count: int  # output spins that are wrong, of all training examples together
    accuracy: float  # of its own answers on the training examples
    solver: str
    stop: Stop
    sweep_count: int | None  # None where the solver does not say
    seconds: float

    @property
    def is_complete(self) -> bool:
        """Whether nobody stopped its training."""
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
    copy_count: int = 1  # how often each example is in the problem: as it is, then in other places

    @property
    def run_count(self) -> int:
        """How many runs of the solver one member takes, as far as that is known."""
        return 1 + (self.dropout.iteration_count or 0) if self.dropout else 1

    @property
    def is_auto(self) -> bool:
        """Whether the solver is still to be chosen."""
        return isinstance(self.solver, str)

    def with_solver(self, problem: TrainingProblem) -> "Recipe":
        """Choose a short anneal that knows how outputs are read, unless a solver was given."""
        if not self.is_auto:
            return self
        if self.solver != "auto":
            raise RangeError(f"solver must be 'auto', an engine or a sampler; got {self.solver!r}")
        reading, copies = self.book.reading, self.copy_count
        engine = engine_for(problem, reading, is_alone=self.is_alone, copy_count=copies)
        return replace(self, solver=engine)

    def on_one_thread(self) -> "Recipe":
        """Keep a solver of ours to one thread, where jobs use the cores; the result is the same."""
        if not hasattr(self.solver, "thread_count"):
            return self
        return replace(self, solver=replace(self.solver, thread_count=1))

    def train(
        self, problem: TrainingProblem, number: int, seed: int, seconds: float | None
    ) -> Member:
        """Train one member: the best network of one run, and ask it the examples as they are."""
        start = time.perf_counter()
        options: dict[str, Any] = {"seed": seed, "time_limit": seconds}
        if self.dropout is None:
            result = train(problem, self.solver, **options)
        else:
            result = train_with_dropout(problem, self.dropout, self.solver, **options)
        count = problem.example_count // self.copy_count
        inputs, wanted = problem.input_spins[:count], problem.output_spins[:count]
        outputs = result.network.predict_outputs(inputs)
        alone = Committee([result.network], self.book.reading)
        return Member(
            number,
            result.network,
            float(result.energies[0]),
            int((outputs != wanted).sum()),
            float(is_right(alone, self.book, inputs, wanted).mean()),
            type(self.solver).__name__,
            result.stop,
            result.info.get("sweeps"),
            time.perf_counter() - start,
        )


def dropout_for(wanted: object, topology: Topology) -> Dropout | None:
    """Return no dropout, the one that was given, or one that drops such a share of the nodes.

    With a share every vote counts in full: where the largest output wins, outputs of right networks
    violate constraints.

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
    """Return the seed of all seeds, as scikit-learn's habits have it.

    None draws from numpy's global state, a whole number is itself, a RandomState or a Generator
    gives its next number.
    """
    if isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool):
        return require_count("random_state", random_state, least=0)
    if random_state is None or random_state is np.random:
        random_state = np.random.mtrand._rand
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(LARGEST_SEED, dtype=np.int64))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(LARGEST_SEED))
    raise RangeError(
        "random_state must be None, a whole number, a RandomState or a Generator; "
        f"got {random_state!r:.60}"
    )


def member_seeds(root: int, size: int) -> dict[int, int]:
    """Return the seed of each member: it depends on the root and the member's number only."""
    words = (np.random.SeedSequence(root, spawn_key=(number,)) for number in range(size))
    return {n: int(word.generate_state(1)[0]) % LARGEST_SEED for n, word in enumerate(words)}


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
