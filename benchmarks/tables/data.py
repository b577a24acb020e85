"""The tables: name -> numbers and classes.

`SCORED` are the tables that results are reported on.  `TUNING` are others, to choose defaults by:
other rules, shapes and seeds, and other public tables.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import datasets

from tables.public import read_public
from tables.text import Corpus
from when_to_use import classification, linear_rule, parity

Examples = tuple[NDArray[Any], NDArray[Any]]
Source = Callable[[], Examples]

SCORED_PUBLIC = (
    "chess",
    "contraceptive",
    "german",
    "ionosphere",
    "pima",
    "segment",
    "sonar",
    "spambase",
    "splice",
    "tic-tac-toe",
    "vehicle",
    "vowel",
)
TUNING_PUBLIC = (
    "bands",
    "breast",
    "bupa",
    "housevotes",
    "led7digit",
    "mammographic",
    "monk-2",
    "movement_libras",
    "phoneme",
    "saheart",
    "texture",
)
RARE = ("minority", "t-minority-5", "t-minority-3")  # accuracy says little about these


def load(name: str) -> Examples:
    """Return the examples of a table, the same in every call."""
    return (SCORED | TUNING)[name]()


def binary_rule(
    rule: Callable[[NDArray[Any]], NDArray[Any]],
    shape: tuple[int, int],
    seed: int,
    flipped: float = 0.0,
) -> Examples:
    """Return binary columns and a rule of them, with a share of the classes flipped."""
    generator = np.random.default_rng(seed)
    inputs = generator.integers(2, size=shape)
    flips = generator.random(len(inputs)) < flipped
    return inputs, (rule(inputs) ^ flips).astype(int)


def with_noise(examples: Examples, column_count: int, seed: int) -> Examples:
    """Return the examples with further normal columns that do not matter."""
    inputs, classes = examples
    noise = np.random.default_rng(seed).normal(size=(len(inputs), column_count))
    return np.column_stack([inputs, noise]), classes


def friedman(seed: int) -> Examples:
    """Return Friedman's first function of 5 of 10 columns, above its median or not."""
    inputs, values = datasets.make_friedman1(1_500, 10, noise=1.0, random_state=seed)
    return inputs, (values > np.median(values)).astype(int)


def waveform(row_count: int, seed: int) -> Examples:
    """Return Breiman's waveforms: 21 noisy values of mixtures of two of three triangles."""
    generator = np.random.default_rng(seed)
    places = np.arange(21)
    triangles = np.maximum(0, 6 - abs(places - np.array([[6], [14], [10]])))
    classes = generator.integers(3, size=row_count)
    share = generator.random((row_count, 1))
    mixed = share * triangles[classes] + (1 - share) * triangles[(classes + 1) % 3]
    return mixed + generator.normal(size=mixed.shape), classes


def sparse_rule(row_count: int, column_count: int, relevant: int, seed: int) -> Examples:
    """Return normal columns and the sign of a noisy sum of the first `relevant`."""
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(row_count, column_count))
    values = inputs[:, :relevant] @ generator.normal(size=relevant)
    return inputs, (values + generator.normal(0, 0.3, row_count) > 0).astype(int)


def largest_sum(row_count: int, column_count: int, class_count: int, seed: int) -> Examples:
    """Return normal columns and which of several sums with normal weights is the largest."""
    generator = np.random.default_rng(seed)
    inputs = generator.normal(size=(row_count, column_count))
    return inputs, (inputs @ generator.normal(size=(column_count, class_count))).argmax(axis=1)


def checkerboard(row_count: int, column_count: int, side: int, seed: int) -> Examples:
    """Return uniform columns and the colour on a board of the first two."""
    inputs = np.random.default_rng(seed).random((row_count, column_count))
    return inputs, (side * inputs[:, :2]).astype(int).sum(axis=1) % 2


def sum_of_squares(row_count: int, column_count: int, relevant: int, seed: int) -> Examples:
    """Return normal columns and whether the first `relevant` are far from zero."""
    inputs = np.random.default_rng(seed).normal(size=(row_count, column_count))
    squares = (inputs[:, :relevant] ** 2).sum(axis=1)
    return inputs, (squares > np.median(squares)).astype(int)


def skewed_rule(row_count: int, column_count: int, relevant: int, seed: int) -> Examples:
    """Return columns that are zero or lognormal, and a noisy rule that is linear in logarithms."""
    generator = np.random.default_rng(seed)
    shape = row_count, column_count
    values = np.where(generator.random(shape) < 0.4, -2.5, generator.normal(size=shape))
    centred = values[:, :relevant] - values[:, :relevant].mean(axis=0)
    sums = centred @ generator.normal(size=relevant) + 0.5 * generator.normal(size=row_count)
    return np.where(values <= -2.5, 0, np.exp(1.5 * values)), (sums > 0).astype(int)


def rings(row_count: int, column_count: int, class_count: int, seed: int) -> Examples:
    """Return normal columns and how far from zero they are, in classes of equal size."""
    found: Examples = datasets.make_gaussian_quantiles(
        n_samples=row_count, n_features=column_count, n_classes=class_count, random_state=seed
    )
    return found


