"""Designs of networks, and the choice between them by examples that were left out of training.

Examples -> Design (hidden layers, levels of weights and thresholds, softness, decay), Calibration.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from math import inf, nan
from threading import Event, Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix
from qubonn.encoding import CodeBook, Reading
from qubonn.encoding.automatic import ALL_SPINS, COLUMN_SPINS
from qubonn.engines import ForwardAnnealing, InputShifts
from qubonn.engines.forward import measured_temperatures, with_decay
from qubonn.estimator.default_engine import engine_for, target_margin
from qubonn.formulation import TrainingProblem
from qubonn.network import BinaryNetwork
from qubonn.stopping import Progress, Report, Stop, Watch, uninterrupted
from qubonn.topology import Topology
from qubonn.training import Committee, train
from qubonn.training.calibration import Calibration
from qubonn.training.committee import NO_CALIBRATION, class_scores

FEWEST = 60  # examples; with fewer, the comparison says little
MOST = 3_000  # examples that are compared on
FOLDS = 3  # below `ENOUGH` every example is left out once, above a third of them
ENOUGH = 1_000
COMPARED_SWEEPS = 20
COMPARED_MEMBERS = 2  # networks with hidden layers gain by voting
CLEARLY = 2.0  # standard errors by which a design must be behind to be left out early
MANY_INPUTS = 300  # pixels or words; there the first design is rarely worse
WIDE = 1_000  # inputs; there hidden neurons of several levels take long and gain little


@dataclass(frozen=True, kw_only=True)
class Design:
    """A network's layers and how it is trained.

    `weight_levels` and `threshold_levels` have a number for each layer, or one for all; thresholds
    have more levels with more inputs if they are None. `softness`, `lead`, the target margin in
    roots of an output's number of arcs, and `sweeps` depend on the number of examples if they are
    None; `output_softness` is that of leads. `decay` is in units of the energy changes of random
    networks, which grow with the number of examples. Where the binariser is "auto", `spins` is
    about the number of thresholds of all columns together, and `column_spins` the most of a column;
    with `segments` those of a column of numbers are at equal distances, and those of each of this
    number of parts share their weights: a piecewise linear function of the column.
    `members` is the size of a committee that is not given.
    """

    hidden: tuple[int, ...] = (64,)
    weight_levels: int | tuple[int, ...] = 2
    threshold_levels: int | tuple[int, ...] | None = 2
    softness: float | None = None
    output_softness: float | None = None
    lead: float | None = None
    decay: float = 0.0
    spins: int = ALL_SPINS
    column_spins: int = COLUMN_SPINS
    sweeps: int | None = None
    members: int = 10
    segments: int | None = None

    @property
    def layout(self) -> "Design":
        """Return a design of the same encoder and topology, the same for all of them."""
        return Design(
            hidden=self.hidden,
            weight_levels=self.weight_levels,
            threshold_levels=self.threshold_levels,
            spins=self.spins,
            column_spins=self.column_spins,
            segments=self.segments,
        )

    def size_of(self, committee_size: int | str) -> int:
        """Return the number of networks that vote, "auto" or given."""
        return self.members if isinstance(committee_size, str) else committee_size

    def engine(
        self,
        problem: TrainingProblem,
        reading: Reading,
        *,
        is_alone: bool,
        copy_count: int = 1,
        noise: InputShifts | None = None,
    ) -> ForwardAnnealing:
        """Return the engine for a problem of this design, as `engine_for` does."""
        engine = engine_for(problem, reading, is_alone=is_alone, copy_count=copy_count, noise=noise)
        if self.softness is not None:
            engine = replace(engine, softness=self.softness)
        if self.sweeps is not None:
            engine = replace(engine, sweep_count=self.sweeps)
        if self.lead is not None and reading == "largest":
            target = target_margin(problem.topology, self.lead)
            engine = replace(engine, target_margin=target, output_softness=self.output_softness)
        return engine

    def with_decay(self, problem: TrainingProblem, engine: ForwardAnnealing) -> TrainingProblem:
        """Return the problem with the strength of decay that the engine's energies require."""
        if not self.decay:
            return problem
        sizes, _ = measured_temperatures(problem, engine)  # of the first hidden layer first
        return with_decay(problem, self.decay * float(sizes[0]) / 4)


ALL_EVEN, COLUMN_EVEN = 2_048, 31  # thresholds at equal distances

