"""How many input flips change a class: bounds from margins, witnesses, proofs by CP-SAT."""

from qubonn.network.robustness.certificate import Robustness
from qubonn.network.robustness.certifying import Effort, certify
from qubonn.network.robustness.jury import Decision, require_decision

__all__ = ["Decision", "Effort", "Robustness", "certify", "require_decision"]
