"""Train neural networks whose weights, biases and activations are all -1 or +1, as a QUBO.

The public names; each is imported when it is first used, so ``import qubonn`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AnnealingSampler": "qubonn.samplers.dimod_face",
    "AsDimodSampler": "qubonn.samplers.dimod_face",
    "BinaryNetwork": "qubonn.network",
    "BitPlanes": "qubonn.encoding",
    "Certificate": "qubonn.formulation",
    "CodeBook": "qubonn.encoding",
    "Committee": "qubonn.training",
    "CountCode": "qubonn.formulation",
    "CpSat": "qubonn.engines",
    "DimodSolver": "qubonn.samplers",
    "Distinct": "qubonn.samplers",
    "Exhaustive": "qubonn.samplers",
    "Field": "qubonn.formulation",
    "ForwardAnnealing": "qubonn.engines",
    "Hamiltonian": "qubonn.quadratic",
    "Ising": "qubonn.quadratic",
    "LiftedAnnealing": "qubonn.engines",
    "Lowest": "qubonn.samplers",
    "MomentumAnnealing": "qubonn.samplers",
    "PopulationAnnealing": "qubonn.samplers",
    "Qubo": "qubonn.quadratic",
    "QubonnError": "qubonn.errors",
    "Refined": "qubonn.samplers",
    "Samples": "qubonn.quadratic",
    "SimulatedAnnealing": "qubonn.samplers",
    "Stop": "qubonn.quadratic",
    "Thermometer": "qubonn.encoding",
    "Threshold": "qubonn.encoding",
    "Topology": "qubonn.topology",
    "TrainingProblem": "qubonn.formulation",
    "TrainingResult": "qubonn.training",
    "TunedAnnealing": "qubonn.samplers",
    "Tuning": "qubonn.samplers",
    "train": "qubonn.training",
    "tune": "qubonn.samplers",
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
    from qubonn.engines import CpSat as CpSat
    from qubonn.engines import ForwardAnnealing as ForwardAnnealing
    from qubonn.engines import LiftedAnnealing as LiftedAnnealing
    from qubonn.errors import QubonnError as QubonnError
    from qubonn.formulation import Certificate as Certificate
    from qubonn.formulation import CountCode as CountCode
    from qubonn.formulation import Field as Field
    from qubonn.formulation import TrainingProblem as TrainingProblem
    from qubonn.network import BinaryNetwork as BinaryNetwork
    from qubonn.quadratic import Hamiltonian as Hamiltonian
    from qubonn.quadratic import Ising as Ising
    from qubonn.quadratic import Qubo as Qubo
    from qubonn.quadratic import Samples as Samples
    from qubonn.quadratic import Stop as Stop
    from qubonn.samplers import DimodSolver as DimodSolver
    from qubonn.samplers import Distinct as Distinct
    from qubonn.samplers import Exhaustive as Exhaustive
    from qubonn.samplers import Lowest as Lowest
    from qubonn.samplers import MomentumAnnealing as MomentumAnnealing
    from qubonn.samplers import PopulationAnnealing as PopulationAnnealing
    from qubonn.samplers import Refined as Refined
    from qubonn.samplers import SimulatedAnnealing as SimulatedAnnealing
    from qubonn.samplers import TunedAnnealing as TunedAnnealing
    from qubonn.samplers import Tuning as Tuning
    from qubonn.samplers import tune as tune
    from qubonn.samplers.dimod_face import AnnealingSampler as AnnealingSampler
    from qubonn.samplers.dimod_face import AsDimodSampler as AsDimodSampler
    from qubonn.topology import Topology as Topology
    from qubonn.training import Committee as Committee
    from qubonn.training import TrainingResult as TrainingResult
    from qubonn.training import load as load
    from qubonn.training import train as train

__all__ = [
    "AnnealingSampler",
    "AsDimodSampler",
    "BinaryNetwork",
    "BitPlanes",
    "Certificate",
    "CodeBook",
    "Committee",
    "CountCode",
    "CpSat",
    "DimodSolver",
    "Distinct",
    "Exhaustive",
    "Field",
    "ForwardAnnealing",
    "Hamiltonian",
    "Ising",
    "LiftedAnnealing",
    "Lowest",
    "MomentumAnnealing",
    "PopulationAnnealing",
    "Qubo",
    "QubonnError",
    "Refined",
    "Samples",
    "SimulatedAnnealing",
    "Stop",
    "Thermometer",
    "Threshold",
    "Topology",
    "TrainingProblem",
    "TrainingResult",
    "TunedAnnealing",
    "Tuning",
    "datasets",
    "encoding",
    "errors",
    "load",
    "paper",
    "train",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name == "load":
        value = import_module("qubonn.training").load
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
