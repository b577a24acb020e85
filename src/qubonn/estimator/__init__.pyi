from .classifier import QuboClassifier as QuboClassifier
from .files import load as load
from .posed import SIDECAR as SIDECAR
from .posed import PosedProblem as PosedProblem
from .posed import pose as pose
from .posed import sidecar_of as sidecar_of
