"""How many input flips change a class: bounds from margins, witnesses, proofs by CP-SAT."""

from qubonn.network.robustness.jury import Decision, require_decision
from qubonn.network.robustness.result import Robustness
from qubonn.network.robustness.search import Effort, robustness_of

__all__ = ["Decision", "Effort", "Robustness", "require_decision", "robustness_of"]