def clusters(seed: int, shape: tuple[int, int], class_count: int, **options: Any) -> Examples:
    """Return scikit-learn's clusters."""
    found: Examples = datasets.make_classification(
        *shape, n_classes=class_count, random_state=seed, **options
    )
    return found


def _odd(relevant: int, inputs: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(inputs[:, :relevant].sum(axis=1) % 2 == 1)


def _most(relevant: int, inputs: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(2 * inputs[:, :relevant].sum(axis=1) > relevant)


def _any_three(inputs: NDArray[Any]) -> NDArray[Any]:
    """Three columns, or three others, or three others, are all one."""
    return np.asarray((inputs[:, :9].reshape(-1, 3, 3).sum(axis=2) == 3).any(axis=1))


def _public(names: tuple[str, ...]) -> dict[str, Source]:
    return {name: partial(read_public, name) for name in names}


def _bundled(name: str) -> Source:
    return partial(getattr(datasets, f"load_{name}"), return_X_y=True)


SCORED: dict[str, Source] = {
    "xor": partial(parity, 400, 2, 10),
    "parity": partial(parity, 1_000, 3, 10),
    "hastie": partial(datasets.make_hastie_10_2, 4_000, random_state=0),
    "quantiles": partial(
        datasets.make_gaussian_quantiles, n_samples=3_000, n_features=6, random_state=0
    ),
    "linear": linear_rule,
    "clusters-4": partial(classification, 20_000, 40, 4),
    "clusters-25": partial(classification, 1_500, 20, 25),
    "compact-25": partial(clusters, 0, (1_500, 20), 25, n_informative=10, n_clusters_per_class=1),
    "spread-25": partial(
        clusters, 0, (1_500, 20), 25, n_informative=18, n_redundant=0, n_clusters_per_class=1
    ),
    "text-300": partial(Corpus(seed=0).tfidf, 300),
    "text-1000": partial(Corpus(seed=0).tfidf, 1_000),
    "text-3000": partial(Corpus(seed=0).tfidf, 3_000),
    "minority": partial(clusters, 0, (6_000, 15), 2, weights=[0.98]),
    **{name: _bundled(name) for name in ("iris", "wine", "breast_cancer", "digits")},
    **_public(SCORED_PUBLIC),
}

TUNING: dict[str, Source] = {
    "t-xor-2-of-14": partial(binary_rule, partial(_odd, 2), (600, 14), 101),
    "t-xor-3-of-8": partial(binary_rule, partial(_odd, 3), (1_000, 8), 102, flipped=0.1),
    "t-majority-7-of-15": partial(binary_rule, partial(_most, 7), (500, 15), 103),
    "t-conjunctions": partial(binary_rule, _any_three, (800, 20), 104, flipped=0.05),
    "t-circles": lambda: with_noise(
        datasets.make_circles(1_000, noise=0.1, factor=0.5, random_state=105), 6, 105
    ),
    "t-moons": lambda: with_noise(datasets.make_moons(800, noise=0.2, random_state=106), 8, 106),
    "t-friedman": partial(friedman, 107),
    "t-waveform": partial(waveform, 2_000, 108),
    "t-sparse-linear": partial(sparse_rule, 1_500, 50, 5, 109),
    "t-largest-sum": partial(largest_sum, 1_500, 15, 4, 110),
    "t-checkerboard": partial(checkerboard, 2_000, 4, 3, 111),
    "t-squares-5": partial(sum_of_squares, 2_500, 5, 5, 112),
    "t-squares-8-of-16": partial(sum_of_squares, 3_000, 16, 8, 113),
    "t-clusters-3": partial(clusters, 114, (3_000, 12), 3, n_informative=8, flip_y=0.05),
    "t-clusters-8": partial(
        clusters, 115, (2_000, 30), 8, n_informative=12, n_clusters_per_class=1
    ),
    "t-clusters-2-of-100": partial(clusters, 116, (1_000, 100), 2, n_informative=6),
    "t-text-500": partial(
        Corpus(seed=117, document_count=1_000, topic_count=3, spread=0.8).tfidf, 500
    ),
    "t-text-2000": partial(Corpus(seed=118, document_count=1_200, topic_count=6).tfidf, 2_000),
    "t-minority-5": partial(clusters, 119, (3_000, 10), 2, n_informative=5, weights=[0.95]),
    "t-minority-3": partial(
        clusters, 120, (4_000, 25), 2, n_informative=8, weights=[0.97], flip_y=0
    ),
    "t-rings-3": partial(rings, 2_000, 4, 3, 121),
    "t-rings-4": partial(rings, 2_500, 8, 4, 122),
    "t-skewed": partial(skewed_rule, 2_000, 15, 8, 123),
    "t-compact-20": partial(
        clusters, 201, (1_200, 16), 20, n_informative=9, n_clusters_per_class=1
    ),
    "t-compact-30": partial(
        clusters, 202, (2_000, 25), 30, n_informative=12, n_clusters_per_class=1
    ),
    "t-clusters-12": partial(clusters, 203, (1_500, 12), 12, n_informative=8),
    **_public(TUNING_PUBLIC),
}
