"""From a problem to networks people use: one-shot training, results, committees."""

from qubonn.training.committee import Committee, load
from qubonn.training.one_shot import train
from qubonn.training.result import TrainingResult

__all__ = ["Committee", "TrainingResult", "load", "train"]
