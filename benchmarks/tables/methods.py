"""The classifiers, all with their defaults: method, examples, seed -> record.

Bytes are what a device must store to predict classes.  A coefficient is a float32, and scaling of
columns is part of the coefficients.  An inner node of a tree has 8 bytes: 4 for the threshold, 2
for the column and 2 for the other branch; a leaf has one byte for its class, or 4 for a number that
is added up.  QuboClassifier has the tables of its C, where a weight of n levels has log2(n) bits,
rounded up, and 4 bytes for each threshold of its binariser.
"""

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import sklearn
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score
from sklearn.naive_bayes import BernoulliNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import qubonn as qn
from fewshot.methods import _digest as digest_of_code  # ignores comments and docstrings
from qubonn.experiments import Record
from qubonn.export import device_bytes

NODE_BYTES, NUMBER_BYTES, CLASS_BYTES = 8, 4, 1
OTHER_CODE = ("cli", "datasets", "drawing", "experiments", "export", "paper", "testing")


@dataclass(frozen=True)
class Split:
    """Examples to train on, and others to test."""

    train_inputs: NDArray[Any]
    test_inputs: NDArray[Any]
    train_classes: NDArray[Any]
    test_classes: NDArray[Any]


@dataclass(frozen=True)
class Method:
    """A classifier for a seed, and the bytes of a fitted one."""

    title: str
    build: Callable[[int], Any]
    byte_count: Callable[[Any], int]
    is_ours: bool = False

    @property
    def code(self) -> str:
        """The same for the same code."""
        return code_of_ours() if self.is_ours else f"scikit-learn {sklearn.__version__}"

    def train(self, split: Split, seed: int) -> Record:
        """Train and test; only `fit` is timed."""
        model = self.build(seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # defaults as they are
            start = time.perf_counter()
            model.fit(split.train_inputs, split.train_classes)
            seconds = time.perf_counter() - start
        if getattr(model, "is_interrupted_", False):  # partial results are not stored
            raise KeyboardInterrupt
        sizes = {"fit_seconds": seconds, "byte_count": int(self.byte_count(model))}
        return scores(model, split.test_inputs, split.test_classes) | sizes

    def warm_up(self, split: Split) -> None:
        """Do what is only done the first time, above all compile the kernels for such examples."""
        model = self.build(0)
        if self.is_ours:
            model.set_params(committee_size=2)
        model.fit(split.train_inputs, split.train_classes)
        scores(model, split.test_inputs, split.test_classes)


def scores(model: Any, inputs: NDArray[Any], classes: NDArray[Any]) -> Record:
    """Return the accuracy, the mean recall of the classes, the log loss and, of two, the AUC."""
    predicted = model.predict(inputs)
    found: Record = {
        "accuracy": float((predicted == classes).mean()),
        "balanced_accuracy": float(balanced_accuracy_score(classes, predicted)),
        "log_loss": None,
        "auc": None,
    }
    shares = model.predict_proba(inputs) if hasattr(model, "predict_proba") else None
    if shares is not None:
        found["log_loss"] = float(log_loss(classes, shares, labels=model.classes_))
    if len(model.classes_) == 2:
        values = model.decision_function(inputs) if shares is None else shares[:, 1]
        found["auc"] = float(roc_auc_score(classes, values))
    return found


@cache
def code_of_ours() -> str:
    """Return a digest of the code that decides what our defaults are and do."""
    package = Path(qn.__file__).parent
    paths = package.rglob("*.py")
    return digest_of_code([p for p in paths if p.relative_to(package).parts[0] not in OTHER_CODE])


def bytes_of_linear(model: Any) -> int:
    return NUMBER_BYTES * int(model[-1].coef_.size + model[-1].intercept_.size)


def bytes_of_naive_bayes(model: Any) -> int:
    """A number for each class and column, one for each class, and the columns' thresholds."""
    sizes = model[-1].feature_log_prob_.size, model[-1].class_log_prior_.size, model.n_features_in_
    return NUMBER_BYTES * int(sum(sizes))


def bytes_of_mlp(model: Any) -> int:
    parts = (*model[-1].coefs_, *model[-1].intercepts_)
    return NUMBER_BYTES * sum(int(part.size) for part in parts)


def bytes_of_tree(model: Any) -> int:
    leaves = int(model.get_n_leaves())
    return NODE_BYTES * (leaves - 1) + CLASS_BYTES * leaves


def bytes_of_boosting(model: Any) -> int:
    trees = [tree.nodes["is_leaf"] for stage in model._predictors for tree in stage]
    leaves = sum(int(is_leaf.sum()) for is_leaf in trees)
    return NODE_BYTES * (leaves - len(trees)) + NUMBER_BYTES * leaves


def bytes_of_ours(model: Any) -> int:
    return device_bytes(model)


def _scaled(classifier: Any) -> Any:
    return make_pipeline(StandardScaler(), classifier)


METHODS = {
    "logistic": Method(
        "logistic regression", lambda seed: _scaled(LogisticRegression()), bytes_of_linear
    ),
    "boosting": Method(
        "boosting",
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        bytes_of_boosting,
    ),
    "tree": Method(
        "decision tree", lambda seed: DecisionTreeClassifier(random_state=seed), bytes_of_tree
    ),
    "naive-bayes": Method("naive Bayes", lambda seed: _scaled(BernoulliNB()), bytes_of_naive_bayes),
    "svm": Method(
        "linear SVM", lambda seed: _scaled(LinearSVC(random_state=seed)), bytes_of_linear
    ),
    "mlp": Method(
        "MLP",
        lambda seed: _scaled(MLPClassifier(max_iter=1_000, random_state=seed)),
        bytes_of_mlp,
    ),
    "ours": Method(
        "qubonn", lambda seed: qn.QuboClassifier(random_state=seed), bytes_of_ours, is_ours=True
    ),
    "ours-1": Method(
        "qubonn, 1 network",
        lambda seed: qn.QuboClassifier(committee_size=1, random_state=seed),
        bytes_of_ours,
        is_ours=True,
    ),
}
