"""How many input flips change a class: bounds from margins, witnesses, proofs by CP-SAT."""

from qubonn.network.robustness.result import Robustness
from qubonn.network.robustness.search import Effort, robustness_of

__all__ = ["Effort", "Robustness", "robustness_of"]
