"""A trained file of ours, ready to be asked: what it is, and which columns it wants.

Path -> Model.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import qubonn as qn


@dataclass(frozen=True)
class Model:
    """A network, a committee or a classifier, and the names of the columns it learned from."""

    path: Path
    trained: Any  # BinaryNetwork, Committee or QuboClassifier
    names: tuple[str, ...] | None

    @property
    def kind(self) -> str:
        """What it is, in a word."""
        if self.is_classifier:
            return "classifier"
        return "committee" if isinstance(self.trained, qn.Committee) else "network"

    @property
    def is_classifier(self) -> bool:
        """Whether it answers with classes; otherwise with output spins."""
        return hasattr(self.trained, "committee_")

    @property
    def members(self) -> tuple["qn.BinaryNetwork", ...]:
        """Its networks."""
        committee = self.trained.committee_ if self.is_classifier else self.trained
        return committee.members if isinstance(committee, qn.Committee) else (committee,)

    @property
    def column_count(self) -> int:
        """Numbers that it wants for each example."""
        if self.is_classifier:
            return int(self.trained.n_features_in_)
        return self.members[0].topology.input_count


def load_model(path: Path) -> Model:
    """Read a .qubonn file."""
    trained: Any = qn.load(path)
    names = getattr(trained, "feature_names_in_", None)
    if names is None:
        return Model(path, trained, None)
    del trained.feature_names_in_  # columns are matched by us, before scikit-learn sees them
    return Model(path, trained, tuple(str(name) for name in names))
