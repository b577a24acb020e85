"""Tests to inherit, for samplers and engines written elsewhere."""

from qubonn.testing.engine_contract import EngineContract
from qubonn.testing.sampler_contract import SamplerContract

__all__ = ["EngineContract", "SamplerContract"]
