"""Where QuboClassifier is the wrong choice and where it is not: one table for docs/when_to_use.md.

Datasets -> accuracy of four classifiers with their default settings, as a Markdown table.

    python benchmarks/when_to_use.py
    python benchmarks/when_to_use.py --only XOR parity
"""

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    make_classification,
    make_gaussian_quantiles,
    make_hastie_10_2,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import qubonn as qn

Examples = tuple[np.ndarray, np.ndarray]
TRAIN_SHARE = 0.7


def parity(row_count: int, relevant: int, column_count: int) -> Examples:
    """Return binary columns and whether an odd number of the first `relevant` are one."""
    inputs = np.random.default_rng(0).integers(2, size=(row_count, 10))[:, :column_count]
    return inputs, inputs[:, :relevant].sum(axis=1) % 2


def linear_rule() -> Examples:
    """Return 30 normal columns and the sign of a sum with normal weights."""
    generator = np.random.default_rng(0)
    inputs = generator.normal(size=(2_000, 30))
    return inputs, (inputs @ generator.normal(size=30) > 0).astype(int)


def classification(row_count: int, column_count: int, class_count: int) -> Examples:
    """Return scikit-learn's clusters with ten informative columns."""
    inputs, classes = make_classification(
        row_count,
        column_count,
        n_informative=10,
        n_redundant=0,
        n_classes=class_count,
        n_clusters_per_class=1 if class_count > 10 else 2,
        random_state=0,
    )
    return inputs, classes


DATASETS: dict[str, tuple[Callable[[], Examples], float | int]] = {
    "XOR, no other columns, 400 x 2": (lambda: parity(400, 2, 2), TRAIN_SHARE),
    "XOR of 2 columns, 400 x 4": (lambda: parity(400, 2, 4), TRAIN_SHARE),
    "XOR of 2 columns, 400 x 6": (lambda: parity(400, 2, 6), TRAIN_SHARE),
    "XOR of 2 columns, 400 x 10": (lambda: parity(400, 2, 10), TRAIN_SHARE),
    "parity of 3 columns, 1,000 x 10": (lambda: parity(1_000, 3, 10), TRAIN_SHARE),
    "Hastie 10.2, 4,000 x 10": (lambda: make_hastie_10_2(4_000, random_state=0), TRAIN_SHARE),
    "Gaussian quantiles, 3 classes, 3,000 x 6": (
        lambda: make_gaussian_quantiles(n_samples=3_000, n_features=6, random_state=0),
        TRAIN_SHARE,
    ),
    "linear rule, 2,000 x 30": (linear_rule, TRAIN_SHARE),
    "clusters, 4 classes, 20,000 x 40": (lambda: classification(20_000, 40, 4), TRAIN_SHARE),
    "clusters, 25 classes, 1,500 x 20": (lambda: classification(1_500, 20, 25), TRAIN_SHARE),
    "breast_cancer, 569 x 30": (lambda: load_breast_cancer(return_X_y=True), TRAIN_SHARE),
    "digits, 1,797 x 64": (lambda: load_digits(return_X_y=True), TRAIN_SHARE),
    "digits, 100 to train on": (lambda: load_digits(return_X_y=True), 100),
}


def classifiers() -> Iterator[tuple[str, ClassifierMixin]]:
    """Yield each classifier under its name, defaults only; floats are standardised."""
    yield "QuboClassifier", qn.QuboClassifier(random_state=0)
    yield "logistic", make_pipeline(StandardScaler(), LogisticRegression())
    yield "boosting", HistGradientBoostingClassifier(random_state=0)
    yield "MLP", make_pipeline(StandardScaler(), MLPClassifier(random_state=0, max_iter=1_000))


def main() -> None:
    """Print one row per dataset as soon as it is measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=[], help="parts of the datasets' names")
    only = parser.parse_args().only
    names = [name for name, _ in classifiers()]
    print("| dataset |", " | ".join(names), "| seconds of QuboClassifier |")
    print("| --- |", " | ".join("---:" for _ in names), "| ---: |")
    for dataset, (examples, share) in DATASETS.items():
        if only and not any(part in dataset for part in only):
            continue
        inputs, classes = examples()
        train_X, test_X, train_y, test_y = train_test_split(
            inputs, classes, train_size=share, stratify=classes, random_state=0
        )
        cells, seconds = [], []
        for _, classifier in classifiers():
            start = time.perf_counter()
            classifier.fit(train_X, train_y)
            seconds.append(time.perf_counter() - start)
            cells.append(f"{classifier.score(test_X, test_y):.3f}")
        print(f"| {dataset} |", " | ".join(cells), f"| {seconds[0]:.1f} |", flush=True)


if __name__ == "__main__":
    main()
