"""From a problem to networks: one-shot and iterated training, results, committees."""

from qubonn.training.algorithm1 import Dropout, train_with_dropout
from qubonn.training.batches import Batches
from qubonn.training.committee import Committee
from qubonn.training.counting import FeasibleCount, count_feasible
from qubonn.training.decode import Decoding, Precision, decode_samples, precision_curve
from qubonn.training.decomposition import BlockDecomposition
from qubonn.training.one_shot import train
from qubonn.training.result import Iteration, TrainingResult

__all__ = [
    "Batches",
    "BlockDecomposition",
    "Committee",
    "Decoding",
    "Dropout",
    "FeasibleCount",
    "Iteration",
    "Precision",
    "TrainingResult",
    "count_feasible",
    "decode_samples",
    "precision_curve",
    "train",
    "train_with_dropout",
]
