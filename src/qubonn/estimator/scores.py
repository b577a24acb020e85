"""Scores of a model on labelled examples: accuracy, calibration, important columns, margins.

QuboClassifier, X, y -> ModelScores; a network without classes -> QuboClassifier.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.inspection import permutation_importance
from sklearn.metrics import confusion_matrix, log_loss, precision_recall_fscore_support

from qubonn.encoding import CodeBook, Threshold
from qubonn.encoding.labels import require_classes
from qubonn.errors import ShapeError
from qubonn.estimator.classifier import QuboClassifier, set_fitted
from qubonn.estimator.members import Member, Recipe
from qubonn.estimator.plan import Encoding
from qubonn.network import BinaryNetwork
from qubonn.training import Committee

Floats = NDArray[np.float64]
BIN_COUNT = 10  # of probabilities
MARGIN_EXAMPLES = 1_000
IMPORTANCE_EXAMPLES, REPEATS = 1_000, 5  # at most
IMPORTANCE_PREDICTIONS = 1_000_000  # of all columns together; fewer examples or repeats above that
MOST_COLUMNS = 10_000  # whose importance is measured


@dataclass(frozen=True, eq=False, repr=False)
class ModelScores:
    """How well a classifier predicts the labels of examples.

    Labels that are no class of the classifier count as wrong; probabilities are evaluated without
    them. `seed` draws the examples and the permutations that importance is measured by.
    """

    classifier: QuboClassifier
    inputs: NDArray[Any]  # examples x columns
    labels: NDArray[Any]
    seed: int = 0

    @cached_property
    def names(self) -> NDArray[Any]:
        """The classes, then labels that are none of them."""
        classes = self.classifier.classes_
        return np.concatenate([classes, np.setdiff1d(self.labels, classes)])

    @cached_property
    def predicted(self) -> NDArray[Any]:
        """The predicted class of each example."""
        return np.asarray(self.classifier.classes_[self._probabilities.argmax(axis=1)])

    @cached_property
    def confusion(self) -> NDArray[np.int64]:
        """Number of examples by actual and predicted class: `names` x `names`."""
        return np.asarray(confusion_matrix(self.labels, self.predicted, labels=self.names))

    @property
    def accuracy(self) -> float:
        """The fraction of examples whose class is right."""
        return float(np.trace(self.confusion) / len(self.labels))

    @property
    def balanced_accuracy(self) -> float:
        """The mean recall of all classes that occur."""
        totals = self.confusion.sum(axis=1)
        return float((np.diag(self.confusion)[totals > 0] / totals[totals > 0]).mean())

    @property
    def majority(self) -> float:
        """The fraction of examples of the largest class."""
        return float(self.confusion.sum(axis=1).max() / len(self.labels))

    @cached_property
    def by_class(self) -> list[tuple[Any, float, float, float, int]]:
        """Name, precision, recall, F1 and number of examples of each class; NaN if undefined."""
        table = precision_recall_fscore_support(
            self.labels, self.predicted, labels=self.names, zero_division=np.nan
        )
        rows = np.transpose(table).tolist()
        return [
            (name, precision, recall, f1, int(count))
            for name, (precision, recall, f1, count) in zip(self.names.tolist(), rows, strict=True)
        ]

    @property
    def log_loss(self) -> float:
        """The mean of minus the logarithm of the actual class's probability."""
        classes = self.classifier.classes_
        shares = self._probabilities[self._is_known]
        return float(log_loss(self.labels[self._is_known], shares, labels=classes))

    @cached_property
    def calibration(self) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Mean probability of the predicted class, accuracy and number of examples, by bin.

        There are ten bins of equal width; the first two values are NaN in empty ones.
        """
        shares = self._probabilities.max(axis=1)
        bins = np.minimum((shares * BIN_COUNT).astype(np.int64), BIN_COUNT - 1)
        counts = np.bincount(bins, minlength=BIN_COUNT)
        sums = [
            np.bincount(bins, one, BIN_COUNT) for one in (shares, self.predicted == self.labels)
        ]
        means = [np.where(counts, total / np.maximum(counts, 1), np.nan) for total in sums]
        return means[0], means[1], counts

    @property
    def calibration_error(self) -> float:
        """The mean difference of probability and accuracy over all examples, by bin."""
        shares, accuracies, counts = self.calibration
        return float(np.nansum(np.abs(shares - accuracies) * counts) / len(self.labels))

    @cached_property
    def leads(self) -> Floats:
        """Log odds of the actual class against the likeliest other one; negative if wrong."""
        shares = self._probabilities[self._is_known]
        logarithms = np.log(np.maximum(shares, np.finfo(np.float64).tiny))
        rows = np.arange(len(logarithms))
        known = self.labels[self._is_known, np.newaxis]
        actual = (known == self.classifier.classes_).argmax(axis=1)
        own = logarithms[rows, actual]
        logarithms[rows, actual] = -np.inf
        return np.asarray(own - logarithms.max(axis=1))

    @cached_property
    def margins(self) -> dict[str, NDArray[np.int32]]:
        """Margins of hidden and output neurons of the best network, on the first examples."""
        best = min(self.classifier.members_, key=lambda member: member.violation_count).network
        inputs = self.classifier.binariser_.encode(self.inputs[:MARGIN_EXAMPLES])
        magnitudes = best.margins(inputs).magnitudes
        hidden, outputs = np.split(magnitudes, [best.topology.hidden_count], axis=1)
        kinds = {"hidden neurons": hidden.ravel(), "outputs": outputs.ravel()}
        return {name: values for name, values in kinds.items() if values.size}

    @property
    def importance_size(self) -> tuple[int, int]:
        """Number of examples and of permutations of each column that importance is measured on."""
        columns = self.inputs.shape[1]
        affordable = max(IMPORTANCE_PREDICTIONS // columns, 1)
        examples = min(len(self.inputs), IMPORTANCE_EXAMPLES, affordable)
        return examples, int(np.clip(affordable // examples, 1, REPEATS))

    @cached_property
    def importance(self) -> tuple[Floats, Floats] | None:
        """By how much accuracy falls if a column is permuted, and the standard deviation.

        None for more than 10,000 columns.
        """
        if self.inputs.shape[1] > MOST_COLUMNS:
            return None
        examples, repeats = self.importance_size
        rows = np.random.default_rng(self.seed).permutation(len(self.inputs))[:examples]
        found = permutation_importance(
            self.classifier,
            self.inputs[rows],
            self.labels[rows],
            scoring="accuracy",
            n_repeats=repeats,
            random_state=self.seed,
        )
        return found.importances_mean, found.importances_std

    @cached_property
    def _probabilities(self) -> Floats:
        return self.classifier.predict_proba(self.inputs)

    @cached_property
    def _is_known(self) -> NDArray[np.bool_]:
        return np.isin(self.labels, self.classifier.classes_)


def with_classes(
    model: BinaryNetwork | Committee, inputs: NDArray[Any], labels: NDArray[Any]
) -> QuboClassifier:
    """Return a classifier of networks that were saved without classes.

    The sorted labels are the classes, with a one-hot code if there is an output for each, or else
    the Gray code.
    """
    members = model.members if isinstance(model, Committee) else (model,)
    topology, (classes, class_of) = members[0].topology, require_classes(labels)
    is_one_hot = len(classes) == topology.output_count
    book = (CodeBook.one_hot if is_one_hot else CodeBook.gray_code)(classes)
    if book.spin_count != topology.output_count:
        raise ShapeError(
            f"a model without classes must have an output for each of the {len(classes)} labels, "
            f"or {CodeBook.gray_code(classes).spin_count} for their Gray code; it has "
            f"{topology.output_count}: train with `qubonn train`, which stores the classes"
        )
    encoding = Encoding(Threshold(0), book, topology)
    problem, recipe = encoding.problem(inputs, class_of), Recipe(None, book)
    trained = [
        Member.of(problem, recipe, network, number=number, energy=0.0)
        for number, network in enumerate(members)
    ]
    return set_fitted(QuboClassifier(), encoding, trained, column_count=inputs.shape[1])
