"""The paper: its 18 networks, and every number of its four tables."""

from qubonn.paper.networks import NOTATIONS, topology
from qubonn.paper.published import (
    MEASURES,
    Counts,
    Published,
    published,
    published_counts,
)

__all__ = [
    "MEASURES",
    "NOTATIONS",
    "Counts",
    "Published",
    "published",
    "published_counts",
    "topology",
]
