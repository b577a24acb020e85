"""The way of an arc through a picture: straight where it can be, around nodes where it must.

Layout, sources and targets -> points along each arc, and arrowheads.
"""

from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from qubonn.checks import IntVector
from qubonn.drawing.placing import Layout, Points

MOST_DETOURS = 5000  # arcs for which a way around nodes is sought; more would be a blur anyway
CURVE_STEPS = np.linspace(0, 1, 41)


def curves_of(layout: Layout, source: IntVector, target: IntVector) -> Points:
    """Return the points along each arc, from source to target."""
    bend, rank = _bends(layout, source, target)
    is_loop = source == target
    if not bend.any() and not is_loop.any():
        return layout.positions[np.stack([source, target], axis=1)]
    curves = _arches(layout.positions[source], layout.positions[target], bend)
    looped = source[is_loop]
    size = layout.diameter_of[looped] * (1 + 0.4 * rank[is_loop])
    curves[is_loop] = _loops(layout.positions[looped], size)
    return curves


def _arches(starts: Points, ends: Points, bend: NDArray[np.float64]) -> Points:
    """Return parabolas that swerve to the left by `bend` times their length."""
    along = ends - starts
    swerve = bend[:, None] * _left_of(along)
    t = CURVE_STEPS[:, None]
    return starts[:, None] + t * along[:, None] + 4 * t * (1 - t) * swerve[:, None]


def _left_of(along: Points) -> Points:
    return np.stack([-along[:, 1], along[:, 0]], axis=1)


def _loops(centres: Points, size: NDArray[np.float64]) -> Points:
    """Return drops that leave a node upwards to the left and come back from the right."""
    t = CURVE_STEPS
    drop = 3 * t * (1 - t) * np.stack([1.6 * (2 * t - 1), 1.7 * np.ones_like(t)])
    return centres[:, None] + size[:, None, None] * drop.T


def _bends(
    layout: Layout, source: IntVector, target: IntVector
) -> tuple[NDArray[np.float64], IntVector]:
    """Return the bend of every arc, and its rank among the arcs between the same two nodes.

    Arcs between the same two nodes, in whichever direction, are bent apart.
    """
    low, high = np.minimum(source, target), np.maximum(source, target)
    node_count = len(layout.positions)
    pairs, pair_of, count = np.unique(
        low * node_count + high, return_inverse=True, return_counts=True
    )
    goes_forward = layout.column_of[source] < layout.column_of[target]
    has_forward = np.bincount(pair_of, goes_forward, minlength=len(pairs)) > 0
    least = np.where(has_forward | (count > 1), 0.0, 0.2)
    bend = _clear_bends(layout, pairs // node_count, pairs % node_count, least)[pair_of]
    rank = _ranks(pair_of)
    bend += 0.16 * (rank - (count[pair_of] - 1) / 2)
    return np.where(source == low, bend, -bend), rank


def _ranks(group_of: IntVector) -> IntVector:
    """Count the members of each group from 0, in order."""
    order = np.argsort(group_of, kind="stable")
    in_order = group_of[order]
    rank = np.empty(len(group_of), dtype=np.int64)
    rank[order] = np.arange(len(group_of)) - np.searchsorted(in_order, in_order)
    return rank


def _clear_bends(
    layout: Layout, low: IntVector, high: IntVector, least: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the smallest bends, at least `least`, with which arcs pass no third node too closely.

    Neighbouring columns need none. Outward is tried before inward.
    """
    starts, ends = layout.positions[low], layout.positions[high]
    is_upper = starts[:, 1] + ends[:, 1] >= -1e-9
    outward = np.where((ends[:, 0] >= starts[:, 0]) == is_upper, 1.0, -1.0)
    bend = least * outward
    apart = np.abs(layout.column_of[low] - layout.column_of[high])
    waiting = np.flatnonzero(((apart != 1) | (least > 0)) & (low != high))[:MOST_DETOURS]
    tree = cKDTree(layout.positions[layout.visible])
    for size, side in product((0.0, 0.12, 0.2, 0.28, 0.36, 0.45, 0.55), (1, -1)):
        tried = waiting[least[waiting] <= size]
        bend[tried] = size * side * outward[tried]
        curves = _arches(starts[tried], ends[tried], bend[tried])
        distance, place = tree.query(curves)
        nearest = layout.visible[place]
        is_third = (nearest != low[tried, None]) & (nearest != high[tried, None])
        hits = (is_third & (distance < 0.85 * layout.diameter_of[nearest])).any(axis=1)
        waiting = np.setdiff1d(waiting, tried[~hits])
    return bend


def arrowheads_of(curves: Points, diameter: NDArray[np.float64]) -> Points:
    """Return a triangle where each curve enters the circle of its target."""
    centre = curves[:, -1]
    distance = np.linalg.norm(curves - centre[:, None], axis=2)
    last_outside = (distance > 0.9 * diameter[:, None]).cumsum(axis=1).argmax(axis=1)
    along = centre - curves[np.arange(len(curves)), last_outside]
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    across = 0.4 * _left_of(along)
    tip = centre - along * diameter[:, None] / 2
    heads = [tip, tip - 0.26 * (along - across), tip - 0.26 * (along + across)]
    return np.stack(heads, axis=1)
