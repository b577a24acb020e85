"""QuboClassifier: a committee of networks of -1 and +1 behind scikit-learn's interface.

X, y -> binariser, code book, committee -> classes and their probabilities.
"""

import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from qubonn import __version__
from qubonn.checks import require_count, require_strength
from qubonn.encoding import Thermometer
from qubonn.encoding.automatic import is_sparse, spin_blocks
from qubonn.encoding.shifts import MOST_IMAGES, copy_count, shift_for, with_shifts
from qubonn.errors import FitInterrupted, RangeError, TopologyError, Underfitted
from qubonn.estimator.default_engine import compile_kernels, hidden_sizes
from qubonn.estimator.designs import (
    FEWEST,
    PLAIN,
    Choice,
    Design,
    Examples,
    candidates,
    choose,
)
from qubonn.estimator.examples import (
    LabelledRows,
    checked_examples,
    checked_inputs,
    example_weights,
)
from qubonn.estimator.members import (
    Member,
    Recipe,
    continued,
    dropout_for,
    member_seeds,
    root_seed,
    train_members,
)
from qubonn.estimator.plan import Encoding, Encodings, flattened, layer_sizes
from qubonn.formulation import TrainingProblem
from qubonn.stopping import Watch
from qubonn.topology import Topology
from qubonn.training import Committee
from qubonn.training.calibration import Calibration
from qubonn.training.committee import NO_CALIBRATION, class_scores
from qubonn.training.one_shot import reporting

COMPARING_SHARE = 0.2  # of a time limit
ENOUGH_TO_WARN = 100  # examples
CLOSE_TO_MAJORITY = 0.1  # of the way from the largest class to no errors


class QuboClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify with a committee of networks whose weights, biases and activations are -1 or +1.

    Parameters
    ----------
    hidden : "auto", int or tuple of int
        Neurons in each hidden layer. With "auto" a few designs are compared on examples left out
        of training, and the best is used: up to 256 neurons with weights of 2, 3 or 5 levels, or
        none with up to 65, thresholds, and different amounts of decay. It is 64 plain neurons if
        there are fewer than 60 examples, if `X` are images, or if levels, topology, dropout or
        solver are given.
    weight_levels, threshold_levels : "auto", int or tuple of int
        Number of values of a weight, and of a neuron's threshold, in all layers or in each layer
        after the inputs; 2 are -1 and +1, as in the paper. See `Topology.dense`. "auto" is chosen
        together with `hidden`, and is 2 if `hidden` is given.
    weight_decay : "auto" or float
        How much weights of several levels are drawn to zero, such as 0.03 to 0.5. With an odd
        number of levels a weight can be zero, and then costs nothing in a circuit. "auto" is
        chosen together with `hidden`, and is 0 if `hidden` or levels are given.
    topology : Topology or str, optional
        Any acyclic network in place of dense layers, or the paper's notation such as
        "conv(3x3x2)+fc(4)", which needs images.
    image_shape : tuple of int, optional
        (rows, columns) or (channels, rows, columns) of the image in each row of `X`. Not needed
        if `X` is examples x rows x columns or examples x channels x rows x columns.
    shifts : "auto" or int
        Train also on each image shifted by up to this many pixels in each direction. "auto" is one
        pixel for at most 5,000 images and 4,000,000 pixels in all, with sides of 24 pixels or more,
        unless a Topology, dropout or solver is given; otherwise 0. Of more than 5,000 images no
        copies are made: sweeps see growing batches of all copies. "auto" does this if every hidden
        layer has 128 neurons or more. Members report on the original images.
    binariser : {"auto", "threshold", "thermometer"}, int or encoder
        How columns become spins. "auto": spins and bits are kept; columns of few distinct numbers
        get a threshold between any two; other columns get thresholds at quantiles, up to 31 per
        column and about 256 in all, or 63 and 1,024 if the design has no hidden layer, but at least
        one per column. Designs whose thresholds share weights have up to 31 per column, at equal
        distances. An int is the number of thresholds per column. A word has a spin of its own, and
        so have the missing cells of a column.
    label_code : {"auto", "one_hot", "gray_code"} or CodeBook
        How classes become outputs. "auto" is one-hot: the largest output is the prediction.
    margin_strength : float
        gamma, the reward for pre-activations far from zero. The default solver does not need it.
    dropout : float or Dropout, optional
        The paper's dropout algorithm: the share of inputs and hidden neurons to drop in each of ten
        iterations, or a `Dropout` with all settings.
    solver : "auto", engine or sampler
        A solver of `qubonn.train`; "auto" is a short `ForwardAnnealing` with soft neurons, set by
        the number of examples, in growing batches if there are more than 10,000. A member is the
        best network of one run.
    class_weight : "balanced", dict or None
        Weights of the classes, as everywhere in scikit-learn. They multiply the energies of the
        examples, and so do the `sample_weight` of `fit`.
    committee_size : "auto" or int
        Number of networks that vote. "auto" is 10 for plain networks; for others that are chosen
        by `hidden` it is 4, or 1 without hidden layer, which gains little by voting.
    time_limit : float, optional
        Seconds for `fit`. "auto" then cools faster if necessary, and members that cannot start in
        time are left out. The first compilation of the kernels on a machine is not counted.
    random_state : int, RandomState, Generator or None
        An int gives the same committee each time, for any `n_jobs` and on any machine.
    warm_start : bool
        Keep the members of the last `fit` and train only the missing ones, for example after Ctrl-C
        or for a larger `committee_size`.
    n_jobs : int or None
        Members trained at the same time, by joblib; on a Dask cluster with
        ``joblib.parallel_config(backend="dask")``. With None, the default solver and no time limit
        there is a thread for each core. If there is one member only, threads that train it
        together; None is one thread.
    verbose : bool
        Show the progress: a bar on a terminal, otherwise a line from time to time.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    committee_ : Committee
        The networks; ``committee_.predict_outputs(binariser_.encode(X))`` are their outputs.
    binariser_, code_book_ : encoder, CodeBook
        How numbers become spins, and classes outputs.
    members_ : tuple of Member
        What training reported about each network: wrong outputs, energy, seconds, why it stopped.
    violation_count_ : int
        Outputs of the best member that differ from the label code on the training examples. With
        a one-hot code all classes can be right nevertheless: the largest output may be negative.
    design_ : Design or None
        Layers, levels, softness and decay that were used; None if a topology was given.
    calibration_ : Calibration
        How much votes count; set on left-out examples if there are 60 or more, with at least three
        of each class, and `solver` is "auto" without dropout.
    shift_ : int
        By how many pixels images were shifted.
    is_interrupted_ : bool
        Whether Ctrl-C ended the training.
    example_count_, version_ : int or None, str or None
        Number of training examples, and the version of qubonn; None if a file does not have them.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> classifier = QuboClassifier(committee_size=3, random_state=0).fit(X[::2], y[::2])
    >>> classifier.score(X[1::2], y[1::2]) > 0.9
    True
    """

    def __init__(
        self,
        hidden: Any = "auto",
        *,
        weight_levels: Any = "auto",
        threshold_levels: Any = "auto",
        weight_decay: Any = "auto",
        topology: Any = None,
        image_shape: Any = None,
        shifts: Any = "auto",
        binariser: Any = "auto",
        label_code: Any = "auto",
        margin_strength: float = 0.0,
        dropout: Any = None,
        solver: Any = "auto",
        class_weight: Any = None,
        committee_size: Any = "auto",
        time_limit: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.hidden = hidden
        self.weight_levels = weight_levels
        self.threshold_levels = threshold_levels
        self.weight_decay = weight_decay
        self.topology = topology
        self.image_shape = image_shape
        self.shifts = shifts
        self.binariser = binariser
        self.label_code = label_code
        self.margin_strength = margin_strength
        self.dropout = dropout
        self.solver = solver
        self.class_weight = class_weight
        self.committee_size = committee_size
        self.time_limit = time_limit
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> "QuboClassifier":
        """Choose binariser, label code and design, then train the committee.

        `X` is an array, a DataFrame or a sparse matrix: numbers, text, truth values, missing cells.
        An example of weight 2 is the same as the example twice, and one of weight 0 is left out.
        Ctrl-C keeps the members that are complete, or else the best network of the running one, and
        warns with `FitInterrupted`.
        """
        return self._fit(X, y, sample_weight, None)

    def partial_fit(
        self,
        X: Any,
        y: ArrayLike,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> "QuboClassifier":
        """Train on further examples, starting from the networks of the calls before.

        The first call is a `fit` that chooses binariser, design and calibration; it needs all
        `classes` if some are missing in `y`. Later ones anneal each network on the new examples,
        with a field that holds its weights the more, the more examples came before. Ctrl-C leaves
        the classifier as it was before the call.
        """
        if not hasattr(self, "committee_"):
            return self._fit(X, y, sample_weight, classes)
        rows, _ = flattened(X, self.image_shape)
        numbers, labels = checked_examples(self, rows, y, reset=False)
        if classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise RangeError(
                f"classes must be those of the first call, {self.classes_.tolist()!r:.60}; "
                f"got {classes!r:.60}"
            )
        class_of = self.code_book_.class_numbers(labels)
        weights = example_weights(self.class_weight, labels, sample_weight)
        topology = self.committee_.members[0].topology
        encoding = Encoding(self.binariser_, self.code_book_, topology)
        strengths = {"margin_strength": self.margin_strength, "example_weights": weights}
        problem = encoding.problem(numbers, class_of, **strengths)
        recipe = Recipe(self.solver, encoding.book, design=self.design_ or PLAIN)
        before = self.example_count_ or 0
        members = continued(problem, recipe, self.members_, before)
        return set_fitted(
            self,
            encoding,
            members,
            design=self.design_,
            calibration=self.calibration_,
            shift=self.shift_,
            example_count=before + len(class_of),
            version=__version__,
        )

    def _fit(
        self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None, classes: ArrayLike | None
    ) -> "QuboClassifier":
        if self.committee_size != "auto":
            require_count("committee_size", self.committee_size)
        require_strength("margin_strength", self.margin_strength)
        watch = Watch(time_limit=self.time_limit)
        kept = self._members_to_keep()
        seed = root_seed(self.random_state)
        examples = self._given(X, y, sample_weight, classes, is_new=not kept)
        plan = self._plan(examples, is_new=not kept, seed=seed, watch=watch)
        problem, recipe = plan.problem, plan.recipe
        size = recipe.design.size_of(self.committee_size)
        _require_missing(kept, size)
        seeds = member_seeds(seed, size)
        with reporting(bool(self.verbose), "members of the committee") as report:
            trained, is_interrupted = train_members(
                problem,
                recipe,
                {number: seed for number, seed in seeds.items() if number not in kept},
                n_jobs=self.n_jobs,
                time_limit=watch.seconds_left,
                report=report,
            )
            members = [*kept.values(), *trained]
            if not members:
                raise KeyboardInterrupt  # inside the block: the progress is not done
        design = recipe.design if self.topology is None else None
        set_fitted(
            self,
            plan.encoding,
            members,
            shift=plan.shift,
            design=design,
            calibration=plan.calibration,
            is_interrupted=is_interrupted,
            example_count=problem.example_count // recipe.copy_count,
            version=__version__,
        )
        if is_interrupted:
            self._warn_of_interruption(size)
        self._warn_of_underfitting(problem)
        return self

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Return log probabilities of each class, up to a constant for each example.

        Examples x classes; for two classes a vector, the log odds of the second.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Return the probability of each class, examples x classes, from the committee's votes.

        With a one-hot code a member's probabilities are the softmax of its output sums, each
        divided by 0.6 times the root of its number of terms, and the committee's are their
        geometric mean. With another code each output is +1 with the share of members whose output
        is +1, half a vote added on both sides. Then `calibration_`, set on examples left out of
        training, makes them more or less certain.
        """
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the likeliest class of each example; of equals, the first in `classes_`."""
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file without pickle; ``qubonn.load`` reads it."""
        from qubonn.estimator.files import save_classifier

        check_is_fitted(self)
        save_classifier(self, path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # not `categorical`: scikit-learn's checks then round all numbers
        tags.input_tags.allow_nan = tags.input_tags.sparse = True
        return tags

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "committee_")

    def _scores(self, X: Any) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows, _ = flattened(X, None)
        blocks = spin_blocks(self.binariser_, checked_inputs(self, rows))
        votes = np.concatenate([self.committee_.votes(spins) for spins in blocks])
        return class_scores(self.committee_, self.code_book_, votes, self.calibration_)

    def _members_to_keep(self) -> dict[int, Member]:
        """Return the complete members of an earlier fit, if `warm_start` keeps them."""
        if not (self.warm_start and hasattr(self, "committee_")):
            return {}
        return {member.number: member for member in self.members_ if member.is_complete}

    def _given(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        classes: ArrayLike | None,
        *,
        is_new: bool,
    ) -> LabelledRows:
        """Return the checked examples; unless `is_new`, `y` must hold the classes that are kept."""
        rows, image_shape = flattened(X, self.image_shape)
        numbers, labels = checked_examples(self, rows, y, reset=is_new)
        weights = example_weights(self.class_weight, labels, sample_weight)
        kept = None if is_new else self.classes_
        return LabelledRows.of(numbers, labels, weights, image_shape, classes=classes, kept=kept)

    def _plan(self, examples: LabelledRows, *, is_new: bool, seed: int, watch: Watch) -> "Plan":
        """Return what to train, and how; unless `is_new`, as the members that are kept."""
        codes = {"binariser": self.binariser, "label_code": self.label_code}
        design = self._given_design()
        if not is_new:
            codes = {"binariser": self.binariser_, "label_code": self.code_book_}
            if self._is_automatic and self.design_ is not None:
                design = self.design_
        encodings = Encodings(examples, self.topology, **codes)
        encoding = encodings.of(design)
        image_shape, count = examples.image_shape, len(examples.class_of)
        dropout = dropout_for(self.dropout, encoding.topology)
        is_auto = isinstance(self.solver, str) and self.solver == "auto" and dropout is None
        is_usual = self.topology is None and is_auto
        has_layers = is_usual or (isinstance(self.topology, str) and is_auto)
        is_bit = image_shape is not None and encoding.topology.column_count == prod(image_shape)
        width = min(hidden_sizes(encoding.topology), default=0) if is_bit else 0
        shift = shift_for(self.shifts, image_shape, count, is_usual=has_layers, width=width)
        calibration = NO_CALIBRATION
        if not is_new:
            shift = self._kept_shift(encoding.topology, shift, is_image=image_shape is not None)
            calibration = self.calibration_
        elif is_auto:
            is_open = is_usual and image_shape is None and self._is_automatic
            designs = _candidates(encoding, examples) if is_open else [design]
            choice = self._choice(designs, encodings, seed, watch)
            design, calibration = choice.design, choice.calibration
            encoding = encodings.of(design)
        noise = encoding.shifts_of_spins(image_shape, shift) if is_auto else None
        copied = shift if noise is None or count <= MOST_IMAGES else 0
        problem = encoding.problem(
            *with_shifts(examples.numbers, examples.class_of, image_shape, copied),
            margin_strength=self.margin_strength,
            example_weights=None
            if examples.weights is None
            else np.tile(examples.weights, copy_count(copied)),
        )
        is_alone = self.committee_size == 1
        recipe = Recipe(
            self.solver,
            encoding.book,
            dropout,
            is_alone,
            copy_count(copied),
            design,
            noise=None if copied else noise,
        )
        if is_usual:
            problem = design.with_decay(problem, recipe.default_engine(problem))
        return Plan(encoding, problem, recipe, shift, calibration)

    @property
    def _is_automatic(self) -> bool:
        """Whether layers and levels are all to be chosen by data."""
        choices = self.hidden, self.weight_levels, self.threshold_levels, self.weight_decay
        return all(isinstance(choice, str) and choice == "auto" for choice in choices)

    def _given_design(self) -> Design:
        """Return the design that the arguments name; "auto" is that of plain networks."""
        is_given = {
            name: not (isinstance(value := getattr(self, name), str) and value == "auto")
            for name in ("hidden", "weight_levels", "threshold_levels")
        }
        given: dict[str, Any] = {name: getattr(self, name) for name in is_given if is_given[name]}
        if is_given["hidden"]:
            given["hidden"] = layer_sizes(self.hidden)
        if not isinstance(self.weight_decay, str):
            given["decay"] = float(require_strength("weight_decay", self.weight_decay))
        elif self.weight_decay != "auto":
            raise RangeError(
                f"weight_decay must be 'auto' or a number; got {self.weight_decay!r:.60}"
            )
        for name, value in given.items():
            if isinstance(value, (list, np.ndarray)):
                given[name] = tuple(value)  # designs are compared and looked up
        return Design(**given)

    def _choice(
        self, designs: Sequence[Design], encodings: Encodings, seed: int, watch: Watch
    ) -> Choice:
        """Return the best of the designs, and its calibration."""
        examples, encoding = encodings.examples, encodings.of(designs[0])
        if self.time_limit is not None:
            problem = encoding.problem(examples.numbers, examples.class_of)
            engine = designs[0].engine(problem, encoding.book.reading, is_alone=False)
            compile_kernels(engine, problem)
            watch.restart()
        compared = Examples(
            encodings.spins_of,
            encodings.topology_of,
            examples.class_of,
            encoding.book,
            examples.weights,
        )
        is_shown = bool(self.verbose) and len(examples.class_of) >= FEWEST and len(designs) > 1
        with reporting(is_shown, f"comparing {len(designs)} designs") as report:
            seconds = watch.seconds_left * COMPARING_SHARE
            return choose(designs, compared, seed=seed, seconds=seconds, report=report)

    def _kept_shift(self, topology: Topology, shift: int, *, is_image: bool) -> int:
        """Return the shift of the members that are kept, or raise if they are not comparable."""
        if topology != self.committee_.members[0].topology:
            raise TopologyError(
                f"warm_start needs the topology of the members that it keeps; got {topology!r}"
            )
        is_auto = isinstance(self.shifts, str) and (is_image or not self.shift_)
        if shift != self.shift_ and not is_auto:
            raise RangeError(
                f"warm_start needs the shifts of the members that it keeps, {self.shift_}; "
                f"got {shift}"
            )
        return int(self.shift_)

    def _warn_of_interruption(self, size: int) -> None:
        complete = sum(member.is_complete for member in self.members_)
        what = f"{complete} of {size} members are complete and vote"
        if not complete:
            what = "no member was complete; the best network of the running one is used"
        warnings.warn(
            f"fit was interrupted: {what}. The classifier can be used; another fit with "
            "warm_start=True trains the missing members",
            FitInterrupted,
            stacklevel=4,
        )

    def _warn_of_underfitting(self, problem: TrainingProblem) -> None:
        """Warn if the networks are hardly better than the largest class on their own examples."""
        class_of = np.unique(problem.output_spins, axis=0, return_inverse=True)[1].reshape(-1)
        counts = np.bincount(class_of, problem.weight_of_example)
        majority = float(counts.max() / counts.sum())
        accuracy = float(np.mean([member.accuracy for member in self.members_]))
        if len(class_of) < ENOUGH_TO_WARN or accuracy > majority + CLOSE_TO_MAJORITY * (
            1 - majority
        ):
            return
        warnings.warn(
            f"the training accuracy of a network is {accuracy:.3f}, and the largest class alone "
            f"has {majority:.3f}: the columns say little about the classes, or the network is too "
            "small. Try weight_levels=5, threshold_levels=33, a larger hidden, or a larger number "
            "of thresholds as binariser",
            Underfitted,
            stacklevel=4,
        )


