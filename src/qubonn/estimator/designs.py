"""Designs of networks, and the choice between them by examples that were left out of training.

Examples -> Design: sizes of hidden layers, levels of weights and thresholds, softness and decay.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import inf, nan

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix
from qubonn.encoding import CodeBook, Reading
from qubonn.encoding.automatic import ALL_SPINS
from qubonn.engines import ForwardAnnealing
from qubonn.engines.forward import measured_temperatures
from qubonn.estimator.default_engine import engine_for, target_margin
from qubonn.formulation import TrainingProblem
from qubonn.stopping import Progress, Report, Stop, Watch
from qubonn.topology import Topology
from qubonn.training import Committee, train
from qubonn.training.committee import is_right

FEWEST = 60  # examples; with fewer, the comparison says little
MOST = 3_000  # examples that are compared on
FOLDS = 3  # below `ENOUGH` every example is left out once, above a third of them
ENOUGH = 1_000
COMPARED_SWEEPS = 20
COMPARED_MEMBERS = 2  # networks with hidden layers gain by voting
CLEARLY = 2.0  # standard errors by which a design must be behind to be left out early
MANY_INPUTS = 300  # pixels or words; there the first design is rarely worse


@dataclass(frozen=True, kw_only=True)
class Design:
    """A network's layers and how it is trained.

    `weight_levels` and `threshold_levels` have a number for each layer, or one for all.
    `softness` and `lead`, the target margin in roots of an output's number of arcs, depend on the
    number of examples if they are None. `decay` is in units of the energy changes of random
    networks, which grow with the number of examples. `spins` is about the number of thresholds of
    all columns together, where the binariser is "auto".
    """

    hidden: tuple[int, ...] = (64,)
    weight_levels: int | tuple[int, ...] = 2
    threshold_levels: int | tuple[int, ...] = 2
    softness: float | None = None
    lead: float | None = None
    decay: float = 0.0
    spins: int = ALL_SPINS

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
LINEAR = Design(
    hidden=(), weight_levels=16, threshold_levels=513, lead=1.0, decay=0.03, spins=2_048
)
FIVE_LEVELS = Design(
    weight_levels=(5, 4), threshold_levels=(33, 2), softness=0.5, decay=0.1, spins=640
)
CANDIDATES = (
    PLAIN,
    LINEAR,
    replace(LINEAR, lead=0.5, decay=0.01),
    replace(FIVE_LEVELS, weight_levels=(3, 4), threshold_levels=(17, 2), decay=0.0),
    FIVE_LEVELS,
    replace(FIVE_LEVELS, hidden=(32,), decay=0.3),
)


def choose(
    designs: Sequence[Design],
    spins_for: Callable[[Design], SpinMatrix],
    class_of: NDArray[np.int64],
    book: CodeBook,
    *,
    seed: int,
    seconds: float = inf,
    report: Report | None = None,
) -> Design:
    """Return the design whose networks are right most often on examples left out of training.

    `spins_for` returns the input spins of all examples. The first design is returned if examples
    are too few to compare, or if inputs are many and the best is not better by more than the
    standard error. Designs that are clearly behind are left out early. After `seconds` what is
    known decides.
    """
    if len(class_of) < FEWEST or np.bincount(class_of).min() < FOLDS:
        return designs[0]
    folds = list(_folds(class_of, np.random.default_rng([seed, 2])))
    watch = Watch(time_limit=seconds if seconds < inf else None)
    found: dict[Design, NDArray[np.bool_]] = {}
    for number, fold in enumerate(folds):
        new: dict[Design, NDArray[np.bool_]] = {}
        compared = list(found or designs)
        for design in compared:
            right = _right(design, spins_for(design), class_of, book, fold, seed + number, watch)
            if right is None:
                return _best(found or new, spins_for, designs[0])
            new[design] = right
            if report is not None:
                part = (number + len(new) / len(compared)) / len(folds)
                report(Progress(part, nan, watch.seconds))
        joined = {one: np.append(found.get(one, right[:0]), right) for one, right in new.items()}
        found = _not_clearly_behind(joined)
    return _best(found, spins_for, designs[0])


def _not_clearly_behind(found: dict[Design, NDArray[np.bool_]]) -> dict[Design, NDArray[np.bool_]]:
    best = max(found.values(), key=np.mean)
    return {design: right for design, right in found.items() if not _is_ahead(best, right, CLEARLY)}


def _best(
    found: dict[Design, NDArray[np.bool_]],
    spins_for: Callable[[Design], SpinMatrix],
    first: Design,
) -> Design:
    """Return the design that is right most often, or the first if that one is as good."""
    if not found:
        return first
    best = max(found, key=lambda design: found[design].mean())
    is_wide = spins_for(first).shape[1] > MANY_INPUTS
    if first in found and not _is_ahead(found[best], found[first], 1.0 if is_wide else 0.0):
        return first
    return best


def _is_ahead(left: NDArray[np.bool_], right: NDArray[np.bool_], errors: float) -> bool:
    """Return whether the left is right more often by more than this many standard errors."""
    lead = left.astype(float) - right
    return bool(lead.mean() > errors * lead.std() / len(lead) ** 0.5)


def _right(
    design: Design,
    input_spins: SpinMatrix,
    class_of: NDArray[np.int64],
    book: CodeBook,
    fold: tuple[NDArray[np.int64], NDArray[np.int64]],
    seed: int,
    watch: Watch,
) -> NDArray[np.bool_] | None:
    """Return for each example left out whether networks trained without it are right.

    None if the time is over before all are trained.
    """
    shown, left_out = fold
    topology = design.topology(input_spins.shape[1], book.spin_count)
    problem = TrainingProblem(topology, input_spins[shown], book.codewords[class_of[shown]])
    engine = design.engine(problem, book.reading, is_alone=False)
    problem = design.with_decay(problem, engine)
    engine = replace(engine, sweep_count=COMPARED_SWEEPS)
    networks = []
    for member in range(COMPARED_MEMBERS if design.hidden else 1):
        left = watch.seconds_left
        if left <= 0:
            return None
        limit = left if left < inf else None
        result = train(problem, engine, seed=seed + 1_000 * member, time_limit=limit)
        if result.stop is Stop.INTERRUPTED:
            raise KeyboardInterrupt  # the engine returns what it has; here that is of no use
        if result.stop is Stop.TIME_LIMIT:
            return None
        networks.append(result.network)
    committee = Committee(networks, book.reading)
    actual = book.codewords[class_of[left_out]]
    return np.asarray(is_right(committee, book, input_spins[left_out], actual))


def _folds(
    class_of: NDArray[np.int64], generator: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield examples to train on and examples to leave out, classes in equal shares."""
    rows = generator.permutation(len(class_of))[:MOST]
    rows = rows[np.argsort(class_of[rows], kind="stable")]
    fold_of = np.arange(len(rows)) % FOLDS
    for fold in range(FOLDS if len(rows) < ENOUGH else 1):
        yield rows[fold_of != fold], rows[fold_of == fold]
