"""load: any file of ours that holds something trained.

A path -> BinaryNetwork, Committee or QuboClassifier.
"""

import os
from typing import TYPE_CHECKING

from qubonn.errors import FileFormatError
from qubonn.network import BinaryNetwork
from qubonn.storage import read_names
from qubonn.training import Committee
from qubonn.training import load as load_trained

if TYPE_CHECKING:
    from qubonn.estimator.classifier import QuboClassifier


def load(path: str | os.PathLike[str]) -> "BinaryNetwork | Committee | QuboClassifier":
    """Read a network, a committee or a classifier; anything else gives one clear error."""
    names = read_names(path)
    if not names:
        raise FileFormatError(
            f"{os.fspath(path)} must be a model that qubonn wrote (.qubonn); it is something else, "
            "or truncated or corrupted"
        )
    if "classifier" not in names:
        return load_trained(path)
    from qubonn.estimator.files import load_classifier  # scikit-learn takes a moment

    return load_classifier(path)
