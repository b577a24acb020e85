"""The public names, each once: read by lazy_loader when the package runs and by type checkers."""

__version__: str
__all__: list[str]

from . import datasets as datasets
from . import encoding as encoding
from . import errors as errors
from . import paper as paper
from .encoding import BitPlanes as BitPlanes
from .encoding import CodeBook as CodeBook
from .encoding import InputEncoder as InputEncoder
from .encoding import Thermometer as Thermometer
from .encoding import Threshold as Threshold
from .engines import CpSat as CpSat
from .engines import Engine as Engine
from .engines import ForwardAnnealing as ForwardAnnealing
from .engines import LiftedAnnealing as LiftedAnnealing
from .engines import Solutions as Solutions
from .errors import QubonnError as QubonnError
from .estimator import QuboClassifier as QuboClassifier
from .estimator import load as load
from .estimator import pose as pose
from .export import to_c as to_c
from .export import to_onnx as to_onnx
from .export import to_verilog as to_verilog
from .formulation import Field as Field
from .formulation import TrainingProblem as TrainingProblem
from .network import BinaryNetwork as BinaryNetwork
from .quadratic import Hamiltonian as Hamiltonian
from .quadratic import Ising as Ising
from .quadratic import Qubo as Qubo
from .quadratic import Samples as Samples
from .samplers import Exhaustive as Exhaustive
from .samplers import MomentumAnnealing as MomentumAnnealing
from .samplers import PopulationAnnealing as PopulationAnnealing
from .samplers import Refined as Refined
from .samplers import Sampler as Sampler
from .samplers import SimulatedAnnealing as SimulatedAnnealing
from .samplers import TunedAnnealing as TunedAnnealing
from .samplers import tune as tune
from .samplers.dimod import AnnealingSampler as AnnealingSampler
from .samplers.dimod import AsDimodSampler as AsDimodSampler
from .samplers.dimod import DimodSolver as DimodSolver
from .stopping import Stop as Stop
from .stopping import Watch as Watch
from .topology import Topology as Topology
from .training import Batches as Batches
from .training import Committee as Committee
from .training import Dropout as Dropout
from .training import TrainingResult as TrainingResult
from .training import decode_samples as decode_samples
from .training import train as train
from .training import train_with_dropout as train_with_dropout
