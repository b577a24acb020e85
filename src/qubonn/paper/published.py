"""The 18 networks of the paper, and every number of its four tables, digit by digit.

Number -> Topology; name of a table -> its rows.  Paper, tab:networks, tab:results-oneshot,
tab:som-summary and tab:dropout-results-summary; the files are in ``paper/tables``.
"""

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Any

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

RUN_COUNTS = {"architectures": 200, "margins": 200, "dropout": 100}
MEASURES = {
    "test_min": "min",
    "test_max": "max",
    "test_mean": "mean",
    "test_median": "median",
    "training_mean": "training",
    "unsatisfied_percent": "unsatisfied %",
    "s1_mean": "S1",
    "s2_mean": "S2",
}  # name -> head of its column


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


@dataclass(frozen=True)
class Counts:
    """A row of the table of networks, as printed."""

    network: int
    notation: str
    neurons: int
    connections: int
    binary: int
    integer: int
    constraints: int


@dataclass(frozen=True)
class Published:
    """A row of a table of results: the setting, its number of runs, and what was measured.

    `numbers` has the keys of MEASURES that the table prints, with the digits that it prints.
    `dropped` is None where no dropout was used.
    """

    network: int
    margin_strength: float
    learning_rate: float
    dropped: int | None
    run_count: int
    numbers: Mapping[str, Decimal]

    @property
    def setting(self) -> dict[str, Any]:
        """What is varied, by name."""
        names = ("network", "margin_strength", "learning_rate", "dropped")
        return {name: getattr(self, name) for name in names}


@cache
def published_counts() -> tuple[Counts, ...]:
    """Return the table of networks.

    >>> published_counts()[10]
    Counts(network=10, notation='fc(3)', neurons=30, connections=81, binary=122, integer=20,
           constraints=44)
    """
    rows = []
    for row in _rows("networks"):
        network, notation = int(row.pop("network")), row.pop("notation")
        rows.append(Counts(network, notation, *(int(count) for count in row.values())))
    return tuple(rows)


@cache
def published(table: str) -> tuple[Published, ...]:
    """Return the table "architectures", "margins" or "dropout".

    >>> published("margins")[10].margin_strength, published("margins")[10].numbers["test_mean"]
    (0.02, Decimal('0.734'))
    """
    if table not in RUN_COUNTS:
        raise RangeError(f"table must be one of {', '.join(RUN_COUNTS)}; got {table!r}")
    return tuple(_published(row, RUN_COUNTS[table]) for row in _rows(table))


def _rows(table: str) -> list[dict[str, str]]:
    path = files("qubonn.paper").joinpath("tables", f"{table}.csv")
    return list(csv.DictReader(path.read_text(encoding="ascii").splitlines()))


def _published(row: dict[str, str], run_count: int) -> Published:
    dropped = row.get("dropped", "")
    return Published(
        network=int(row["network"]),
        margin_strength=float(row.get("margin_strength", 0)),
        learning_rate=float(row.get("learning_rate", 0)),
        dropped=int(dropped) if dropped else None,
        run_count=run_count,
        numbers={name: Decimal(row[name]) for name in MEASURES if name in row},
    )
