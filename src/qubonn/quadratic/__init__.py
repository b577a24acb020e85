"""Quadratic energies over bits: the form that Ising machines accept. Independent of networks."""

from qubonn.quadratic.fixing import FixedQubo, fix
from qubonn.quadratic.hamiltonian import Hamiltonian
from qubonn.quadratic.hardware import Hardware
from qubonn.quadratic.ising import Ising, as_qubo
from qubonn.quadratic.qubo import Qubo
from qubonn.quadratic.samples import Samples

__all__ = ["FixedQubo", "Hamiltonian", "Hardware", "Ising", "Qubo", "Samples", "as_qubo", "fix"]
