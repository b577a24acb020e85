"""The paper: its 18 networks, and every number of its four tables."""

from qubonn.paper.published import (
    MEASURES,
    NOTATIONS,
    Counts,
    Published,
    published,
    published_counts,
    topology,
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
