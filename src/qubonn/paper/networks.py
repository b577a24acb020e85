"""The 18 networks of the paper.

Number -> Topology.  Paper, tab:networks.
"""

from qubonn.checks import require_count
from qubonn.errors import RangeError
from qubonn.topology import Topology

# Network 7 is printed as conv(4x4)+fc(4), but its printed counts (39 neurons, 168 connections, 294
# and 56 variables, 216 constraints) are those of two filters, so that is what we build.
NOTATIONS = (
    "conv(2x2)",
    "conv(2x2)+fc(4)",
    "conv(3x3)",
    "conv(3x3x2)",
    "conv(3x3)+fc(4)",
    "conv(4x4)",
    "conv(4x4x2)",
    "conv(4x4x2)+fc(4)",
    *(f"fc({size})" for size in range(1, 11)),
)


def topology(number: int) -> Topology:
    """Return network 0 to 17 of the paper: 5 x 5 inputs, two outputs.

    >>> topology(10)
    Topology((1, 5, 5) -> 3 -> 2: 30 nodes, 81 arcs, 81 weights)
    """
    if require_count("number", number, least=0) >= len(NOTATIONS):
        raise RangeError(
            f"the paper's networks are numbered 0 to {len(NOTATIONS) - 1}; got {number}"
        )
    return Topology.parse(NOTATIONS[number], inputs=(5, 5), outputs=2)
