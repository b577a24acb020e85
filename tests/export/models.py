"""Models of all kinds for hypothesis: dense, convolutions, any wiring; alone or in committees."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st

import qubonn as qn
from qubonn.encoding import Reading
from qubonn.training.calibration import Calibration
from qubonn.training.committee import NO_CALIBRATION
from topology.random_graphs import with_known

BORDERS = (1, 2, 7, 31, 32, 33, 63, 64, 65)  # around the ends of words


@dataclass(frozen=True)
class FittedClassifier:
    """What an export reads of a QuboClassifier."""

    committee_: qn.Committee
    code_book_: qn.CodeBook
    binariser_: Any = None
    calibration_: Calibration = NO_CALIBRATION


@st.composite
def wirings(draw: st.DrawFn) -> qn.Topology:
    """Any acyclic graph: skips, parallel, shared and constant arcs, outputs that feed others."""
    inputs, outputs = draw(st.sampled_from(BORDERS)), draw(st.integers(1, 5))
    nodes = inputs + outputs + draw(st.integers(0, 40))
    generator = np.random.default_rng(draw(st.integers(0, 2**32)))
    arc_count = draw(st.sampled_from((0, 3, 20, 400)))
    rank = np.concatenate([np.arange(inputs), inputs + generator.permutation(nodes - inputs)])
    sources = generator.integers(nodes, size=arc_count)
    targets = generator.integers(inputs, nodes, size=arc_count)
    is_forward = rank[sources] < rank[targets]
    names = generator.integers(draw(st.sampled_from((2, 10, 1000))), size=arc_count)[is_forward]
    _, weights = np.unique(names, return_inverse=True)
    arcs = np.stack([sources[is_forward], targets[is_forward], weights], axis=1)
    has_constant = inputs > 1 and draw(st.booleans())
    counts = {"inputs": inputs, "outputs": outputs, "nodes": nodes}
    return qn.Topology.from_arcs(arcs, **counts, has_constant=has_constant)


def odd_wirings() -> dict[str, qn.Topology]:
    """Wirings that chance seldom makes."""
    starts = {"irregular": (0, 1, 5, 6, 20), "falling": (9, 6, 3, 0), "repeated": (4, 4, 7, 4)}
    sliding = {
        name: [(s + offset, 40 + n, w) for n, s in enumerate(places) for w, offset in OFFSETS]
        for name, places in starts.items()
    }
    return {
        **{name: _with_output(arcs) for name, arcs in sliding.items()},
        "part of a word": _with_output(
            [(source, 40 + n, 8 * n + source) for n in range(4) for source in range(5 + n)]
        ),
        "first bit": _with_output([(0, 40, 0), (32, 41, 1), (0, 42, 2), (33, 43, 3)]),
        "mixed levels": qn.Topology.from_arcs(
            [(s, t) for t in range(41, 44) for s in (*range(40), *range(20), 40, 40)]
            + [(41, 44), (41, 44), (42, 44), (40, 44)],
            inputs=41,
            outputs=2,
            has_constant=True,
        ),
        "pools": qn.Topology.parse(
            "conv(2x2x3) + pool(2x2) + conv(1x1x2, known=#.#/...) + pool(1x3) + out(known=5)",
            inputs=(6, 7),
            outputs=3,
        ),
        "twins": _with_output([(source, 40 + n, source) for n in range(3) for source in (2, 3)]),
        "backwards": _with_output(
            [(39 - i, 40 + n, 40 * n + i) for n in range(9) for i in range(40)]
        ),
    }


OFFSETS = tuple(enumerate((0, 3, 4)))  # weight and offset of each arc of a filter


def _with_output(arcs: list[tuple[int, int, int]]) -> qn.Topology:
    """Arcs from 40 inputs to some neurons; one output hears all of these, one every other."""
    names = sorted({weight for *_, weight in arcs})
    inner = [(source, target, names.index(weight)) for source, target, weight in arcs]
    hidden = sorted({target for _, target, _ in arcs})
    end = hidden[-1] + 1
    heard = [(node, end) for node in hidden] + [(node, end + 1) for node in hidden[1::2]]
    outer = [(source, target, len(names) + n) for n, (source, target) in enumerate(heard)]
    return qn.Topology.from_arcs(inner + outer, inputs=40, outputs=2)


@st.composite
def dense_layers(draw: st.DrawFn) -> qn.Topology:
    sizes = draw(st.lists(st.sampled_from(BORDERS), min_size=2, max_size=4))
    levels = [draw(st.sampled_from((2, 2, 3, 4, 5, 7, 17))) for _ in sizes[1:]]
    thresholds = [draw(st.sampled_from((2, 2, 3, 9))) for _ in sizes[1:]]
    groups = draw(st.sampled_from((None, 1, 3, 32)))  # inputs of each
    return qn.Topology.dense(
        *sizes,
        weight_levels=levels,
        threshold_levels=thresholds,
        input_groups=None if groups is None else np.arange(sizes[0]) // groups,
        threshold_step=draw(st.sampled_from((1, 1, 4))),
    )


@st.composite
def convolutions(draw: st.DrawFn) -> qn.Topology:
    shape = (draw(st.integers(1, 2)), draw(st.integers(3, 9)), draw(st.integers(3, 9)))
    options = draw(st.sampled_from(("", ",levels=3", ",thresholds=5", ",levels=4,thresholds=3")))
    options += draw(st.sampled_from(("", ",stride=2")))
    rows, columns, filters = (
        draw(st.integers(1, 3)),
        draw(st.integers(1, 3)),
        draw(st.integers(1, 4)),
    )
    first = f"conv({rows}x{columns}x{filters}{options})"
    then = draw(
        st.sampled_from(
            ("", "+fc(5)", "+conv(1x1x2)", "+conv(1x1)+fc(33)", "+out(levels=3)", "+pool(1x1)")
        )
    )
    return qn.Topology.parse(first + then, inputs=shape, outputs=draw(st.integers(1, 3)))


@st.composite
def models(draw: st.DrawFn) -> qn.BinaryNetwork | qn.Committee:
    topology = draw(with_known(draw(st.one_of(wirings(), dense_layers(), convolutions()))))
    seed = draw(st.integers(0, 2**32))
    reading: Reading | None = draw(st.sampled_from((None, "signs", "largest")))
    if reading is None:
        return qn.BinaryNetwork.random(topology, seed=seed)
    return committee(topology, draw(st.integers(1, 4)), reading, seed=seed)


def committee(
    topology: qn.Topology, size: int, reading: Reading = "signs", *, seed: int = 0
) -> qn.Committee:
    members = [qn.BinaryNetwork.random(topology, seed=seed + number) for number in range(size)]
    return qn.Committee(members, reading)
