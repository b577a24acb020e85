"""QuboClassifier: a committee of networks of -1 and +1 behind scikit-learn's interface.

X, y -> binariser, code book, committee -> classes and their probabilities.
"""

import os
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from qubonn.checks import require_count
from qubonn.encoding.labels import require_classes
from qubonn.encoding.shifts import copy_count, shift_for, with_shifts
from qubonn.errors import FitInterrupted, RangeError, TopologyError
from qubonn.estimator.members import (
    Member,
    Recipe,
    dropout_for,
    member_seeds,
    root_seed,
    train_members,
)
from qubonn.estimator.plan import Encoding, flattened
from qubonn.stopping import Watch
from qubonn.training import Committee
from qubonn.training.committee import class_scores
from qubonn.training.one_shot import reporting


class QuboClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Classify with a committee of networks whose weights, biases and activations are -1 or +1.

    Parameters
    ----------
    hidden : int or tuple of int
        Neurons in each hidden layer.
    topology : Topology or str, optional
        Any acyclic network in place of dense layers, or the paper's notation such as
        "conv(3x3x2)+fc(4)", which needs images.
    image_shape : tuple of int, optional
        (rows, columns) or (channels, rows, columns) of the image in each row of `X`. Not needed
        where `X` comes as examples x rows x columns or examples x channels x rows x columns.
    shifts : "auto" or int
        Learn from each image also moved by up to so many pixels up, down, left and right, so that
        a network need not meet it where it was. "auto" is one pixel for up to 5,000 images and
        4,000,000 pixels in all, whose sides have 24 pixels or more, where neither topology, dropout
        nor solver are given; otherwise 0. Members report on the images as they are.
    binariser : {"auto", "threshold", "thermometer"}, int or encoder
        How columns become spins. "auto": spins and bits stay as they are; columns of few distinct
        numbers get a threshold between any two; other columns get thresholds at quantiles, about
        256 in all columns together and up to 15 in each; many columns get one threshold each: the
        smallest number of all where most numbers are that one, as in images of ink, else half of
        the range where columns are pixels, else their median. A number asks for so many in each.
    label_code : {"auto", "one_hot", "gray_code"} or CodeBook
        How classes become outputs. "auto" is one-hot: the largest output wins.
    margin_strength : float
        gamma, the reward for pre-activations that are far from zero. The soft neurons of the
        default solver keep them away from zero where it matters, and need no reward.
    dropout : float or Dropout, optional
        The paper's dropout algorithm: a share of inputs and hidden neurons to drop in each of ten
        iterations, or a `Dropout` that says all about them.
    solver : "auto", engine or sampler
        What `qubonn.train` takes; "auto" is a short `ForwardAnnealing` with soft neurons, set by
        the number of examples, and in growing batches where there are more than 10,000. A member is
        the best network of one run.
    committee_size : int
        Number of networks that vote.
    time_limit : float, optional
        Seconds for `fit`. "auto" then cools faster where it must, and members that cannot begin in
        time are left out. The first compilation of the kernels on a machine is not counted.
    random_state : int, RandomState, Generator or None
        Same number, same committee, whatever `n_jobs` and wherever the jobs run.
    warm_start : bool
        Keep the members of the last `fit` and train only those that are missing, for example after
        a larger `committee_size`, or after Ctrl-C.
    n_jobs : int or None
        Members trained at the same time, by joblib: also on a Dask cluster, with
        ``joblib.parallel_config(backend="dask")``.
    verbose : bool
        Show a bar.

    Attributes
    ----------
    classes_ : ndarray
        The classes, sorted.
    committee_ : Committee
        The networks; ``committee_.predict_outputs(binariser_.encode(X))`` is what a device says.
    binariser_, code_book_ : encoder, CodeBook
        How numbers become spins, and classes outputs.
    members_ : tuple of Member
        What each training says about its network: wrong outputs, energy, seconds, why it stopped.
    violation_count_ : int
        Constraints of the paper that the best member violates on the training examples: outputs
        that are not as the label code wants them. With one-hot outputs a network can be right in
        all examples and still violate some, because the largest output wins, positive or not.
    shift_ : int
        By how many pixels images were moved; 0 where they stayed where they are.
    is_interrupted_ : bool
        Whether Ctrl-C ended the training.
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
        hidden: Any = (64,),
        *,
        topology: Any = None,
        image_shape: Any = None,
        shifts: Any = "auto",
        binariser: Any = "auto",
        label_code: Any = "auto",
        margin_strength: float = 0.0,
        dropout: Any = None,
        solver: Any = "auto",
        committee_size: int = 10,
        time_limit: float | None = None,
        random_state: Any = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.hidden = hidden
        self.topology = topology
        self.image_shape = image_shape
        self.shifts = shifts
        self.binariser = binariser
        self.label_code = label_code
        self.margin_strength = margin_strength
        self.dropout = dropout
        self.solver = solver
        self.committee_size = committee_size
        self.time_limit = time_limit
        self.random_state = random_state
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike) -> "QuboClassifier":
        """Choose binariser and label code, then train the committee.

        Ctrl-C keeps the members that are complete, or else the best network of the running one, and
        warns with `FitInterrupted`.
        """
        size = require_count("committee_size", self.committee_size)
        watch = Watch(time_limit=self.time_limit)
        kept = self._members_to_keep(size)
        rows, image_shape = flattened(X, self.image_shape)
        numbers, labels = validate_data(self, rows, y, reset=not kept)
        classes, class_of = require_classes(labels, self.classes_ if kept else None)
        encoding = Encoding.fit(
            numbers,
            classes,
            image_shape,
            hidden=self.hidden,
            topology=self.topology,
            binariser=self.binariser_ if kept else self.binariser,
            label_code=self.code_book_ if kept else self.label_code,
        )
        if kept and encoding.topology != self.committee_.members[0].topology:
            raise TopologyError(
                "warm_start needs the topology of the members that it keeps; "
                f"got {encoding.topology!r}"
            )
        dropout = dropout_for(self.dropout, encoding.topology)
        is_usual = self.topology is None and dropout is None and isinstance(self.solver, str)
        shift = shift_for(self.shifts, image_shape, len(numbers), is_usual=is_usual)
        if kept:
            shift = self._kept_shift(shift, is_image=image_shape is not None)
        problem = encoding.problem(
            *with_shifts(numbers, class_of, image_shape, shift),
            margin_strength=self.margin_strength,
        )
        recipe = Recipe(
            self.solver,
            encoding.book,
            dropout,
            is_alone=size == 1,
            copy_count=copy_count(shift),
        )
        seeds = member_seeds(root_seed(self.random_state), size)
        with reporting(bool(self.verbose), "members of the committee") as report:
            trained, is_interrupted = train_members(
                problem,
                recipe,
                {number: seed for number, seed in seeds.items() if number not in kept},
                n_jobs=self.n_jobs,
                time_limit=None if self.time_limit is None else max(watch.seconds_left, 1e-3),
                report=report,
            )
        members = [*kept.values(), *trained]
        if not members:
            raise KeyboardInterrupt
        set_fitted(self, encoding, members, shift=shift, is_interrupted=is_interrupted)
        if is_interrupted:
            self._warn_of_interruption()
        return self

    def decision_function(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return how much speaks for each class: log probabilities, up to a constant.

        Examples x classes; for two classes the log odds of the second, one number each.
        """
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict_proba(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return the probability of each class, examples x classes, from the committee's votes.

        Each member splits its vote by the softmax of its output sums, each divided by 0.6 times the
        root of its number of terms (found on held-out examples); the committee's split is the
        geometric mean of its members'. Where the label code is not one-hot, each output is +1 with
        the share of members that say so, half a vote added on both sides.
        """
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the likeliest class of each example; of several, the first in `classes_`."""
        scores = self._scores(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted classifier to one file without pickle; ``qubonn.load`` reads it."""
        from qubonn.estimator.files import save_classifier

        save_classifier(self, path)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "committee_")

    def _scores(self, X: ArrayLike) -> NDArray[np.float64]:
        check_is_fitted(self)
        rows, _ = flattened(X, None)
        numbers = validate_data(self, rows, reset=False)
        votes = self.committee_.votes(self.binariser_.encode(numbers))
        return class_scores(self.committee_, self.code_book_, votes)

    def _members_to_keep(self, size: int) -> dict[int, Member]:
        """Return the complete members of an earlier fit, where they are to be kept."""
        if not (self.warm_start and hasattr(self, "committee_")):
            return {}
        kept = {member.number: member for member in self.members_ if member.is_complete}
        if kept and max(kept) >= size:
            raise RangeError(
                f"committee_size must be at least {max(kept) + 1} with warm_start, because so many "
                f"members are trained; got {size}: set warm_start=False to begin anew"
            )
        if len(kept) == size:
            warnings.warn(
                "warm_start keeps all members, and no other is asked for: nothing is trained",
                UserWarning,
                stacklevel=3,
            )
        return kept

    def _kept_shift(self, shift: int, *, is_image: bool) -> int:
        """Return the shift of the members that are kept, or raise if another one is asked for."""
        is_auto = isinstance(self.shifts, str) and (is_image or not self.shift_)
        if shift != self.shift_ and not is_auto:
            raise RangeError(
                f"warm_start needs the shifts of the members that it keeps, {self.shift_}; "
                f"got {shift}"
            )
        return int(self.shift_)

    def _warn_of_interruption(self) -> None:
        complete = sum(member.is_complete for member in self.members_)
        what = f"{complete} of {self.committee_size} members are complete and vote"
        if not complete:
            what = "no member was complete; the one that was running is used as far as it was"
        warnings.warn(
            f"fit was interrupted: {what}. The classifier can be used; another fit with "
            "warm_start=True trains the missing members",
            FitInterrupted,
            stacklevel=3,
        )


def set_fitted(
    classifier: QuboClassifier,
    encoding: Encoding,
    members: Iterable[Member],
    *,
    column_count: int | None = None,
    shift: int = 0,
    is_interrupted: bool = False,
) -> QuboClassifier:
    """Set the fitted attributes, all at once; the number of columns too unless it is set."""
    if column_count is not None:
        classifier.n_features_in_ = column_count
    classifier.binariser_, classifier.code_book_ = encoding.binariser, encoding.book
    classifier.classes_, classifier.shift_ = encoding.book.classes, shift
    classifier.members_ = tuple(sorted(members, key=lambda member: member.number))
    networks = [member.network for member in classifier.members_]
    classifier.committee_ = Committee(networks, encoding.book.reading)
    classifier.violation_count_ = min(member.violation_count for member in classifier.members_)
    classifier.is_interrupted_ = is_interrupted
    return classifier
