"""train_with_dropout: many small trainings vote on the parameters of the last one.

TrainingProblem, Dropout, solver -> TrainingResult with a history.  Paper, section "A dropout
algorithm", Algorithm 1; with batches and no dropped nodes it is mini-batch training.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Any, Literal

import numpy as np

from qubonn.checks import IntVector, require_count, require_strength
from qubonn.engines import CpSat
from qubonn.errors import RangeError, TopologyError
from qubonn.formulation import Field, TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.network.forward import sign
from qubonn.stopping import Progress, Report, Stop, Watch, require_seed
from qubonn.topology import Thinning, Topology
from qubonn.training.batches import Batch, batches_for, checked, expected_count
from qubonn.training.one_shot import reporting, require_warm_starts, train
from qubonn.training.result import Iteration, TrainingResult

RATE_PER_EXAMPLE = 0.01  # of the default learning rate; see docs/training.md
FINAL_SHARE = 0.25  # of the time limit, kept for the final training
KEPT_ITERATIONS = 16  # whose networks are the result if there is no final training


@dataclass(frozen=True, kw_only=True)
class Dropout:
    """Settings of Algorithm 1.

    Each iteration removes `dropped_inputs` of the inputs and `dropped_hidden` of the hidden nodes,
    drawn anew and each equally likely, and never an output or the constant. With `iteration_count`
    None they go on until the batches end. The network found moves the strengths of its own weights
    and biases by `learning_rate` * `violation_decay` ** (unsatisfied constraints); a decay of 1 is
    Georgiev's rule. Energies grow with the number of examples, so the default rate does: a
    hundredth of them. With `warm_start` an iteration starts from the networks of the one before.

    `final` sets the data of the final training of the whole network: "whole", all examples of the
    problem; "batch", the next batch, or the last one again; "none", no final training: the networks
    of the last iterations are the result, completed by the signs of the field.

    The paper uses 10 iterations, 5 dropped inputs of 25, 0 to 2 dropped hidden nodes, learning
    rates from 0.01 to 0.5, a decay of 0.1, and neither batches nor warm starts.
    """

    dropped_inputs: int = 0
    dropped_hidden: int = 0
    iteration_count: int | None = 10
    learning_rate: float | None = None
    violation_decay: float = 0.1
    warm_start: bool = False
    final: Literal["whole", "batch", "none"] = "whole"

    def __post_init__(self) -> None:
        for name in ("dropped_inputs", "dropped_hidden", "iteration_count"):
            if getattr(self, name) is not None:
                require_count(name, getattr(self, name), least=0)
        if self.learning_rate is not None:
            require_strength("learning_rate", self.learning_rate)
        if require_strength("violation_decay", self.violation_decay) > 1:
            raise RangeError(
                "violation_decay must lie in 0 to 1, so that violations never strengthen a vote; "
                f"got {self.violation_decay}"
            )
        if self.final not in ("whole", "batch", "none"):
            raise RangeError(f"final must be 'whole', 'batch' or 'none'; got {self.final!r}")
        if self.final == "none" and self.iteration_count == 0:
            raise RangeError("iteration_count must be at least 1 where final='none'; got 0")

    def require_fit(self, topology: Topology) -> None:
        """Raise unless one input and one hidden node remain."""
        inputs = ("dropped_inputs", self.dropped_inputs, topology.column_count)
        hidden = ("dropped_hidden", self.dropped_hidden, topology.hidden_count)
        for name, dropped, count in (inputs, hidden):
            if dropped >= max(count, 1):
                raise TopologyError(
                    f"{name} must leave at least one of {count} nodes; got {dropped}"
                )

    def rate_for(self, example_count: int) -> float:
        """Return the learning rate of a batch."""
        if self.learning_rate is None:
            return RATE_PER_EXAMPLE * example_count
        return float(self.learning_rate)

    def draw(self, topology: Topology, generator: np.random.Generator) -> IntVector:
        """Return the nodes to remove in one iteration, in order.

        >>> dropout = Dropout(dropped_inputs=2, dropped_hidden=1)
        >>> dropout.draw(Topology.dense(9, 4, 2), np.random.default_rng(0))
        array([ 5,  6, 10])
        """
        inputs = generator.choice(topology.column_count, self.dropped_inputs, replace=False)
        hidden = generator.choice(topology.hidden_count, self.dropped_hidden, replace=False)
        nodes = np.concatenate([inputs, topology.input_count + hidden])
        return np.sort(nodes).astype(np.int64)


NO_DROPOUT = Dropout(iteration_count=None, violation_decay=1, final="batch")


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
    wanted = rounds.iteration_count
    source = batches_for(problem, batches, seed=require_seed(seed), is_one_epoch=wanted is None)
    count = expected_count(source, wanted)
    if count == inf and time_limit is None:
        raise RangeError(
            "iteration_count must be given, or a time limit, or an epoch_count of the Batches: "
            "nothing would end the iterations"
        )
    with reporting(progress, "dropout" if batches is None else "batches") as report:
        known = inf if count is None else count
        run = _Iterations(problem, problem.field, rounds, solver, seed, watch, report, known)
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


@dataclass(eq=False)
class _Iterations:
    """The state of one run: field, history, networks to start from, why it stops."""

    problem: TrainingProblem
    field: Field
    dropout: Dropout
    solver: Any
    seed: int
    watch: Watch
    report: Report | None
    count: float  # of iterations; infinite where it is unknown
    history: tuple[Iteration, ...] = ()
    start: tuple[BinaryNetwork, ...] = ()  # whole networks for a warm start
    recent: tuple[BinaryNetwork, ...] = ()  # the best of the last iterations, made whole
    batch: Batch | None = None
    stop: Stop | None = None
    is_asked_to_stop: bool = False

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
        is_interrupted = result.stop is Stop.INTERRUPTED
        return replace(
            result,
            stop=result.stop if is_interrupted or self.stop is None else self.stop,
            history=self.history,
            info={**result.info, "final_training": is_trained, "seconds": self.watch.seconds},
        )

    # ---- one iteration ----

    def _iterate(self, number: int, given: Any) -> Stop | None:
        """Train one thinned network; learn from it unless it was stopped."""
        self.batch = batch = checked(self.problem, given, number)
        limit = self._seconds_left(kept=0 if self.dropout.final == "none" else FINAL_SHARE)
        if limit is not None and limit <= 0:
            return Stop.TIME_LIMIT
        began, topology = self.watch.seconds, self.problem.topology
        drawing, solving = np.random.SeedSequence(self.seed, spawn_key=(number,)).spawn(2)
        dropped = self.dropout.draw(topology, np.random.default_rng(drawing))
        thinning = topology.thin(dropped)
        result = train(
            replace(
                self.problem,
                topology=thinning.topology,
                inputs=batch.inputs[:, thinning.input_columns],
                outputs=batch.outputs,
                example_weights=batch.weights,
                field=thinned_field(self.field, thinning),
            ),
            self.solver,
            seed=int(solving.generate_state(1)[0]),
            time_limit=limit,
            progress=self._report_of(number),
            initial_networks=[thinned(network, thinning) for network in self.start],
        )
        networks = result.networks if self.dropout.warm_start else result.networks[:1]
        whole = tuple(filled(topology, self.field, thinning, network) for network in networks)
        self.start = whole if self.dropout.warm_start else ()
        self.recent = (*self.recent, whole[0])[-KEPT_ITERATIONS:]
        if result.stop in (Stop.TIME_LIMIT, Stop.INTERRUPTED):
            return result.stop
        self._learn(result, thinning, dropped, batch, began)
        return Stop.INTERRUPTED if self.is_asked_to_stop else None

    def _learn(
        self,
        result: TrainingResult,
        thinning: Thinning,
        dropped: IntVector,
        batch: Batch,
        began: float,
    ) -> None:
        """Move the field by the network's vote, and note the iteration."""
        problem, network, unsatisfied = result.problem, result.network, result.unsatisfied_count
        rate = self.dropout.rate_for(problem.example_count)
        vote = vote_of(rate, self.dropout.violation_decay, unsatisfied)
        self.field = moved_field(self.field, thinning, network, vote)
        is_acyclic = problem.topology.is_acyclic
        done = Iteration(
            number=len(self.history),
            dropped=dropped,
            example_count=problem.example_count,
            rows=batch.rows,
            weight_spins=network.weight_spins,
            bias_spins=network.bias_spins,
            violation_count=unsatisfied,
            vote=vote,
            energy=float(result.found_terms.total),
            accuracy=network.accuracy(problem.inputs, problem.outputs) if is_acyclic else None,
            weight_norm=float(np.linalg.norm(self.field.weights)),
            bias_norm=float(np.linalg.norm(self.field.biases)),
            solver=result.solver,
            seconds=self.watch.seconds - began,
        )
        self.history = (*self.history, done)

    # ---- the end ----

    def _finish(self, source: Iterator[Any], solver: Any) -> TrainingResult | None:
        """Train the whole network in the field, unless there is to be no final training."""
        if self.stop is Stop.INTERRUPTED or self.dropout.final == "none":
            return None
        if self.dropout.final == "batch":  # the next one; where there is none, the last stays
            for given in islice(source, 1):
                self.batch = checked(self.problem, given, len(self.history))
        limit = self._seconds_left()
        return train(
            self._final_problem(),
            solver,
            seed=self.seed,
            time_limit=None if limit is None else max(limit, 1e-3),
            progress=self._report_of(None),
            initial_networks=self.start,
        )

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
        inputs, outputs, _, weights = self.batch
        return replace(problem, inputs=inputs, outputs=outputs, example_weights=weights)

    # ---- of every training ----

    def _seconds_left(self, kept: float = 0) -> float | None:
        """Seconds for the next training; `kept` is the share of the time limit kept for later."""
        limit = self.watch.time_limit
        return None if limit is None else self.watch.seconds_left - kept * limit

    def _report_of(self, number: int | None) -> Report | bool:
        """Return the report function of iteration `number`, or, for None, the final training."""
        report = self.report
        if report is None:
            return False

        def pass_on(step: Progress) -> bool:
            done = replace(step, part=self._part(number, step.part), seconds=self.watch.seconds)
            self.is_asked_to_stop |= report(done) is True
            return self.is_asked_to_stop

        return pass_on

    def _part(self, number: int | None, part: float) -> float:
        """Return the part of the run that is done; all trainings count the same.

        Where the number of iterations is unknown, it is the part of the time limit, or 0 until the
        final training.
        """
        if self.count < inf:
            done = self.count if number is None else number
            return (done + part) / (self.count + (self.dropout.final != "none"))
        if number is None:
            return part
        return min(self.watch.seconds / (self.watch.time_limit or inf), 1.0)


