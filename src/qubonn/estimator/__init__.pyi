from .classifier import QuboClassifier as QuboClassifier
from .files import load as load
from .posed import PosedProblem as PosedProblem
from .posed import pose as pose
