"""Solvers that work on the training problem itself, not on its QUBO."""

from qubonn.engines.base import Engine, Solutions
from qubonn.engines.cpsat import CpSat, ExactResult, Proof
from qubonn.engines.forward import ForwardAnnealing
from qubonn.engines.lifted import LiftedAnnealing
from qubonn.engines.sweep_data import GrowingBatches, InputNoise, InputShifts

__all__ = [
    "CpSat",
    "Engine",
    "ExactResult",
    "ForwardAnnealing",
    "GrowingBatches",
    "InputNoise",
    "InputShifts",
    "LiftedAnnealing",
    "Proof",
    "Solutions",
]
