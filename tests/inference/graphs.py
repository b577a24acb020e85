"""Topologies and networks that predict in every way: words, planes, and both ways between them."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

import qubonn as qn


def densely_wired(sources: Sequence[int], targets: Sequence[int]) -> list[tuple[int, int]]:
    return [(source, target) for target in targets for source in sources]


# 0-69 inputs; 70-169 read all inputs; 170-299 read some of both, in an odd order; 300-302 outputs
GATHERED = qn.Topology.from_arcs(
    densely_wired(range(70), range(70, 170))
    + densely_wired([*range(150, 40, -1), *range(0, 41, 2), 7, 7, 8], range(170, 300))
    + densely_wired(range(170, 300), range(300, 303))
    + densely_wired([3, 80, 200], [301]),
    inputs=70,
    outputs=3,
)
GRAPHS = {
    "dense": qn.Topology.dense(70, 65, 3),
    "one layer": qn.Topology.dense(130, 2),
    "deep": qn.Topology.dense(64, 63, 65, 128, 2),
    "wide outputs": qn.Topology.dense(9, 130),
    "convolution": qn.Topology.parse("conv(3x3x2) + fc(4)", inputs=(5, 5), outputs=2),
    "deep convolution": qn.Topology.parse(
        "conv(2x3x3) + conv(3x2x4) + fc(70)", inputs=(2, 7, 8), outputs=3
    ),
    "strides and padding": qn.Topology.parse(
        "conv(3x3x4, stride=2, padding=1, levels=3) + conv(2x2x3, padding=1) + fc(5)",
        inputs=(2, 7, 6),
        outputs=3,
    ),
    "pooling": qn.Topology.parse(
        "conv(3x3x3) + pool(2x2) + conv(1x2x70) + pool(1x3) + fc(5)", inputs=(2, 8, 11), outputs=3
    ),
    "known weights": qn.Topology.parse(
        "pool(2x3) + conv(2x2x2, known=##..#..#) + fc(70, known=1) + out(known=2)",
        inputs=(7, 10),
        outputs=3,
    ),
    "tall filter": qn.Topology.parse("conv(3x1x2) + conv(1x4)", inputs=(5, 4), outputs=2),
    "gathered": GATHERED,
    "skip": qn.Topology.from_arcs(
        [(0, 2), (1, 2), (2, 3), (0, 4), (3, 4), (1, 4), (2, 4)], inputs=2, outputs=1
    ),
    "parallel": qn.Topology.from_arcs(
        [(0, 2), (0, 2), (0, 2), (1, 2), (2, 3), (2, 3), (1, 3)], inputs=2, outputs=1
    ),
    "shared": qn.Topology.from_arcs(
        [(0, 2, 0), (1, 2, 0), (2, 3, 1), (0, 3, 0), (1, 3, 1), (1, 3, 1)], inputs=2, outputs=1
    ),
    "levels": qn.Topology.dense(70, 65, 3, weight_levels=[3, 4], threshold_levels=[9, 2]),
    "many levels": qn.Topology.dense(70, 65, 3, weight_levels=[17, 7], threshold_levels=33),
    "most levels": qn.Topology.dense(3, 66, weight_levels=128),
    "more levels than planes hold": qn.Topology.dense(3, 2, weight_levels=130),
    "thresholds": qn.Topology.dense(130, 5, 2, threshold_levels=[2, 40]),
    "levels of a convolution": qn.Topology.parse(
        "conv(3x3x2, levels=3, thresholds=5) + conv(2x1x3) + fc(4, levels=4) + out(thresholds=3)",
        inputs=(2, 6, 7),
        outputs=2,
    ),
    "mixed parallel arcs": qn.Topology.from_arcs(
        [*densely_wired([*range(70), *range(9), 70, 70], range(71, 75)), (71, 75), (70, 75)],
        inputs=71,
        outputs=1,
        has_constant=True,
    ),
    "mixed thresholds": qn.Topology.from_arcs(
        [(place + step, 12 + place, step) for place in range(8) for step in range(4)]
        + [(11, 12 + place, 4 + n) for n, place in enumerate((1, 2, 2, 5, 7, 7, 7))]
        + [(11, 20, 11), (14, 20, 0), (15, 20, 12)],
        inputs=12,
        outputs=3,
        has_constant=True,
    ),
    "constant alone": qn.Topology.from_arcs(
        [(0, 1), (0, 1), (0, 2), (1, 2)], inputs=1, outputs=2, has_constant=True
    ),
    "convolution to outputs": qn.Topology.from_arcs(
        [(place + step, 12 + place, step) for place in range(9) for step in range(4)],
        inputs=12,
        outputs=9,
    ),
    "filter that walks backwards": qn.Topology.from_arcs(
        [(8 - place + step, 12 + place, step) for place in range(9) for step in range(4)]
        + [(12 + place, 21, 4) for place in range(9)],
        inputs=12,
        outputs=1,
    ),
    "strip with a gap": qn.Topology.from_arcs(
        [(place + step, 6 + 2 * place, step) for place in range(3) for step in range(3)]
        + [(place, 7 + 2 * place, 3) for place in range(2)]
        + [(node, 11, 4) for node in range(6, 11)],
        inputs=6,
        outputs=1,
    ),
    "strip before its sources": qn.Topology.from_arcs(
        [(9 + place + step, 6 + place, step) for place in range(3) for step in range(2)]
        + [(place + step, 9 + place, 2 + step) for place in range(4) for step in range(2)]
        + [(node, 13, 4) for node in range(6, 13)],
        inputs=6,
        outputs=1,
    ),
    "outputs that feed others": qn.Topology.from_arcs(
        [(0, 4), (4, 3), (3, 1), (1, 2)], inputs=1, outputs=2
    ),
    "lonely": qn.Topology.from_arcs([(0, 4), (4, 7)], inputs=3, outputs=2, nodes=8),
    "no arcs": qn.Topology.from_arcs([], inputs=2, outputs=2),
    "no inputs": qn.Topology.from_arcs([(0, 1), (0, 2), (1, 2)], inputs=0, outputs=1),
}


@st.composite
def layered(draw: st.DrawFn) -> qn.Topology:
    """Dense layers of sizes around the borders of words."""
    sizes = st.sampled_from([1, 2, 3, 31, 63, 64, 65, 127, 128, 129])
    layers = draw(st.lists(sizes, min_size=2, max_size=5))
    levels = [draw(st.integers(2, 9)) for _ in layers[1:]]
    return qn.Topology.dense(
        *layers, weight_levels=levels, threshold_levels=draw(st.integers(2, 5))
    )


@st.composite
def convolutions(draw: st.DrawFn) -> qn.Topology:
    """One or two convolutions over one or two channels, with or without a dense layer."""
    shape = (draw(st.integers(1, 2)), draw(st.integers(4, 8)), draw(st.integers(4, 8)))
    size = st.integers(1, 3)
    many = st.integers(2, 4)
    layers = [
        f"conv({draw(size)}x{draw(size)}x{draw(size)},levels={draw(many)},thresholds={draw(many)})"
        for _ in range(draw(st.integers(1, 2)))
    ]
    if any(extent < 1 + 2 * len(layers) for extent in shape[1:]):
        layers = layers[:1]
    if draw(st.booleans()):
        layers.append(f"fc({draw(st.sampled_from([1, 5, 70]))})")
    return qn.Topology.parse(" + ".join(layers), inputs=shape, outputs=draw(st.integers(1, 3)))


@st.composite
def sharing_strips(draw: st.DrawFn) -> qn.Topology:
    """Filters that walk in steps of any size and sign, some of them straight to the outputs."""
    inputs, rows, length = (
        draw(st.integers(20, 70)),
        draw(st.integers(1, 4)),
        draw(st.integers(1, 4)),
    )
    offsets = draw(st.lists(st.integers(0, 9), min_size=0, max_size=9))
    steps = draw(st.integers(-3, 3)), draw(st.integers(-3, 3))
    arcs = []
    for number in range(rows * length):
        row, place = divmod(number, length)
        base = (steps[0] * row + steps[1] * place) % (inputs - 9)
        arcs += [(base + offset, inputs + number, weight) for weight, offset in enumerate(offsets)]
    outputs = draw(st.integers(1, rows * length))
    return qn.Topology.from_arcs(arcs, inputs=inputs, outputs=outputs, nodes=inputs + rows * length)


def random_inputs(topology: qn.Topology, rows: int, seed: int) -> NDArray[np.float64]:
    """Multiples of a half, zeros among them."""
    generator = np.random.default_rng(seed)
    return generator.integers(-2, 3, (rows, topology.column_count)) / 2
