"""Train neural networks whose weights, biases and activations are all -1 or +1, as a QUBO.

The public names; each is imported when it is first used, so ``import qubonn`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "BinaryNetwork": "qubonn.network",
    "BitPlanes": "qubonn.encoding",
    "Certificate": "qubonn.formulation",
    "CodeBook": "qubonn.encoding",
    "CountCode": "qubonn.formulation",
    "Field": "qubonn.formulation",
    "Hamiltonian": "qubonn.quadratic",
    "Ising": "qubonn.quadratic",
    "QubonnError": "qubonn.errors",
    "Qubo": "qubonn.quadratic",
    "Thermometer": "qubonn.encoding",
    "Threshold": "qubonn.encoding",
    "Topology": "qubonn.topology",
    "TrainingProblem": "qubonn.formulation",
}
_MODULES = ("datasets", "encoding", "errors", "paper")

if TYPE_CHECKING:
    from qubonn import datasets as datasets
    from qubonn import encoding as encoding
    from qubonn import errors as errors
    from qubonn import paper as paper
    from qubonn.encoding import BitPlanes as BitPlanes
    from qubonn.encoding import CodeBook as CodeBook
    from qubonn.encoding import Thermometer as Thermometer
    from qubonn.encoding import Threshold as Threshold
    from qubonn.errors import QubonnError as QubonnError
    from qubonn.formulation import Certificate as Certificate
    from qubonn.formulation import CountCode as CountCode
    from qubonn.formulation import Field as Field
    from qubonn.formulation import TrainingProblem as TrainingProblem
    from qubonn.network import BinaryNetwork as BinaryNetwork
    from qubonn.network import load_network as load
    from qubonn.quadratic import Hamiltonian as Hamiltonian
    from qubonn.quadratic import Ising as Ising
    from qubonn.quadratic import Qubo as Qubo
    from qubonn.topology import Topology as Topology

__all__ = [
    "BinaryNetwork",
    "BitPlanes",
    "Certificate",
    "CodeBook",
    "CountCode",
    "Field",
    "Hamiltonian",
    "Ising",
    "Qubo",
    "QubonnError",
    "Thermometer",
    "Threshold",
    "Topology",
    "TrainingProblem",
    "datasets",
    "encoding",
    "errors",
    "load",
    "paper",
]


def __getattr__(name: str) -> Any:
    if name == "load":
        value = import_module("qubonn.network").load_network
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"qubonn.{name}")
    else:
        raise AttributeError(f"module 'qubonn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
