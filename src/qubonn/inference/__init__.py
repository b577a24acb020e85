"""Prediction in bits: XNOR and popcount at one bit a weight, exact."""

from qubonn.inference.packed_network import PackedNetwork, is_worth_packing
from qubonn.inference.packing import PackedInputs

__all__ = ["PackedInputs", "PackedNetwork", "is_worth_packing"]
