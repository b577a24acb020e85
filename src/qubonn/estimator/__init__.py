"""The scikit-learn face: numbers and labels in, a committee of -1/+1 networks, labels out.

Nothing is imported before it is used: scikit-learn takes a moment.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qubonn.estimator.classifier import QuboClassifier as QuboClassifier
    from qubonn.estimator.loading import load as load

__all__ = ["QuboClassifier", "load"]

_HOME = {"QuboClassifier": "qubonn.estimator.classifier", "load": "qubonn.estimator.loading"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'qubonn.estimator' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)
