"""train_with_dropout, train_in_batches: many small trainings vote on the parameters of the last.

TrainingProblem, Dropout, solver -> TrainingResult with a history.  Paper, section "A dropout
algorithm", Algorithm 1; with batches and no dropped nodes it is mini-batch training.
"""

from collections.abc import Iterable
from math import inf
from typing import Any

from qubonn.errors import RangeError
from qubonn.formulation import TrainingProblem
from qubonn.stopping import Report, Watch, require_seed
from qubonn.training.batches import batches_for, expected_count
from qubonn.training.dropout import Dropout, Final
from qubonn.training.one_shot import reporting
from qubonn.training.result import TrainingResult
from qubonn.training.rounds import Plan, Rounds
from qubonn.training.stages import Stages


def train_with_dropout(
    problem: TrainingProblem,
    dropout: Dropout,
    solver: Any = "auto",
    *,
    final_solver: Any = None,
    batches: Iterable[Any] | int | None = None,
    seed: int = 0,
    time_limit: float | None = None,
    progress: bool | Report = False,
) -> TrainingResult:
    """Train thinned networks one after the other, then the whole one in the field they leave.

    Starts from the problem's field, zero unless given. `batches` is a batch size, a `Batches`, or
    any iterable of (inputs, outputs); without it each iteration sees all examples. `final_solver`
    (default: `solver`) trains the whole network; a quarter of the time limit is kept for it. Ctrl-C
    ends the iterations without a final training. ``result.history`` has the iterations and
    ``result.problem.field`` the field that they left.

    >>> from qubonn.topology import Topology
    >>> xor = [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    >>> problem = TrainingProblem(Topology.dense(2, 4, 1), xor, [[-1], [1], [1], [-1]])
    >>> result = train_with_dropout(problem, Dropout(dropped_hidden=1, iteration_count=3))
    >>> result.is_feasible, len(result.history)
    (True, 3)
    """
    last_solver = solver if final_solver is None else final_solver
    plan = Plan(problem, dropout, solver, last_solver, require_seed(seed))
    watch = Watch(time_limit=time_limit)
    asked = dropout.iteration_count
    source = batches_for(problem, batches, seed=seed, is_one_epoch=asked is None)
    count = expected_count(source, asked)
    if count == inf and time_limit is None:
        raise RangeError(
            "iteration_count must be given, or a time limit, or an epoch_count of the Batches: "
            "nothing would end the iterations"
        )
    with reporting(progress, "dropout" if batches is None else "batches") as report:
        stages = Stages(report, watch, count, has_final=dropout.final != "none")
        return Rounds(plan, watch, stages).train(iter(source))


def train_in_batches(
    problem: TrainingProblem,
    batches: Iterable[Any] | int,
    solver: Any = "auto",
    *,
    iteration_count: int | None = None,
    learning_rate: float | None = None,
    violation_decay: float = 1,
    warm_start: bool = False,
    final: Final = "batch",
    final_solver: Any = None,
    seed: int = 0,
    time_limit: float | None = None,
    progress: bool | Report = False,
) -> TrainingResult:
    """Train on one batch after the other, for data that do not fit one problem.

    This is `train_with_dropout` with no node dropped and other defaults: all batches (of a batch
    size: one epoch), votes that violations do not weaken, and a final training on a batch too. The
    problem gives topology and strengths; its own examples are trained on if `batches` is a batch
    size or `final` is "whole".

    >>> from qubonn.datasets import letters
    >>> from qubonn.topology import Topology
    >>> inputs, outputs = letters(seed=0).test_inputs, letters(seed=0).test_outputs
    >>> problem = TrainingProblem(Topology.dense(25, 5, 2), inputs, outputs)
    >>> result = train_in_batches(problem, 10, iteration_count=12)
    >>> len(problem.inputs), len(result.problem.inputs), result.network.accuracy(inputs, outputs)
    (40, 10, 0.875)
    """
    rounds = Dropout(
        iteration_count=iteration_count,
        learning_rate=learning_rate,
        violation_decay=violation_decay,
        warm_start=warm_start,
        final=final,
    )
    return train_with_dropout(
        problem,
        rounds,
        solver,
        final_solver=final_solver,
        batches=batches,
        seed=seed,
        time_limit=time_limit,
        progress=progress,
    )
