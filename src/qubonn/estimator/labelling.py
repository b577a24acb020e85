"""Classes as output spins, and what votes on outputs say about classes.

Classes -> CodeBook; votes -> one score for each class, a logarithm of its probability.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from qubonn.encoding import CodeBook
from qubonn.errors import AlphabetError, RangeError
from qubonn.training import Committee
from qubonn.training.vote_odds import EVIDENCE_UNIT, vote_evidence

WARMTH = 0.6  # of sums, times the root of their terms: least log loss on held-out examples


def book_for(wanted: object, classes: NDArray[Any]) -> CodeBook:
    """Return the code book asked for, with the classes in the given order.

    `wanted` is "auto" (one-hot), "one_hot", "gray_code", or a CodeBook of these classes.
    """
    if isinstance(wanted, CodeBook):
        return _reordered(wanted, classes)
    if isinstance(wanted, str) and wanted in ("auto", "one_hot"):
        return CodeBook.one_hot(classes)
    if isinstance(wanted, str) and wanted == "gray_code":
        return CodeBook.gray_code(classes)
    raise RangeError(
        "label_code must be 'auto', 'one_hot', 'gray_code' or a CodeBook of the classes; "
        f"got {wanted!r:.60}"
    )


def require_classes(
    labels: NDArray[Any], known: NDArray[Any] | None
) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Return the classes, sorted, and the number of each example's class."""
    check_classification_targets(labels)
    classes, class_of = np.unique(labels, return_inverse=True)
    if len(classes) < 2:
        raise AlphabetError(f"y must hold at least two classes; got one class, {classes[0]}")
    if known is not None and not np.array_equal(classes, known):
        raise AlphabetError(
            "with warm_start, y must hold the classes of the first fit, "
            f"{known.tolist()!r:.60}; got {classes.tolist()!r:.60}"
        )
    return classes, class_of


def class_scores(
    committee: Committee, book: CodeBook, votes: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return logarithms of probabilities, up to a constant for each example: examples x classes.

    `votes` is what ``committee.votes`` returned. Where the largest output is
    read, a member splits its vote by the softmax of its output pre-activations, each divided by 0.6
    times the root of its number of terms; the committee's split is the geometric mean of its
    members', so the largest sum wins. Where signs are read, each output is +1 with the share of its
    +1 votes, half a vote added on both sides, and independent of the others.
    """
    size = len(committee)
    codewords = book.codewords.astype(np.int64)
    # whole numbers until the last step, so that ties stay ties
    if committee.reading == "signs":
        evidence = vote_evidence(size)[(votes + size) // 2]
        return np.asarray((evidence @ codewords.T) * (EVIDENCE_UNIT / 2))
    topology = committee.members[0].topology
    terms = topology.fan_in[topology.outputs.start :].max() + 1
    return np.asarray((votes @ codewords.T) / (2 * size * WARMTH * terms**0.5))


def probabilities(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax of each row.

    >>> probabilities(np.array([[0.0, 0.0], [1000.0, 0.0]]))
    array([[0.5, 0.5],
           [1. , 0. ]])
    """
    powers = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _reordered(book: CodeBook, classes: NDArray[Any]) -> CodeBook:
    if len(book.classes) != len(classes):
        raise AlphabetError(
            f"label_code must have the {len(classes)} classes of y; it has {len(book.classes)}"
        )
    return CodeBook(classes, book.encode(classes))
