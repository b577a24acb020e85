"""Prediction in bits: XNOR and popcount at one bit a weight, exact."""

from qubonn.inference.packing import PackedInputs
from qubonn.inference.xnor import PackedNetwork, is_worth_packing

__all__ = ["PackedInputs", "PackedNetwork", "is_worth_packing"]
