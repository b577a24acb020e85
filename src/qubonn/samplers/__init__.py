"""QUBO in, samples out: annealers and a wrapper. Independent of networks."""

from qubonn.samplers.annealing import SimulatedAnnealing
from qubonn.samplers.base import Refined, Sampler
from qubonn.samplers.exhaustive import Exhaustive
from qubonn.samplers.momentum import MomentumAnnealing
from qubonn.samplers.population import PopulationAnnealing
from qubonn.samplers.temperatures import default_temperatures
from qubonn.samplers.tuning import TunedAnnealing, Tuning, tune

__all__ = [
    "Exhaustive",
    "MomentumAnnealing",
    "PopulationAnnealing",
    "Refined",
    "Sampler",
    "SimulatedAnnealing",
    "TunedAnnealing",
    "Tuning",
    "default_temperatures",
    "tune",
]