@dataclass(frozen=True)
class Plan:
    """What to train, and how; by how many pixels images are shifted, and how votes count."""

    encoding: Encoding
    problem: TrainingProblem
    recipe: Recipe
    shift: int
    calibration: Calibration


def _candidates(encoding: Encoding, examples: LabelledRows) -> list[Design]:
    is_numeric = isinstance(encoding.binariser, Thermometer) and not is_sparse(examples.numbers)
    class_count = len(encoding.book.codewords)
    return candidates(class_count=class_count, is_numeric=is_numeric)


def _require_missing(kept: dict[int, Member], size: int) -> None:
    """Refuse fewer members than are kept, and warn if none is missing."""
    if kept and max(kept) >= size:
        raise RangeError(
            f"committee_size must be at least {max(kept) + 1} with warm_start, the number of "
            f"members already trained; got {size}: set warm_start=False to start again"
        )
    if len(kept) == size:
        warnings.warn(
            "warm_start keeps all members and none is missing: nothing is trained",
            UserWarning,
            stacklevel=4,
        )


def set_fitted(
    classifier: QuboClassifier,
    encoding: Encoding,
    members: Iterable[Member],
    *,
    column_count: int | None = None,
    design: Design | None = None,
    calibration: Calibration = NO_CALIBRATION,
    shift: int = 0,
    is_interrupted: bool = False,
    example_count: int | None = None,
    version: str | None = None,
) -> QuboClassifier:
    """Set the fitted attributes, all at once; the number of columns too unless it is set."""
    if column_count is not None:
        classifier.n_features_in_ = column_count
    classifier.binariser_, classifier.code_book_ = encoding.binariser, encoding.book
    classifier.classes_, classifier.shift_ = encoding.book.classes, shift
    classifier.design_, classifier.calibration_ = design, calibration
    classifier.members_ = tuple(sorted(members, key=lambda member: member.number))
    networks = [member.network for member in classifier.members_]
    classifier.committee_ = Committee(networks, encoding.book.reading)
    classifier.violation_count_ = min(member.violation_count for member in classifier.members_)
    classifier.is_interrupted_ = is_interrupted
    classifier.example_count_, classifier.version_ = example_count, version
    return classifier
