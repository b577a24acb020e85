"""Prediction in bits: XNOR and popcount at one bit a weight, exact."""

from qubonn.inference.packed_network import PackedNetwork
from qubonn.inference.packing import PackedInputs

__all__ = ["PackedInputs", "PackedNetwork"]
