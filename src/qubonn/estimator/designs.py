"""Designs of networks, and the choice between them by examples that were left out of training.

Examples -> Design: sizes of hidden layers, levels of weights and thresholds, softness and decay.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np
from numpy.typing import NDArray

from qubonn.encoding import CodeBook, Reading
from qubonn.engines import ForwardAnnealing
from qubonn.engines.forward import measured_temperatures
from qubonn.estimator.default_engine import engine_for, target_margin
from qubonn.formulation import TrainingProblem
from qubonn.stopping import Stop, Watch
from qubonn.topology import Topology
from qubonn.training import Committee, train
from qubonn.training.committee import is_right

FEWEST = 60  # examples; with fewer, the comparison says little
MOST = 3_000  # examples that are compared on
FOLDS = 3  # below `ENOUGH` every example is left out once, above a third of them
ENOUGH = 1_000
COMPARED_SWEEPS = 20
COMPARED_MEMBERS = 2  # networks with hidden layers gain by voting
MANY_INPUTS = 300  # pixels or words; there the first design is rarely worse


@dataclass(frozen=True, kw_only=True)
class Design:
    """A network's layers and how it is trained.

    `weight_levels` and `threshold_levels` have a number for each layer, or one for all.
    `softness` and `lead`, the target margin in roots of an output's number of arcs, depend on the
    number of examples if they are None. `decay` is in units of the energy changes of random
    networks, which grow with the number of examples.
    """

    hidden: tuple[int, ...] = (64,)
    weight_levels: int | tuple[int, ...] = 2
    threshold_levels: int | tuple[int, ...] = 2
    softness: float | None = None
    lead: float | None = None
    decay: float = 0.0

    def topology(self, input_count: int, output_count: int) -> Topology:
        """Return the network between these inputs and outputs."""
        return Topology.dense(
            input_count,
            *self.hidden,
            output_count,
            weight_levels=self.weight_levels,
            threshold_levels=self.threshold_levels,
        )

    def engine(
        self, problem: TrainingProblem, reading: Reading, *, is_alone: bool, copy_count: int = 1
    ) -> ForwardAnnealing:
        """Return the engine for a problem of this design."""
        engine = engine_for(problem, reading, is_alone=is_alone, copy_count=copy_count)
        if self.softness is not None:
            engine = replace(engine, softness=self.softness)
        if self.lead is not None and reading == "largest":
            engine = replace(engine, target_margin=target_margin(problem.topology, self.lead))
        return engine

    def with_decay(self, problem: TrainingProblem, engine: ForwardAnnealing) -> TrainingProblem:
        """Return the problem with the strength of decay that the engine's energies require."""
        if not self.decay:
            return problem
        sizes, _ = measured_temperatures(problem, engine)  # of the first hidden layer first
        return replace(problem, decay_strength=self.decay * float(sizes[0]) / 4)


# Chosen on the tuning tables of benchmarks/tables; docs/when_to_use.md has measurements on others.
PLAIN = Design()
CANDIDATES = (
    PLAIN,
    Design(hidden=(), weight_levels=17, threshold_levels=33, lead=0.5, decay=0.05),
    Design(hidden=(), weight_levels=17, threshold_levels=33, lead=3.0, decay=0.05),
    Design(weight_levels=(3, 4), threshold_levels=(17, 2), softness=0.5),
    Design(weight_levels=(5, 4), threshold_levels=(33, 2), softness=0.5, decay=0.1),
    Design(hidden=(32,), weight_levels=(5, 4), threshold_levels=(33, 2), softness=0.5, decay=0.3),
)


def choose(
    designs: Sequence[Design],
    input_spins: NDArray[np.int8],
    class_of: NDArray[np.int64],
    book: CodeBook,
    *,
    seed: int,
    seconds: float = inf,
) -> Design:
    """Return the design whose networks are right most often on examples left out of training.

    It is the first design if examples are too few to compare, or if inputs are many and the best
    is not better by more than the standard error. Only designs that are done in `seconds` count.
    """
    if len(class_of) < FEWEST or np.bincount(class_of).min() < FOLDS:
        return designs[0]
    folds = list(_folds(class_of, np.random.default_rng([seed, 2])))
    found: list[NDArray[np.bool_]] = []
    watch = Watch(time_limit=seconds if seconds < inf else None)
    for design in designs:
        right = _right(design, input_spins, class_of, book, folds, seed, watch)
        if right is None:
            break
        found.append(right)
    if not found:
        return designs[0]
    best = int(np.mean(found, axis=1).argmax())
    lead = found[best].astype(float) - found[0]
    error = lead.std() / len(lead) ** 0.5 if input_spins.shape[1] > MANY_INPUTS else 0.0
    return designs[best if lead.mean() > error else 0]


def _right(
    design: Design,
    input_spins: NDArray[np.int8],
    class_of: NDArray[np.int64],
    book: CodeBook,
    folds: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]],
    seed: int,
    watch: Watch,
) -> NDArray[np.bool_] | None:
    """Return for each example left out whether networks trained without it are right.

    None if the time is over before all are trained.
    """
    topology = design.topology(input_spins.shape[1], book.spin_count)
    found = []
    members = COMPARED_MEMBERS if design.hidden else 1
    for number, (shown, left_out) in enumerate(folds):
        problem = TrainingProblem(topology, input_spins[shown], book.codewords[class_of[shown]])
        engine = design.engine(problem, book.reading, is_alone=False)
        problem = design.with_decay(problem, engine)
        engine = replace(engine, sweep_count=COMPARED_SWEEPS)
        seeds = [seed + number * members + member for member in range(members)]
        networks = []
        for one in seeds:
            left = watch.seconds_left
            if left <= 0:
                return None
            limit = left if left < inf else None
            result = train(problem, engine, seed=one, time_limit=limit)
            if result.stop is Stop.INTERRUPTED:
                raise KeyboardInterrupt  # the engine returns what it has; here that is of no use
            if result.stop is Stop.TIME_LIMIT:
                return None
            networks.append(result.network)
        committee = Committee(networks, book.reading)
        actual = book.codewords[class_of[left_out]]
        found.append(is_right(committee, book, input_spins[left_out], actual))
    return np.concatenate(found)


def _folds(
    class_of: NDArray[np.int64], generator: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield examples to train on and examples to leave out, classes in equal shares."""
    rows = generator.permutation(len(class_of))[:MOST]
    rows = rows[np.argsort(class_of[rows], kind="stable")]
    fold_of = np.arange(len(rows)) % FOLDS
    for fold in range(FOLDS if len(rows) < ENOUGH else 1):
        yield rows[fold_of != fold], rows[fold_of == fold]
