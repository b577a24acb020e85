"""A topology with its parameters: forward pass, margins, settling of cycles, files."""

from qubonn.network.files import load_network
from qubonn.network.margins import Margins
from qubonn.network.parameters import BinaryNetwork
from qubonn.network.settling import Settled, Settling

__all__ = ["BinaryNetwork", "Margins", "Settled", "Settling", "load_network"]
