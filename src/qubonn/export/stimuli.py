"""Inputs and results that a test bench checks a circuit with, from the reference forward pass.

Exported -> Vectors: all inputs of few bits; else random ones, and ones with ties.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import SpinMatrix
from qubonn.encoding.table_encoder import MISSING
from qubonn.export.features import BIT, Features
from qubonn.export.model import Exported
from qubonn.network import BinaryNetwork

MOST_BITS = 16  # of inputs; with more, not all of them are tried
POOL = 8  # random examples for each that is used: ties are chosen from them


@dataclass(frozen=True, eq=False)
class Vectors:
    """Examples as the circuit reads them, and what must come out."""

    words: NDArray[np.int64]  # bits of each input, or features
    outputs: NDArray[np.bool_]
    classes: NDArray[np.int64]
    ties: int  # examples in which a vote, or the two largest scores, are a tie

    def __len__(self) -> int:
        return len(self.words)


def vectors_of(model: Exported, features: Features | None, count: int, seed: int) -> Vectors:
    """Return `count` examples, or all of them if there are few inputs; half of them ties if any."""
    random = np.random.default_rng(seed)
    width = model.topology.column_count
    if features is not None:
        words = _near_levels(features, POOL * count, random)
        spins = spins_of(features, words)
    elif width <= MOST_BITS:
        words = np.arange(2**width)[:, np.newaxis] >> np.arange(width) & 1
        return _vectors(model, words, votes_of(model, _spins(words)))
    else:
        words = random.integers(2, size=(POOL * count, width))
        spins = _spins(words)
    votes = votes_of(model, spins)
    is_tie = _ties(model, votes)
    tied, other = np.flatnonzero(is_tie), np.flatnonzero(~is_tie)
    chosen = np.sort(np.concatenate([tied[: count // 2], other])[:count])
    return _vectors(model, words[chosen], votes[chosen])


def _vectors(model: Exported, words: NDArray[np.int64], votes: NDArray[np.int64]) -> Vectors:
    scores = scores_of(model, votes)
    if model.reading == "signs":
        outputs = votes > 0
    else:
        outputs = np.arange(votes.shape[1]) == votes.argmax(axis=1)[:, np.newaxis]
    return Vectors(words, outputs, scores.argmax(axis=1), int(_ties(model, votes).sum()))


def _spins(bits: NDArray[np.int64]) -> SpinMatrix:
    return (2 * bits - 1).astype(np.int8)


def votes_of(model: Exported, spins: SpinMatrix) -> NDArray[np.int64]:
    """Return the votes on each output, by the reference forward pass of each member."""
    topology = model.topology
    total = np.zeros((len(spins), topology.output_count), dtype=np.int64)
    for weights, biases in zip(model.weight_spins, model.bias_spins, strict=True):
        network = BinaryNetwork(topology, weights, biases)
        sums = network.pre_activations(spins)[:, -topology.output_count :]
        by_signs = model.is_committee and model.reading == "signs"
        total += np.where(sums > 0, 1, -1) if by_signs else sums
    return total


def scores_of(model: Exported, votes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return what the class with the largest wins by."""
    classes = model.classes
    if classes is None:
        return votes
    if classes.evidence is not None:
        found = classes.evidence[(votes + model.member_count) // 2]
        return np.asarray(found @ classes.codewords.astype(np.int64).T)
    return votes if classes.offsets is None else votes + classes.offsets


def _ties(model: Exported, votes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return where a vote is 0 or, if the largest is read, where two are the largest."""
    if model.classes is None and model.reading == "signs":
        return np.asarray((votes == 0).any(axis=1))
    scores = np.sort(scores_of(model, votes), axis=1)
    if scores.shape[1] < 2:
        return np.zeros(len(scores), dtype=bool)
    return np.asarray(scores[:, -1] == scores[:, -2])


# ---- features ----


def _near_levels(features: Features, count: int, random: np.random.Generator) -> NDArray[np.int64]:
    """Return features at levels and one beside them, at the ends of their type, and any others."""
    limits: Any = np.iinfo(features.kind)
    columns = []
    for column in range(features.count):
        own = [test for test in features.tests if test.column == column]
        near = [limits.min + (limits.min == -(2**31)), limits.max]
        near += [
            test.level + k for test in own for k in (-1, 0, 1) if test.rule not in (BIT, MISSING)
        ]
        bits = max((test.level + 1 for test in own if test.rule == BIT), default=None)
        some = random.choice(np.clip(near, limits.min, limits.max), size=count)
        anything = random.integers(limits.min, limits.max, size=count, endpoint=True)
        mixed = np.where(random.integers(4, size=count) == 0, anything, some)
        columns.append(mixed if bits is None else anything & ((1 << bits) - 1))
    return np.stack(columns, axis=1) & ((1 << features.width) - 1)


def spins_of(features: Features, words: NDArray[np.int64]) -> SpinMatrix:
    """Return the spins of features, test by test."""
    numbers = words
    if features.is_signed:
        numbers = np.where(words >> (features.width - 1), words - (1 << features.width), words)
    is_missing = features.has_missing & (words == features.missing)
    columns = []
    for column, rule, level in features.tests:
        own = numbers[:, column]
        if rule == BIT:
            is_up = ((own ^ own >> 1 if features.is_gray else own) >> level & 1) == 1
        elif rule == MISSING:
            is_up = is_missing[:, column]
        else:
            is_up = (own > level) & ~is_missing[:, column] if rule == 0 else own == level
        columns.append(np.where(is_up, 1, -1))
    return np.stack(columns, axis=1).astype(np.int8)
