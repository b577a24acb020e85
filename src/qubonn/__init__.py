"""Train neural networks whose weights, biases and activations are all -1 or +1, as a QUBO.

The public names; each is imported when it is first used, so ``import qubonn`` stays quick.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "AnnealingSampler": "qubonn.samplers.dimod_face",
    "AsDimodSampler": "qubonn.samplers.dimod_face",
    "Batches": "qubonn.training",
    "BinaryNetwork": "qubonn.network",
    "BitPlanes": "qubonn.encoding",
    "Certificate": "qubonn.formulation",
    "CodeBook": "qubonn.encoding",
    "Committee": "qubonn.training",
    "CommitteeSummary": "qubonn.training",
    "CountCode": "qubonn.formulation",
    "CpSat": "qubonn.engines",
    "Decoding": "qubonn.training",
    "Design": "qubonn.estimator.plan",
    "DimodSolver": "qubonn.samplers",
    "Distinct": "qubonn.samplers",
    "Dropout": "qubonn.training",
    "Exhaustive": "qubonn.samplers",
    "Field": "qubonn.formulation",
    "ForwardAnnealing": "qubonn.engines",
    "GrowingBatches": "qubonn.engines",
    "Hamiltonian": "qubonn.quadratic",
    "Ising": "qubonn.quadratic",
    "Iteration": "qubonn.training",
    "LiftedAnnealing": "qubonn.engines",
    "Lowest": "qubonn.samplers",
    "MomentumAnnealing": "qubonn.samplers",
    "InputNoise": "qubonn.engines",
    "PackedInputs": "qubonn.inference",
    "PackedNetwork": "qubonn.inference",
    "PopulationAnnealing": "qubonn.samplers",
    "PosedProblem": "qubonn.estimator.plan",
    "Qubo": "qubonn.quadratic",
    "QuboClassifier": "qubonn.estimator",
    "QubonnError": "qubonn.errors",
    "Refined": "qubonn.samplers",
    "Robustness": "qubonn.network",
    "Samples": "qubonn.quadratic",
    "SimulatedAnnealing": "qubonn.samplers",
    "Stop": "qubonn.quadratic",
    "Summary": "qubonn.network",
    "Thermometer": "qubonn.encoding",
    "Threshold": "qubonn.encoding",
    "Topology": "qubonn.topology",
    "TrainingProblem": "qubonn.formulation",
    "TrainingResult": "qubonn.training",
    "TunedAnnealing": "qubonn.samplers",
    "Tuning": "qubonn.samplers",
    "decode_samples": "qubonn.training",
    "load": "qubonn.estimator",
    "pose": "qubonn.estimator.plan",
    "to_c": "qubonn.export",
    "to_onnx": "qubonn.export",
    "train": "qubonn.training",
    "train_in_batches": "qubonn.training",
    "train_with_dropout": "qubonn.training",
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
    from qubonn.engines import GrowingBatches as GrowingBatches
    from qubonn.engines import InputNoise as InputNoise
    from qubonn.engines import LiftedAnnealing as LiftedAnnealing
    from qubonn.errors import QubonnError as QubonnError
    from qubonn.estimator import QuboClassifier as QuboClassifier
    from qubonn.estimator import load as load
    from qubonn.estimator.plan import Design as Design
    from qubonn.estimator.plan import PosedProblem as PosedProblem
    from qubonn.estimator.plan import pose as pose
    from qubonn.export import to_c as to_c
    from qubonn.export import to_onnx as to_onnx
    from qubonn.formulation import Certificate as Certificate
    from qubonn.formulation import CountCode as CountCode
    from qubonn.formulation import Field as Field
    from qubonn.formulation import TrainingProblem as TrainingProblem
    from qubonn.inference import PackedInputs as PackedInputs
    from qubonn.inference import PackedNetwork as PackedNetwork
    from qubonn.network import BinaryNetwork as BinaryNetwork
    from qubonn.network import Robustness as Robustness
    from qubonn.network import Summary as Summary
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
    from qubonn.training import Batches as Batches
    from qubonn.training import Committee as Committee
    from qubonn.training import CommitteeSummary as CommitteeSummary
    from qubonn.training import Decoding as Decoding
    from qubonn.training import Dropout as Dropout
    from qubonn.training import Iteration as Iteration
    from qubonn.training import TrainingResult as TrainingResult
    from qubonn.training import decode_samples as decode_samples
    from qubonn.training import train as train
    from qubonn.training import train_in_batches as train_in_batches
    from qubonn.training import train_with_dropout as train_with_dropout

__all__ = [
    "AnnealingSampler",
    "AsDimodSampler",
    "Batches",
    "BinaryNetwork",
    "BitPlanes",
    "Certificate",
    "CodeBook",
    "Committee",
    "CommitteeSummary",
    "CountCode",
    "CpSat",
    "Decoding",
    "Design",
    "DimodSolver",
    "Distinct",
    "Dropout",
    "Exhaustive",
    "Field",
    "ForwardAnnealing",
    "GrowingBatches",
    "Hamiltonian",
    "InputNoise",
    "Ising",
    "Iteration",
    "LiftedAnnealing",
    "Lowest",
    "MomentumAnnealing",
    "PackedInputs",
    "PackedNetwork",
    "PopulationAnnealing",
    "PosedProblem",
    "Qubo",
    "QuboClassifier",
    "QubonnError",
    "Refined",
    "Robustness",
    "Samples",
    "SimulatedAnnealing",
    "Stop",
    "Summary",
    "Thermometer",
    "Threshold",
    "Topology",
    "TrainingProblem",
    "TrainingResult",
    "TunedAnnealing",
    "Tuning",
    "datasets",
    "decode_samples",
    "encoding",
    "errors",
    "load",
    "paper",
    "pose",
    "to_c",
    "to_onnx",
    "train",
    "train_in_batches",
    "train_with_dropout",
    "tune",
]


def __getattr__(name: str) -> Any:
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    elif name in _MODULES:
        value = import_module(f"qubonn.{name}")
    else:
        raise AttributeError(f"module 'qubonn' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
