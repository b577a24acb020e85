"""Solvers that work on the training problem itself, not on its QUBO."""

from qubonn.engines.base import Engine, Found
from qubonn.engines.cpsat import CpSat, ExactResult, Proof
from qubonn.engines.forward import ForwardAnnealing
from qubonn.engines.growing import Growing
from qubonn.engines.lifted import LiftedAnnealing
from qubonn.engines.noise import Noise

__all__ = [
    "CpSat",
    "Engine",
    "ExactResult",
    "ForwardAnnealing",
    "Found",
    "Growing",
    "LiftedAnnealing",
    "Noise",
    "Proof",
]
