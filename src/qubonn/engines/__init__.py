"""Solvers that work on the training problem itself, not on its QUBO."""

from qubonn.engines.cpsat import CpSat, ExactResult, Proof

__all__ = ["CpSat", "ExactResult", "Proof"]
