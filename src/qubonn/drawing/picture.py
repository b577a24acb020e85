"""A picture before it is painted: what is drawn, where, and in which colour.

Topology, weight spins -> picture.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from matplotlib import colormaps
from matplotlib.colors import to_rgba
from numpy.typing import NDArray

from qubonn.checks import IntVector, SpinVector
from qubonn.drawing.curves import curves_of
from qubonn.drawing.grouping import Group, corners_of, groups_of
from qubonn.drawing.placing import SHEET_AXES, Layout, Points, place

if TYPE_CHECKING:
    from qubonn.topology.graph import Topology

POSITIVE, NEGATIVE, ARC = "#0072b2", "#d55e00", "#555555"  # Okabe and Ito, and grey

# Lengths are in picture units, but for SHEET_MARGIN.
CAPTION_GAP = 0.35
LINE_HEIGHT = 0.36  # of captions
LETTER_WIDTH = 0.165
SHEET_MARGIN = 0.75  # in places


@dataclass(frozen=True)
class Picture:
    """Everything that is drawn, as places and colours."""

    groups: list[Group]
    layout: Layout
    arcs: IntVector
    curves: Points  # by arc of `arcs`
    colours: NDArray[np.float64]
    sheets: Points
    fields: Points
    is_small_graph: bool  # small enough for arrowheads and numbers, and not in layers
    is_signed: bool  # colours tell signs, which needs a key at the top

    @cached_property
    def bounds(self) -> Points:
        """Lower left and upper right corner of nodes, arcs and sheets."""
        visible = self.layout.visible
        nodes, radius = self.layout.positions[visible], self.layout.diameter_of[visible, None] / 2
        parts = (nodes - radius, nodes + radius, self.curves, self.sheets)
        points = np.concatenate([part.reshape(-1, 2) for part in parts])
        return np.stack([points.min(axis=0), points.max(axis=0)])

    @cached_property
    def frame(self) -> Points:
        """Bounds with room for captions below and at the sides, and for a key above."""
        lines = max(group.caption.count("\n") + 1 for group in self.groups)
        below = CAPTION_GAP + LINE_HEIGHT * (lines + 0.5)
        above = 0.4 + 2 * LINE_HEIGHT * self.is_signed
        left = 0.3 + max([1.1, *(LETTER_WIDTH * len(e.text) for e in self.layout.ellipses)])
        (x0, y0), (x1, y1) = self.bounds
        return np.array([[x0 - left, y0 - below], [x1 + 1.4, y1 + above]])


def picture_of(topology: "Topology", spins: SpinVector | None, most_nodes: int) -> Picture:
    """Place nodes and arcs, and colour the arcs."""
    groups = list(groups_of(topology))
    is_graph = topology.layer_shapes is None
    layout = place(groups, most_nodes, largest_pitch=1.7 if is_graph else 1.05)
    arcs = _visible_arcs(topology, groups, layout)
    sheets = [corners_of(group.nodes.reshape(group.shape)) for group in groups if group.is_grid]
    return Picture(
        groups,
        layout,
        arcs,
        curves=curves_of(layout, topology.source_of[arcs], topology.target_of[arcs]),
        colours=_arc_colours(topology, arcs, layout, spins),
        sheets=_outlines(layout, sheets, SHEET_MARGIN),
        fields=_outlines(layout, [group.field_corners for group in groups], 0.5),
        is_small_graph=is_graph and len(arcs) <= 150 and len(layout.visible) <= 60,
        is_signed=spins is not None,
    )


def _visible_arcs(topology: "Topology", groups: list[Group], layout: Layout) -> IntVector:
    arcs = np.sort(np.concatenate([group.arcs for group in groups]))
    ends = np.stack([topology.source_of[arcs], topology.target_of[arcs]])
    return arcs[np.isin(ends, layout.visible).all(axis=0)]


def _outlines(layout: Layout, corners: list[IntVector], margin: float) -> Points:
    """Return parallelograms around the sheets whose four corner nodes are visible."""
    nodes = np.concatenate([*corners, np.zeros((0, 4), dtype=np.int64)])
    nodes = nodes[np.isin(nodes, layout.visible).all(axis=1)]
    outward = np.array([[-1, -1], [-1, 1], [1, 1], [1, -1]]) @ SHEET_AXES
    outlines: Points = (
        layout.positions[nodes] + margin * layout.pitch_of[nodes][..., None] * outward
    )
    return outlines


def _arc_colours(
    topology: "Topology", arcs: IntVector, layout: Layout, weight_spins: SpinVector | None
) -> NDArray[np.float64]:
    """Return RGBA per arc: by sign, else by shared weight, else grey; fainter in a crowd."""
    if not len(arcs):
        return np.zeros((0, 4))
    weight = topology.weight_of[arcs]
    column = layout.column_of[topology.target_of[arcs]]
    colours = np.tile(to_rgba(ARC), (len(arcs), 1))
    if weight_spins is not None:
        is_positive = weight_spins[weight] > 0
        colours = np.where(is_positive[:, None], to_rgba(POSITIVE), to_rgba(NEGATIVE))
    else:
        is_shared = np.bincount(topology.weight_of)[weight] > 1
        for shared in (np.flatnonzero(is_shared & (column == c)) for c in np.unique(column)):
            _, rank = np.unique(weight[shared], return_inverse=True)
            colours[shared] = colormaps["viridis"](0.82 * rank / max(rank.max(initial=0), 1))
    crowd = np.bincount(column)[column]
    colours[:, 3] = np.clip(np.minimum(5 / np.sqrt(crowd), 100 / crowd), 0.007, 0.85)
    return colours
