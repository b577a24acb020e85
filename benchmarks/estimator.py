"""QuboClassifier's defaults compared with other classifiers, on four datasets of scikit-learn.

    python benchmarks/estimator.py [--splits 5] [--data iris wine breast_cancer digits]

Five stratified splits, the same for all. Bytes are what a device must store: one bit per weight and
bias of -1 and +1, four bytes per threshold of an input or of a tree and per coefficient; a tree
also has one byte for the column and two for the other branch in each inner node, and one in each
leaf. The tree may have as many leaves as fit the memory of the committee.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import qubonn as qn
from printing import head, show
from qubonn.encoding.automatic import fit_binariser

SETS = ("iris", "wine", "breast_cancer", "digits")
COMMITTEE, HIDDEN = 10, 64  # the defaults
Fitted = tuple[Any, int]  # a fitted model, and its bytes
Fit = Callable[[NDArray[Any], NDArray[Any]], Fitted]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--data", nargs="+", default=SETS, choices=SETS)
    arguments = parser.parse_args()
    qn.QuboClassifier(committee_size=1).fit([[0.0], [1.0]] * 9, [0, 1] * 9)  # compile
    head("dataset", "classifier", "accuracy", "seconds to fit", "bytes")
    for name in arguments.data:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        splits = list(StratifiedKFold(arguments.splits, shuffle=True, random_state=0).split(X, y))
        for title, fit in classifiers().items():
            show(name, title, *measure(fit, X, y, splits))


def classifiers() -> dict[str, Fit]:
    found: dict[str, Fit] = {
        f"QuboClassifier(), {COMMITTEE} networks": fit_qubo(COMMITTEE),
        "QuboClassifier(committee_size=1)": fit_qubo(1),
    }
    try:
        import torch
    except ImportError:
        print("torch is not installed: no straight-through networks")
    else:
        torch.set_num_threads(1)
        found[f"straight-through, {COMMITTEE} networks"] = fit_straight_through(COMMITTEE)
        found["straight-through, 1 network"] = fit_straight_through(1)
    return found | {
        "logistic regression, float": fit_logistic,
        "decision tree, same memory": fit_tree,
        "majority": fit_majority,
    }


def measure(fit: Fit, X: NDArray[Any], y: NDArray[Any], splits: list[Any]) -> list[str]:
    rows = []
    for train, test in splits:
        start = time.perf_counter()
        model, size = fit(X[train], y[train])
        seconds = time.perf_counter() - start
        rows.append(((model.predict(X[test]) == y[test]).mean(), seconds, size))
    scores, seconds_each, sizes = np.array(rows).T
    return [
        f"{scores.mean():.3f} ± {scores.std(ddof=1):.3f}",
        f"{seconds_each.mean():.2f}",
        f"{sizes.mean():,.0f}",
    ]


def fit_qubo(committee_size: int) -> Fit:
    def fit(X: NDArray[Any], y: NDArray[Any]) -> Fitted:
        model = qn.QuboClassifier(committee_size=committee_size, random_state=0).fit(X, y)
        topology = model.committee_.members[0].topology
        return model, bytes_of(topology.input_count, len(model.classes_), committee_size)

    return fit


def bytes_of(inputs: int, outputs: int, committee_size: int) -> int:
    """Bytes of thresholds and of networks with the default hidden layer."""
    bits = (inputs + 1) * HIDDEN + (HIDDEN + 1) * outputs
    return 4 * inputs + committee_size * bits // 8


@dataclass(frozen=True)
class Voting:
    """A committee of given networks that predicts as QuboClassifier does."""

    encoder: qn.encoding.InputEncoder
    committee: qn.Committee

    def predict(self, X: NDArray[Any]) -> NDArray[np.int64]:
        """Return the class whose output has the largest sum."""
        return np.asarray(self.committee.votes(self.encoder.encode(X)).argmax(axis=1))


def fit_straight_through(committee_size: int) -> Fit:
    """Networks of the shape and with the binariser of QuboClassifier's defaults.

    The learning rate is chosen on a quarter of the training examples; this time is included.
    """
    from straight_through import all_at_once, best_learning_rate, train_network

    def fit(X: NDArray[Any], y: NDArray[Any]) -> Fitted:
        encoder, count = fit_binariser("auto", X), len(np.unique(y))
        spins = encoder.encode(X)
        inner = train_test_split(spins, y, test_size=0.25, stratify=y, random_state=0)
        rate = best_learning_rate((inner[0], inner[2]), (inner[1], inner[3]), HIDDEN, count)
        networks = [
            train_network(spins, y, HIDDEN, count, settings=all_at_once(rate), seed=seed)
            for seed in range(committee_size)
        ]
        size = bytes_of(spins.shape[1], count, committee_size)
        return Voting(encoder, qn.Committee(networks, "largest")), size

    return fit


def fit_logistic(X: NDArray[Any], y: NDArray[Any]) -> Fitted:
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000)).fit(X, y)
    return model, 4 * (model[-1].coef_.size + model[-1].intercept_.size)


def fit_tree(X: NDArray[Any], y: NDArray[Any]) -> Fitted:
    inputs = fit_binariser("auto", X).encode(X).shape[1]
    memory = bytes_of(inputs, len(np.unique(y)), COMMITTEE)
    model = DecisionTreeClassifier(max_leaf_nodes=memory // 8, random_state=0)
    leaves = model.fit(X, y).get_n_leaves()
    return model, 7 * (leaves - 1) + leaves


def fit_majority(X: NDArray[Any], y: NDArray[Any]) -> Fitted:
    return DummyClassifier(strategy="most_frequent").fit(X, y), 1


if __name__ == "__main__":
    main()
