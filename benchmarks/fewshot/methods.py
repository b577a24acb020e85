"""Each method trained on a split: Split, number of members, seed -> record.

All networks of -1 and +1 have one hidden layer of 64 neurons and one output a class, are
BinaryNetworks, and answer by the largest output, or sum of outputs where several vote.
"""

import ast
import hashlib
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

import qubonn as qn
from fewshot.data import Split
from qubonn.experiments import Record

if TYPE_CHECKING:  # torch is wanted for this method only
    from straight_through import Settings

HIDDEN = 64
PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)  # C of logistic regression
CODE_OF_OURS = ("estimator", "engines", "simd", "training")  # what our defaults are and do


def ours(member_count: int, seed: int) -> qn.QuboClassifier:
    """Our classifier, with its defaults."""
    return qn.QuboClassifier(hidden=(HIDDEN,), committee_size=member_count, random_state=seed)


@cache
def code_of_ours() -> str:
    """Return a digest of the code that decides what our defaults are and do."""
    package = Path(qn.__file__).parent
    return _digest([path for name in CODE_OF_OURS for path in (package / name).rglob("*.py")])


@cache
def code_of_straight_through() -> str:
    """Return a digest of the code that trains by gradients."""
    return _digest([Path(__file__).resolve().parent.parent / "straight_through.py"])


def train_ours(
    split: Split, member_count: int, seed: int, *, is_grey: bool = False, is_image: bool = False
) -> Record:
    """Train `ours` on spins, or on pixels as they are: single networks, and a committee.

    With `is_image` it gets rows and columns, and so knows which pixels are neighbours.
    """
    train: NDArray[Any] = split.train_pixels if is_grey else split.train_spins
    test: NDArray[Any] = split.test_pixels if is_grey else split.test_spins
    if is_image:
        train = train.reshape(-1, *split.image_shape)
    ours(1, seed).fit(train, split.train_classes)  # compile
    start = time.perf_counter()
    alone = [
        ours(1, 1000 * seed + number).fit(train, split.train_classes)
        for number in range(member_count)
    ]
    seconds = (time.perf_counter() - start) / member_count
    model = ours(member_count, seed).fit(train, split.train_classes)
    if any(one.is_interrupted_ for one in (*alone, model)):  # what is there is not all
        raise KeyboardInterrupt
    networks, encoder = [one.committee_.members[0] for one in alone], model.binariser_
    single, _ = shares_right(networks, encoder.encode(test), split.test_classes)
    together = float(model.score(test, split.test_classes))
    numbers = 4 * np.size(getattr(encoder, "thresholds", getattr(encoder, "levels", ())))
    sizes = [size + (numbers if is_grey else 0) for size in byte_counts(networks)]
    return record_of(single, together, seconds, *sizes)


def train_straight_through(
    split: Split, member_count: int, seed: int, settings: "Settings"
) -> Record:
    """Train by gradients, member after member."""
    from straight_through import train_network

    count = len(np.unique(split.train_classes))

    def network(number: int, settings: "Settings") -> qn.BinaryNetwork:
        examples = split.train_spins, split.train_classes
        return train_network(*examples, HIDDEN, count, settings=settings, seed=1000 * seed + number)

    network(0, replace(settings, epoch_count=2))  # whatever torch does the first time
    start = time.perf_counter()
    networks = [network(number, settings) for number in range(member_count)]
    seconds = (time.perf_counter() - start) / member_count
    single, together = shares_right(networks, split.test_spins, split.test_classes)
    return record_of(single, together, seconds, *byte_counts(networks))


def train_logistic(split: Split) -> Record:
    """Logistic regression with floats, C chosen by cross-validation on the training examples."""
    folds = int(min(5, np.unique(split.train_classes, return_counts=True)[1].min()))
    search = GridSearchCV(LogisticRegression(max_iter=2000), {"C": PENALTIES}, cv=folds)
    start = time.perf_counter()
    search.fit(split.train_spins.astype(np.float64), split.train_classes)
    seconds = time.perf_counter() - start
    score = search.score(split.test_spins.astype(np.float64), split.test_classes)
    model = search.best_estimator_
    size = 4 * (model.coef_.size + model.intercept_.size)
    return record_of(float(score), None, seconds, size, size)


def record_of(
    single: float, committee: float | None, seconds: float, byte_count: int, all_byte_count: int
) -> Record:
    """Return accuracies on the test examples, seconds to train one model, and bytes.

    `single` is the mean over the members, `committee` None where there is one model only;
    compilation is not counted in `seconds`.
    """
    return {
        "single": single,
        "committee": committee,
        "training_seconds": seconds,
        "byte_count": int(byte_count),
        "all_byte_count": int(all_byte_count),
    }


def shares_right(
    networks: Sequence[qn.BinaryNetwork], spins: NDArray[np.int8], classes: NDArray[np.int64]
) -> tuple[float, float]:
    """Return the share of right answers of networks alone, on average, and of all together."""

    def share(members: Sequence[qn.BinaryNetwork]) -> float:
        votes = qn.Committee(members, "largest").votes(spins)
        return float((votes.argmax(axis=1) == classes).mean())

    return float(np.mean([share([network]) for network in networks])), share(networks)


def byte_counts(networks: Sequence[qn.BinaryNetwork]) -> tuple[int, int]:
    """Return bytes of one network and of all: a bit for each weight and bias."""
    topology = networks[0].topology
    bits = topology.weight_count + topology.neuron_count
    return -(-bits // 8), -(-bits * len(networks) // 8)


def _digest(paths: Sequence[Path]) -> str:
    """Return the same for the same code, whatever its comments say."""
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(ast.dump(_without_docstrings(path.read_text("utf-8"))).encode())
    return found.hexdigest()[:12]


def _without_docstrings(source: str) -> ast.Module:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        body: Any = getattr(node, "body", None)
        if isinstance(body, list) and body and _is_text(body[0]):
            del body[0]
    return tree


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
