"""Network + data -> problem -> QUBO, and back: the paper's model."""

from qubonn.formulation.contradictions import Contradictions
from qubonn.formulation.evaluation import Terms, Violation, Violations
from qubonn.formulation.problem import Certificate, ProblemSize, TrainingProblem
from qubonn.formulation.structure import CountCode
from qubonn.formulation.terms import Field, Term

__all__ = [
    "Certificate",
    "Contradictions",
    "CountCode",
    "Field",
    "ProblemSize",
    "Term",
    "Terms",
    "TrainingProblem",
    "Violation",
    "Violations",
]
