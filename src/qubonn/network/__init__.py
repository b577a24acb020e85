"""A topology with its parameters: forward pass, margins, robustness, cycles, files."""

from qubonn.network.binary_network import BinaryNetwork
from qubonn.network.forward import Margins
from qubonn.network.robustness import Robustness
from qubonn.network.settling import Settled, Settling
from qubonn.network.summary import Summary

__all__ = ["BinaryNetwork", "Margins", "Robustness", "Settled", "Settling", "Summary"]