# Chosen on the tuning tables of benchmarks/tables; docs/when_to_use.md has measurements on others.
PLAIN = Design()
LINEAR = Design(
    hidden=(),
    weight_levels=16,
    threshold_levels=None,
    output_softness=1.0,
    lead=1.0,
    decay=0.03,
    spins=1_024,
    column_spins=63,
    sweeps=20,
    members=1,
)
THREE_LEVELS = Design(
    weight_levels=(3, 4), threshold_levels=(17, 2), softness=0.5, spins=256, members=4
)
FIVE_LEVELS = replace(THREE_LEVELS, weight_levels=(5, 4), threshold_levels=(33, 2), decay=0.1)
CURVES = replace(
    LINEAR,
    weight_levels=33,
    threshold_levels=513,
    decay=0.01,
    segments=8,
    spins=ALL_EVEN,
    column_spins=COLUMN_EVEN,
)
SLOPES = replace(CURVES, weight_levels=65, decay=0.0, segments=1)
GROUPED = Design(
    hidden=(128,),
    weight_levels=5,
    threshold_levels=(33, 2),
    softness=0.15,
    lead=2.0,
    decay=0.15,
    sweeps=40,
    members=4,
    segments=1,
    spins=ALL_EVEN,
    column_spins=COLUMN_EVEN,
)
CANDIDATES = (
    PLAIN,
    LINEAR,
    replace(LINEAR, decay=0.1),
    CURVES,
    replace(CURVES, decay=0.001, column_spins=63),
    SLOPES,
    THREE_LEVELS,
    FIVE_LEVELS,
    replace(FIVE_LEVELS, hidden=(32,), decay=0.3),
    GROUPED,
    replace(GROUPED, decay=0.02),
)


MANY_CLASSES = 10  # with more, hidden neurons whose columns have one weight each are doubled


def candidates(*, class_count: int, is_numeric: bool) -> list[Design]:
    """Return the designs to compare; thresholds share weights only if all columns are numbers."""
    designs = [one for one in CANDIDATES if is_numeric or one.segments is None]
    if class_count <= MANY_CLASSES:
        return designs
    wider = replace(GROUPED, hidden=(256,), decay=0.1)
    return [wider if one == GROUPED else one for one in designs]


Held = dict[Design, NDArray[np.float64]]  # scores of the examples left out so far


@dataclass(frozen=True, eq=False)
class Examples:
    """What designs are compared on: the spins and the topology of each."""

    spins_for: Callable[[Design], SpinMatrix]
    topology_for: Callable[[Design], Topology]
    class_of: NDArray[np.int64]
    book: CodeBook
    weights: NDArray[Any] | None = None

    def problem(self, design: Design, rows: NDArray[np.int64]) -> TrainingProblem:
        """Return the problem of some examples."""
        spins, weights = self.spins_for(design)[rows], self.weights
        return TrainingProblem(
            self.topology_for(design),
            spins,
            self.book.codewords[self.class_of[rows]],
            example_weights=None if weights is None else weights[rows],
        )


@dataclass(frozen=True, eq=False)
class Choice:
    """A design, and the calibration of its networks on the examples left out."""

    design: Design
    calibration: Calibration = NO_CALIBRATION


def choose(
    designs: Sequence[Design],
    examples: Examples,
    *,
    seed: int,
    seconds: float = inf,
    report: Report | None = None,
) -> Choice:
    """Return the design whose networks are right most often on examples left out of training.

    The first design is returned if examples are too few to compare, or if inputs are many and the
    best is not better by more than the standard error. Designs that are clearly behind are left out
    early. After `seconds` what is known decides.
    """
    class_of = examples.class_of
    if len(class_of) < FEWEST or np.bincount(class_of).min() < FOLDS:
        return Choice(designs[0])
    if examples.spins_for(designs[0]).shape[1] > WIDE:
        designs = [designs[0], *(design for design in designs[1:] if not design.hidden)]
    folds = list(_folds(class_of, np.random.default_rng([seed, 2])))
    watch = Watch(time_limit=seconds if seconds < inf else None)
    found: Held = {}
    rows = np.zeros(0, dtype=np.int64)
    for number, fold in enumerate(folds):
        compared = list(found or designs)

        def show(count: int, number: int = number, compared: list[Design] = compared) -> None:
            if report is not None:
                part = (number + count / len(compared)) / len(folds)
                report(Progress(part, nan, watch.seconds))

        new, left_out = _scores(compared, examples, fold, seed + number, watch, show), fold[1]
        if len(new) < len(compared):  # the time is over
            return _chosen(found or new, rows if found else left_out, designs, examples)
        rows = np.append(rows, left_out)
        joined = {
            one: np.concatenate([found.get(one, scores[:0]), scores]) for one, scores in new.items()
        }
        found = _not_clearly_behind(joined, rows, examples)
    return _chosen(found, rows, designs, examples)