# ---- votes, and networks with fewer or all nodes ----


def vote_of(learning_rate: float, violation_decay: float, violation_count: int) -> float:
    """Return eta * beta^nUSC: how far one network moves a strength.

    >>> vote_of(0.5, 0.1, 0), vote_of(0.5, 1, 7), vote_of(0.5, 0, 7)
    (0.5, 0.5, 0.0)
    """
    return float(learning_rate) * float(violation_decay) ** violation_count


def moved_field(field: Field, thinning: Thinning, network: BinaryNetwork, vote: float) -> Field:
    """Move the strengths of the parameters of a thinned network towards its spins.

    That is g(a, b) = a + eta * beta^nUSC * b for strength a and spin b. A weight moves if any of
    its arcs remains; one that several arcs share has one vote, like every other parameter.
    """
    weights, biases = field.weights.astype(np.float64), field.biases.astype(np.float64)
    weights[thinning.weight_of] += vote * network.weight_spins
    biases[thinning.neuron_of] += vote * network.bias_spins
    return Field(weights, biases)


def thinned_field(field: Field, thinning: Thinning) -> Field:
    """Return the strengths of the parameters that a thinned network still has."""
    return Field(field.weights[thinning.weight_of], field.biases[thinning.neuron_of])


def voted(topology: Topology, field: Field) -> BinaryNetwork:
    """Return the network that the field alone favours; a strength of 0 gives -1.

    Known weights and biases are as known.
    """
    spins = topology.with_known(sign(field.weights), sign(field.biases))
    return BinaryNetwork(topology, *spins)


def filled(
    topology: Topology, field: Field, thinning: Thinning, network: BinaryNetwork
) -> BinaryNetwork:
    """Return a thinned network made whole: dropped parameters get the sign of their strength."""
    weights, biases = topology.with_known(sign(field.weights), sign(field.biases))
    weights[thinning.weight_of] = network.weight_spins
    biases[thinning.neuron_of] = network.bias_spins
    return BinaryNetwork(topology, weights, biases)


def thinned(network: BinaryNetwork, thinning: Thinning) -> BinaryNetwork:
    """Return a whole network without the parameters that were removed."""
    return BinaryNetwork(
        thinning.topology,
        network.weight_spins[thinning.weight_of],
        network.bias_spins[thinning.neuron_of],
    )
