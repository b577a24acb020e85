"""Tests that other people's samplers can inherit."""

from qubonn.testing.sampler_contract import SamplerContract

__all__ = ["SamplerContract"]