def _scores(
    designs: Sequence[Design],
    examples: Examples,
    fold: tuple[NDArray[np.int64], NDArray[np.int64]],
    seed: int,
    watch: Watch,
    show: Callable[[int], None],
) -> Held:
    """Return the scores of left-out examples, without designs for which the time is too short.

    Designs are trained in threads; Ctrl-C, or an error of one, ends all.
    """
    found, lock, is_over = Held(), Lock(), Event()
    (shown, left_out), book = fold, examples.book

    def evaluate(design: Design) -> None:
        with lock:  # spins and topologies are made once
            problem = examples.problem(design, shown)
            spins = examples.spins_for(design)[left_out]
        networks = _networks(design, problem, book, seed, watch, is_over)
        if networks is None:
            return
        committee = Committee(networks, book.reading)
        scores = class_scores(committee, book, committee.votes(spins))
        with lock:
            found[design] = scores
            show(len(found))

    def evaluate_some(first: int, end: int, thread: int) -> None:
        try:
            for design in designs[first:end]:
                evaluate(design)
        except BaseException:
            is_over.set()
            raise

    import_module("qubonn.simd.threads").share(evaluate_some, len(designs))
    return {design: found[design] for design in designs if design in found}


def _right(scores: NDArray[np.float64], rows: NDArray[np.int64], examples: Examples) -> Any:
    """Return the weight of each example whose class has the largest score, 0 of the others."""
    is_right = scores.argmax(axis=1) == examples.class_of[rows]
    return is_right * (1.0 if examples.weights is None else examples.weights[rows])


def _not_clearly_behind(found: Held, rows: NDArray[np.int64], examples: Examples) -> Held:
    right = {design: _right(scores, rows, examples) for design, scores in found.items()}
    best = max(right.values(), key=np.mean)
    return {one: found[one] for one in found if not _is_ahead(best, right[one], CLEARLY)}


def _chosen(
    found: Held, rows: NDArray[np.int64], designs: Sequence[Design], examples: Examples
) -> Choice:
    """Return the design that is right most often, or the first if that one is as good."""
    if not found:
        return Choice(designs[0])
    first, right = designs[0], {one: _right(found[one], rows, examples) for one in found}
    best = max(right, key=lambda design: float(right[design].mean()))
    is_wide = examples.spins_for(first).shape[1] > MANY_INPUTS
    if first in right and not _is_ahead(right[best], right[first], 1.0 if is_wide else 0.0):
        best = first
    weights = None if examples.weights is None else examples.weights[rows]
    has_pulls = examples.book.reading == "largest"
    given = found[best], examples.class_of[rows], weights
    return Choice(best, Calibration.fit(*given, has_pulls=has_pulls))


def _is_ahead(left: NDArray[Any], right: NDArray[Any], errors: float) -> bool:
    """Return whether the left mean is larger by more than this many standard errors."""
    lead = left - right
    return bool(lead.mean() > errors * lead.std() / len(lead) ** 0.5)


def _networks(
    design: Design, problem: TrainingProblem, book: CodeBook, seed: int, watch: Watch, stop: Event
) -> Sequence[BinaryNetwork] | None:
    """Return networks that are trained quickly; None if the time is over before they are."""
    engine = design.engine(problem, book.reading, is_alone=False)
    problem = design.with_decay(problem, engine)
    members = COMPARED_MEMBERS if design.hidden else 1
    engine = replace(engine, sweep_count=COMPARED_SWEEPS, replica_count=members, thread_count=1)
    left = watch.seconds_left
    if left <= 0:
        return None
    options: dict[str, Any] = {"seed": seed, "time_limit": left if left < inf else None}
    result = uninterrupted(train(problem, engine, **options, progress=lambda _: stop.is_set()))
    return None if result.stop is Stop.TIME_LIMIT else result.networks


def _folds(
    class_of: NDArray[np.int64], generator: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Yield examples to train on and examples to leave out, classes in equal shares."""
    rows = generator.permutation(len(class_of))[:MOST]
    rows = rows[np.argsort(class_of[rows], kind="stable")]
    fold_of = np.arange(len(rows)) % FOLDS
    for fold in range(FOLDS if len(rows) < ENOUGH else 1):
        yield rows[fold_of != fold], rows[fold_of == fold]
