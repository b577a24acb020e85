"""train_with_dropout: many small trainings vote on the parameters of the last one.

TrainingProblem, Dropout, solver -> TrainingResult with a history.  Paper, section "A dropout
algorithm", Algorithm 1; with batches and no dropped nodes it is mini-batch training.
"""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from math import inf, isfinite
from typing import Any

import numpy as np

from qubonn.checks import IntVector
from qubonn.engines import CpSat
from qubonn.errors import RangeError
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Progress, Report, Stop, Watch, require_seed
from qubonn.topology import Thinning
from qubonn.training.batches import Batch, batches_for, checked, expected_count
from qubonn.training.dropout import (
    NO_DROPOUT,
    Dropout,
    filled,
    moved_field,
    thinned,
    thinned_field,
    vote_of,
    voted,
)
from qubonn.training.one_shot import reporting, require_warm_starts, train
from qubonn.training.result import Iteration, TrainingResult

FINAL_SHARE = 0.25  # of the time limit, kept for the final training
KEPT_ITERATIONS = 16  # whose networks are the result if there is no final training


def train_with_dropout(
    problem: TrainingProblem,
    dropout: Dropout | None = None,
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

    Without a `dropout` this is mini-batch training, for data that do not fit one problem: no node
    is dropped, all batches are used (of a batch size: one epoch), violations do not weaken votes,
    and the final training is on a batch too. That is
    ``Dropout(iteration_count=None, violation_decay=1, final="batch")``. The problem gives topology
    and strengths; its own examples are trained on if `batches` is a batch size.

    >>> from qubonn.datasets import letters
    >>> inputs, outputs = letters(seed=0).test_inputs, letters(seed=0).test_outputs
    >>> problem = TrainingProblem(Topology.dense(25, 5, 2), inputs, outputs)
    >>> result = train_with_dropout(problem, batches=10)
    >>> len(result.history), problem.example_count, result.problem.example_count
    (4, 40, 10)
    """
    rounds = NO_DROPOUT if dropout is None else dropout
    _require_fit(problem, rounds, solver, final_solver)
    watch = Watch(time_limit=time_limit)
    asked = rounds.iteration_count
    source = batches_for(problem, batches, seed=require_seed(seed), is_one_epoch=asked is None)
    count = expected_count(source, asked)
    if count == inf and time_limit is None:
        raise RangeError(
            "iteration_count must be given, or a time limit, or an epoch_count of the Batches: "
            "nothing would end the iterations"
        )
    with reporting(progress, "dropout" if batches is None else "batches") as report:
        stages = _Stages(report, watch, count, has_final=rounds.final != "none")
        run = _Run(problem, rounds, solver, seed, watch, stages)
        return run.train(iter(source), solver if final_solver is None else final_solver)


def _require_fit(problem: TrainingProblem, dropout: Dropout, *solvers: Any) -> None:
    if not isinstance(dropout, Dropout):
        raise RangeError(
            "dropout must be a Dropout, for example Dropout(dropped_inputs=5, "
            f"dropped_hidden=1); got {type(dropout).__name__}"
        )
    dropout.require_fit(problem.topology)
    for solver in solvers:
        if isinstance(solver, CpSat):
            raise RangeError("solver must weigh the field; CpSat does not: use an annealer")
        if dropout.warm_start and solver not in (None, "auto"):
            require_warm_starts(solver)


class _Run:
    """The state of one run: field, history, networks to start from, why it stops."""

    def __init__(
        self,
        problem: TrainingProblem,
        dropout: Dropout,
        solver: Any,
        seed: int,
        watch: Watch,
        stages: "_Stages",
    ) -> None:
        self.problem, self.dropout, self.solver, self.seed = problem, dropout, solver, seed
        self.watch, self.stages = watch, stages
        self.field = problem.field
        self.history: list[Iteration] = []
        self.found: tuple[BinaryNetwork, ...] = ()  # of the last iteration, made whole
        self.recent: deque[BinaryNetwork] = deque(maxlen=KEPT_ITERATIONS)  # best ones, made whole
        self.batch: Batch | None = None
        self.stop: Stop | None = None

    def train(self, source: Iterator[Any], final_solver: Any) -> TrainingResult:
        """Iterate, then train the whole network."""
        try:
            for number, given in enumerate(islice(source, self.dropout.iteration_count)):
                self.stop = self._iterate(number, given)
                if self.stop is not None:
                    break
            result = self._finish(source, final_solver)
        except KeyboardInterrupt:
            self.stop, result = Stop.INTERRUPTED, None
        is_trained = result is not None
        result = result or self._unfinished()
        return replace(
            result,
            stop=result.stop if self.stop is None else self.stop,
            history=tuple(self.history),
            info={**result.info, "final_training": is_trained, "seconds": self.watch.seconds},
        )

    # ---- one iteration ----

    def _iterate(self, number: int, given: Any) -> Stop | None:
        """Train one thinned network; learn from it unless it was stopped."""
        self.batch = batch = checked(self.problem, given, number)
        limit = self._seconds_left(share=0 if self.dropout.final == "none" else FINAL_SHARE)
        if limit is not None and limit <= 0:
            return Stop.TIME_LIMIT
        start, topology = self.watch.seconds, self.problem.topology
        drawing, solving = np.random.SeedSequence(self.seed, spawn_key=(number,)).spawn(2)
        dropped = self.dropout.draw(topology, np.random.default_rng(drawing))
        thinning = topology.thin(dropped)
        result = train(
            replace(
                self.problem,
                topology=thinning.topology,
                inputs=batch.inputs[:, thinning.input_columns],
                outputs=batch.outputs,
                field=thinned_field(self.field, thinning),
            ),
            self.solver,
            seed=int(solving.generate_state(1)[0]),
            time_limit=limit,
            progress=self.stages.report(number),
            initial_networks=[thinned(network, thinning) for network in self._start()],
        )
        # kept as whole networks: to start from, and in case there is no more time
        networks = result.networks if self.dropout.warm_start else result.networks[:1]
        self.found = tuple(filled(topology, self.field, thinning, one) for one in networks)
        self.recent.append(self.found[0])
        if result.stop in (Stop.TIME_LIMIT, Stop.INTERRUPTED):
            return result.stop
        vote = self._learn(thinning, result)
        self.history.append(self._iteration(result, number, dropped, vote, start))
        return Stop.INTERRUPTED if self.stages.is_asked_to_stop else None

    def _learn(self, thinning: Thinning, result: TrainingResult) -> float:
        """Move the field by the network's vote, and return the vote."""
        rate = self.dropout.rate_for(result.problem.example_count)
        vote = vote_of(rate, self.dropout.violation_decay, result.unsatisfied_count)
        self.field = moved_field(self.field, thinning, result.network, vote)
        return vote

    def _iteration(
        self, result: TrainingResult, number: int, dropped: IntVector, vote: float, start: float
    ) -> Iteration:
        assert self.batch is not None
        problem, network = result.problem, result.network
        is_acyclic = problem.topology.is_acyclic
        return Iteration(
            number=number,
            dropped=dropped,
            example_count=problem.example_count,
            rows=self.batch.rows,
            weight_spins=network.weight_spins,
            bias_spins=network.bias_spins,
            violation_count=result.unsatisfied_count,
            vote=vote,
            energy=float(result.found_terms.total),
            accuracy=network.accuracy(problem.inputs, problem.outputs) if is_acyclic else None,
            weight_norm=float(np.linalg.norm(self.field.weights)),
            bias_norm=float(np.linalg.norm(self.field.biases)),
            solver=result.solver,
            seconds=self.watch.seconds - start,
        )

    # ---- the end ----

    def _finish(self, source: Iterator[Any], solver: Any) -> TrainingResult | None:
        """Train the whole network in the field, unless there is to be no final training."""
        if self.stop is Stop.INTERRUPTED or self.dropout.final == "none":
            return None
        if self.dropout.final == "batch":  # the next one; where there is none, the last stays
            for given in islice(source, 1):
                self.batch = checked(self.problem, given, len(self.history))
        limit = self._seconds_left(share=0)
        result = train(
            self._final_problem(),
            solver,
            seed=self.seed,
            time_limit=None if limit is None else max(limit, 1e-3),
            progress=self.stages.report(None),
            initial_networks=self._start(),
        )
        if result.stop is Stop.INTERRUPTED:
            self.stop = result.stop
        return result

    def _unfinished(self) -> TrainingResult:
        """Return the networks of the last iterations, made whole, and the one that votes give."""
        if not self.recent and self.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt  # nothing to return yet
        problem = self._final_problem()
        networks = [*self.recent, voted(problem.topology, self.field)]
        what = "no final training, networks of the last iterations"
        return TrainingResult.of_networks(problem, networks, what)

    def _final_problem(self) -> TrainingProblem:
        problem = replace(self.problem, field=self.field)
        if self.dropout.final == "whole":
            return problem
        if self.batch is None:
            raise RangeError("batches must hold at least one batch; got none")
        if self.dropout.final == "none":
            return problem
        return replace(problem, inputs=self.batch.inputs, outputs=self.batch.outputs)

    def _start(self) -> tuple[BinaryNetwork, ...]:
        return self.found if self.dropout.warm_start else ()

    def _seconds_left(self, share: float) -> float | None:
        """Seconds for what comes now, if `share` of the time limit is kept for later."""
        limit = self.watch.time_limit
        return None if limit is None else self.watch.seconds_left - share * limit


class _Stages:
    """Turns progress of one training into progress of the run; all trainings count the same.

    Where the number of iterations is unknown, the part done is that of the time limit, or 0 until
    the final training.
    """

    def __init__(
        self, report: Report | None, watch: Watch, count: float | None, *, has_final: bool
    ) -> None:
        self._report, self._watch = report, watch
        self._count = None if count is None or not isfinite(count) else int(count)
        self._has_final = has_final
        self.is_asked_to_stop = False

    def report(self, number: int | None) -> Report | bool:
        """Return the report function of iteration `number`, or, for None, the final training."""
        report = self._report
        if report is None:
            return False

        def pass_on(step: Progress) -> bool:
            part = self._part(number, step.part)
            answer = report(Progress(part, step.best_energy, self._watch.seconds))
            self.is_asked_to_stop = self.is_asked_to_stop or answer is True
            return self.is_asked_to_stop

        return pass_on

    def _part(self, number: int | None, part: float) -> float:
        if self._count is not None:
            done = self._count if number is None else number
            return (done + part) / (self._count + self._has_final)
        if number is None:
            return part
        limit = self._watch.time_limit
        return 0.0 if limit is None else min(self._watch.seconds / limit, 1.0)
