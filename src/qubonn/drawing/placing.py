"""Where the nodes of a picture go: groups side by side, long sides shortened to an ellipsis.

Groups -> layout.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from qubonn.checks import IntVector
from qubonn.drawing.grouping import Group

Points = NDArray[np.float64]  # x and y along the last axis

# Lengths are in picture units; network.py knows how long one is on paper.
HEIGHT = 8.0  # of the tallest group, at most
SHEET_AXES = np.array([[0.0, -1.0], [0.66, 0.3]])  # one row down, one column along
GAP = 2.5  # places that an ellipsis takes
DOT_STEP = 0.22


@dataclass(frozen=True)
class Dots:
    """Three dots in a row, and how many nodes or sheets they stand for."""

    middle: Points
    step: Points
    text: str


@dataclass(frozen=True)
class Layout:
    """All blocks side by side."""

    positions: Points  # by node; NaN for those left out
    pitch_of: NDArray[np.float64]
    diameter_of: NDArray[np.float64]
    column_of: IntVector
    ellipses: tuple[Dots, ...]
    block_middles: tuple[float, ...]

    @cached_property
    def visible(self) -> IntVector:
        """Nodes that are not left out."""
        return np.flatnonzero(~np.isnan(self.positions[:, 0]))


def place(groups: list[Group], most: int, largest_pitch: float) -> Layout:
    """Put the groups side by side; a side of more than `most` nodes is shortened."""
    blocks = [_block(group.shape, most, largest_pitch) for group in groups]
    sizes = np.array([block.size for block in blocks])
    height = sizes[:, 1].max()
    apart = max(3.0, 0.5 * height)
    middles = np.cumsum(sizes[:, 0] + apart) - sizes[:, 0] / 2
    shifts = np.stack([middles, np.zeros_like(middles)], axis=1)
    order = np.argsort(np.concatenate([group.nodes for group in groups]))
    counts = [len(group.nodes) for group in groups]

    moved = [block.positions + shift for block, shift in zip(blocks, shifts, strict=True)]
    ellipses = (
        replace(ellipsis, middle=ellipsis.middle + shift)
        for block, shift in zip(blocks, shifts, strict=True)
        for ellipsis in block.ellipses
    )
    return Layout(
        positions=np.concatenate(moved)[order],
        pitch_of=np.repeat([block.pitch for block in blocks], counts)[order],
        diameter_of=np.repeat([block.diameter for block in blocks], counts)[order],
        column_of=np.repeat(np.arange(len(blocks)), counts)[order],
        ellipses=tuple(ellipses),
        block_middles=tuple(middles),
    )


@dataclass(frozen=True)
class _Side:
    """Places along one side of a group, one apart; both ends and a gap if there are too many."""

    places: NDArray[np.float64]  # NaN for those left out
    gap: float  # middle of the gap; NaN if none is left out

    @classmethod
    def of(cls, count: int, most: int, gap: float) -> "_Side":
        places = np.arange(count, dtype=np.float64)
        if count <= most:
            return cls(places, np.nan)
        end_count = max(most // 3, 1)
        places[end_count:] = np.nan
        places[-end_count:] = end_count + gap + np.arange(end_count)
        return cls(places, end_count + gap / 2 - 0.5)

    @property
    def left_out_count(self) -> int:
        return int(np.isnan(self.places).sum())

    @property
    def length(self) -> float:
        return float(self.places[-1])


@dataclass(frozen=True)
class _Block:
    """A group, placed around the origin."""

    positions: Points  # NaN for nodes left out
    pitch: float  # distance between rows
    diameter: float
    ellipses: tuple[Dots, ...]

    @property
    def size(self) -> Points:
        """Width and height."""
        x, y = 2 * np.nanmax(self.positions, axis=0)
        return np.array([x + self.diameter, y + self.pitch])


def _block(shape: tuple[int, ...], most: int, largest_pitch: float) -> _Block:
    is_grid = len(shape) == 3
    channels, rows, columns = shape if is_grid else (1, int(np.prod(shape)), 1)
    row, column = _Side.of(rows, most, GAP), _Side.of(columns, most, GAP)
    shown_rows = rows - row.left_out_count
    channel = _Side.of(channels, max(most // shown_rows, 3), gap=0.4)
    below = row.length + 1.6  # from one sheet to the next

    places = [channel.places[:, None, None] * below + row.places[:, None], column.places]
    positions = np.stack(np.broadcast_arrays(*places), axis=-1).reshape(-1, 2) @ SHEET_AXES
    corner, opposite = np.nanmin(positions, axis=0), np.nanmax(positions, axis=0)
    centre = (corner + opposite) / 2
    pitch = float(min(largest_pitch, HEIGHT / (opposite[1] - corner[1] + 1)))
    ellipses = tuple(
        Dots((middle @ SHEET_AXES - centre) * pitch, DOT_STEP * SHEET_AXES[axis], text)
        for middle, axis, text in _gaps(channel, row, column, below, is_grid)
    )
    diameter = 0.52 * pitch if is_grid else min(0.66 * pitch, 0.45 * largest_pitch)
    return _Block((positions - centre) * pitch, pitch, diameter, ellipses)


def _gaps(
    channel: _Side, row: _Side, column: _Side, below: float, is_grid: bool
) -> Iterator[tuple[Points, int, str]]:
    """Yield (rows down, columns along), the axis and the text of every ellipsis."""
    half_down, half_along = row.length / 2, column.length / 2
    if channel.left_out_count:
        middle = np.array([channel.gap * below + half_down, half_along])
        yield middle, 0, f"{channel.left_out_count} more"
    for top in below * channel.places[~np.isnan(channel.places)]:
        if row.left_out_count:
            text = "" if is_grid else f"{row.left_out_count} more"
            yield np.array([top + row.gap, half_along]), 0, text
        if column.left_out_count:
            yield np.array([top + half_down, column.gap]), 1, ""
