"""Generated text: documents of several topics -> tf-idf of the most frequent words.

Zipf's law gives the words' frequencies.  Each topic multiplies them by log-normal factors, which
vary more for rare words than for frequent ones, and a document mixes its own topic with one other.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import TfidfTransformer

SHORTEST, LONGEST = 30, 200  # words of a document
ZIPF_OFFSET = 2.7  # Mandelbrot's correction for the most frequent words
SPREAD_GROWTH = 0.05  # exponent: how much more a topic changes rare words than frequent ones


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """A language and documents in it."""

    seed: int
    document_count: int = 1_500
    topic_count: int = 4
    vocabulary: int = 10_000
    spread: float = 0.92  # of the logarithms of a topic's factors, for the rarest word
    own_share: float = 0.7  # least share of a document's own topic

    def tfidf(self, word_count: int) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
        """Return dense tf-idf of the most frequent words, and the topics."""
        counts, topics = self._documents()
        most = np.argsort(-counts.sum(axis=0), kind="stable")[:word_count]
        return TfidfTransformer().fit_transform(counts[:, most]).toarray(), topics

    def _documents(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        generator = np.random.default_rng(self.seed)
        ranks = np.arange(self.vocabulary) + ZIPF_OFFSET
        spreads = self.spread * (ranks / ranks[-1]) ** SPREAD_GROWTH
        words = np.exp(spreads * generator.normal(size=(self.topic_count, len(ranks)))) / ranks
        words /= words.sum(axis=1, keepdims=True)
        topics = np.arange(self.document_count) % self.topic_count
        others = (topics + generator.integers(1, self.topic_count, len(topics))) % self.topic_count
        shares = generator.uniform(self.own_share, 1, (len(topics), 1))
        lengths = generator.integers(SHORTEST, LONGEST + 1, len(topics))
        mixed = shares * words[topics] + (1 - shares) * words[others]
        return generator.multinomial(lengths, mixed / mixed.sum(axis=1, keepdims=True)), topics
