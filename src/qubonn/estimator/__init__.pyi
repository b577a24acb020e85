from .classifier import QuboClassifier as QuboClassifier
from .files import load as load
from .plan import PosedProblem as PosedProblem
from .plan import pose as pose
